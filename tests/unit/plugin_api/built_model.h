// SPDX-License-Identifier: BSD-3-Clause
// A model plugin's models, built with the symbolic host: what the test of a
// model family starts from.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>

#include <titan/json.hpp>

#include "tests/unit/plugin_api/loaded_plugin.h"

namespace symbolic {

/// Collects a text that a plugin writes.
struct TextSink {
  std::string text;
  titan_text_sink raw{sizeof(titan_text_sink),
                      0,
                      this,
                      [](void* self, titan_str piece) {
                        static_cast<TextSink*>(self)->text +=
                            titan::detail::view(piece);
                      }};
};

struct KeyRule {
  int32_t transform = 0;
  std::string hf;
  int64_t arg0 = 0;
};

/// `more` as further members of the object `json`.
inline std::string with(std::string json, const std::string& more) {
  json.back() = ',';
  return json + more + "}";
}

class ModelPlugin {
 public:
  explicit ModelPlugin(const std::string& file) : loaded_(file) {}

  const titan_model_table& table() const {
    return loaded_.table<titan_model_table>();
  }
  const LoadedPlugin& loaded() const { return loaded_; }

  /// "" when there is none of that name.
  std::string flavor(std::string_view name) const {
    for (uint64_t i = 0; i < table().num_flavors; ++i)
      if (titan::detail::view(table().flavors[i]->name) == name)
        return std::string(titan::detail::view(table().flavors[i]->config));
    return "";
  }

  /// The model's config of a config.json.
  titan::Json from_hf(const std::string& json) const {
    const titan::config::ComponentConfig hf(
        titan::config::Value::from_json(json, "config.json"), "hf");
    TextSink sink;
    titan::detail::HostError error;
    titan::detail::check(
        table().config_from_hf(&host_api(), hf.as_abi(), &sink.raw, error),
        error);
    return titan::Json::parse(sink.text);
  }

 private:
  LoadedPlugin loaded_;
};

/// Fails the test when building leaves a key of the config unread.
class BuiltModel {
 public:
  BuiltModel(const ModelPlugin& plugin, const std::string& json)
      : table_(plugin.table()) {
    const auto config = plugin.loaded().config(json);
    titan::detail::HostError error;
    titan::detail::check(
        table_.create(&host_api(), config.as_abi(), &object_, error), error);
    titan::detail::check(table_.build(object_, tree.as_abi(), error), error);
    CHECK(config.unread().empty());
  }
  ~BuiltModel() { table_.destroy(object_); }
  BuiltModel(const BuiltModel&) = delete;
  BuiltModel& operator=(const BuiltModel&) = delete;

  /// A tied weight counts once.
  int64_t num_parameters() const {
    int64_t total = 0;
    for (const auto& parameter : tree.parameters) {
      if (!tree.ties.empty() && parameter->fqn == "lm_head.weight") continue;
      int64_t count = 1;
      for (const int64_t size : parameter->sizes) count *= size;
      total += count;
    }
    return total;
  }

  double flops_per_token(int64_t seq_len) const {
    double flops = 0;
    titan::detail::HostError error;
    titan::detail::check(
        table_.flops_per_token(object_, seq_len, &flops, error), error);
    return flops;
  }

  std::string to_hf() const {
    TextSink sink;
    titan::detail::HostError error;
    titan::detail::check(table_.config_to_hf(object_, &sink.raw, error), error);
    return sink.text;
  }

  /// By native name; fails the test when a name has two rules that are written.
  std::map<std::string, KeyRule> key_rules() const {
    std::map<std::string, KeyRule> rules;
    const titan_key_sink sink{
        sizeof(titan_key_sink),
        0,
        &rules,
        [](void* self, const titan_key_rule* r) {
          if (r->transform == TITAN_KEY_IGNORE || r->is_alternative != 0)
            return;
          auto& all = *static_cast<std::map<std::string, KeyRule>*>(self);
          const KeyRule rule{
              r->transform, std::string(titan::detail::view(r->hf)), r->arg0};
          CHECK(
              all.try_emplace(std::string(titan::detail::view(r->native)), rule)
                  .second);
        }};
    titan::detail::HostError error;
    titan::detail::check(table_.describe_keys(object_, &sink, error), error);
    return rules;
  }

  /// Every parameter has its rule, by patterns of blocks.
  void check_key_rules() const {
    const auto rules = key_rules();
    for (const auto& parameter : tree.parameters) {
      std::string pattern = parameter->fqn;
      if (pattern.rfind("layers.", 0) == 0) pattern.replace(7, 1, "{i}");
      INFO(pattern);
      CHECK(rules.count(pattern) == 1);
    }
  }

  Tree tree;

 private:
  const titan_model_table& table_;
  titan_object* object_ = nullptr;
};

}  // namespace symbolic
