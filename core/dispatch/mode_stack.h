// SPDX-License-Identifier: BSD-3-Clause
// The one dispatch-mode stack: a single boxed fallback on DispatchKey::Fake,
// below autograd and above the backends, hands every dispatcher call to the
// modes that this thread has pushed, innermost first. Free when no mode is
// pushed. Only one library may register that fallback, hence one stack for all
// modes.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace titan::dispatch {

class Mode {
 public:
  virtual ~Mode() = default;
  /// Called instead of the op. `stack` holds the arguments, and must hold the
  /// returns afterwards. Runs with the modes outside this one active; ops
  /// called from here are seen by them, not by this mode. Ends in call_next
  /// when the op is to run.
  virtual void call(const c10::OperatorHandle& op,
                    c10::DispatchKeySet keys,
                    torch::jit::Stack* stack) = 0;
};

/// Passes a call on to the next mode outside, or to the backend's kernel.
void call_next(const c10::OperatorHandle& op,
               c10::DispatchKeySet keys,
               torch::jit::Stack* stack);

/// Pushes a mode on this thread's stack for its own lifetime. Guards nest.
class ModeGuard {
 public:
  explicit ModeGuard(Mode& mode);
  ~ModeGuard();
  ModeGuard(const ModeGuard&) = delete;
  ModeGuard& operator=(const ModeGuard&) = delete;

 private:
  c10::impl::IncludeDispatchKeyGuard include_;
};

/// Switches all modes of this thread off for its lifetime.
class NoModesGuard {
 public:
  NoModesGuard();

 private:
  c10::impl::ExcludeDispatchKeyGuard exclude_;
};

/// Modes pushed on this thread.
int64_t num_modes();

}  // namespace titan::dispatch
