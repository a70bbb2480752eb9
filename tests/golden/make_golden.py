#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the golden cases of this folder that Titan's own tests need.

Needs: pip install torch==2.11.0 transformers==5.24.0 safetensors
Usage: make_golden.py OUT_DIR [CASE ...]        (no CASE: all)

Model cases have the layout that core/train/parity.h reads: config.json and
model.safetensors as Hugging Face writes them, inputs, logits with loss and
gradient norm, and every gradient, in float32 on the CPU. `adamw` holds what
torch.optim.AdamW makes of two parameters in ten steps.
"""
import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file

from float64 import model_of, save_weights, train, widened
from golden_cases import MODELS, deepseek

SEED = 11


def randomise(model):
    """Gives every parameter a value that matters, biases and norms too."""
    generator = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for name, value in model.named_parameters():
            noise = torch.randn(value.shape, generator=generator)
            if value.dim() >= 2:
                value.copy_(noise * value.shape[-1] ** -0.5)
            elif "norm" in name or "ln_" in name:
                value.copy_(value + 0.2 * noise)
            else:
                value.copy_(0.3 * noise)
        # Biases of the choice of experts.
        for name, value in model.named_buffers():
            if name.endswith("correction_bias"):
                value.copy_(0.1 * torch.randn(value.shape,
                                              generator=generator))


def save_gradients(model, path):
    with torch.no_grad():
        for value in model.parameters():
            value.copy_(value.grad)
        for value in model.buffers():
            value.zero_()
    save_weights(model, path)


def write_model(folder, name):
    family, shape, changes = MODELS[name]
    # Of a vision-language family: its text model.
    kind = "Config"
    if hasattr(transformers, family + "TextConfig"):
        kind = "TextConfig"
    config = getattr(transformers, family + kind)(**changes)
    config._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(
        config, attn_implementation="eager")
    model = model.float().eval()
    randomise(model)
    generator = torch.Generator().manual_seed(SEED + 1)
    ids = torch.randint(0, config.vocab_size, shape, generator=generator)
    logits = model(input_ids=ids, use_cache=False).logits
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1),
                                             ids[:, 1:].flatten())
    loss.backward()
    loss = loss.detach()
    squares = sum(p.grad.double().square().sum() for p in model.parameters())
    folder.mkdir(parents=True, exist_ok=True)
    config.save_pretrained(folder)
    save_weights(model, folder / "model.safetensors",
                 save_original_format=not name.endswith("_fused"))
    save_file({"input_ids": ids}, folder / "inputs.safetensors")
    save_file({"logits": logits.detach().contiguous(),
               "loss": loss.reshape(1),
               "grad_norm": squares.sqrt().float().reshape(1)},
              folder / "expected.safetensors")
    facts = dict(case=name, seed=SEED, torch=torch.__version__,
                 transformers=transformers.__version__,
                 parameters=sum(p.numel() for p in model.parameters()),
                 loss=loss.item(), grad_norm=squares.sqrt().item())
    (folder / "meta.json").write_text(json.dumps(facts, indent=1) + "\n")
    save_gradients(model, folder / "grads.safetensors")


# ---- training ----

TRAINED = "deepseek_v3_groups"
LR = 3e-3
STEPS = 20


def write_training(folder):
    """Twenty steps of a case that is written, in float64."""
    generator = torch.Generator().manual_seed(SEED + 2)
    ids = torch.randint(0, 48, (STEPS, 2, 24), generator=generator)
    options = dict(steps=STEPS,
                   lr=[LR * min(1.0, (i + 1) / 5) * (1 - 0.9 * i / STEPS)
                       for i in range(STEPS)],
                   betas=[0.9, 0.95], eps=1e-8, weight_decay=0.1,
                   max_grad_norm=1.0)
    with widened("deepseek_v3"):
        model = model_of(folder)
        losses, norms = train(model, ids, options)
    (folder / "training.json").write_text(json.dumps(options) + "\n")
    save_file({"input_ids": ids}, folder / "batches.safetensors")
    save_file({"loss": losses.float(), "grad_norm": norms.float()},
              folder / "expected_training.safetensors")
    save_weights(model.float(), folder / "final.safetensors")


# ---- multi-token prediction ----

MTP_SHAPE = (2, 20)
MTP_COEFF = 0.3
MTP_DEPTHS = 2
MTP_YAML = """\
# What config.json does not say: transformers ignores the blocks behind the last.
model:
  use: titan.deepseek_v3
  config:
    dim: 32
    num_layers: 2
    num_dense_layers: 1
    num_heads: 4
    q_lora_rank: 20
    kv_lora_rank: 16
    qk_nope_head_dim: 10
    qk_rope_head_dim: 6
    v_head_dim: 8
    hidden_dim: 40
    vocab_size: 48
    max_position: 64
    moe:
      num_experts: 8
      top_k: 3
      hidden_dim: 12
      num_groups: 4
      num_limited_groups: 2
      load_balance_coeff: 0
    mtp: {num_layers: 2, loss_coeff: 0.3}
