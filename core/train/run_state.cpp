// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/run_state.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/layout/region.h"
#include "core/train/run_saver.h"
#include "core/train/weights.h"

namespace titan::train {
namespace {

using Json = nlohmann::json;
using parallel::LocalPart;
using parallel::ParameterEngine;

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

}  // namespace titan::train
