#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoint writing and reading beside torch.save, safetensors and DCP.

All sides take turns in one process tree, so that the state of the disk is the
same for all; every write is followed by fsync. Prints a Markdown table.
usage: checkpoint_io.py BENCH_CHECKPOINT_IO FOLDER [--gb 1] [--rounds 8]
Needs torch, safetensors and numpy.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from safetensors.torch import load_file, save_file

NUM_TENSORS = 16


class Titan:
    """The C++ side, driven line by line."""

    def __init__(self, program, folder, size_bytes):
        self.process = subprocess.Popen(
            [program, folder, str(size_bytes)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline().strip() == "ready"

    def run(self, operation):
        self.process.stdin.write(operation + "\n")
        self.process.stdin.flush()
        return [float(x) for x in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def timed(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def fsync(path):
    file = os.open(path, os.O_RDWR)
    os.fsync(file)
    os.close(file)


def make_state(size_bytes):
    count = size_bytes // 4 // NUM_TENSORS
    return {f"layers.{i}.w": torch.randn(count) for i in range(NUM_TENSORS)}


def measure_sync(options, size_bytes):
    state = make_state(size_bytes)
    titan = Titan(options.program, os.path.join(options.folder, "titan"),
                  size_bytes)
    seconds = {}

    def add(name, value):
        seconds.setdefault(name, []).append(value)

    for round_number in range(options.rounds + 1):
        # Removed at the end only, for all sides alike.
        pt = os.path.join(options.folder, f"x{round_number}.pt")
        st = os.path.join(options.folder, f"x{round_number}.safetensors")
        writes = [
            ("raw write + fsync", lambda: titan.run("raw")[0]),
            ("titan save", lambda: titan.run("save")[0]),
            ("torch.save + fsync",
             lambda: timed(lambda: (torch.save(state, pt), fsync(pt)))),
            ("safetensors save + fsync",
             lambda: timed(lambda: (save_file(state, st), fsync(st)))),
        ]
        # Each goes first in turn: a device has bursts and pays for them later.
        first = round_number % len(writes)
        times = [(name, run()) for name, run in writes[first:] + writes[:first]]
        times += [
            ("titan load", titan.run("load")[0]),
            ("titan load, checksums read", titan.run("verify")[0]),
            ("torch.load", timed(lambda: torch.load(pt))),
            ("safetensors load",
             timed(lambda: [v.sum() for v in load_file(st).values()])),
        ]
        if round_number > 0:  # the first warms up
            for name, value in times:
                add(name, value)
    titan.close()
    print(f"\n{size_bytes / 1e9:g} GB, {options.rounds} rounds, each in turn\n")
    print("| operation | median s | min s | MB/s (median) | of raw |")
    print("|---|---|---|---|---|")
    raw = statistics.median(seconds["raw write + fsync"])
    for name, values in sorted(seconds.items()):
        median = statistics.median(values)
        share = f"{raw / median:.2f}" if "load" not in name else ""
        print(f"| {name} | {median:.3f} | {min(values):.3f} | "
              f"{size_bytes / median / 1e6:.0f} | {share} |")


def measure_async(options):
    size_bytes = 500_000_000
    state = make_state(size_bytes)
    titan = Titan(options.program, os.path.join(options.folder, "titan_async"),
                  size_bytes)
    os.environ.update(MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(21000 + os.getpid() % 20000))
    dist.init_process_group("gloo", rank=0, world_size=1)
    blocked = {"titan, copy waited for": [], "titan behind 0.2 s of a step": [],
               "DCP async_save": []}
    for round_number in range(options.rounds + 1):
        blocked["titan, copy waited for"].append(titan.run("async")[0])
        blocked["titan behind 0.2 s of a step"].append(titan.run("behind")[0])
        path = os.path.join(options.folder, f"dcp{round_number}")
        start = time.perf_counter()
        future = dcp.async_save(state, checkpoint_id=path)
        blocked["DCP async_save"].append(time.perf_counter() - start)
        future.result()
    dist.destroy_process_group()
    titan.close()
    print("\n500 MB in the background: seconds that the caller is blocked\n")
    print("| side | first save | median of the rest | max of the rest |")
    print("|---|---|---|---|")
    for name, values in blocked.items():
        print(f"| {name} | {values[0]:.3f} | "
              f"{statistics.median(values[1:]):.3f} | {max(values[1:]):.3f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--gb", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    torch.set_num_threads(2)
    measure_sync(options, int(options.gb * 1e9) // 64 * 64)
    measure_async(options)
    shutil.rmtree(options.folder)


if __name__ == "__main__":
    main()
