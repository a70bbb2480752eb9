// SPDX-License-Identifier: BSD-3-Clause
// What goes in and what comes out: model, data, validation, generate.
#include "core/config/recipe_schema.h"

namespace titan::config {
namespace {

constexpr std::string_view kModel = R"json({
  "type": "object", "x-group": "behavior", "x-component": "model",
  "description": "The model. Keys of `config`: `titan plugin inspect`.",
  "required": ["use"],
  "properties": {
    "use": {"type": "string", "description": "id of the model, such as titan.llama3"},
    "flavor": {"type": ["string", "null"], "default": null,
      "description": "named size that `config` starts from; null: the defaults of the model's schema"},
    "config": {"type": "object", "additionalProperties": true,
      "description": "keys of the model's own schema; they win over the flavor"}
  }})json";

constexpr std::string_view kData = R"json({
  "type": "object", "x-group": "behavior", "x-component": "dataset",
  "description": "Where the tokens come from; docs/data.md has the whole picture.",
  "properties": {
    "use": {"type": "string", "default": "text",
      "description": "text: each file is one document; jsonl: each line is a JSON object with one document; both also as .gz and .zst; tokens: files of `titan data prepare`, llm.c or nanoGPT; chat: each line of JSON is a conversation, of which what the assistant says is learnt; else the id of a plugin's dataset, such as titan.parquet"},
    "config": {"type": "object", "additionalProperties": true,
      "description": "keys of the plugin's own schema: `titan plugin inspect`"},
    "files": {"type": "array", "items": {"type": "string", "format": "path"}, "default": [],
      "description": "training files, folders with them, or patterns such as part-*.jsonl.gz"},
    "sources": {"type": "array", "default": [],
      "description": "several kinds of data, mixed, in place of `use`, `config`, `files`, `field` and `epochs`",
      "items": {"type": "object", "x-component": "dataset", "properties": {
        "use": {"type": "string", "default": "text", "description": "as data.use"},
        "config": {"type": "object", "additionalProperties": true, "description": "as data.config"},
        "files": {"type": "array", "items": {"type": "string", "format": "path"}, "default": [],
          "description": "as data.files"},
        "field": {"type": "string", "default": "text", "description": "as data.field"},
        "weight": {"type": "number", "minimum": 0, "default": 1.0,
          "description": "share of the rows, beside the other sources' weights"},
        "epochs": {"type": ["integer", "null"], "minimum": 1, "default": null, "x-unit": "passes",
          "description": "as data.epochs, of this source"}
      }}},
    "validation_files": {"type": "array", "items": {"type": "string", "format": "path"}, "default": [],
      "description": "files of the validation split"},
    "validation_fraction": {"type": "number", "minimum": 0, "maximum": 0.5, "default": 0.0,
      "description": "part of the training data that is held out for validation instead; 0: none"},
    "field": {"type": "string", "default": "text", "description": "name of the text in each JSON line (jsonl only)"},
    "tokenizer": {"type": "string", "format": "path", "default": "bytes",
      "description": "folder with tokenizer.json, or `bytes`: one token per byte"},
    "on_bad_line": {"type": "string", "enum": ["error", "skip"], "default": "error",
      "description": "a line or record that is not valid: stop, or leave it out and count it"},
    "shuffle": {"type": "boolean", "default": true, "description": "shuffle documents anew in each epoch, by the seed"},
    "shuffle_buffer": {"type": "integer", "minimum": 1, "default": 1048576, "x-unit": "bytes",
      "description": "parts of this size come in random order and are shuffled within; each lane holds one in memory"},
    "lanes": {"type": "integer", "minimum": 1, "default": 64,
      "description": "streams that the data is split into, a multiple of the data-parallel ranks; with the same number a run continues on any number of ranks"},
    "packing": {"type": "string", "enum": ["sequential", "best_fit", "none"], "default": "sequential",
      "description": "sequential: rows are filled, documents cut at their end and continued; best_fit: documents stay whole where a row can hold them; none: one document a row"},
    "too_long": {"type": "string", "enum": ["split", "truncate", "drop"], "default": "split",
      "description": "a document longer than a row: cut into several, only its beginning, or left out"},
    "add_bos": {"type": "boolean", "default": false, "description": "start each document with the tokenizer's begin token"},
    "add_eos": {"type": ["boolean", "null"], "default": null,
      "description": "end each document with the tokenizer's end token; null: if it has one"},
    "chat": {"type": "object", "description": "conversations (`use: chat`); docs/chat.md has the rules", "properties": {
      "template": {"type": ["string", "null"], "format": "path", "default": null,
        "description": "file with a chat template; null: the one beside the tokenizer"},
      "loss_on": {"type": "string", "enum": ["assistant", "last"], "default": "assistant",
        "description": "learn all messages of the assistant, or its last one"},
      "truncation": {"type": "string", "enum": ["keep_start", "keep_end", "drop"], "default": "keep_start",
        "description": "a conversation longer than a row: its first tokens, its last ones, or left out; left out too where nothing to learn remains"},
      "date": {"type": ["string", "null"], "default": null,
        "description": "what templates take for today, such as 2024-07-26; null: they cannot ask"}
    }},
    "epochs": {"type": ["integer", "null"], "minimum": 1, "default": null, "x-unit": "passes",
      "description": "stop after so many passes over the files; null: repeat until the last step"},
    "on_exhausted": {"type": ["string", "null"], "enum": ["repeat", "stop", "error", null], "default": null,
      "description": "when a source's epochs (default then: 1) are done: start over, end the run, or fail; null: stop where epochs are given, else repeat"},
    "threads": {"type": "integer", "minimum": 0, "maximum": 256, "default": 1, "x-unit": "threads",
      "description": "background threads of each rank that read, tokenise and pack; 0: none"},
    "prefetch": {"type": "integer", "minimum": 1, "default": 2, "x-unit": "rows",
      "description": "rows of each lane that the threads keep ready"}
  }})json";

