// SPDX-License-Identifier: BSD-3-Clause
// Buckets are flat: parameters lie behind one another, so that one collective
// serves many and the optimizer walks contiguous memory.
#include "core/parallel/engine.h"

#include <algorithm>
#include <span>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <titan/error.h>

#include "core/module/initialise.h"
#include "core/op/select.h"
#include "core/parallel/bucket_storage.h"
#include "core/parallel/squared_norm.h"

namespace titan::parallel {
namespace {

using module::Parameter;

// Values are drawn in pieces: what a thread takes at once, and the doubles that
// it needs on the way.
constexpr int64_t kDrawPiece = 1 << 16;

int64_t product(const std::vector<int64_t>& dims, size_t from = 0) {
  int64_t count = 1;
  for (size_t i = from; i < dims.size(); ++i) count *= dims[i];
  return count;
}

// A run of consecutive local elements and where it starts in the whole tensor.
struct Run {
  int64_t local_begin, length, whole_begin;
};

// The tp cut makes one run per index of the dimensions before the cut.
std::vector<Run> runs_of(const LocalPart& part) {
  const auto& whole = part.parameter->shape;
  if (part.cut_dim < 0) return {{0, product(whole), 0}};
  const auto dim = static_cast<size_t>(part.cut_dim);
  const int64_t inner = product(whole, dim + 1);
  const int64_t length = part.local_shape[dim] * inner;
  const int64_t outer =
      product(part.local_shape) / std::max<int64_t>(1, length);
  std::vector<Run> runs;
  for (int64_t i = 0; i < outer; ++i)
    runs.push_back(
        {i * length, length, (i * whole[dim] + part.cut_begin) * inner});
  return runs;
}

struct DrawPiece {
  size_t part;  // index
  int64_t flat_begin, count, whole_begin;
};

std::vector<DrawPiece> draw_pieces(const std::vector<LocalPart>& parts) {
  std::vector<DrawPiece> pieces;
  for (size_t i = 0; i < parts.size(); ++i)
    for (const Run& run : runs_of(parts[i])) {
      int64_t local = std::max(run.local_begin, parts[i].flat_begin);
      const int64_t end =
          std::min(run.local_begin + run.length, parts[i].flat_end);
      for (; local < end; local += kDrawPiece)
        pieces.push_back({i,
                          local - parts[i].flat_begin,
                          std::min(end - local, kDrawPiece),
                          run.whole_begin + local - run.local_begin});
    }
  return pieces;
}

LocalPart cut_part(const Parameter& parameter,
                   const Plan& plan,
                   const dist::Mesh& mesh) {
  LocalPart part;
  part.parameter = &parameter;
  part.local_shape = parameter.shape;
  for (const ParameterCut& cut : plan.cuts) {
    if (!op::fqn_matches(cut.match, parameter.fqn) || mesh.size("tp") == 1)
      continue;
    const auto dim = static_cast<size_t>(cut.dim);
    TITAN_CHECK(dim < parameter.shape.size(),
                "[plan] tensor cut of ",
                parameter.fqn,
                " beyond its dimensions");
    const int64_t parts = mesh.size("tp");
    TITAN_USER_CHECK(
        parameter.shape[dim] % (parts * parameter.shard_granule) == 0,
        "[parallel.tp] ",
        parameter.fqn,
        " dimension ",
        cut.dim,
        ": expected a multiple of tp ",
        parts,
        " x ",
        parameter.shard_granule,
        " rows, got ",
        parameter.shape[dim]);
    part.cut_dim = cut.dim;
    part.local_shape[dim] /= parts;
    part.cut_begin = mesh.coordinate("tp") * part.local_shape[dim];
  }
  return part;
}

}  // namespace

int64_t LocalPart::local_elements() const {
  return product(local_shape);
}

std::vector<layout::Region> LocalPart::regions() const {
  std::vector<layout::Region> boxes = layout::flat_range(
      layout::whole_region(local_shape), flat_begin, flat_end);
  if (cut_dim >= 0)
    for (layout::Region& box : boxes)
      box.offset[static_cast<size_t>(cut_dim)] += cut_begin;
  return boxes;
}

struct ParameterEngine::Bucket {
  BucketPlan plan;
  dist::Group* group = nullptr;  // dp_shard
  std::vector<size_t> parts;     // into parts_
  std::vector<int64_t> offsets;  // of each part in the flat whole
  int64_t total = 0;             // elements before padding
  int64_t per_rank = 0;
  at::Tensor shard;  // master
  at::Tensor full;   // compute; aliases shard when it can
  std::vector<at::Tensor> leaves;
  std::vector<at::Tensor> pending;  // gradients of whole parts, reduce dtype
  at::Tensor gradient;              // flat placement: this rank's part
  size_t items_done = 0;
  bool aliases_master = false;
  bool is_current = false;  // full holds the masters' values

