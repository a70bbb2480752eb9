// SPDX-License-Identifier: BSD-3-Clause
// What does it cost that no autograd graph spans two items? Forward and
// backward of one microbatch through the executor (one engine call per item)
// against one graph over the whole model (one engine call), alternating, on the
// Llama 3 debug model in fp32. Argument: a text file of at least 1 MB.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <unistd.h>  // getpid

#include <titan/text.h>

#include "core/op/catalogue.h"
#include "core/train/assemble.h"

namespace titan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmup = 3;
constexpr int kPairs = 20;

constexpr const char* kRecipe = R"(
model: {use: titan.llama3, flavor: debugmodel}
data: {tokenizer: bytes, add_bos: false, add_eos: false}
training: {steps: 1, seq_len: 1024}
optimizer: {use: titan.adamw}
)";

// The whole model as one graph; the same ops and the same engine.
class OneGraph {
 public:
  explicit OneGraph(train::Training& training)
      : training_(training),
        tree_(training.model->tree()),
        loss_(op::find_op("titan.fused_linear_cross_entropy/1"),
              tree_.output().head->fqn,
              "loss",
              op::Attributes{{"logit_scale", tree_.output().logit_scale},
                             {"logit_cap", tree_.output().logit_cap}},
              tree_.selector()) {}

  double train(const module::BatchTensors& batch, double num_targets) {
    c10::AutoGradMode with(true);
    module::Context context(*training_.engine, TITAN_MODE_TRAIN);
    context.set_batch(&batch);
    std::vector<at::Tensor> carry;
    for (const module::Item& item : tree_.root_sequence().items) {
      for (const std::string& name : item.batch_inputs)
        carry.push_back(batch.find(name));
      carry = context.call(*item.module, std::move(carry), item.carry.size());
    }
    const module::Parameter& weight = *tree_.output().head->parameters.front();
    const at::Tensor sum = op::invoke_one(loss_,
                                          {carry.front(),
                                           training_.engine->compute(weight),
                                           at::Tensor(),
                                           batch.labels,
                                           batch.loss_weight});
    backward(sum, num_targets);
    return sum.item<double>();
  }

 private:
  void backward(const at::Tensor& sum, double num_targets) {
    std::vector<module::Parameter*> parameters;
    std::vector<at::Tensor> leaves;
    for (const auto& parameter : tree_.parameters()) {
      parameters.push_back(parameter.get());
      leaves.push_back(training_.engine->compute(*parameter));
    }
    const auto gradients = torch::autograd::grad(
        {sum}, leaves, {at::full_like(sum, 1.0 / num_targets)});
    training_.engine->accumulate("", parameters, gradients);
  }

  train::Training& training_;
  const module::ModuleTree& tree_;
  op::Slot loss_;
};

double milliseconds_of(train::Training& training,
                       const std::function<void()>& body) {
  const auto start = Clock::now();
  body();
  training.engine->finish_gradients();
  const std::chrono::duration<double, std::milli> passed = Clock::now() - start;
  training.engine->clear_gradients();
  return passed.count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void run(const std::string& text_file) {
  const auto recipe = std::filesystem::temp_directory_path() /
                      text("titan_item_backward_", getpid(), ".yaml");
  std::ofstream(recipe) << kRecipe;
  train::SessionOptions options;
  options.overrides = {text("data.files=[", text_file, "]")};
  train::Session session(recipe.string(), options);
  std::filesystem::remove(recipe);
  dist::Mesh mesh = dist::Mesh::single();
  const auto training = train::assemble(
      session, mesh, std::shared_ptr<const Tokenizer>(load_tokenizer("bytes")));
  training->engine->initialise(0);
  Microbatch host;
  training->data->next(host);
  const std::vector<module::BatchTensors> batches = {train::to_tensors(host)};
  const auto num_targets = static_cast<double>(host.n_valid);

  OneGraph whole(*training);
  double loss_items = 0, loss_whole = 0;
  const std::function<void()> by_items = [&] {
    loss_items = training->executor->train(batches, {{"tokens", num_targets}})
                     .loss_sum.item<double>();
  };
  const std::function<void()> by_one = [&] {
    loss_whole = whole.train(batches[0], num_targets);
  };
  std::vector<double> items, one, ratio;
  for (int i = 0; i < kWarmup + kPairs; ++i) {
    // Which goes first alternates too: the second finds warmer caches.
    const bool items_first = i % 2 == 0;
    double first = milliseconds_of(*training, items_first ? by_items : by_one);
    double second = milliseconds_of(*training, items_first ? by_one : by_items);
    if (!items_first) std::swap(first, second);
    if (i < kWarmup) continue;
    items.push_back(first);
    one.push_back(second);
    ratio.push_back(first / second);
  }
  std::printf(
      "threads %d  items %.2f ms  one graph %.2f ms  ratio of medians %.4f  "
      "median of ratios %.4f  losses %.9g %.9g\n",
      at::get_num_threads(),
      median(items),
      median(one),
      median(items) / median(one),
      median(ratio),
      loss_items,
      loss_whole);
}

}  // namespace
}  // namespace titan

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_item_backward TEXT_FILE\n");
    return 2;
  }
  titan::run(argv[1]);
  return 0;
}
