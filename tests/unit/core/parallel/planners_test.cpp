// SPDX-License-Identifier: BSD-3-Clause
// The four planners on requests made by hand: they are pure functions.
#include <map>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "plugins/parallel/fsdp/plan.h"
#include "plugins/parallel/pipeline/plan.h"
#include "plugins/parallel/recompute/plan.h"
#include "plugins/parallel/tensor/plan.h"

namespace titan {
namespace {

using fsdp_plan::FsdpPlanner;
using pipeline_plan::PipelinePlanner;
using recompute_plan::RecomputePlanner;
using tensor_plan::TensorPlanner;

// Collects the `model` of a request.
class ModelWriter {
 public:
  void module(const std::string& fqn,
              const std::string& parent,
              const char* class_name,
              bool is_leaf) {
    modules_.push_back(Json::object({{"fqn", fqn},
                                     {"class", class_name},
                                     {"parent", parent},
                                     {"is_leaf", is_leaf}}));
  }
  void parameter(const std::string& owner,
                 Json::Array shape,
                 const char* shard,
                 int64_t granule) {
    parameters_.push_back(Json::object({{"fqn", owner + ".weight"},
                                        {"shape", Json(std::move(shape))},
                                        {"shard", shard},
                                        {"granule", granule},
                                        {"module", owner},
                                        {"users", Json::array({owner})}}));
  }
  void item(const std::string& fqn, Json::Array names, bool is_output = false) {
    items_.push_back(Json::object({{"fqn", fqn},
                                   {"parameters", Json(std::move(names))},
                                   {"is_output", is_output}}));
  }
  Json json() const {
    return Json::object({{"items", items_},
                         {"modules", modules_},
                         {"parameters", parameters_},
                         {"output", Json::object({{"head", "head"}})}});
  }