  bool is_flat() const { return plan.placement == Placement::kFlat; }
};

ParameterEngine::~ParameterEngine() = default;

ParameterEngine::ParameterEngine(const module::ModuleTree& tree,
                                 const Plan& plan,
                                 const std::vector<std::string>& stage_items,
                                 const dist::Mesh& mesh,
                                 const Precision& precision)
    : mesh_(mesh),
      precision_(precision),
      buffer_store_(tree, stage_items, precision.compute) {
  for (const BucketPlan& bucket_plan : plan.buckets) {
    BucketPlan here = bucket_plan;
    std::erase_if(here.items, [&](const std::string& item) {
      return std::find(stage_items.begin(), stage_items.end(), item) ==
             stage_items.end();
    });
    if (here.items.empty()) continue;
    // Apart, so that adapters of a few megabytes do not make the frozen
    // gigabytes beside them take part in the reduction.
    for (const bool is_trained : {true, false})
      add_bucket(here, is_trained, tree, plan);
  }
}

void ParameterEngine::add_bucket(const BucketPlan& bucket_plan,
                                 bool is_trained,
                                 const module::ModuleTree& tree,
                                 const Plan& plan) {
  auto made = std::make_unique<Bucket>();
  made->plan = bucket_plan;
  made->group = &mesh_.group("dp_shard");
  Bucket& bucket = *buckets_.emplace_back(std::move(made));
  for (const std::string& item : bucket_plan.items) {
    const module::Module* root = tree.find_module(item);
    TITAN_CHECK(root != nullptr, "[plan] bucket item ", item, " is unknown");
    for (const Parameter* parameter : tree.parameters_of(*root))
      if (parameter->is_trainable == is_trained)
        add_to_bucket(bucket, *parameter, plan);
  }
  if (bucket.parts.empty())
    buckets_.pop_back();
  else
    allocate(bucket);
}

void ParameterEngine::add_to_bucket(Bucket& bucket,
                                    const Parameter& parameter,
                                    const Plan& plan) {
  // A tied tensor is owned by the first bucket that uses it.
  if (part_index_.count(&parameter) != 0) return;
  LocalPart part = cut_part(parameter, plan, mesh_);
  part.bucket = static_cast<int64_t>(buckets_.size()) - 1;
  part.slot = bucket.parts.size();
  bucket.parts.push_back(parts_.size());
  bucket.offsets.push_back(bucket.total);
  bucket.total += part.local_elements();
  part_index_[&parameter] = parts_.size();
  parts_.push_back(std::move(part));
}

void ParameterEngine::allocate(Bucket& bucket) {
  const int64_t ranks = bucket.is_flat() ? bucket.group->size() : 1;
  bucket.per_rank = (bucket.total + ranks - 1) / ranks;
  const int64_t begin =
      bucket.is_flat() ? bucket.group->rank() * bucket.per_rank : 0;
  for (size_t i = 0; i < bucket.parts.size(); ++i) {
    LocalPart& part = parts_[bucket.parts[i]];
    const int64_t offset = bucket.offsets[i], count = part.local_elements();
    part.flat_begin = std::clamp<int64_t>(begin - offset, 0, count);
    part.flat_end =
        std::clamp<int64_t>(begin + bucket.per_rank - offset, 0, count);
  }
  bucket.shard = at::zeros({bucket.per_rank}, precision_.parameter);
  bucket.aliases_master =
      ranks == 1 && precision_.compute == precision_.parameter;
  bucket.full = bucket.aliases_master
                    ? bucket.shard
                    : at::empty({bucket.per_rank * ranks}, precision_.compute);
  for (size_t i = 0; i < bucket.parts.size(); ++i) {
    const LocalPart& part = parts_[bucket.parts[i]];
    bucket.leaves.push_back(
        bucket.full.narrow(0, bucket.offsets[i], part.local_elements())
            .view(part.local_shape)
            .detach()
            .requires_grad_(part.parameter->is_trainable));
  }
  bucket.pending.resize(bucket.parts.size());
  if (!bucket.aliases_master) bucket_release(bucket.full);
}

const LocalPart* ParameterEngine::part_of(const Parameter& parameter) const {
  const auto found = part_index_.find(&parameter);
  return found == part_index_.end() ? nullptr : &parts_[found->second];
}

ParameterEngine::Bucket& ParameterEngine::bucket_of(
    const Parameter& parameter) {
  const LocalPart* part = part_of(parameter);
  TITAN_CHECK(
      part != nullptr, "[engine] ", parameter.fqn, " is not of this stage");
  return *buckets_[static_cast<size_t>(part->bucket)];
}

at::Tensor ParameterEngine::master(const LocalPart& part) const {
  const Bucket& bucket = *buckets_[static_cast<size_t>(part.bucket)];
  if (!bucket.is_flat())
    return bucket.shard
        .narrow(0, bucket.offsets[part.slot], part.local_elements())
        .view(part.local_shape);
  const int64_t begin = bucket.group->rank() * bucket.per_rank;
  const int64_t count = part.flat_end - part.flat_begin;
  const int64_t start =
      count == 0 ? 0 : bucket.offsets[part.slot] + part.flat_begin - begin;
  return bucket.shard.narrow(0, start, count);
}

at::Tensor ParameterEngine::gradient(const LocalPart& part) const {
  const Bucket& bucket = *buckets_[static_cast<size_t>(part.bucket)];
  if (!bucket.is_flat()) return bucket.pending[part.slot];
  if (!bucket.gradient.defined()) return {};
  const int64_t begin = bucket.group->rank() * bucket.per_rank;
  const int64_t count = part.flat_end - part.flat_begin;
  const int64_t start =
      count == 0 ? 0 : bucket.offsets[part.slot] + part.flat_begin - begin;
  return bucket.gradient.narrow(0, start, count);
}

void ParameterEngine::initialise(uint64_t seed, const Choice& is_wanted) {
  std::vector<DrawPiece> pieces = draw_pieces(parts_);
  if (is_wanted)
    std::erase_if(pieces, [&](const DrawPiece& piece) {
      return !is_wanted(*parts_[piece.part].parameter);
    });
  std::vector<at::Tensor> masters;
  for (const LocalPart& part : parts_) masters.push_back(master(part));
  // One parallel region for all: with one per parameter, a core that is busy
  // with something else delays the start a hundred times (3.0 s against 1.2 s
  // for the 6M model on two busy cores).
  at::parallel_for(
      0,
      static_cast<int64_t>(pieces.size()),
      1,
      [&](int64_t begin, int64_t end) {
        at::NoGradGuard no_grad;  // of this thread
        std::vector<double> values;
        for (int64_t i = begin; i < end; ++i) {
          const DrawPiece& piece = pieces[static_cast<size_t>(i)];
          values.resize(static_cast<size_t>(piece.count));
          module::initial_values(
              *parts_[piece.part].parameter, seed, piece.whole_begin, values);
          masters[piece.part]
              .view({-1})
              .narrow(0, piece.flat_begin, piece.count)
              .copy_(at::from_blob(values.data(), {piece.count}, at::kDouble));
        }
      });
  invalidate();
}

void ParameterEngine::unshard(const std::vector<Parameter*>& parameters) {
  for (const Parameter* parameter : parameters) {
    Bucket& bucket = bucket_of(*parameter);
    if (bucket.is_current || bucket.aliases_master) continue;
    if (bucket.is_flat()) {
      bucket_unshard(bucket.shard, bucket.full, *bucket.group);
    } else {
      // Nothing to gather: a cast to the compute dtype.
      bucket_unshard(bucket.shard, bucket.full, *dist::single_rank_group());
    }
    bucket.is_current = true;
  }
}

void ParameterEngine::release(const std::vector<Parameter*>& parameters,
                              bool is_backward) {
  for (const Parameter* parameter : parameters) {
    Bucket& bucket = bucket_of(*parameter);
    if (!bucket.is_flat() || !bucket.is_current) continue;
    if (!is_backward && !bucket.plan.reshards_after_forward) continue;
    bucket_release(bucket.full);
    bucket.is_current = false;
  }
}

at::Tensor ParameterEngine::compute(const Parameter& parameter) {
  Bucket& bucket = bucket_of(parameter);
  TITAN_CHECK(bucket.is_current || bucket.aliases_master,
              "[engine] ",
              parameter.fqn,
              " is used while its bucket ",
              bucket.plan.name,
              " is released");
  return bucket.leaves[part_of(parameter)->slot];
}

void ParameterEngine::accumulate(const std::string& item,
                                 const std::vector<Parameter*>& parameters,
                                 const std::vector<at::Tensor>& gradients) {
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!gradients[i].defined()) continue;
    Bucket& bucket = bucket_of(*parameters[i]);
    at::Tensor& sum = bucket.pending[part_of(*parameters[i])->slot];
    if (sum.defined()) {
      sum.add_(gradients[i]);
    } else {
      // The engine's gradient is fresh: keep it when nobody else holds it.
      const at::Tensor value = gradients[i].to(precision_.reduce).contiguous();
      sum = value.is_same(gradients[i]) && value.use_count() > 2 ? value.clone()
                                                                 : value;
    }
  }
  for (auto& bucket : buckets_) {
    const auto& items = bucket->plan.items;
    if (std::find(items.begin(), items.end(), item) == items.end()) continue;
    if (++bucket->items_done < items.size()) continue;
    bucket->items_done = 0;
    if (bucket->is_flat()) reduce(*bucket);
  }
}

