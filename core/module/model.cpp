// SPDX-License-Identifier: BSD-3-Clause
#include "core/module/model.h"

#include <algorithm>

#include <titan/error.h>

#include "core/module/builder.h"
#include "core/plugin/abi_call.h"

namespace titan::module {
namespace {

using plugin::check_call;
using plugin::make_error;

titan_text_sink sink_into(std::string& text) {
  return {.struct_size = sizeof(titan_text_sink),
          .reserved = 0,
          .self = &text,
          .write = [](void* self, titan_str piece) {
            static_cast<std::string*>(self)->append(piece.data, piece.size);
          }};
}

void add_rule(void* self, const titan_key_rule* rule) {
  KeyRule& added = static_cast<std::vector<KeyRule>*>(self)->emplace_back(
      KeyRule{rule->transform,
              std::string(plugin::view(rule->native)),
              std::string(plugin::view(rule->hf)),
              rule->arg0,
              rule->arg1,
              rule->arg2});
  // Plugins built before these fields leave them out.
  if (rule->struct_size < sizeof(titan_key_rule)) return;
  added.num_groups = std::max<int64_t>(rule->num_groups, 1);
  added.is_transposed = rule->is_transposed != 0;
  added.is_alternative = rule->is_alternative != 0;
}

}  // namespace

Model::Model(const titan_model_table& table,
             const titan_host_api& host,
             std::shared_ptr<const void> keepalive,
             std::string id,
             config::Value config,
             std::shared_ptr<const op::KernelSelector> selector)
    : table_(table),
      keepalive_(std::move(keepalive)),
      id_(std::move(id)),
      config_(std::move(config), "model.config") {
  tree_.set_selector(std::move(selector));
  titan_error error = make_error();
  check_call(
      table_.create(&host, config_.as_abi(), &object_, &error), error, id_);
  error = make_error();
  const int32_t code = table_.build(object_, as_builder(tree_), &error);
  if (code != 0) {
    table_.destroy(object_);
    check_call(code, error, id_);
  }
  const std::vector<std::string> unread = config_.unread();
  if (!unread.empty()) {
    table_.destroy(object_);
    throw UserError(text("[",
                         unread.front(),
                         "] option of ",
                         id_,
                         ": expected a key that the model reads, got one that "
                         "it never looked at. Remove it."));
  }
}

Model::~Model() {
  table_.destroy(object_);
}

void Model::apply(std::unique_ptr<Transform> transform) {
  TITAN_CHECK(transform_ == nullptr, "[model] a second transform");
  transform_ = std::move(transform);
  transform_->apply(tree_);
}

double Model::flops_per_token(int64_t seq_len) const {
  double flops = 0;
  titan_error error = make_error();
  check_call(
      table_.flops_per_token(object_, seq_len, &flops, &error), error, id_);
  return flops;
}

std::string Model::config_to_hf() const {
  std::string hf;
  const titan_text_sink sink = sink_into(hf);
  titan_error error = make_error();
  check_call(table_.config_to_hf(object_, &sink, &error), error, id_);
  return hf;
}

std::vector<KeyRule> Model::key_rules() const {
  std::vector<KeyRule> rules;
  const titan_key_sink sink = {.struct_size = sizeof(titan_key_sink),
                               .reserved = 0,
                               .self = &rules,
                               .add = add_rule};
  titan_error error = make_error();
  check_call(table_.describe_keys(object_, &sink, &error), error, id_);
  return rules;
}

config::Value config_from_hf(const titan_model_table& table,
                             const titan_host_api& host,
                             const std::string& id,
                             const config::Value& hf) {
  const config::ComponentConfig source(hf, "config.json");
  std::string json;
  const titan_text_sink sink = sink_into(json);
  titan_error error = make_error();
  check_call(
      table.config_from_hf(&host, source.as_abi(), &sink, &error), error, id);
  return config::Value::from_json(json, id);
}

}  // namespace titan::module
