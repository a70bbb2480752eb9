// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/run_state.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/checkpoint/checkpoint_folder.h"
#include "core/checkpoint/export.h"
#include "core/checkpoint/safetensors_folder.h"
#include "core/layout/region.h"
#include "core/module/hf_keys.h"
#include "core/observe/text_file.h"
#include "core/train/run_saver.h"
#include "core/train/tensor_bytes.h"

namespace titan::train {
namespace {

using Json = nlohmann::json;
using parallel::LocalPart;
using parallel::ParameterEngine;

// Faults of one kind: the first few and how many there are.
std::string listed(const char* kind, const std::vector<std::string>& faults) {
  constexpr size_t kShown = 8;
  if (faults.empty()) return "";
  std::string lines = text("\n  ", kind, ": ", faults.size());
  for (size_t i = 0; i < std::min(kShown, faults.size()); ++i)
    lines += text("\n    ", faults[i]);
  return lines;
}

// All that a checkpoint lacks of this rank's stage of the model, has beside the
// model, or has in another shape: at once, so that a renamed prefix is seen.
void require_same_model(const checkpoint::CheckpointReader& reader,
                        const module::ModuleTree& tree,
                        const ParameterEngine& engine) {
  std::vector<std::string> missing, reshaped, unexpected;
  for (const LocalPart& part : engine.parts()) {
    const std::string& name = part.parameter->fqn;
    const checkpoint::TensorRecord* record = reader.find("model", name);
    if (record == nullptr)
      missing.push_back(name);
    else if (record->shape != part.parameter->shape)
      reshaped.push_back(text(name,
                              " shape: expected ",
                              part.parameter->shape,
                              ", got ",
                              record->shape));
  }
  std::set<std::string> names;
  for (const auto& parameter : tree.parameters()) names.insert(parameter->fqn);
  for (const checkpoint::TensorRecord& record : reader.manifest().tensors)
    if (record.role == "model" && names.insert(record.name).second)
      unexpected.push_back(record.name);
  TITAN_USER_CHECK(
      missing.empty() && reshaped.empty() && unexpected.empty(),
      "[checkpoint ",
      reader.path().string(),
      "] tensors: expected those of the recipe's model, got another model's.",
      listed("missing", missing),
      listed("of another shape", reshaped),
      listed("unexpected", unexpected));
}

// This rank's part of a stored tensor into a master-shaped one, and no more.
void read_part(const checkpoint::CheckpointReader& reader,
               const std::string& role,
               const std::string& name,
               const std::vector<layout::Region>& regions,
               at::Tensor value) {
  const checkpoint::TensorRecord* record = reader.find(role, name);
  TITAN_USER_CHECK(record != nullptr,
                   "[checkpoint ",
                   reader.path().string(),
                   "] tensor ",
                   role,
                   ' ',
                   name,
                   ": expected it, got none. The checkpoint is of another "
                   "model or optimizer.");
  const at::ScalarType dtype = tensor_dtype(record->dtype);
  const bool is_direct = value.is_contiguous() && value.scalar_type() == dtype;
  const at::Tensor place = is_direct ? value : at::empty(value.sizes(), dtype);
  reader.read_regions(
      role,
      name,
      regions,
      {static_cast<std::byte*>(place.mutable_data_ptr()), place.nbytes()});
  if (!is_direct) value.copy_(place);
}

void read_buffers(const checkpoint::CheckpointReader& reader,
                  parallel::BufferStore& buffers) {
  for (auto& entry : buffers.entries()) {
    if (!entry.is_saved()) continue;
    const std::string& name = entry.buffer->fqn;
    const checkpoint::TensorRecord* record = reader.find("buffer", name);
    TITAN_USER_CHECK(record == nullptr || record->shape == entry.buffer->shape,
                     "[checkpoint ",
                     reader.path().string(),
                     "] ",
                     name,
                     " shape: expected ",
                     entry.buffer->shape,
                     ", got ",
                     record->shape);
    read_part(reader,
              "buffer",
              name,
              {layout::whole_region(entry.buffer->shape)},
              entry.value);
  }
}

void load_model_tensors(const checkpoint::CheckpointReader& reader,
                        const module::ModuleTree& tree,
                        ParameterEngine& engine) {
  require_same_model(reader, tree, engine);
  for (const LocalPart& part : engine.parts())
    read_part(reader,
              "model",
              part.parameter->fqn,
              part.regions(),
              engine.master(part));
  read_buffers(reader, engine.buffers());
  engine.invalidate();
}

void load_optimizer(const checkpoint::CheckpointReader& reader,
                    const ParameterEngine& engine,
                    Optimizer& optimizer) {
  for (size_t i = 0; i < engine.parts().size(); ++i) {
    const LocalPart& part = engine.parts()[i];
    for (OptimizerState& state : optimizer.states(i))
      read_part(
          reader,
          "optimizer/" + state.name,
          part.parameter->fqn,
          state.is_like_parameter
              ? part.regions()
              : std::vector{layout::whole_region(state.value.sizes().vec())},
          state.value);
  }
}

void load_ema(const checkpoint::CheckpointReader& reader,
              const ParameterEngine& engine,
              Ema& ema) {
  const auto& tensors = reader.manifest().tensors;
  TITAN_USER_CHECK(
      std::any_of(tensors.begin(),
                  tensors.end(),
                  [](const auto& record) { return record.role == kEmaRole; }),
      "[ema.decay] averages in ",
      reader.path().string(),
      ": expected those of the run until here, got none. Set it to null, or "
      "start from the weights: --from ",
      reader.path().string());
  for (size_t i = 0; i < engine.parts().size(); ++i)
    if (const at::Tensor value = ema.value(i); value.defined())
      read_part(reader,
                kEmaRole,
                engine.parts()[i].parameter->fqn,
                engine.parts()[i].regions(),
                value);
}

// A model-only save has nothing of what a resumed run needs.
void require_full(const checkpoint::CheckpointReader& reader) {
  const auto& tensors = reader.manifest().tensors;
  const bool has_optimizer =
      std::any_of(tensors.begin(), tensors.end(), [](const auto& record) {
        return record.role.starts_with("optimizer/");
      });
  TITAN_USER_CHECK(has_optimizer,
                   "[checkpoint ",
                   reader.path().string(),
                   "] content: expected model and optimizer, got the model "
                   "only. Start from its weights: --resume never --from ",
                   reader.path().string());
}

void load_hf(const module::Model& model,
             ParameterEngine& engine,
             const std::filesystem::path& path) {
  const checkpoint::SafetensorsFolder folder(path);
  const module::KeyMap keys(model);
  for (const checkpoint::TensorView* view : folder.tensors())
    TITAN_USER_CHECK(keys.knows(view->name),
                     "[checkpoint ",
                     path.string(),
                     "] unexpected key: expected those of ",
                     model.id(),
                     ", got '",
                     view->name,
                     "'");
  for (const LocalPart& part : engine.parts()) {
    const at::Tensor whole =
        keys.load(*part.parameter, [&](const std::string& key) {
          const checkpoint::TensorView* view = folder.find(key);
          return view == nullptr ? at::Tensor() : tensor_of(*view);
        });
    engine.scatter(part, whole, engine.master(part));
  }
  engine.invalidate();
}

// Where all lanes stand: of the ranks that said so in their reports.
std::string data_position(const checkpoint::CheckpointReader& reader) {
  std::vector<std::string> states;
  for (const std::string& state : reader.manifest().rank_states)
    if (state != "{}") states.push_back(state);
  TITAN_USER_CHECK(!states.empty(),
                   "[checkpoint ",
                   reader.path().string(),
                   "] position of the data: expected it in the state of a "
                   "rank, got none. Start from its weights: --resume never "
                   "--from ",
                   reader.path().string());
  return DataStream::merge(states);
}

}  // namespace

void restore_run(Training& training,
                 const checkpoint::CheckpointReader& reader) {
  at::NoGradGuard no_grad;
  if (training.optimizer->bytes_states() > 0) require_full(reader);
  load_model_tensors(reader, training.model->tree(), *training.engine);
  load_optimizer(reader, *training.engine, *training.optimizer);
  if (training.ema) load_ema(reader, *training.engine, *training.ema);
  const Json trainer = Json::parse(reader.manifest().state.trainer);
  training.steps_done = trainer.at("step").get<int64_t>();
  training.tokens_seen = trainer.at("tokens_seen").get<int64_t>();
  training.skipped_steps = trainer.at("skipped_steps").get<int64_t>();
  training.steps_without_targets =
      trainer.at("steps_without_targets").get<int64_t>();
  // JSON writes NaN, the loss of no step yet, as null.
  const Json& last_loss = trainer.at("last_loss");
  training.last_loss =
      last_loss.is_null() ? std::nan("") : last_loss.get<double>();
  training.data->restore(data_position(reader));
}

void load_weights(const module::Model& model,
                  ParameterEngine& engine,
                  const std::filesystem::path& path) {
  at::NoGradGuard no_grad;
  TITAN_USER_CHECK(std::filesystem::is_directory(path),
                   "[checkpoint ",
                   path.string(),
                   "] expected a folder, got none");
  if (std::filesystem::exists(path / checkpoint::kManifestName)) {
    load_model_tensors(
        checkpoint::CheckpointReader(path), model.tree(), engine);
    return;
  }
  checkpoint::FileSystem& files = checkpoint::real_file_system();
  auto latest = checkpoint::latest_checkpoint(files, path);
  if (latest.reader) {
    load_model_tensors(*latest.reader, model.tree(), engine);
    return;
  }
  load_hf(model, engine, path);
}

std::map<std::string, at::Tensor> hf_tensors(const module::Model& model,
                                             const ParameterEngine& engine) {
  std::vector<module::ParameterValue> values;
  for (const LocalPart& part : engine.parts())
    values.push_back(
        {part.parameter, engine.gather(part, engine.master(part))});
  return module::KeyMap(model).save(values);
}

void export_hf(Training& training,
               checkpoint::FileSystem& files,
               const std::filesystem::path& path,
               const std::filesystem::path& tokenizer_folder,
               std::optional<at::ScalarType> dtype) {
  TITAN_USER_CHECK(training.mesh.size("pp") == 1,
                   "[checkpoint.export_hf] expected one pipeline stage, got ",
                   training.mesh.size("pp"),
                   ". Export from the checkpoint with `titan convert`.");
  checkpoint::HfFolder content;
  for (auto& [name, tensor] : hf_tensors(*training.model, *training.engine))
    content.tensors.push_back(
        source_of(name, tensor, dtype.value_or(tensor.scalar_type())));
  if (training.mesh.rank() != 0) return;
  content.config_json = training.model->config_to_hf();
  if (!tokenizer_folder.empty())
    for (const char* name : {"tokenizer.json", "tokenizer_config.json"})
      if (const auto text = read_text_file(tokenizer_folder / name))
        content.other_files[name] = *text;
  std::filesystem::remove_all(path);
  checkpoint::write_hf_folder(files, path, content);
}

}  // namespace titan::train
