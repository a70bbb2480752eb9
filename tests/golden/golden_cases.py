# SPDX-License-Identifier: BSD-3-Clause
"""The configurations of the golden cases: data for make_golden.py."""


def rope(kind, theta=10000.0, **more):
    return dict(rope_type=kind, rope_theta=theta, **more)


def llama(**changes):
    config = dict(vocab_size=48, hidden_size=32, intermediate_size=40,
                  num_hidden_layers=2, num_attention_heads=4,
                  num_key_value_heads=2, max_position_embeddings=64,
                  rms_norm_eps=1e-5, tie_word_embeddings=False,
                  pad_token_id=None, bos_token_id=0, eos_token_id=1,
                  rope_parameters=rope("default"))
    config.update(changes)
    return config


def qwen3(**changes):
    return llama(**dict(dict(head_dim=12, rms_norm_eps=1e-6,
                             rope_parameters=rope("default", 1000000.0)),
                        **changes))


def yarn_scaled():
    return rope("yarn", 50000.0, factor=8.0, beta_fast=16.0, beta_slow=2.0,
                attention_factor=1.3, truncate=False,
                original_max_position_embeddings=8)


# name -> (rows and their length, LlamaConfig). The scaled ropes are read past
# their original length, where the scaling shows.
LLAMA = {
    "llama3_bias": ((1, 64), llama(head_dim=8, attention_bias=True)),
    "llama3_linear": ((1, 32), llama(
        tie_word_embeddings=True, num_key_value_heads=1,
        rope_parameters=rope("linear", factor=4.0))),
    "llama3_yarn": ((1, 48), llama(
        head_dim=12, mlp_bias=True, max_position_embeddings=64,
        rope_parameters=rope("yarn", factor=4.0,
                             original_max_position_embeddings=16))),
    "llama3_yarn_scaled": ((1, 40), llama(
        hidden_size=24, head_dim=16, num_attention_heads=3,
        num_key_value_heads=3, rms_norm_eps=1e-3,
        rope_parameters=yarn_scaled())),
    "llama3_wide_heads": ((1, 48), llama(
        head_dim=16, tie_word_embeddings=True, mlp_bias=True,
        attention_bias=True,
        rope_parameters=rope("llama3", 500000.0, factor=8.0,
                             low_freq_factor=1.0, high_freq_factor=4.0,
                             original_max_position_embeddings=32))),
}

QWEN3 = {
    "qwen3_bias": ((1, 64), qwen3(head_dim=16, attention_bias=True)),
    "qwen3_yarn": ((1, 48), qwen3(
        tie_word_embeddings=True,
        rope_parameters=rope("yarn", 1000000.0, factor=4.0,
                             original_max_position_embeddings=16))),
    "qwen3_yarn_scaled": ((1, 40), qwen3(
        hidden_size=24, head_dim=16, num_attention_heads=3,
        num_key_value_heads=3, rms_norm_eps=1e-3,
        rope_parameters=yarn_scaled())),
    "qwen3_window": ((2, 24), qwen3(
        num_hidden_layers=3, use_sliding_window=True, sliding_window=7,
        max_window_layers=1)),
    "qwen3_layer_types": ((1, 32), qwen3(
        num_hidden_layers=3, num_key_value_heads=1, tie_word_embeddings=True,
        use_sliding_window=True, sliding_window=5,
        layer_types=["sliding_attention", "full_attention",
                     "sliding_attention"])),
    "qwen3_narrow": ((2, 24), qwen3(
        head_dim=4, num_attention_heads=6, attention_bias=True,
        rope_parameters=rope("llama3", 500000.0, factor=8.0,
                             low_freq_factor=1.0, high_freq_factor=4.0,
                             original_max_position_embeddings=16))),
    "qwen3_linear": ((3, 16), qwen3(
        head_dim=20, num_attention_heads=2, num_key_value_heads=1,
        tie_word_embeddings=True, attention_bias=True,
        rope_parameters=rope("linear", 5000000.0, factor=4.0))),
}


def qwen3_moe(**changes):
    return qwen3(**dict(dict(num_experts=6, num_experts_per_tok=2,
                             moe_intermediate_size=20, norm_topk_prob=True,
                             decoder_sparse_step=1, mlp_only_layers=[],
                             head_dim=8),
                        **changes))