void ParameterEngine::reduce(Bucket& bucket) {
  const bool has_any = std::any_of(
      bucket.pending.begin(), bucket.pending.end(), [](const at::Tensor& each) {
        return each.defined();
      });
  // Frozen buckets are frozen on every rank, so all skip the collective alike.
  if (!has_any) return;
  at::Tensor flat =
      at::zeros({bucket.per_rank * bucket.group->size()}, precision_.reduce);
  for (size_t i = 0; i < bucket.parts.size(); ++i) {
    if (!bucket.pending[i].defined()) continue;
    flat.narrow(0, bucket.offsets[i], bucket.pending[i].numel())
        .copy_(bucket.pending[i].view({-1}));
    bucket.pending[i] = at::Tensor();
  }
  if (!bucket.gradient.defined())
    bucket.gradient = at::zeros({bucket.per_rank}, precision_.reduce);
  bucket_reduce(flat, bucket.gradient, *bucket.group);
}

void ParameterEngine::finish_gradients() {
  at::NoGradGuard no_grad;
  for (auto& bucket : buckets_) {
    if (bucket->is_flat()) {
      if (mesh_.size("dp_replicate") > 1 && bucket->gradient.defined())
        mesh_.group("dp_replicate").all_reduce(bucket->gradient);
      continue;
    }
    if (mesh_.size("dp") == 1) continue;
    for (at::Tensor& gradient : bucket->pending)
      if (gradient.defined()) mesh_.group("dp").all_reduce(gradient);
  }
}

