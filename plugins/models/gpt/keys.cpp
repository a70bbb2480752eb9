// SPDX-License-Identifier: BSD-3-Clause
// Key rules, by a layout (layouts.h) and what the option hf.keys adds to it;
// with layout "titan" names are ours unless hf.keys has others. Rules are
// checked against the parameters that the options make: each of theirs must be
// given whole, once.
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "plugins/models/gpt/layouts.h"
#include "plugins/models/gpt/model.h"
#include "plugins/models/gpt/parameters.h"

namespace titan::gpt {
namespace {

using Names = std::map<std::string, std::string>;  // ours -> theirs | how

constexpr std::string_view kBlock = "layers.";
constexpr std::string_view kAnyBlock = "{i}";

// ---- names ----

/// "x.*" stands for x.weight and x.bias; a bias has no dims to transpose.
Names named(const std::string& ours, const std::string& theirs) {
  const bool has_star = ours.ends_with(".*");
  TITAN_USER_CHECK(has_star == (theirs.find('*') != std::string::npos),
                   "[model.hf.keys] ",
                   ours,
                   ": expected .* on both sides or on none, got ",
                   theirs);
  if (!has_star) return {{ours, theirs}};
  Names out;
  for (const std::string tensor : {"weight", "bias"}) {
    std::string filled = theirs;
    filled.replace(filled.find('*'), 1, tensor);
    const size_t turned = filled.find(" | transposed");
    if (tensor == "bias" && turned != std::string::npos)
      filled.erase(turned, std::string_view(" | transposed").size());
    out[ours.substr(0, ours.size() - 1) + tensor] = filled;
  }
  return out;
}

/// What the network has, by name; blocks are looked up by their number.
class Known {
 public:
  explicit Known(const GptConfig& c) : outer_(outer_parameters(c)) {
    for (int64_t layer = 0; layer < c.num_layers; ++layer)
      blocks_.push_back(block_parameters(c, layer));
  }

  /// The parameters that a name stands for: "{i}" is any block.
  Parameters matching(const std::string& name) const {
    Parameters out;
    if (const auto found = outer_.find(name); found != outer_.end())
      out.insert(*found);
    const size_t dot = name.find('.', kBlock.size());
    if (!name.starts_with(kBlock) || dot == std::string::npos) return out;
    const std::string number = name.substr(kBlock.size(), dot - kBlock.size());
    for (size_t layer = 0; layer < blocks_.size(); ++layer) {
      const std::string layer_number = std::to_string(layer);
      if (number != kAnyBlock && number != layer_number) continue;
      const auto found = blocks_[layer].find(name.substr(dot + 1));
      if (found != blocks_[layer].end())
        out[text(kBlock, layer_number, '.', found->first)] = found->second;
    }
    return out;
  }

  /// Our own names.
  Names all() const {
    Names out;
    for (const auto& [name, shape] : outer_) out.emplace(name, name);
    for (const Parameters& block : blocks_)
      for (const auto& [name, shape] : block) {
        const std::string any = text(kBlock, kAnyBlock, '.', name);
        out.emplace(any, any);
      }
    return out;
  }

 private:
  Parameters outer_;
  std::vector<Parameters> blocks_;
};

/// Those of the option hf.keys; refuses what no parameter answers to.
Names given_names(const Json& given, const Known& known) {
  Names out;
  for (const auto& [ours, theirs] : given.members()) {
    bool is_known = false;
    for (const auto& [name, filled] : named(ours, theirs.str())) {
      if (known.matching(name).empty()) continue;
      is_known = true;
      out[name] = filled;
    }
    TITAN_USER_CHECK(is_known,
                     "[model.hf.keys] ",
                     ours,
                     ": expected a parameter of this network, or a layer "
                     "and .*, got none of that name. Take the rule out, or "
                     "set the options that make the parameter.");
  }
  return out;
}

/// `theirs` for the block of the parameter `ours`, "layers.3.ffn_norm.weight".
std::string in_block(std::string theirs, const std::string& ours) {
  const size_t at = theirs.find(kAnyBlock);
  const size_t end = ours.find('.', kBlock.size());
  if (at != std::string::npos)
    theirs.replace(
        at, kAnyBlock.size(), ours.substr(kBlock.size(), end - kBlock.size()));
  return theirs;
}

/// A name where hf.keys has no other, in some of the blocks or in all.
void add_default(Names& names,
                 const std::string& ours,
                 const std::string& theirs,
                 const Known& known) {
  if (names.contains(ours)) return;
  Names rest;
  const Parameters all = known.matching(ours);
  for (const auto& [name, shape] : all)
    if (!names.contains(name)) rest[name] = in_block(theirs, name);
  if (!all.empty() && rest.size() == all.size())
    names.emplace(ours, theirs);
  else
    names.merge(rest);
}

// ---- rules ----

struct Rule {
  std::string ours, theirs;
  KeyRule how;  // without names

