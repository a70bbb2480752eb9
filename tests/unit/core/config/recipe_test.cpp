// SPDX-License-Identifier: BSD-3-Clause
// CFG-02, CFG-04 and CFG-08 are cases of the fault collection: misspelled keys
// that train for hours with defaults, and overrides that lose.
#include <catch2/catch.hpp>

#include "core/config/recipe_rules.h"
#include "tests/unit/core/config/recipe_fixture.h"

using namespace titan::config;
using Catch::Contains;

TEST_CASE("a minimal recipe is filled with defaults and flavors", "[unit]") {
  const Recipe recipe = load_text(kMinimalRecipe);
  CHECK(recipe.integer("training.steps") == 7);
  CHECK(recipe.integer("training.seed") == 0);
  CHECK(recipe.number("optimizer.config.lr") == 3e-4);
  CHECK(recipe.number("optimizer.config.weight_decay") == 0.1);
  CHECK(recipe.string("precision.use") == "fp32");
  CHECK(recipe.integer("model.config.dim") == 256);
  CHECK(recipe.number("model.config.rope.theta") == 10000.0);
  CHECK(recipe.string("run_folder") == "runs/r");
  CHECK(recipe.string("name") == "r");
  CHECK(recipe.origin("model.config.dim").describe() ==
        "flavor debugmodel of test.llama");
  CHECK(recipe.origin("model.config.moe_layers").describe() ==
        "default of test.llama");
  CHECK(recipe.origin("training.seed").describe() == "default");
  CHECK_FALSE(recipe.optional_integer("training.tokens_per_step"));
}

TEST_CASE("the core schema has no fault and describes every key", "[unit]") {
  const SchemaRegistry registry = make_core_registry();
  for (const KeyDescription& key : list_keys(registry.root())) {
    INFO(key.path);
    CHECK_FALSE(key.schema->description.empty());
    CHECK((!key.schema->types.empty() || !key.schema->one_of.empty()));
  }
}

// CFG-02.
TEST_CASE("misspelled and misplaced keys name the right one", "[unit]") {
  const auto error = [](const std::string& more) {
    return error_of(kMinimalRecipe + more);
  };
  CHECK(error_of("model: {use: test.llama}\ndata: {files: [a]}\n"
                 "training:\n  stpes: 10\n  steps: 1\n  seq_len: 8\n"
                 "optimizer: {use: test.adamw, config: {lr: 1}}\n") ==
        "r.yaml:4:3: [training.stpes] unknown key: expected a key of training, "
        "got \"stpes\". Did you mean training.steps?");
  CHECK(error("learning_rate: 1e-4\n") ==
        "r.yaml:5:1: [learning_rate] unknown key: expected a key of the "
        "recipe, got \"learning_rate\". Did you mean optimizer.config.lr?");
  CHECK_THAT(error("schedule: {warmup-steps: 5}\n"),
             Contains("Did you mean schedule.warmup_steps?"));
  CHECK_THAT(error("lr_scheduler: {warmup_steps: 5}\n"),
             Contains("Did you mean schedule?"));
  CHECK_THAT(error("parallel: {seed: 3}\n"),
             Contains("This key belongs in another section: training.seed."));
  CHECK_THAT(error("checkpoint: {weight_decay: 3}\n"),
             Contains("another section: optimizer.config.weight_decay."));
  CHECK_THAT(error("profiler: {xyzzy: 3}\n"),
             Contains("Known keys: start_step, steps, folder."));
}

TEST_CASE("an unknown key inside a plugin's section is an error", "[unit]") {
  CHECK_THAT(error_of(kMinimalRecipe, {"optimizer.config.weight-decay=0"}),
             Contains("--set #1: [optimizer.config.weight-decay] unknown key"));
  CHECK_THAT(error_of(kMinimalRecipe, {"optimizer.config.weight-decay=0"}),
             Contains("Did you mean optimizer.config.weight_decay?"));
  CHECK_THAT(error_of(kMinimalRecipe, {"model.config.rope.thta=1"}),
             Contains("Did you mean model.config.rope.theta?"));
  CHECK_THAT(error_of(kMinimalRecipe, {"training.stpes=5"}),
             Contains("--set #1: [training.stpes] unknown key"));
}

