// SPDX-License-Identifier: BSD-3-Clause
// Models, kind titan.model/1, from a class to its C table. The class has
//   static constexpr std::string_view kSchema           JSON Schema subset
//   static constexpr std::string_view kHfModelTypes[]   may be absent
//   static std::span<const Flavor> flavors()
//   explicit Model(const Config&)
//   void build(Build)            once; keeps its modules alive
//   double flops_per_token(int64_t seq_len) const
//   static Json config_from_hf(const Json&)             may be absent, with:
//   Json config_to_hf() const
//   void describe_keys(Keys&) const
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <titan/sdk/build.hpp>
#include <titan/sdk/config.hpp>
#include <titan/sdk/object.hpp>

namespace titan {

/// A named size: JSON overrides of the schema's defaults.
struct Flavor {
  std::string_view name;
  std::string_view config;
};

/// titan_key_rule: one line of the map, of any kind.
struct KeyRule {
  int32_t transform = TITAN_KEY_IDENTITY;
  std::string_view native = {};
  std::string_view hf = {};
  int64_t arg0 = 0, arg1 = 0, arg2 = 0;
  int64_t num_groups = 1;
  bool is_transposed = false;
  bool is_alternative = false;
};

/// Collects key rules between FQNs and Hugging Face names; "{i}" in a pattern
/// is a number, the same on both sides.
class Keys {
 public:
  explicit Keys(const titan_key_sink& sink) : sink_(sink) {}

  void identity(std::string_view native, std::string_view hf) {
    add(TITAN_KEY_IDENTITY, native, hf);
  }
  /// Rows of heads, stored as halves there and as adjacent pairs here.
  void rope_rows(std::string_view native,
                 std::string_view hf,
                 int64_t head_dim) {
    add(TITAN_KEY_ROPE_ROWS, native, hf, head_dim);
  }
  void transpose(std::string_view native, std::string_view hf) {
    add(TITAN_KEY_TRANSPOSE, native, hf);
  }
  /// "{e}" of the Hugging Face name indexes dim 0 of the native tensor.
  void stack(std::string_view native, std::string_view hf) {
    add(TITAN_KEY_STACK, native, hf);
  }
  /// Native = part `part` of `parts` equal ones of the other along `dim`.
  void split(std::string_view native,
             std::string_view hf,
             int64_t part,
             int64_t parts,
             int64_t dim = 0) {
    add(TITAN_KEY_SPLIT, native, hf, part, parts, dim);
  }
  /// Native = what the other has from `begin` on along `dim`, where it is
  /// `whole` long: parts of unequal size.
  void slice(std::string_view native,
             std::string_view hf,
             int64_t begin,
             int64_t whole,
             int64_t dim = 0) {
    add(TITAN_KEY_SLICE, native, hf, begin, whole, dim);
  }
  /// Dropped on load, not written. A "*" at the end stands for any rest.
  void ignore(std::string_view hf) { add(TITAN_KEY_IGNORE, "", hf); }

  /// For another writer's names: a checkpoint that has them is read by them,
  /// and they are never written. Valid as long as this is.
  Keys alternative() const {
    Keys out(sink_);
    out.is_alternative_ = true;
    return out;
  }

  void add(const KeyRule& rule) {
    const titan_key_rule raw{sizeof(titan_key_rule),
                             rule.transform,
                             detail::str(rule.native),
                             detail::str(rule.hf),
                             rule.arg0,
                             rule.arg1,
                             rule.arg2,
                             rule.num_groups,
                             rule.is_transposed ? 1 : 0,
                             rule.is_alternative || is_alternative_ ? 1 : 0};
    sink_.add(sink_.self, &raw);
  }

 private:
  void add(int32_t transform,
           std::string_view native,
           std::string_view hf,
           int64_t arg0 = 0,
           int64_t arg1 = 0,
           int64_t arg2 = 0) {
    add(KeyRule{transform, native, hf, arg0, arg1, arg2});
  }
  const titan_key_sink& sink_;
  bool is_alternative_ = false;
};

namespace detail {

template <typename Model>
struct ModelFunctions {
  static int32_t build(titan_object* self,
                       titan_builder* builder,
                       titan_error* error) noexcept {
    return guard(error, [&] { object<Model>(self).build(Build(builder)); });
  }
  static int32_t flops_per_token(const titan_object* self,
                                 int64_t seq_len,
                                 double* out,
                                 titan_error* error) noexcept {
    return guard(error,
                 [&] { *out = object<Model>(self).flops_per_token(seq_len); });
  }
  static int32_t config_from_hf(const titan_host_api* api,
                                const titan_config* hf,
                                const titan_text_sink* sink,
                                titan_error* error) noexcept {
    return guard(error, [&] {
      set_host(api);
      write_text(*sink, Model::config_from_hf(Config(hf).json()).dump());
    });
  }
  static int32_t config_to_hf(const titan_object* self,
                              const titan_text_sink* sink,
                              titan_error* error) noexcept {
    return guard(error, [&] {
      write_text(*sink, object<Model>(self).config_to_hf().dump());
    });
  }
  static int32_t describe_keys(const titan_object* self,
                               const titan_key_sink* sink,
                               titan_error* error) noexcept {
    return guard(error, [&] {
      Keys keys(*sink);
      object<Model>(self).describe_keys(keys);
    });
  }
};

/// The table of a model and what it points to; lives as long as the library.
template <typename Model>
class ModelTable {
 public:
  template <typename Description>
  explicit ModelTable(const Description&) {
    for (const Flavor& flavor : Model::flavors())
      flavors_.push_back(
          {sizeof(titan_flavor), 0, str(flavor.name), str(flavor.config)});
    flavor_pointers_ = pointers_to(flavors_);
    table_.struct_size = sizeof(table_);
    table_.flavors = flavor_pointers_.data();
    table_.num_flavors = flavor_pointers_.size();
    table_.create = create_object<Model>;
    table_.destroy = destroy_object<Model>;
    table_.build = ModelFunctions<Model>::build;
    table_.flops_per_token = ModelFunctions<Model>::flops_per_token;
    if constexpr (requires { Model::kHfModelTypes; }) add_hf();
  }
  const void* get() const { return &table_; }

 private:
  void add_hf() {
    for (const std::string_view type : Model::kHfModelTypes)
      hf_types_.push_back(str(type));
    table_.hf_model_types = hf_types_.data();
    table_.num_hf_model_types = hf_types_.size();
    table_.config_from_hf = ModelFunctions<Model>::config_from_hf;
    table_.config_to_hf = ModelFunctions<Model>::config_to_hf;
    table_.describe_keys = ModelFunctions<Model>::describe_keys;
  }
  std::vector<titan_flavor> flavors_;
  std::vector<const titan_flavor*> flavor_pointers_;
  std::vector<titan_str> hf_types_;
  titan_model_table table_{};
};

}  // namespace detail
}  // namespace titan
