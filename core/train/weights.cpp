// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/weights.h"

#include <algorithm>
#include <set>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <titan/error.h>

#include "core/checkpoint/checkpoint_folder.h"
#include "core/checkpoint/safetensors_folder.h"
#include "core/module/hf_keys.h"
#include "core/observe/log.h"
#include "core/train/tensor_bytes.h"
#include "core/train/weight_faults.h"

namespace titan::train {
namespace {

using parallel::LocalPart;
using parallel::ParameterEngine;

std::string tag_of(const std::filesystem::path& path) {
  return text("checkpoint ", path.string());
}

// What a checkpoint lacks of this rank's stage of the model, has beside the
// model, or has in another shape.
void require_same_model(const checkpoint::CheckpointReader& reader,
                        const module::ModuleTree& tree,
                        const ParameterEngine& engine,
                        bool has_adapters) {
  WeightFaults faults;
  for (const LocalPart& part : engine.parts()) {
    if (part.parameter->adapts != nullptr && !has_adapters) continue;
    const std::string& name = part.parameter->fqn;
    const checkpoint::TensorRecord* record = reader.find("model", name);
    if (record == nullptr)
      faults.missing.insert(name);
    else
      faults.check(name, part.parameter->shape, record->shape, record->dtype);
  }
  std::set<std::string> names;
  for (const auto& parameter : tree.parameters()) names.insert(parameter->fqn);
  for (const checkpoint::TensorRecord& record : reader.manifest().tensors)
    if (record.role == "model" && names.insert(record.name).second)
      faults.unexpected.insert(record.name);
  faults.require_none(tag_of(reader.path()), "the recipe's model");
}

void read_buffers(const checkpoint::CheckpointReader& reader,
                  parallel::BufferStore& buffers) {
  for (auto& entry : buffers.entries()) {
    if (!entry.is_saved()) continue;
    const std::string& name = entry.buffer->fqn;
    const checkpoint::TensorRecord* record = reader.find("buffer", name);
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

void require_hf_tensors(const module::Model& model,
                        const module::KeyMap& keys,
                        const checkpoint::SafetensorsFolder& folder,
                        const std::string& tag) {
  WeightFaults faults;
  for (const checkpoint::TensorView* view : folder.tensors())
    if (!keys.knows(view->name)) faults.unexpected.insert(view->name);
  for (const auto& parameter : model.tree().parameters()) {
    if (parameter->adapts != nullptr) continue;
    for (const module::KeyMatch& match : keys.sources(*parameter)) {
      const checkpoint::TensorView* view = folder.find(match.hf);
      if (view == nullptr)
        faults.missing.insert(match.hf);
      else
        faults.check(match.hf,
                     module::hf_shape(match, parameter->shape),
                     view->shape,
                     view->dtype);
    }
  }
  faults.require_none(tag, model.id());
}

// Under the names of our modules: what `titan convert --to titan-weights`
// wrote.
void require_titan_tensors(const module::Model& model,
                           const checkpoint::SafetensorsFolder& folder,
                           const std::string& tag,
                           bool has_adapters) {
  WeightFaults faults;
  std::set<std::string> names;
  for (const auto& parameter : model.tree().parameters()) {
    names.insert(parameter->fqn);
    if (parameter->adapts != nullptr && !has_adapters) continue;
    const checkpoint::TensorView* view = folder.find(parameter->fqn);
    if (view == nullptr)
      faults.missing.insert(parameter->fqn);
    else
      faults.check(parameter->fqn, parameter->shape, view->shape, view->dtype);
  }
  for (const checkpoint::TensorView* view : folder.tensors())
    if (!names.contains(view->name)) faults.unexpected.insert(view->name);
  faults.require_none(tag, model.id());
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
                          const std::filesystem::path& path) {
  const checkpoint::SafetensorsFolder folder(path);
  const module::KeyMap keys(model);
  const bool is_ours = folder.has_titan_names();
  const bool has_adapters =
      is_ours && holds_adapters(model.tree(), [&](const std::string& name) {
        return folder.find(name);
      });
  if (is_ours)
    require_titan_tensors(model, folder, tag_of(path), has_adapters);
  else
    require_hf_tensors(model, keys, folder, tag_of(path));
  const auto read = [&](const std::string& name) {
    return tensor_of(folder.get(name));
  };
  for (const LocalPart& part : engine.parts()) {
    const module::Parameter& parameter = *part.parameter;
    if (parameter.adapts != nullptr && !has_adapters) continue;
    engine.scatter(part,
                   is_ours ? read(parameter.fqn) : keys.load(parameter, read),
                   engine.master(part));
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
                        bool has_adapters) {
  require_same_model(reader, tree, engine, has_adapters);
  for (const LocalPart& part : engine.parts())
    if (part.parameter->adapts == nullptr || has_adapters)
      read_part(reader,
                "model",
                part.parameter->fqn,
                part.regions(),
                engine.master(part));
  read_buffers(reader, engine.buffers());
  engine.invalidate();
}

LoadedWeights load_weights(const module::Model& model,
                           ParameterEngine& engine,
                           const std::filesystem::path& path,
                           const checkpoint::FileSystem& files) {
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
    load_model_tensors(*found.reader, model.tree(), engine, has_adapters);
    return {has_adapters};
  }
  TITAN_USER_CHECK(found.rejected.empty(), found.rejected.front());
  TITAN_USER_CHECK(!files.is_object_store(),
                   '[',
                   tag_of(path),
                   "] expected a checkpoint in checkpoint.storage, got none");
  return load_folder(model, engine, path);
}

}  // namespace titan::train
