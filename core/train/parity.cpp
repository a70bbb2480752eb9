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
using Tensors = std::map<std::string, at::Tensor>;

constexpr double kFloor = 1e-6;      // of the global gradient norm
constexpr double kZeroLimit = 1e-7;  // where the reference is exactly zero

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

double l2_norm(const at::Tensor& tensor) {
  return tensor.to(at::kDouble).norm().item<double>();
}

TensorError compare(std::string name,
                    const at::Tensor& ours,
                    const at::Tensor& reference,
                    double floor,
                    double limit) {
  TensorError error;
  error.name = std::move(name);
  error.limit = limit;
  if (ours.sizes() != reference.sizes()) {
    error.problem =
        text("shape: expected ", reference.sizes(), ", got ", ours.sizes());
    return error;
  }
  const at::Tensor difference =
      ours.to(at::kDouble) - reference.to(at::kDouble);
  error.max_absolute =
      difference.numel() == 0 ? 0 : difference.abs().max().item<double>();
  const double size = l2_norm(reference);
  error.relative_norm = l2_norm(difference) / std::max(size, floor);
  // A zero tensor has no relative error: it must be zero to the last bits of
  // the global norm.
  if (size == 0.0) error.limit = kZeroLimit / kFloor;
  if (!std::isfinite(error.relative_norm) && l2_norm(difference) == 0.0)
    error.relative_norm = 0.0;
  return error;
}

struct Case {
  fs::path folder;
  ParityOptions options;
  std::unique_ptr<module::Model> model;
  dist::Mesh mesh = dist::Mesh::single();
  parallel::Plan plan;
  std::unique_ptr<parallel::ParameterEngine> engine;
  std::unique_ptr<parallel::Executor> executor;
  double global_norm = 0;
};

