// SPDX-License-Identifier: BSD-3-Clause
// How training goes: training, optimizer, schedule, adapter, ema, precision,
// recompute.
#include "core/config/recipe_schema.h"

namespace titan::config {
namespace {

constexpr std::string_view kTraining = R"json({
  "type": "object", "x-group": "behavior",
  "description": "Length, batch and limits of the run.",
  "required": ["steps", "seq_len"],
  "properties": {
    "steps": {"type": "integer", "minimum": 1, "x-unit": "steps", "description": "optimizer steps of the whole run"},
    "seq_len": {"type": "integer", "minimum": 1, "x-unit": "tokens", "description": "length of a sequence"},
    "tokens_per_microbatch": {"type": ["integer", "null"], "minimum": 1, "default": null, "x-unit": "tokens",
      "description": "tokens of one forward and backward on one data-parallel rank, a multiple of seq_len; null: seq_len"},
    "tokens_per_step": {"type": ["integer", "null"], "minimum": 1, "default": null, "x-unit": "tokens",
      "description": "tokens of one optimizer step over all ranks, a multiple of tokens_per_microbatch x data-parallel degree (more than once: gradients accumulate); null: exactly that product"},
    "seed": {"type": "integer", "minimum": 0, "default": 0,
      "description": "decides initialisation, data order, dropout and sampling"},
    "max_grad_norm": {"type": "number", "minimum": 0, "default": 1.0, "description": "clip the global gradient norm to this; 0: off"},
    "non_finite": {"type": "string", "enum": ["stop", "skip"], "default": "stop",
      "description": "a loss or gradient norm that is not finite: stop before the update, or leave this update out and count it"},
    "zero_target_steps_limit": {"type": "integer", "minimum": 1, "default": 20, "x-unit": "steps",
      "description": "stop after so many steps in a row without a token to predict"},
    "deterministic": {"type": "boolean", "default": false, "x-group": "debug",
      "description": "use only kernels that give the same bits on every run"},
    "threads": {"type": "integer", "minimum": 0, "default": 0, "x-group": "performance", "x-unit": "threads",
      "description": "CPU threads per rank; 0: all of the machine's"}
  }})json";

constexpr std::string_view kOptimizer = R"json({
  "type": "object", "x-group": "behavior", "x-component": "optimizer",
  "description": "The update rule. Keys of `config`: `titan plugin inspect`.",
  "required": ["use"],
  "properties": {
    "use": {"type": "string", "description": "id of the optimizer, such as titan.adamw"},
    "config": {"type": "object", "additionalProperties": true, "description": "keys of the optimizer's own schema, such as lr"},
    "groups": {"type": "array", "default": [],
      "description": "parameters that are treated apart; the first group that matches holds",
      "items": {"type": "object", "required": ["match"], "properties": {
        "match": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}],
          "description": "globs over parameter names, such as layers.*.attention.*; one that matches nothing is an error"},
        "lr_multiplier": {"type": "number", "minimum": 0, "default": 1.0, "description": "factor on the learning rate"},
        "weight_decay": {"type": ["number", "null"], "minimum": 0, "default": null,
          "description": "weight decay of the group; null: the optimizer's"},
        "frozen": {"type": "boolean", "default": false, "description": "do not train these parameters"}
      }}}
  }})json";

constexpr std::string_view kSchedule = R"json({
  "type": "object", "x-group": "behavior",
  "description": "Learning rate over the run: warm up, stay, decay.",
  "properties": {
    "warmup_steps": {"type": "integer", "minimum": 0, "default": 0, "x-unit": "steps",
      "description": "steps in which the learning rate rises linearly to its full value"},
    "decay_steps": {"type": ["integer", "null"], "minimum": 0, "default": null, "x-unit": "steps",
      "description": "last steps in which it decays; null: all after the warm-up"},
    "decay_ratio": {"type": ["number", "null"], "minimum": 0, "maximum": 1, "default": null,
      "description": "decay_steps as a part of training.steps; only one of the two"},
    "decay": {"type": "string", "enum": ["linear", "sqrt", "cosine", "none"], "default": "linear",
      "description": "shape of the decay; none: the learning rate stays"},
    "min_factor": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.0,
      "description": "part of the learning rate that is left at the end"}
  }})json";

