// SPDX-License-Identifier: BSD-3-Clause
// Legend: B sequences, T tokens each, V vocabulary.
#include "core/train/parity.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/checkpoint/safetensors.h"
#include "core/module/hf_keys.h"
#include "core/observe/text_file.h"
#include "core/parallel/executor.h"
#include "core/parallel/planner.h"
#include "core/train/export_hf.h"
#include "core/train/open_model.h"
#include "core/train/optimizer.h"
#include "core/train/step_loss.h"
#include "core/train/tensor_bytes.h"
#include "core/train/training.h"
#include "core/train/weights.h"

namespace titan::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
Tensors read_tensors(const fs::path& path) {
  const checkpoint::SafetensorsFile file(path);
  Tensors tensors;
  for (const checkpoint::TensorView& view : file.tensors())
    tensors[view.name] = tensor_of(view);
  return tensors;
}

const at::Tensor& get(const Tensors& tensors,
                      const std::string& name,
                      const fs::path& path) {
  const auto found = tensors.find(name);
  TITAN_USER_CHECK(found != tensors.end(),
                   "[parity ",
                   path.string(),
                   "] tensor: expected '",
                   name,
                   "', got none");
  return found->second;
}

// B rows, each one document: next-token labels inside the row.
module::BatchTensors batch_of(const at::Tensor& ids_BT) {
  const int64_t rows = ids_BT.size(0), length = ids_BT.size(1);
  module::BatchTensors batch;
  batch.tokens = ids_BT.reshape({-1}).to(at::kLong).contiguous();
  at::Tensor labels_BT = at::full({rows, length}, -100, at::kLong);
  labels_BT.narrow(1, 0, length - 1).copy_(ids_BT.narrow(1, 1, length - 1));
  batch.labels = labels_BT.view({-1});
  batch.loss_weight = (batch.labels != -100).to(at::kFloat);
  batch.doc_id = at::arange(rows, at::kInt).repeat_interleave(length);
  batch.cu_seqlens = at::arange(0, rows * length + 1, length, at::kInt);
  batch.positions = at::arange(length, at::kInt).repeat({rows});
  batch.global_index = at::arange(rows * length, at::kLong);
  return batch;
}

// One of the two runs of a case: what it is held against, and how.
struct Side {
  std::string precision;
  std::string prefix;  // of names in the report
  fs::path numbers;    // folder of what the reference made in this precision
  double tolerance = 0;
  double update_tolerance = 0;
};

Side float32_side(const fs::path& folder, const ParityOptions& options) {
  return {
      "fp32", "", folder, options.relative_tolerance, options.update_tolerance};
}

Side float64_side(const fs::path& folder, const ParityOptions& options) {
  return {"fp64",
          "float64 ",
          folder / "float64",
          options.float64_tolerance,
          options.float64_tolerance};
}

bool has_first_step(const Side& side) {
  return fs::exists(side.numbers / "expected.safetensors");
}

bool has_training(const Side& side) {
  return fs::exists(side.numbers / "expected_training.safetensors");
}

// What a case lacks must not pass for what agrees.
void check_case(const fs::path& folder, const Side& narrow, const Side& wide) {
  TITAN_USER_CHECK(has_first_step(narrow) || has_first_step(wide) ||
                       has_training(narrow) || has_training(wide),
                   "[parity ",
                   folder.string(),
                   "] reference: expected expected.safetensors or "
                   "expected_training.safetensors in it or in its folder "
                   "float64, got none");
  TITAN_USER_CHECK(!fs::exists(folder / "training.json") ||
                       has_training(narrow) || has_training(wide),
                   "[parity ",
                   folder.string(),
                   "] training steps: training.json asks for some, expected "
                   "expected_training.safetensors beside it or in float64, got "
                   "none");
}

