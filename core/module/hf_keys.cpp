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

using ReadTensor = std::function<at::Tensor(const std::string&)>;

at::Tensor read_part(const KeyMatch& match, const ReadTensor& read) {
  at::Tensor tensor = read(match.hf);
  TITAN_USER_CHECK(tensor.defined(),
                   "[checkpoint] missing key: expected '",
                   match.hf,
                   "' for ",
                   match.native,
                   ", got none");
  return tensor;
}

void check_shape(const std::string& hf,
                 const at::Tensor& tensor,
                 const std::vector<int64_t>& shape,
                 const std::string& fqn) {
  TITAN_USER_CHECK(tensor.sizes() == at::IntArrayRef(shape),
                   "[checkpoint] ",
                   hf,
                   " shape: expected ",
                   shape,
                   " for ",
                   fqn,
                   ", got ",
                   tensor.sizes());
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
  if (found.front().expert < 0) {
    const at::Tensor value =
        from_hf(found.front(), read_part(found.front(), read));
    check_shape(found.front().hf, value, parameter.shape, parameter.fqn);
    return value;
  }
  at::Tensor value;
  for (const KeyMatch& match : found) {
    const at::Tensor part = read_part(match, read);
    check_shape(
        match.hf, part, hf_shape(match, parameter.shape), parameter.fqn);
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
