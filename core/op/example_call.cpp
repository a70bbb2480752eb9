// SPDX-License-Identifier: BSD-3-Clause
#include "core/op/example_call.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <ATen/ATen.h>

#include <titan/error.h>

#include "core/op/catalogue.h"
#include "core/op/reference/reference.h"

namespace titan::op {
namespace {

std::vector<std::string> split_at(std::string_view list, char mark) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const size_t end = list.find(mark);
    out.emplace_back(list.substr(0, end));
    list = end == std::string_view::npos ? "" : list.substr(end + 1);
  }
  return out;
}

template <typename Number>
std::optional<Number> number_in(std::string_view word) {
  Number value{};
  const char* end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, value);
  if (word.empty() || error != std::errc() || rest != end) return std::nullopt;
  return value;
}

// ---- attributes ----

template <typename Number>
AttributeValue list_value(const std::string& name, std::string_view words) {
  std::vector<Number> values;
  for (const std::string& word : split_at(words, ',')) {
    const auto value = number_in<Number>(word);
    TITAN_USER_CHECK(value.has_value(),
                     "[--set ",
                     name,
                     "] expected numbers with commas between them, got \"",
                     words,
                     "\"");
    values.push_back(*value);
  }
  return values;
}

/// `word` as what it looks like: bind_attributes holds it to its declaration.
AttributeValue plain_value(const std::string& word) {
  if (word == "true" || word == "false") return word == "true";
  if (const auto value = number_in<int64_t>(word)) return *value;
  if (const auto value = number_in<double>(word)) return *value;
  return word;
}

AttributeValue value_of(const OpSpec& spec,
                        const std::string& name,
                        const std::string& word) {
  for (const AttributeSpec& declared : spec.attributes) {
    if (declared.name != name) continue;
    const AttributeValue& like = declared.default_value;
    if (std::holds_alternative<std::vector<int64_t>>(like))
      return list_value<int64_t>(name, word);
    if (std::holds_alternative<std::vector<double>>(like))
      return list_value<double>(name, word);
    if (std::holds_alternative<std::string>(like)) return word;
  }
  return plain_value(word);
}

// ---- shapes ----

std::vector<std::string> input_names(const OpSpec& spec) {
  std::vector<std::string> names;
  for (const InputSpec& input : spec.inputs) names.push_back(input.name);
  return names;
}

size_t input_named(const OpSpec& spec, const std::string& name) {
  const auto names = input_names(spec);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return found - names.begin();
  const std::string nearest = nearest_name(name, names);
  throw UserError(text("[--shape] unknown input of ",
                       spec.id,
                       ": expected one of ",
                       names,
                       ", got \"",
                       name,
                       "\".",
                       nearest.empty() ? "" : " Did you mean \"",
                       nearest,
                       nearest.empty() ? "" : "\"?"));
}

std::vector<int64_t> sizes_in(const std::string& item,
                              const std::string& words) {
  std::vector<int64_t> sizes;
  if (words == "scalar") return sizes;
  for (const std::string& word : split_at(words, 'x')) {
    const auto size = number_in<int64_t>(word);
    TITAN_USER_CHECK(size && *size >= 0,
                     "[--shape] expected name=AxBxC or name=scalar, got \"",
                     item,
                     "\"");
    sizes.push_back(*size);
  }
  TITAN_USER_CHECK(!sizes.empty(),
                   "[--shape] expected name=AxBxC or name=scalar, got \"",
                   item,
                   "\"");
  return sizes;
}

/// What the op's cases give for input `i`, the largest of them; undefined if
/// none gives it.
at::Tensor example_of_input(const OpSpec& spec, size_t i) {
  at::Tensor largest;
  for (const ConformanceCase& known : spec.cases()) {
    const auto drawn = known.make_inputs(at::kFloat, 0);
    if (i >= drawn.size() || !drawn[i].defined()) continue;
    if (!largest.defined() || drawn[i].numel() > largest.numel())
      largest = drawn[i];
  }
  return largest;
}

