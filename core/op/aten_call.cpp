// SPDX-License-Identifier: BSD-3-Clause
// Arguments by schema: every titan_value is checked against the type of its
// parameter, and errors name the op, the parameter and both types.
#include "core/op/aten_call.h"

#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <titan/error.h>

#include "core/op/tensor_api.h"

namespace titan::op {
namespace {

struct AtenOp {
  std::string name;
  c10::OperatorHandle handle;
};

constexpr std::string_view kKindNames[] = {"None",
                                           "Tensor",
                                           "int",
                                           "float",
                                           "bool",
                                           "string",
                                           "list of int",
                                           "list of float",
                                           "list of Tensor",
                                           "dtype"};

std::string_view kind_name(int32_t kind) {
  const bool is_known =
      kind >= 0 && kind < static_cast<int32_t>(std::size(kKindNames));
  return is_known ? kKindNames[kind] : "unknown kind";
}

/// One parameter of one call, for messages.
struct Parameter {
  const AtenOp& op;
  const c10::Argument& declared;

  [[noreturn]] void refuse(std::string_view got) const {
    throw UserError(text('[',
                         op.name,
                         "] argument ",
                         declared.name(),
                         ": expected ",
                         declared.type()->str(),
                         ", got ",
                         got));
  }
};

std::vector<int64_t> ints_of(const titan_value& value) {
  const auto* first = static_cast<const int64_t*>(value.data);
  return std::vector<int64_t>(first, first + value.size);
}

std::vector<double> doubles_of(const titan_value& value) {
  if (value.kind == TITAN_VALUE_INT_LIST) {
    const auto ints = ints_of(value);
    return std::vector<double>(ints.begin(), ints.end());
  }
  const auto* first = static_cast<const double*>(value.data);
  return std::vector<double>(first, first + value.size);
}

c10::IValue tensor_of(const Parameter& parameter, const titan_value& value) {
  if (value.kind != TITAN_VALUE_TENSOR) parameter.refuse(kind_name(value.kind));
  const auto handle = static_cast<titan_tensor>(const_cast<void*>(value.data));
  if (!handle) parameter.refuse("a null Tensor");
  return borrow(handle);
}

c10::IValue number_of(const Parameter& parameter, const titan_value& value) {
  switch (value.kind) {
    case TITAN_VALUE_INT:
      return value.integer;
    case TITAN_VALUE_DOUBLE:
      return value.real;
    case TITAN_VALUE_BOOL:
      return value.integer != 0;
  }
  parameter.refuse(kind_name(value.kind));
}

c10::IValue int_of(const Parameter& parameter, const titan_value& value) {
  if (value.kind != TITAN_VALUE_INT && value.kind != TITAN_VALUE_DTYPE)
    parameter.refuse(kind_name(value.kind));
  return value.integer;
}

c10::IValue double_of(const Parameter& parameter, const titan_value& value) {
  if (value.kind == TITAN_VALUE_INT) return static_cast<double>(value.integer);
  if (value.kind != TITAN_VALUE_DOUBLE) parameter.refuse(kind_name(value.kind));
  return value.real;
}

c10::IValue string_of(const Parameter& parameter, const titan_value& value) {
  if (value.kind != TITAN_VALUE_STRING) parameter.refuse(kind_name(value.kind));
  return std::string(static_cast<const char*>(value.data), value.size);
}

c10::IValue device_of(const Parameter& parameter, const titan_value& value) {
  return c10::Device(string_of(parameter, value).toStringRef());
}

/// Tensor[] or Tensor?[]: a null item is None, which only the latter takes.
c10::IValue tensor_list_of(const Parameter& parameter,
                           const titan_value& value,
                           bool takes_none) {
  if (value.kind != TITAN_VALUE_TENSOR_LIST)
    parameter.refuse(kind_name(value.kind));
  const auto* handles = static_cast<const titan_tensor*>(value.data);
  c10::List<at::Tensor> tensors;
  c10::List<std::optional<at::Tensor>> optionals;
  for (uint64_t i = 0; i < value.size; ++i) {
    if (!handles[i] && !takes_none) parameter.refuse("a null item");
    if (!takes_none) {
      tensors.push_back(borrow(handles[i]));
    } else if (handles[i]) {
      optionals.push_back(borrow(handles[i]));
    } else {
      optionals.push_back(std::nullopt);
    }
  }
  if (takes_none) return optionals;
  return tensors;
}

/// An int stands for a list of that one value where the schema fixes a length
/// ("int[2] stride"), as in Python.
c10::IValue int_list_of(const Parameter& parameter, const titan_value& value) {
  if (value.kind == TITAN_VALUE_INT && parameter.declared.N())
    return std::vector<int64_t>(*parameter.declared.N(), value.integer);
  if (value.kind != TITAN_VALUE_INT_LIST)
    parameter.refuse(kind_name(value.kind));
  return ints_of(value);
}

c10::IValue bool_list_of(const Parameter& parameter, const titan_value& value) {
  if (value.kind != TITAN_VALUE_INT_LIST)
    parameter.refuse(kind_name(value.kind));
  c10::List<bool> flags;
  for (int64_t item : ints_of(value)) flags.push_back(item != 0);
  return flags;
}

c10::IValue list_of(const Parameter& parameter,
                    const c10::Type& element,
                    const titan_value& value) {
  switch (element.kind()) {
    case c10::TypeKind::TensorType:
      return tensor_list_of(parameter, value, false);
    case c10::TypeKind::OptionalType:
      return tensor_list_of(parameter, value, true);
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return int_list_of(parameter, value);
    case c10::TypeKind::BoolType:
      return bool_list_of(parameter, value);
    case c10::TypeKind::FloatType:
      if (value.kind != TITAN_VALUE_DOUBLE_LIST &&
          value.kind != TITAN_VALUE_INT_LIST)
        parameter.refuse(kind_name(value.kind));
      return doubles_of(value);
    case c10::TypeKind::NumberType: {
      if (value.kind != TITAN_VALUE_DOUBLE_LIST &&
          value.kind != TITAN_VALUE_INT_LIST)
        parameter.refuse(kind_name(value.kind));
      c10::List<at::Scalar> numbers;
      for (double item : doubles_of(value)) numbers.push_back(item);
      return numbers;
    }
    default:
      parameter.refuse(text(kind_name(value.kind),
                            " (this list type is not "
                            "callable from a plugin)"));
  }
}

c10::IValue convert(const Parameter& parameter,
                    const c10::Type& type,
                    const titan_value& value) {
  switch (type.kind()) {
    case c10::TypeKind::OptionalType:
      if (value.kind == TITAN_VALUE_NONE ||
          (value.kind == TITAN_VALUE_TENSOR && value.data == nullptr))
        return c10::IValue();
      return convert(parameter,
                     *type.expectRef<c10::OptionalType>().getElementType(),
                     value);
    case c10::TypeKind::TensorType:
      return tensor_of(parameter, value);
    case c10::TypeKind::ListType:
      return list_of(
          parameter, *type.expectRef<c10::ListType>().getElementType(), value);
    case c10::TypeKind::NumberType:
      return number_of(parameter, value);
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
    case c10::TypeKind::ScalarTypeType:
    case c10::TypeKind::LayoutType:
    case c10::TypeKind::MemoryFormatType:
      return int_of(parameter, value);
    case c10::TypeKind::FloatType:
      return double_of(parameter, value);
    case c10::TypeKind::BoolType:
      if (value.kind != TITAN_VALUE_BOOL && value.kind != TITAN_VALUE_INT)
        parameter.refuse(kind_name(value.kind));
      return value.integer != 0;
    case c10::TypeKind::StringType:
      return string_of(parameter, value);
    case c10::TypeKind::DeviceObjType:
      return device_of(parameter, value);
    default:
      parameter.refuse(text(kind_name(value.kind),
                            " (this type is not callable from a plugin)"));
  }
}

void push_arguments(const AtenOp& op,
                    const titan_value* args,
                    uint32_t num_args,
                    torch::jit::Stack& stack) {
  const auto& declared = op.handle.schema().arguments();
  TITAN_USER_CHECK(num_args <= declared.size(),
                   '[',
                   op.name,
                   "] number of arguments: expected at most ",
                   declared.size(),
                   ", got ",
                   num_args);
  stack.reserve(declared.size());
  for (size_t i = 0; i < declared.size(); ++i) {
    if (i < num_args) {
      stack.push_back(
          convert({op, declared[i]}, *declared[i].real_type(), args[i]));
      continue;
    }
    TITAN_USER_CHECK(declared[i].default_value().has_value(),
                     '[',
                     op.name,
                     "] argument ",
                     declared[i].name(),
                     " is missing: expected ",
                     declared[i].type()->str(),
                     ", got ",
                     num_args,
                     " arguments and it has no default");
    stack.push_back(*declared[i].default_value());
  }
}

/// What results of the last call of this thread point into.
struct ResultLists {
  std::vector<std::vector<titan_tensor>> tensors;
  std::vector<std::vector<int64_t>> ints;
  std::vector<std::vector<double>> doubles;
  std::vector<std::string> strings;
};

ResultLists& result_lists() {
  thread_local ResultLists lists;
  return lists;
}

titan_value list_result(const c10::IValue& value, ResultLists& lists) {
  titan_value out{};
  if (value.isTensorList()) {
    auto& handles = lists.tensors.emplace_back();
    for (const at::Tensor& tensor : value.toTensorVector())
      handles.push_back(new_handle(tensor));
    out.kind = TITAN_VALUE_TENSOR_LIST;
    out.data = handles.data();
    out.size = handles.size();
  } else if (value.isIntList()) {
    const auto& ints = lists.ints.emplace_back(value.toIntVector());
    out.kind = TITAN_VALUE_INT_LIST;
    out.data = ints.data();
    out.size = ints.size();
  } else if (value.isDoubleList()) {
    const auto& doubles = lists.doubles.emplace_back(value.toDoubleVector());
    out.kind = TITAN_VALUE_DOUBLE_LIST;
    out.data = doubles.data();
    out.size = doubles.size();
  } else {
    throw UserError(
        text("[aten_call] a result has a type that cannot cross: "
             "expected a tensor, number, string or list, got ",
             value.tagKind()));
  }
  return out;
}

titan_value to_result(const c10::IValue& value, ResultLists& lists) {
  titan_value out{};
  if (value.isTensor()) {
    out.kind = TITAN_VALUE_TENSOR;
    if (value.toTensor().defined()) out.data = new_handle(value.toTensor());
  } else if (value.isInt()) {
    out.kind = TITAN_VALUE_INT;
    out.integer = value.toInt();
  } else if (value.isDouble()) {
    out.kind = TITAN_VALUE_DOUBLE;
    out.real = value.toDouble();
  } else if (value.isBool()) {
    out.kind = TITAN_VALUE_BOOL;
    out.integer = value.toBool() ? 1 : 0;
  } else if (value.isString()) {
    const auto& word = lists.strings.emplace_back(value.toStringRef());
    out.kind = TITAN_VALUE_STRING;
    out.data = word.data();
    out.size = word.size();
  } else if (!value.isNone()) {
    return list_result(value, lists);
  }
  return out;
}

void give_back(titan_value& result) {
  if (result.kind == TITAN_VALUE_TENSOR && result.data)
    tensor_api().release(
        static_cast<titan_tensor>(const_cast<void*>(result.data)));
  if (result.kind == TITAN_VALUE_TENSOR_LIST) {
    const auto* handles = static_cast<const titan_tensor*>(result.data);
    for (uint64_t i = 0; i < result.size; ++i) tensor_api().release(handles[i]);
  }
  result = titan_value{};
}

/// All results or none: what was made before a failure is given back.
void take_results(const torch::jit::Stack& stack, titan_value* results) {
  ResultLists& lists = result_lists();
  lists = ResultLists();
  // Pointers to short strings live inside the string objects: no moves.
  lists.strings.reserve(stack.size());
  size_t done = 0;
  try {
    for (; done < stack.size(); ++done)
      results[done] = to_result(stack[done], lists);
  } catch (...) {
    for (size_t i = 0; i < done; ++i) give_back(results[i]);
    throw;
  }
}

struct OpTable {
  std::shared_mutex mutex;
  std::map<std::string, std::unique_ptr<AtenOp>, std::less<>> ops;
};

OpTable& op_table() {
  static auto* table = new OpTable();  // handles live for ever
  return *table;
}

AtenOp* resolve(std::string_view name) {
  OpTable& table = op_table();
  {
    std::shared_lock lock(table.mutex);
    const auto found = table.ops.find(name);
    if (found != table.ops.end()) return found->second.get();
  }
  const size_t dot = name.find('.', name.find("::"));
  const std::string base(name.substr(0, dot));
  const std::string overload(
      dot == std::string_view::npos ? "" : name.substr(dot + 1));
  const auto handle = c10::Dispatcher::singleton().findSchema({base, overload});
  TITAN_USER_CHECK(handle.has_value(),
                   "[aten] unknown op: expected a schema name like "
                   "aten::add.Tensor, got ",
                   name);
  std::unique_lock lock(table.mutex);
  auto& op = table.ops[std::string(name)];
  if (!op) op = std::make_unique<AtenOp>(AtenOp{std::string(name), *handle});
  return op.get();
}

}  // namespace

int32_t aten_resolve(titan_str name, titan_aten_op** out, titan_error* error) {
  return guard_torch(error, "aten_resolve", [&] {
    *out = reinterpret_cast<titan_aten_op*>(resolve({name.data, name.size}));
  });
}

int32_t aten_call(titan_aten_op* op,
                  const titan_value* args,
                  uint32_t num_args,
                  titan_value* results,
                  uint32_t num_results,
                  titan_error* error) {
  const auto& aten = *reinterpret_cast<const AtenOp*>(op);
  return guard_torch(error, aten.name, [&] {
    const size_t num_returns = aten.handle.schema().returns().size();
    TITAN_USER_CHECK(num_results == num_returns,
                     '[',
                     aten.name,
                     "] number of results: expected ",
                     num_returns,
                     ", got ",
                     num_results);
    torch::jit::Stack stack;
    push_arguments(aten, args, num_args, stack);
    aten.handle.callBoxed(stack);
    take_results(stack, results);
  });
}

}  // namespace titan::op
