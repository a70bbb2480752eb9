// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/hf_tensors.h"

#include <utility>

#include "core/checkpoint/block_scaled.h"
#include "core/checkpoint/cast.h"
#include "core/train/tensor_bytes.h"

namespace titan::train {

HfTensors::HfTensors(const checkpoint::SafetensorsFolder& folder)
    : folder_(folder) {
  std::vector<checkpoint::TensorSource> stored;
  for (const checkpoint::TensorView* view : folder.tensors())
    stored.push_back({{view->name, view->dtype, view->shape},
                      checkpoint::borrow_bytes(view->bytes)});
  for (checkpoint::TensorSource& source : checkpoint::decode_block_scaled(
           std::move(stored), checkpoint::Dtype::kF32)) {
    const std::string name = source.spec.name;
    sources_.emplace(name, std::move(source));
  }
}

std::vector<std::string> HfTensors::names() const {
  std::vector<std::string> names;
  for (const auto& [name, source] : sources_) names.push_back(name);
  return names;
}

const checkpoint::TensorSpec* HfTensors::find(const std::string& name) const {
  auto found = sources_.find(name);
  if (found == sources_.end()) {
    // Another name of a tensor that the file holds once.
    const checkpoint::TensorView* view = folder_.find(name);
    if (view == nullptr) return nullptr;
    found = sources_.find(view->name);
  }
  return found == sources_.end() ? nullptr : &found->second.spec;
}

at::Tensor HfTensors::read(const std::string& name) const {
  const checkpoint::TensorSpec* spec = find(name);
  const checkpoint::TensorView* view = folder_.find(name);
  if (spec == nullptr || (view != nullptr && view->dtype == spec->dtype))
    return tensor_of(folder_.get(name));
  const std::vector<std::byte> bytes =
      checkpoint::collect_bytes(sources_.at(spec->name));
  return tensor_of({spec->name, spec->dtype, spec->shape, bytes});
}

}  // namespace titan::train
