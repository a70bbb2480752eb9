// SPDX-License-Identifier: BSD-3-Clause
// A host for tests of the SDK, without LibTorch: tensors carry the expression
// that made them ("add.Tensor(x, y)"), the builder records the tree, the
// context calls modules directly. Tensors with numbers serve optimizers and
// kernels.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <titan/abi.h>

namespace symbolic {

struct TensorData {
  std::string expression;
  std::vector<int64_t> sizes;
  int32_t dtype = TITAN_DTYPE_F32;
  std::vector<std::byte> bytes;
};

/// A new reference to a tensor.
titan_tensor make(std::string expression, std::vector<int64_t> sizes = {4, 6});
TensorData& data_of(titan_tensor handle);
std::string expression_of(titan_tensor handle);
/// References given out and not yet released.
int64_t live_references();

struct Module {
  std::string fqn;
  std::string class_or_op;
  const titan_module_class* code = nullptr;
  titan_module_class code_copy{};
  void* self = nullptr;
};

struct Parameter {
  std::string fqn;
  std::vector<int64_t> sizes;
  titan_parameter_spec spec{};
};

struct Site {
  std::string fqn;
  std::string op_id;
  std::map<std::string, titan_value> attributes;
  std::map<std::string, std::string> strings;  // string attributes
};

/// What `build` wrote.
struct Tree {
  std::vector<std::unique_ptr<Module>> modules;
  std::vector<std::unique_ptr<Parameter>> parameters;
  std::vector<std::unique_ptr<Site>> sites;
  std::vector<std::string> items;  // "embed(batch tokens) -> [-1, 8]"
  std::vector<Module*> item_modules;
  std::vector<std::string> ties;
  std::vector<std::unique_ptr<std::string>> buffers;  // FQNs
  std::string head;
  Module* root = nullptr;

  Tree();
  const Parameter& parameter(const std::string& fqn) const;
  const Site& site(const std::string& fqn) const;
  Module& module(const std::string& fqn) const;
  titan_builder* as_abi() { return reinterpret_cast<titan_builder*>(this); }
};

/// Runs a module's forward on inputs that it takes over; the outputs'
/// expressions.
std::vector<std::string> run(Module& module,
                             const std::vector<std::string>& inputs,
                             uint32_t num_out = 1);

const titan_host_api& host_api();

}  // namespace symbolic
