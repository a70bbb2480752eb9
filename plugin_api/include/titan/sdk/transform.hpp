// SPDX-License-Identifier: BSD-3-Clause
// Transforms, kind titan.transform/1, from a class to its C table. It has
//   void apply(Editor&)                        once; keeps its adapters alive
//   void derive(const LeafValues&, std::span<Tensor> out) const   may be absent
//   void merge(const LeafValues&, std::span<Tensor> out) const    may be absent
//   Json describe_file(const Json& modules) const                 may be absent
//   void check_file(const Json& config) const                     with the
//   above
// What each must do is in abi/transform.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <titan/abi/transform.h>
#include <titan/json.hpp>
#include <titan/sdk/leaf.hpp>
#include <titan/sdk/object.hpp>

namespace titan {

/// A parameter of a leaf, whole.
struct LeafParameter {
  std::string name;
  std::vector<int64_t> sizes;
  Shard shard;
  titan_parameter* handle;
};

/// A leaf of the tree as a transform sees it.
struct LeafInfo {
  std::string fqn;
  std::string op_id;
  uint32_t flags;  // TITAN_LEAF_...
  titan_module* handle;
  std::vector<LeafParameter> parameters;
};

/// Code that runs after a leaf, by CRTP over
/// `Tensor forward(Context&, Tensor inputs..., Tensor output) const`. Neither
/// copied nor moved: the host knows its address.
template <typename Derived>
class Adapter {
 public:
  Adapter() = default;
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;

  static titan_module_class code(std::string_view class_name) {
    return {sizeof(titan_module_class),
            0,
            detail::str(class_name),
            detail::forward_trampoline<Derived>,
            nullptr};
  }
};

/// The tree while `apply` runs.
class Editor {
 public:
  explicit Editor(titan_builder* builder)
      : builder_(builder),
        api_(static_cast<const titan_editor_api*>(
            host().get_interface(host().host,
                                 detail::str(TITAN_EDITOR_INTERFACE)))) {
    TITAN_CHECK(api_ != nullptr, "[transform] the host has no editor");
  }

  [[gnu::noinline]] std::vector<LeafInfo> leaves() const {
    std::vector<LeafInfo> out;
    const titan_leaf_sink sink{sizeof(titan_leaf_sink), 0, &out, add_leaf};
    detail::build_call(api_->leaves, builder_, &sink);
    return out;
  }
  /// Does the FQN fit the pattern? Text that is no pattern is a UserError.
  bool matches(std::string_view pattern, std::string_view fqn) const {
    int32_t found = 0;
    detail::build_call(
        api_->matches, detail::str(pattern), detail::str(fqn), &found);
    return found != 0;
  }
  /// Where parts of an adapter are added: `editor.below(leaf) / "lora_A"`.
  Build below(const LeafInfo& leaf) const {
    return Build(builder_, leaf.handle);
  }
  /// What was added below the leaf is `adapter`'s from now on.
  template <typename Derived>
  void adapt(const LeafInfo& leaf,
             Adapter<Derived>& adapter,
             std::string_view class_name,
             uint32_t flags = 0) const {
    const titan_module_class code = Adapter<Derived>::code(class_name);
    const titan_adapter_spec spec{sizeof(titan_adapter_spec),
                                  flags,
                                  &code,
                                  static_cast<Derived*>(&adapter)};
    detail::build_call(api_->adapt, builder_, leaf.handle, &spec);
  }
  /// The model's own parameters are not trained.
  void freeze_model() const {
    detail::build_call(api_->freeze_model, builder_);
  }

 private:
  static void add_leaf(void* self, const titan_leaf_info* info) {
    LeafInfo leaf{std::string(detail::view(info->fqn)),
                  std::string(detail::view(info->op_id)),
                  info->flags,
                  info->module,
                  {}};
    for (uint64_t i = 0; i < info->num_parameters; ++i) {
      const titan_parameter_spec& spec = *info->parameters[i];
      leaf.parameters.push_back({std::string(detail::view(spec.name)),
                                 {spec.dims, spec.dims + spec.num_dims},
                                 {spec.shard, spec.shard_granule},
                                 info->handles[i]});
    }
    static_cast<std::vector<LeafInfo>*>(self)->push_back(std::move(leaf));
  }
  titan_builder* builder_;
  const titan_editor_api* api_;
};

/// Values of an adapted leaf, whole: its own and then its adapter's.
class LeafValues {
 public:
  explicit LeafValues(const titan_leaf_values& raw) : raw_(raw) {}
  std::string_view fqn() const { return detail::view(raw_.fqn); }
  Tensor own(std::size_t i) const { return Tensor::retain(raw_.values[i]); }
  Tensor added(std::size_t i) const { return own(raw_.num_own + i); }
  std::size_t num_own() const { return raw_.num_own; }
  std::size_t num_added() const { return raw_.num_values - raw_.num_own; }

 private:
  const titan_leaf_values& raw_;
};

namespace detail {

template <typename Transform>
struct TransformFunctions {
  static int32_t apply(titan_object* self,
                       titan_builder* builder,
                       titan_error* error) noexcept {
    return guard(error, [&] {
      Editor editor(builder);
      object<Transform>(self).apply(editor);
    });
  }
  static int32_t derive(titan_object* self,
                        const titan_leaf_values* values,
                        titan_tensor* out,
                        titan_error* error) noexcept {
    return guard(error, [&] {
      const LeafValues given(*values);
      // A Tensor is one handle; those that stay empty are null.
      object<Transform>(self).derive(
          given, std::span(reinterpret_cast<Tensor*>(out), given.num_added()));
    });
  }
  static int32_t merge(titan_object* self,
                       const titan_leaf_values* values,
                       titan_tensor* out,
                       titan_error* error) noexcept {
    return guard(error, [&] {
      const LeafValues given(*values);
      object<Transform>(self).merge(
          given, std::span(reinterpret_cast<Tensor*>(out), given.num_own()));
    });
  }
  static int32_t describe_file(const titan_object* self,
                               titan_str modules,
                               const titan_text_sink* sink,
                               titan_error* error) noexcept {
    return guard(error, [&] {
      write_text(*sink,
                 object<Transform>(self)
                     .describe_file(Json::parse(view(modules)))
                     .dump());
    });
  }
  static int32_t check_file(const titan_object* self,
                            titan_str config,
                            titan_error* error) noexcept {
    return guard(error, [&] {
      object<Transform>(self).check_file(Json::parse(view(config)));
    });
  }
};

template <typename Transform>
class TransformTable {
 public:
  template <typename Description>
  explicit TransformTable(const Description&) {
    using Functions = TransformFunctions<Transform>;
    table_.struct_size = sizeof(table_);
    table_.create = create_object<Transform>;
    table_.destroy = destroy_object<Transform>;
    table_.apply = Functions::apply;
    if constexpr (requires { &Transform::derive; })
      table_.derive = Functions::derive;
    if constexpr (requires { &Transform::merge; })
      table_.merge = Functions::merge;
    if constexpr (requires { &Transform::describe_file; }) {
      table_.describe_file = Functions::describe_file;
      table_.check_file = Functions::check_file;
    }
  }
  const void* get() const { return &table_; }

 private:
  titan_transform_table table_{};
};

}  // namespace detail
}  // namespace titan