// A number that was rounded to float32 would be an error of 1e-8 in the model.
void check_is_float64(const Tensors& tensors, const fs::path& path) {
  for (const auto& [name, tensor] : tensors)
    TITAN_USER_CHECK(tensor.scalar_type() == at::kDouble,
                     "[parity ",
                     path.string(),
                     "] dtype of '",
                     name,
                     "': expected F64, got ",
                     c10::toString(tensor.scalar_type()),
                     ". Write what the reference computes in float64.");
}

Tensors read_numbers(const Side& side, const std::string& name) {
  const fs::path path = side.numbers / name;
  Tensors tensors = read_tensors(path);
  if (side.precision == "fp64") check_is_float64(tensors, path);
  return tensors;
}

struct Case {
  fs::path folder;
  std::unique_ptr<module::Model> model;
  dist::Mesh mesh = dist::Mesh::single();
  parallel::Plan plan;
  std::unique_ptr<parallel::ParameterEngine> engine;
  std::unique_ptr<parallel::Executor> executor;
};

std::unique_ptr<Case> open_case(PluginHost& host,
                                const fs::path& folder,
                                const std::string& precision) {
  auto made = std::make_unique<Case>();
  made->folder = folder;
  made->model = make_model_from_hf(host, folder);
  made->plan = parallel::default_plan(made->model->tree(), 1);
  made->engine = std::make_unique<parallel::ParameterEngine>(
      made->model->tree(),
      made->plan,
      made->plan.stages.front().items,
      made->mesh,
      parallel::precision_of(precision));
  made->executor = std::make_unique<parallel::Executor>(
      made->model->tree(), made->plan, *made->engine, made->mesh);
  load_weights(*made->model, *made->engine, folder);
  return made;
}

Tensors hf_gradients(const Case& of) {
  const module::KeyMap keys(*of.model);
  // Buffers are among the weights there, so they have gradients: none.
  const std::vector<module::Parameter> keyed =
      keys.keyed_buffers(of.model->tree());
  std::vector<module::ParameterValue> gradients;
  for (const module::Parameter& buffer : keyed)
    gradients.push_back({&buffer, at::zeros(buffer.shape, at::kFloat)});
  for (const parallel::LocalPart& part : of.engine->parts()) {
    const at::Tensor gradient = of.engine->gradient(part);
    gradients.push_back({part.parameter,
                         gradient.defined()
                             ? gradient
                             : at::zeros(part.parameter->shape, at::kFloat)});
  }
  return keys.save(gradients);
}

double loss_and_gradients(Case& of, const at::Tensor& ids_BT) {
  const std::vector<module::BatchTensors> batch = {batch_of(ids_BT)};
  const int64_t targets = ids_BT.size(0) * (ids_BT.size(1) - 1);
  of.engine->clear_gradients();
  const Counts counts = count_batches(batch, targets);
  const auto result = of.executor->train(batch, counts);
  return all_reduce_losses(result, counts, of.mesh).total;
}

// What one forward and backward made: of ours or of a reference.
struct FirstStep {
  at::Tensor logits;  // [B, T, V]
  double loss = 0, norm = 0;
  Tensors gradients;
};

FirstStep first_step(Case& of) {
  const fs::path path = of.folder / "inputs.safetensors";
  const Tensors inputs = read_tensors(path);
  const at::Tensor& ids_BT = get(inputs, "input_ids", path);
  FirstStep ours;
  ours.logits =
      of.executor->logits(batch_of(ids_BT), TITAN_MODE_EVAL, nullptr, false)
          .view({ids_BT.size(0), ids_BT.size(1), -1});
  ours.loss = loss_and_gradients(of, ids_BT);
  ours.norm = of.engine->squared_gradient_norm().sqrt().item<double>();
  ours.gradients = hf_gradients(of);
  return ours;
}

