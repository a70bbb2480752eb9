#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Training steps of a recipe's model beside transformers: same weights, same
tokens, same optimizer, float32, eager with sdpa. The two take turns as
processes; the losses of all steps must agree, or the comparison is void.
Prints a Markdown row: medians over all timed steps, ratios, peak memory.
usage: transformers_step.py TITAN RECIPE [--rounds 5] [--steps 6] [--length 256]
       [--rows 4] [--set KEY=VALUE ...]
Needs torch, transformers, safetensors and numpy.
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

WARMUP = 2
# What the loop does between steps is not part of one.
QUIET = ["validation.at_end=false", "generate.at_end=false",
         "metrics.tensorboard=false"]


def run(words):
    done = subprocess.run([str(w) for w in words], capture_output=True,
                          text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stderr[-4000:]}")
    return done.stdout


def sets(pairs):
    return [word for pair in pairs for word in ("--set", pair)]


def worker(folder, tokens, threads, lr):
    """One process of transformers: JSON like that of `titan bench train`."""
    import torch
    import transformers
    torch.set_num_threads(threads)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="sdpa").train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.95),
                                  weight_decay=0.1, fused=True)
    losses, times = [], []
    for rows in torch.from_numpy(numpy.load(tokens)).long():
        start = time.perf_counter()
        logits = model(input_ids=rows[:, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1),
                                                 rows[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
        times.append(1e3 * (time.perf_counter() - start))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"ms_steps": times[WARMUP:], "peak_rss_mb": peak,
                      "losses": losses}))


def make_model(options, folder):
    """A step of training, exported: weights that both sides start from."""
    run([options.titan, "train", options.recipe, *sets(
        QUIET + options.set + [
            "training.steps=1", "schedule.warmup_steps=0", "precision=fp32",
            "checkpoint.enabled=true", "checkpoint.export_hf=true",
            "validation.interval=1000000", "checkpoint.interval=1",
            f"run_folder={folder}"])])
    config = json.loads((folder / "hf/config.json").read_text())
    vocabulary = config.get("text_config", config)["vocab_size"]
    tokens = numpy.random.default_rng(0).integers(
        0, vocabulary,
        (WARMUP + options.steps, options.rows, options.length + 1))
    numpy.save(folder / "tokens.npy", tokens.astype(numpy.int32))


def titan_once(options, folder):
    return json.loads(run([
        options.titan, "bench", "train", options.recipe, "--json",
        "--steps", options.steps, "--warmup", WARMUP,
        "--threads", options.threads,
        "--tokens", folder / "tokens.npy", *sets(
            QUIET + options.set + [
                "precision=fp32", "checkpoint.enabled=false",
                f"checkpoint.initial={folder / 'hf'}",
                f"optimizer.config.lr={options.lr}", "schedule.decay=none",
                "schedule.warmup_steps=0", "training.max_grad_norm=1.0",
                f"training.seq_len={options.length}",
                f"training.tokens_per_microbatch="
                f"{options.length * options.rows}"])]))


def transformers_once(options, folder):
    return json.loads(run([
        sys.executable, __file__, "--worker", folder / "hf",
        folder / "tokens.npy", options.threads, options.lr]).splitlines()[-1])


def compare(options):
    sides = {"titan": titan_once, "transformers": transformers_once}
    times = {name: [] for name in sides}
    peaks = {name: [] for name in sides}
    losses = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "run"
        make_model(options, folder)
        for _ in range(options.rounds):
            for name, once in sides.items():
                facts = once(options, folder)
                times[name] += facts["ms_steps"]
                peaks[name].append(facts["peak_rss_mb"])
                losses[name] = facts["losses"]
    difference = max(abs(a - b) / b for a, b in zip(
        losses["titan"], losses["transformers"], strict=True))
    if difference > 1e-4:
        sys.exit(f"not the same work: losses differ by {difference:.1e}: "
                 f"{losses}")
    ours, theirs = (statistics.median(times[name]) for name in sides)
    memory, their_memory = (statistics.median(peaks[name]) for name in sides)
    name = pathlib.Path(options.recipe).stem
    print(f"| {name} | {options.rows} x {options.length} | {ours:.1f} ms | "
          f"{theirs:.1f} ms | {ours / theirs:.3f} | {memory:.0f} MiB | "
          f"{their_memory:.0f} MiB | {memory / their_memory:.3f} | "
          f"{difference:.1e} |")


def main():
    if sys.argv[1:2] == ["--worker"]:
        folder, tokens, threads, lr = sys.argv[2:]
        worker(folder, tokens, int(threads), float(lr))
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("titan")
    parser.add_argument("recipe")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rows", type=int, default=4)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--set", action="append", default=[])
    compare(parser.parse_args())


if __name__ == "__main__":
    main()
