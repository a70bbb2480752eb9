// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/data_section.h"

namespace titan::train {
namespace {

using config::Recipe;
using config::Value;

// data.use, data.files, ...: the only source.
SourceOptions read_single_source(const Recipe& recipe) {
  SourceOptions source;
  source.use = recipe.string("data.use");
  source.files = recipe.strings("data.files");
  source.field = recipe.string("data.field");
  source.epochs = recipe.optional_integer("data.epochs").value_or(0);
  return source;
}

SourceOptions read_source(const Value& entry) {
  SourceOptions source;
  source.use = entry.find("use")->as_string();
  for (const Value& file : entry.find("files")->as_list())
    source.files.push_back(file.as_string());
  source.field = entry.find("field")->as_string();
  source.weight = entry.find("weight")->as_number();
  const Value& epochs = *entry.find("epochs");
  if (!epochs.is_null()) source.epochs = epochs.as_integer();
  return source;
}

}  // namespace

DataOptions read_data_section(const Recipe& recipe) {
  DataOptions options;
  const Value::List& sources = recipe.list("data.sources");
  if (sources.empty()) {
    options.sources.push_back(read_single_source(recipe));
  } else {
    for (const Value& entry : sources)
      options.sources.push_back(read_source(entry));
  }
  options.on_bad_line = recipe.string("data.on_bad_line");
  options.on_exhausted =
      recipe.optional_string("data.on_exhausted").value_or("");
  options.add_bos = recipe.boolean("data.add_bos");
  options.validation_fraction = recipe.number("data.validation_fraction");
  options.validation_files = recipe.strings("data.validation_files");
  options.shuffle = recipe.boolean("data.shuffle");
  options.num_lanes = recipe.integer("data.lanes");
  options.block_bytes = recipe.integer("data.shuffle_buffer");
  options.packing = recipe.string("data.packing");
  options.too_long = recipe.string("data.too_long");
  options.num_threads = static_cast<int>(recipe.integer("data.threads"));
  options.rows_ahead = recipe.integer("data.prefetch");
  return options;
}

}  // namespace titan::train
