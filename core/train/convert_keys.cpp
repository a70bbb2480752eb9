// SPDX-License-Identifier: BSD-3-Clause
// Rules that keep the bytes (identity, stacking) stream; the others hold one
// tensor in memory.
#include "core/train/convert_keys.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <ATen/ATen.h>

#include <titan/error.h>

#include "core/checkpoint/cast.h"
#include "core/module/hf_keys.h"
#include "core/parallel/buffer_store.h"
#include "core/parallel/stage_items.h"
#include "core/train/tensor_bytes.h"
#include "core/train/weight_faults.h"

namespace titan::train {
namespace {

using checkpoint::ByteSink;
using checkpoint::TensorSource;
using module::KeyMatch;
using module::Parameter;

class SourceIndex {
 public:
  explicit SourceIndex(const Sources& sources) {
    for (const TensorSource& source : sources)
      by_name_[source.spec.name] = &source;
  }

  // Null and noted when absent.
  const TensorSource* take(const std::string& name, WeightFaults& faults) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) {
      faults.missing.insert(name);
      return nullptr;
    }
    used_.insert(name);
    return found->second;
  }

  void leave_out(const std::set<std::string>& names) {
    used_.insert(names.begin(), names.end());
  }

  std::set<std::string> unused() const {
    std::set<std::string> names;
    for (const auto& [name, source] : by_name_)
      if (!used_.contains(name)) names.insert(name);
    return names;
  }

 private:
  std::map<std::string, const TensorSource*> by_name_;
  std::set<std::string> used_;
};

at::Tensor tensor_from(const TensorSource& source) {
  at::Tensor tensor =
      at::empty(source.spec.shape, tensor_dtype(source.spec.dtype));
  auto* at_byte = static_cast<std::byte*>(tensor.data_ptr());
  source.bytes([&](std::span<const std::byte> piece) {
    at_byte = std::copy(piece.begin(), piece.end(), at_byte);
  });
  return tensor;
}

void put_tensor(const at::Tensor& tensor, const ByteSink& sink) {
  const at::Tensor dense = tensor.contiguous();
  sink({static_cast<const std::byte*>(dense.data_ptr()), dense.nbytes()});
}

bool keeps_bytes(const KeyMatch& match) {
  return !match.rule.is_transposed &&
         (match.rule.transform == TITAN_KEY_IDENTITY ||
          match.rule.transform == TITAN_KEY_STACK);
}

void check(const TensorSource& source,
           const std::vector<int64_t>& shape,
           WeightFaults& faults) {
  faults.check(source.spec.name, shape, source.spec.shape, source.spec.dtype);
}

void require_one_dtype(const std::string& name, const Sources& parts) {
  for (const TensorSource& part : parts)
    TITAN_USER_CHECK(part.spec.dtype == parts.front().spec.dtype,
                     "[convert] parts of ",
                     name,
                     ": expected one type, got ",
                     checkpoint::dtype_name(parts.front().spec.dtype),
                     " and ",
                     checkpoint::dtype_name(part.spec.dtype),
                     ". Choose one with --dtype.");
}

// One parameter out of `parts`, in the order of `matches`.
TensorSource native_source(const std::shared_ptr<const module::KeyMap>& keys,
                           const Parameter& parameter,
                           const std::vector<KeyMatch>& matches,
                           Sources parts) {
  require_one_dtype(parameter.fqn, parts);
  const checkpoint::TensorSpec spec{
      parameter.fqn, parts.front().spec.dtype, parameter.shape};
  if (keeps_bytes(matches.front()))
    return {spec, [parts = std::move(parts)](const ByteSink& sink) {
              for (const TensorSource& part : parts) part.bytes(sink);
            }};
  Parameter copy = parameter;
  copy.owner = nullptr;  // the model may be gone by then
  return {spec, [keys, copy, parts = std::move(parts)](const ByteSink& sink) {
            const auto read = [&](const std::string& name) {
              const auto part = std::find_if(
                  parts.begin(), parts.end(), [&](const TensorSource& source) {
                    return source.spec.name == name;
                  });
              return tensor_from(*part);
            };
            put_tensor(keys->load(copy, read), sink);
          }};
}

