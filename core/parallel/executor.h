// SPDX-License-Identifier: BSD-3-Clause
// Runs one stage of a plan, item by item. No autograd graph spans two items: an
// item's inputs are leaves, its backward is one call into the engine, and
// everything that happens between items (unshard, recompute, reduce, send,
// receive, kernel swap) is a plain statement here.
//
// Order around an item: unshard -> recompute boundary -> forward -> release;
// backward mirrors it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/dist/mesh.h"
#include "core/module/context.h"
#include "core/module/tree.h"
#include "core/parallel/engine.h"
#include "core/parallel/plan.h"
#include "core/parallel/stage_items.h"
#include "core/parallel/tensor_parallel.h"

namespace titan::parallel {

/// What a step's microbatches gave on this rank (not yet reduced over ranks).
struct NamedLoss {
  at::Tensor sum;  // float64 scalar
  std::string normaliser;
};

struct StageResult {
  at::Tensor loss_sum;  // float64 scalar: sum over valid tokens; 0 elsewhere
  std::map<std::string, NamedLoss> losses;  // that items of this stage added
  std::map<std::string, at::Tensor> metrics;
};

class Executor {
 public:
  /// `tree`, `plan`, `engine` and `mesh` outlive the executor. UserError for a
  /// model whose items ask for what no tower gives.
  Executor(module::ModuleTree& tree,
           const Plan& plan,
           ParameterEngine& engine,
           const dist::Mesh& mesh);
  ~Executor();

  /// Forward and backward of all microbatches by the stage's action list.
  /// `normalisers`: named global counts ("tokens"); gradients are those of
  /// loss_sum / tokens plus each added loss over its own count. What items add
  /// to buffers waits for BufferStore::commit. Collective over the mesh.
  StageResult train(const std::vector<module::BatchTensors>& microbatches,
                    const std::map<std::string, double>& normalisers);

  /// The step was taken and its buffers are committed: calls after_step of this
  /// stage's modules, and of those in no item, in tree order.
  void after_step();

  /// Forward only, without gradients: loss_sum of one microbatch.
  at::Tensor evaluate(const module::BatchTensors& batch);

  /// Forward only: logits [T, V] in compute dtype (last token only: [1, V]).
  /// Single stage. `cache` may be null.
  at::Tensor logits(const module::BatchTensors& batch,
                    int32_t mode,
                    module::StateCache* cache,
                    bool last_token_only);

  /// Called with every op's output: see Context::set_observer.
  void set_observer(module::Context::Observer observer) {
    observer_ = std::move(observer);
  }
  /// Called with an item's name after its gradients were computed.
  using GradientObserver =
      std::function<void(const module::Parameter&, const at::Tensor&)>;
  void set_gradient_observer(GradientObserver observer) {
    gradient_observer_ = std::move(observer);
  }

  const StagePlan& stage() const;

 private:
  struct ItemRun;
  struct MicrobatchRun;

  void forward(MicrobatchRun& run, bool with_gradients);
  void backward(MicrobatchRun& run,
                const std::map<std::string, double>& normalisers);
  std::vector<at::Tensor> first_gradients(
      MicrobatchRun& run,
      const std::map<std::string, double>& normalisers);
  static void add_tower_gradients(MicrobatchRun& run,
                                  const std::vector<size_t>& outputs,
                                  const at::Tensor* gradients);
  void cut_inputs(const StageItem& item, MicrobatchRun& run, ItemRun& record);
  void run_item(StageItem& item, MicrobatchRun& run, ItemRun& record);
  void collect_losses(MicrobatchRun& run);
  std::vector<at::Tensor> compute_item(StageItem& item,
                                       MicrobatchRun& run,
                                       const std::vector<at::Tensor>& inputs);
  std::vector<at::Tensor> pass_over(const StageItem& item, ItemRun& record);
  std::vector<at::Tensor> backward_item(
      StageItem& item,
      MicrobatchRun& run,
      ItemRun& record,
      const std::vector<at::Tensor>& grad_outputs,
      const std::map<std::string, double>& normalisers);
  at::Tensor loss(const module::BatchTensors& batch, const at::Tensor& hidden);
  std::vector<module::CarrySpec> crossing(
      const std::vector<module::CarrySpec>& carry,
      const std::vector<size_t>& sides) const;
  void receive_inputs(MicrobatchRun& run);
  std::vector<at::Tensor> outputs_of(const MicrobatchRun& run) const;
  std::vector<module::CarrySpec> output_specs() const;
  std::unique_ptr<MicrobatchRun> start(const module::BatchTensors& batch,
                                       int64_t index,
                                       int32_t mode);

  module::ModuleTree& tree_;
  const Plan& plan_;
  ParameterEngine& engine_;
  const dist::Mesh& mesh_;
  TensorParallel tensor_parallel_;
  StageItems parts_;
  StageResult result_;  // of the running train()
  std::unique_ptr<op::Slot> loss_slot_;
  module::Context::Observer observer_;
  GradientObserver gradient_observer_;
};

}  // namespace titan::parallel