constexpr std::string_view kPrecision = R"json({
  "type": "object", "x-group": "behavior", "x-shorthand": "use",
  "description": "Number formats; `precision: bf16` is short for `precision: {use: bf16}`.",
  "properties": {
    "use": {"type": "string", "enum": ["fp32", "bf16", "fp64"], "default": "fp32",
      "x-refused": {"fp16": "fp16 needs loss scaling, which Titan does not have. Use bf16.",
                    "float16": "fp16 needs loss scaling, which Titan does not have. Use bf16.",
                    "bfloat16": "Write bf16.", "float32": "Write fp32.", "float64": "Write fp64."},
      "description": "bf16: forward and backward in bf16, parameters and reductions in fp32; fp32 and fp64: everything"}
  }})json";

constexpr std::string_view kRecompute = R"json({
  "type": "object", "x-group": "performance", "x-shorthand": "mode",
  "description": "Activations that backward computes again instead of keeping.",
  "properties": {
    "mode": {"type": "string", "enum": ["none", "full", "selective"], "default": "none",
      "description": "full: keep only the inputs of each block; selective: keep also the outputs of save_ops"},
    "save_ops": {"type": "array", "items": {"type": "string", "format": "op_id"}, "default": [],
      "description": "ops whose outputs are kept (selective only)"},
    "match": {"type": ["string", "null"], "default": null,
      "description": "glob over item names, such as layers.*: the items that compute again (with a mode only); null: every block"}
  }})json";

constexpr std::string_view kAdapter = R"json({
  "type": "object", "x-group": "behavior", "x-component": "transform",
  "description": "Adapters that are trained in place of the model's own weights; docs/finetuning.md. Keys of `config`: `titan plugin inspect`.",
  "properties": {
    "use": {"type": ["string", "null"], "default": null, "description": "id of the transform, such as titan.lora; null: none"},
    "config": {"type": "object", "additionalProperties": true, "description": "keys of the transform's own schema, such as rank"},
    "initial": {"type": ["string", "null"], "format": "path", "default": null,
      "description": "folder with an adapter in the layout of PEFT to start from when nothing is resumed"},
    "export": {"type": "boolean", "default": true, "description": "write the last adapter into run_folder/adapter, in the layout of PEFT"}
  }})json";

constexpr std::string_view kEma = R"json({
  "type": "object", "x-group": "behavior",
  "description": "A running average of the weights beside them; docs/finetuning.md.",
  "properties": {
    "decay": {"type": ["number", "null"], "minimum": 0, "exclusiveMaximum": 1, "default": null,
      "description": "average = decay x average + (1 - decay) x weights, such as 0.999; null: no average"},
    "start": {"type": "integer", "minimum": 0, "default": 0, "x-unit": "steps",
      "description": "up to this step the average is the weights themselves"},
    "every": {"type": "integer", "minimum": 1, "default": 1, "x-unit": "steps",
      "description": "steps between two updates of the average"},
    "validate": {"type": "boolean", "default": false, "description": "validate with the averaged weights"},
    "export": {"type": "boolean", "default": false, "description": "what is exported is of the averaged weights"}
  }})json";

}  // namespace

void add_run_sections(SchemaRegistry& registry) {
  registry.add_section("training", kTraining, true);
  registry.add_section("optimizer", kOptimizer, true);
  registry.add_section("schedule", kSchedule);
  registry.add_section("adapter", kAdapter);
  registry.add_section("ema", kEma);
  registry.add_section("precision", kPrecision);
  registry.add_section("recompute", kRecompute);
}

}  // namespace titan::config
