// SPDX-License-Identifier: BSD-3-Clause
#include "core/config/suggest.h"

#include <catch2/catch.hpp>

using namespace titan::config;

// A key that another component has at the same place, or that other trainers
// mean by it.
TEST_CASE("a suggestion is never the place that was asked for", "[unit]") {
  const std::vector<std::string> all = {"model.config.dim",
                                        "model.config.norm",
                                        "model.config.norms",
                                        "optimizer.config.lr"};
  CHECK(suggest_key("model.config", "norm", {"dim", "vocab_size"}, all) ==
        "Did you mean model.config.norms?");
  CHECK(suggest_key("model.config", "dims", {"layers"}, all) ==
        "Did you mean model.config.dim?");
  CHECK(suggest_key("optimizer.config", "lr", {"momentum"}, all) ==
        "Known keys: momentum.");
  CHECK(suggest_key("training", "lr", {"steps"}, all) ==
        "This key belongs in another section: optimizer.config.lr.");
}
