// SPDX-License-Identifier: BSD-3-Clause
// Folders that transformers wrote (transformers/exchange.py): shards with an
// index, float32 and bfloat16, tied and not.
#include <catch2/catch.hpp>

#include "core/checkpoint/safetensors_folder.h"
#include "tests/golden/hf_case.h"

namespace titan::golden {

TEST_CASE("folders of save_pretrained give the logits of transformers") {
  // Measured: at most 1.2e-6 of logits up to 5.
  constexpr double kTolerance = 1e-5;
  for (const char* type : {"fp32", "bf16"})
    for (const bool is_tied : {false, true}) {
      const std::string name =
          text("transformers/", type, is_tied ? "_tied" : "_untied");
      CAPTURE(name);
      HfCase opened(name, "fp32");
      const checkpoint::SafetensorsFolder folder(opened.folder());
      CHECK(folder.files().size() > 1);
      CHECK((folder.find("lm_head.weight") == nullptr) == is_tied);
      for (const checkpoint::TensorView* view : folder.tensors())
        CHECK(view->dtype == (type == std::string("fp32")
                                  ? checkpoint::Dtype::kF32
                                  : checkpoint::Dtype::kBf16));
      opened.load();
      const at::Tensor expected =
          read_tensors(opened.folder() / "expected.safetensors").at("logits");
      const at::Tensor logits = opened.logits().view(expected.sizes());
      const auto worst = (logits - expected).abs().max().item<double>();
      CAPTURE(worst);
      CHECK(expected.abs().max().item<double>() > 1);
      CHECK(worst <= kTolerance);
    }
}

}  // namespace titan::golden
