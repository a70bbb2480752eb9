// SPDX-License-Identifier: BSD-3-Clause
// A golden case's Hugging Face folder as a model on one rank.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include <titan/abi.h>

#include "core/checkpoint/safetensors.h"
#include "core/config/value.h"
#include "core/module/model.h"
#include "core/parallel/executor.h"
#include "core/parallel/planner.h"
#include "core/train/adapter.h"
#include "core/train/export_hf.h"
#include "core/train/open_model.h"
#include "core/train/session.h"
#include "core/train/tensor_bytes.h"
#include "core/train/weights.h"

namespace titan::golden {

/// Norm of the difference over the reference's norm.
inline double relative_error(const at::Tensor& ours,
                             const at::Tensor& reference) {
  return ((ours - reference).norm() / reference.norm()).item<double>();
}

inline std::filesystem::path case_folder(const std::string& name) {
  return std::filesystem::path(TITAN_SOURCE_DIR) / "tests/golden" / name;
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

inline std::map<std::string, at::Tensor> read_tensors(
    const std::filesystem::path& path) {
  const checkpoint::SafetensorsFile file(path);
  std::map<std::string, at::Tensor> tensors;
  for (const checkpoint::TensorView& view : file.tensors())
    tensors[view.name] = train::tensor_of(view);
  return tensors;
}

/// The plugins of this build; nobody's own folders.
inline train::PluginHost& plugins() {
  static train::PluginHost host([] {
    plugin::SearchOptions search;
    search.use_environment = false;
    return search;
  }());
  return host;
}

/// Tokens `first .. end` of one document.
inline module::BatchTensors text_of(const at::Tensor& ids,
                                    int64_t first,
                                    int64_t end) {
  const int64_t count = end - first;
  module::BatchTensors batch;
  batch.tokens = ids.narrow(0, first, count).contiguous();
  batch.labels = at::full({count}, -100, at::kLong);
  batch.loss_weight = at::zeros({count});
  batch.doc_id = at::zeros({count}, at::kInt);
  batch.cu_seqlens = at::tensor({int64_t{0}, count}).to(at::kInt);
  batch.positions = at::arange(first, end, at::kInt);
  batch.global_index = at::arange(first, end, at::kLong);
  return batch;
}

/// Documents that begin and end at `bounds`.
inline module::BatchTensors texts_of(const at::Tensor& ids,
                                     const std::vector<int32_t>& bounds) {
  module::BatchTensors batch = text_of(ids, 0, ids.size(0));
  for (size_t d = 0; d + 1 < bounds.size(); ++d) {
    const int32_t size = bounds[d + 1] - bounds[d];
    batch.doc_id.narrow(0, bounds[d], size).fill_(static_cast<int64_t>(d));
    batch.positions.narrow(0, bounds[d], size).copy_(at::arange(size));
  }
  batch.cu_seqlens = at::tensor(bounds, at::kInt);
  return batch;
}

/// Structure and storage; `load` fills it.
class HfCase {
 public:
  /// `lora`: config of the transform titan.lora as JSON; empty = none.
  HfCase(const std::string& name,
         const char* precision,
         const std::string& lora = "")
      : folder_(case_folder(name)) {
    model = train::make_model_from_hf(plugins(), folder_);
    if (!lora.empty())
      model->apply(train::make_transform(
          plugins(), "titan.lora", config::Value::from_json(lora, "test")));
    plan_ = parallel::default_plan(model->tree(), 1);
    engine = std::make_unique<parallel::ParameterEngine>(
        model->tree(),
        plan_,
        plan_.stages.front().items,
        mesh_,
        parallel::precision_of(precision));
    executor = std::make_unique<parallel::Executor>(
        model->tree(), plan_, *engine, mesh_);
  }

  void load(bool is_strict = true) {
    train::load_weights(
        *model, *engine, folder_, checkpoint::real_file_system(), is_strict);
  }

  at::Tensor ids() const {
    return read_tensors(folder_ / "inputs.safetensors")
        .at("input_ids")
        .view({-1});
  }

  at::Tensor logits() { return logits(ids()); }

  at::Tensor logits(const at::Tensor& ids) {
    return logits(text_of(ids, 0, ids.size(0)));
  }

  at::Tensor logits(const module::BatchTensors& batch) {
    return executor->logits(batch, TITAN_MODE_EVAL, nullptr, false);
  }

  const std::filesystem::path& folder() const { return folder_; }

  std::unique_ptr<module::Model> model;
  std::unique_ptr<parallel::ParameterEngine> engine;
  std::unique_ptr<parallel::Executor> executor;

 private:
  std::filesystem::path folder_;
  dist::Mesh mesh_ = dist::Mesh::single();
  parallel::Plan plan_;
};

}  // namespace titan::golden