at::ScalarType dtype_of_input(const OpSpec& spec,
                              size_t i,
                              at::ScalarType floating) {
  const at::Tensor example = example_of_input(spec, i);
  if (!example.defined() || example.is_floating_point()) return floating;
  return example.scalar_type();
}

std::vector<TensorMeta> parse_shape(const OpSpec& spec,
                                    const ExampleRequest& request) {
  std::vector<TensorMeta> inputs(spec.inputs.size());
  for (const std::string& item : split_at(request.shape, ',')) {
    const size_t equals = std::min(item.find('='), item.size());
    const size_t i = input_named(spec, item.substr(0, equals));
    const auto sizes =
        sizes_in(item, item.substr(std::min(equals + 1, item.size())));
    TITAN_USER_CHECK(!inputs[i].is_defined,
                     "[--shape] expected each input once, got ",
                     spec.inputs[i].name,
                     " twice");
    inputs[i] =
        TensorMeta(dtype_of_input(spec, i, request.dtype), at::kCPU, sizes);
  }
  return inputs;
}

std::vector<TensorMeta> shape_of_case(const OpSpec& spec,
                                      const ConformanceCase& known,
                                      at::ScalarType dtype) {
  std::vector<TensorMeta> inputs = metas_of(known.make_inputs(dtype, 0));
  inputs.resize(spec.inputs.size());
  for (TensorMeta& input : inputs)
    if (input.is_defined && at::isFloatingType(input.dtype))
      input.dtype = dtype;
  return inputs;
}

// ---- values ----

at::Tensor floating_values(const ExampleCall& call, size_t i, uint64_t seed) {
  const TensorMeta& meta = call.inputs[i];
  const at::Tensor example = example_of_input(*call.spec, i);
  const bool has_one_sign =
      example.defined() && example.numel() > 0 &&
      (example.min().item<double>() >= 0 || example.max().item<double>() <= 0);
  if (!has_one_sign)
    return reference::random_normal(meta.sizes, meta.dtype, seed);
  const at::Tensor picked =
      reference::random_ids({meta.num_elements()}, example.numel(), seed);
  return example.flatten()
      .index_select(0, picked)
      .view(meta.sizes)
      .to(meta.dtype);
}

/// How many ids there are to draw from.
int64_t num_ids(const ExampleCall& call) {
  const auto* experts = call.attributes.find("num_experts");
  if (experts != nullptr) return std::get<int64_t>(*experts);
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const auto& sizes = call.inputs[i].sizes;
    if (sizes.empty()) continue;
    if (call.spec->inputs[i].name == "weight") return sizes.front();
    if (call.spec->inputs[i].name == "logits") return sizes.back();
  }
  return 1;
}

at::Tensor integer_values(const ExampleCall& call, size_t i) {
  const TensorMeta& meta = call.inputs[i];
  const std::string& name = call.spec->inputs[i].name;
  const int64_t count = meta.num_elements();
  at::Tensor values = at::arange(count, at::kLong);
  if (name == "cu_seqlens" || name == "offsets") {
    // Equal parts of the rows of the first input.
    const auto& rows = call.inputs[0].sizes;
    const int64_t num_parts = std::max<int64_t>(1, count - 1);
    values = (values * (rows.empty() ? 0 : rows[0])).floor_divide_(num_parts);
  } else if (name == "doc_id") {
    values.zero_();
  } else if (name != "place" && name != "positions") {
    values = values.remainder(std::max<int64_t>(1, num_ids(call)));
  }
  return values.view(meta.sizes).to(meta.dtype);
}

}  // namespace