"""


class MtpDepth(torch.nn.Module):
    """One depth in DeepSeek-V3's report (arXiv 2412.19437, section 2.2)."""

    def __init__(self, model):
        super().__init__()
        config = model.config
        last = model.model.layers[-1]
        norm = type(model.model.norm)
        self.enorm = norm(config.hidden_size, eps=config.rms_norm_eps)
        self.hnorm = norm(config.hidden_size, eps=config.rms_norm_eps)
        self.eh_proj = torch.nn.Linear(2 * config.hidden_size,
                                       config.hidden_size, bias=False)
        self.block = type(last)(config, config.num_hidden_layers - 1)
        self.norm = norm(config.hidden_size, eps=config.rms_norm_eps)

    def forward(self, embedded, before, **block):
        x = self.eh_proj(torch.cat([self.enorm(embedded),
                                    self.hnorm(before)], -1))
        return self.norm(self.block(x, **block))


def ahead(x, by, none):
    return torch.cat([x[:, by:], torch.full_like(x[:, :by], none)], 1)


def mtp_loss(model, depths, ids):
    """Logits of the model, and its loss with that of all depths."""
    rows, length = ids.shape
    labels = ahead(ids, 1, -100)
    targets = rows * (length - 1)

    def sum_of(logits, wanted):
        return torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), wanted.flatten(), ignore_index=-100,
            reduction="sum")

    before = model.model(input_ids=ids, use_cache=False).last_hidden_state
    logits = model.lm_head(before)
    positions = torch.arange(length).expand(rows, length)
    angles = model.model.rotary_emb(before, position_ids=positions)
    mask = torch.full((length, length), float("-inf"),
                      dtype=before.dtype).triu(1)[None, None]
    further = 0
    for depth, predict in enumerate(depths, 1):
        before = predict(model.model.embed_tokens(ahead(ids, depth, 0)),
                         before, attention_mask=mask,
                         position_embeddings=angles, position_ids=positions)
        further += sum_of(model.lm_head(before), ahead(labels, depth, -100))
    loss = sum_of(logits, labels) + MTP_COEFF / len(depths) * further
    return logits, loss / targets


def mtp_tensors(model, depths, value_of):
    """Of the depths' parameters, under the names of released checkpoints."""
    out = {}
    for i, depth in enumerate(depths):
        prefix = f"model.layers.{model.config.num_hidden_layers + i}."
        for name, parameter in depth.named_parameters():
            value = value_of(parameter)
            name = name.removeprefix("block.")
            name = "shared_head." + name if name == "norm.weight" else name
            if name == "mlp.experts.gate_up_proj":
                for e, both in enumerate(value):
                    gate, up = both.chunk(2)
                    out[f"{prefix}mlp.experts.{e}.gate_proj.weight"] = gate
                    out[f"{prefix}mlp.experts.{e}.up_proj.weight"] = up
            elif name == "mlp.experts.down_proj":
                for e, down in enumerate(value):
                    out[f"{prefix}mlp.experts.{e}.down_proj.weight"] = down
            else:
                out[prefix + name] = value
        bias = depth.block.mlp.gate.e_score_correction_bias
        out[prefix + "mlp.gate.e_score_correction_bias"] = value_of(bias)
    return out