constexpr std::string_view kValidation = R"json({
  "type": "object", "x-group": "behavior",
  "description": "Loss on the validation split while training.",
  "properties": {
    "interval": {"type": ["integer", "null"], "minimum": 1, "default": null, "x-unit": "steps",
      "description": "validate every so many steps; null: never in between"},
    "batches": {"type": ["integer", "null"], "minimum": 1, "default": null, "x-unit": "microbatches",
      "description": "how much of the split; null: all of it, once"},
    "at_end": {"type": "boolean", "default": false, "description": "validate after the last step"}
  }})json";

constexpr std::string_view kGenerate = R"json({
  "type": "object", "x-group": "behavior",
  "description": "A sample of text from the trained model.",
  "properties": {
    "at_end": {"type": "boolean", "default": false, "description": "print a sample after the last step"},
    "prompt": {"type": "string", "default": "", "description": "text to continue"},
    "max_tokens": {"type": "integer", "minimum": 1, "default": 128, "x-unit": "tokens", "description": "length of the sample"},
    "temperature": {"type": "number", "minimum": 0, "default": 1.0, "description": "0: always the likeliest token"},
    "top_k": {"type": ["integer", "null"], "minimum": 1, "default": null, "x-unit": "tokens",
      "description": "sample among the k likeliest; null: all"},
    "top_p": {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 1, "default": null,
      "description": "sample among the likeliest that hold this probability together; null: all"}
  }})json";

}  // namespace

void add_input_sections(SchemaRegistry& registry) {
  registry.add_section("extends", R"json({
    "type": "array", "items": {"type": "string"}, "default": [], "x-group": "behavior",
    "description": "recipes that this one starts from, relative to its own folder; later ones win"})json");
  registry.add_section("name", R"json({
    "type": ["string", "null"], "default": null, "x-group": "behavior",
    "description": "name of the run; null: the recipe's file name without extension"})json");
  registry.add_section("description", R"json({
    "type": ["string", "null"], "default": null, "x-group": "behavior",
    "description": "one line for people, shown at start"})json");
  registry.add_section("model", kModel, true);
  registry.add_section("data", kData, true);
  for (const char* use : {"text", "jsonl", "tokens", "chat"})
    registry.add_component("titan.dataset/1", use, R"({"type": "object"})");
  registry.add_section("validation", kValidation);
  registry.add_section("generate", kGenerate);
}

}  // namespace titan::config