TEST_CASE("all faults are reported together with their codes", "[unit]") {
  const std::string error = error_of(
      "model: {use: test.lama, flavor: debug}\n"
      "data: {lanes: 0}\n"
      "training:\n  steps: ten\n  max_grad_norm: -1\n  sed: 1\n"
      "optimizer: {use: test.adamw}\n"
      "precision: fp16\n");
  CHECK_THAT(error, Contains("Did you mean test.llama?"));
  CHECK_THAT(error,
             Contains("[data.lanes] value is out of range: expected at "
                      "least 1, got 0"));
  CHECK_THAT(error,
             Contains("r.yaml:4:10: [training.steps] value has the "
                      "wrong type: expected integer, got string "
                      "\"ten\"."));
  CHECK_THAT(error,
             Contains("[training.max_grad_norm] value is out of range: "
                      "expected at least 0, got -1"));
  CHECK_THAT(error, Contains("Did you mean training.seed?"));
  CHECK_THAT(error,
             Contains("[training.seq_len] key is missing: expected "
                      "integer (length of a sequence)"));
  CHECK_THAT(error, Contains("[optimizer.config.lr] key is missing"));
  CHECK_THAT(error,
             Contains("fp16 needs loss scaling, which Titan does not "
                      "have. Use bf16."));
}

TEST_CASE("missing sections are reported by the keys they need", "[unit]") {
  const std::string error = error_of("name: x\n");
  for (const char* key : {"[model.use]",
                          "[training.steps]",
                          "[training.seq_len]",
                          "[optimizer.use]"})
    CHECK_THAT(error, Contains(key));
  CHECK_THAT(error, Catch::StartsWith("r.yaml:1:1: "));
}

TEST_CASE("wrong types say what to write instead", "[unit]") {
  const auto error = [](const std::string& override) {
    return error_of(kMinimalRecipe, {override});
  };
  CHECK_THAT(error("data.shuffle=no"),
             Contains("expected boolean, got string \"no\". Write true or "
                      "false."));
  CHECK_THAT(error("training.steps=1_000"),
             Contains("Write 1000 without quotes and underscores."));
  CHECK_THAT(error("training.steps='10'"), Contains("Write 10 without quotes"));
  CHECK_THAT(error("data.field=123"),
             Contains("expected string, got integer 123. Put it in quotes"));
  CHECK_THAT(error("training.steps=1.5"), Contains("got number 1.5"));
  CHECK_THAT(error("training=3"),
             Contains("[training] value changes its type: "
                      "expected map as in r.yaml:3:11"));
  CHECK_THAT(error("data.files=a.txt"), Contains("changes its type"));
  CHECK_THAT(error("training.steps.x=1"), Contains("changes its type"));
  CHECK_THAT(error("schedule.decay=cosin"), Contains("Did you mean cosine?"));
  CHECK_THAT(error("parallel.dp_shard=0"), Contains("at least 1, got 0"));
}

TEST_CASE("whole numbers and integers convert without loss", "[unit]") {
  const Recipe recipe = load_text(
      kMinimalRecipe, {"training.steps=1e3", "training.max_grad_norm=2"});
  CHECK(recipe.integer("training.steps") == 1000);
  CHECK(recipe.number("training.max_grad_norm") == 2.0);
  CHECK(recipe.json("training.max_grad_norm") == "2.0");
}

// CFG-04.
TEST_CASE("precedence: file over defaults, --set over file", "[unit]") {
  CHECK(load_text(kMinimalRecipe).number("optimizer.config.lr") == 3e-4);
  CHECK(load_text(kMinimalRecipe).integer("training.steps") == 7);
  const Recipe b = load_text(kMinimalRecipe, {"optimizer.config.lr=1e-4"});
  CHECK(b.number("optimizer.config.lr") == 1e-4);
  CHECK(b.integer("training.steps") == 7);
  CHECK(b.origin("optimizer.config.lr").describe() == "--set #1");
  const Recipe c =
      load_text(kMinimalRecipe, {"model.config.moe_layers=[1, 3]"});
  CHECK(c.json("model.config.moe_layers") == "[1,3]");
  const Recipe d = load_text(kMinimalRecipe, {"model.config.moe_layers=[]"});
  CHECK(d.json("model.config.moe_layers") == "[]");
  const Recipe e =
      load_text(kMinimalRecipe, {"training.steps=8", "training.steps=9"});
  CHECK(e.integer("training.steps") == 9);
}

// CFG-04 (d).
TEST_CASE("null restores the default, or is the value where allowed",
          "[unit]") {
  const std::string yaml =
      kMinimalRecipe + "checkpoint: {interval: 9}\ngenerate: {top_k: 5}\n";
  const Recipe recipe = load_text(
      yaml,
      {"checkpoint.interval=null", "generate.top_k=null", "model.flavor="});
  CHECK(recipe.integer("checkpoint.interval") == 500);
  CHECK_FALSE(recipe.has("generate.top_k"));
  CHECK(recipe.integer("model.config.dim") == 64);
  CHECK_THAT(error_of(kMinimalRecipe, {"training.steps=null"}),
             Contains("[training.steps] key is missing"));
  CHECK_THAT(error_of(kMinimalRecipe, {"training.nope=null"}),
             Contains("unknown key"));
}

