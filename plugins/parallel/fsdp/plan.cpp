// SPDX-License-Identifier: BSD-3-Clause
// One bucket per item, as TorchTitan wraps a decoder: embedding alone, each
// block, norm and head together. Items that share a tied parameter share a
// bucket, so that it is gathered and reduced once.
#include "plugins/parallel/fsdp/plan.h"

#include <set>

namespace titan::fsdp_plan {
namespace {

struct Bucket {
  std::vector<std::string> items;
  std::set<std::string> parameters;

  void add(const Json& item) {
    items.push_back(item.at("fqn").str());
    for (const Json& parameter : item.at("parameters").items())
      parameters.insert(parameter.str());
  }
  bool shares_with(const Json& item) const {
    for (const Json& parameter : item.at("parameters").items())
      if (parameters.count(parameter.str()) != 0) return true;
    return false;
  }
};

bool is_leaf(const Json& model, const std::string& fqn) {
  for (const Json& module : model.at("modules").items())
    if (module.at("fqn").str() == fqn) return module.at("is_leaf").flag();
  return false;
}

std::vector<Bucket> make_buckets(const Json& model) {
  std::vector<Bucket> buckets;
  for (const Json& item : model.at("items").items()) {
    Bucket* home = nullptr;
    for (Bucket& bucket : buckets)
      if (home == nullptr && bucket.shares_with(item)) home = &bucket;
    // The final norm is too small to travel alone: it joins the head.
    const bool follows_norm = item.at("is_output").flag() &&
                              buckets.size() > 1 &&
                              buckets.back().items.size() == 1 &&
                              is_leaf(model, buckets.back().items.front());
    if (home == nullptr && follows_norm) home = &buckets.back();
    if (home == nullptr) home = &buckets.emplace_back();
    const bool takes_norm = follows_norm && home != &buckets.back();
    if (takes_norm) {
      home->items.push_back(buckets.back().items.front());
      home->parameters.merge(buckets.back().parameters);
      buckets.pop_back();
    }
    home->add(item);
  }
  return buckets;
}

// "default": yes, except under a pipeline, where every microbatch would gather
// anew. The last bucket is needed again at once, so only "always" gives it
// back.
bool reshards(const std::string& option, int64_t pp, bool is_last) {
  TITAN_USER_CHECK(
      option == "always" || option == "never" || option == "default",
      "[parallel.reshard_after_forward] expected always, never or "
      "default, got ",
      option);
  if (option == "always") return true;
  return option == "default" && pp == 1 && !is_last;
}

}  // namespace

Json FsdpPlanner::plan(const Json& request) const {
  const Json& mesh = request.at("mesh");
  const bool is_flat = mesh.at("dp_shard").i64() > 1;
  const std::string option =
      request.at("options").str_or("reshard_after_forward", "default");
  const Json& items = request.at("model").at("items");
  const std::string last_item = items.at(items.size() - 1).at("fqn").str();
  Json list = Json::array();
  for (const Bucket& bucket : make_buckets(request.at("model"))) {
    const bool is_last = bucket.items.back() == last_item;
    Json names = Json::array();
    for (const std::string& item : bucket.items) names.push_back(item);
    list.push_back(Json::object(
        {{"name", bucket.items.front()},
         {"items", names},
         {"placement", is_flat ? "flat" : "replicate"},
         {"reshards_after_forward",
          is_flat && reshards(option, mesh.at("pp").i64(), is_last)}}));
  }
  return Json::object({{"data", Json::object({{"buckets", list}})}});
}

}  // namespace titan::fsdp_plan
