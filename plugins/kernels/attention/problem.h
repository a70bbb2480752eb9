// SPDX-License-Identifier: BSD-3-Clause
// What one call of titan.attention/1 is about: documents, strides, and which
// keys a query sees.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <titan/sdk/kernel.hpp>

namespace titan::kernels::attention {

/// Consecutive tokens that see each other only. The last query is at the
/// position of the last key.
struct Document {
  int64_t query_begin, num_queries;
  int64_t key_begin, num_keys;
};

/// The documents of a call in order, without empty ones.
std::vector<Document> documents_of(TensorView cu_seqlens,
                                   int64_t num_queries,
                                   int64_t num_keys);

struct Keys {
  int64_t begin, end;
};

/// Positions count from the document's first key.
struct Sight {
  bool is_causal;
  int64_t window;  // 0 = all

  /// Keys that any of the queries at positions [first, last] sees.
  Keys of(int64_t first, int64_t last, int64_t num_keys) const {
    Keys keys{0, num_keys};
    if (is_causal) keys.end = std::min(num_keys, last + 1);
    if (window > 0) {
      keys.begin = std::max<int64_t>(0, first - window + 1);
      if (!is_causal) keys.end = std::min(num_keys, last + window);
    }
    return keys;
  }
  /// Do all of the queries see all of the keys?
  bool is_whole(int64_t first, int64_t last, Keys keys) const {
    if (is_causal && keys.end - 1 > first) return false;
    if (window == 0) return true;
    return last - keys.begin < window &&
           (is_causal || keys.end - 1 - first < window);
  }
  /// Queries first + i, lower <= i < upper, see `key`.
  struct Lanes {
    int64_t lower, upper;
  };
  Lanes lanes(int64_t key, int64_t first) const {
    constexpr int64_t kAll = 1 << 20;
    const int64_t distance = key - first;
    return {is_causal    ? distance
            : window > 0 ? distance - window + 1
                         : -kAll,
            window > 0 ? distance + window : kAll};
  }
};

struct Sizes {
  int64_t num_queries, num_keys;   // T, J
  int64_t query_heads, key_heads;  // N, M
  int64_t head_dim, value_dim;     // H, V
  int64_t group() const { return query_heads / key_heads; }
};

/// A [tokens, heads, dim] tensor whose last dim lies together.
template <typename Element>
struct Heads {
  Element* data = nullptr;
  int64_t token_stride = 0, head_stride = 0;
  Element* at(int64_t token, int64_t head) const {
    return data + token * token_stride + head * head_stride;
  }
};

}  // namespace titan::kernels::attention
