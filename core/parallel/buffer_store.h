// SPDX-License-Identifier: BSD-3-Clause
// The buffers of this rank's stage: what a model reads in forward (ctx.buffer)
// and adds to (ctx.accumulate). A value is fixed while a step runs; what the
// step added is kept aside and becomes part of it at the step boundary, reduced
// over ranks, so that recompute, accumulation and the layout never change what
// forward sees.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/dist/mesh.h"
#include "core/module/context.h"
#include "core/module/tree.h"

namespace titan::parallel {

class BufferStore final : public module::BufferSource {
 public:
  struct Entry {
    const module::Buffer* buffer = nullptr;
    at::Tensor value;
    at::Tensor pending;      // of the running step; undefined = nothing added
    bool is_shared = false;  // in no item: every stage has it

    /// May the step add to it?
    bool is_changing() const;
    /// Is it in checkpoints? A statistic too: the next step may read it, unless
    /// the model says that none does.
    bool is_saved() const;
  };

  /// Those inside `stage_items`, and those in no item of the model. `compute`:
  /// type of buffers declared in compute dtype. UserError for an `initial` that
  /// does not fill its buffer.
  BufferStore(const module::ModuleTree& tree,
              const std::vector<std::string>& stage_items,
              at::ScalarType compute);

  std::vector<Entry>& entries() { return entries_; }
  const std::vector<Entry>& entries() const { return entries_; }

  /// BugError for a buffer of another stage.
  at::Tensor value(const module::Buffer& buffer) override;
  /// UserError for a constant (neither persistent nor a statistic) and for a
  /// value of another shape.
  void accumulate(const module::Buffer& buffer,
                  const at::Tensor& value) override;
  /// Replaces the value. UserError unless the buffer is persistent and `value`
  /// has its shape.
  void set(const module::Buffer& buffer, const at::Tensor& value) override;

  /// Forgets what the running step added: the step was not taken.
  void discard();
  /// The step boundary. Collective over dp, over tp where a buffer asks for it,
  /// over pp for shared ones.
  void commit(const dist::Mesh& mesh);

 private:
  Entry& find(const module::Buffer& buffer);

  std::vector<Entry> entries_;
};

}  // namespace titan::parallel
