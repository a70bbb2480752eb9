// SPDX-License-Identifier: BSD-3-Clause
#include "core/module/transform.h"

#include <titan/error.h>

#include "core/module/builder.h"
#include "core/op/tensor_api.h"
#include "core/plugin/abi_call.h"

namespace titan::module {
namespace {

using plugin::check_call;
using plugin::make_error;

using Function = int32_t (*)(titan_object*,
                             const titan_leaf_values*,
                             titan_tensor*,
                             titan_error*);

std::vector<at::Tensor> call(Function function,
                             titan_object* object,
                             const std::string& id,
                             const Module& leaf,
                             const std::vector<at::Tensor>& values,
                             size_t num_out) {
  std::vector<titan_tensor> handles;
  handles.reserve(values.size());
  for (const at::Tensor& value : values) handles.push_back(op::lend(value));
  titan_leaf_values given = {};
  given.struct_size = sizeof(given);
  given.num_own = static_cast<uint32_t>(leaf.parameters.size());
  given.fqn = plugin::abi_str(leaf.fqn);
  given.module = reinterpret_cast<titan_module*>(const_cast<Module*>(&leaf));
  given.values = handles.data();
  given.num_values = handles.size();
  std::vector<titan_tensor> results(num_out, nullptr);
  titan_error error = make_error();
  const int32_t code = function(object, &given, results.data(), &error);
  std::vector<at::Tensor> out;
  for (titan_tensor handle : results) {
    out.push_back(handle == nullptr ? at::Tensor() : op::borrow(handle));
    if (handle != nullptr) op::tensor_api().release(handle);
  }
  check_call(code, error, id);
  return out;
}

}  // namespace

Transform::Transform(const titan_transform_table& table,
                     const titan_host_api& host,
                     std::shared_ptr<const void> keepalive,
                     std::string id,
                     config::Value config)
    : table_(table),
      keepalive_(std::move(keepalive)),
      id_(std::move(id)),
      config_(std::move(config), "adapter.config") {
  titan_error error = make_error();
  check_call(
      table_.create(&host, config_.as_abi(), &object_, &error), error, id_);
  const std::vector<std::string> unread = config_.unread();
  if (unread.empty()) return;
  table_.destroy(object_);
  throw UserError(text("[",
                       unread.front(),
                       "] option of ",
                       id_,
                       ": expected a key that the transform reads, got one "
                       "that it never looked at. Remove it."));
}

Transform::~Transform() {
  table_.destroy(object_);
}

void Transform::apply(ModuleTree& tree) {
  titan_error error = make_error();
  check_call(table_.apply(object_, as_builder(tree), &error), error, id_);
}

std::vector<at::Tensor> Transform::derive(
    const Module& leaf,
    const std::vector<at::Tensor>& values) const {
  TITAN_USER_CHECK(table_.derive != nullptr,
                   "[plugin ",
                   id_,
                   "] derive: expected it with an adapter that derives, got "
                   "none");
  return call(table_.derive,
              object_,
              id_,
              leaf,
              values,
              leaf.adapter->parameters.size());
}

std::vector<at::Tensor> Transform::merge(
    const Module& leaf,
    const std::vector<at::Tensor>& values) const {
  TITAN_USER_CHECK(table_.merge != nullptr,
                   "[plugin ",
                   id_,
                   "] merge: expected weights that can be merged, got a "
                   "transform whose cannot");
  return call(table_.merge, object_, id_, leaf, values, leaf.parameters.size());
}

std::string Transform::describe_file(const std::string& modules) const {
  TITAN_USER_CHECK(table_.describe_file != nullptr,
                   "[adapter.export] ",
                   id_,
                   ": expected a transform whose adapters have files, got one "
                   "without. Set it to false.");
  std::string content;
  const titan_text_sink sink = {.struct_size = sizeof(titan_text_sink),
                                .reserved = 0,
                                .self = &content,
                                .write = [](void* self, titan_str piece) {
                                  static_cast<std::string*>(self)->append(
                                      piece.data, piece.size);
                                }};
  titan_error error = make_error();
  check_call(
      table_.describe_file(object_, plugin::abi_str(modules), &sink, &error),
      error,
      id_);
  return content;
}

void Transform::check_file(const std::string& config) const {
  TITAN_USER_CHECK(table_.check_file != nullptr,
                   "[adapter.initial] ",
                   id_,
                   ": expected a transform whose adapters have files, got one "
                   "without");
  titan_error error = make_error();
  check_call(
      table_.check_file(object_, plugin::abi_str(config), &error), error, id_);
}

}  // namespace titan::module