std::unique_ptr<Case> open_case(PluginHost& host,
                                const fs::path& folder,
                                const ParityOptions& options) {
  auto made = std::make_unique<Case>();
  made->folder = folder;
  made->options = options;
  made->model = make_model_from_hf(host, folder);
  made->plan = parallel::default_plan(made->model->tree(), 1);
  made->engine = std::make_unique<parallel::ParameterEngine>(
      made->model->tree(),
      made->plan,
      made->plan.stages.front().items,
      made->mesh,
      parallel::precision_of("fp32"));
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

void compare_sets(const std::string& prefix,
                  const Tensors& ours,
                  const Tensors& reference,
                  const std::function<double(const std::string&)>& floor,
                  double limit,
                  std::vector<TensorError>& errors) {
  for (const auto& [name, tensor] : reference) {
    const auto found = ours.find(name);
    if (found == ours.end()) {
      errors.push_back({prefix + name, 0, 0, limit, "missing here"});
    } else {
      errors.push_back(
          compare(prefix + name, found->second, tensor, floor(name), limit));
    }
  }
  for (const auto& [name, tensor] : ours)
    if (reference.count(name) == 0)
      errors.push_back(
          {prefix + name, 0, 0, limit, "missing in the reference"});
}

double loss_and_gradients(Case& of, const at::Tensor& ids_BT) {
  const std::vector<module::BatchTensors> batch = {batch_of(ids_BT)};
  const int64_t targets = ids_BT.size(0) * (ids_BT.size(1) - 1);
  of.engine->clear_gradients();
  const Counts counts = count_batches(batch, targets);
  const auto result = of.executor->train(batch, counts);
  return all_reduce_losses(result, counts, of.mesh).total;
}

void compare_first_step(Case& of, std::vector<TensorError>& errors) {
  const Tensors inputs = read_tensors(of.folder / "inputs.safetensors");
  const Tensors expected = read_tensors(of.folder / "expected.safetensors");
  const Tensors gradients = read_tensors(of.folder / "grads.safetensors");
  const double limit = of.options.relative_tolerance;
  const at::Tensor& ids_BT =
      get(inputs, "input_ids", of.folder / "inputs.safetensors");
  const auto expected_path = of.folder / "expected.safetensors";

  const at::Tensor& logits_BTV = get(expected, "logits", expected_path);
  const at::Tensor ours_TV =
      of.executor->logits(batch_of(ids_BT), TITAN_MODE_EVAL, nullptr, false);
  errors.push_back(compare("logits",
                           ours_TV.view(logits_BTV.sizes()),
                           logits_BTV,
                           kFloor * l2_norm(logits_BTV),
                           limit));
  const double loss = loss_and_gradients(of, ids_BT);
  of.global_norm = get(expected, "grad_norm", expected_path)[0].item<double>();
  errors.push_back(compare("loss",
                           at::tensor({loss}),
                           get(expected, "loss", expected_path),
                           0,
                           limit));
  errors.push_back(
      compare("grad_norm",
              of.engine->squared_gradient_norm().sqrt().reshape({1}),
              get(expected, "grad_norm", expected_path),
              0,
              limit));
  compare_sets(
      "grad ",
      hf_gradients(of),
      gradients,
      [&](const std::string&) { return kFloor * of.global_norm; },
      limit,
      errors);
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

// Norm of the reference's whole update of each weight, at least the floor.
std::function<double(const std::string&)> update_norms(const Case& of,
                                                       const Tensors& end) {
  const Tensors start = read_tensors(of.folder / "model.safetensors");
  std::map<std::string, double> norms;
  for (const auto& [name, tensor] : end) {
    const auto found = start.find(name);
    if (found != start.end()) norms[name] = l2_norm(tensor - found->second);
  }
  return [norms](const std::string& name) {
    const auto found = norms.find(name);
    return found == norms.end() ? 0.0 : found->second;
  };
}

// The weight's error is judged against its update, not its size.
TensorError compare_update(const std::string& name,
                           const at::Tensor& ours,
                           const at::Tensor& reference,
                           double update,
                           double limit) {
  TensorError error = compare("final " + name, ours, reference, 0, limit);
  const double difference = l2_norm(ours.to(at::kDouble) - reference);
  error.relative_norm = update > 0 ? difference / update : difference;
  return error;
}

int64_t compare_training(PluginHost& host,
                         Case& of,
                         std::vector<TensorError>& errors) {
  const Json training =
      Json::parse(require_text_file(of.folder / "training.json"));
  const Tensors batches = read_tensors(of.folder / "batches.safetensors");
  const Tensors expected =
      read_tensors(of.folder / "expected_training.safetensors");
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
  std::vector<double> losses, norms;
  for (int64_t step = 0; step < steps; ++step) {
    losses.push_back(loss_and_gradients(of, ids[step]));
    norms.push_back(of.engine->squared_gradient_norm().sqrt().item<double>());
    const double scale = std::fmin(1.0, max_norm / (norms.back() + 1e-6));
    optimizer.step(
        training.at("lr").at(static_cast<size_t>(step)).get<double>(),
        step + 1,
        at::scalar_tensor(scale, at::kDouble));
    of.engine->invalidate();
  }
  const auto path = of.folder / "expected_training.safetensors";
  const double limit = of.options.relative_tolerance;
  for (int64_t step = 0; step < steps; ++step) {
    const auto at_step = static_cast<size_t>(step);
    errors.push_back(compare(text("loss of step ", step + 1),
                             at::tensor({losses[at_step]}),
                             get(expected, "loss", path)[step].reshape({1}),
                             0,
                             limit));
    errors.push_back(
        compare(text("grad_norm of step ", step + 1),
                at::tensor({norms[at_step]}),
                get(expected, "grad_norm", path)[step].reshape({1}),
                0,
                limit));
  }
  const Tensors end = read_tensors(of.folder / "final.safetensors");
  const auto update = update_norms(of, end);
  const Tensors ours = hf_tensors(*of.model, *of.engine);
  for (const auto& [name, tensor] : end) {
    const auto found = ours.find(name);
    errors.push_back(found == ours.end()
                         ? TensorError{"final " + name, 0, 0, 0, "missing here"}
                         : compare_update(name,
                                          found->second,
                                          tensor,
                                          update(name),
                                          of.options.update_tolerance));
  }
  return steps;
}

// Used share of the limit: what failed or came nearest to failing first.
double used_share(const TensorError& error) {
  if (!error.problem.empty()) return std::numeric_limits<double>::infinity();
  return error.limit > 0 ? error.relative_norm / error.limit
                         : error.relative_norm;
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
  const std::unique_ptr<Case> of = open_case(host, folder, options);
  ParityReport report;
  report.model = of->model->id();
  report.num_parameters = of->model->tree().num_parameters();
  compare_first_step(*of, report.errors);
  if (fs::exists(folder / "training.json"))
    report.training_steps = compare_training(host, *of, report.errors);
  std::stable_sort(report.errors.begin(),
                   report.errors.end(),
                   [](const TensorError& a, const TensorError& b) {
                     return used_share(a) > used_share(b);
                   });
  return report;
}

}  // namespace titan::train
