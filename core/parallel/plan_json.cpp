// SPDX-License-Identifier: BSD-3-Clause
#include "core/parallel/plan_json.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include <titan/error.h>

namespace titan::parallel {
namespace {

using Json = nlohmann::json;

template <typename Value>
using Words = std::vector<std::pair<const char*, Value>>;

const Words<Recompute> kRecomputeWords = {{"none", Recompute::kNone},
                                          {"full", Recompute::kFull},
                                          {"selective", Recompute::kSelective}};
const Words<Placement> kPlacementWords = {{"replicate", Placement::kReplicate},
                                          {"flat", Placement::kFlat}};

template <typename Value>
std::string word_of(const Words<Value>& words, Value value) {
  for (const auto& [word, meaning] : words)
    if (meaning == value) return word;
  TITAN_CHECK(false, "[plan] an enumerator has no word");
}

// ---- reading ----

// One object of the text: every read is by name, what is left over is an error.
class Reader {
 public:
  Reader(const Json& json, std::string where)
      : json_(json), where_(std::move(where)) {
    if (!json.is_object()) fail_at(where_, "an object", json);
  }

  void check_keys(const std::vector<std::string>& known) const {
    for (const auto& [key, value] : json_.items())
      TITAN_USER_CHECK(
          std::find(known.begin(), known.end(), key) != known.end(),
          "[plan ",
          where_,
          "] key: expected one of ",
          known,
          ", got '",
          key,
          "'");
  }

  template <typename Value>
  void read(const char* key, Value& out) const {
    const auto found = json_.find(key);
    if (found != json_.end()) convert(*found, path(key), out);
  }

  template <typename Value>
  void read_word(const char* key, const Words<Value>& words, Value& out) const {
    std::string got;
    read(key, got);
    if (got.empty()) return;
    std::vector<std::string> known;
    for (const auto& [word, meaning] : words) {
      known.emplace_back(word);
      if (got == word) {
        out = meaning;
        return;
      }
    }
    throw UserError(text(
        "[plan ", path(key), "] expected one of ", known, ", got '", got, "'"));
  }

  template <typename Body>
  void each(const char* key, Body body) const {
    const auto found = json_.find(key);
    if (found == json_.end()) return;
    if (!found->is_array()) fail_at(path(key), "a list", *found);
    for (size_t i = 0; i < found->size(); ++i)
      body(Reader((*found)[i], text(path(key), '[', i, ']')));
  }

  template <typename Body>
  void child(const char* key, Body body) const {
    const auto found = json_.find(key);
    if (found != json_.end()) body(Reader(*found, path(key)));
  }

  std::string path(const std::string& key) const {
    return where_.empty() ? key : text(where_, '.', key);
  }

 private:
  [[noreturn]] static void fail_at(const std::string& where,
                                   const char* expected,
                                   const Json& got) {
    throw UserError(
        text("[plan ", where, "] expected ", expected, ", got ", got.dump()));
  }

  static void convert(const Json& json, const std::string& at, int64_t& out) {
    if (!json.is_number_integer()) fail_at(at, "an integer", json);
    out = json.get<int64_t>();
  }
  static void convert(const Json& json, const std::string& at, bool& out) {
    if (!json.is_boolean()) fail_at(at, "true or false", json);
    out = json.get<bool>();
  }
  static void convert(const Json& json,
                      const std::string& at,
                      std::string& out) {
    if (!json.is_string()) fail_at(at, "a string", json);
    out = json.get<std::string>();
  }
  static void convert(const Json& json,
                      const std::string& at,
                      std::vector<std::string>& out) {
    if (!json.is_array()) fail_at(at, "a list of strings", json);
    out.clear();
    for (size_t i = 0; i < json.size(); ++i)
      convert(json[i], text(at, '[', i, ']'), out.emplace_back());
  }

