// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/adapter.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/checkpoint/export.h"
#include "core/checkpoint/safetensors_folder.h"
#include "core/train/tensor_bytes.h"

namespace titan::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using module::KeyMap;
using module::Module;
using module::Parameter;
using parallel::LocalPart;
using parallel::ParameterEngine;

constexpr std::string_view kLinear = "titan.linear/1";
constexpr std::string_view kWeight = ".weight";

std::vector<const Module*> adapted_leaves(const module::ModuleTree& tree) {
  std::vector<const Module*> leaves;
  for (const auto& module : tree.modules())
    if (module->adapter != nullptr) leaves.push_back(module.get());
  return leaves;
}

// Leaves of this stage: their parameters are here.
bool is_here(const ParameterEngine& engine, const Module& leaf) {
  return engine.part_of(*leaf.parameters.front()) != nullptr;
}

at::Tensor whole(const ParameterEngine& engine, const Parameter& parameter) {
  const LocalPart& part = *engine.part_of(parameter);
  return engine.gather(part, engine.master(part));
}

std::vector<at::Tensor> whole_values(const ParameterEngine& engine,
                                     const Module& leaf) {
  std::vector<at::Tensor> values;
  for (const Parameter* parameter : leaf.parameters)
    values.push_back(whole(engine, *parameter));
  for (const Parameter* parameter : leaf.adapter->parameters)
    values.push_back(whole(engine, *parameter));
  return values;
}

// "model.layers.0.mlp.up_proj" and how its rows lie there.
struct HfModule {
  std::string name;
  module::KeyRule rule;
};

HfModule hf_module(const KeyMap& keys, const Module& leaf) {
  const auto matches = keys.sources(*leaf.parameters.front());
  const module::KeyMatch& match = matches.front();
  const bool has_module = matches.size() == 1 && match.hf.ends_with(kWeight) &&
                          !match.rule.is_transposed &&
                          (match.rule.transform == TITAN_KEY_IDENTITY ||
                           match.rule.transform == TITAN_KEY_ROPE_ROWS);
  TITAN_USER_CHECK(has_module,
                   "[adapter.export] ",
                   leaf.fqn,
                   ": expected a layer that is one of Hugging Face's, got ",
                   match.hf,
                   ", which holds it in another form. Set it to false and use "
                   "checkpoint.export_hf, which merges.");
  return {match.hf.substr(0, match.hf.size() - kWeight.size()), match.rule};
}

// PEFT's name of an adapter's parameter. It writes a magnitude vector, a module
// with a weight, without the last part.
std::string peft_key(const HfModule& module, std::string_view suffix) {
  constexpr std::string_view kMagnitude = "lora_magnitude_vector.weight";
  if (suffix == kMagnitude) suffix.remove_suffix(kWeight.size());
  return text("base_model.model.", module.name, '.', suffix);
}

std::string last_name(const std::string& dotted) {
  return dotted.substr(dotted.rfind('.') + 1);
}

// What PEFT shall adapt: last names ("q_proj") where they mean exactly the
// adapted modules, else whole ones.
Json target_modules(const module::Model& model) {
  const KeyMap keys(model);
  std::set<std::string> adapted, short_names, left_out;
  for (const auto& module : model.tree().modules()) {
    if (module->class_name() != kLinear || module->parameters.empty()) continue;
    const Parameter& weight = *module->parameters.front();
    if (weight.adapts != nullptr || weight.owner != module.get()) continue;
    for (const module::KeyMatch& match : keys.sources(weight)) {
      if (!match.hf.ends_with(kWeight)) continue;
      const std::string name =
          match.hf.substr(0, match.hf.size() - kWeight.size());
      if (module->adapter != nullptr) {
        adapted.insert(name);
        short_names.insert(last_name(name));
      } else {
        left_out.insert(last_name(name));
      }
    }
  }
  const bool is_exact = std::none_of(
      short_names.begin(), short_names.end(), [&](const auto& name) {
        return left_out.contains(name);
      });
  return is_exact ? Json(short_names) : Json(adapted);
}

}  // namespace

std::unique_ptr<module::Transform> make_transform(PluginHost& host,
                                                  const std::string& id,
                                                  const config::Value& config) {
  const plugin::Component& component =
      host.plugins.find("titan.transform/1", id);
  return std::make_unique<module::Transform>(
      component.as<titan_transform_table>(),
      component.owner->host,
      component.owner,
      component.id,
      complete_config(component, config));
}

void apply_adapter(PluginHost& host,
                   const config::Value& recipe,
                   module::Model& model) {
  const config::Value* use = recipe.at_path("adapter.use");
  if (use == nullptr || !use->is_string()) return;
  const config::Value* config = recipe.at_path("adapter.config");
  model.apply(
      make_transform(host,
                     use->as_string(),
                     config == nullptr ? config::Value::empty_map() : *config));
}

