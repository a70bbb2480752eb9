// SPDX-License-Identifier: BSD-3-Clause
// What crosses the border between two pipeline stages: the carry, and the tower
// outputs that later stages read; forward in one direction, gradients in the
// other. Shapes follow from the declarations; a tensor with an extent that only
// the microbatch knows (TITAN_DIM_DYNAMIC) is sent behind its sizes.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "core/dist/group.h"
#include "core/module/tree.h"

namespace titan::parallel {

class StageLink {
 public:
  /// `pp` outlives the link. `peer`: the other stage's rank in it.
  StageLink(dist::Group& pp, int64_t peer, int64_t microbatch)
      : pp_(pp), peer_(peer), microbatch_(microbatch) {}

  /// UserError when a tensor does not have the declared shape.
  void send(const std::vector<module::CarrySpec>& specs,
            const std::vector<at::Tensor>& tensors,
            int64_t num_tokens);
  std::vector<at::Tensor> receive(const std::vector<module::CarrySpec>& specs,
                                  int64_t num_tokens,
                                  at::ScalarType compute);

  /// Of what was sent that way, where it is differentiable. An undefined
  /// gradient is sent as the zero of `values`.
  void send_gradients(const std::vector<module::CarrySpec>& specs,
                      const std::vector<at::Tensor>& gradients,
                      const std::vector<at::Tensor>& values);
  /// Like `values`; undefined where there is no gradient.
  std::vector<at::Tensor> receive_gradients(
      const std::vector<module::CarrySpec>& specs,
      const std::vector<at::Tensor>& values);

 private:
  int64_t tag(size_t index, bool is_sizes = false) const;

  dist::Group& pp_;
  int64_t peer_, microbatch_;
};

/// Does a gradient flow through it?
bool has_gradient(const module::CarrySpec& spec, const at::Tensor& value);

}  // namespace titan::parallel