TEST_CASE("--set takes plain text, flow YAML, maps and list items", "[unit]") {
  const Recipe recipe = load_text(kMinimalRecipe,
                                  {"generate.prompt=To be: or #not",
                                   "data.files=['x y', \"z\"]",
                                   "data.files[1]=w",
                                   "training={seed: 3}",
                                   "precision=bf16",
                                   "kernels.titan.rms_norm/1.use=acme.fast",
                                   "data.field=\"12\""});
  CHECK(recipe.string("generate.prompt") == "To be: or #not");
  CHECK(recipe.strings("data.files") == std::vector<std::string>{"x y", "w"});
  CHECK(recipe.integer("training.seed") == 3);
  CHECK(recipe.integer("training.steps") == 7);
  CHECK(recipe.string("precision.use") == "bf16");
  CHECK(recipe.string("kernels.\"titan.rms_norm/1\".use") == "acme.fast");
  CHECK(recipe.string("data.field") == "12");
}

TEST_CASE("--set that cannot be read says how to write it", "[unit]") {
  CHECK_THAT(error_of(kMinimalRecipe, {"training.steps"}),
             Contains("override has no value: expected KEY=VALUE"));
  CHECK_THAT(error_of(kMinimalRecipe, {"=3"}), Contains("KEY=VALUE"));
  CHECK_THAT(error_of(kMinimalRecipe, {"data.files=[a"}),
             Contains("--set #1:1:1: ") && Contains("bracket is not closed"));
  CHECK_THAT(error_of(kMinimalRecipe, {"data.files[4]=a"}),
             Contains("no such list item"));
  CHECK_THAT(error_of(kMinimalRecipe, {"training..steps=1"}),
             Contains("empty step"));
  CHECK_THAT(error_of(kMinimalRecipe, {"extends=[x.yaml]"}),
             Contains("extended in recipes only"));
}

TEST_CASE("shorthands merge with the long form", "[unit]") {
  const Recipe recipe =
      load_text(kMinimalRecipe + "precision: bf16\nrecompute: selective\n",
                {"recompute.save_ops=[titan.attention/1]"});
  CHECK(recipe.string("precision.use") == "bf16");
  CHECK(recipe.string("recompute.mode") == "selective");
  CHECK(recipe.strings("recompute.save_ops").size() == 1);
}

// CFG-08.
TEST_CASE("batch sizes divide or the run does not start", "[unit]") {
  const auto with = [](const std::string& dp, const std::string& step) {
    return std::vector<std::string>{"training.seq_len=3",
                                    "parallel.dp_shard=" + dp,
                                    "training.tokens_per_step=" + step};
  };
  CHECK(error_of(kMinimalRecipe, with("2", "8")) ==
        "--set #3: [training.tokens_per_step] tokens_per_step (8) must be a "
        "multiple of tokens_per_microbatch (3) x data-parallel degree (2) = 6");
  CHECK_THAT(error_of(kMinimalRecipe, with("8", "8")), Contains("= 24"));
  CHECK_THAT(error_of(kMinimalRecipe, with("-1", "8")),
             Contains("multiple of tokens_per_microbatch (3)"));
  CHECK_THAT(error_of(kMinimalRecipe, {"training.tokens_per_microbatch=40"}),
             Contains("tokens_per_microbatch (40) must be a multiple of "
                      "seq_len (16)"));
  const Recipe automatic = load_text(kMinimalRecipe, with("2", "null"));
  const BatchSizes sizes = resolve_batch_sizes(automatic, 2);
  CHECK(sizes.tokens_per_microbatch == 3);
  CHECK(sizes.tokens_per_step == 6);
  CHECK(sizes.microbatches == 1);
  const Recipe open = load_text(kMinimalRecipe, with("-1", "12"));
  CHECK(resolve_batch_sizes(open, 2).microbatches == 2);
  CHECK_THROWS_WITH(resolve_batch_sizes(open, 8), Contains("= 24"));
}

