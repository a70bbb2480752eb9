#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What transformers takes for the keys that a config.json leaves out.

Needs: pip install torch==2.11.0 transformers==5.24.0
Usage: defaults.py > defaults.json

By model type, of the keys that describe the network: values of the
configuration class made of {"model_type": ...} alone (deepseek_v2 also needs
num_experts_per_tok). Nulls are left out, and what a file is free to lack.
"""
import json

import transformers

TYPES = ["llama", "qwen3", "qwen3_moe", "qwen3_5_text", "qwen3_5_moe_text",
         "deepseek_v3", "deepseek_v2", "gpt2", "gpt_neox", "gemma2", "olmo2",
         "mixtral"]
GIVEN = {"deepseek_v2": {"num_experts_per_tok": 6}}
# Generation, losses, dropout, how models start, and what layer_types says.
NOT_THE_NETWORK = {
    "initializer_range", "use_cache", "bos_token_id", "eos_token_id",
    "pad_token_id", "pretraining_tp", "transformers_version", "architectures",
    "attention_dropout", "router_aux_loss_coef", "classifier_dropout",
    "hidden_dropout", "is_decoder", "chunk_size_feed_forward", "id2label",
    "label2id", "is_encoder_decoder", "output_attentions",
    "output_hidden_states", "return_dict", "_name_or_path", "num_mtp_layers",
    "resid_pdrop", "embd_pdrop", "attn_pdrop", "reorder_and_upcast_attn",
    "router_jitter_noise", "qk_head_dim", "num_nextn_predict_layers",
    "max_window_layers"}


def described(values):
    return {key: value for key, value in values.items()
            if value is not None and key not in NOT_THE_NETWORK
            and not key.startswith("summary_")}


def main():
    out = {}
    for name in TYPES:
        config = transformers.AutoConfig.for_model(name, **GIVEN.get(name, {}))
        out[name] = described(config.to_dict())
    print(json.dumps(out, indent=1, sort_keys=True))


main()
