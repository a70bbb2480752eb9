// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/ema.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include "core/parallel/precision.h"

namespace titan::train {
namespace {

// As AdamW's: enough to hide a task switch.
constexpr int64_t kGrain = 4096;

// Not at::lerp_: its vector and scalar paths round differently, so that a bit
// would depend on where a rank's part begins.
void average(at::Tensor& into, const at::Tensor& weights, double share) {
  if (!into.device().is_cpu()) {
    into.add_(weights.to(into.scalar_type()) - into, share);
    return;
  }
  AT_DISPATCH_FLOATING_TYPES(into.scalar_type(), "ema", [&] {
    const at::Tensor from = weights.to(into.scalar_type()).contiguous();
    auto* value = into.mutable_data_ptr<scalar_t>();
    const auto* weight = from.const_data_ptr<scalar_t>();
    const auto part = static_cast<scalar_t>(share);
    at::parallel_for(0, into.numel(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        value[i] += (weight[i] - value[i]) * part;
    });
  });
}

}  // namespace

Ema::Ema(parallel::ParameterEngine& engine, const EmaOptions& options)
    : engine_(engine), options_(options), values_(engine.parts().size()) {
  for (size_t i = 0; i < values_.size(); ++i) {
    const parallel::LocalPart& part = engine.parts()[i];
    if (!part.parameter->is_trainable) continue;
    const at::Tensor master = engine.master(part);
    values_[i] = at::empty(master.sizes(),
                           master.options().dtype(parallel::accumulation_dtype(
                               master.scalar_type())));
  }
}

void Ema::reset() {
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < values_.size(); ++i)
    if (values_[i].defined())
      values_[i].copy_(engine_.master(engine_.parts()[i]));
}

void Ema::update(int64_t step) {
  if (step <= options_.start) return reset();
  if ((step - options_.start) % options_.every != 0) return;
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < values_.size(); ++i)
    if (values_[i].defined())
      average(
          values_[i], engine_.master(engine_.parts()[i]), 1.0 - options_.decay);
}

int64_t Ema::bytes() const {
  int64_t bytes = 0;
  for (const at::Tensor& value : values_)
    if (value.defined()) bytes += static_cast<int64_t>(value.nbytes());
  return bytes;
}

void Ema::exchange() {
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!values_[i].defined()) continue;
    at::Tensor master = engine_.master(engine_.parts()[i]);
    const at::Tensor weights = master.clone();
    master.copy_(values_[i]);
    values_[i].copy_(weights);
  }
  engine_.invalidate();
}

}  // namespace titan::train
