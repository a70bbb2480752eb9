// SPDX-License-Identifier: BSD-3-Clause
// A vector of modes per thread, and a depth that says which is next. Pattern
// and traps: DispatchKey::Fake is below Autograd and ADInplaceOrView, above
// BackendSelect and the backends, and unused by LibTorch 2.11 to 2.15.
#include "core/dispatch/mode_stack.h"

#include <vector>

#include <torch/library.h>

#include <titan/error.h>

namespace titan::dispatch {
namespace {

constexpr c10::DispatchKeySet kAfterFake(c10::DispatchKeySet::FULL_AFTER,
                                         c10::DispatchKey::Fake);

struct ThreadModes {
  std::vector<Mode*> modes;  // outermost first
  size_t active = 0;         // modes[0 .. active) see the next call
};

ThreadModes& thread_modes() {
  thread_local ThreadModes modes;
  return modes;
}

/// Hides modes from `depth` on; the Fake key follows.
class DepthGuard {
 public:
  explicit DepthGuard(size_t depth)
      : outer_(thread_modes().active),
        keys_(c10::impl::tls_local_dispatch_key_set()) {
    thread_modes().active = depth;
    c10::impl::tls_set_dispatch_key_included(c10::DispatchKey::Fake, depth > 0);
  }
  ~DepthGuard() {
    thread_modes().active = outer_;
    c10::impl::tls_set_dispatch_key_included(
        c10::DispatchKey::Fake, keys_.included_.has(c10::DispatchKey::Fake));
  }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  size_t outer_;
  c10::impl::LocalDispatchKeySet keys_;
};

void fallback(const c10::OperatorHandle& op,
              c10::DispatchKeySet keys,
              torch::jit::Stack* stack) {
  call_next(op, keys, stack);
}

TORCH_LIBRARY_IMPL(_, Fake, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

}  // namespace

void call_next(const c10::OperatorHandle& op,
               c10::DispatchKeySet keys,
               torch::jit::Stack* stack) {
  ThreadModes& modes = thread_modes();
  if (modes.active == 0) {
    // Kernels below run without modes: an op is seen once, whole.
    const c10::impl::ExcludeDispatchKeyGuard no_fake(c10::DispatchKey::Fake);
    op.redispatchBoxed(keys & kAfterFake, stack);
    return;
  }
  Mode* mode = modes.modes[modes.active - 1];
  const DepthGuard below(modes.active - 1);
  mode->call(op, keys, stack);
}

ModeGuard::ModeGuard(Mode& mode) : include_(c10::DispatchKey::Fake) {
  ThreadModes& modes = thread_modes();
  TITAN_CHECK_EQ(modes.active,
                 modes.modes.size(),
                 "[mode stack] a mode is pushed from within a mode");
  modes.modes.push_back(&mode);
  modes.active = modes.modes.size();
}

ModeGuard::~ModeGuard() {
  ThreadModes& modes = thread_modes();
  modes.modes.pop_back();
  modes.active = modes.modes.size();
}

NoModesGuard::NoModesGuard() : exclude_(c10::DispatchKey::Fake) {}

int64_t num_modes() {
  return static_cast<int64_t>(thread_modes().modes.size());
}

}  // namespace titan::dispatch
