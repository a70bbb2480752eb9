// SPDX-License-Identifier: BSD-3-Clause
// A pattern's "{i}" and "{e}" stand for numbers; the same letter is the same
// number on both sides.
#include "core/module/hf_keys.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include <ATen/ATen.h>

#include <titan/error.h>

#include "core/op/tensor_meta.h"

namespace titan::module {
namespace {

using Numbers = std::map<char, int64_t>;

// "layers.{i}.w" against "layers.12.w" -> {i: 12}; a last "*" is any rest.
std::optional<Numbers> match_pattern(const std::string& pattern,
                                     const std::string& name) {
  Numbers numbers;
  size_t at = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '*' && i + 1 == pattern.size()) return numbers;
    if (pattern[i] != '{') {
      if (at >= name.size() || name[at++] != pattern[i]) return std::nullopt;
      continue;
    }
    const char letter = pattern[i + 1];
    i = pattern.find('}', i);
    size_t end = at;
    while (end < name.size() &&
           std::isdigit(static_cast<unsigned char>(name[end])) != 0)
      ++end;
    if (end == at || end - at > 9) return std::nullopt;
    const int64_t number = std::stoll(name.substr(at, end - at));
    const auto [where, is_new] = numbers.emplace(letter, number);
    if (!is_new && where->second != number) return std::nullopt;
    at = end;
  }
  if (at != name.size()) return std::nullopt;
  return numbers;
}

std::string fill_pattern(const std::string& pattern, const Numbers& numbers) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '{') {
      out.push_back(pattern[i]);
      continue;
    }
    const auto found = numbers.find(pattern[i + 1]);
    TITAN_CHECK(found != numbers.end(),
                "[key rule ",
                pattern,
                "] a number of this side is not on the other");
    out += std::to_string(found->second);
    i = pattern.find('}', i);
  }
  return out;
}

// Rows of a head: half-split (2, H/2) <-> adjacent pairs (H/2, 2).
at::Tensor permute_rope_rows(const at::Tensor& tensor,
                             int64_t head_dim,
                             bool from_hf) {
  std::vector<int64_t> heads = {tensor.size(0) / head_dim,
                                from_hf ? 2 : head_dim / 2,
                                from_hf ? head_dim / 2 : 2};
  for (int64_t i = 1; i < tensor.dim(); ++i) heads.push_back(tensor.size(i));
  return tensor.reshape(heads).transpose(1, 2).reshape(tensor.sizes());
}

bool is_transposed(const KeyRule& rule) {
  return rule.is_transposed || rule.transform == TITAN_KEY_TRANSPOSE;
}

// Dim `dim` as groups of parts: (groups, parts, rows of a part).
at::Tensor as_groups(const at::Tensor& tensor,
                     const KeyRule& rule,
                     int64_t parts) {
  return tensor.unflatten(rule.arg2, {rule.num_groups, parts, -1});
}

// `shape`: the parameter's; `given` has that of hf_shape.
at::Tensor from_hf(const KeyMatch& match,
                   const at::Tensor& given,
                   const std::vector<int64_t>& shape) {
  const KeyRule& rule = match.rule;
  at::Tensor tensor = is_transposed(rule) ? given.transpose(-1, -2) : given;
  switch (rule.transform) {
    case TITAN_KEY_ROPE_ROWS:
      return permute_rope_rows(tensor, rule.arg0, true);
    case TITAN_KEY_SPLIT:
      return as_groups(tensor, rule, rule.arg1)
          .select(rule.arg2 + 1, rule.arg0)
          .flatten(rule.arg2, rule.arg2 + 1);
    case TITAN_KEY_SLICE:
      return tensor.narrow(
          rule.arg2, rule.arg0, shape.at(static_cast<size_t>(rule.arg2)));
    default:
      return tensor;
  }
}

at::Tensor transposed_back(const KeyRule& rule, const at::Tensor& tensor) {
  return is_transposed(rule) ? tensor.transpose(-1, -2).contiguous() : tensor;
}

at::Tensor to_hf(const KeyMatch& match, const at::Tensor& tensor) {
  switch (match.rule.transform) {
    case TITAN_KEY_ROPE_ROWS:
      return transposed_back(match.rule,
                             permute_rope_rows(tensor, match.rule.arg0, false));
    case TITAN_KEY_STACK:
      return transposed_back(match.rule, tensor.select(0, match.expert));
    default:
      return transposed_back(match.rule, tensor);
  }
}

using ReadTensor = std::function<at::Tensor(const std::string&)>;

