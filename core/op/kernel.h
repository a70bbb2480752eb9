// SPDX-License-Identifier: BSD-3-Clause
// An implementation of a catalogue op, and the list of those that exist.
// The reference is one of them ("titan.reference"), always last.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <titan/abi/kernel.h>

#include "core/op/spec.h"

namespace titan::op {

inline constexpr std::string_view kReferenceKernel = "titan.reference";

/// Static facts of a kernel, copied out of titan_kernel_match.
struct KernelMatch {
  std::string op_id;
  int32_t device_type = TITAN_DEVICE_CPU;
  uint32_t arch_min = 0;
  uint32_t arch_max = 0;
  uint64_t cpu_features = 0;
  uint64_t dtype_mask = 0;
  int32_t priority = 0;
  uint32_t flags = 0;
};

/// Immutable after construction; used by several ranks at once.
class Kernel {
 public:
  Kernel(std::string id, KernelMatch match)
      : id_(std::move(id)), match_(std::move(match)) {}
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  const std::string& id() const { return id_; }
  const KernelMatch& match() const { return match_; }

  /// 0: refused, with the reason; 1..1000: fitness for these shapes.
  virtual int32_t score(const std::vector<TensorMeta>& inputs,
                        const Attributes& attributes,
                        std::string* reason) const = 0;
  virtual ForwardResult forward(const ForwardCall& call) const = 0;
  /// One entry per input; undefined where not wanted.
  virtual std::vector<at::Tensor> backward(const BackwardCall& call) const = 0;

 private:
  std::string id_;
  KernelMatch match_;
};

/// The spec's own reference as a kernel.
std::shared_ptr<const Kernel> reference_kernel(const OpSpec& spec);

/// Gradients of the spec's forward by autograd (vjp.cpp): for ops without a
/// backward of their own, and the yardstick of those that have one.
std::vector<at::Tensor> reference_vjp(const OpSpec& spec,
                                      const BackwardCall& call);

/// Kernels by op. Filled by the loader, then read by selectors. [thread: loader
/// writes; any reads after]
class KernelRegistry {
 public:
  /// Wraps a plugin's kernel: calls its `create` (host and config may be null
  /// if it has none), and `destroy` when the last autograd node that used it is
  /// gone. `keepalive` holds the shared library loaded until then. UserError
  /// for an unknown op, a repeated id, or a table without `forward`.
  void add_plugin_kernel(std::string component_id,
                         const titan_kernel_table* table,
                         const titan_host_api* host,
                         const titan_config* config,
                         std::shared_ptr<const void> keepalive);
  void add(std::shared_ptr<const Kernel> kernel);
  /// Without the reference, in the order they were added.
  std::vector<std::shared_ptr<const Kernel>> kernels_of(
      std::string_view op_id) const;
  const std::vector<std::shared_ptr<const Kernel>>& all() const {
    return kernels_;
  }

 private:
  std::vector<std::shared_ptr<const Kernel>> kernels_;
};

}  // namespace titan::op
