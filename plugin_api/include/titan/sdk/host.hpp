// SPDX-License-Identifier: BSD-3-Clause
// The host's table, stored once by the entry point, and what is free of any
// kind: log, cancellation, parallel_for.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <string_view>
#include <type_traits>

#include <titan/abi.h>
#include <titan/sdk/error.hpp>

namespace titan {

namespace detail {

// Write-once: the entry point may run twice, on two threads, with one table.
inline constinit std::atomic<const titan_host_api*> host_table{nullptr};

inline void set_host(const titan_host_api* api) {
  const titan_host_api* expected = nullptr;
  host_table.compare_exchange_strong(expected, api);
}

}  // namespace detail

/// The host's functions. [thread: any]
inline const titan_host_api& host() {
  return *detail::host_table.load(std::memory_order_acquire);
}

enum class LogLevel : int32_t { kDebug, kInfo, kWarn, kError };

inline void log(LogLevel level, std::string_view message) {
  const titan_host_api& api = host();
  api.log(api.host, static_cast<int32_t>(level), detail::str(message));
}

/// True when the run is asked to stop: a long loop returns early.
inline bool is_cancelled() {
  return host().is_cancelled(host().host) != 0;
}

/// Runs body(begin, end) over pieces of at least `grain` elements on the
/// host's threads. Returns when all are done; the first exception of a piece is
/// thrown here.
template <typename Body>
void parallel_for(int64_t begin, int64_t end, int64_t grain, Body&& body) {
  struct State {
    std::remove_reference_t<Body>* body;
    std::atomic_flag has_error;
    std::exception_ptr error;
  } state{&body, {}, nullptr};
  host().parallel_for(
      host().host,
      begin,
      end,
      grain,
      [](void* arg, int64_t first, int64_t last) noexcept {
        auto& shared = *static_cast<State*>(arg);
        try {
          (*shared.body)(first, last);
        } catch (...) {
          if (!shared.has_error.test_and_set())
            shared.error = std::current_exception();
        }
      },
      &state);
  if (state.error) std::rethrow_exception(state.error);
}

}  // namespace titan
