// SPDX-License-Identifier: BSD-3-Clause
// Adapters against PEFT's (make_adapters.py): logits, gradients, five steps of
// AdamW, merged weights, and files there and back.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/train/adapter.h"
#include "core/train/optimizer.h"
#include "core/train/step_loss.h"
#include "tests/golden/hf_case.h"

namespace titan::golden {
namespace {

using Tensors = std::map<std::string, at::Tensor>;

// Measured: at most 1.2e-6 for logits and gradients, 2.2e-6 of the update for
// final tensors, nothing for merged weights; float32 rounds as much.
constexpr double kGradLimit = 1e-5;
constexpr double kUpdateLimit = 2e-5;

// The recipe's side of make_adapters.py's CASES.
const std::map<std::string, std::string> kCases = {
    {"lora", R"({"rank": 4, "alpha": 8})"},
    {"rslora",
     R"({"rank": 4, "alpha": 6, "use_rslora": true,
         "targets": ["layers.*.attention.qkv_linear.wq",
                     "layers.*.attention.qkv_linear.wv"]})"},
    {"dora",
     R"({"rank": 3, "alpha": 6, "use_dora": true,
         "targets": ["layers.*.attention.**", "**.w2"]})"}};

module::BatchTensors golden_batch() {
  const at::Tensor ids_BT =
      read_tensors(case_folder("llama3") / "inputs.safetensors")
          .at("input_ids");
  const int64_t rows = ids_BT.size(0), length = ids_BT.size(1);
  module::BatchTensors batch;
  batch.tokens = ids_BT.reshape({-1}).contiguous();
  at::Tensor labels_BT = at::full({rows, length}, -100, at::kLong);
  labels_BT.narrow(1, 0, length - 1).copy_(ids_BT.narrow(1, 1, length - 1));
  batch.labels = labels_BT.view({-1});
  batch.loss_weight = at::ones({rows * length});
  batch.doc_id = at::arange(rows, at::kInt).repeat_interleave(length);
  batch.cu_seqlens = at::arange(0, rows * length + 1, length, at::kInt);
  batch.positions = at::arange(length, at::kInt).repeat({rows});
  batch.global_index = at::arange(rows * length, at::kLong);
  return batch;
}

// A golden case, opened: PEFT's adapter on the golden model.
class AdapterCase {
 public:
  explicit AdapterCase(const std::string& name)
      : folder(case_folder("lora") / name),
        expected(read_tensors(folder / "expected.safetensors")),
        on("llama3", "fp32", kCases.at(name)),
        batch_(golden_batch()) {
    on.load();
    train::load_adapter(*on.model, *on.engine, folder);
  }

  at::Tensor logits() {
    return on.executor->logits(batch_, TITAN_MODE_EVAL, nullptr, false);
  }
  double step() {
    const auto targets = (batch_.labels != -100).sum().item<int64_t>();
    on.engine->clear_gradients();
    const auto result =
        on.executor->train({batch_}, train::count_batches({batch_}, targets));
    return result.loss_sum.item<double>() / static_cast<double>(targets);
  }
  /// The adapter's tensors under PEFT's names.
  template <typename Get>
  Tensors tensors(Get get) const {
    std::vector<module::ParameterValue> values;
    for (const parallel::LocalPart& part : on.engine->parts())
      if (part.parameter->adapts != nullptr)
        values.push_back(
            {part.parameter, get(part).view(part.parameter->shape)});
    return train::adapter_keys(*on.model).save(values);
  }
  Tensors parameters() const {
    return tensors([&](const auto& part) { return on.engine->master(part); });
  }

  std::filesystem::path folder;
  Tensors expected;
  HfCase on;

 private:
  module::BatchTensors batch_;
};

const std::string kPrefix = "base_model.model.";

}  // namespace

