// SPDX-License-Identifier: BSD-3-Clause
// See flops.h for the formulas.
#include "core/observe/flops.h"

namespace titan {

double decoder_flops_per_token(double num_matmul_parameters,
                               const AttentionShape& attention,
                               int64_t seq_len) {
  const double attention_macs =
      static_cast<double>(attention.num_layers) *
      static_cast<double>(attention.num_heads) *
      static_cast<double>(attention.head_dim_qk + attention.head_dim_v) *
      static_cast<double>(seq_len);
  return 6.0 * num_matmul_parameters + 6.0 * attention_macs;
}

double tflops_per_second(double flops_per_token, double tokens_per_second) {
  return flops_per_token * tokens_per_second / 1e12;
}

double mfu_percent(double flops_per_token,
                   double tokens_per_second,
                   double peak_flops_per_second) {
  if (peak_flops_per_second <= 0) return 0;
  return 100.0 * flops_per_token * tokens_per_second / peak_flops_per_second;
}

void ThroughputMeter::add_step(int64_t num_tokens) {
  ++num_steps_;
  num_tokens_ += num_tokens;
}

ThroughputReport ThroughputMeter::report(Clock::time_point now) {
  ThroughputReport out;
  out.num_steps = num_steps_;
  out.num_tokens = num_tokens_;
  out.seconds = std::chrono::duration<double>(now - start_).count();
  if (out.seconds > 0) {
    out.tokens_per_second = static_cast<double>(num_tokens_) / out.seconds;
  }
  if (num_steps_ > 0) {
    out.seconds_per_step = out.seconds / static_cast<double>(num_steps_);
  }
  start_ = now;
  num_steps_ = 0;
  num_tokens_ = 0;
  return out;
}

}  // namespace titan
