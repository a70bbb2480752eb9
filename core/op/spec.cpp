// SPDX-License-Identifier: BSD-3-Clause
// Checks of a call against its OpSpec: attributes once per slot, inputs once
// per set of shapes.
#include "core/op/spec.h"

#include <algorithm>

#include <titan/error.h>

namespace titan::op {
namespace {

std::vector<std::string> attribute_names(const OpSpec& spec) {
  std::vector<std::string> names;
  for (const AttributeSpec& attribute : spec.attributes)
    names.push_back(attribute.name);
  return names;
}

void check_known(const OpSpec& spec,
                 const std::string& name,
                 std::string_view where) {
  const auto names = attribute_names(spec);
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  const std::string nearest = nearest_name(name, names);
  throw UserError(titan::text(where,
                              " unknown attribute: expected one of ",
                              names,
                              ", got \"",
                              name,
                              "\".",
                              nearest.empty() ? "" : " Did you mean \"",
                              nearest,
                              nearest.empty() ? "" : "\"?"));
}

/// `given` as the type of the declaration: an int is a float where a float is
/// declared, nothing else converts.
AttributeValue convert(const AttributeSpec& declared,
                       const AttributeValue& given,
                       std::string_view where) {
  const AttributeValue& like = declared.default_value;
  if (given.index() == like.index()) return given;
  const auto* number = std::get_if<int64_t>(&given);
  if (number && std::holds_alternative<double>(like))
    return static_cast<double>(*number);
  // A plugin may write 1.0 where an int is meant; 1.5 stays an error.
  const auto* real = std::get_if<double>(&given);
  if (real && std::holds_alternative<int64_t>(like) &&
      *real == static_cast<double>(static_cast<int64_t>(*real)))
    return static_cast<int64_t>(*real);
  const auto* ints = std::get_if<std::vector<int64_t>>(&given);
  if (ints && std::holds_alternative<std::vector<double>>(like))
    return std::vector<double>(ints->begin(), ints->end());
  throw UserError(titan::text(where,
                              " attribute ",
                              declared.name,
                              " has another type: expected ",
                              type_name(like),
                              ", got ",
                              type_name(given),
                              ' ',
                              to_text(given)));
}

void check_choice(const AttributeSpec& declared,
                  const AttributeValue& value,
                  std::string_view where) {
  const auto* word = std::get_if<std::string>(&value);
  if (!word || declared.choices.empty()) return;
  const auto& choices = declared.choices;
  TITAN_USER_CHECK(
      std::find(choices.begin(), choices.end(), *word) != choices.end(),
      where,
      " attribute ",
      declared.name,
      ": expected one of ",
      choices,
      ", got \"",
      *word,
      "\"");
}

std::string shapes_text(const OpSpec& spec,
                        const std::vector<TensorMeta>& inputs) {
  std::string out;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    if (i > 0) out += ", ";
    out += titan::text(spec.inputs[i].name, ' ', inputs[i].text());
  }
  return out;
}

void check_presence(const OpSpec& spec,
                    const std::vector<TensorMeta>& inputs,
                    std::string_view where) {
  TITAN_CHECK_EQ(inputs.size(), spec.inputs.size(), where, " number of inputs");
  for (size_t i = 0; i < inputs.size(); ++i) {
    TITAN_USER_CHECK(inputs[i].is_defined || spec.inputs[i].is_optional,
                     where,
                     " input ",
                     spec.inputs[i].name,
                     " is absent: expected a tensor, got none (",
                     shapes_text(spec, inputs),
                     ")");
  }
}

}  // namespace

std::string OpSpec::name() const {
  const size_t dot = id.find('.');
  const size_t slash = id.find('/');
  TITAN_USER_CHECK(dot != std::string::npos && slash != std::string::npos &&
                       dot + 1 < slash && slash + 1 < id.size(),
                   "[op ",
                   id,
                   "] is not an op id: expected owner.name/revision");
  const std::string owner = id.substr(0, dot);
  std::string out = owner == "titan" ? "" : owner + "_";
  out += id.substr(dot + 1, slash - dot - 1);
  const std::string revision = id.substr(slash + 1);
  if (revision != "1") out += "_v" + revision;
  std::replace(out.begin(), out.end(), '.', '_');
  return out;
}

int64_t OpSpec::input_index(std::string_view input_name) const {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].name == input_name) return static_cast<int64_t>(i);
  TITAN_CHECK(false, "[", id, "] has no input ", input_name);
}

int64_t OpSpec::saved_output(size_t i) const {
  for (size_t j = 0; j < outputs.size(); ++j)
    if (outputs[j].name == saved[i]) return static_cast<int64_t>(j);
  return -1;
}

Attributes bind_attributes(const OpSpec& spec,
                           const Attributes& given,
                           std::string_view where) {
  for (const auto& [name, value] : given.items())
    check_known(spec, name, where);
  Attributes bound;
  for (const AttributeSpec& declared : spec.attributes) {
    const AttributeValue* value = given.find(declared.name);
    TITAN_USER_CHECK(value || !declared.is_required,
                     where,
                     " attribute ",
                     declared.name,
                     " is missing: expected ",
                     type_name(declared.default_value),
                     " (",
                     declared.meaning,
                     "), got none");
    AttributeValue converted =
        value ? convert(declared, *value, where) : declared.default_value;
    check_choice(declared, converted, where);
    bound.set(declared.name, std::move(converted));
  }
  return bound;
}

std::vector<TensorMeta> infer_grad_shapes(
    const OpSpec& spec,
    const Attributes& attributes,
    const std::vector<TensorMeta>& grad_outputs,
    const std::vector<TensorMeta>& inputs,
    uint64_t want) {
  auto grads = spec.grad_shapes
                   ? spec.grad_shapes(attributes, grad_outputs, inputs)
                   : inputs;
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!(want >> i & 1)) {
      grads[i] = TensorMeta();
      continue;
    }
    TITAN_CHECK(grads[i].is_defined,
                '[',
                spec.id,
                "] gradient of ",
                spec.inputs[i].name,
                " has no shape: expected grad_shapes for an input not kept");
  }
  return grads;
}

Shapes infer_shapes(const OpSpec& spec,
                    const Attributes& attributes,
                    const std::vector<TensorMeta>& inputs,
                    std::string_view where) {
  check_presence(spec, inputs, where);
  try {
    return spec.shape(attributes, inputs);
  } catch (const UserError& error) {
    throw UserError(titan::text(where,
                                ' ',
                                error.what(),
                                " (",
                                shapes_text(spec, inputs),
                                "; ",
                                attributes.text(),
                                ")"));
  }
}

}  // namespace titan::op
