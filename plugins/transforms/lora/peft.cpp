// SPDX-License-Identifier: BSD-3-Clause
// adapter_config.json, as Hugging Face's PEFT writes and reads it: keys and
// defaults of LoraConfig in peft 0.17 (src/peft/tuners/lora/config.py).
#include <titan/error.h>

#include "plugins/transforms/lora/lora.h"

namespace titan::lora {
namespace {

template <typename Value>
void require_same(std::string_view key,
                  const Value& expected,
                  const Value& got) {
  TITAN_USER_CHECK(expected == got,
                   "[adapter.initial] ",
                   key,
                   " of adapter_config.json: expected ",
                   expected,
                   " as the recipe has it, got ",
                   got);
}

// Present and neither null, false, zero nor empty.
bool is_in_use(const Json& file, std::string_view key) {
  const Json* value = file.find(key);
  if (value == nullptr || value->is_null()) return false;
  const std::string words = value->dump();
  return words != "false" && words != "0" && words != "{}" && words != "[]" &&
         words != "\"\"";
}

// PEFT's type says int; it takes other numbers, too.
Json number(double value) {
  const auto whole = static_cast<int64_t>(value);
  return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

// Values of init_lora_weights whose adapters belong to the base weights as they
// are; others (pissa, olora, corda, loftq) have changed those.
bool keeps_base(const Json& init) {
  return init.is_bool() || (init.is_string() && (init.str() == "gaussian" ||
                                                 init.str() == "orthogonal" ||
                                                 init.str() == "eva"));
}

}  // namespace

Json Lora::describe_file(const Json& modules) const {
  return Json::object({{"peft_type", "LORA"},
                       {"task_type", "CAUSAL_LM"},
                       {"base_model_name_or_path", nullptr},
                       {"inference_mode", true},
                       {"r", config_.rank},
                       {"lora_alpha", number(config_.alpha)},
                       {"lora_dropout", 0.0},
                       {"use_rslora", config_.use_rslora},
                       {"use_dora", config_.use_dora},
                       {"target_modules", modules},
                       {"bias", "none"},
                       {"fan_in_fan_out", false},
                       {"init_lora_weights", true},
                       {"modules_to_save", nullptr},
                       {"rank_pattern", Json::object()},
                       {"alpha_pattern", Json::object()}});
}

void Lora::check_file(const Json& file) const {
  require_same("peft_type", std::string("LORA"), file.str_or("peft_type", ""));
  require_same("r", config_.rank, file.i64_or("r", 8));
  require_same("lora_alpha", config_.alpha, file.f64_or("lora_alpha", 8));
  require_same(
      "use_rslora", config_.use_rslora, file.flag_or("use_rslora", false));
  require_same("use_dora", config_.use_dora, file.flag_or("use_dora", false));
  require_same("bias", std::string("none"), file.str_or("bias", "none"));
  const Json* init = file.find("init_lora_weights");
  TITAN_USER_CHECK(init == nullptr || keeps_base(*init),
                   "[adapter.initial] init_lora_weights of "
                   "adapter_config.json: expected one that leaves the base "
                   "weights alone, got ",
                   init == nullptr ? "" : init->dump());
  for (const char* key : {"rank_pattern",
                          "alpha_pattern",
                          "modules_to_save",
                          "fan_in_fan_out",
                          "lora_bias",
                          "trainable_token_indices",
                          "target_parameters",
                          "layer_replication",
                          "alora_invocation_tokens",
                          "use_qalora"})
    TITAN_USER_CHECK(!is_in_use(file, key),
                     "[adapter.initial] ",
                     key,
                     " of adapter_config.json: expected it unused, which has "
                     "no counterpart here, got ",
                     file.at(key).dump());
}

}  // namespace titan::lora