at::ScalarType parse_dtype(std::string_view name) {
  constexpr std::pair<std::string_view, at::ScalarType> kNames[] = {
      {"fp32", at::kFloat},
      {"f32", at::kFloat},
      {"bf16", at::kBFloat16},
      {"fp16", at::kHalf},
      {"f16", at::kHalf},
      {"fp64", at::kDouble},
      {"f64", at::kDouble}};
  for (const auto& [known, dtype] : kNames)
    if (known == name) return dtype;
  throw UserError(
      text("[--dtype] expected fp32, bf16, fp16 or fp64, got \"", name, "\""));
}

const OpSpec& find_op_by_name(const std::string& id_or_name) {
  for (const OpSpec* spec : all_ops())
    if (spec->name() == id_or_name) return *spec;
  return find_op(id_or_name);
}

std::string shape_text(const OpSpec& spec,
                       const std::vector<TensorMeta>& inputs) {
  std::string out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_defined) continue;
    if (!out.empty()) out += ',';
    out += spec.inputs[i].name + '=';
    if (inputs[i].sizes.empty()) out += "scalar";
    for (size_t dim = 0; dim < inputs[i].sizes.size(); ++dim)
      out += text(dim == 0 ? "" : "x", inputs[i].sizes[dim]);
  }
  return out;
}

ExampleCall make_example_call(const ExampleRequest& request) {
  ExampleCall call;
  call.spec = &find_op_by_name(request.op);
  const OpSpec& spec = *call.spec;
  const auto cases = spec.cases();
  Attributes given;
  if (request.shape.empty()) {
    TITAN_USER_CHECK(!cases.empty(),
                     '[',
                     spec.id,
                     "] has no cases of its own: expected --shape, got none");
    call.inputs = shape_of_case(spec, cases.front(), request.dtype);
    call.origin = text("the case \"", cases.front().name, '"');
    given = cases.front().attributes;
  } else {
    call.inputs = parse_shape(spec, request);
  }
  for (const std::string& item : request.attributes) {
    const size_t equals = item.find('=');
    TITAN_USER_CHECK(equals != std::string::npos && equals > 0,
                     "[--set] expected attribute=value, got \"",
                     item,
                     "\"");
    const std::string name = item.substr(0, equals);
    given.set(name, value_of(spec, name, item.substr(equals + 1)));
  }
  const std::string where = text('[', spec.id, ']');
  call.attributes = bind_attributes(spec, given, where);
  try {
    infer_shapes(spec, call.attributes, call.inputs, where);
  } catch (const UserError& error) {
    if (cases.empty()) throw;
    throw UserError(text(
        error.what(),
        ". A shape that it takes: --shape ",
        shape_text(spec, shape_of_case(spec, cases.front(), request.dtype))));
  }
  return call;
}

std::vector<at::Tensor> draw_inputs(const ExampleCall& call, uint64_t seed) {
  std::vector<at::Tensor> inputs;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const TensorMeta& meta = call.inputs[i];
    if (!meta.is_defined)
      inputs.emplace_back();
    else if (at::isFloatingType(meta.dtype))
      inputs.push_back(floating_values(call, i, seed + i));
    else
      inputs.push_back(integer_values(call, i));
  }
  return inputs;
}

uint64_t differentiable_inputs(const OpSpec& spec,
                               const std::vector<at::Tensor>& inputs) {
  uint64_t mask = 0;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].defined() && inputs[i].is_floating_point() &&
        spec.inputs[i].is_differentiable)
      mask |= uint64_t{1} << i;
  return mask;
}

std::vector<at::Tensor> kept_inputs(const OpSpec& spec,
                                    const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> out = inputs;
  for (size_t i = 0; i < out.size(); ++i)
    if (!spec.inputs[i].keep_for_backward) out[i] = at::Tensor();
  return out;
}

at::Tensor uneven_gradient(const at::Tensor& output) {
  const at::Tensor steps = at::arange(output.numel(), at::kDouble);
  return at::cos(steps).add_(0.5).view(output.sizes()).to(output.scalar_type());
}

}  // namespace titan::op