// The tensor of theirs, of the shape it must have for a parameter of `shape`.
at::Tensor read_part(const KeyMatch& match,
                     const std::vector<int64_t>& shape,
                     const ReadTensor& read) {
  at::Tensor tensor = read(match.hf);
  TITAN_USER_CHECK(tensor.defined(),
                   "[checkpoint] missing key: expected '",
                   match.hf,
                   "' for ",
                   match.native,
                   ", got none");
  const std::vector<int64_t> expected = hf_shape(match, shape);
  TITAN_USER_CHECK(tensor.sizes() == at::IntArrayRef(expected),
                   "[checkpoint] ",
                   match.hf,
                   " shape: expected ",
                   expected,
                   " for ",
                   match.native,
                   ", got ",
                   tensor.sizes());
  return tensor;
}

// One checkpoint tensor that several parameters share out.
struct SharedTensor {
  KeyRule rule;
  std::map<int64_t, at::Tensor> parts;
};

}  // namespace

std::vector<int64_t> hf_shape(const KeyMatch& match,
                              std::vector<int64_t> shape) {
  const KeyRule& rule = match.rule;
  if (rule.transform == TITAN_KEY_STACK) shape.erase(shape.begin());
  if (rule.transform == TITAN_KEY_SPLIT)
    shape.at(static_cast<size_t>(rule.arg2)) *= rule.arg1;
  if (rule.transform == TITAN_KEY_SLICE)
    shape.at(static_cast<size_t>(rule.arg2)) = rule.arg1;
  if (is_transposed(rule))
    std::swap(shape.at(shape.size() - 1), shape.at(shape.size() - 2));
  return shape;
}

bool is_part(const KeyRule& rule) {
  return rule.transform == TITAN_KEY_SPLIT || rule.transform == TITAN_KEY_SLICE;
}

at::Tensor join_parts(const KeyRule& rule,
                      const std::map<int64_t, at::Tensor>& parts,
                      std::string_view where,
                      const std::string& name) {
  const bool is_slice = rule.transform == TITAN_KEY_SLICE;
  std::vector<at::Tensor> tensors;
  int64_t next = 0;  // what should come: a part's number, or where it begins
  for (const auto& [place, tensor] : parts) {
    if (place != next) break;
    next += is_slice ? tensor.size(rule.arg2) : 1;
    tensors.push_back(is_slice ? tensor : as_groups(tensor, rule, 1));
  }
  TITAN_USER_CHECK(next == rule.arg1 && tensors.size() == parts.size(),
                   '[',
                   where,
                   "] parts of ",
                   name,
                   ": expected ",
                   rule.arg1,
                   is_slice ? " rows, got " : ", got ",
                   is_slice ? next : static_cast<int64_t>(parts.size()));
  const at::Tensor whole =
      is_slice
          ? at::cat(tensors, rule.arg2)
          : at::cat(tensors, rule.arg2 + 1).flatten(rule.arg2, rule.arg2 + 2);
  return transposed_back(rule, whole);
}

KeyMap::KeyMap(const Model& model) : KeyMap(model.key_rules()) {}

KeyMap::KeyMap(std::vector<KeyRule> rules) {
  for (KeyRule& rule : rules) {
    const bool is_other =
        rule.is_alternative && rule.transform != TITAN_KEY_IGNORE;
    (is_other ? alternatives_ : rules_).push_back(std::move(rule));
  }
}

KeyMap KeyMap::with_fitting_prefix(
    const std::vector<std::string>& stored) const {
  std::map<std::string, int64_t> prefixes;
  for (const KeyRule& rule : rules_)
    if (const size_t dot = rule.hf.find('.'); dot != std::string::npos)
      ++prefixes[rule.hf.substr(0, dot + 1)];
  if (prefixes.empty()) return *this;
  const std::string prefix = std::max_element(prefixes.begin(),
                                              prefixes.end(),
                                              [](const auto& a, const auto& b) {
                                                return a.second < b.second;
                                              })
                                 ->first;
  KeyMap bare = *this;
  for (std::vector<KeyRule>* rules : {&bare.rules_, &bare.alternatives_})
    for (KeyRule& rule : *rules)
      if (rule.hf.starts_with(prefix)) rule.hf.erase(0, prefix.size());
  const auto count = [&stored](const KeyMap& keys) {
    return std::count_if(
        stored.begin(), stored.end(), [&](const std::string& name) {
          return keys.knows(name);
        });
  };
  return count(bare) > count(*this) ? bare : *this;
}