void initialise_adapters(const module::Model& model,
                         ParameterEngine& engine,
                         uint64_t seed) {
  engine.initialise(seed, [](const Parameter& parameter) {
    return parameter.adapts != nullptr;
  });
  derive_adapters(model, engine);
}

void derive_adapters(const module::Model& model, ParameterEngine& engine) {
  at::NoGradGuard no_grad;
  for (const Module* leaf : adapted_leaves(model.tree())) {
    if (!leaf->adapter->derives || !is_here(engine, *leaf)) continue;
    const auto derived =
        model.transform()->derive(*leaf, whole_values(engine, *leaf));
    for (size_t i = 0; i < derived.size(); ++i) {
      if (!derived[i].defined()) continue;
      const LocalPart& part = *engine.part_of(*leaf->adapter->parameters[i]);
      engine.scatter(part, derived[i], engine.master(part));
    }
  }
  engine.invalidate();
}

std::vector<module::ParameterValue> merged_values(
    const module::Model& model,
    const ParameterEngine& engine) {
  at::NoGradGuard no_grad;
  std::map<const Parameter*, at::Tensor> merged;
  for (const Module* leaf : adapted_leaves(model.tree())) {
    if (!is_here(engine, *leaf)) continue;
    const auto values =
        model.transform()->merge(*leaf, whole_values(engine, *leaf));
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i].defined()) merged[leaf->parameters[i]] = values[i];
  }
  std::vector<module::ParameterValue> values;
  for (const LocalPart& part : engine.parts()) {
    if (part.parameter->adapts != nullptr) continue;
    const auto found = merged.find(part.parameter);
    values.push_back({part.parameter,
                      found != merged.end()
                          ? found->second
                          : engine.gather(part, engine.master(part))});
  }
  return values;
}

KeyMap adapter_keys(const module::Model& model) {
  const KeyMap keys(model);
  std::vector<module::KeyRule> rules;
  for (const Module* leaf : adapted_leaves(model.tree())) {
    const HfModule hf = hf_module(keys, *leaf);
    for (const Parameter* parameter : leaf->adapter->parameters) {
      const auto suffix =
          std::string_view(parameter->fqn).substr(leaf->fqn.size() + 1);
      module::KeyRule rule = hf.rule;
      // A reads the layer's input; the others' rows are those of its output.
      if (suffix.starts_with("lora_A.")) rule.transform = TITAN_KEY_IDENTITY;
      rule.native = parameter->fqn;
      rule.hf = peft_key(hf, suffix);
      rules.push_back(std::move(rule));
    }
  }
  return KeyMap(std::move(rules));
}

void load_adapter(const module::Model& model,
                  ParameterEngine& engine,
                  const fs::path& folder) {
  at::NoGradGuard no_grad;
  TITAN_USER_CHECK(fs::is_directory(folder),
                   "[adapter.initial] ",
                   folder.string(),
                   ": expected a folder with adapter_config.json, got none");
  checkpoint::FileSystem& files = checkpoint::real_file_system();
  model.transform()->check_file(
      checkpoint::read_text(files, folder / "adapter_config.json"));
  const checkpoint::SafetensorsFile file(folder / "adapter_model.safetensors");
  const KeyMap keys = adapter_keys(model);
  for (const checkpoint::TensorView& view : file.tensors())
    TITAN_USER_CHECK(keys.knows(view.name),
                     "[adapter.initial] ",
                     folder.string(),
                     " unexpected key: expected those of the layers that "
                     "adapter.config.targets names, got '",
                     view.name,
                     "'");
  for (const LocalPart& part : engine.parts()) {
    if (part.parameter->adapts == nullptr) continue;
    const at::Tensor value =
        keys.load(*part.parameter, [&](const std::string& key) {
          const checkpoint::TensorView* view = file.find(key);
          return view == nullptr ? at::Tensor() : tensor_of(*view);
        });
    engine.scatter(part, value, engine.master(part));
  }
  engine.invalidate();
}

void save_adapter(Training& training,
                  checkpoint::FileSystem& files,
                  const fs::path& folder,
                  std::optional<at::ScalarType> dtype) {
  const module::Model& model = *training.model;
  const ParameterEngine& engine = *training.engine;
  std::vector<module::ParameterValue> values;
  for (const LocalPart& part : engine.parts())
    if (part.parameter->adapts != nullptr)
      values.push_back(
          {part.parameter, engine.gather(part, engine.master(part))});
  checkpoint::HfFolder content;
  content.stem = "adapter_model";
  content.max_shard_bytes = std::numeric_limits<int64_t>::max();
  for (auto& [name, tensor] : adapter_keys(model).save(values))
    content.tensors.push_back(
        source_of(name, tensor, dtype.value_or(tensor.scalar_type())));
  if (training.mesh.rank() != 0) return;
  content.other_files["adapter_config.json"] =
      Json::parse(
          model.transform()->describe_file(target_modules(model).dump()))
          .dump(2) +
      '\n';
  fs::remove_all(folder);
  checkpoint::write_hf_folder(files, folder, content);
}

}  // namespace titan::train