# Eight tokens leave most of 24 experts without one.
QWEN3_MOE = {
    "qwen3_moe_mixed": ((1, 32), qwen3_moe(
        num_hidden_layers=6, decoder_sparse_step=2, mlp_only_layers=[3],
        norm_topk_prob=False, num_experts=5, num_experts_per_tok=3)),
    "qwen3_moe_top1": ((1, 32), qwen3_moe(
        num_experts_per_tok=1, norm_topk_prob=False,
        tie_word_embeddings=True)),
    "qwen3_moe_all": ((1, 32), qwen3_moe(
        num_experts=4, num_experts_per_tok=4, attention_bias=True,
        rope_parameters=rope("yarn", 1000000.0, factor=4.0,
                             original_max_position_embeddings=8))),
    "qwen3_moe_idle": ((1, 8), qwen3_moe(
        num_experts=24, moe_intermediate_size=8, num_key_value_heads=1)),
    "qwen3_moe_window": ((2, 24), qwen3_moe(
        use_sliding_window=True, sliding_window=6, norm_topk_prob=False,
        rms_norm_eps=1e-5)),
    "qwen3_moe_wide": ((3, 12), qwen3_moe(
        num_hidden_layers=1, num_experts=7, num_experts_per_tok=3,
        moe_intermediate_size=36, head_dim=20, num_attention_heads=3,
        num_key_value_heads=3)),
}


# The first outputs of a document are products of nearly orthogonal q and k; a
# small epsilon makes their rounding large in all that follows.
def qwen3_5(**changes):
    return llama(**dict(dict(
        head_dim=16, rms_norm_eps=1e-4, max_position_embeddings=256,
        linear_num_key_heads=2, linear_num_value_heads=4,
        linear_key_head_dim=8, linear_value_head_dim=8, num_hidden_layers=4,
        rope_parameters=partial("default", 0.5)), **changes))