// Bytes [begin, begin + size) of a source.
ByteSink only_part(int64_t begin, int64_t size, const ByteSink& sink) {
  return [at = int64_t{0}, begin, end = begin + size, &sink](
             std::span<const std::byte> piece) mutable {
    const auto piece_size = static_cast<int64_t>(piece.size());
    const int64_t from = std::clamp(begin - at, int64_t{0}, piece_size);
    const int64_t to = std::clamp(end - at, int64_t{0}, piece_size);
    at += piece_size;
    if (from < to)
      sink(piece.subspan(static_cast<size_t>(from),
                         static_cast<size_t>(to - from)));
  };
}

TensorSource hf_source(const std::shared_ptr<const module::KeyMap>& keys,
                       const Parameter& parameter,
                       const KeyMatch& match,
                       const TensorSource& source) {
  const checkpoint::TensorSpec spec{
      match.hf, source.spec.dtype, module::hf_shape(match, source.spec.shape)};
  if (keeps_bytes(match)) {
    if (match.rule.transform == TITAN_KEY_IDENTITY) return {spec, source.bytes};
    const int64_t size = checkpoint::spec_size_bytes(spec);
    return {spec, [source, size, match](const ByteSink& sink) {
              source.bytes(only_part(match.expert * size, size, sink));
            }};
  }
  Parameter copy = parameter;
  copy.owner = nullptr;
  return {
      spec, [keys, copy, source, name = match.hf](const ByteSink& sink) {
        put_tensor(keys->save({{&copy, tensor_from(source)}}).at(name), sink);
      }};
}

// Parts of tensors that the model keeps apart, by their place.
struct SplitTensor {
  KeyMatch match;
  std::map<int64_t, TensorSource> parts;
};

TensorSource joined_source(const std::string& name, const SplitTensor& split) {
  Sources all;
  for (const auto& [place, part] : split.parts) all.push_back(part);
  require_one_dtype(name, all);
  return {{name,
           all.front().spec.dtype,
           module::hf_shape(split.match, all.front().spec.shape)},
          [name, split](const ByteSink& sink) {
            std::map<int64_t, at::Tensor> tensors;
            for (const auto& [place, part] : split.parts)
              tensors[place] = tensor_from(part);
            put_tensor(
                module::join_parts(split.match.rule, tensors, "convert", name),
                sink);
          }};
}

// A parameter of an adapted leaf as the transform merges it, when it is
// written.
TensorSource merged_source(const module::Model& model,
                           const Parameter& parameter,
                           SourceIndex& index,
                           WeightFaults& faults) {
  const module::Module& leaf = *parameter.owner;
  Sources parts;
  size_t place = 0;
  const auto add = [&](const Parameter& part) {
    if (&part == &parameter) place = parts.size();
    const TensorSource* const found = index.take(part.fqn, faults);
    if (found != nullptr) check(*found, part.shape, faults);
    parts.push_back(found != nullptr ? *found : TensorSource());
  };
  for (const Parameter* part : leaf.parameters) add(*part);
  for (const Parameter* part : leaf.adapter->parameters) add(*part);
  return {parts[place].spec,
          [&model, &leaf, parts, place](const ByteSink& sink) {
            std::vector<at::Tensor> values;
            for (const TensorSource& part : parts)
              values.push_back(tensor_from(part));
            const auto merged = model.transform()->merge(leaf, values);
            put_tensor(merged[place].defined() ? merged[place] : values[place],
                       sink);
          }};
}

}  // namespace

std::set<std::string> persistent_buffers(const module::Model& model) {
  std::set<std::string> names;
  for (const auto& buffer : model.tree().buffers())
    if ((buffer->flags & TITAN_BUFFER_PERSISTENT) != 0)
      names.insert(buffer->fqn);
  return names;
}

