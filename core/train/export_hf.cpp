// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/export_hf.h"

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/checkpoint/export.h"
#include "core/module/hf_keys.h"
#include "core/train/adapter.h"
#include "core/train/tensor_bytes.h"

namespace titan::train {

using OrderedJson = nlohmann::ordered_json;

std::map<std::string, at::Tensor> hf_tensors(
    const module::Model& model,
    const parallel::ParameterEngine& engine) {
  const module::KeyMap keys(model);
  const std::vector<module::Parameter> keyed = keys.keyed_buffers(model.tree());
  std::vector<module::ParameterValue> values = merged_values(model, engine);
  for (const module::Parameter& buffer : keyed)
    for (const auto& entry : engine.buffers().entries())
      if (entry.buffer->fqn == buffer.fqn)
        values.push_back({&buffer, entry.value});
  return keys.save(values);
}

void add_tokenizer(checkpoint::HfFolder& content,
                   const std::filesystem::path& folder,
                   const Tokenizer& tokenizer) {
  const auto id = [](std::optional<int> given) {
    return given ? OrderedJson(*given) : OrderedJson(nullptr);
  };
  const OrderedJson ids = {{"bos_token_id", id(tokenizer.bos_id())},
                           {"eos_token_id", id(tokenizer.eos_id())}};
  if (!folder.empty()) checkpoint::copy_model_files(content, folder);
  // The folder's own may know more: temperature, several ends.
  if (content.generation_config_json.empty())
    content.generation_config_json = ids.dump(2) + '\n';
  OrderedJson config = OrderedJson::parse(content.config_json);
  config.update(ids);
  content.config_json = config.dump(2) + '\n';
}

void export_hf(Training& training,
               checkpoint::FileSystem& files,
               const std::filesystem::path& path,
               const std::filesystem::path& tokenizer_folder,
               std::optional<at::ScalarType> dtype) {
  TITAN_USER_CHECK(training.mesh.size("pp") == 1,
                   "[checkpoint.export_hf] expected one pipeline stage, got ",
                   training.mesh.size("pp"),
                   ". Export from the checkpoint with `titan convert`.");
  checkpoint::HfFolder content;
  for (auto& [name, tensor] : hf_tensors(*training.model, *training.engine))
    content.tensors.push_back(
        source_of(name, tensor, dtype.value_or(tensor.scalar_type())));
  if (training.mesh.rank() != 0) return;
  content.config_json = checkpoint::config_with_dtype(
      training.model->config_to_hf(), content.tensors.front().spec.dtype);
  add_tokenizer(content, tokenizer_folder, *training.tokenizer);
  std::filesystem::remove_all(path);
  checkpoint::write_hf_folder(files, path, content);
}

}  // namespace titan::train
