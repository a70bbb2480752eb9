// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/plugin_api/symbolic_host.h"

#include <atomic>
#include <stdexcept>

#include <titan/sdk/error.hpp>

#include "core/config/component_config.h"

namespace symbolic {
namespace {

using titan::detail::guard;
using titan::detail::view;

std::atomic<int64_t> live{0};

// Like AtenTensorHandle: each reference is an object of its own.
using SharedData = std::shared_ptr<TensorData>;

titan_tensor reference(SharedData data) {
  ++live;
  return reinterpret_cast<titan_tensor>(new SharedData(std::move(data)));
}

SharedData& of(titan_tensor handle) {
  return *reinterpret_cast<SharedData*>(handle);
}

std::string name_of(titan_str text) {
  return std::string(view(text));
}

std::string join(const std::string& parent, std::string_view name) {
  return parent.empty() ? std::string(name) : titan::text(parent, '.', name);
}

template <typename Number>
std::string list_text(const void* data, uint64_t size) {
  const auto* items = static_cast<const Number*>(data);
  std::string out = "[";
  for (uint64_t i = 0; i < size; ++i)
    out += titan::text(i == 0 ? "" : ", ", items[i]);
  return out + "]";
}

std::string text_of(const titan_value& value) {
  switch (value.kind) {
    case TITAN_VALUE_NONE:
      return "none";
    case TITAN_VALUE_TENSOR:
      return expression_of(
          static_cast<titan_tensor>(const_cast<void*>(value.data)));
    case TITAN_VALUE_INT:
      return titan::text(value.integer);
    case TITAN_VALUE_DOUBLE:
      return titan::text(value.real, 'd');
    case TITAN_VALUE_BOOL:
      return value.integer != 0 ? "true" : "false";
    case TITAN_VALUE_STRING:
      return titan::text(
          '"',
          std::string_view(static_cast<const char*>(value.data), value.size),
          '"');
    case TITAN_VALUE_INT_LIST:
      return list_text<int64_t>(value.data, value.size);
    case TITAN_VALUE_DOUBLE_LIST:
      return list_text<double>(value.data, value.size);
    case TITAN_VALUE_DTYPE:
      return titan::text("dtype ", value.integer);
    default:
      break;
  }
  std::string out = "[";
  const auto* tensors = static_cast<const titan_tensor*>(value.data);
  for (uint64_t i = 0; i < value.size; ++i)
    out += (i == 0 ? "" : ", ") + expression_of(tensors[i]);
  return out + "]";
}

int32_t aten_resolve(titan_str name, titan_aten_op** out, titan_error* error) {
  return guard(error, [&] {
    const std::string text = name_of(name);
    TITAN_USER_CHECK(text.rfind("aten::", 0) == 0 && text != "aten::nope",
                     "[aten] no such op: got ",
                     text);
    // Handles live for ever, as the contract says.
    static std::map<std::string, std::string> known;
    *out = reinterpret_cast<titan_aten_op*>(
        &known.try_emplace(text, text.substr(6)).first->second);
  });
}

int32_t aten_call(titan_aten_op* op,
                  const titan_value* args,
                  uint32_t num_args,
                  titan_value* results,
                  uint32_t num_results,
                  titan_error* error) {
  return guard(error, [&] {
    const std::string& name = *reinterpret_cast<std::string*>(op);
    if (name == "throws")
      titan::throw_code(titan::kTorchFault, "[aten] shapes differ");
    std::string call = name + "(";
    for (uint32_t i = 0; i < num_args; ++i)
      call += (i == 0 ? "" : ", ") + text_of(args[i]);
    call += ")";
    const bool is_list = name.rfind("unbind", 0) == 0 ||
                         name.rfind("chunk", 0) == 0 ||
                         name.rfind("split", 0) == 0;
    static thread_local std::vector<titan_tensor> list;
    if (is_list) {
      list = {make(call + "#0"), make(call + "#1"), make(call + "#2")};
      results[0] = {TITAN_VALUE_TENSOR_LIST, 0, 0, 0, list.data(), list.size()};
      return;
    }
    for (uint32_t i = 0; i < num_results; ++i)
      results[i] = {TITAN_VALUE_TENSOR,
                    0,
                    0,
                    0,
                    make(num_results == 1 ? call : titan::text(call, '#', i)),
                    0};
  });
}

int32_t invoke(titan_context*,
               titan_slot* slot,
               const titan_tensor* in,
               uint32_t num_in,
               titan_tensor* out,
               uint32_t num_out,
               titan_error* error) {
  return guard(error, [&] {
    const auto& site = *reinterpret_cast<Site*>(slot);
    std::string call = site.fqn + "(";
    for (uint32_t i = 0; i < num_in; ++i)
      call += (i == 0 ? "" : ", ") +
              (in[i] == nullptr ? "none" : expression_of(in[i]));
    call += ")";
    for (uint32_t i = 0; i < num_out; ++i)
      out[i] = make(num_out == 1 ? call : titan::text(call, '#', i));
  });
}

Module* as_module(titan_module* module) {
  return reinterpret_cast<Module*>(module);
}

Module& add_module(Tree& tree, titan_module* parent, std::string_view name) {
  tree.modules.push_back(std::make_unique<Module>());
  Module& out = *tree.modules.back();
  if (parent != nullptr) out.fqn = join(as_module(parent)->fqn, name);
  return out;
}

Tree& tree_of(titan_builder* builder) {
  return *reinterpret_cast<Tree*>(builder);
}

void add_parameter(Tree& tree,
                   const std::string& owner,
                   const titan_parameter_spec& spec) {
  auto out = std::make_unique<Parameter>();
  out->fqn = join(owner, view(spec.name));
  out->sizes.assign(spec.dims, spec.dims + spec.num_dims);
  out->spec = spec;
  tree.parameters.push_back(std::move(out));
}

Site& add_site(Tree& tree, std::string fqn, const titan_op_spec& spec) {
  auto out = std::make_unique<Site>();
  out->fqn = std::move(fqn);
  out->op_id = view(spec.op_id);
  for (uint64_t i = 0; i < spec.num_attributes; ++i) {
    const titan_attribute& attribute = spec.attributes[i];
    out->attributes[name_of(attribute.name)] = attribute.value;
    if (attribute.value.kind == TITAN_VALUE_STRING)
      out->strings[name_of(attribute.name)] = {
          static_cast<const char*>(attribute.value.data), attribute.value.size};
  }
  tree.sites.push_back(std::move(out));
  return *tree.sites.back();
}

titan_builder_api make_builder() {
  titan_builder_api api{};
  api.struct_size = sizeof(api);
  api.root = [](titan_builder* builder) {
    return reinterpret_cast<titan_module*>(tree_of(builder).root);
  };
  api.module = [](titan_builder* builder,
                  titan_module* parent,
                  titan_str name,
                  const titan_module_class* code,
                  void* self,
                  titan_module** out,
                  titan_error*) -> int32_t {
    Module& module = add_module(tree_of(builder), parent, view(name));
    module.code_copy = *code;
    module.code = &module.code_copy;
    module.class_or_op = view(code->name);
    module.self = self;
    *out = reinterpret_cast<titan_module*>(&module);
    return 0;
  };
  api.container = [](titan_builder* builder,
                     titan_module* parent,
                     titan_str name,
                     titan_module** out,
                     titan_error*) -> int32_t {
    const std::string fqn = join(as_module(parent)->fqn, view(name));
    for (const auto& module : tree_of(builder).modules)
      if (module->fqn == fqn) {
        *out = reinterpret_cast<titan_module*>(module.get());
        return 0;
      }
    *out = reinterpret_cast<titan_module*>(
        &add_module(tree_of(builder), parent, view(name)));
    return 0;
  };
  api.leaf = [](titan_builder* builder,
                titan_module* parent,
                titan_str name,
                const titan_op_spec* spec,
                titan_module** out,
                titan_slot** slot,
                titan_error*) -> int32_t {
    Tree& tree = tree_of(builder);
    Module& module = add_module(tree, parent, view(name));
    module.class_or_op = view(spec->op_id);
    for (uint32_t i = 0; i < spec->num_parameters; ++i)
      add_parameter(tree, module.fqn, *spec->parameters[i]);
    *out = reinterpret_cast<titan_module*>(&module);
    *slot = reinterpret_cast<titan_slot*>(&add_site(tree, module.fqn, *spec));
    return 0;
  };
  api.op = [](titan_builder* builder,
              titan_module* parent,
              titan_str site,
              const titan_op_spec* spec,
              titan_slot** out,
              titan_error*) -> int32_t {
    *out = reinterpret_cast<titan_slot*>(&add_site(
        tree_of(builder), join(as_module(parent)->fqn, view(site)), *spec));
    return 0;
  };
  api.parameter = [](titan_builder* builder,
                     titan_module* parent,
                     const titan_parameter_spec* spec,
                     titan_parameter** out,
                     titan_error*) -> int32_t {
    add_parameter(tree_of(builder), as_module(parent)->fqn, *spec);
    *out = reinterpret_cast<titan_parameter*>(
        tree_of(builder).parameters.back().get());
    return 0;
  };
  api.buffer = [](titan_builder* builder,
                  titan_module* parent,
                  const titan_tensor_spec* spec,
                  uint32_t,
                  titan_buffer** out,
                  titan_error*) -> int32_t {
    tree_of(builder).buffers.push_back(std::make_unique<std::string>(
        join(as_module(parent)->fqn, view(spec->name))));
    *out =
        reinterpret_cast<titan_buffer*>(tree_of(builder).buffers.back().get());
    return 0;
  };
  api.initial = [](titan_builder*,
                   titan_buffer*,
                   const void*,
                   uint64_t,
                   titan_error*) -> int32_t { return 0; };
  api.tie = [](titan_builder* builder,
               titan_module* owner,
               titan_module* alias,
               titan_str name,
               titan_error*) -> int32_t {
    tree_of(builder).ties.push_back(titan::text(
        as_module(alias)->fqn, " = ", as_module(owner)->fqn, '.', view(name)));
    return 0;
  };
  api.sequence = [](titan_builder*,
                    titan_str name,
                    titan_sequence** out,
                    titan_error*) -> int32_t {
    static std::map<std::string, std::string> names;
    const std::string key = name_of(name);
    *out = reinterpret_cast<titan_sequence*>(
        &names.try_emplace(key, key).first->second);
    return 0;
  };
  api.item = [](titan_builder* builder,
                titan_sequence*,
                titan_module* module,
                const titan_item_spec* spec,
                titan_error*) -> int32_t {
    std::string line = as_module(module)->fqn + "(";
    for (uint64_t i = 0; i < spec->num_batch_inputs; ++i)
      line += "batch " + name_of(spec->batch_inputs[i]);
    line += ") ->";
    for (uint32_t i = 0; i < spec->num_carry; ++i)
      line += " " + list_text<int64_t>(spec->carry[i]->dims,
                                       spec->carry[i]->num_dims);
    tree_of(builder).items.push_back(line);
    tree_of(builder).item_modules.push_back(as_module(module));
    return 0;
  };
  api.output = [](titan_builder* builder,
                  const titan_output_spec* spec,
                  titan_error*) -> int32_t {
    tree_of(builder).head = as_module(spec->head)->fqn;
    return 0;
  };
  return api;
}

titan_context_api make_context() {
  titan_context_api api{};
  api.struct_size = sizeof(api);
  api.mode = [](titan_context*) -> int32_t { return TITAN_MODE_TRAIN; };
  api.batch = [](titan_context*,
                 titan_str name,
                 titan_tensor* out,
                 titan_error*) -> int32_t {
    *out = make(name_of(name), {4});
    return 0;
  };
  api.has_batch = [](titan_context*, titan_str) -> int32_t { return 1; };
  api.parameter = [](titan_context*,
                     titan_parameter* parameter,
                     titan_tensor* out,
                     titan_error*) -> int32_t {
    const auto& read = *reinterpret_cast<const Parameter*>(parameter);
    *out = make(read.fqn, read.sizes);
    return 0;
  };
  api.call = [](titan_context* context,
                titan_module* module,
                const titan_tensor* in,
                uint32_t num_in,
                titan_tensor* out,
                uint32_t num_out,
                titan_error* error) {
    const Module& callee = *as_module(module);
    return callee.code->forward(
        callee.self, context, in, num_in, out, num_out, error);
  };
  return api;
}

titan_tensor_api make_tensor_api() {
  titan_tensor_api api{};
  api.struct_size = sizeof(api);
  api.retain =
      [](titan_tensor tensor, titan_tensor* out, titan_error*) -> int32_t {
    *out = reference(of(tensor));
    return 0;
  };
  api.release = [](titan_tensor tensor) {
    --live;
    delete &of(tensor);
  };
  api.num_dims = [](titan_tensor t) -> int64_t {
    return static_cast<int64_t>(of(t)->sizes.size());
  };
  api.sizes = [](titan_tensor t) -> const int64_t* {
    return of(t)->sizes.data();
  };
  api.num_elements = [](titan_tensor t) {
    int64_t count = 1;
    for (const int64_t size : of(t)->sizes) count *= size;
    return count;
  };
  api.dtype = [](titan_tensor t) { return of(t)->dtype; };
  api.device_type = [](titan_tensor) -> int32_t { return TITAN_DEVICE_CPU; };
  api.device_index = [](titan_tensor) -> int32_t { return 0; };
  api.is_contiguous = [](titan_tensor) -> int32_t { return 1; };
  api.data = [](titan_tensor t) -> void* { return of(t)->bytes.data(); };
  return api;
}

void parallel_for(titan_host*,
                  int64_t begin,
                  int64_t end,
                  int64_t grain,
                  void (*body)(void*, int64_t, int64_t),
                  void* arg) {
  for (int64_t at = begin; at < end; at += grain)
    body(arg, at, at + grain < end ? at + grain : end);
}

}  // namespace

Tree::Tree() {
  root = &add_module(*this, nullptr, "");
}

template <typename List>
auto& by_fqn(const List& list, const std::string& fqn) {
  for (const auto& item : list)
    if (item->fqn == fqn) return *item;
  throw std::out_of_range("nothing at " + fqn);
}

const Parameter& Tree::parameter(const std::string& fqn) const {
  return by_fqn(parameters, fqn);
}
const Site& Tree::site(const std::string& fqn) const {
  return by_fqn(sites, fqn);
}
Module& Tree::module(const std::string& fqn) const {
  return by_fqn(modules, fqn);
}

titan_tensor make(std::string expression, std::vector<int64_t> sizes) {
  auto data = std::make_shared<TensorData>();
  data->expression = std::move(expression);
  data->sizes = std::move(sizes);
  return reference(std::move(data));
}

TensorData& data_of(titan_tensor handle) {
  return *of(handle);
}
std::string expression_of(titan_tensor handle) {
  return of(handle)->expression;
}
int64_t live_references() {
  return live;
}

std::vector<std::string> run(Module& module,
                             const std::vector<std::string>& inputs,
                             uint32_t num_out) {
  std::vector<titan_tensor> in;
  for (const std::string& input : inputs) in.push_back(make(input));
  std::vector<titan_tensor> out(num_out);
  titan::detail::HostError error;
  const int32_t code = module.code->forward(module.self,
                                            nullptr,
                                            in.data(),
                                            static_cast<uint32_t>(in.size()),
                                            out.data(),
                                            num_out,
                                            error);
  for (titan_tensor tensor : in) host_api().tensor->release(tensor);
  titan::detail::check(code, error);
  std::vector<std::string> expressions;
  for (titan_tensor tensor : out) {
    expressions.push_back(expression_of(tensor));
    host_api().tensor->release(tensor);
  }
  return expressions;
}

const titan_host_api& host_api() {
  static const titan_tensor_api tensor = make_tensor_api();
  static const titan_builder_api builder = make_builder();
  static const titan_context_api context = make_context();
  static const titan_op_api op{
      sizeof(titan_op_api), 0, aten_resolve, aten_call, invoke};
  static const titan_host_api api = [] {
    titan_host_api out{};
    out.struct_size = sizeof(out);
    out.tensor = &tensor;
    out.config = &titan::config::config_api();
    out.op = &op;
    out.builder = &builder;
    out.context = &context;
    out.parallel_for = parallel_for;
    return out;
  }();
  return api;
}

}  // namespace symbolic
