// SPDX-License-Identifier: BSD-3-Clause
// Recipes on disk and a registry with two components, for the tests of this
// folder.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>  // getpid

#include <titan/error.h>

#include "core/config/recipe.h"
#include "core/config/recipe_schema.h"

namespace titan::config {

/// A folder that goes away with the object.
class RecipeFolder {
 public:
  RecipeFolder()
      : path_(std::filesystem::temp_directory_path() /
              text("titan_recipe_test_", getpid(), '_', next_++)) {
    std::filesystem::create_directories(path_);
  }
  ~RecipeFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  RecipeFolder(const RecipeFolder&) = delete;
  RecipeFolder& operator=(const RecipeFolder&) = delete;

  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& content) const {
    const auto file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file.string();
  }
  std::string path() const { return path_.string(); }

 private:
  static inline int next_ = 0;
  std::filesystem::path path_;
};

inline SchemaRegistry make_test_registry() {
  SchemaRegistry registry = make_core_registry();
  registry.add_component("titan.model/1",
                         "test.llama",
                         R"({"type": "object", "properties": {
      "dim": {"type": "integer", "minimum": 1, "default": 64},
      "num_layers": {"type": "integer", "minimum": 1, "default": 2},
      "moe_layers": {"type": "array", "items": {"type": "integer"},
                     "default": [0, 1]},
      "rope": {"type": "object", "properties": {
        "theta": {"type": "number", "default": 10000.0}}}}})",
                         {{"debugmodel", R"({"dim": 256, "num_layers": 6})"},
                          {"8B", R"({"dim": 4096, "num_layers": 32})"}});
  registry.add_component(
      "optimizer", "test.adamw", R"({"type": "object", "required": ["lr"],
      "properties": {
        "lr": {"type": "number", "exclusiveMinimum": 0},
        "weight_decay": {"type": "number", "minimum": 0, "default": 0.1},
        "fused": {"type": "boolean", "default": true},
        "betas": {"type": "array", "items": {"type": "number"},
                  "minItems": 2, "maxItems": 2, "default": [0.9, 0.95]}}})");
  return registry;
}

/// The least that is valid; tests add to it.
inline const std::string kMinimalRecipe =
    "model: {use: test.llama, flavor: debugmodel}\n"
    "data: {files: [a.txt]}\n"
    "training: {steps: 7, seq_len: 16}\n"
    "optimizer: {use: test.adamw, config: {lr: 3e-4}}\n";

inline Recipe load_text(const std::string& yaml,
                        const std::vector<std::string>& overrides = {}) {
  const RecipeFolder folder;
  return load_recipe(
      folder.write("r.yaml", yaml), overrides, make_test_registry());
}

/// Returns the message, with the folder cut out of it.
inline std::string error_of(const std::string& yaml,
                            const std::vector<std::string>& overrides = {}) {
  const RecipeFolder folder;
  const std::string file = folder.write("r.yaml", yaml);
  try {
    load_recipe(file, overrides, make_test_registry());
  } catch (const UserError& error) {
    std::string message = error.what();
    const std::string prefix = folder.path() + "/";
    for (auto at = message.find(prefix); at != std::string::npos;
         at = message.find(prefix))
      message.erase(at, prefix.size());
    return message;
  }
  return "no error";
}

}  // namespace titan::config
