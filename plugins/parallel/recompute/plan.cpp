// SPDX-License-Identifier: BSD-3-Clause
// The boundary is an item: its inputs are kept, its inside computed again.
// Leaves (embedding, norm, head) keep little more than their inputs and stay as
// they are.
#include "plugins/parallel/recompute/plan.h"

namespace titan::recompute_plan {
namespace {

std::vector<std::string> composite_items(const Json& model) {
  std::vector<std::string> found;
  for (const Json& item : model.at("items").items())
    for (const Json& module : model.at("modules").items())
      if (module.at("fqn").str() == item.at("fqn").str() &&
          !module.at("is_leaf").flag())
        found.push_back(item.at("fqn").str());
  return found;
}

}  // namespace

Json RecomputePlanner::plan(const Json& request) const {
  const Json options = request.at("options").has("recompute")
                           ? request.at("options").at("recompute")
                           : Json::object();
  const std::string mode = options.str_or("mode", "full");
  const Json save_ops =
      options.has("save_ops") ? options.at("save_ops") : Json::array();
  TITAN_USER_CHECK(mode == "none" || mode == "full" || mode == "selective",
                   "[recompute.mode] expected none, full or selective, got ",
                   mode);
  TITAN_USER_CHECK(mode == "selective" || save_ops.size() == 0,
                   "[recompute.save_ops] expected none with mode ",
                   mode,
                   ", got ",
                   save_ops.dump());
  Json rules = Json::array();
  const std::vector<std::string> patterns =
      options.has("match") ? std::vector{options.at("match").str()}
                           : composite_items(request.at("model"));
  if (mode != "none")
    for (const std::string& pattern : patterns)
      rules.push_back(Json::object(
          {{"match", pattern}, {"mode", mode}, {"save_ops", save_ops}}));
  return Json::object({{"recompute", Json::object({{"rules", rules}})}});
}

}  // namespace titan::recompute_plan