TEST_CASE("keys that do not fit together are refused", "[unit]") {
  const auto error = [](const std::vector<std::string>& overrides) {
    return error_of(kMinimalRecipe, overrides);
  };
  CHECK_THAT(error({"schedule.warmup_steps=8"}),
             Contains("expected at most training.steps (7), got 8"));
  CHECK_THAT(error({"schedule.decay_steps=1", "schedule.decay_ratio=0.5"}),
             Contains("decay is given twice"));
  CHECK_THAT(error({"schedule.warmup_steps=5", "schedule.decay_steps=5"}),
             Contains("got 5 + 5"));
  CHECK_THAT(error({"data.files=[]"}),
             Contains("[data.files] data is not named once") &&
                 Contains("got neither"));
  CHECK_THAT(error({"data.sources=[{files: [a]}]"}), Contains("got both"));
  CHECK_THAT(error({"validation.interval=5"}),
             Contains("nothing to validate on"));
  CHECK_THAT(
      error({"data.validation_files=[b]", "data.validation_fraction=0.1"}),
      Contains("given twice"));
  CHECK_THAT(error({"plugins.load=[{sha256: null}]"}),
             Contains("[plugins.load[0]] plugin is not named once"));
  CHECK_THAT(error({"parallel.cp=3"}), Contains("cp (3) must divide"));
  CHECK_THAT(error({"name=a/b"}), Contains("without '/'"));
  CHECK_THAT(error({"kernels={rms_norm: {use: x}}"}),
             Contains("an op id such as titan.rms_norm/1"));
}

TEST_CASE("paths know the recipe's folder and name", "[unit]") {
  const RecipeFolder folder;
  folder.write("base/b.yaml",
               kMinimalRecipe + "plugins: {search: [\"${recipe_dir}/p\"]}\n");
  const std::string file =
      folder.write("r.yaml",
                   "extends: [base/b.yaml]\nname: run7\n"
                   "data: {files: [\"${recipe_dir}/a.txt\", rel.txt]}\n");
  const Recipe recipe = load_recipe(
      file, {"data.tokenizer=${recipe_dir}/tok"}, make_test_registry());
  const std::string root = std::filesystem::canonical(folder.path()).string();
  CHECK(recipe.strings("data.files") ==
        std::vector<std::string>{root + "/a.txt", "rel.txt"});
  CHECK(recipe.strings("plugins.search") ==
        std::vector<std::string>{root + "/base/p"});
  CHECK(recipe.string("data.tokenizer") == root + "/tok");
  CHECK(recipe.string("run_folder") == "runs/run7");
  CHECK_THAT(error_of(kMinimalRecipe, {"run_folder=${HOME}/x"}),
             Contains("unknown variable"));
  CHECK_THAT(error_of(kMinimalRecipe, {"run_folder=a${"}),
             Contains("unknown variable"));
}

TEST_CASE("keys that were set and not read are listed", "[unit]") {
  const Recipe recipe = load_text(kMinimalRecipe + "metrics: {spans: true}\n",
                                  {"training.seed=1"});
  recipe.json("model");
  recipe.list("data.files");
  recipe.section("optimizer").json("");
  recipe.integer("training.steps");
  CHECK(recipe.unused() == std::vector<std::string>{"training.seq_len",
                                                    "training.seed",
                                                    "metrics.spans"});
  CHECK_THROWS_WITH(recipe.require_all_used(),
                    Contains("--set #1: [training.seed] key has no effect"));
  recipe.section("training").integer("seq_len");
  recipe.integer("training.seed");
  recipe.boolean("metrics.spans");
  CHECK(recipe.unused().empty());
  CHECK_NOTHROW(recipe.require_all_used());
}

TEST_CASE("reading what the schema does not have is a bug", "[unit]") {
  const Recipe recipe = load_text(kMinimalRecipe);
  CHECK_THROWS_AS(recipe.integer("training.nope"), titan::BugError);
  CHECK_THROWS_AS(recipe.string("training.steps"), titan::BugError);
  CHECK_THROWS_AS(recipe.integer("training.tokens_per_step"), titan::BugError);
}

TEST_CASE("an error of the trainer points at the key", "[unit]") {
  const Recipe recipe = load_text(kMinimalRecipe);
  const std::string what =
      recipe.error_at("training.steps", "is odd: expected even").what();
  CHECK_THAT(what, Contains("r.yaml:3:19: [training.steps] is odd"));
}

TEST_CASE("a section resolves alone before components are known", "[unit]") {
  const RecipeFolder folder;
  const std::string file = folder.write(
      "r.yaml", "model: {use: not.loaded.yet}\nplugins: {search: [p]}\n");
  const SchemaRegistry registry = make_core_registry();
  const Composition composed = compose_recipe(file, {}, registry.root());
  const Value plugins = resolve_section(composed, registry, "plugins");
  CHECK(plugins.to_json() == R"({"load":[],"policy":"dev","search":["p"]})");
}
