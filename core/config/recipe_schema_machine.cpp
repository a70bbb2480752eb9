// SPDX-License-Identifier: BSD-3-Clause
// On what it runs and what it leaves behind: parallel, kernels, overrides,
// plugins, checkpoint, metrics, profiler, run_folder.
#include "core/config/recipe_schema.h"

namespace titan::config {
namespace {

constexpr std::string_view kParallel = R"json({
  "type": "object", "x-group": "performance",
  "description": "How ranks share the work; the product pp x dp_replicate x dp_shard x cp x tp is the number of ranks.",
  "properties": {
    "pp": {"type": "integer", "minimum": 1, "default": 1, "x-unit": "ranks", "description": "pipeline stages"},
    "dp_replicate": {"type": "integer", "minimum": 1, "default": 1, "x-unit": "ranks",
      "description": "copies of the parameters"},
    "dp_shard": {"oneOf": [{"type": "integer", "minimum": -1, "maximum": -1}, {"type": "integer", "minimum": 1}], "default": -1, "x-unit": "ranks",
      "description": "ranks that share one copy of the parameters (FSDP); -1: the ranks that are left"},
    "cp": {"type": "integer", "minimum": 1, "default": 1, "x-unit": "ranks", "description": "ranks that share a sequence"},
    "tp": {"type": "integer", "minimum": 1, "default": 1, "x-unit": "ranks", "description": "ranks that share each layer"},
    "ep": {"type": "integer", "minimum": 1, "default": 1, "x-unit": "ranks",
      "description": "ranks that share the experts, folded over dp_shard x cp x tp"},
    "planners": {"type": "array", "items": {"type": "string"}, "default": [],
      "description": "ids of the planners that replace the built-in choice"},
    "schedule": {"type": "string", "default": "1f1b",
      "description": "pipeline schedule (refused with pp 1, where it would do nothing)"},
    "pipeline_input_weight": {"type": "integer", "minimum": 0, "default": 1, "x-unit": "layers",
      "description": "what comes before the layers weighs this much when stages are cut (pp > 1 only)"},
    "pipeline_output_weight": {"type": "integer", "minimum": 0, "default": 1, "x-unit": "layers",
      "description": "what comes after the layers (norm, head) weighs this much (pp > 1 only)"},
    "reshard_after_forward": {"type": "string", "enum": ["default", "always", "never"], "default": "default",
      "description": "give gathered parameters back after forward and gather them again in backward; default: yes without a pipeline, but for the last bucket (dp_shard > 1 only)"}
  }})json";

constexpr std::string_view kKernels = R"json({
  "type": "object", "x-group": "performance", "format": "op_id",
  "description": "Choice of kernels per op, such as `titan.rms_norm/1: {use: ID}`; `ID` alone is short for that.",
  "additionalProperties": {"type": "object", "x-shorthand": "use", "description": "an op of the catalogue", "properties": {
    "use": {"type": ["string", "null"], "default": null, "description": "the one implementation to use; if it cannot run, the run does not start"},
    "prefer": {"type": "array", "items": {"type": "string"}, "default": [], "description": "implementations to try first, in this order"},
    "deny": {"type": "array", "items": {"type": "string"}, "default": [], "description": "implementations not to use"}
  }}})json";

constexpr std::string_view kOverrides = R"json({
  "type": "array", "default": [], "x-group": "performance",
  "description": "Kernels for a part of the model; the last entry that matches holds.",
  "items": {"type": "object", "required": ["match", "op", "use"], "properties": {
    "match": {"type": "string", "description": "glob over module names, such as layers.*.feed_forward; one that matches nothing is an error"},
    "op": {"type": "string", "format": "op_id", "description": "op whose calls are meant"},
    "use": {"type": "string", "description": "implementation to use there"}
  }}})json";

constexpr std::string_view kPlugins = R"json({
  "type": "object", "x-group": "behavior",
  "description": "Shared libraries that bring models, optimizers and kernels.",
  "properties": {
    "search": {"type": "array", "items": {"type": "string", "format": "path"}, "default": [],
      "description": "folders to look in, before the ones of the installation"},
    "load": {"type": "array", "default": [], "description": "plugins that must load; one that does not stops the run",
      "items": {"type": "object", "properties": {
        "path": {"type": ["string", "null"], "format": "path", "default": null, "description": "file of the plugin; this or name"},
        "name": {"type": ["string", "null"], "default": null, "description": "name of a plugin in the search folders"},
        "sha256": {"type": ["string", "null"], "format": "sha256", "default": null, "description": "digest that the file must have"}
      }}},
    "policy": {"type": "string", "enum": ["dev", "locked"], "default": "dev",
      "description": "locked: load only plugins that an entry of load gives a sha256"}
  }})json";

