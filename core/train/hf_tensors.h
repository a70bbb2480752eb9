// SPDX-License-Identifier: BSD-3-Clause
// The tensors of a Hugging Face folder as loading wants them: block-scaled
// numbers (fp8 of DeepSeek-V3, MXFP4 of gpt-oss) are the float32 tensors that
// they stand for, and their scales are gone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/checkpoint/safetensors_folder.h"
#include "core/checkpoint/safetensors_writer.h"

namespace titan::train {

class HfTensors {
 public:
  /// Reads no values. `folder` outlives this. UserError as
  /// checkpoint::decode_block_scaled.
  explicit HfTensors(const checkpoint::SafetensorsFolder& folder);

  /// Names, each once.
  std::vector<std::string> names() const;
  /// Null when absent.
  const checkpoint::TensorSpec* find(const std::string& name) const;
  /// A copy, decoded. UserError when absent.
  at::Tensor read(const std::string& name) const;

 private:
  const checkpoint::SafetensorsFolder& folder_;
  std::map<std::string, checkpoint::TensorSource> sources_;
};

}  // namespace titan::train
