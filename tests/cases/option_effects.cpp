// SPDX-License-Identifier: BSD-3-Clause
// The table of case CFG-09, in the order of the schema.
#include "tests/cases/option_effect.h"

namespace titan::cases {
namespace {

using List = std::vector<std::string>;

const List kSample = {"generate.at_end=true",
                      "generate.prompt=ab",
                      "generate.max_tokens=12"};
const List kHeldOut = {"data.validation_fraction=0.2",
                       "validation.at_end=true"};
const std::string kSources =
    "data.sources=[{use: jsonl, files: [$DIR/documents.jsonl], weight: 1}, "
    "{use: jsonl, files: [$DIR/short.jsonl], weight: 1}]";
const List kMixed = {kSources};

// kMixed with another first source.
List mixed_with(const std::string& first) {
  return {"data.sources=[" + first +
          ", {use: jsonl, files: [$DIR/short.jsonl], weight: 1}]"};
}

const List kChat = {"data.use=chat",
                    "data.files=[$DIR/chat.jsonl]",
                    "data.packing=best_fit",
                    "data.chat.template=$DIR/chat.jinja"};

const List kTwoRanks = {"--sim-ranks", "2"};
const std::string kOverride =
    "overrides=[{match: layers.0.feed_forward, op: titan.swiglu/1, use: "
    "titan.reference}]";
const std::string kGroup =
    "optimizer.groups=[{match: norm.weight, lr_multiplier: 2}]";

List with(List list, const std::string& more) {
  list.push_back(more);
  return list;
}

std::vector<OptionEffect> input_effects() {
  return {
      {"extends", {}, {}, {}, "extends: [warm.yaml]\n"},
      {"name", {}, {"name=other"}},
      {"description", {}, {"description=of no importance"}},
      {"model.use", {}, {"model.use=titan.llama4"}},
      {"model.flavor", {}, {"model.flavor=debugmodel"}},
      {"model.config", {}, {"model.config.norm_eps=0.01"}},
      {"data.use", {}, {"data.use=text"}},
      {"data.config", {}, {"data.config.column=text"}},
      {"data.files", {}, {"data.files=[$DIR/short.jsonl]"}},
      {"data.validation_files",
       kHeldOut,
       {"data.validation_fraction=0",
        "data.validation_files=[$DIR/short.jsonl]"}},
      {"data.validation_fraction", kHeldOut, {"data.validation_fraction=0.4"}},
      {"data.field", {}, {"data.field=other"}},
      {"data.tokenizer",
       {"model.config.vocab_size=2100"},
       {"data.tokenizer=" TITAN_SOURCE_DIR "/assets/tokenizer"}},
      {"data.on_bad_line",
       {"data.files=[$DIR/broken.jsonl]"},
       {"data.on_bad_line=skip"}},
      {"data.sources", {}, kMixed},
      {"data.sources[].use",
       kMixed,
       mixed_with("{use: text, files: [$DIR/documents.jsonl]}")},
      {"data.sources[].config",
       kMixed,
       mixed_with("{use: jsonl, files: [$DIR/documents.jsonl], "
                  "config: {column: text}}")},
      {"data.sources[].files",
       kMixed,
       mixed_with("{use: jsonl, files: [$DIR/single.jsonl]}")},
      {"data.sources[].field",
       kMixed,
       mixed_with("{use: jsonl, files: [$DIR/documents.jsonl], field: other}")},
      {"data.sources[].weight",
       kMixed,
       mixed_with("{use: jsonl, files: [$DIR/documents.jsonl], weight: 9}")},
      {"data.sources[].epochs",
       kMixed,
       {"data.sources=[{use: jsonl, files: [$DIR/short.jsonl], epochs: 1}]"}},
      {"data.shuffle", {}, {"data.shuffle=false"}},
      {"data.shuffle_buffer", {}, {"data.shuffle_buffer=500"}},
      {"data.lanes", {}, {"data.lanes=3"}},
      {"data.packing", {}, {"data.packing=none"}},
      {"data.too_long",
       {"training.seq_len=16", "data.packing=best_fit"},
       {"data.too_long=drop"}},
      {"data.add_bos",
       {"model.config.vocab_size=2100",
        "data.tokenizer=" TITAN_SOURCE_DIR "/assets/tokenizer"},
       {"data.add_bos=true"}},
      {"data.add_eos",
       {"model.config.vocab_size=2100",
        "data.tokenizer=" TITAN_SOURCE_DIR "/assets/tokenizer"},
       {"data.add_eos=false"}},
      {"data.chat.template", kChat, {"data.chat.template=$DIR/other.jinja"}},
      {"data.chat.loss_on", kChat, {"data.chat.loss_on=last"}},
      {"data.chat.truncation", kChat, {"data.chat.truncation=drop"}},
      {"data.chat.date", kChat, {"data.chat.date=2024-07-26"}},
      {"data.epochs", {"data.files=[$DIR/short.jsonl]"}, {"data.epochs=1"}},
      {"data.on_exhausted",
       {"data.files=[$DIR/short.jsonl]"},
       {"data.on_exhausted=stop"}},
      {"data.threads", {}, {"data.threads=2"}},
      {"data.prefetch", {}, {"data.prefetch=3"}},
      {"validation.interval", kHeldOut, {"validation.interval=2"}},
      {"validation.batches", kHeldOut, {"validation.batches=1"}},
      {"validation.at_end",
       {"data.validation_fraction=0.2"},
       {"validation.at_end=true"}},
      {"generate.at_end",
       {"generate.prompt=ab", "generate.max_tokens=12"},
       {"generate.at_end=true"}},
      {"generate.prompt", kSample, {"generate.prompt=xyz"}},
      {"generate.max_tokens", kSample, {"generate.max_tokens=3"}},
      {"generate.temperature", kSample, {"generate.temperature=0"}},
      {"generate.top_k", kSample, {"generate.top_k=1"}},
      {"generate.top_p", kSample, {"generate.top_p=0.01"}}};
}

std::vector<OptionEffect> run_effects() {
  return {
      {"training.steps", {}, {"training.steps=5"}},
      {"training.seq_len", {}, {"training.seq_len=32"}},
      {"training.tokens_per_microbatch",
       {"training.tokens_per_step=null"},
       {"training.tokens_per_microbatch=64"}},
      {"training.tokens_per_step", {}, {"training.tokens_per_step=128"}},
      {"training.seed", {}, {"training.seed=1"}},
      {"training.max_grad_norm", {}, {"training.max_grad_norm=0.01"}},
      {"training.non_finite",
       {"optimizer.config.lr=1e30"},
       {"training.non_finite=skip"}},
      {"training.zero_target_steps_limit",
       {"data.files=[$DIR/single.jsonl]", "training.steps=30"},
       {"training.zero_target_steps_limit=3"}},
      {"training.deterministic", {}, {"training.deterministic=true"}},
      {"training.threads", {"training.threads=2"}, {"training.threads=1"}},
      {"optimizer.use", {}, {"optimizer.use=titan.adam"}},
      {"optimizer.config", {}, {"optimizer.config.weight_decay=0.5"}},
      {"optimizer.groups", {}, {kGroup}},
      {"optimizer.groups[].match",
       {kGroup},
       {"optimizer.groups=[{match: lm_head.weight, lr_multiplier: 2}]"}},
      {"optimizer.groups[].lr_multiplier",
       {kGroup},
       {"optimizer.groups=[{match: norm.weight, lr_multiplier: 3}]"}},
      {"optimizer.groups[].weight_decay",
       {kGroup},
       {"optimizer.groups=[{match: norm.weight, lr_multiplier: 2, "
        "weight_decay: 0.7}]"}},
      {"optimizer.groups[].frozen",
       {kGroup},
       {"optimizer.groups=[{match: norm.weight, frozen: true}]"}},
      {"schedule.warmup_steps", {}, {"schedule.warmup_steps=2"}},
      {"schedule.decay_steps", {}, {"schedule.decay_steps=2"}},
      {"schedule.decay_ratio", {}, {"schedule.decay_ratio=0.5"}},
      {"schedule.decay", {}, {"schedule.decay=cosine"}},
      {"schedule.min_factor", {}, {"schedule.min_factor=0.5"}},
      {"adapter.use", {}, {"adapter.use=titan.lora"}},
      {"adapter.config",
       {"adapter.use=titan.lora"},
       {"adapter.config.targets=['**.w1']"}},
      {"adapter.initial",
       {"adapter.use=titan.lora"},
       {"adapter.initial=$DIR/none"}},
      {"adapter.export", {"adapter.use=titan.lora"}, {"adapter.export=false"}},
      {"ema.decay", {}, {"ema.decay=0.5"}},
      {"ema.start", {"ema.decay=0.5"}, {"ema.start=3"}},
      {"ema.every", {"ema.decay=0.5"}, {"ema.every=3"}},
      {"ema.validate", with(kHeldOut, "ema.decay=0.5"), {"ema.validate=true"}},
      {"ema.export",
       {"ema.decay=0.5", "checkpoint.export_hf=true"},
       {"ema.export=true"}},
      {"precision.use", {}, {"precision=bf16"}},
      {"recompute.mode", {}, {"recompute=full"}},
      {"recompute.save_ops",
       {"recompute=selective"},
       {"recompute.save_ops=[titan.attention/1]"}},
      {"recompute.match", {"recompute=full"}, {"recompute.match=layers.1"}}};
}

std::vector<OptionEffect> machine_effects() {
  const std::string good = TITAN_TEST_PLUGIN_DIR "/libgood.so";
  const std::string zeros(64, '0');
  return {
      {"parallel.pp", {}, {"parallel.pp=2"}, kTwoRanks},
      {"parallel.dp_replicate", {}, {"parallel.dp_replicate=2"}, kTwoRanks},
      {"parallel.dp_shard", {}, {"parallel.dp_shard=1"}, kTwoRanks},
      {"parallel.cp", {}, {"parallel.cp=2"}, kTwoRanks},
      {"parallel.tp", {}, {"parallel.tp=2"}, kTwoRanks},
      {"parallel.ep", {}, {"parallel.ep=2"}, kTwoRanks},
      {"parallel.planners",
       {},
       {"parallel.planners=[titan.recompute]"},
       kTwoRanks},
      {"parallel.schedule",
       {"parallel.pp=2"},
       {"parallel.schedule=gpipe"},
       kTwoRanks},
      {"parallel.pipeline_input_weight",
       {"parallel.pp=2"},
       {"parallel.pipeline_input_weight=0"},
       kTwoRanks},
      {"parallel.pipeline_output_weight",
       {"parallel.pp=2"},
       {"parallel.pipeline_output_weight=2"},
       kTwoRanks},
      {"parallel.reshard_after_forward",
       {},
       {"parallel.reshard_after_forward=never"},
       kTwoRanks},
      {"kernels", {}, {"kernels={titan.swiglu/1: {use: acme.x}}"}},
      {"kernels.*.use", {}, {"kernels={titan.swiglu/1: {use: acme.x}}"}},
      {"kernels.*.prefer",
       {},
       {"kernels={titan.swiglu/1: {prefer: [acme.x]}}"}},
      {"kernels.*.deny",
       {},
       {"kernels={titan.swiglu/1: {deny: [titan.reference]}}"}},
      {"overrides",
       {},
       {"overrides=[{match: layers.0.feed_forward, op: titan.swiglu/1, use: "
        "acme.x}]"}},
      {"overrides[].match",
       {kOverride},
       {"overrides=[{match: layers.9.*, op: titan.swiglu/1, use: "
        "titan.reference}]"}},
      {"overrides[].op",
       {kOverride},
       {"overrides=[{match: layers.0.feed_forward, op: titan.attention/1, use: "
        "titan.reference}]"}},
      {"overrides[].use",
       {kOverride},
       {"overrides=[{match: layers.0.feed_forward, op: titan.swiglu/1, use: "
        "acme.x}]"}},
      {"plugins.search", {}, {"plugins.search=[$DIR/plugins]"}},
      {"plugins.load", {}, {"plugins.load=[{path: " + good + "}]"}},
      {"plugins.load[].path", {}, {"plugins.load=[{path: " + good + "}]"}},
      {"plugins.load[].name",
       {"plugins.load=[{name: titan.llama3}]"},
       {"plugins.load=[{name: titan.absent}]"}},
      {"plugins.load[].sha256",
       {"plugins.load=[{path: " + good + "}]"},
       {"plugins.load=[{path: " + good + ", sha256: '" + zeros + "'}]"}},
      {"plugins.policy", {}, {"plugins.policy=locked"}},
      {"checkpoint.enabled", {}, {"checkpoint.enabled=false"}},
      {"checkpoint.folder", {}, {"checkpoint.folder=elsewhere"}},
      {"checkpoint.interval", {}, {"checkpoint.interval=1"}},
      {"checkpoint.keep", {}, {"checkpoint.keep=1"}},
      {"checkpoint.keep_every",
       {"checkpoint.keep=1"},
       {"checkpoint.keep=1", "checkpoint.keep_every=2"}},
      {"checkpoint.async", {}, {"checkpoint.async=true"}},
      {"checkpoint.at_start", {}, {"checkpoint.at_start=true"}},
      {"checkpoint.content", {}, {"checkpoint.content=model"}},
      {"checkpoint.dtype",
       {"checkpoint.content=model"},
       {"checkpoint.content=model", "checkpoint.dtype=bf16"}},
      {"checkpoint.resume", {}, {"checkpoint.resume=false"}},
      {"checkpoint.initial", {}, {"checkpoint.initial=$DIR/none"}},
      {"checkpoint.strict", {}, {"checkpoint.strict=false"}},
      {"checkpoint.storage.use", {}, {"checkpoint.storage.use=titan.nowhere"}},
      {"checkpoint.storage.config", {}, {"checkpoint.storage.config.bucket=b"}},
      {"checkpoint.export_hf", {}, {"checkpoint.export_hf=true"}},
      {"metrics.interval", {}, {"metrics.interval=2"}},
      {"metrics.jsonl", {}, {"metrics.jsonl=false"}},
      {"metrics.tensorboard", {}, {"metrics.tensorboard=true"}},
      {"metrics.peak_tflops", {}, {"metrics.peak_tflops=2"}},
      {"metrics.spans", {}, {"metrics.spans=true"}},
      {"profiler.start_step", {}, {"profiler.start_step=2"}},
      {"profiler.steps", {"profiler.start_step=1"}, {"profiler.steps=1"}},
      {"profiler.folder",
       {"profiler.start_step=1"},
       {"profiler.folder=elsewhere"}},
      {"run_folder", {}, {"run_folder=$DIR/elsewhere"}}};
}

}  // namespace

std::vector<OptionEffect> option_effects() {
  std::vector<OptionEffect> all = input_effects();
  for (const auto& part : {run_effects(), machine_effects()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace titan::cases
