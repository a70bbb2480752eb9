// SPDX-License-Identifier: BSD-3-Clause
// What stateful ops carry from the tokens of one forward to those of the next
// while generating: keys and values, the inputs that a convolution still sees,
// a recurrent state. One document; OpSpec::cache_spec says which.
#pragma once

#include <unordered_map>
#include <vector>

#include <ATen/core/Tensor.h>

namespace titan::module {

struct Site;

class StateCache {
 public:
  /// Puts what is kept of the tokens before into the op's inputs (all of them,
  /// parameters included), and keeps what the next call needs of these.
  void extend(const Site& site, std::vector<at::Tensor>& in);
  /// Keeps what the op returned for the next call.
  void keep(const Site& site, const std::vector<at::Tensor>& out);

 private:
  struct Entry {
    at::Tensor keys, values;  // [past, Nk, H], [past, Nk, Hv]
    at::Tensor inputs;        // [up to taps - 1, C]
    at::Tensor state;         // [1, N, K, V]
  };
  static void extend_attention(Entry& past, std::vector<at::Tensor>& in);
  static void extend_convolution(Entry& past, std::vector<at::Tensor>& in);
  static void extend_recurrence(const Entry& past, std::vector<at::Tensor>& in);

  std::unordered_map<const Site*, Entry> entries_;
};

}  // namespace titan::module