Sources take_buffers(const module::Model& model, Sources& tensors) {
  const module::KeyMap keys(model);
  std::set<std::string> names = persistent_buffers(model);
  for (const Parameter& buffer : keys.keyed_buffers(model.tree()))
    for (const KeyMatch& match : keys.sources(buffer)) names.insert(match.hf);
  const auto first = std::stable_partition(
      tensors.begin(), tensors.end(), [&](const TensorSource& tensor) {
        return !names.contains(tensor.spec.name);
      });
  Sources taken(std::make_move_iterator(first),
                std::make_move_iterator(tensors.end()));
  tensors.erase(first, tensors.end());
  return taken;
}

Sources first_buffers(const module::Model& model) {
  const parallel::BufferStore store(
      model.tree(), parallel::item_names(model.tree()), at::kFloat);
  Sources first;
  for (const auto& entry : store.entries())
    if (entry.is_saved())
      first.push_back(source_of(entry.buffer->fqn, entry.value));
  return first;
}

Sources native_from_hf(const module::Model& model, const Sources& tensors) {
  std::vector<std::string> stored;
  for (const TensorSource& tensor : tensors) stored.push_back(tensor.spec.name);
  const auto keys = std::make_shared<const module::KeyMap>(
      module::KeyMap(model).fitting(stored));
  SourceIndex index(tensors);
  WeightFaults faults;
  Sources native;
  const auto add = [&](const Parameter& parameter) {
    const std::vector<KeyMatch> matches = keys->sources(parameter);
    Sources parts;
    for (const KeyMatch& match : matches)
      if (const TensorSource* const found = index.take(match.hf, faults)) {
        check(*found, module::hf_shape(match, parameter.shape), faults);
        parts.push_back(*found);
      }
    if (parts.size() == matches.size())
      native.push_back(
          native_source(keys, parameter, matches, std::move(parts)));
  };
  for (const auto& parameter : model.tree().parameters()) add(*parameter);
  for (const Parameter& buffer : keys->keyed_buffers(model.tree())) add(buffer);
  for (const std::string& name : index.unused())
    if (!keys->ignores(name)) faults.unexpected.insert(name);
  faults.require_none("convert", model.id());
  return native;
}

Sources merge_adapters(const module::Model& model, const Sources& tensors) {
  if (model.transform() == nullptr) return tensors;
  SourceIndex index(tensors);
  WeightFaults faults;
  Sources merged;
  for (const TensorSource& source : tensors) {
    const Parameter* parameter = model.tree().find_parameter(source.spec.name);
    if (parameter != nullptr && parameter->adapts != nullptr) continue;
    if (parameter == nullptr || parameter->owner->adapter == nullptr)
      merged.push_back(source);
    else
      merged.push_back(merged_source(model, *parameter, index, faults));
  }
  faults.require_none("convert", model.id());
  return merged;
}

Sources hf_from_native(const module::Model& model, const Sources& tensors) {
  const auto keys = std::make_shared<const module::KeyMap>(model);
  SourceIndex index(tensors);
  WeightFaults faults;
  Sources hf;
  std::map<std::string, SplitTensor> splits;
  const auto add = [&](const Parameter& parameter) {
    const TensorSource* const found = index.take(parameter.fqn, faults);
    if (found == nullptr) return;
    check(*found, parameter.shape, faults);
    for (const KeyMatch& match : keys->sources(parameter)) {
      if (module::is_part(match.rule)) {
        SplitTensor& split = splits[match.hf];
        split.match = match;
        split.parts.emplace(match.rule.arg0, *found);
      } else {
        hf.push_back(hf_source(keys, parameter, match, *found));
      }
    }
  };
  for (const auto& parameter : model.tree().parameters())
    if (parameter->adapts == nullptr) add(*parameter);
  for (const Parameter& buffer : keys->keyed_buffers(model.tree())) add(buffer);
  index.leave_out(persistent_buffers(model));
  faults.unexpected = index.unused();
  faults.require_none("convert", model.id());
  for (const auto& [name, split] : splits)
    hf.push_back(joined_source(name, split));
  return hf;
}

}  // namespace titan::train