  const Json& json_;
  std::string where_;
};

Action action_of(const std::string& word, const std::string& where) {
  Action action;
  const char* end = word.data() + word.size();
  const bool is_known = word.size() > 1 && (word[0] == 'F' || word[0] == 'B');
  const auto parsed = std::from_chars(word.data() + 1, end, action.microbatch);
  TITAN_USER_CHECK(is_known && parsed.ec == std::errc() && parsed.ptr == end &&
                       action.microbatch >= 0,
                   "[plan ",
                   where,
                   "] action: expected F or B with a microbatch (F0), got '",
                   word,
                   "'");
  action.kind =
      word[0] == 'F' ? Action::Kind::kForward : Action::Kind::kBackward;
  return action;
}

void read_mesh(const Reader& mesh, MeshShape& shape) {
  mesh.check_keys({"pp", "dp_replicate", "dp_shard", "cp", "tp", "ep"});
  mesh.read("pp", shape.pp);
  mesh.read("dp_replicate", shape.dp_replicate);
  mesh.read("dp_shard", shape.dp_shard);
  mesh.read("cp", shape.cp);
  mesh.read("tp", shape.tp);
  mesh.read("ep", shape.ep);
}

void read_tensor(const Reader& tensor, Plan& plan) {
  tensor.check_keys({"parameters", "modules"});
  tensor.each("parameters", [&](const Reader& entry) {
    entry.check_keys({"match", "dim"});
    ParameterCut& cut = plan.cuts.emplace_back();
    entry.read("match", cut.match);
    entry.read("dim", cut.dim);
  });
  tensor.each("modules", [&](const Reader& entry) {
    entry.check_keys({"match",
                      "copies_input",
                      "reduces_output",
                      "is_vocabulary_parallel",
                      "sums_gradients"});
    ModuleTransition& transition = plan.transitions.emplace_back();
    entry.read("match", transition.match);
    entry.read("copies_input", transition.copies_input);
    entry.read("reduces_output", transition.reduces_output);
    entry.read("is_vocabulary_parallel", transition.is_vocabulary_parallel);
    entry.read("sums_gradients", transition.sums_gradients);
  });
}

void read_recompute(const Reader& recompute, Plan& plan) {
  recompute.check_keys({"rules"});
  recompute.each("rules", [&](const Reader& entry) {
    entry.check_keys({"match", "mode", "save_ops"});
    RecomputeRule& rule = plan.recompute.emplace_back();
    entry.read("match", rule.match);
    entry.read_word("mode", kRecomputeWords, rule.mode);
    entry.read("save_ops", rule.save_ops);
  });
}

void read_pipeline(const Reader& pipeline, Plan& plan) {
  pipeline.check_keys({"stages", "schedule"});
  pipeline.read("schedule", plan.schedule);
  pipeline.each("stages", [&](const Reader& entry) {
    entry.check_keys({"items", "actions"});
    StagePlan& stage = plan.stages.emplace_back();
    entry.read("items", stage.items);
    std::vector<std::string> words;
    entry.read("actions", words);
    for (const std::string& word : words)
      stage.actions.push_back(action_of(word, entry.path("actions")));
  });
}

void read_data(const Reader& data, Plan& plan) {
  data.check_keys({"buckets"});
  data.each("buckets", [&](const Reader& entry) {
    entry.check_keys({"name", "items", "placement", "reshards_after_forward"});
    BucketPlan& bucket = plan.buckets.emplace_back();
    entry.read("name", bucket.name);
    entry.read("items", bucket.items);
    entry.read_word("placement", kPlacementWords, bucket.placement);
    entry.read("reshards_after_forward", bucket.reshards_after_forward);
  });
}

// ---- writing ----

Json mesh_json(const MeshShape& shape) {
  return {{"pp", shape.pp},
          {"dp_replicate", shape.dp_replicate},
          {"dp_shard", shape.dp_shard},
          {"cp", shape.cp},
          {"tp", shape.tp},
          {"ep", shape.ep}};
}

Json tensor_json(const Plan& plan) {
  Json parameters = Json::array(), modules = Json::array();
  for (const ParameterCut& cut : plan.cuts)
    parameters.push_back({{"match", cut.match}, {"dim", cut.dim}});
  for (const ModuleTransition& transition : plan.transitions)
    modules.push_back(
        {{"match", transition.match},
         {"copies_input", transition.copies_input},
         {"reduces_output", transition.reduces_output},
         {"is_vocabulary_parallel", transition.is_vocabulary_parallel},
         {"sums_gradients", transition.sums_gradients}});
  return {{"parameters", parameters}, {"modules", modules}};
}

Json recompute_json(const Plan& plan) {
  Json rules = Json::array();
  for (const RecomputeRule& rule : plan.recompute)
    rules.push_back({{"match", rule.match},
                     {"mode", word_of(kRecomputeWords, rule.mode)},
                     {"save_ops", rule.save_ops}});
  return {{"rules", rules}};
}

Json pipeline_json(const Plan& plan) {
  Json stages = Json::array();
  for (const StagePlan& stage : plan.stages) {
    Json actions = Json::array();
    for (const Action& action : stage.actions)
      actions.push_back(action_name(action));
    stages.push_back({{"items", stage.items}, {"actions", actions}});
  }
  return {{"schedule", plan.schedule}, {"stages", stages}};
}

Json data_json(const Plan& plan) {
  Json buckets = Json::array();
  for (const BucketPlan& bucket : plan.buckets)
    buckets.push_back(
        {{"name", bucket.name},
         {"items", bucket.items},
         {"placement", word_of(kPlacementWords, bucket.placement)},
         {"reshards_after_forward", bucket.reshards_after_forward}});
  return {{"buckets", buckets}};
}

}  // namespace

std::string action_name(const Action& action) {
  return text(action.kind == Action::Kind::kForward ? 'F' : 'B',
              action.microbatch);
}

std::string mesh_to_json(const MeshShape& shape) {
  return mesh_json(shape).dump();
}

std::string plan_to_json(const Plan& plan) {
  return Json{{"mesh", mesh_json(plan.mesh)},
              {"tensor", tensor_json(plan)},
              {"recompute", recompute_json(plan)},
              {"pipeline", pipeline_json(plan)},
              {"data", data_json(plan)}}
      .dump();
}

Plan plan_from_json(std::string_view text_of_plan) {
  const Json json = Json::parse(text_of_plan, nullptr, false);
  TITAN_USER_CHECK(!json.is_discarded(),
                   "[plan] text: expected JSON, got something else");
  Plan plan;
  const Reader root(json, "");
  root.check_keys({"mesh", "tensor", "recompute", "pipeline", "data"});
  root.child("mesh", [&](const Reader& child) { read_mesh(child, plan.mesh); });
  root.child("tensor", [&](const Reader& child) { read_tensor(child, plan); });
  root.child("recompute",
             [&](const Reader& child) { read_recompute(child, plan); });
  root.child("pipeline",
             [&](const Reader& child) { read_pipeline(child, plan); });
  root.child("data", [&](const Reader& child) { read_data(child, plan); });
  plan.json = plan_to_json(plan);
  return plan;
}

}  // namespace titan::parallel
