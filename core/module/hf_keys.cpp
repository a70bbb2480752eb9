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

namespace titan::module {
namespace {

using Numbers = std::map<char, int64_t>;

// "layers.{i}.w" against "layers.12.w" -> {i: 12}.
std::optional<Numbers> match_pattern(const std::string& pattern,
                                     const std::string& name) {
  Numbers numbers;
  size_t at = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
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

at::Tensor from_hf(const KeyMatch& match, const at::Tensor& tensor) {
  switch (match.rule.transform) {
    case TITAN_KEY_ROPE_ROWS:
      return permute_rope_rows(tensor, match.rule.arg0, true);
    case TITAN_KEY_TRANSPOSE:
      return tensor.transpose(-1, -2);
    case TITAN_KEY_SPLIT: {
      const int64_t part = tensor.size(match.rule.arg2) / match.rule.arg1;
      return tensor.narrow(match.rule.arg2, match.rule.arg0 * part, part);
    }
    default:
      return tensor;
  }
}

at::Tensor to_hf(const KeyMatch& match, const at::Tensor& tensor) {
  switch (match.rule.transform) {
    case TITAN_KEY_ROPE_ROWS:
      return permute_rope_rows(tensor, match.rule.arg0, false);
    case TITAN_KEY_TRANSPOSE:
      return tensor.transpose(-1, -2).contiguous();
    case TITAN_KEY_STACK:
      return tensor.select(0, match.expert);
    default:
      return tensor;
  }
}

// One checkpoint tensor that several parameters share out, by part number.
struct SharedTensor {
  KeyRule rule;
  std::map<int64_t, at::Tensor> parts;
};

at::Tensor join(const std::string& name, const SharedTensor& whole) {
  TITAN_USER_CHECK(static_cast<int64_t>(whole.parts.size()) == whole.rule.arg1,
                   "[checkpoint] parts of ",
                   name,
                   ": expected ",
                   whole.rule.arg1,
                   ", got ",
                   whole.parts.size());
  std::vector<at::Tensor> parts;
  for (const auto& [number, part] : whole.parts) parts.push_back(part);
  return at::cat(parts, whole.rule.arg2);
}

}  // namespace

std::vector<int64_t> hf_shape(const KeyMatch& match,
                              std::vector<int64_t> shape) {
  switch (match.rule.transform) {
    case TITAN_KEY_TRANSPOSE:
      std::swap(shape.at(shape.size() - 1), shape.at(shape.size() - 2));
      break;
    case TITAN_KEY_STACK:
      shape.erase(shape.begin());
      break;
    case TITAN_KEY_SPLIT:
      shape.at(static_cast<size_t>(match.rule.arg2)) *= match.rule.arg1;
      break;
    default:
      break;
  }
  return shape;
}

KeyMap::KeyMap(const Model& model) : KeyMap(model.key_rules()) {}

KeyMap::KeyMap(std::vector<KeyRule> rules) : rules_(std::move(rules)) {}

std::vector<KeyMatch> KeyMap::sources(const Parameter& parameter) const {
  std::vector<KeyMatch> matches;
  for (const KeyRule& rule : rules_) {
    if (rule.transform == TITAN_KEY_IGNORE) continue;
    auto numbers = match_pattern(rule.native, parameter.fqn);
    if (!numbers) continue;
    const int64_t copies =
        rule.transform == TITAN_KEY_STACK ? parameter.shape.front() : 1;
    for (int64_t expert = 0; expert < copies; ++expert) {
      if (rule.transform == TITAN_KEY_STACK) (*numbers)['e'] = expert;
      matches.push_back({fill_pattern(rule.hf, *numbers),
                         parameter.fqn,
                         rule,
                         rule.transform == TITAN_KEY_STACK ? expert : -1});
    }
  }
  TITAN_USER_CHECK(!matches.empty(),
                   "[model ",
                   parameter.fqn,
                   "] key rule: expected one that names this parameter, got "
                   "none. Add it to the model's describe_keys.");
  return matches;
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
  const std::vector<KeyMatch> matches = sources(parameter);
  std::vector<at::Tensor> pieces;
  for (const KeyMatch& match : matches) {
    const at::Tensor tensor = read(match.hf);
    TITAN_USER_CHECK(tensor.defined(),
                     "[checkpoint] missing key: expected '",
                     match.hf,
                     "' for ",
                     parameter.fqn,
                     ", got none");
    pieces.push_back(from_hf(match, tensor));
  }
  const bool is_stack = matches.front().rule.transform == TITAN_KEY_STACK;
  at::Tensor value = is_stack ? at::stack(pieces) : pieces.front();
  TITAN_USER_CHECK(value.sizes() == at::IntArrayRef(parameter.shape),
                   "[checkpoint] ",
                   matches.front().hf,
                   " shape: expected ",
                   parameter.shape,
                   " for ",
                   parameter.fqn,
                   ", got ",
                   value.sizes());
  return value;
}

std::map<std::string, at::Tensor> KeyMap::save(
    const std::vector<ParameterValue>& values) const {
  std::map<std::string, at::Tensor> tensors;
  std::map<std::string, SharedTensor> shared;
  for (const ParameterValue& given : values)
    for (const KeyMatch& match : sources(*given.parameter)) {
      if (match.rule.transform == TITAN_KEY_SPLIT) {
        SharedTensor& whole = shared[match.hf];
        whole.rule = match.rule;
        whole.parts[match.rule.arg0] = given.value;
      } else {
        tensors[match.hf] = to_hf(match, given.value);
      }
    }
  for (const auto& [name, whole] : shared) tensors[name] = join(name, whole);
  return tensors;
}

}  // namespace titan::module
