#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of the plugins beside the references and PyTorch, eager and compiled,
forward and backward on one thread. The sides take turns; medians over all
rounds as a Markdown table. Bytes are those of one pass over inputs and outputs.
Memory that goes back to the system and comes again costs more than some
kernels: set MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_ to 4000000000.
Titan's side is `titan kernels bench`.
usage: kernels_cpu.py TITAN [--plugin FILE] [--rounds 5] [--only CASE ...]
       [--dtypes f32 bf16] [--no-compile]
Needs torch."""
import argparse
import json
import statistics
import subprocess
import time

import torch
import torch.nn.functional as F

TOKENS = 2048
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def rope_halves(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


def rope_adjacent(x, turn):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turn).flatten(2).type_as(x)


def angles():
    steps = 10000.0 ** (-torch.arange(0, 128, 2, dtype=torch.float64) / 128)
    return torch.arange(TOKENS, dtype=torch.float64)[:, None] * steps


def halves_tables(dtype):
    table = torch.cat((angles(), angles()), -1)[:, None]
    return [table.cos().to(dtype), table.sin().to(dtype)]


def adjacent_tables(_):
    return [torch.polar(torch.ones_like(angles()), angles())
            .to(torch.complex64)[:, None]]


def convolution(x, w):
    padded = F.pad(x.t(), (w.shape[-1] - 1, 0))
    return F.silu(F.conv1d(padded[None], w, groups=w.shape[0])[0]).t()


HIDDEN, HEADS, WIDE = [TOKENS, 1024], [TOKENS, 16, 128], [TOKENS, 3072]


# name: Titan's op, names of its inputs, its attributes
OPS = {
    "rms_norm": ("rms_norm", ["x", "weight"], []),
    "rms_norm_heads": ("rms_norm", ["x", "weight"], []),
    "layer_norm": ("layer_norm", ["x", "weight", "bias"], []),
    "swiglu": ("swiglu", ["gate", "up"], []),
    "gelu": ("activation", ["x"], []),
    "gelu_tanh": ("activation", ["x"], ["function=gelu_tanh"]),
    "causal_conv1d": ("causal_conv1d", ["x", "weight"], ["activation=silu"]),
    "rope_complex": ("rope_complex", ["x", "positions"], []),
    "rope_cos_sin": ("rope_cos_sin", ["x", "positions"], []),
}

# name: function, sizes of leaves, constants, elements read and written by
# forward, by backward
CASES = {
    "rms_norm": (lambda x, w: F.rms_norm(x, w.shape, w, 1e-5),
                 [HIDDEN, [1024]], None, 2, 3),
    "rms_norm_heads": (lambda x, w: F.rms_norm(x, w.shape, w, 1e-5),
                       [HEADS, [128]], None, 2, 3),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, w.shape, w, b),
                   [HIDDEN, [1024], [1024]], None, 2, 3),
    "swiglu": (lambda g, u: F.silu(g) * u, [WIDE, WIDE], None, 3, 5),
    "gelu": (F.gelu, [WIDE], None, 2, 3),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), [WIDE], None, 2, 3),
    "causal_conv1d": (convolution, [WIDE, [3072, 1, 4]], None, 2, 3),
    "rope_complex": (rope_adjacent, [HEADS], adjacent_tables, 2, 2),
    "rope_cos_sin": (rope_halves, [HEADS], halves_tables, 2, 2),
}


def milliseconds(body):
    start = time.perf_counter()
    body()
    return 1e3 * (time.perf_counter() - start)


class Torch:
    """One case in PyTorch: samples of forward and backward."""

    def __init__(self, case, dtype, is_compiled):
        function, sizes, constants, *_ = CASES[case]
        self.leaves = [torch.randn(s).to(dtype).requires_grad_()
                       for s in sizes]
        self.constants = constants(dtype) if constants else []
        self.function = torch.compile(function) if is_compiled else function
        self.grad = torch.randn_like(self.leaves[0])

    def sample(self):
        kept = []
        forward = milliseconds(lambda: kept.append(
            self.function(*self.leaves, *self.constants)))
        backward = milliseconds(lambda: torch.autograd.grad(
            kept[0], self.leaves, self.grad))
        return forward, backward

    def medians(self):
        for _ in range(3):
            self.sample()
        samples = [self.sample() for _ in range(9)]
        return [statistics.median(side) for side in zip(*samples)]


def titan_medians(args, case, dtype):
    """Forward and backward of the best kernel, then of the reference."""
    op, names, attributes = OPS[case]
    sizes = [*CASES[case][1], [TOKENS]]
    shape = ",".join(f"{name}={'x'.join(map(str, size))}"
                     for name, size in zip(names, sizes))
    command = [args.titan, "kernels", "bench", op, "--shape", shape,
               "--dtype", dtype, "--threads", "1", "--steps", "9",
               "--no-error", "--json"]
    for attribute in attributes:
        command += ["--set", attribute]
    if args.plugin:
        command += ["--plugin", args.plugin]
    kernels = json.loads(subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    by_id = {kernel["id"]: kernel for kernel in kernels["kernels"]}
    reference = by_id.pop("titan.reference")
    best = min(by_id.values(), key=lambda kernel: kernel["ms_median"],
               default=reference)
    return [side[f"{direction}_ms_median"] for side in (best, reference)
            for direction in ("forward", "backward")]


def copy_bandwidth():
    """GB/s of a copy of 256 MiB, reads and writes counted."""
    source = torch.ones(64 << 20)
    target = torch.zeros_like(source)
    samples = [milliseconds(lambda: target.copy_(source)) for _ in range(9)]
    return 2e-6 * source.nbytes / statistics.median(samples)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("titan")
    parser.add_argument("--plugin")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=list(CASES))
    parser.add_argument("--dtypes", nargs="+", default=list(DTYPES))
    parser.add_argument("--no-compile", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    print(f"copy: {copy_bandwidth():.1f} GB/s\n")
    print("| case | shape | dtype | direction | Titan ms | reference ms "
          "| eager ms | compiled ms | eager / Titan | Titan GB/s |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for case in args.only:
        _, sizes, _, *passes = CASES[case]
        for name in args.dtypes:
            dtype = DTYPES[name]
            sides = [Torch(case, dtype, False)]
            if not args.no_compile:
                sides.append(Torch(case, dtype, True))
            rounds = []
            for _ in range(args.rounds):
                numbers = titan_medians(args, case, name)
                for side in sides:
                    numbers += side.medians()
                rounds.append(numbers)
            best = [statistics.median(n) for n in zip(*rounds)]
            elements = torch.Size(sizes[0]).numel() * dtype.itemsize
            for i, direction in enumerate(["forward", "backward"]):
                ours, reference, eager = best[i], best[2 + i], best[4 + i]
                compiled = f"{best[6 + i]:.2f}" if len(best) > 6 else "-"
                print(f"| {case} | {sizes[0]} | {name} | {direction} "
                      f"| {ours:.2f} | {reference:.2f} | {eager:.2f} "
                      f"| {compiled} | {eager / ours:.2f} "
                      f"| {1e-6 * elements * passes[i] / ours:.1f} |",
                      flush=True)


if __name__ == "__main__":
    main()
