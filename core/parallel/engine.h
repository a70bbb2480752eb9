// SPDX-License-Identifier: BSD-3-Clause
// The data-parallel engine: who holds which part of which parameter, and when a
// whole one exists. FSDP, DDP and a single rank are plans over it.
//
//   master    this rank's part, parameter dtype; what the optimizer updates
//   compute   the whole (tensor-local) tensor in compute dtype; a leaf variable
//   gradient  this rank's part of the summed gradient, reduce dtype
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/dist/mesh.h"
#include "core/layout/region.h"
#include "core/module/context.h"
#include "core/module/tree.h"
#include "core/parallel/buffer_store.h"
#include "core/parallel/plan.h"
#include "core/parallel/precision.h"

namespace titan::parallel {

/// Which elements of a parameter this rank holds. Shape-only.
struct LocalPart {
  const module::Parameter* parameter = nullptr;
  int64_t cut_dim = -1;  // over tp; -1 = whole
  int64_t cut_begin = 0;
  std::vector<int64_t> local_shape;  // after the tp cut
  int64_t flat_begin = 0;            // elements of the flattened local tensor
  int64_t flat_end = 0;
  int64_t bucket = 0;
  size_t slot = 0;  // position inside the bucket

  int64_t local_elements() const;
  /// The same part as boxes of the whole tensor, in the order of its memory.
  std::vector<layout::Region> regions() const;
};

/// The ranks that hold the same elements of a part, this one among them.
struct Replicas {
  int64_t count = 1;
  int64_t index = 0;  // of this rank
};

class ParameterEngine final : public module::ParameterSource {
 public:
  /// Lays out the parameters of `items` (this rank's stage). Allocates and
  /// leaves values undefined: call initialise() or load through parts().
  ParameterEngine(const module::ModuleTree& tree,
                  const Plan& plan,
                  const std::vector<std::string>& stage_items,
                  const dist::Mesh& mesh,
                  const Precision& precision);
  ~ParameterEngine() override;

  /// Values by (seed, FQN, index): the same under every layout. Of those that
  /// `is_wanted`, when given.
  using Choice = std::function<bool(const module::Parameter&)>;
  void initialise(uint64_t seed, const Choice& is_wanted = nullptr);

  const std::vector<LocalPart>& parts() const { return parts_; }
  /// Null when the parameter belongs to another stage.
  const LocalPart* part_of(const module::Parameter& parameter) const;
  at::Tensor master(const LocalPart& part) const;
  /// Undefined when no backward reached the parameter since clear_gradients().
  at::Tensor gradient(const LocalPart& part) const;

  /// Gathers the buckets that hold `parameters`; cheap when they are whole.
  void unshard(const std::vector<module::Parameter*>& parameters);
  /// Gives memory back where the plan reshards after forward; `is_backward`:
  /// after the item's last use, all sharded buckets release.
  void release(const std::vector<module::Parameter*>& parameters,
               bool is_backward);
  at::Tensor compute(const module::Parameter& parameter) override;

  /// Adds gradients of compute tensors (undefined = none) of one item's
  /// backward. A bucket whose last item has delivered is reduced over dp_shard.
  void accumulate(const std::string& item,
                  const std::vector<module::Parameter*>& parameters,
                  const std::vector<at::Tensor>& gradients);
  /// After the last microbatch: sums what is replicated over data ranks.
  /// Collective over dp.
  void finish_gradients();
  void clear_gradients();
  /// Masters have changed: compute copies are stale.
  void invalidate();

  /// Whole logical tensor of a master-shaped value (master, gradient, optimizer
  /// state) on every rank, parameter's shape. Collective over tp and dp_shard.
  at::Tensor gather(const LocalPart& part, const at::Tensor& value) const;
  /// Writes this rank's part of `whole` into a master-shaped tensor.
  void scatter(const LocalPart& part,
               const at::Tensor& whole,
               at::Tensor value) const;

  /// Who else has what this rank has of the part.
  Replicas replicas(const LocalPart& part) const;

  /// Sum of squares of all gradients, each logical element once over the whole
  /// world; float64 scalar. Collective over world.
  at::Tensor squared_gradient_norm() const;

  /// Of the stage's modules, with their first values after construction.
  BufferStore& buffers() { return buffer_store_; }
  const BufferStore& buffers() const { return buffer_store_; }

  const dist::Mesh& mesh() const { return mesh_; }
  const Precision& precision() const { return precision_; }
  int64_t bytes_parameters() const;

 private:
  struct Bucket;
  Bucket& bucket_of(const module::Parameter& parameter);
  void add_bucket(const BucketPlan& bucket_plan,
                  bool is_trained,
                  const module::ModuleTree& tree,
                  const Plan& plan);
  void allocate(Bucket& bucket);
  void add_to_bucket(Bucket& bucket,
                     const module::Parameter& parameter,
                     const Plan& plan);
  void reduce(Bucket& bucket);

  const dist::Mesh& mesh_;
  Precision precision_;
  BufferStore buffer_store_;
  std::vector<LocalPart> parts_;
  std::unordered_map<const module::Parameter*, size_t> part_index_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
};

}  // namespace titan::parallel
