// SPDX-License-Identifier: BSD-3-Clause
// Weights under Hugging Face names <-> parameters under FQNs, by the model's
// key rules, in both directions and strict: a missing or unexpected key is an
// error with its name.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/module/model.h"

namespace titan::module {

/// One tensor of a checkpoint and how it becomes (part of) a parameter.
struct KeyMatch {
  std::string hf;
  std::string native;
  KeyRule rule;
  int64_t expert = -1;  // TITAN_KEY_STACK: index into dim 0
};

/// The shape of `match.hf` where the parameter (of a stack: all of it) has
/// `shape`.
std::vector<int64_t> hf_shape(const KeyMatch& match,
                              std::vector<int64_t> shape);

/// True where the rule gives a parameter a part of a checkpoint tensor.
bool is_part(const KeyRule& rule);

/// The checkpoint tensor of all its parts, each under its rule's arg0.
/// UserError "[where] parts of `name`: ..." when they are not all of it.
at::Tensor join_parts(const KeyRule& rule,
                      const std::map<int64_t, at::Tensor>& parts,
                      std::string_view where,
                      const std::string& name);

/// A parameter and a tensor of its shape: its value, or its gradient.
struct ParameterValue {
  const Parameter* parameter = nullptr;
  at::Tensor value;
};

class KeyMap {
 public:
  explicit KeyMap(const Model& model);
  explicit KeyMap(std::vector<KeyRule> rules);

  /// The map for a checkpoint of these names: this one, or one without the
  /// prefix that most of its names have ("transformer."), where more names fit:
  /// transformers stores a bare model without it, as the published GPT-2 is.
  /// Alternative rules stand in place of the others of their parameter where
  /// it has their names, and are not used elsewhere.
  KeyMap fitting(const std::vector<std::string>& stored) const;

  /// Which checkpoint key(s) make up the parameter. UserError when no rule
  /// names it.
  std::vector<KeyMatch> sources(const Parameter& parameter) const;
  /// The persistent buffers that rules name, as parameters of their name and
  /// shape: they are in Hugging Face's checkpoints (DeepSeek's expert bias).
  std::vector<Parameter> keyed_buffers(const ModuleTree& tree) const;
  /// True when some rule knows the Hugging Face key, ignored ones included.
  bool knows(const std::string& hf_key) const;
  /// True for keys that loading drops.
  bool ignores(const std::string& hf_key) const;

  /// The parameter's value from its checkpoint tensors. `read(key)` returns an
  /// undefined tensor when the checkpoint lacks the key. UserError names
  /// missing keys, wrong shapes, and parts of a stack that differ in type. A
  /// stack is filled part by part, so that `read` may make each anew.
  at::Tensor load(
      const Parameter& parameter,
      const std::function<at::Tensor(const std::string&)>& read) const;

  /// The checkpoint tensors of these values. A tensor that several parameters
  /// share out is joined; UserError when a part is not given.
  std::map<std::string, at::Tensor> save(
      const std::vector<ParameterValue>& values) const;

 private:
  KeyMap with_fitting_prefix(const std::vector<std::string>& stored) const;
  void use_alternatives(const std::vector<std::string>& stored);
  std::vector<KeyMatch> matches(const std::string& fqn,
                                const std::vector<int64_t>& shape) const;

  std::vector<KeyRule> rules_, alternatives_;
};

}  // namespace titan::module
