// SPDX-License-Identifier: BSD-3-Clause
// The module tree: what a model plugin described, owned by the host. Pure
// structure; no tensor is allocated here, so a 405B tree costs kilobytes.
// Read next: builder.h (how plugins fill it), context.h (how it runs).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <titan/abi.h>

#include "core/op/slot.h"

namespace titan::module {

struct Module;

enum class InitKind {
  kZeros = TITAN_INIT_ZEROS,
  kConstant = TITAN_INIT_CONSTANT,
  kNormal = TITAN_INIT_NORMAL,
  kTruncNormal = TITAN_INIT_TRUNC_NORMAL,
  kUniform = TITAN_INIT_UNIFORM,
  kLogUniform = TITAN_INIT_LOG_UNIFORM,
};

struct Init {
  InitKind kind = InitKind::kZeros;
  double mean = 0, std = 0, low = 0, high = 0;
};

enum class ShardHint {
  kReplicate = TITAN_SHARD_REPLICATE,
  kColumn = TITAN_SHARD_COLUMN,
  kRow = TITAN_SHARD_ROW,
  kVocab = TITAN_SHARD_VOCAB,
  kExpert = TITAN_SHARD_EXPERT,
};

/// A logical parameter: whole shape, whatever the layout.
struct Parameter {
  std::string fqn;
  std::vector<int64_t> shape;
  Init init;
  ShardHint shard = ShardHint::kReplicate;
  int64_t shard_granule = 1;  // rows that stay together (a head)
  Module* owner = nullptr;
  int64_t index = 0;  // position in ModuleTree::parameters
  bool is_trainable = true;
  const Module* adapts = nullptr;  // a transform's: the leaf it was added to

  int64_t num_elements() const;
};

struct Buffer {
  std::string fqn;
  std::vector<int64_t> shape;
  int32_t dtype = TITAN_DTYPE_F32;
  uint32_t flags = 0;
  std::vector<std::byte> initial;  // row-major; empty = zeros
};

/// A call site of an op: bare in a composite, or the whole of a leaf.
struct Site {
  op::Slot slot;
  Module* leaf = nullptr;      // its parameters follow the activations
  const char* span_name = "";  // FQN and site, for traces; lives for ever
};

/// What a transform has a leaf followed by (abi/transform.h).
struct Adapter {
  titan_module_class code = {};
  std::string label;  // code's name
  void* self = nullptr;
  bool derives = false;                // some first values follow from the leaf
  std::vector<Parameter*> parameters;  // in the order they were added
};

/// A class as its plugin knew it: fields that came later are null.
titan_module_class copy_class(const titan_module_class& code);

/// A composite (class with code), a leaf (one op and its parameters) or a plain
/// container.
struct Module {
  std::string name;
  std::string fqn;
  Module* parent = nullptr;
  std::vector<Module*> children;
  std::unique_ptr<const titan_module_class> code;  // composite
  std::string class_label;                         // composite: code's name
  void* self = nullptr;                            // composite
  std::unique_ptr<Site> leaf_site;                 // leaf
  std::vector<Parameter*> parameters;              // leaf: in the op's order
  std::unique_ptr<Adapter> adapter;                // leaf: what runs after it
  std::vector<std::unique_ptr<Site>> sites;        // composite: bare op sites
  int64_t index = 0;  // position in ModuleTree::modules

  bool is_leaf() const { return leaf_site != nullptr; }
  std::string class_name() const;
};

/// One tensor passed from an item to the next. dims: TITAN_DIM_TOKENS = T.
struct CarrySpec {
  std::string name;
  std::vector<int64_t> dims;
  int32_t dtype = TITAN_DTYPE_COMPUTE;
  bool is_differentiable = true;
};

struct Item {
  Module* module = nullptr;
  std::vector<CarrySpec> carry;
  std::vector<std::string> side_inputs;
  std::vector<std::string> batch_inputs;  // follow the carry
};

struct Sequence {
  std::string name;  // "" = root
  std::vector<Item> items;
};

struct Output {
  int32_t kind = TITAN_OUTPUT_TENSOR;
  Module* head = nullptr;
  double logit_scale = 1.0;
  double logit_cap = 0.0;
};

class ModuleTree {
 public:
  ModuleTree();
  ModuleTree(const ModuleTree&) = delete;
  ModuleTree& operator=(const ModuleTree&) = delete;

  Module& root() { return *modules_.front(); }
  const Module& root() const { return *modules_.front(); }
  const std::vector<std::unique_ptr<Module>>& modules() const {
    return modules_;
  }
  const std::vector<std::unique_ptr<Parameter>>& parameters() const {
    return parameters_;
  }
  const std::vector<std::unique_ptr<Buffer>>& buffers() const {
    return buffers_;
  }
  const std::vector<std::unique_ptr<Sequence>>& sequences() const {
    return sequences_;
  }
  /// The root sequence. BugError before the builder declared it.
  const Sequence& root_sequence() const;
  const Output& output() const { return output_; }

  /// Null when no such FQN exists.
  Parameter* find_parameter(std::string_view fqn) const;
  Module* find_module(std::string_view fqn) const;

  /// Trainable and frozen, a tied tensor counted once.
  int64_t num_parameters() const;

  /// Parameters used below `module`, each once, in tree order: what must be
  /// unsharded while an item runs. Includes a tied owner's tensor.
  std::vector<Parameter*> parameters_of(const Module& module) const;

  /// Chooses the kernels of every site added from now on. Null: references.
  void set_selector(std::shared_ptr<const op::KernelSelector> selector) {
    selector_ = std::move(selector);
  }
  const std::shared_ptr<const op::KernelSelector>& selector() const {
    return selector_;
  }

  // For the builder.
  Module& add_module(Module& parent, std::string_view name);
  /// The existing container of that name, else a new one.
  Module& container(Module& parent, std::string_view name);
  Parameter& add_parameter(Module& owner, const titan_parameter_spec& spec);
  Buffer& add_buffer(Module& owner, const titan_tensor_spec&, uint32_t flags);
  /// The existing sequence of that name, else a new one.
  Sequence& sequence(std::string_view name);
  void set_output(const Output& output) { output_ = output; }
  /// Makes `alias`'s parameter the owner's and removes the alias's own.
  void tie(Module& owner, Module& alias, std::string_view name);

 private:
  std::vector<std::unique_ptr<Module>> modules_;
  std::vector<std::unique_ptr<Parameter>> parameters_;
  int64_t num_elements_ = 0;  // of all that were added
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<std::unique_ptr<Sequence>> sequences_;
  Output output_;
  std::shared_ptr<const op::KernelSelector> selector_;
};

}  // namespace titan::module