constexpr std::string_view kCheckpoint = R"json({
  "type": "object", "x-group": "behavior",
  "description": "Saving and resuming.",
  "properties": {
    "enabled": {"type": "boolean", "default": false, "description": "save, and resume from what was saved"},
    "folder": {"type": "string", "format": "path", "default": "checkpoint", "description": "relative to run_folder"},
    "interval": {"type": "integer", "minimum": 1, "default": 500, "x-unit": "steps",
      "description": "save every so many steps; the last step is saved in any case"},
    "keep": {"type": "integer", "minimum": 0, "default": 3, "x-unit": "checkpoints", "description": "newest ones to keep; 0: all"},
    "keep_every": {"type": "integer", "minimum": 0, "default": 0, "x-unit": "steps",
      "description": "keep also the checkpoints of steps that are multiples of this; 0: none"},
    "async": {"type": "boolean", "default": false, "x-group": "performance",
      "description": "copy the state into memory and write it while training goes on; needs host memory for one more state"},
    "at_start": {"type": "boolean", "default": false,
      "description": "save also step 0: the same start for runs of any layout"},
    "content": {"type": "string", "enum": ["full", "model"], "default": "full",
      "description": "model: parameters only; such a run cannot be resumed, only started from (checkpoint.initial)"},
    "dtype": {"type": ["string", "null"], "enum": ["bf16", "fp32", null], "default": null,
      "description": "of the parameters in checkpoints with content: model and in the export; null: as the run has them"},
    "resume": {"type": "boolean", "default": true, "description": "start from the newest checkpoint in the folder, if there is one"},
    "initial": {"type": ["string", "null"], "format": "path", "default": null,
      "description": "weights to start from when nothing is resumed: a Titan checkpoint or a Hugging Face folder"},
    "strict": {"type": "boolean", "default": true,
      "description": "all weights to start from must fit; false: those that do not are listed, and keep the values of the seed"},
    "storage": {"type": "object", "x-component": "storage", "x-shorthand": "use", "default": {},
      "description": "where checkpoints lie", "properties": {
        "use": {"type": "string", "default": "file", "description": "file: the file system; else the id of a storage plugin, whose keys begin with folder"},
        "config": {"type": "object", "additionalProperties": true, "description": "keys of the storage's own schema"}
      }},
    "export_hf": {"type": "boolean", "default": false, "description": "write the last weights also in Hugging Face form"}
  }})json";

constexpr std::string_view kMetrics = R"json({
  "type": "object", "x-group": "debug",
  "description": "What is recorded about the run.",
  "properties": {
    "interval": {"type": "integer", "minimum": 1, "default": 1, "x-unit": "steps", "description": "log every so many steps"},
    "jsonl": {"type": "boolean", "default": true, "description": "write metrics.jsonl into the run folder"},
    "tensorboard": {"type": "boolean", "default": false, "description": "write event files into the run folder"},
    "peak_tflops": {"type": ["number", "null"], "exclusiveMinimum": 0, "default": null, "x-unit": "TFLOP/s",
      "description": "peak of the device for the utilisation figure; null: measured at start"},
    "spans": {"type": "boolean", "default": false, "description": "record the time of each phase of a step"}
  }})json";

constexpr std::string_view kProfiler = R"json({
  "type": "object", "x-group": "debug",
  "description": "A trace of some steps, for chrome://tracing and Perfetto.",
  "properties": {
    "start_step": {"type": ["integer", "null"], "minimum": 1, "default": null, "x-unit": "steps",
      "description": "first step to trace; null: none"},
    "steps": {"type": "integer", "minimum": 1, "default": 3, "x-unit": "steps", "description": "how many steps to trace"},
    "folder": {"type": "string", "format": "path", "default": "profile", "description": "relative to run_folder"}
  }})json";

}  // namespace

void add_machine_sections(SchemaRegistry& registry) {
  registry.add_section("parallel", kParallel);
  registry.add_section("kernels", kKernels);
  registry.add_section("overrides", kOverrides);
  registry.add_section("plugins", kPlugins);
  registry.add_section("checkpoint", kCheckpoint);
  registry.add_component(
      "titan.storage/1", "file", R"({"type": "object"})", {});
  registry.add_section("metrics", kMetrics);
  registry.add_section("profiler", kProfiler);
  registry.add_section("run_folder", R"json({
    "type": "string", "format": "path", "default": "runs/${name}", "x-group": "behavior",
    "description": "where the run leaves its files"})json");
}

}  // namespace titan::config
