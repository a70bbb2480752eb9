// SPDX-License-Identifier: BSD-3-Clause
// The fake run: tensors with shapes and counted bytes but no data, so that the
// memory and FLOPs of a 405B model cost milliseconds. Real autograd, real
// reference counts, hence real lifetimes; only the arithmetic is left out.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include <ATen/core/Tensor.h>

#include <titan/error.h>

#include "core/dispatch/mode_stack.h"

namespace titan::dispatch {

enum class Pool { kParameters, kGradients, kOptimizer, kActivations, kOther };
inline constexpr size_t kNumPools = 5;
std::string_view pool_name(Pool pool);

struct FakeRunReport {
  int64_t live_bytes = 0;
  int64_t peak_bytes = 0;
  std::array<int64_t, kNumPools> live_by_pool{};
  std::array<int64_t, kNumPools> at_peak_by_pool{};
  double flops = 0;
  int64_t num_ops = 0;
};

/// Shapes alone do not decide what an op gives: there is no estimate.
class NoFakeResult : public UserError {
 public:
  using UserError::UserError;
};

/// Tensors made by it may outlive it; their bytes are then no longer counted to
/// anybody. One thread.
class FakeRun : public Mode {
 public:
  FakeRun();
  ~FakeRun() override;

  /// A tensor without data, its bytes counted in `pool`.
  at::Tensor empty(at::IntArrayRef sizes,
                   at::ScalarType dtype,
                   Pool pool = Pool::kActivations);
  /// Pool of what ops allocate from now on; returns the one before.
  Pool set_pool(Pool pool);
  FakeRunReport report() const;
  /// Peak, FLOPs and op count start anew at the live bytes.
  void reset_peak();

  void call(const c10::OperatorHandle& op,
            c10::DispatchKeySet keys,
            torch::jit::Stack* stack) override;

  struct Ledger;

 private:
  std::shared_ptr<Ledger> ledger_;
};

/// Is this a tensor of a fake run (a size but no data)?
bool is_fake(const at::Tensor& tensor);

}  // namespace titan::dispatch