FirstStep reference_first_step(const Side& side) {
  const Tensors expected = read_numbers(side, "expected.safetensors");
  const fs::path path = side.numbers / "expected.safetensors";
  return {get(expected, "logits", path),
          get(expected, "loss", path)[0].item<double>(),
          get(expected, "grad_norm", path)[0].item<double>(),
          read_numbers(side, "grads.safetensors")};
}

std::vector<TensorError> first_step_errors(const FirstStep& ours,
                                           const FirstStep& reference,
                                           const Side& side) {
  std::vector<TensorError> errors;
  const auto number = [&](const char* name, double a, double b) {
    errors.push_back(compare(side.prefix + name,
                             at::full({1}, a, at::kDouble),
                             at::full({1}, b, at::kDouble),
                             0,
                             side.tolerance));
  };
  errors.push_back(compare(side.prefix + "logits",
                           ours.logits,
                           reference.logits,
                           kParityFloor * l2_norm(reference.logits),
                           side.tolerance));
  number("loss", ours.loss, reference.loss);
  number("grad_norm", ours.norm, reference.norm);
  compare_sets(side.prefix + "grad ",
               ours.gradients,
               reference.gradients,
               kParityFloor * reference.norm,
               side.tolerance,
               errors);
  return errors;
}

// Against the same precision; float32, where the reference also ran in
// float64, against that, allowing what the reference's float32 is itself off.
std::vector<TensorError> compare_first_step(Case& of,
                                            const Side& side,
                                            const Side* truth) {
  const FirstStep ours = first_step(of);
  const FirstStep same = reference_first_step(side);
  if (truth == nullptr) return first_step_errors(ours, same, side);
  const FirstStep exact = reference_first_step(*truth);
  std::vector<TensorError> errors = first_step_errors(ours, exact, side);
  allow_error_of(first_step_errors(same, exact, side), errors);
  return errors;
}

config::Value adamw_config(const Json& training) {
  return config::Value::from_json(
      Json{{"lr", training.at("lr").at(0)},
           {"betas", training.at("betas")},
           {"eps", training.at("eps")},
           {"weight_decay", training.at("weight_decay")}}
          .dump(),
      "training.json");
}

// What some steps made: of ours or of a reference.
struct Trained {
  std::vector<double> losses, norms;  // one per step; norms before clipping
  Tensors weights;                    // after the last
};

Json training_options(const fs::path& folder) {
  return Json::parse(require_text_file(folder / "training.json"));
}

Trained train_steps(PluginHost& host, Case& of) {
  const Json training = training_options(of.folder);
  const Tensors batches = read_tensors(of.folder / "batches.safetensors");
  const plugin::Component& component =
      host.plugins.find("titan.optimizer/1", "titan.adamw");
  Optimizer optimizer(component.as<titan_optimizer_table>(),
                      component.owner->host,
                      component.owner,
                      component.id,
                      complete_config(component, adamw_config(training)),
                      {},
                      *of.engine);
  const auto steps = training.at("steps").get<int64_t>();
  const double max_norm = training.at("max_grad_norm").get<double>();
  const at::Tensor& ids =
      get(batches, "input_ids", of.folder / "batches.safetensors");
  Trained ours;
  for (int64_t step = 0; step < steps; ++step) {
    ours.losses.push_back(loss_and_gradients(of, ids[step]));
    ours.norms.push_back(
        of.engine->squared_gradient_norm().sqrt().item<double>());
    const double scale = std::fmin(1.0, max_norm / (ours.norms.back() + 1e-6));
    optimizer.step(
        training.at("lr").at(static_cast<size_t>(step)).get<double>(),
        step + 1,
        at::scalar_tensor(scale, at::kDouble));
    of.engine->invalidate();
  }
  ours.weights = hf_tensors(*of.model, *of.engine);
  return ours;
}

