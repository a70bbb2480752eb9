// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/weights.h"

#include <algorithm>
#include <map>
#include <set>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <titan/error.h>

#include "core/checkpoint/checkpoint_folder.h"
#include "core/checkpoint/safetensors_folder.h"
#include "core/module/hf_keys.h"
#include "core/observe/log.h"
#include "core/train/hf_tensors.h"
#include "core/train/tensor_bytes.h"
#include "core/train/weight_faults.h"

namespace titan::train {
namespace {

using parallel::LocalPart;
using parallel::ParameterEngine;

std::string tag_of(const std::filesystem::path& path) {
  return text("checkpoint ", path.string());
}

using Names = std::set<std::string>;

bool is_wanted(const module::Parameter& parameter, bool has_adapters) {
  return parameter.adapts == nullptr || has_adapters;
}

// Those of the model's parameters that `find` has as they should be. `find`:
// name -> what has shape and dtype, or null.
template <typename Find>
Names fitting_names(const module::ModuleTree& tree,
                    bool has_adapters,
                    Find find,
                    WeightFaults& faults) {
  Names names;
  for (const auto& parameter : tree.parameters()) {
    if (!is_wanted(*parameter, has_adapters)) continue;
    const std::string& name = parameter->fqn;
    const auto* found = find(name);
    if (found == nullptr)
      faults.missing.insert(name);
    else if (faults.check(name, parameter->shape, found->shape, found->dtype))
      names.insert(name);
  }
  return names;
}

size_t num_wanted(const module::ModuleTree& tree, bool has_adapters) {
  return static_cast<size_t>(std::count_if(
      tree.parameters().begin(), tree.parameters().end(), [&](const auto& p) {
        return is_wanted(*p, has_adapters);
      }));
}

// The parameters to read. What a checkpoint lacks of the model, has beside it,
// or has in another shape is an error or a warning.
Names checkpoint_names(const checkpoint::CheckpointReader& reader,
                       const module::ModuleTree& tree,
                       bool has_adapters,
                       bool is_strict) {
  WeightFaults faults;
  Names names = fitting_names(
      tree,
      has_adapters,
      [&](const std::string& name) { return reader.find("model", name); },
      faults);
  Names known;
  for (const auto& parameter : tree.parameters()) known.insert(parameter->fqn);
  for (const checkpoint::TensorRecord& record : reader.manifest().tensors)
    if (record.role == "model" && known.insert(record.name).second)
      faults.unexpected.insert(record.name);
  faults.settle(tag_of(reader.path()),
                "the recipe's model",
                is_strict,
                names.size(),
                num_wanted(tree, has_adapters));
  return names;
}

void read_buffers(const checkpoint::CheckpointReader& reader,
                  parallel::BufferStore& buffers,
                  bool is_strict) {
  for (auto& entry : buffers.entries()) {
    if (!entry.is_saved()) continue;
    const std::string& name = entry.buffer->fqn;
    const checkpoint::TensorRecord* record = reader.find("buffer", name);
    if (!is_strict &&
        (record == nullptr || record->shape != entry.buffer->shape)) {
      log::warn(
          text('[', tag_of(reader.path()), "] no buffer that fits: ", name));
      continue;
    }
    TITAN_USER_CHECK(record == nullptr || record->shape == entry.buffer->shape,
                     "[checkpoint ",
                     reader.path().string(),
                     "] ",
                     name,
                     " shape: expected ",
                     entry.buffer->shape,
                     ", got ",
                     record->shape);
    read_part(reader,
              "buffer",
              name,
              {layout::whole_region(entry.buffer->shape)},
              entry.value);
  }
}

// The same for a folder of Hugging Face's names.
Names hf_names(const module::Model& model,
               const module::KeyMap& keys,
               const HfTensors& tensors,
               const std::string& tag,
               bool is_strict) {
  WeightFaults faults;
  Names names, used;
  const auto add = [&](const module::Parameter& parameter) {
    bool fits = true;
    for (const module::KeyMatch& match : keys.sources(parameter)) {
      used.insert(match.hf);
      const checkpoint::TensorSpec* found = tensors.find(match.hf);
      if (found == nullptr) faults.missing.insert(match.hf);
      fits = found != nullptr &&
             faults.check(match.hf,
                          module::hf_shape(match, parameter.shape),
                          found->shape,
                          found->dtype) &&
             fits;
    }
    if (fits) names.insert(parameter.fqn);
  };
  for (const auto& parameter : model.tree().parameters())
    if (is_wanted(*parameter, false)) add(*parameter);
  const size_t num_read = names.size();
  for (const module::Parameter& buffer : keys.keyed_buffers(model.tree()))
    add(buffer);
  // A rule that knows the name is not enough: an expert or a layer more than
  // the model has.
  for (const std::string& name : tensors.names())
    if (!used.contains(name) && !keys.ignores(name))
      faults.unexpected.insert(name);
  faults.settle(
      tag, model.id(), is_strict, num_read, num_wanted(model.tree(), false));
  return names;
}

// The same under the names of our modules: what `titan convert --to
// titan-weights` wrote.
Names titan_names(const module::Model& model,
                  const checkpoint::SafetensorsFolder& folder,
                  const std::string& tag,
                  bool has_adapters,
                  bool is_strict) {
  WeightFaults faults;
  Names names = fitting_names(
      model.tree(),
      has_adapters,
      [&](const std::string& name) { return folder.find(name); },
      faults);
  const size_t num_read = names.size();
  Names known;
  for (const auto& parameter : model.tree().parameters())
    known.insert(parameter->fqn);
  for (const auto& buffer : model.tree().buffers()) {
    const checkpoint::TensorView* view = folder.find(buffer->fqn);
    if ((buffer->flags & TITAN_BUFFER_PERSISTENT) == 0 || view == nullptr)
      continue;
    known.insert(buffer->fqn);
    if (faults.check(buffer->fqn, buffer->shape, view->shape, view->dtype))
      names.insert(buffer->fqn);
  }
  for (const checkpoint::TensorView* view : folder.tensors())
    if (!known.contains(view->name)) faults.unexpected.insert(view->name);
  faults.settle(tag,
                model.id(),
                is_strict,
                num_read,
                num_wanted(model.tree(), has_adapters));
  return names;
}

// Does `find` know any parameter that a transform has added?
template <typename Find>
bool holds_adapters(const module::ModuleTree& tree, Find find) {
  return std::any_of(tree.parameters().begin(),
                     tree.parameters().end(),
                     [&](const auto& parameter) {
                       return parameter->adapts != nullptr &&
                              find(parameter->fqn) != nullptr;
                     });
}

LoadedWeights load_folder(const module::Model& model,
                          ParameterEngine& engine,
                          const std::filesystem::path& path,
                          bool is_strict) {
  const checkpoint::SafetensorsFolder folder(path);
  const HfTensors theirs(folder);
  const module::KeyMap keys = module::KeyMap(model).fitting(theirs.names());
  const bool is_ours = folder.has_titan_names();
  const bool has_adapters =
      is_ours && holds_adapters(model.tree(), [&](const std::string& name) {
        return folder.find(name);
      });
  const Names names =
      is_ours
          ? titan_names(model, folder, tag_of(path), has_adapters, is_strict)
          : hf_names(model, keys, theirs, tag_of(path), is_strict);
  const auto read = [&](const std::string& name) {
    return is_ours ? tensor_of(folder.get(name)) : theirs.read(name);
  };
  for (const LocalPart& part : engine.parts()) {
    const module::Parameter& parameter = *part.parameter;
    if (!names.contains(parameter.fqn)) continue;
    engine.scatter(part,
                   is_ours ? read(parameter.fqn) : keys.load(parameter, read),
                   engine.master(part));
  }
  std::map<std::string, module::Parameter> keyed;
  for (const module::Parameter& buffer : keys.keyed_buffers(model.tree()))
    keyed.emplace(buffer.fqn, buffer);
  for (auto& entry : engine.buffers().entries()) {
    const std::string& name = entry.buffer->fqn;
    if (!names.contains(name)) continue;
    entry.value.copy_(is_ours ? read(name) : keys.load(keyed.at(name), read));
  }
  engine.invalidate();
  return {has_adapters};
}

}  // namespace

void read_part(const checkpoint::CheckpointReader& reader,
               const std::string& role,
               const std::string& name,
               const std::vector<layout::Region>& regions,
               at::Tensor value) {
  const checkpoint::TensorRecord* record = reader.find(role, name);
  TITAN_USER_CHECK(record != nullptr,
                   "[checkpoint ",
                   reader.path().string(),
                   "] tensor ",
                   role,
                   ' ',
                   name,
                   ": expected it, got none. The checkpoint is of another "
                   "model or optimizer.");
  const at::ScalarType dtype = tensor_dtype(record->dtype);
  const bool is_direct = value.is_contiguous() && value.scalar_type() == dtype;
  const at::Tensor place = is_direct ? value : at::empty(value.sizes(), dtype);
  reader.read_regions(
      role,
      name,
      regions,
      {static_cast<std::byte*>(place.mutable_data_ptr()), place.nbytes()});
  if (!is_direct) value.copy_(place);
}

void load_model_tensors(const checkpoint::CheckpointReader& reader,
                        const module::ModuleTree& tree,
                        ParameterEngine& engine,
                        bool has_adapters,
                        bool is_strict) {
  const Names names = checkpoint_names(reader, tree, has_adapters, is_strict);
  for (const LocalPart& part : engine.parts())
    if (names.contains(part.parameter->fqn))
      read_part(reader,
                "model",
                part.parameter->fqn,
                part.regions(),
                engine.master(part));
  read_buffers(reader, engine.buffers(), is_strict);
  engine.invalidate();
}

LoadedWeights load_weights(const module::Model& model,
                           ParameterEngine& engine,
                           const std::filesystem::path& path,
                           const checkpoint::FileSystem& files,
                           bool is_strict) {
  at::NoGradGuard no_grad;
  TITAN_USER_CHECK(
      files.is_object_store() || std::filesystem::is_directory(path),
      '[',
      tag_of(path),
      "] expected a folder, got none");
  const auto found = checkpoint::find_checkpoint(files, path);
  if (found.reader) {
    for (const std::string& reason : found.rejected)
      log::warn(text(reason, " Using the one before it."));
    const bool has_adapters =
        holds_adapters(model.tree(), [&](const std::string& name) {
          return found.reader->find("model", name);
        });
    load_model_tensors(
        *found.reader, model.tree(), engine, has_adapters, is_strict);
    return {has_adapters};
  }
  TITAN_USER_CHECK(found.rejected.empty(), found.rejected.front());
  TITAN_USER_CHECK(!files.is_object_store(),
                   '[',
                   tag_of(path),
                   "] expected a checkpoint in checkpoint.storage, got none");
  return load_folder(model, engine, path, is_strict);
}

}  // namespace titan::train