def partial(kind, part, head_dim=16, **more):
    pairs = int(head_dim * part) // 2
    return rope(kind, 1e7, partial_rotary_factor=part, mrope_interleaved=True,
                mrope_section=[(pairs + 2) // 3, (pairs + 1) // 3, pairs // 3],
                **more)


# Hugging Face computes 64 tokens at a time, as Titan does.
QWEN3_5 = {
    "qwen3_5_bias": ((1, 40), qwen3_5(
        attention_bias=True, head_dim=8, tie_word_embeddings=True,
        rope_parameters=partial("default", 0.25, 8))),
    "qwen3_5_long": ((1, 150), qwen3_5(
        linear_num_value_heads=2, linear_value_head_dim=12,
        num_key_value_heads=4, rms_norm_eps=1e-6)),
    "qwen3_5_narrow": ((2, 24), qwen3_5(
        linear_num_key_heads=1, linear_num_value_heads=6,
        linear_key_head_dim=12, linear_value_head_dim=4, rms_norm_eps=1e-2)),
    "qwen3_5_taps": ((3, 16), qwen3_5(
        linear_conv_kernel_dim=2, num_attention_heads=6, num_hidden_layers=5,
        num_key_value_heads=1)),
    "qwen3_5_types": ((1, 70), qwen3_5(
        num_hidden_layers=3, tie_word_embeddings=True,
        linear_conv_kernel_dim=7,
        layer_types=["full_attention", "linear_attention",
                     "full_attention"])),
    "qwen3_5_yarn": ((1, 48), qwen3_5(
        layer_types=["linear_attention", "full_attention"] * 2,
        rope_parameters=partial("yarn", 0.75, factor=4.0,
                                original_max_position_embeddings=16))),
}


def qwen3_5_moe(**changes):
    return qwen3_5(**dict(dict(
        num_hidden_layers=2, num_experts=6, num_experts_per_tok=2,
        layer_types=["linear_attention", "full_attention"],
        moe_intermediate_size=20, shared_expert_intermediate_size=12),
        **changes))


# "fused": written as published files are, all experts in one tensor.
QWEN3_5_MOE = {
    "qwen3_5_moe_fused": ((1, 40), qwen3_5_moe(num_experts=5,
                                               num_experts_per_tok=3)),
    "qwen3_5_moe_tied": ((1, 32), qwen3_5_moe(
        tie_word_embeddings=True, linear_num_key_heads=4)),
    "qwen3_5_moe_all": ((2, 24), qwen3_5_moe(
        num_experts=4, num_experts_per_tok=4, attention_bias=True,
        rope_parameters=partial("yarn", 0.75, factor=4.0,
                                original_max_position_embeddings=8))),
    "qwen3_5_moe_idle": ((1, 8), qwen3_5_moe(
        num_experts=24, moe_intermediate_size=8, num_key_value_heads=1)),
    "qwen3_5_moe_shared": ((1, 70), qwen3_5_moe(
        layer_types=["full_attention", "linear_attention"], head_dim=20,
        num_attention_heads=3, num_key_value_heads=3, num_experts=3,
        rope_parameters=partial("default", 0.5, 20),
        shared_expert_intermediate_size=56)),
    "qwen3_5_moe_rows": ((3, 12), qwen3_5_moe(
        num_hidden_layers=3, layer_types=["linear_attention"] * 3,
        linear_num_key_heads=1, linear_num_value_heads=3,
        linear_value_head_dim=12, linear_conv_kernel_dim=3)),
}


def small(**changes):
    """Of no family: sizes that most configurations name alike."""
    config = llama(**changes)
    for key in ("rms_norm_eps", "tie_word_embeddings"):
        if key not in changes:
            config.pop(key)
    return config


def gpt2(**changes):
    return dict(dict(vocab_size=48, n_embd=32, n_layer=2, n_head=4,
                     n_positions=64, bos_token_id=0, eos_token_id=1),
                **changes)


# Families that the options of titan.gpt make up, by config.json.
GPT = {
    "gpt2": ("GPT2", (2, 24), gpt2()),
    "gpt2_inner": ("GPT2", (1, 40), gpt2(
        n_inner=24, n_layer=3, n_head=2, n_positions=40,
        layer_norm_epsilon=1e-3, activation_function="relu",
        tie_word_embeddings=False)),
    "gpt_neox": ("GPTNeoX", (2, 24), small(
        rope_parameters=dict(rope("default"), partial_rotary_factor=0.25))),
    "gpt_neox_sequential": ("GPTNeoX", (1, 40), small(
        num_hidden_layers=3, use_parallel_residual=False,
        attention_bias=False, tie_word_embeddings=True,
        hidden_act="gelu_pytorch_tanh", layer_norm_eps=1e-3,
        rope_parameters=dict(rope("linear", 20000.0, factor=2.0),
                             partial_rotary_factor=1.0))),
    "gpt_neox_yarn": ("GPTNeoX", (1, 40), small(
        rope_parameters=dict(rope("yarn", 50000.0, factor=4.0,
                                  original_max_position_embeddings=16,
                                  attention_factor=1.3, beta_fast=32.0,
                                  beta_slow=1.0),
                             partial_rotary_factor=0.5))),
    "gemma2": ("Gemma2", (2, 24), small(
        head_dim=12, query_pre_attn_scalar=20, sliding_window=7,
        attn_logit_softcapping=3.0, final_logit_softcapping=2.0)),
    "gemma2_uncapped": ("Gemma2", (1, 32), small(
        head_dim=8, num_hidden_layers=3, num_key_value_heads=1,
        sliding_window=5, query_pre_attn_scalar=10,
        attn_logit_softcapping=None, final_logit_softcapping=None,
        tie_word_embeddings=False, rms_norm_eps=1e-4,
        layer_types=["full_attention", "sliding_attention",
                     "sliding_attention"])),
    "olmo2": ("Olmo2", (2, 24), small()),
    "olmo2_bias": ("Olmo2", (1, 48), small(
        num_hidden_layers=3, num_key_value_heads=4, attention_bias=True,
        tie_word_embeddings=True, rms_norm_eps=1e-6,
        rope_parameters=rope("yarn", 50000.0, factor=4.0, beta_fast=32.0,
                             beta_slow=1.0, attention_factor=1.3,
                             original_max_position_embeddings=16))),
    "mixtral": ("Mixtral", (2, 24), small(
        num_local_experts=5, intermediate_size=24,
        rope_parameters=rope("default", 1000000.0))),
    "mixtral_window": ("Mixtral", (1, 32), small(
        num_local_experts=4, num_experts_per_tok=3, intermediate_size=20,
        num_key_value_heads=4, head_dim=10, sliding_window=6,
        tie_word_embeddings=True)),
}

# Families that titan.gpt knows nothing of: their folders have a model.yaml.
GPT_BY_YAML = {
    "gpt_phi": ("Phi", (2, 24), small(
        rope_parameters=dict(rope("default"), partial_rotary_factor=0.5))),
    "gpt_starcoder2": ("Starcoder2", (1, 32), small(sliding_window=9)),
    "gpt_gptj": ("GPTJ", (2, 24), gpt2(n_positions=32, rotary_dim=4)),
    # Without rope the gradient of a bias of k is zero but for rounding.
    "gpt_opt": ("OPT", (2, 24), small(
        ffn_dim=40, word_embed_proj_dim=32, enable_bias=False)),
    "gpt_cohere": ("Cohere", (1, 32), small(logit_scale=0.25)),
    "gpt_granite": ("Granite", (1, 32), small(
        attention_multiplier=0.2, embedding_multiplier=3.0,
        logits_scaling=2.0, residual_multiplier=0.5, mlp_bias=True)),
    "gpt_gemma3": ("Gemma3Text", (1, 32), small(
        head_dim=12, query_pre_attn_scalar=20, sliding_window=7,
        num_hidden_layers=3, layer_types=["sliding_attention",
                                          "sliding_attention",
                                          "full_attention"],
        rope_parameters=dict(
            sliding_attention=rope("default", 10000.0),
            full_attention=rope("linear", 1000000.0, factor=8.0)))),
    "gpt_deepseek": ("DeepseekV3", (1, 32), small(
        num_hidden_layers=3, first_k_dense_replace=1, num_key_value_heads=4,
        q_lora_rank=14, kv_lora_rank=10, qk_nope_head_dim=6,
        qk_rope_head_dim=4, v_head_dim=8, n_routed_experts=6,
        num_experts_per_tok=2, n_group=3, topk_group=2, n_shared_experts=2,
        moe_intermediate_size=12, routed_scaling_factor=1.5,
        tie_word_embeddings=False)),
    "gpt_openai": ("OpenAIGPT", (1, 32), gpt2(afn="gelu")),
}


def deepseek(**changes):
    return llama(**dict(dict(num_key_value_heads=4, rms_norm_eps=1e-6,
                             num_hidden_layers=3, q_lora_rank=20,
                             kv_lora_rank=16, qk_nope_head_dim=10,
                             qk_rope_head_dim=6, v_head_dim=8,
                             n_routed_experts=8, num_experts_per_tok=3,
                             moe_intermediate_size=12, n_shared_experts=1,
                             first_k_dense_replace=1, n_group=4, topk_group=2),
                        **changes))


def yarn_mscale(**changes):
    return rope("yarn", 10000.0, **dict(dict(
        factor=4.0, beta_fast=32.0, beta_slow=1.0, mscale=1.0,
        mscale_all_dim=1.0, original_max_position_embeddings=16), **changes))


DEEPSEEK_V3 = {
    "deepseek_v3_one_group": ((2, 24), deepseek(
        q_lora_rank=None, n_group=1, topk_group=1)),
    "deepseek_v3_yarn": ((1, 48), deepseek(rope_parameters=yarn_mscale())),
    "deepseek_v3_yarn_unequal": ((1, 48), deepseek(
        rms_norm_eps=1e-4, num_attention_heads=3, num_key_value_heads=3,
        rope_parameters=yarn_mscale(factor=8.0, mscale=0.7,
                                    mscale_all_dim=1.2))),
    "deepseek_v3_yarn_plain": ((1, 40), deepseek(
        num_hidden_layers=2, rope_parameters=rope(
            "yarn", 10000.0, factor=4.0,
            original_max_position_embeddings=16))),
    "deepseek_v3_dense": ((1, 32), deepseek(
        first_k_dense_replace=3, attention_bias=True, v_head_dim=14)),
    "deepseek_v3_shared": ((2, 24), deepseek(
        n_shared_experts=2, norm_topk_prob=False, tie_word_embeddings=True,
        attention_bias=True, routed_scaling_factor=1.5)),
    "deepseek_v3_groups": ((1, 32), deepseek(
        first_k_dense_replace=0, n_routed_experts=12, num_experts_per_tok=5,
        n_group=3, topk_group=2, routed_scaling_factor=1.0,
        num_hidden_layers=2)),
    "deepseek_v3_halves": ((1, 8), deepseek(
        rope_interleave=False, n_routed_experts=24, moe_intermediate_size=8,
        q_lora_rank=None, num_hidden_layers=2)),
}

DEEPSEEK_V2 = {
    "deepseek_v2": ((1, 40), deepseek(
        topk_method="group_limited_greedy", n_shared_experts=2,
        routed_scaling_factor=16.0,
        rope_parameters=yarn_mscale(mscale=0.707, mscale_all_dim=0.707))),
    "deepseek_v2_lite": ((2, 24), deepseek(
        topk_method="greedy", n_group=None, topk_group=None,
        q_lora_rank=None, num_experts_per_tok=2)),
}

# name -> (class prefix in transformers, rows and length, configuration)
MODELS = {name: (family, *case)
          for family, cases in (("Llama", LLAMA), ("Qwen3", QWEN3),
                                ("Qwen3Moe", QWEN3_MOE),
                                ("Qwen3_5", QWEN3_5),
                                ("Qwen3_5Moe", QWEN3_5_MOE),
                                ("DeepseekV3", DEEPSEEK_V3),
                                ("DeepseekV2", DEEPSEEK_V2))
          for name, case in cases.items()} | GPT | GPT_BY_YAML
