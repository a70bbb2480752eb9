// SPDX-License-Identifier: BSD-3-Clause
// The place in the module tree where something is about to be built. Paths read
// like FQNs: `b / "attention" / "wo"`. Only valid during `build`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <titan/sdk/spec.hpp>

namespace titan {

class Build;

namespace detail {

inline const titan_builder_api& builder() {
  return *host().builder;
}

/// Calls a builder function, appending the error argument.
template <typename Function, typename... Arguments>
void build_call(Function function, Arguments... arguments) {
  HostError error;
  check(function(arguments..., static_cast<titan_error*>(error)), error);
}

/// Arrays of growable structs cross as arrays of pointers.
template <typename Item>
std::vector<const Item*> pointers_to(const std::vector<Item>& items) {
  std::vector<const Item*> out;
  out.reserve(items.size());
  for (const Item& item : items) out.push_back(&item);
  return out;
}

inline std::vector<titan_str> strs(const std::vector<std::string>& items) {
  std::vector<titan_str> out;
  out.reserve(items.size());
  for (const std::string& item : items) out.push_back(str(item));
  return out;
}

}  // namespace detail

/// What an item reads besides the carry. Batch fields follow the carry as
/// forward's arguments; side inputs come from `ctx.side_input(name)`.
struct ItemInputs {
  std::vector<std::string> batch = {};
  std::vector<std::string> side = {};
};

/// Ordered items, the unit of backward, sharding and pipelining.
class Sequence {
 public:
  Sequence(titan_builder* builder, titan_sequence* handle)
      : builder_(builder), handle_(handle) {}

  /// Appends a module: inputs are the carry of the item before.
  template <typename Callable>
  void item(const Callable& module,
            const Carry& carry,
            const ItemInputs& inputs = {}) {
    std::vector<titan_tensor_spec> specs;
    for (const TensorSpec& spec : carry) specs.push_back(spec.raw());
    const auto pointers = detail::pointers_to(specs);
    const auto side = detail::strs(inputs.side);
    const auto batch = detail::strs(inputs.batch);
    titan_item_spec raw{};
    raw.struct_size = sizeof(raw);
    raw.num_carry = static_cast<uint32_t>(pointers.size());
    raw.carry = pointers.data();
    raw.side_inputs = side.data();
    raw.num_side_inputs = side.size();
    raw.batch_inputs = batch.data();
    raw.num_batch_inputs = batch.size();
    detail::build_call(
        detail::builder().item, builder_, handle_, module.handle(), &raw);
  }

 private:
  titan_builder* builder_;
  titan_sequence* handle_;
};

/// A node of the tree, or the name of one that its constructor will make.
// Functions are kept out of line: built once, not worth compile time.
class Build {
 public:
  explicit Build(titan_builder* builder)
      : builder_(builder), node_(detail::builder().root(builder)) {}
  Build(titan_builder* builder, titan_module* node)
      : builder_(builder), node_(node) {}

  /// The child `name`. A parent without code becomes a plain container.
  [[gnu::noinline]] Build operator/(std::string_view name) const {
    Build child(*this);
    child.parent_ = node();
    child.name_ = name;
    child.node_ = nullptr;
    return child;
  }
  [[gnu::noinline]] Build operator/(int64_t index) const {
    return *this / text(index);
  }

  /// A call site of an op inside this module; see Op.
  [[gnu::noinline]] titan_slot* op(std::string_view site,
                                   std::string_view op_id,
                                   Attributes attributes = {}) const {
    const titan_op_spec spec = op_spec(op_id, attributes);
    titan_slot* slot = nullptr;
    detail::build_call(detail::builder().op,
                       builder_,
                       node(),
                       detail::str(site),
                       &spec,
                       &slot);
    return slot;
  }

  // The sequences; the root's is made by its first item.
  Sequence root_sequence() const { return tower(""); }
  /// Another sequence. Its last carry can be a side input: "name" when it is
  /// one tensor, "name.tensor" otherwise.
  Sequence tower(std::string_view name) const {
    titan_sequence* sequence = nullptr;
    detail::build_call(
        detail::builder().sequence, builder_, detail::str(name), &sequence);
    return {builder_, sequence};
  }
  template <typename Callable>
  void item(const Callable& module,
            const Carry& carry,
            const ItemInputs& inputs = {}) const {
    root_sequence().item(module, carry, inputs);
  }

  /// The root sequence ends in logits: the host applies `head` itself.
  template <typename Leaf>
  void output(const Leaf& head,
              double logit_scale = 1,
              double logit_cap = 0) const {
    titan_output_spec raw{};
    raw.struct_size = sizeof(raw);
    raw.kind = TITAN_OUTPUT_LANGUAGE_MODEL;
    raw.head = head.handle();
    raw.logit_scale = logit_scale;
    raw.logit_cap = logit_cap;
    detail::build_call(detail::builder().output, builder_, &raw);
  }
  /// The root sequence's last carry is the output.
  void output() const {
    titan_output_spec raw{};
    raw.struct_size = sizeof(raw);
    raw.kind = TITAN_OUTPUT_TENSOR;
    raw.logit_scale = 1;
    detail::build_call(detail::builder().output, builder_, &raw);
  }
  /// `alias`'s parameter is `owner`'s: one tensor under the owner's FQN.
  template <typename Owner, typename Alias>
  void tie(const Owner& owner,
           const Alias& alias,
           std::string_view parameter = "weight") const {
    detail::build_call(detail::builder().tie,
                       builder_,
                       owner.handle(),
                       alias.handle(),
                       detail::str(parameter));
  }

  // For the SDK's own classes.
  titan_builder* builder() const { return builder_; }
  titan_module* parent() const { return parent_; }
  std::string_view name() const { return name_; }
  void become(titan_module* node) { node_ = node; }
  [[gnu::noinline]] titan_module* node() const {
    if (node_ == nullptr)
      detail::build_call(detail::builder().container,
                         builder_,
                         parent_,
                         detail::str(name_),
                         &node_);
    return node_;
  }
  static titan_op_spec op_spec(std::string_view op_id, Attributes attributes) {
    titan_op_spec spec{};
    spec.struct_size = sizeof(spec);
    spec.op_id = detail::str(op_id);
    spec.attributes = attributes.begin();
    spec.num_attributes = attributes.size();
    return spec;
  }

 private:
  titan_builder* builder_;
  titan_module* parent_ = nullptr;
  std::string name_;
  mutable titan_module* node_ = nullptr;  // made on first use as a parent
};

}  // namespace titan
