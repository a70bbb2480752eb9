// SPDX-License-Identifier: BSD-3-Clause
#include "core/module/state_cache.h"

#include <algorithm>

#include <ATen/ATen.h>

#include <titan/error.h>

#include "core/module/tree.h"
#include "core/op/tensor_meta.h"

namespace titan::module {

// q, k, v, ...: attention reads past keys and values before the new ones.
void StateCache::extend_attention(Entry& past, std::vector<at::Tensor>& in) {
  if (past.keys.defined()) {
    in[1] = at::cat({past.keys, in[1]}, 0);
    in[2] = at::cat({past.values, in[2]}, 0);
  }
  past.keys = in[1];
  past.values = in[2];
}

// x, cu_seqlens, past, weight, ...
void StateCache::extend_convolution(Entry& past, std::vector<at::Tensor>& in) {
  in[2] = past.inputs;
  const at::Tensor all =
      past.inputs.defined() ? at::cat({past.inputs, in[0]}, 0) : in[0];
  const int64_t count = std::min(in[3].size(2) - 1, all.size(0));
  // A copy: the whole prompt's activations need not stay.
  past.inputs = all.narrow(0, all.size(0) - count, count).clone();
}

// q, k, v, g, beta, cu_seqlens, initial_state: given, so that a final state is
// returned.
void StateCache::extend_recurrence(const Entry& past,
                                   std::vector<at::Tensor>& in) {
  in.resize(7);
  in[6] = past.state;
  if (past.state.defined()) return;
  const at::Tensor& value = in[2];
  in[6] = at::zeros({1, value.size(1), in[0].size(2), value.size(2)},
                    value.options().dtype(op::acc_type(value.scalar_type())));
}

void StateCache::extend(const Site& site, std::vector<at::Tensor>& in) {
  const std::string& kind = site.slot.spec().cache_spec;
  if (kind.empty()) return;
  if (kind == "keys_values")
    extend_attention(entries_[&site], in);
  else if (kind == "past_inputs")
    extend_convolution(entries_[&site], in);
  else if (kind == "recurrent_state")
    extend_recurrence(entries_[&site], in);
  else
    TITAN_CHECK(false, "[generate] ", site.slot.where(), " keeps ", kind);
}

void StateCache::keep(const Site& site, const std::vector<at::Tensor>& out) {
  if (site.slot.spec().cache_spec == "recurrent_state")
    entries_[&site].state = out[1];
}

}  // namespace titan::module
