// SPDX-License-Identifier: BSD-3-Clause
// A slot is one call site of an op: FQN + site, attributes bound, kernels
// chosen per (device, dtypes, shapes). A call goes slot -> dispatcher
// (titan::<name>)
// -> host autograd -> mode stack -> kernel; autograd.cpp and dispatcher.cpp
// hold the middle of that path.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/op/select.h"
#include "core/op/spec.h"

namespace titan::op {

struct RegisteredOp;

/// What never changes of a call site; shared with the autograd nodes it made.
struct CallSite {
  const OpSpec& spec;
  const RegisteredOp& registered;
  std::string fqn;   // "layers.0.attention"
  std::string site;  // "sdpa"; empty for a leaf
  Attributes attributes;
  std::string where()
      const;  // "[titan.attention/1 at layers.0.attention.sdpa]"
};

/// A call site with a kernel chosen for one shape class. `id` is the integer
/// argument of the dispatcher ops; find_binding gets back here.
struct Binding : std::enable_shared_from_this<Binding> {
  std::shared_ptr<const CallSite> call_site;
  Selection selection;
  int64_t id = 0;
  const Kernel& kernel() const { return *selection.kernel; }
  ~Binding();
};

/// The live binding with this id; BugError when there is none. [thread: any]
const Binding& find_binding(int64_t id);

struct SlotCounters {
  int64_t num_calls = 0;
  int64_t num_selections = 0;
};

/// Owned by the module tree. One thread (rank) at a time calls a slot.
class Slot {
 public:
  /// UserError for unknown or mistyped attributes. A null selector has only the
  /// references.
  Slot(const OpSpec& spec,
       std::string fqn,
       std::string site,
       const Attributes& attributes,
       std::shared_ptr<const KernelSelector> selector = nullptr);
  ~Slot();
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  const OpSpec& spec() const { return call_site_->spec; }
  const std::string& fqn() const { return call_site_->fqn; }
  const std::string& site() const { return call_site_->site; }
  const Attributes& attributes() const { return call_site_->attributes; }
  std::string where() const { return call_site_->where(); }
  const SlotCounters& counters() const { return counters_; }

  /// Replaces the selector at a step boundary: later calls select anew, nodes
  /// alive keep the kernels that ran forward.
  void set_selector(std::shared_ptr<const KernelSelector> selector);

  /// The binding for these inputs, selected once per shape class (sizes of
  /// floating inputs, dtypes and dimension counts of the others).
  const Binding& bind(c10::ArrayRef<at::Tensor> inputs);

  /// All bindings made so far: what ran, and why not something better.
  std::vector<const Binding*> bindings() const;

 private:
  friend std::vector<at::Tensor> invoke(Slot&, c10::ArrayRef<at::Tensor>);
  struct Cache;
  std::shared_ptr<const CallSite> call_site_;
  std::shared_ptr<const KernelSelector> selector_;
  std::unique_ptr<Cache> cache_;
  SlotCounters counters_;
};

/// While one lives on a thread, its calls select kernels as if a gradient
/// followed: the forward of what is recomputed later records none, and must
/// choose what the recompute will choose.
class GradientFollows {
 public:
  GradientFollows();
  ~GradientFollows();
  GradientFollows(const GradientFollows&) = delete;
  GradientFollows& operator=(const GradientFollows&) = delete;

 private:
  bool outer_;
};

/// Runs the op; returns its outputs. `inputs` in the op's order, undefined for
/// an absent optional one (trailing ones may be left out). Records autograd.
/// UserError names op, FQN and shapes when inputs do not fit.
std::vector<at::Tensor> invoke(Slot& slot, c10::ArrayRef<at::Tensor> inputs);

/// Same for an op with one output.
at::Tensor invoke_one(Slot& slot, c10::ArrayRef<at::Tensor> inputs);

/// Why the kernels of this slot run: one line per candidate and shape class.
std::string explain(const Slot& slot);

}  // namespace titan::op
