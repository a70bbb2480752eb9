// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/step_loss.h"

#include <cmath>

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include "core/dist/gather_texts.h"

namespace titan::train {
namespace {

using Json = nlohmann::json;

// Tensor- and context-parallel ranks compute the same sums.
bool counts_here(const dist::Mesh& mesh) {
  return mesh.coordinate("tp") == 0 && mesh.coordinate("cp") == 0;
}

// Doubles cross as JSON, which writes them exactly; NaN becomes null.
std::string to_text(const std::map<std::string, double>& sums) {
  Json json = Json::object();
  for (const auto& [name, sum] : sums) json[name] = sum;
  return json.dump();
}

void add_text(const std::string& text, std::map<std::string, double>& sums) {
  const Json json = Json::parse(text);
  for (const auto& [name, sum] : json.items())
    sums[name] += sum.is_null() ? std::nan("") : sum.get<double>();
}

}  // namespace

Counts count_batches(const std::vector<module::BatchTensors>& microbatches,
                     int64_t num_targets) {
  Counts counts = {{"tokens", static_cast<double>(num_targets)},
                   {"microbatches", static_cast<double>(microbatches.size())},
                   {"all_tokens", 0},
                   {"segments", 0}};
  for (const module::BatchTensors& batch : microbatches) {
    counts["all_tokens"] += static_cast<double>(batch.tokens.numel());
    if (batch.cu_seqlens.defined())
      counts["segments"] += static_cast<double>(batch.cu_seqlens.numel() - 1);
    for (const auto& [name, count] : batch.counts) counts[name] += count;
  }
  return counts;
}

void all_reduce_counts(Counts& counts, const dist::Mesh& mesh) {
  if (mesh.size("dp") == 1) return;
  std::vector<double> values;
  for (const auto& [name, count] : counts) values.push_back(count);
  at::Tensor sums = at::tensor(values);
  mesh.group("dp").all_reduce(sums);
  const double* sum = sums.const_data_ptr<double>();
  for (auto& [name, count] : counts) count = *sum++;
}

StepLoss all_reduce_losses(const parallel::StageResult& result,
                           const Counts& counts,
                           const dist::Mesh& mesh) {
  at::Tensor sums = at::zeros({2}, at::kDouble);
  sums[0] = result.loss_sum;
  sums[1] = static_cast<double>(result.losses.size());
  // Only last stages hold the head's loss.
  if (mesh.size("dp") > 1) mesh.group("dp").all_reduce(sums);
  if (mesh.size("pp") > 1) mesh.group("pp").all_reduce(sums);
  StepLoss loss;
  loss.main = sums[0].item<double>() / counts.at("tokens");
  loss.total = loss.main;
  if (sums[1].item<double>() == 0) return loss;

  std::map<std::string, double> mine;
  if (counts_here(mesh))
    for (const auto& [name, added] : result.losses) {
      const double count = counts.at(added.normaliser);
      mine[name] = count == 0 ? 0 : added.sum.item<double>() / count;
    }
  for (const std::string& text :
       dist::all_gather_texts(mesh.group("world"), to_text(mine)))
    add_text(text, loss.added);
  for (const auto& [name, value] : loss.added) loss.total += value;
  return loss;
}

}  // namespace titan::train