void ParameterEngine::clear_gradients() {
  for (auto& bucket : buckets_) {
    bucket->gradient = at::Tensor();
    for (at::Tensor& gradient : bucket->pending) gradient = at::Tensor();
    bucket->items_done = 0;
  }
}

void ParameterEngine::invalidate() {
  for (auto& bucket : buckets_) bucket->is_current = false;
}

at::Tensor ParameterEngine::gather(const LocalPart& part,
                                   const at::Tensor& value) const {
  at::NoGradGuard no_grad;
  const Bucket& bucket = *buckets_[static_cast<size_t>(part.bucket)];
  at::Tensor local = value;
  if (bucket.is_flat() && bucket.group->size() > 1) {
    const int64_t count = part.local_elements(), ranks = bucket.group->size();
    at::Tensor mine = at::zeros({count}, value.options());
    mine.narrow(0, part.flat_begin, part.flat_end - part.flat_begin)
        .copy_(value.view({-1}));
    at::Tensor all = at::empty({ranks * count}, value.options());
    bucket.group->all_gather(all, mine);
    local = at::empty({count}, value.options());
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const int64_t begin = std::clamp<int64_t>(
          rank * bucket.per_rank - bucket.offsets[part.slot], 0, count);
      const int64_t end = std::clamp<int64_t>(
          (rank + 1) * bucket.per_rank - bucket.offsets[part.slot], 0, count);
      local.narrow(0, begin, end - begin)
          .copy_(all.narrow(0, rank * count + begin, end - begin));
    }
  }
  local = local.reshape(part.local_shape);
  if (part.cut_dim < 0) return local;
  dist::Group& tp = mesh_.group("tp");
  std::vector<int64_t> stacked = part.local_shape;
  stacked.insert(stacked.begin(), tp.size());
  at::Tensor all = at::empty(stacked, local.options());
  at::Tensor flat = all.view({-1});
  tp.all_gather(flat, local.contiguous().view({-1}));
  return at::cat(all.unbind(0), part.cut_dim);
}

