// SPDX-License-Identifier: BSD-3-Clause
// What a forward may ask for: batch, parameters, ops, children, losses. One
// Context per rank and microbatch; the host side of titan_context_api.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <titan/abi.h>

#include "core/module/state_cache.h"
#include "core/module/tree.h"

namespace titan::module {

/// One microbatch as tensors. T tokens, S attention segments.
struct BatchTensors {
  at::Tensor tokens;        // [T] int64
  at::Tensor labels;        // [T] int64, -100 = no target
  at::Tensor loss_weight;   // [T] float32
  at::Tensor doc_id;        // [T] int32
  at::Tensor cu_seqlens;    // [S+1] int32
  at::Tensor positions;     // [T] int32
  at::Tensor global_index;  // [T] int64
  std::map<std::string, at::Tensor> extras;
  std::map<std::string, double> counts;  // named counts for added losses

  /// Undefined when there is no such field.
  at::Tensor find(std::string_view name) const;
};

/// Where forward gets its parameters: the data-parallel engine.
class ParameterSource {
 public:
  virtual ~ParameterSource() = default;
  /// The whole tensor (local under tensor parallelism) in compute dtype; valid
  /// while its bucket is unsharded.
  virtual at::Tensor compute(const Parameter& parameter) = 0;
};

/// Where forward gets its buffers, and where it leaves what a step adds.
class BufferSource {
 public:
  virtual ~BufferSource() = default;
  virtual at::Tensor value(const Buffer& buffer) = 0;
  virtual void accumulate(const Buffer& buffer, const at::Tensor& value) = 0;
  /// Replaces the value; at the step boundary only.
  virtual void set(const Buffer& buffer, const at::Tensor& value) = 0;
};

/// What happens around modules under tensor and context parallelism. The plan
/// decides; a module without an entry passes through.
class Transitions {
 public:
  virtual ~Transitions() = default;
  virtual void before(const Module& module, std::vector<at::Tensor>& in) = 0;
  virtual void after(const Module& module, std::vector<at::Tensor>& out) = 0;
  /// A leaf whose op changes under the plan (vocabulary-parallel embedding):
  /// true when it wrote `out` itself.
  virtual bool run_leaf(const Module& leaf,
                        const std::vector<at::Tensor>& in,
                        std::vector<at::Tensor>& out) = 0;
};

/// A loss that the model itself adds (balance, z, MTP).
struct AddedLoss {
  std::string name;
  at::Tensor sum;  // scalar, differentiable
  std::string normaliser;
};

class Context {
 public:
  Context(ParameterSource& parameters, int32_t mode)
      : parameters_(parameters), mode_(mode) {}

  int32_t mode() const { return mode_; }
  void set_batch(const BatchTensors* batch) { batch_ = batch; }
  const BatchTensors& batch() const;
  void set_buffers(BufferSource* buffers) { buffers_ = buffers; }
  BufferSource& buffers() const;
  void set_transitions(Transitions* transitions) { transitions_ = transitions; }
  void set_cache(StateCache* cache) { cache_ = cache; }
  /// In the second forward of a recomputed item: statistics, losses and metrics
  /// were counted in the first.
  void set_recompute(bool is_recompute) { is_recompute_ = is_recompute; }
  bool is_recompute() const { return is_recompute_; }
  /// While modules' after_step run: only then buffers may be set.
  void set_after_step(bool is_after_step) { is_after_step_ = is_after_step; }
  bool is_after_step() const { return is_after_step_; }
  /// Called with every leaf's and op's first output: the search for the first
  /// non-finite value, digests. Observers never change values.
  using Observer =
      std::function<void(const std::string& fqn, const at::Tensor&)>;
  void set_observer(Observer observer) { observer_ = std::move(observer); }

  /// `num_out`: how many tensors a composite gives (leaves: as the op says).
  std::vector<at::Tensor> call(Module& module,
                               std::vector<at::Tensor> in,
                               size_t num_out = 1);
  std::vector<at::Tensor> invoke(Site& site, std::vector<at::Tensor> in);
  at::Tensor parameter(const Parameter& parameter) {
    return parameters_.compute(parameter);
  }

  std::vector<AddedLoss>& added_losses() { return added_losses_; }
  std::map<std::string, at::Tensor>& metrics() { return metrics_; }
  std::map<std::string, at::Tensor>& side_inputs() { return side_inputs_; }

  titan_context* as_abi() { return reinterpret_cast<titan_context*>(this); }

 private:
  std::vector<at::Tensor> run_code(const titan_module_class& code,
                                   void* self,
                                   const std::string& fqn,
                                   const std::vector<at::Tensor>& in,
                                   size_t num_out);

  ParameterSource& parameters_;
  int32_t mode_;
  bool is_recompute_ = false;
  bool is_after_step_ = false;
  const BatchTensors* batch_ = nullptr;
  BufferSource* buffers_ = nullptr;
  Transitions* transitions_ = nullptr;
  StateCache* cache_ = nullptr;
  Observer observer_;
  std::vector<AddedLoss> added_losses_;
  std::map<std::string, at::Tensor> metrics_;
  std::map<std::string, at::Tensor> side_inputs_;
};

/// The table that plugins call; one per process.
const titan_context_api& context_api();

/// titan_op_api.invoke: a catalogue op through its site.
int32_t invoke_site(titan_context* context,
                    titan_slot* slot,
                    const titan_tensor* in,
                    uint32_t num_in,
                    titan_tensor* out,
                    uint32_t num_out,
                    titan_error* error);

}  // namespace titan::module
