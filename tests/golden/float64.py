#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Adds what a case expects in float64, as its folder `float64`: logits, loss
and gradients with --first-step, the training steps where the case has them.

Needs: pip install torch==2.11.0 transformers==5.24.0 safetensors
Usage: float64.py [--first-step] CASE_DIR ...           (docs/parity.md)

A model of transformers that is turned to float64 still computes its norms,
softmax, scores of experts and rotary angles in float32, which its sources
name. Here those sources read float64 where they say float32.
"""
import contextlib
import importlib
import json
import pathlib
import re
import shutil
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file


class Widened:
    """The module torch, whose float32 is float64."""
    float32 = float = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


@contextlib.contextmanager
def widened(model_type):
    """While it lasts, models of this type are made and run in float64."""
    modules = [importlib.import_module(f"transformers.{name}") for name in (
        f"models.{model_type}.modeling_{model_type}", "modeling_rope_utils")]
    narrow = torch.Tensor.float
    for module in modules:
        module.torch = Widened()
    torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        torch.Tensor.float = narrow
        for module in modules:
            module.torch = torch


def model_of(folder):
    """The model of a case's folder; call it within `widened` only."""
    return transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float64, attn_implementation="eager",
        experts_implementation="eager")


def train(model, ids, options):
    """Losses and norms of the steps; the model has the weights after them."""
    model.train()
    optimizer = torch.optim.AdamW(
        model.parameters(), betas=tuple(options["betas"]), eps=options["eps"],
        weight_decay=options["weight_decay"], foreach=False)
    losses, norms = [], []
    for step, lr in zip(ids, options["lr"]):
        optimizer.param_groups[0]["lr"] = lr
        logits = model(input_ids=step, use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(
            logits[:, :-1].flatten(0, 1), step[:, 1:].flatten())
        assert loss.dtype == torch.float64
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(
            model.parameters(), options["max_grad_norm"]).detach())
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    return torch.stack(losses), torch.stack(norms)


def save_weights(model, path, **options):
    """The weights alone, through Hugging Face's writer: its keys, no alias."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, **options)
        shutil.move(pathlib.Path(folder) / "model.safetensors", path)


def value_of(values, key):
    """`key` of a checkpoint among a model's own names: experts are stacked."""
    if key in values:
        return values[key]
    prefix, expert, part = re.fullmatch(
        r"(.*\.experts)\.(\d+)\.(gate|up|down)_proj\.weight", key).groups()
    if part == "down":
        return values[prefix + ".down_proj"][int(expert)]
    gate, up = values[prefix + ".gate_up_proj"][int(expert)].chunk(2)
    return gate if part == "gate" else up


def write_first_step(folder, wide):
    ids = load_file(folder / "inputs.safetensors")["input_ids"]
    model = model_of(folder)
    logits = model(input_ids=ids, use_cache=False).logits
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1),
                                             ids[:, 1:].flatten())
    assert loss.dtype == torch.float64
    loss.backward()
    gradients = {name: torch.zeros_like(p) if p.grad is None else p.grad
                 for name, p in model.named_parameters()}
    squares = sum(g.square().sum() for g in gradients.values())
    save_file({"logits": logits.detach().contiguous(),
               "loss": loss.detach().reshape(1),
               "grad_norm": squares.sqrt().reshape(1)},
              wide / "expected.safetensors")
    narrow = load_file(folder / "grads.safetensors")
    exact = {key: value_of(gradients, key).contiguous() for key in narrow}
    save_file(exact, wide / "grads.safetensors")
    gaps = [(float((narrow[key] - value).norm()
                   / value.norm().clamp_min(1e-6 * squares.sqrt())), key)
            for key, value in exact.items()]
    print(f"{folder.name}: float32 is up to {max(gaps)} from float64")


def write_training(folder, wide):
    options = json.loads((folder / "training.json").read_text())
    ids = load_file(folder / "batches.safetensors")["input_ids"]
    model = model_of(folder)
    losses, norms = train(model, ids, options)
    save_file({"loss": losses, "grad_norm": norms},
              wide / "expected_training.safetensors")
    save_weights(model, wide / "final.safetensors")
    print(f"{folder.name}: loss {losses[0]} -> {losses[-1]}")


def main():
    names = [name for name in sys.argv[1:] if name != "--first-step"]
    for folder in map(pathlib.Path, names):
        config = json.loads((folder / "config.json").read_text())
        wide = folder / "float64"
        wide.mkdir(exist_ok=True)
        with widened(config["model_type"].removesuffix("_text")):
            if "--first-step" in sys.argv:
                write_first_step(folder, wide)
            if (folder / "training.json").exists():
                write_training(folder, wide)


if __name__ == "__main__":
    main()
