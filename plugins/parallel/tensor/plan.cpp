// SPDX-License-Identifier: BSD-3-Clause
// Megatron-LM's scheme (Shoeybi et al. 2019, section 3). A region is the
// nearest module around a row-cut leaf that also holds column-cut leaves
// (attention, feed-forward): its input is copied (backward sums), its row-cut
// leaves' outputs are summed, everything between works on a part of the heads
// or features.
#include "plugins/parallel/tensor/plan.h"

#include <map>
#include <numeric>
#include <set>

namespace titan::tensor_plan {
namespace {

struct Cut {
  const Json* parameter;
  int64_t dim;

  int64_t units() const {
    return parameter->at("shape").at(static_cast<size_t>(dim)).i64() /
           parameter->at("granule").i64();
  }
};

struct Transition {
  bool copies_input = false;
  bool reduces_output = false;
  bool is_vocabulary_parallel = false;
  bool sums_gradients = false;

  bool operator==(const Transition&) const = default;
  Json to_json() const {
    return Json::object({{"copies_input", copies_input},
                         {"reduces_output", reduces_output},
                         {"is_vocabulary_parallel", is_vocabulary_parallel},
                         {"sums_gradients", sums_gradients}});
  }
};

class Model {
 public:
  explicit Model(const Json& model) : json_(model) {
    for (const Json& module : model.at("modules").items())
      modules_[module.at("fqn").str()] = &module;
    for (const Json& parameter : model.at("parameters").items())
      // Users of a tied one cut what its owner cuts.
      for (const Json& user : parameter.at("users").items()) {
        hints_[user.str()].insert(parameter.at("shard").str());
        ++num_parameters_[user.str()];
      }
  }

  const Json& parameters() const { return json_.at("parameters"); }
  const std::map<std::string, const Json*>& modules() const { return modules_; }
  std::string class_of(const std::string& fqn) const {
    return modules_.at(fqn)->at("class").str();
  }
  std::string parent_of(const std::string& fqn) const {
    return modules_.at(fqn)->at("parent").str();
  }
  bool has_hint(const std::string& fqn, const char* hint) const {
    const auto found = hints_.find(fqn);
    return found != hints_.end() && found->second.count(hint) != 0;
  }

  /// Of a module itself, tied ones included.
  int64_t num_parameters(const std::string& fqn) const {
    const auto found = num_parameters_.find(fqn);
    return found == num_parameters_.end() ? 0 : found->second;
  }

  /// Is `fqn` inside `ancestor`?
  static bool contains(const std::string& ancestor, const std::string& fqn) {
    return ancestor.empty() ||
           (fqn.size() > ancestor.size() && fqn.starts_with(ancestor) &&
            fqn[ancestor.size()] == '.');
  }

  bool has_column_inside(const std::string& ancestor) const {
    for (const auto& [fqn, module] : modules_)
      if (contains(ancestor, fqn) && has_hint(fqn, "column")) return true;
    return false;
  }

  /// Parameters of the head, a tied owner's included.
  bool is_vocabulary_head(const std::string& head) const {
    for (const Json& item : json_.at("items").items()) {
      if (item.at("fqn").str() != head) continue;
      for (const Json& used : item.at("parameters").items())
        for (const Json& parameter : parameters().items())
          if (parameter.at("fqn") == used &&
              parameter.at("shard").str() == "vocab")
            return true;
    }
    return false;
  }

