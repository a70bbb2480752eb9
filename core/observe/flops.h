// SPDX-License-Identifier: BSD-3-Clause
// Throughput and utilisation. Formulas, as TorchTitan states them:
//   FLOPs per token  = 6 N + 6 L H (d_qk + d_v) T
//                      N parameters in matrix products (input embedding only
//                      if tied; experts scaled by top_k / num_experts), L full
//                      attention layers, H heads, T sequence length. Forward
//                      2 + backward 4; causal masks not halved, recompute not
//                      counted: useful work, not work done.
//   tokens/s         = tokens since the last report / seconds since then
//   TFLOP/s          = FLOPs per token * tokens/s / 1e12
//   MFU              = 100 * FLOPs per token * tokens/s / peak FLOP/s
// All per device when the tokens are those of one device.
#pragma once

#include <chrono>
#include <cstdint>

namespace titan {

struct AttentionShape {
  int64_t num_layers = 0;
  int64_t num_heads = 0;
  int64_t head_dim_qk = 0;
  int64_t head_dim_v = 0;
};

/// Training FLOPs per token of a decoder; the formula above.
double decoder_flops_per_token(double num_matmul_parameters,
                               const AttentionShape& attention,
                               int64_t seq_len);

double tflops_per_second(double flops_per_token, double tokens_per_second);

/// 0 where the peak is unknown (<= 0): no number is better than a wrong one.
double mfu_percent(double flops_per_token,
                   double tokens_per_second,
                   double peak_flops_per_second);

struct ThroughputReport {
  int64_t num_steps = 0;
  int64_t num_tokens = 0;
  double seconds = 0;
  double tokens_per_second = 0;
  double seconds_per_step = 0;
};

/// Counts between two reports. Divides by the steps that really passed, so the
/// line of step 1 (one step) and a last, shorter interval are right. Not
/// thread-safe.
class ThroughputMeter {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ThroughputMeter(Clock::time_point start = Clock::now())
      : start_(start) {}

  void add_step(int64_t num_tokens);

  /// Leaves `seconds` out of the current interval: a checkpoint, a validation.
  void exclude(Clock::duration pause) { start_ += pause; }

  /// Reports the interval that ends now and starts the next one.
  ThroughputReport report(Clock::time_point now = Clock::now());

 private:
  Clock::time_point start_;
  int64_t num_steps_ = 0;
  int64_t num_tokens_ = 0;
};

}  // namespace titan