TEST_CASE("adapters equal PEFT's in logits, loss and every gradient") {
  const std::string name =
      GENERATE(as<std::string>{}, "lora", "rslora", "dora");
  INFO(name);
  AdapterCase of(name);
  const at::Tensor& logits = of.expected.at("logits");
  const double logits_error =
      relative_error(of.logits().view(logits.sizes()), logits);
  CAPTURE(logits_error);
  CHECK(logits_error < kGradLimit);
  CHECK(of.step() ==
        Approx(of.expected.at("loss")[0].item<double>()).epsilon(kGradLimit));
  const Tensors gradients = of.tensors(
      [&](const auto& part) { return of.on.engine->gradient(part); });
  const Tensors saved = read_tensors(of.folder / "adapter_model.safetensors");
  REQUIRE(gradients.size() == saved.size());
  for (const auto& [key, value] : saved) {
    const double error =
        relative_error(gradients.at(key), of.expected.at("grad " + key));
    CAPTURE(key, error);
    CHECK(error < kGradLimit);
  }
  // The base is frozen: no gradient is there.
  for (const parallel::LocalPart& part : of.on.engine->parts())
    CHECK(of.on.engine->gradient(part).defined() ==
          (part.parameter->adapts != nullptr));
}

TEST_CASE("adapters take five steps of AdamW as in PyTorch") {
  const std::string name =
      GENERATE(as<std::string>{}, "lora", "rslora", "dora");
  INFO(name);
  AdapterCase of(name);
  const plugin::Component& adamw =
      plugins().plugins.find("titan.optimizer/1", "titan.adamw");
  train::Optimizer optimizer(
      adamw.as<titan_optimizer_table>(),
      adamw.owner->host,
      adamw.owner,
      adamw.id,
      train::complete_config(
          adamw,
          config::Value::from_json(
              R"({"lr": 1e-2, "betas": [0.9, 0.95], "weight_decay": 0.1})",
              "test")),
      {},
      *of.on.engine);
  const Tensors start = of.parameters();
  std::map<std::string, at::Tensor> kept;
  for (const auto& [key, value] : start) kept[key] = value.clone();
  for (int64_t step = 1; step <= 5; ++step) {
    of.step();
    optimizer.step(1e-2, step, at::scalar_tensor(1.0, at::kDouble));
    of.on.engine->invalidate();
  }
  for (const auto& [key, value] : of.parameters()) {
    const at::Tensor& end = of.expected.at("final " + key);
    const double error =
        ((value - end).norm() / (end - kept.at(key)).norm()).item<double>();
    CAPTURE(key, error);
    CHECK(error < kUpdateLimit);
  }
  CHECK(of.step() == Approx(of.expected.at("final loss")[0].item<double>())
                         .epsilon(kUpdateLimit));
}

TEST_CASE("merged weights equal PEFT's and give the adapter's logits") {
  const std::string name =
      GENERATE(as<std::string>{}, "lora", "rslora", "dora");
  INFO(name);
  AdapterCase of(name);
  const Tensors merged = train::hf_tensors(*of.on.model, *of.on.engine);
  CHECK(merged.size() ==
        read_tensors(case_folder("llama3") / "model.safetensors").size());
  int64_t compared = 0;
  for (const auto& [key, value] : of.expected) {
    if (!key.starts_with("merged ")) continue;
    const double error = relative_error(merged.at(key.substr(7)), value);
    CAPTURE(key, error);
    CHECK(error < kGradLimit);
    ++compared;
  }
  CHECK(compared == 2);
  // Into a model without adapters.
  HfCase plain("llama3", "fp32");
  const module::KeyMap keys(*plain.model);
  for (const parallel::LocalPart& part : plain.engine->parts())
    plain.engine->scatter(
        part,
        keys.load(*part.parameter,
                  [&](const std::string& key) { return merged.at(key); }),
        plain.engine->master(part));
  plain.engine->invalidate();
  const at::Tensor logits =
      plain.executor->logits(golden_batch(), TITAN_MODE_EVAL, nullptr, false);
  CHECK(relative_error(logits, of.logits()) < kGradLimit);
}