def write_mtp(folder):
    """Computed in float64; weights are float32's."""
    config = transformers.DeepseekV3Config(
        **deepseek(num_hidden_layers=2, num_nextn_predict_layers=MTP_DEPTHS))
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    model = transformers.DeepseekV3ForCausalLM(config).float().eval()
    randomise(model)
    torch.manual_seed(SEED)
    depths = torch.nn.ModuleList(MtpDepth(model) for _ in range(MTP_DEPTHS))
    randomise(depths.float().eval())
    generator = torch.Generator().manual_seed(SEED + 1)
    ids = torch.randint(0, config.vocab_size, MTP_SHAPE, generator=generator)
    folder.mkdir(parents=True, exist_ok=True)
    config.save_pretrained(folder)
    (folder / "model.yaml").write_text(MTP_YAML)

    def save(name, value_of):
        path = folder / (name + ".safetensors")
        save_weights(model, path)
        tensors = {**load_file(path), **mtp_tensors(model, depths, value_of)}
        save_file({k: v.float().contiguous() for k, v in tensors.items()},
                  path)

    save("model", lambda value: value.detach())
    with widened("deepseek_v3"):
        model.model.rotary_emb = type(model.model.rotary_emb)(config)
        logits, loss = mtp_loss(model.double(), depths.double(), ids)
        loss.backward()
    assert loss.dtype == torch.float64
    parameters = [*model.parameters(), *depths.parameters()]
    norm = sum(p.grad.square().sum() for p in parameters).sqrt()
    save_file({"input_ids": ids}, folder / "inputs.safetensors")
    save_file({"logits": logits.detach().float().contiguous(),
               "loss": loss.detach().float().reshape(1),
               "grad_norm": norm.float().reshape(1)},
              folder / "expected.safetensors")
    facts = dict(case=folder.name, seed=SEED, torch=torch.__version__,
                 transformers=transformers.__version__, dtype="float64",
                 parameters=sum(p.numel() for p in parameters),
                 loss=loss.item(), grad_norm=norm.item())
    (folder / "meta.json").write_text(json.dumps(facts, indent=1) + "\n")
    with torch.no_grad():
        for value in model.parameters():
            value.copy_(value.grad)
        for value in [*model.buffers(), *depths.buffers()]:
            value.zero_()
    save("grads", lambda value: value.detach() if value.grad is None
         else value.grad)


def write_adamw(folder):
    """Ten steps each in float32 and float64, with weight decay."""
    folder.mkdir(parents=True, exist_ok=True)
    options = dict(lr=1e-2, betas=[0.9, 0.95], eps=1e-8, weight_decay=0.1)
    tensors = {}
    for dtype, suffix in ((torch.float32, "f32"), (torch.float64, "f64")):
        generator = torch.Generator().manual_seed(SEED)
        start = torch.randn(6, 5, generator=generator, dtype=dtype)
        gradients = torch.randn(10, 6, 5, generator=generator, dtype=dtype)
        gradients[:, 0] *= 1e-6  # where eps counts
        value = torch.nn.Parameter(start.clone())
        optimizer = torch.optim.AdamW([value], amsgrad=False, foreach=False,
                                      **options)
        for gradient in gradients:
            value.grad = gradient.clone()
            optimizer.step()
        state = optimizer.state[value]
        tensors.update({f"start.{suffix}": start,
                        f"gradients.{suffix}": gradients,
                        f"end.{suffix}": value.detach(),
                        f"exp_avg.{suffix}": state["exp_avg"],
                        f"exp_avg_sq.{suffix}": state["exp_avg_sq"]})
    save_file({k: v.contiguous() for k, v in tensors.items()},
              folder / "steps.safetensors")
    facts = dict(options, seed=SEED, torch=torch.__version__)
    (folder / "meta.json").write_text(json.dumps(facts, indent=1) + "\n")


def main():
    out = pathlib.Path(sys.argv[1])
    others = {"adamw": write_adamw, "deepseek_v3_mtp": write_mtp}
    for name in sys.argv[2:] or [*MODELS, *others]:
        if name in others:
            others[name](out / name)
        else:
            write_model(out / name, name)
        if name == TRAINED:
            write_training(out / name)
        size = sum(f.stat().st_size for f in (out / name).iterdir())
        print(f"{name}: {size // 1024} KiB")


if __name__ == "__main__":
    main()
