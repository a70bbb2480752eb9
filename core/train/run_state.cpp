// SPDX-License-Identifier: BSD-3-Clause
// Every rank takes part in gathering a tensor; the leader of its stage (first
// in dp, cp and tp) writes it.
#include "core/train/run_state.h"

#include <cmath>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/checkpoint/checkpoint_folder.h"
#include "core/checkpoint/checkpoint_writer.h"
#include "core/checkpoint/export.h"
#include "core/checkpoint/region.h"
#include "core/checkpoint/safetensors_folder.h"
#include "core/module/hf_keys.h"
#include "core/observe/spans.h"
#include "core/observe/text_file.h"
#include "core/train/tensor_bytes.h"

namespace titan::train {
namespace {

using Json = nlohmann::json;
using parallel::LocalPart;
using parallel::ParameterEngine;

bool is_stage_leader(const dist::Mesh& mesh) {
  return mesh.coordinate("dp") == 0 && mesh.coordinate("cp") == 0 &&
         mesh.coordinate("tp") == 0;
}

// Texts of all ranks, on every rank. Collective over world.
std::vector<std::string> gather_texts(const dist::Mesh& mesh,
                                      const std::string& mine) {
  if (mesh.world() == 1) return {mine};
  dist::Group& world = mesh.group("world");
  at::Tensor length = at::tensor({static_cast<int64_t>(mine.size())});
  at::Tensor longest = length.clone();
  world.all_reduce_max(longest);
  const int64_t capacity = longest.item<int64_t>();
  at::Tensor bytes = at::zeros({capacity + 8}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), length.const_data_ptr(), 8);
  std::memcpy(static_cast<char*>(bytes.mutable_data_ptr()) + 8,
              mine.data(),
              mine.size());
  at::Tensor all = at::empty({world.size() * (capacity + 8)}, at::kByte);
  world.all_gather(all, bytes);
  std::vector<std::string> texts;
  for (int64_t rank = 0; rank < world.size(); ++rank) {
    const char* at_rank =
        static_cast<const char*>(all.const_data_ptr()) + rank * (capacity + 8);
    int64_t size = 0;
    std::memcpy(&size, at_rank, 8);
    texts.emplace_back(at_rank + 8, static_cast<size_t>(size));
  }
  return texts;
}

std::string trainer_json(const Training& training) {
  return Json{{"step", training.steps_done},
              {"tokens_seen", training.tokens_seen},
              {"skipped_steps", training.skipped_steps},
              {"steps_without_targets", training.steps_without_targets},
              {"last_loss", training.last_loss},
              {"data", training.data->state()},
              {"schedule",
               {{"total_steps", training.schedule.total_steps},
                {"warmup_steps", training.schedule.warmup_steps},
                {"decay_steps", training.schedule.decay_steps}}}}
      .dump();
}

bool is_elementwise(const ParameterEngine& engine,
                    const LocalPart& part,
                    const at::Tensor& value) {
  return value.sizes() == engine.master(part).sizes();
}

void add_tensors(Training& training, checkpoint::CheckpointWriter& writer) {
  const ParameterEngine& engine = *training.engine;
  const bool writes = is_stage_leader(training.mesh);
  for (size_t i = 0; i < engine.parts().size(); ++i) {
    const LocalPart& part = engine.parts()[i];
    const std::string& name = part.parameter->fqn;
    const auto add = [&](const std::string& role, const at::Tensor& value) {
      const at::Tensor whole = is_elementwise(engine, part, value)
                                   ? engine.gather(part, value)
                                   : value;
      if (writes) writer.add_tensor(role, source_of(name, whole));
    };
    add("model", engine.master(part));
    for (const OptimizerState& state : training.optimizer->states(i))
      add("optimizer/" + state.name, state.value);
  }
}

at::Tensor read_whole(const checkpoint::CheckpointReader& reader,
                      const std::string& role,
                      const std::string& name) {
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
  at::Tensor tensor = at::empty(record->shape, tensor_dtype(record->dtype));
  reader.read(
      role,
      name,
      checkpoint::whole_region(record->shape),
      {static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes()});
  return tensor;
}

void check_shape(const at::Tensor& tensor,
                 const LocalPart& part,
                 const std::filesystem::path& from) {
  TITAN_USER_CHECK(tensor.sizes() == at::IntArrayRef(part.parameter->shape),
                   "[checkpoint ",
                   from.string(),
                   "] ",
                   part.parameter->fqn,
                   " shape: expected ",
                   part.parameter->shape,
                   ", got ",
                   tensor.sizes());
}

void load_model_tensors(const checkpoint::CheckpointReader& reader,
                        ParameterEngine& engine) {
  for (const LocalPart& part : engine.parts()) {
    const at::Tensor whole = read_whole(reader, "model", part.parameter->fqn);
    check_shape(whole, part, reader.path());
    engine.scatter(part, whole, engine.master(part));
  }
  engine.invalidate();
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

}  // namespace

std::filesystem::path save_run(Training& training,
                               checkpoint::FileSystem& files,
                               const std::filesystem::path& folder,
                               const RunRecord& record) {
  const Span span("checkpoint");
  const dist::Mesh& mesh = training.mesh;
  checkpoint::CheckpointWriter writer(
      files, {folder, training.steps_done, mesh.rank(), mesh.world()});
  add_tensors(training, writer);
  if (mesh.rank() == 0) writer.prepare();
  if (mesh.world() > 1) mesh.group("world").barrier();
  const std::vector<std::string> reports =
      gather_texts(mesh, writer.write_files());
  std::filesystem::path saved =
      folder / checkpoint::step_folder_name(training.steps_done);
  if (mesh.rank() == 0)
    saved = writer.publish(
        reports,
        {.trainer = trainer_json(training),
         .recipe = record.recipe_json,
         .plugins = record.plugins_json,
         .layout = training.plan.json.empty() ? "{}" : training.plan.json});
  if (mesh.world() > 1) mesh.group("world").barrier();
  return saved;
}

void restore_run(Training& training,
                 const checkpoint::CheckpointReader& reader) {
  at::NoGradGuard no_grad;
  load_model_tensors(reader, *training.engine);
  const ParameterEngine& engine = *training.engine;
  for (size_t i = 0; i < engine.parts().size(); ++i) {
    const LocalPart& part = engine.parts()[i];
    for (OptimizerState& state : training.optimizer->states(i)) {
      const at::Tensor whole =
          read_whole(reader, "optimizer/" + state.name, part.parameter->fqn);
      if (is_elementwise(engine, part, state.value)) {
        check_shape(whole, part, reader.path());
        engine.scatter(part, whole, state.value);
      } else {
        state.value.copy_(whole);
      }
    }
  }
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
  training.data->restore(trainer.at("data").get<std::string>());
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
    load_model_tensors(checkpoint::CheckpointReader(path), engine);
    return;
  }
  checkpoint::FileSystem& files = checkpoint::real_file_system();
  auto latest = checkpoint::latest_checkpoint(files, path);
  if (latest.reader) {
    load_model_tensors(*latest.reader, engine);
    return;
  }
  load_hf(model, engine, path);
}

std::map<std::string, at::Tensor> hf_tensors(const module::Model& model,
                                             const ParameterEngine& engine) {
  const module::KeyMap keys(model);
  std::map<std::string, at::Tensor> tensors;
  for (const LocalPart& part : engine.parts())
    tensors.merge(
        keys.save(*part.parameter, engine.gather(part, engine.master(part))));
  return tensors;
}

void export_hf(Training& training,
               checkpoint::FileSystem& files,
               const std::filesystem::path& path,
               const std::filesystem::path& tokenizer_folder) {
  TITAN_USER_CHECK(training.mesh.size("pp") == 1,
                   "[checkpoint.export_hf] expected one pipeline stage, got ",
                   training.mesh.size("pp"),
                   ". Export from the checkpoint with `titan convert`.");
  checkpoint::HfFolder content;
  for (auto& [name, tensor] : hf_tensors(*training.model, *training.engine))
    content.tensors.push_back(source_of(name, tensor));
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