 private:
  const Json& json_;
  std::map<std::string, const Json*> modules_;
  std::map<std::string, std::set<std::string>> hints_;  // by module
  std::map<std::string, int64_t> num_parameters_;       // by module
};

// ---- parameters ----

std::vector<Cut> find_cuts(const Model& model) {
  std::vector<Cut> cuts;
  for (const Json& parameter : model.parameters().items()) {
    const std::string hint = parameter.at("shard").str();
    TITAN_USER_CHECK(hint != "expert",
                     "[parallel.tp] ",
                     parameter.at("fqn").str(),
                     " is of experts: expected tp 1 (experts over tp are not "
                     "executed yet), got more");
    if (hint == "replicate") continue;
    cuts.push_back({&parameter, hint == "row" ? 1 : 0});
  }
  return cuts;
}

void check_divisible(const std::vector<Cut>& cuts, int64_t tp) {
  int64_t common = 0;
  for (const Cut& cut : cuts) common = std::gcd(common, cut.units());
  std::vector<int64_t> allowed;
  for (int64_t degree = 1; degree <= common; ++degree)
    if (common % degree == 0) allowed.push_back(degree);
  for (const Cut& cut : cuts)
    TITAN_USER_CHECK(cut.units() % tp == 0,
                     "[parallel.tp] ",
                     cut.parameter->at("fqn").str(),
                     " has ",
                     cut.units(),
                     " units of ",
                     cut.parameter->at("granule").i64(),
                     " in dimension ",
                     cut.dim,
                     ": expected one of ",
                     allowed,
                     " for this model, got ",
                     tp);
}

// ---- modules ----

std::string region_of(const Model& model, const std::string& row_leaf) {
  std::string ancestor = model.parent_of(row_leaf);
  while (!ancestor.empty() && !model.has_column_inside(ancestor))
    ancestor = model.parent_of(ancestor);
  TITAN_USER_CHECK(!ancestor.empty(),
                   "[parallel.tp] ",
                   row_leaf,
                   " is cut by rows: expected column cuts in a module around "
                   "it, got none");
  return ancestor;
}

std::map<std::string, Transition> find_transitions(const Model& model,
                                                   const std::string& head,
                                                   int64_t tp) {
  std::map<std::string, Transition> found;
  std::set<std::string> regions;
  for (const auto& [fqn, module] : model.modules()) {
    if (model.has_hint(fqn, "row")) {
      found[fqn].reduces_output = true;
      regions.insert(region_of(model, fqn));
    }
    if (model.has_hint(fqn, "vocab") && fqn != head) {
      TITAN_USER_CHECK(model.class_of(fqn) == "titan.embedding/1",
                       "[parallel.tp] ",
                       fqn,
                       " is a head beside the model's own, as that of "
                       "multi-token prediction (model.config.mtp.num_layers): "
                       "expected tp 1 with it, got ",
                       tp,
                       ". Set one of the two back.");
      found[fqn].is_vocabulary_parallel = true;
      found[fqn].reduces_output = true;
    }
  }
  for (const std::string& region : regions) found[region].copies_input = true;
  if (!model.is_vocabulary_head(head)) return found;
  TITAN_USER_CHECK(model.num_parameters(head) == 1,
                   "[parallel.tp] the head ",
                   head,
                   " has a bias (titan.gpt: model.config.bias.head): expected "
                   "tp 1 with it, got ",
                   tp,
                   ". Set one of the two back.");
  found[head].is_vocabulary_parallel = true;
  return found;
}

bool is_inside_region(const std::map<std::string, Transition>& transitions,
                      const std::string& fqn) {
  for (const auto& [region, transition] : transitions)
    if (transition.copies_input && Model::contains(region, fqn)) return true;
  return false;
}

// Inside a region the ranks work on different parts: a column cut outside would
// leave its output cut, and a whole parameter's gradient is a part of the sum.
void add_whole_parameters(const Model& model,
                          std::map<std::string, Transition>& transitions) {
  for (const auto& [fqn, module] : model.modules()) {
    const bool is_inside = is_inside_region(transitions, fqn);
    // A module may have cut parameters of its own beside its leaves.
    const auto own = transitions.find(fqn);
    const bool is_region = own != transitions.end() && own->second.copies_input;
    TITAN_USER_CHECK(
        is_inside || is_region || !model.has_hint(fqn, "column"),
        "[parallel.tp] ",
        fqn,
        " is cut by columns: expected a row cut that follows it in "
        "a module around both, got none");
    const bool is_whole =
        model.has_hint(fqn, "replicate") && !model.has_hint(fqn, "row");
    // What is added to a row-cut leaf's output stands behind the sum: whole,
    // and the same on every rank.
    const bool is_behind_sum =
        is_whole && module->at("is_leaf").flag() &&
        model.has_hint(module->at("parent").str(), "row");
    if (!is_inside || !is_whole || is_behind_sum) continue;
    TITAN_USER_CHECK(module->at("is_leaf").flag(),
                     "[parallel.tp] ",
                     fqn,
                     " uses a whole parameter inside a cut module itself: "
                     "expected it in a leaf, got ",
                     model.class_of(fqn));
    transitions[fqn].sums_gradients = true;
  }
}

// ---- patterns ----

// "layers.3.attention" -> "layers.*.attention"
std::string pattern_of(const std::string& fqn) {
  std::string pattern, name;
  const auto flush = [&] {
    const bool is_number =
        !name.empty() && name.find_first_not_of("0123456789") == name.npos;
    pattern += is_number ? "*" : name;
    name.clear();
  };
  for (const char c : fqn) {
    if (c != '.') {
      name.push_back(c);
      continue;
    }
    flush();
    pattern.push_back('.');
  }
  flush();
  return pattern;
}

// One entry per pattern whose names all have one value, else one per name.
// `all` has every name of the model, with nothing where it has no entry.
template <typename Value>
std::vector<std::pair<std::string, Value>> collapse(
    const std::vector<std::pair<std::string, Value>>& all,
    const Value& nothing) {
  std::map<std::string, std::vector<size_t>> by_pattern;
  std::vector<std::string> order;
  for (size_t i = 0; i < all.size(); ++i) {
    auto& members = by_pattern[pattern_of(all[i].first)];
    if (members.empty()) order.push_back(pattern_of(all[i].first));
    members.push_back(i);
  }
  std::vector<std::pair<std::string, Value>> out;
  for (const std::string& pattern : order) {
    const auto& members = by_pattern[pattern];
    bool is_one = true;
    for (size_t i : members)
      is_one = is_one && all[i].second == all[members.front()].second;
    if (is_one) {
      if (all[members.front()].second != nothing)
        out.emplace_back(pattern, all[members.front()].second);
      continue;
    }
    for (size_t i : members)
      if (all[i].second != nothing) out.push_back(all[i]);
  }
  return out;
}

Json parameters_json(const Model& model, const std::vector<Cut>& cuts) {
  constexpr int64_t kWhole = -1;
  std::map<const Json*, int64_t> dim_of;
  for (const Cut& cut : cuts) dim_of[cut.parameter] = cut.dim;
  std::vector<std::pair<std::string, int64_t>> all;
  for (const Json& parameter : model.parameters().items()) {
    const auto found = dim_of.find(&parameter);
    all.emplace_back(parameter.at("fqn").str(),
                     found == dim_of.end() ? kWhole : found->second);
  }
  Json list = Json::array();
  for (const auto& [match, dim] : collapse(all, kWhole))
    list.push_back(Json::object({{"match", match}, {"dim", dim}}));
  return list;
}

Json modules_json(const Model& model,
                  const std::map<std::string, Transition>& transitions) {
  std::vector<std::pair<std::string, Transition>> all;
  for (const auto& [fqn, module] : model.modules()) {
    const auto found = transitions.find(fqn);
    all.emplace_back(fqn,
                     found == transitions.end() ? Transition{} : found->second);
  }
  Json list = Json::array();
  for (const auto& [match, transition] : collapse(all, Transition{})) {
    Json entry = transition.to_json();
    entry["match"] = match;
    list.push_back(entry);
  }
  return list;
}

}  // namespace

Json TensorPlanner::plan(const Json& request) const {
  const int64_t tp = request.at("mesh").at("tp").i64();
  const Model model(request.at("model"));
  Json parameters = Json::array(), modules = Json::array();
  if (tp > 1) {
    const std::vector<Cut> cuts = find_cuts(model);
    check_divisible(cuts, tp);
    auto transitions = find_transitions(
        model, request.at("model").at("output").at("head").str(), tp);
    add_whole_parameters(model, transitions);
    parameters = parameters_json(model, cuts);
    modules = modules_json(model, transitions);
  }
  return Json::object(
      {{"tensor",
        Json::object({{"parameters", parameters}, {"modules", modules}})}});
}

}  // namespace titan::tensor_plan
