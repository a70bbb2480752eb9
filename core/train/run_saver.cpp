// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/run_saver.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/checkpoint/checkpoint_folder.h"
#include "core/checkpoint/checksum.h"
#include "core/dist/gather_texts.h"
#include "core/observe/spans.h"
#include "core/train/tensor_bytes.h"

namespace titan::train {
namespace {

using Json = nlohmann::json;
using parallel::LocalPart;

std::string trainer_json(const Training& training) {
  return Json{{"step", training.steps_done},
              {"tokens_seen", training.tokens_seen},
              {"skipped_steps", training.skipped_steps},
              {"steps_without_targets", training.steps_without_targets},
              {"last_loss", training.last_loss},
              {"schedule",
               {{"total_steps", training.schedule.total_steps},
                {"warmup_steps", training.schedule.warmup_steps},
                {"decay_steps", training.schedule.decay_steps}}}}
      .dump();
}

// Chooses which rank writes what several hold: the one that has the least to
// write so far. All of them count alike, so they agree without a word.
class WriterChoice {
 public:
  bool is_mine(const LocalPart& part, const parallel::Replicas& replicas) {
    if (replicas.count == 1) return true;
    std::vector<int64_t>& loads = loads_[{part.cut_dim >= 0, replicas.count}];
    loads.resize(static_cast<size_t>(replicas.count));
    const auto least = std::min_element(loads.begin(), loads.end());
    *least += part.flat_end - part.flat_begin;
    return least - loads.begin() == replicas.index;
  }

 private:
  std::map<std::pair<bool, int64_t>, std::vector<int64_t>> loads_;
};

bool is_first_of_model(const dist::Mesh& mesh) {
  return mesh.coordinate("cp") == 0 && mesh.coordinate("tp") == 0;
}

// The one rank that writes what every rank of the part has whole.
bool is_stage_leader(const dist::Mesh& mesh) {
  return mesh.coordinate("dp") == 0 && is_first_of_model(mesh);
}

// The one rank of those that read the same rows.
bool has_data_position(const dist::Mesh& mesh) {
  return mesh.coordinate("pp") == 0 && is_first_of_model(mesh);
}

// `value` is master-shaped: the part's elements, flat or in the part's shape.
void add_part(checkpoint::CheckpointWriter& writer,
              const std::string& role,
              const LocalPart& part,
              const at::Tensor& value,
              at::ScalarType dtype) {
  const at::Tensor flat = value.detach().reshape({-1});
  int64_t begin = 0;
  for (const layout::Region& region : part.regions()) {
    const int64_t count = layout::num_elements(region);
    writer.add_piece(role,
                     source_of(part.parameter->fqn,
                               flat.narrow(0, begin, count).view(region.extent),
                               dtype),
                     part.parameter->shape,
                     region.offset);
    begin += count;
  }
}

std::string random_name() {
  std::random_device random;
  return checkpoint::checksum_text(uint64_t{random()} << 32 | random());
}

}  // namespace

RunSaver::RunSaver(Training& training,
                   checkpoint::FileSystem& files,
                   std::filesystem::path folder,
                   RunRecord record,
                   RunSaveOptions options)
    : training_(training),
      files_(files),
      folder_(std::move(folder)),
      record_(std::move(record)),
      options_(options),
      saver_(files, options_.saver) {}

RunSaver::~RunSaver() {
  if (options_.saver.is_async) training_.before_update = nullptr;
}

void RunSaver::start() {
  const Span span("checkpoint");
  if (series_.empty()) agree_on_series();
  const dist::Mesh& mesh = training_.mesh;
  checkpoint::CheckpointWriter writer(
      files_,
      {folder_, training_.steps_done, mesh.rank(), mesh.world(), token()});
  ++num_saves_;
  add_tensors(writer);
  const std::string& plan = training_.plan.json;
  // Each data rank knows its own lanes: one rank of each says where they stand.
  if (has_data_position(mesh)) writer.set_rank_state(training_.data->state());
  if (options_.saver.is_async)
    training_.before_update = [this] { wait_until_copied(); };
  saver_.start(std::move(writer),
               {.trainer = trainer_json(training_),
                .recipe = record_.recipe_json,
                .plugins = record_.plugins_json,
                .layout = plan.empty() ? "{}" : plan});
}

std::string RunSaver::token() const {
  return text(series_, '-', num_saves_);
}

void RunSaver::agree_on_series() {
  const dist::Mesh& mesh = training_.mesh;
  if (mesh.rank() == 0) {
    checkpoint::prepare_folder(files_, folder_);
    series_ = random_name();
    // What the others look for: a folder of the same path may be another disk.
    files_.make_folder(
        checkpoint::temporary_path(folder_, training_.steps_done, token()));
  }
  series_ = dist::all_gather_texts(mesh.group("world"), series_).front();
  if (files_.is_object_store()) return;  // a bucket is the same for all
  TITAN_USER_CHECK(files_.exists(checkpoint::temporary_path(
                       folder_, training_.steps_done, token())),
                   "[checkpoint.folder] ",
                   folder_.string(),
                   ": expected a folder that all ranks share, got one on rank ",
                   mesh.rank(),
                   " in which rank 0's files do not appear");
}

void RunSaver::add_tensors(checkpoint::CheckpointWriter& writer) const {
  const parallel::ParameterEngine& engine = *training_.engine;
  const bool is_leader = is_stage_leader(training_.mesh);
  const bool is_full = options_.content == SaveContent::kFull;
  WriterChoice choice;
  for (size_t i = 0; i < engine.parts().size(); ++i) {
    const LocalPart& part = engine.parts()[i];
    const bool is_mine = choice.is_mine(part, engine.replicas(part));
    const at::Tensor master = engine.master(part);
    if (is_mine)
      add_part(writer,
               "model",
               part,
               master,
               is_full ? master.scalar_type()
                       : options_.dtype.value_or(master.scalar_type()));
    if (!is_full) continue;
    const at::Tensor average =
        training_.ema ? training_.ema->value(i) : at::Tensor();
    if (average.defined() && is_mine)
      add_part(writer, kEmaRole, part, average, average.scalar_type());
    for (const OptimizerState& state : training_.optimizer->states(i)) {
      const std::string role = "optimizer/" + state.name;
      if (!state.is_like_parameter) {
        if (is_leader)
          writer.add_tensor(role, source_of(part.parameter->fqn, state.value));
      } else if (is_mine) {
        add_part(writer, role, part, state.value, state.value.scalar_type());
      }
    }
  }
  // Small, and equal on the ranks of a stage; a copy, since steps go on.
  for (const auto& entry : engine.buffers().entries()) {
    const bool is_written_by_first_stage =
        entry.is_shared && training_.mesh.coordinate("pp") > 0;
    if (is_leader && entry.is_saved() && !is_written_by_first_stage)
      writer.add_tensor("buffer",
                        source_of(entry.buffer->fqn, entry.value.clone()));
  }
}

std::filesystem::path save_run(Training& training,
                               checkpoint::FileSystem& files,
                               const std::filesystem::path& folder,
                               const RunRecord& record) {
  RunSaver saver(training, files, folder, record);
  saver.start();
  saver.wait();
  if (training.mesh.world() > 1) training.mesh.group("world").barrier();
  return folder / checkpoint::step_folder_name(training.steps_done);
}

}  // namespace titan::train
