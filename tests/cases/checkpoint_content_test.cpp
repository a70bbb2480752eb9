// SPDX-License-Identifier: BSD-3-Clause
// What goes into a checkpoint is the logical tensor, and what comes out of one
// that does not fit is a list of everything that does not.
#include <ATen/core/grad_mode.h>
#include <catch2/catch.hpp>

#include "core/checkpoint/checkpoint_reader.h"
#include "core/checkpoint/checkpoint_writer.h"
#include "core/train/run_saver.h"
#include "core/train/tensor_bytes.h"
#include "core/train/weights.h"
#include "tests/cases/small_run.h"
#include "tests/unit/core/observe/captured_log.h"

namespace titan::cases {

using Catch::Contains;

namespace {

void load_leniently(train::Training& training,
                    const std::filesystem::path& path) {
  train::load_weights(*training.model,
                      *training.engine,
                      path,
                      checkpoint::real_file_system(),
                      false);
}

// `three`: without the first parameter, with another shape of norm.weight.
// `prefixed`: nothing fits.
void check_lenient(train::Training& training,
                   const std::filesystem::path& three,
                   const std::filesystem::path& prefixed) {
  const at::NoGradGuard no_grad;
  parallel::ParameterEngine& engine = *training.engine;
  const auto& parts = engine.parts();
  std::vector<at::Tensor> saved;
  for (const auto& part : parts) {
    saved.push_back(engine.master(part).clone());
    engine.master(part).fill_(7);
  }
  const test::CapturedLog log;
  load_leniently(training, three);
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool is_left = i == 0 || parts[i].parameter->fqn == "norm.weight";
    const at::Tensor expected = is_left ? at::full_like(saved[i], 7) : saved[i];
    INFO(parts[i].parameter->fqn);
    CHECK(at::equal(engine.master(parts[i]), expected));
  }
  CHECK_THAT(
      log.lines.at(0),
      Contains(text(
          "loaded ", parts.size() - 2, " of ", parts.size(), " parameters")) &&
          Contains("missing: 1") && Contains("of another shape: 1") &&
          Contains("unexpected: 1"));
  CHECK_THROWS_WITH(load_leniently(training, prefixed),
                    Contains("got none that fits"));
}

}  // namespace

// Case CKP-18.
TEST_CASE("views are stored as the tensors that they show") {
  const ScratchFolder folder;
  checkpoint::FileSystem& files = checkpoint::real_file_system();
  const at::Tensor base = at::arange(24, at::kFloat).view({4, 6});
  const std::map<std::string, at::Tensor> tensors = {
      {"transposed", base.t()},
      {"sliced", base.slice(0, 1)},
      {"columns", base.slice(1, 1, 6, 2)},
      {"expanded", base.select(0, 0).expand({3, 6})},
      {"scalar", at::scalar_tensor(2.5)},
      {"empty", at::empty({0, 4})},
      {"bool", base.gt(11)},
      {"bf16", base.to(at::kBFloat16).t()},
      {"fp8", base.to(at::ScalarType::Float8_e4m3fn)}};
  checkpoint::CheckpointWriter writer(files, {folder.path(), 1});
  int64_t data_bytes = 0;
  for (const auto& [name, tensor] : tensors) {
    writer.add_tensor("model", train::source_of(name, tensor));
    data_bytes += tensor.numel() * static_cast<int64_t>(tensor.element_size());
  }
  const checkpoint::SafetensorsFile file(writer.commit({}) /
                                         "model-rank0.safetensors");
  for (const auto& [name, tensor] : tensors) {
    CAPTURE(name);
    const at::Tensor stored = train::tensor_of(file.get(name));
    CHECK(stored.scalar_type() == tensor.scalar_type());
    REQUIRE(stored.sizes() == tensor.sizes());
    CHECK(at::equal(stored.to(at::kFloat), tensor.to(at::kFloat)));
  }
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.bytes().data(), 8);
  CHECK(static_cast<int64_t>(file.bytes().size()) ==
        8 + static_cast<int64_t>(header_bytes) + data_bytes);
}

// Case CKP-08.
TEST_CASE("a checkpoint of another model lists all that does not fit") {
  const ScratchFolder folder;
  SmallRun({"training.steps=1"})
      .run([](train::Training&) {},
           [&](train::Training& training) {
             const parallel::ParameterEngine& engine = *training.engine;
             const auto write = [&](int64_t step, const auto& rename) {
               checkpoint::CheckpointWriter writer(
                   checkpoint::real_file_system(), {folder.path(), step});
               for (const parallel::LocalPart& part : engine.parts()) {
                 const std::string name = rename(part.parameter->fqn);
                 at::Tensor value = engine.master(part);
                 if (name == "norm.weight")
                   value = at::ones({value.numel() + 1});
                 if (!name.empty())
                   writer.add_tensor("model", train::source_of(name, value));
               }
               writer.add_tensor("model",
                                 train::source_of("extra", at::ones({2})));
               return writer.commit({});
             };
             const auto load = [&](const std::filesystem::path& path) {
               train::load_weights(*training.model, *training.engine, path);
             };
             // One missing, one of another shape, one extra.
             const std::string first = engine.parts().front().parameter->fqn;
             const auto three = write(1, [&](const std::string& name) {
               return name == first ? "" : name;
             });
             CHECK_THROWS_WITH(
                 load(three),
                 Contains("missing: 1\n    " + first) &&
                     Contains("of another shape: 1\n    norm.weight "
                              "shape: expected (32), got (33)") &&
                     Contains("unexpected: 1\n    extra"));
             // Nothing matches.
             const auto prefixed = write(
                 2, [](const std::string& name) { return "module." + name; });
             CHECK_THROWS_WITH(
                 load(prefixed),
                 Contains(text("missing: ", engine.parts().size())) &&
                     Contains("unexpected: ") && Contains("\n    module."));
             check_lenient(training, three, prefixed);
           });
}

}  // namespace titan::cases