Trained reference_training(const Side& side) {
  const Tensors expected = read_numbers(side, "expected_training.safetensors");
  const fs::path path = side.numbers / "expected_training.safetensors";
  const auto values = [&](const char* name) {
    const at::Tensor value =
        get(expected, name, path).to(at::kDouble).contiguous();
    const auto* first = value.const_data_ptr<double>();
    return std::vector<double>(first, first + value.numel());
  };
  return {values("loss"),
          values("grad_norm"),
          read_numbers(side, "final.safetensors")};
}

void compare_steps(const std::string& name,
                   const std::vector<double>& ours,
                   const std::vector<double>& reference,
                   double limit,
                   std::vector<TensorError>& errors) {
  TITAN_USER_CHECK(ours.size() == reference.size(),
                   "[parity] ",
                   name,
                   " of the steps: expected ",
                   ours.size(),
                   " values, as training.json has steps, got ",
                   reference.size());
  for (size_t step = 0; step < ours.size(); ++step)
    errors.push_back(compare(text(name, " of step ", step + 1),
                             at::full({1}, ours[step], at::kDouble),
                             at::full({1}, reference[step], at::kDouble),
                             0,
                             limit));
}

std::vector<TensorError> training_errors(const Trained& ours,
                                         const Trained& reference,
                                         const Tensors& start,
                                         const Side& side) {
  std::vector<TensorError> errors;
  const std::string& prefix = side.prefix;
  compare_steps(
      prefix + "loss", ours.losses, reference.losses, side.tolerance, errors);
  compare_steps(prefix + "grad_norm",
                ours.norms,
                reference.norms,
                side.tolerance,
                errors);
  compare_updates(prefix + "final ",
                  ours.weights,
                  reference.weights,
                  start,
                  side.update_tolerance,
                  errors);
  return errors;
}

// As compare_first_step.
std::vector<TensorError> compare_training(PluginHost& host,
                                          Case& of,
                                          const Side& side,
                                          const Side* truth) {
  const Tensors start = read_tensors(of.folder / "model.safetensors");
  const Trained ours = train_steps(host, of);
  const Trained same = reference_training(side);
  if (truth == nullptr) return training_errors(ours, same, start, side);
  const Trained exact = reference_training(*truth);
  std::vector<TensorError> errors = training_errors(ours, exact, start, side);
  allow_error_of(training_errors(same, exact, start, side), errors);
  return errors;
}

// `truth`: the float64 of the same case, for float32; null for float64 itself.
void run_side(PluginHost& host,
              const fs::path& folder,
              const Side& side,
              const Side* truth,
              ParityReport& report) {
  const std::unique_ptr<Case> of = open_case(host, folder, side.precision);
  report.model = of->model->id();
  report.num_parameters = of->model->tree().num_parameters();
  const auto add = [&](const std::vector<TensorError>& errors) {
    report.errors.insert(report.errors.end(), errors.begin(), errors.end());
  };
  const auto truth_if = [&](bool (*has)(const Side&)) {
    return truth != nullptr && has(*truth) ? truth : nullptr;
  };
  if (has_first_step(side))
    add(compare_first_step(*of, side, truth_if(has_first_step)));
  if (!has_training(side)) return;
  add(compare_training(host, *of, side, truth_if(has_training)));
  report.training_steps = training_options(folder).at("steps").get<int64_t>();
}

}  // namespace

bool ParityReport::passes() const {
  return std::all_of(errors.begin(),
                     errors.end(),
                     [](const TensorError& error) { return error.passes(); });
}

ParityReport run_parity(PluginHost& host,
                        const fs::path& folder,
                        const ParityOptions& options) {
  const Side narrow = float32_side(folder, options);
  const Side wide = float64_side(folder, options);
  check_case(folder, narrow, wide);
  ParityReport report;
  if (has_first_step(narrow) || has_training(narrow))
    run_side(host, folder, narrow, &wide, report);
  if (has_first_step(wide) || has_training(wide))
    run_side(host, folder, wide, nullptr, report);
  sort_worst_first(report.errors);
  return report;
}

}  // namespace titan::train