TEST_CASE("an adapter of PEFT goes to Titan and back bit for bit") {
  const std::string name =
      GENERATE(as<std::string>{}, "lora", "rslora", "dora");
  INFO(name);
  const AdapterCase of(name);
  const Tensors original =
      read_tensors(of.folder / "adapter_model.safetensors");
  const Tensors back = of.parameters();
  REQUIRE(back.size() == original.size());
  for (const auto& [key, value] : original) {
    INFO(key);
    REQUIRE(back.count(key) == 1);
    CHECK(at::equal(back.at(key), value));
  }
}

TEST_CASE("new adapters change no logit, and rows keep their lengths") {
  HfCase plain("llama3", "fp32");
  plain.load();
  HfCase dora("llama3", "fp32", kCases.at("dora"));
  dora.load();
  train::initialise_adapters(*dora.model, *dora.engine, 3);
  CHECK(relative_error(dora.logits(), plain.logits()) < kGradLimit);
  for (const auto& module : dora.model->tree().modules()) {
    if (module->adapter == nullptr) continue;
    const auto master = [&](const module::Parameter& parameter) {
      return dora.engine->master(*dora.engine->part_of(parameter));
    };
    const auto& added = module->adapter->parameters;
    REQUIRE(added.size() == 3);
    const at::Tensor weight_OI = master(*module->parameters[0]);
    // Kaiming's bound with a = sqrt(5), nearly reached by the largest of them.
    const double bound = 1 / std::sqrt(static_cast<double>(weight_OI.size(1)));
    const double largest = master(*added[0]).abs().max().item<double>();
    INFO(module->fqn);
    CHECK(largest <= bound);
    CHECK(largest > 0.9 * bound);
    CHECK(master(*added[1]).abs().max().item<double>() == 0);
    CHECK(relative_error(master(*added[2]), weight_OI.norm(2, 1)) < 1e-6);
  }
}

TEST_CASE("an adapter of other settings or layers is refused with both") {
  using Catch::Matchers::Contains;
  const auto refused = [](const std::string& config, const std::string& name) {
    HfCase on("llama3", "fp32", config);
    on.load();
    try {
      train::load_adapter(*on.model, *on.engine, case_folder("lora") / name);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  CHECK_THAT(refused(R"({"rank": 8, "alpha": 8})", "lora"),
             Contains("r of adapter_config.json") && Contains("expected 8") &&
                 Contains("got 4"));
  CHECK_THAT(refused(R"({"rank": 3, "alpha": 6})", "dora"),
             Contains("use_dora of adapter_config.json"));
  CHECK_THAT(
      refused(R"({"rank": 4, "alpha": 8, "targets": ["**.wq"]})", "lora"),
      Contains("unexpected key") && Contains("adapter.config.targets"));
  CHECK_THAT(
      refused(R"({"rank": 4, "alpha": 6, "use_rslora": true})", "rslora"),
      Contains("missing key") && Contains("lora_A"));
}

TEST_CASE("targets that adapt nothing are refused with the reason") {
  using Catch::Matchers::Contains;
  const auto refused = [](const std::string& name, const std::string& target) {
    try {
      HfCase(name, "fp32", R"({"targets": [")" + target + R"("]})");
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  CHECK_THAT(refused("llama3", "layers.9.**"),
             Contains("[adapter.config.targets] pattern 'layers.9.**'") &&
                 Contains("no layer has such a name"));
  CHECK_THAT(refused("llama3", "lm_head"), Contains("it is the head"));
  CHECK_THAT(refused("llama3", "tok_embeddings"),
             Contains("it is titan.embedding/1"));
  CHECK_THAT(refused("llama3", "layers.[01]"), Contains("got '['"));
  // Tied: the head is the embedding's weight.
  CHECK_THAT(refused("llama3_linear", "lm_head"), Contains("it is the head"));
  CHECK_THAT(refused("llama3_linear", "tok_embeddings"),
             Contains("it is titan.embedding/1"));
}

}  // namespace titan::golden
