// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/datasets/parquet/selection.h"

#include <titan/error.h>

namespace titan::parquet_dataset {

Selection read_selection(const Config& config) {
  const bool has_text = config.has("text");
  const bool has_messages = config.size("messages") > 0;
  const bool has_tokens = config.has("tokens");
  TITAN_USER_CHECK(int{has_text} + int{has_messages} + int{has_tokens} <= 1,
                   "[data.config] columns of titan.parquet: expected one of "
                   "text, messages and tokens, got several");
  if (has_tokens) return {RecordFormat::kTokens, {config.str("tokens")}};
  if (!has_messages)
    return {RecordFormat::kText, {has_text ? config.str("text") : "text"}};
  Selection selection{RecordFormat::kMessages, {}};
  const Json names = config.json("messages");
  for (const Json& name : names.items())
    selection.columns.emplace_back(name.str());
  return selection;
}

}  // namespace titan::parquet_dataset
