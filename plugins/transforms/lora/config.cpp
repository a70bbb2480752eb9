// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/transforms/lora/config.h"

#include <cmath>

#include <titan/error.h>

namespace titan::lora {

LoraConfig::LoraConfig(const Config& config)
    : rank(config.i64("rank")),
      alpha(config.f64("alpha")),
      use_rslora(config.flag("use_rslora")),
      use_dora(config.flag("use_dora")) {
  const double dropout = config.f64("dropout");
  TITAN_USER_CHECK(dropout == 0,
                   "[adapter.config.dropout] is not executed: expected 0, got ",
                   dropout);
  const Json list = config.json("targets");
  for (const Json& pattern : list.items()) targets.push_back(pattern.str());
}

double LoraConfig::scale() const {
  const auto size = static_cast<double>(rank);
  return alpha / (use_rslora ? std::sqrt(size) : size);
}

}  // namespace titan::lora