 private:
  Json items_ = Json::array(), modules_ = Json::array(),
       parameters_ = Json::array();
};

// One layer: four query heads and two key heads of 16.
void add_layer(ModelWriter& model, const std::string& layer) {
  const std::string attention = layer + ".attention";
  model.module(layer, "layers", "block", false);
  model.module(attention, layer, "attention", false);
  for (const char* leaf : {".wq", ".wk", ".wo", ".q_norm"})
    model.module(attention + leaf, attention, "titan.linear/1", true);
  model.parameter(attention + ".wq", {64, 64}, "column", 16);
  model.parameter(attention + ".wk", {32, 64}, "column", 16);
  model.parameter(attention + ".wo", {64, 64}, "row", 16);
  model.parameter(attention + ".q_norm", {16}, "replicate", 1);
  model.item(layer, {attention + ".wq.weight", attention + ".wk.weight"});
}

Json make_request(int64_t num_layers, const char* mesh) {
  ModelWriter model;
  model.module("", "", "container", false);
  model.module("layers", "", "container", false);
  model.module("embed", "", "titan.embedding/1", true);
  model.parameter("embed", {256, 64}, "vocab", 1);
  model.item("embed", {"embed.weight"});
  for (int64_t i = 0; i < num_layers; ++i) add_layer(model, text("layers.", i));
  model.module("norm", "", "titan.rms_norm/1", true);
  model.parameter("norm", {64}, "replicate", 1);
  model.item("norm", {"norm.weight"});
  model.module("head", "", "titan.linear/1", true);
  model.parameter("head", {256, 64}, "vocab", 1);
  model.item("head", {"head.weight"}, true);
  return Json::object({{"mesh", Json::parse(mesh)},
                       {"model", model.json()},
                       {"training", Json::object({{"microbatches", 4}})},
                       {"options", Json::object()},
                       {"plan", Json::object()}});
}

constexpr const char* kMesh =
    R"({"pp":1,"dp_replicate":1,"dp_shard":2,"cp":1,"tp":2,"ep":1})";
constexpr const char* kPipelineMesh =
    R"({"pp":4,"dp_replicate":1,"dp_shard":1,"cp":1,"tp":1,"ep":1})";

template <typename Planner>
std::string plan_of(const Json& request) {
  return Planner(Config(nullptr)).plan(request).dump();
}

template <typename Planner>
std::string error_of(const Json& request) {
  try {
    plan_of<Planner>(request);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("planner titan.pipeline weighs input and output as it is told") {
  Json request = make_request(6, kPipelineMesh);
  request["options"] = Json::object(
      {{"pipeline_input_weight", 2}, {"pipeline_output_weight", 0}});
  // Eight in all, two each: the first stage has the embedding alone.
  const Json plan = PipelinePlanner(Config(nullptr)).plan(request);
  const Json& stages = plan.at("pipeline").at("stages");
  CHECK(stages.at(0).at("items").size() == 1);
  CHECK(stages.at(3).at("items").size() == 4);
  request["options"]["pipeline_input_weight"] = 9;
  CHECK(error_of<PipelinePlanner>(request) ==
        "[parallel.pipeline_input_weight] must not exceed its stage's share: "
        "expected at most 4 layers, got 9");
}

TEST_CASE("planner titan.recompute takes a pattern instead of every block") {
  Json request = make_request(3, kMesh);
  request["options"] = Json::object(
      {{"recompute",
        Json::object({{"mode", "full"}, {"match", "layers.[02]"}})}});
  const Json plan = RecomputePlanner(Config(nullptr)).plan(request);
  const Json& rules = plan.at("recompute").at("rules");
  REQUIRE(rules.size() == 1);
  CHECK(rules.at(std::size_t{0}).at("match").str() == "layers.[02]");
}

TEST_CASE("planner titan.pipeline splits six layers over four stages") {
  // Reference R.5: effective 8, two each.
  Json request = make_request(6, kPipelineMesh);
  const Json plan = PipelinePlanner(Config(nullptr)).plan(request);
  const Json& stages = plan.at("pipeline").at("stages");
  REQUIRE(stages.size() == 4);
  const auto read = [&](size_t i, const char* key) {
    return stages.at(i).at(key).dump();
  };
  CHECK(read(0, "items") == R"(["embed","layers.0"])");
  CHECK(read(1, "items") == R"(["layers.1","layers.2"])");
  CHECK(read(2, "items") == R"(["layers.3","layers.4"])");
  CHECK(read(3, "items") == R"(["layers.5","norm","head"])");
  CHECK(read(0, "actions") == R"(["F0","F1","F2","F3","B0","B1","B2","B3"])");
  CHECK(read(2, "actions") == R"(["F0","F1","B0","F2","B1","F3","B2","B3"])");
  CHECK(read(3, "actions") == R"(["F0","B0","F1","B1","F2","B2","F3","B3"])");
}

TEST_CASE("planner titan.pipeline runs GPipe and refuses the unknown") {
  Json request = make_request(6, kPipelineMesh);
  request["options"]["schedule"] = "gpipe";
  CHECK_THAT(plan_of<PipelinePlanner>(request),
             Catch::Contains(R"("F3","B0","B1","B2","B3"])"));
  request["options"]["schedule"] = "zbv";
  CHECK(error_of<PipelinePlanner>(request) ==
        "[parallel.schedule] expected gpipe or 1f1b, got zbv");
  request["mesh"]["pp"] = 9;
  CHECK(error_of<PipelinePlanner>(request) ==
        "[parallel.pp] stages: expected at most 8 (6 layers, input and "
        "output), got 9");
}

TEST_CASE("planner titan.fsdp makes a bucket per item, norm and head in one") {
  CHECK(plan_of<FsdpPlanner>(make_request(1, kMesh)) ==
        R"({"data":{"buckets":[)"
        R"({"name":"embed","items":["embed"],"placement":"flat",)"
        R"("reshards_after_forward":true},)"
        R"({"name":"layers.0","items":["layers.0"],"placement":"flat",)"
        R"("reshards_after_forward":true},)"
        R"({"name":"norm","items":["norm","head"],"placement":"flat",)"
        R"("reshards_after_forward":false}]}})");
  Json request = make_request(1, kMesh);
  request["mesh"]["dp_shard"] = 1;
  CHECK_THAT(plan_of<FsdpPlanner>(request), !Catch::Contains("flat"));
  request["mesh"]["dp_shard"] = 2;
  request["options"]["reshard_after_forward"] = "sometimes";
  CHECK_THAT(error_of<FsdpPlanner>(request), Catch::Contains("got sometimes"));
  request["options"]["reshard_after_forward"] = "never";
  CHECK_THAT(plan_of<FsdpPlanner>(request),
             !Catch::Contains(R"(forward":true)"));
}

TEST_CASE("planner titan.tensor cuts by hints, in patterns that agree") {
  const std::string plan = plan_of<TensorPlanner>(make_request(3, kMesh));
  for (const char* cut : {R"({"match":"layers.*.attention.wq.weight","dim":0})",
                          R"({"match":"layers.*.attention.wo.weight","dim":1})",
                          R"({"match":"embed.weight","dim":0})"})
    CHECK_THAT(plan, Catch::Contains(cut));
  const Json json = Json::parse(plan);
  std::string around;
  for (const Json& entry : json.at("tensor").at("modules").items()) {
    around += entry.at("match").str();
    for (const char* key : {"copies_input",
                            "reduces_output",
                            "is_vocabulary_parallel",
                            "sums_gradients"})
      if (entry.at(key).flag()) around += text(' ', key);
    around += '\n';
  }
  CHECK(around ==
        "embed reduces_output is_vocabulary_parallel\n"
        "head is_vocabulary_parallel\n"
        "layers.*.attention copies_input\n"
        "layers.*.attention.q_norm sums_gradients\n"
        "layers.*.attention.wo reduces_output\n");
}

TEST_CASE("planner titan.tensor sums adapters where ranks see parts") {
  Json request = make_request(1, kMesh);
  const auto add = [&](const std::string& leaf,
                       const char* name,
                       Json::Array shape,
                       const char* shard) {
    const std::string fqn = leaf + name;
    request["model"]["modules"].push_back(
        Json::object({{"fqn", fqn},
                      {"class", "titan.linear/1"},
                      {"parent", leaf},
                      {"is_leaf", true}}));
    request["model"]["parameters"].push_back(
        Json::object({{"fqn", fqn + ".weight"},
                      {"shape", Json(std::move(shape))},
                      {"shard", shard},
                      {"granule", 16},
                      {"module", fqn},
                      {"users", Json::array({fqn})}}));
  };
  const std::string attention = "layers.0.attention";
  add(attention + ".wq", ".lora_A", {4, 64}, "replicate");
  add(attention + ".wq", ".lora_B", {64, 4}, "column");
  add(attention + ".wo", ".lora_A", {4, 64}, "row");
  add(attention + ".wo", ".lora_B", {64, 4}, "replicate");
  const Json plan = Json::parse(plan_of<TensorPlanner>(request));
  std::map<std::string, std::string> around;
  for (const Json& entry : plan.at("tensor").at("modules").items())
    around[entry.at("match").str()] =
        entry.at("sums_gradients").flag()   ? "sums gradients"
        : entry.at("reduces_output").flag() ? "reduces output"
                                            : "other";
  // Each rank's part of the heads gives a part of A's gradient.
  CHECK(around["layers.*.attention.wq.lora_A"] == "sums gradients");
  CHECK(around.count("layers.*.attention.wq.lora_B") == 0);
  CHECK(around["layers.*.attention.wo.lora_A"] == "reduces output");
  // Behind the sum all ranks compute the same.
  CHECK(around.count("layers.*.attention.wo.lora_B") == 0);
}

// Only the host applies a cut head; a second embedding is cut as the first.
TEST_CASE("planner titan.tensor knows all users of a tied vocabulary") {
  Json request = make_request(1, kMesh);
  const auto share = [&](const char* fqn, const char* leaf, size_t parameter) {
    request["model"]["modules"].push_back(Json::object(
        {{"fqn", fqn}, {"class", leaf}, {"parent", ""}, {"is_leaf", true}}));
    Json::Array parameters = request.at("model").at("parameters").items();
    parameters[parameter]["users"].push_back(fqn);
    request["model"]["parameters"] = Json(std::move(parameters));
  };
  const size_t last = request.at("model").at("parameters").size() - 1;
  share("further.embed", "titan.embedding/1", 0);
  const Json plan = Json::parse(plan_of<TensorPlanner>(request));
  size_t num_cut = 0;
  for (const Json& entry : plan.at("tensor").at("modules").items())
    if (entry.at("match").str() == "further.embed") {
      ++num_cut;
      CHECK(entry.at("is_vocabulary_parallel").flag());
    }
  CHECK(num_cut == 1);
  share("further.head", "titan.linear/1", last);
  CHECK(error_of<TensorPlanner>(request) ==
        "[parallel.tp] further.head is a head beside the model's own, as that "
        "of multi-token prediction (model.config.mtp.num_layers): expected tp "
        "1 with it, got 2. Set one of the two back.");
}

TEST_CASE("planner titan.tensor refuses a head with a bias") {
  Json request = make_request(1, kMesh);
  Json bias = request.at("model").at("parameters").items().back();
  const std::string head = request.at("model").at("output").at("head").str();
  bias["fqn"] = head + ".bias";
  bias["shape"] = Json::array({bias.at("shape").at(size_t{0})});
  request["model"]["parameters"].push_back(bias);
  CHECK(error_of<TensorPlanner>(request) ==
        "[parallel.tp] the head " + head +
            " has a bias (titan.gpt: model.config.bias.head): expected tp 1 "
            "with it, got 2. Set one of the two back.");
}

TEST_CASE("planner titan.tensor names the degrees that key heads allow") {
  Json request = make_request(2, kMesh);
  request["mesh"]["tp"] = 4;
  CHECK(error_of<TensorPlanner>(request) ==
        "[parallel.tp] layers.0.attention.wk.weight has 2 units of 16 in "
        "dimension 0: expected one of (1, 2) for this model, got 4");
}

TEST_CASE("planner titan.recompute covers the blocks, or what match says") {
  Json request = make_request(2, kMesh);
  request["options"] = Json::parse(R"({"recompute":{"mode":"full"}})");
  CHECK(plan_of<RecomputePlanner>(request) ==
        R"({"recompute":{"rules":[)"
        R"({"match":"layers.0","mode":"full","save_ops":[]},)"
        R"({"match":"layers.1","mode":"full","save_ops":[]}]}})");
  request["options"] = Json::parse(
      R"({"recompute":{"mode":"selective","save_ops":["titan.attention/1"],)"
      R"("match":"layers.*"}})");
  CHECK(plan_of<RecomputePlanner>(request) ==
        R"({"recompute":{"rules":[{"match":"layers.*","mode":"selective",)"
        R"("save_ops":["titan.attention/1"]}]}})");
  request["options"] = Json::parse(
      R"({"recompute":{"mode":"full","save_ops":["titan.attention/1"]}})");
  CHECK_THAT(error_of<RecomputePlanner>(request),
             Catch::Contains("expected none with mode full"));
}

}  // namespace titan