void ParameterEngine::scatter(const LocalPart& part,
                              const at::Tensor& whole,
                              at::Tensor value) const {
  at::NoGradGuard no_grad;
  TITAN_CHECK(whole.sizes() == at::IntArrayRef(part.parameter->shape),
              "[engine] scatter of ",
              part.parameter->fqn,
              ": expected shape ",
              part.parameter->shape,
              ", got ",
              whole.sizes());
  at::Tensor local = whole;
  if (part.cut_dim >= 0)
    local = whole.narrow(part.cut_dim,
                         part.cut_begin,
                         part.local_shape[static_cast<size_t>(part.cut_dim)]);
  value.view({-1}).copy_(local.reshape({-1}).narrow(
      0, part.flat_begin, part.flat_end - part.flat_begin));
}

Replicas ParameterEngine::replicas(const LocalPart& part) const {
  Replicas same;
  const auto add = [&](const char* axis) {
    same.index = same.index * mesh_.size(axis) + mesh_.coordinate(axis);
    same.count *= mesh_.size(axis);
  };
  add("dp_replicate");
  add("cp");
  if (part.cut_dim < 0) add("tp");
  if (!buckets_[static_cast<size_t>(part.bucket)]->is_flat()) add("dp_shard");
  return same;
}

at::Tensor ParameterEngine::squared_gradient_norm() const {
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  // Each logical element is counted by exactly one rank of the world.
  for (const LocalPart& part : parts_) {
    const at::Tensor gradient_part = gradient(part);
    if (gradient_part.defined() && gradient_part.numel() > 0 &&
        replicas(part).index == 0)
      gradients.push_back(gradient_part);
  }
  at::Tensor total = squared_norm(gradients);
  if (mesh_.world() > 1) mesh_.group("world").all_reduce(total);
  return total;
}

int64_t ParameterEngine::bytes_parameters() const {
  int64_t bytes = 0;
  for (const auto& bucket : buckets_)
    bytes += bucket->per_rank *
             static_cast<int64_t>(c10::elementSize(precision_.parameter));
  return bytes;
}

}  // namespace titan::parallel
