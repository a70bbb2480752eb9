// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/result_file.h"

#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

namespace titan::train {
namespace {

using Json = nlohmann::json;

// JSON has no NaN: a loss that is not a number is stored as null.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

double number_of(const Json& value) {
  return value.is_number() ? value.get<double>() : std::nan("");
}

}  // namespace

std::string valid_utf8(const std::string& text) {
  return Json::parse(
             Json(text).dump(-1, ' ', false, Json::error_handler_t::replace))
      .get<std::string>();
}

void write_result(checkpoint::FileSystem& files,
                  const std::filesystem::path& path,
                  const std::string& recipe_json,
                  const RunResult& result) {
  const Json out = {
      {"step", result.step},
      {"train_loss", number(result.train_loss)},
      {"validation_loss",
       result.validation_loss ? number(*result.validation_loss) : Json("none")},
      {"sample", result.sample},
      {"recipe", Json::parse(recipe_json)}};
  checkpoint::write_file_atomically(files, path, out.dump(1) + "\n");
}

std::optional<RunResult> read_result(const std::filesystem::path& path,
                                     const std::string& recipe_json,
                                     int64_t step) {
  std::ifstream file(path);
  const Json in = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!in.is_object() || !in.contains("step") || !in.contains("recipe") ||
      !in.contains("train_loss") || !in.contains("validation_loss") ||
      !in.contains("sample"))
    return std::nullopt;
  if (in["step"] != step || in["recipe"] != Json::parse(recipe_json) ||
      !in["sample"].is_string())
    return std::nullopt;
  RunResult result;
  result.step = step;
  result.train_loss = number_of(in["train_loss"]);
  if (in["validation_loss"] != "none")
    result.validation_loss = number_of(in["validation_loss"]);
  result.sample = in["sample"].get<std::string>();
  return result;
}

}  // namespace titan::train
