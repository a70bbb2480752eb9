#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the golden adapters of this folder: what PEFT makes of golden llama3.

Needs: pip install torch==2.11.0 transformers==5.24.0 peft==0.21.2
Usage: make_adapters.py write OUT_DIR       (OUT_DIR: tests/golden)
       make_adapters.py read ADAPTER_DIR MERGED_DIR

`write` leaves, for each of CASES, a folder lora/CASE:
  adapter_config.json, adapter_model.safetensors  as PEFT saves them
  expected.safetensors  logits, loss and final loss; "grad KEY" and
                        "final KEY" of every adapter tensor after five
                        steps of AdamW; "merged KEY" of two weights
`read` loads what a run of Titan on golden llama3 left: PEFT the adapter, onto
the base, and transformers the merged model; their logits must agree.
"""
import json
import pathlib
import shutil
import sys

import peft
import torch
import transformers
from peft.utils import get_peft_model_state_dict
from safetensors.torch import load_file, save_file

SEED = 17
HERE = pathlib.Path(__file__).parent
BASE = HERE / "llama3"
STEPS = 5
ADAMW = dict(lr=1e-2, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
MLP = ["gate_proj", "up_proj", "down_proj"]
CASES = {
    "lora": dict(r=4, lora_alpha=8, target_modules=ATTENTION + MLP),
    "rslora": dict(r=4, lora_alpha=6, use_rslora=True,
                   target_modules=["q_proj", "v_proj"]),
    "dora": dict(r=3, lora_alpha=6, use_dora=True,
                 target_modules=ATTENTION + ["down_proj"]),
}
MERGED = ["model.layers.0.self_attn.q_proj.weight",
          "model.layers.1.mlp.down_proj.weight"]


def base_model():
    config = transformers.LlamaConfig.from_pretrained(BASE)
    config._attn_implementation = "eager"
    model = transformers.LlamaForCausalLM(config).float().eval()
    model.load_state_dict(load_file(BASE / "model.safetensors"), strict=False)
    return model


def golden_ids():
    return load_file(BASE / "inputs.safetensors")["input_ids"]


def randomise(model):
    """B starts at zero, where A has no gradient: give all a value."""
    generator = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if not value.requires_grad:
                continue
            noise = torch.randn(value.shape, generator=generator)
            if "magnitude" in name:
                value.mul_(1 + 0.1 * noise)
            else:
                value.copy_(noise * 0.3 * value.shape[-1] ** -0.5)


def loss_of(model, ids):
    logits = model(input_ids=ids, use_cache=False).logits
    losses = torch.nn.functional.cross_entropy(
        logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    return logits, losses


def adapter_state(model):
    return {key: value.detach().clone().contiguous()
            for key, value in get_peft_model_state_dict(model).items()}


def write_case(folder, options):
    folder.mkdir(parents=True)
    ids = golden_ids()
    model = peft.get_peft_model(
        base_model(), peft.LoraConfig(task_type="CAUSAL_LM", **options)).eval()
    randomise(model)
    model.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    logits, loss = loss_of(model, ids)
    expected = {"logits": logits.detach().contiguous(),
                "loss": loss.detach().reshape(1)}
    loss.backward()
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    with torch.no_grad():
        kept = {n: p.detach().clone() for n, p in trained.items()}
        for value in trained.values():
            value.copy_(value.grad)
        for key, value in adapter_state(model).items():
            expected["grad " + key] = value
        for name, value in trained.items():
            value.copy_(kept[name])
    optimizer = torch.optim.AdamW(trained.values(), foreach=False, **ADAMW)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(model, ids)[1].backward()
        optimizer.step()
    for key, value in adapter_state(model).items():
        expected["final " + key] = value
    expected["final loss"] = loss_of(model, ids)[1].detach().reshape(1)
    merged = peft.PeftModel.from_pretrained(
        base_model(), folder).merge_and_unload().state_dict()
    for key in MERGED:
        expected["merged " + key] = merged[key].detach().contiguous()
    save_file(expected, folder / "expected.safetensors")
    facts = dict(seed=SEED, steps=STEPS, adamw=ADAMW, peft=peft.__version__,
                 torch=torch.__version__,
                 transformers=transformers.__version__)
    (folder / "meta.json").write_text(json.dumps(facts, indent=1) + "\n")


def read(adapter, merged):
    adapted = peft.PeftModel.from_pretrained(base_model(), adapter).eval()
    plain = transformers.LlamaForCausalLM.from_pretrained(
        merged, dtype=torch.float32, attn_implementation="eager").eval()
    ids = golden_ids()
    with torch.no_grad():
        start = loss_of(base_model(), ids)[0]
        ours, theirs = (loss_of(model, ids)[0] for model in (adapted, plain))
    error = ((ours - theirs).norm() / ours.norm()).item()
    moved = ((ours - start).norm() / start.norm()).item()
    print(f"relative difference of logits {error:.1e}, from the base {moved:.1e}")
    return 0 if error < 1e-5 < moved else 1


def main():
    if sys.argv[1] == "read":
        sys.exit(read(sys.argv[2], sys.argv[3]))
    out = pathlib.Path(sys.argv[2]) / "lora"
    shutil.rmtree(out, ignore_errors=True)
    for name, options in CASES.items():
        write_case(out / name, options)


if __name__ == "__main__":
    main()