void KeyMap::use_alternatives(const std::vector<std::string>& stored) {
  for (const KeyRule& rule : alternatives_) {
    const bool has_key =
        std::any_of(stored.begin(), stored.end(), [&](const std::string& key) {
          return match_pattern(rule.hf, key).has_value();
        });
    if (!has_key) continue;
    std::erase_if(rules_, [&](const KeyRule& other) {
      return other.native == rule.native;
    });
    rules_.push_back(rule);
  }
}

KeyMap KeyMap::fitting(const std::vector<std::string>& stored) const {
  KeyMap named = with_fitting_prefix(stored);
  named.use_alternatives(stored);
  return named;
}

std::vector<KeyMatch> KeyMap::matches(const std::string& fqn,
                                      const std::vector<int64_t>& shape) const {
  std::vector<KeyMatch> found;
  for (const KeyRule& rule : rules_) {
    if (rule.transform == TITAN_KEY_IGNORE) continue;
    auto numbers = match_pattern(rule.native, fqn);
    if (!numbers) continue;
    const int64_t copies =
        rule.transform == TITAN_KEY_STACK ? shape.front() : 1;
    for (int64_t expert = 0; expert < copies; ++expert) {
      if (rule.transform == TITAN_KEY_STACK) (*numbers)['e'] = expert;
      found.push_back({fill_pattern(rule.hf, *numbers),
                       fqn,
                       rule,
                       rule.transform == TITAN_KEY_STACK ? expert : -1});
    }
  }
  return found;
}

std::vector<KeyMatch> KeyMap::sources(const Parameter& parameter) const {
  std::vector<KeyMatch> found = matches(parameter.fqn, parameter.shape);
  TITAN_USER_CHECK(!found.empty(),
                   "[model ",
                   parameter.fqn,
                   "] key rule: expected one that names this parameter, got "
                   "none. Add it to the model's describe_keys.");
  return found;
}

std::vector<Parameter> KeyMap::keyed_buffers(const ModuleTree& tree) const {
  std::vector<Parameter> keyed;
  for (const auto& buffer : tree.buffers()) {
    if ((buffer->flags & TITAN_BUFFER_PERSISTENT) == 0) continue;
    if (matches(buffer->fqn, buffer->shape).empty()) continue;
    Parameter& parameter = keyed.emplace_back();
    parameter.fqn = buffer->fqn;
    parameter.shape = buffer->shape;
    parameter.is_trainable = false;
  }
  return keyed;
}

bool KeyMap::knows(const std::string& hf_key) const {
  return std::any_of(rules_.begin(), rules_.end(), [&](const KeyRule& rule) {
    return match_pattern(rule.hf, hf_key).has_value();
  });
}

bool KeyMap::ignores(const std::string& hf_key) const {
  return std::any_of(rules_.begin(), rules_.end(), [&](const KeyRule& rule) {
    return rule.transform == TITAN_KEY_IGNORE &&
           match_pattern(rule.hf, hf_key).has_value();
  });
}

at::Tensor KeyMap::load(
    const Parameter& parameter,
    const std::function<at::Tensor(const std::string&)>& read) const {
  const std::vector<KeyMatch> found = sources(parameter);
  if (found.front().expert < 0)
    return from_hf(found.front(),
                   read_part(found.front(), parameter.shape, read),
                   parameter.shape);
  at::Tensor value;
  for (const KeyMatch& match : found) {
    const at::Tensor part =
        from_hf(match, read_part(match, parameter.shape, read), {});
    if (!value.defined()) value = at::empty(parameter.shape, part.options());
    TITAN_USER_CHECK(part.scalar_type() == value.scalar_type(),
                     "[checkpoint] ",
                     match.hf,
                     " type: expected ",
                     op::dtype_name(value.scalar_type()),
                     " as the parts before it, got ",
                     op::dtype_name(part.scalar_type()));
    value.select(0, match.expert).copy_(part);
  }
  return value;
}

std::map<std::string, at::Tensor> KeyMap::save(
    const std::vector<ParameterValue>& values) const {
  std::map<std::string, at::Tensor> tensors;
  std::map<std::string, SharedTensor> shared;
  for (const ParameterValue& given : values)
    for (const KeyMatch& match : sources(*given.parameter)) {
      if (is_part(match.rule)) {
        SharedTensor& whole = shared[match.hf];
        whole.rule = match.rule;
        whole.parts[match.rule.arg0] = given.value;
      } else {
        tensors[match.hf] = to_hf(match, given.value);
      }
    }
  for (const auto& [name, whole] : shared)
    tensors[name] = join_parts(whole.rule, whole.parts, "checkpoint", name);
  return tensors;
}

}  // namespace titan::module