  bool is_part() const {
    return how.transform == TITAN_KEY_SPLIT || how.transform == TITAN_KEY_SLICE;
  }
};

std::string trimmed(const std::string& given) {
  const size_t first = given.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return given.substr(first, given.find_last_not_of(' ') - first + 1);
}

/// Reads "transposed", "part P of N", "part P of N per head", "rows B of W".
void read_how(const std::string& how, int64_t num_heads, Rule& rule) {
  std::istringstream words(how);
  std::string kind, of, per, head, more;
  words >> kind;
  bool is_second = false;
  KeyRule& out = rule.how;
  if (kind == "transposed") {
    is_second = out.is_transposed;
    out.is_transposed = true;
  } else if (kind == "part" || kind == "rows") {
    is_second = out.transform != TITAN_KEY_IDENTITY;
    words >> out.arg0 >> of >> out.arg1;
    out.transform = kind == "part" ? TITAN_KEY_SPLIT : TITAN_KEY_SLICE;
    const bool is_read = static_cast<bool>(words) && of == "of" &&
                         out.arg0 >= 0 && out.arg0 < out.arg1;
    if (!is_read) kind.clear();
    if (is_read && kind == "part" && words >> per) {
      words >> head;
      if (per != "per" || head != "head") kind.clear();
      out.num_groups = num_heads;
    }
  } else {
    kind.clear();
  }
  TITAN_USER_CHECK(!kind.empty() && !(words >> more),
                   "[model.hf.keys] ",
                   rule.ours,
                   ": expected \"transposed\", \"part P of N\", \"part P of N "
                   "per head\" or \"rows B of W\", got \"",
                   how,
                   '"');
  TITAN_USER_CHECK(!is_second,
                   "[model.hf.keys] ",
                   rule.ours,
                   ": expected \"transposed\" once at most, and one of {e}, "
                   "\"part\" and \"rows\", got a second with \"",
                   how,
                   '"');
}

/// The numbers that a pattern leaves open, by their letters.
std::string open_numbers(const std::string& pattern) {
  std::string letters;
  for (size_t at = pattern.find_first_of("{}"); at != std::string::npos;
       at = pattern.find_first_of("{}", at + 3)) {
    const std::string field = pattern.substr(at, 3);
    TITAN_USER_CHECK(field == "{i}" || field == "{e}",
                     "[model.hf.keys] ",
                     pattern,
                     ": expected {i} for a number, {e} for an expert's, got ",
                     field);
    letters += field[1];
  }
  return letters;
}

Rule read_rule(const std::string& ours,
               const std::string& theirs,
               int64_t num_heads) {
  std::istringstream parts(theirs);
  std::string name, how;
  std::getline(parts, name, '|');
  Rule rule{.ours = ours, .theirs = trimmed(name), .how = {}};
  TITAN_USER_CHECK(!rule.theirs.empty(),
                   "[model.hf.keys] ",
                   ours,
                   ": expected a name, got \"",
                   theirs,
                   '"');
  const std::string numbers = open_numbers(ours);
  std::string their_numbers = open_numbers(rule.theirs);
  const bool is_stack = std::erase(their_numbers, 'e') > 0;
  TITAN_USER_CHECK(numbers == their_numbers,
                   "[model.hf.keys] ",
                   ours,
                   ": expected {i} on both sides or on none, got ",
                   rule.theirs);
  if (is_stack) rule.how.transform = TITAN_KEY_STACK;
  while (std::getline(parts, how, '|')) read_how(trimmed(how), num_heads, rule);
  return rule;
}

// ---- rules against parameters ----

/// A parameter in a tensor of theirs.
struct Given {
  std::string ours;
  ParameterShape shape;
  const KeyRule* how;
};

void check_shape(const Given& given, const std::string& theirs) {
  const KeyRule& how = *given.how;
  const bool is_stack = how.transform == TITAN_KEY_STACK;
  TITAN_USER_CHECK(!is_stack || given.shape.num_dims == 3,
                   "[model.hf.keys] ",
                   given.ours,
                   ": expected {e} where experts are stacked only, got ",
                   theirs);
  TITAN_USER_CHECK(!how.is_transposed || given.shape.num_dims > 1,
                   "[model.hf.keys] ",
                   given.ours,
                   ": expected \"transposed\" of a matrix only, got it of a "
                   "vector");
  TITAN_USER_CHECK(given.shape.rows % how.num_groups == 0,
                   "[model.hf.keys] ",
                   given.ours,
                   ": expected \"per head\" where rows are a multiple of "
                   "num_heads ",
                   how.num_groups,
                   ", got ",
                   given.shape.rows,
                   " rows");
}

bool is_same_cut(const KeyRule& a, const KeyRule& b) {
  return a.transform == b.transform && a.arg1 == b.arg1 &&
         a.num_groups == b.num_groups && a.is_transposed == b.is_transposed;
}

/// `parts`, by where they begin, are one whole tensor or all parts of one.
void check_whole(const std::string& theirs,
                 const std::multimap<int64_t, Given>& parts) {
  const Given& first = parts.begin()->second;
  const KeyRule& how = *first.how;
  const bool is_split = how.transform == TITAN_KEY_SPLIT;
  const bool is_slice = how.transform == TITAN_KEY_SLICE;
  int64_t next = 0;
  for (const auto& [begin, part] : parts) {
    TITAN_USER_CHECK(&part == &first || ((is_split || is_slice) &&
                                         is_same_cut(how, *part.how)),
                     "[model.hf.keys] ",
                     part.ours,
                     ": expected a name of its own, or parts cut alike, got ",
                     theirs,
                     ", which ",
                     first.ours,
                     " has");
    TITAN_USER_CHECK(!is_split || part.shape.rows == first.shape.rows,
                     "[model.hf.keys] ",
                     part.ours,
                     ": expected parts of equal size, ",
                     first.shape.rows,
                     " rows as ",
                     first.ours,
                     ", got ",
                     part.shape.rows,
                     ". Say \"rows B of W\" instead.");
    if (begin != next) break;
    next += is_slice ? part.shape.rows : 1;
  }
  if (!is_split && !is_slice) return;
  TITAN_USER_CHECK(next == how.arg1,
                   "[model.hf.keys] ",
                   theirs,
                   ": expected rules that give all of it once, ",
                   how.arg1,
                   is_slice ? " rows" : " parts",
                   ", got one after the other up to ",
                   next);
}

void check_rules(const std::vector<Rule>& rules, const Known& known) {
  std::map<std::string, std::multimap<int64_t, Given>> by_theirs;
  std::map<std::string, const Rule*> by_ours;
  for (const Rule& rule : rules)
    for (const auto& [ours, shape] : known.matching(rule.ours)) {
      const auto [other, is_new] = by_ours.emplace(ours, &rule);
      TITAN_USER_CHECK(is_new,
                       "[model.hf.keys] ",
                       ours,
                       ": expected one rule, got ",
                       other->second->ours,
                       " and ",
                       rule.ours);
      const Given given{ours, shape, &rule.how};
      check_shape(given, rule.theirs);
      by_theirs[in_block(rule.theirs, ours)].emplace(
          rule.is_part() ? rule.how.arg0 : 0, given);
    }
  for (const auto& [theirs, parts] : by_theirs) check_whole(theirs, parts);
}

}  // namespace

void Gpt::describe_keys(Keys& keys) const {
  const GptConfig& c = config_;
  const Known known(c);
  const bool has_own_layout = c.layout == kOwnLayout;
  Names names = given_names(c.json.at("hf").at("keys"), known);
  Json ignored = c.json.at("hf").at("ignore");
  if (!has_own_layout) {
    const Json layout = layout_named(c.layout);
    for (const auto& [ours, theirs] : layout.at("keys").members())
      for (const auto& [name, filled] : named(ours, theirs.str()))
        add_default(names, name, filled, known);
    for (const Json& name : layout.at("ignore").items())
      ignored.push_back(name);
  } else {
    for (const auto& [name, same] : known.all())
      add_default(names, name, same, known);
  }
  if (c.tie_embeddings) {
    // Some tied checkpoints store the head a second time.
    keys.ignore(names.at("lm_head.weight"));
    names.erase("lm_head.weight");
  }
  std::vector<Rule> rules;
  for (const auto& [ours, theirs] : names)
    rules.push_back(read_rule(ours, theirs, c.num_heads));
  check_rules(rules, known);
  for (Rule& rule : rules) {
    rule.how.native = rule.ours;
    rule.how.hf = rule.theirs;
    keys.add(rule.how);
  }
  for (const Json& name : ignored.items()) keys.ignore(name.str());
}

}  // namespace titan::gpt
