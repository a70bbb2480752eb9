#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Writes the fixtures of tests/unit/core/checkpoint/torch_file_test.cpp and
# dcp_folder_test.cpp with PyTorch itself. PROVENANCE.md says which version.
import collections
import os
import sys
import tempfile
import warnings

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

out = sys.argv[1]
warnings.filterwarnings("ignore")


def save(value, name, **options):
    torch.save(value, os.path.join(out, name), **options)


counting = torch.arange(12, dtype=torch.float32).reshape(3, 4)
module = torch.nn.Linear(3, 2)
with torch.no_grad():
    module.weight.copy_(torch.arange(6).reshape(2, 3))
    module.bias.copy_(torch.tensor([7.0, 8.0]))
save(module.state_dict(), "module.pt")

values = torch.tensor([0.0, 1.0, -2.0, 1.5])
types = {str(t).split(".")[1]: values.to(t) for t in (
    torch.float64, torch.float32, torch.float16, torch.bfloat16,
    torch.complex64, torch.float8_e4m3fn, torch.float8_e5m2)}
types |= {str(t).split(".")[1]: torch.tensor([0, 1, 2, 100]).to(t) for t in (
    torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
    torch.uint16, torch.uint32, torch.uint64, torch.bool)}
save(types, "types.pt")

save({
    "whole": counting,
    "transposed": counting.t(),
    "columns": counting[:, 1:3],
    "row": counting[2],
    "scalar": torch.tensor(5.0),
    "empty": torch.zeros(0, 4),
    "parameter": torch.nn.Parameter(torch.tensor([1.0, 2.0])),
}, "views.pt")

save({
    "model": collections.OrderedDict([("a.w", torch.ones(2)),
                                      ("b", torch.zeros(1))]),
    "optimizer": {"state": {0: {"exp_avg": torch.full((2,), 3.0)}},
                  "groups": [{"lr": 1e-3, "betas": (0.9, 0.95)}]},
    "step": 1 << 40,
    "name": None,
}, "training.pt")

save({"w": counting.expand(2, 3, 4)}, "expanded.pt")
save({"w": counting}, "legacy.pt", _use_new_zipfile_serialization=False)


class Attack:
    def __reduce__(self):
        return (os.system, ("echo attacked",))


save({"w": counting, "x": Attack()}, "attack.pt")

folder = os.path.join(out, "dcp")
dcp.save({"model": {"w": counting, "t": counting.t(),
                    "h": torch.tensor([1.0, 2.0], dtype=torch.bfloat16)},
          "step": 3}, checkpoint_id=folder)


def save_sharded(rank, folder, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank,
                            world_size=4)
    rows = init_device_mesh("cpu", (4,))
    grid = init_device_mesh("cpu", (2, 2))
    value = torch.arange(35, dtype=torch.float32).reshape(7, 5)
    dcp.save({"rows": distribute_tensor(value, rows, [Shard(0)]),
              "grid": distribute_tensor(value, grid, [Shard(0), Shard(1)])},
             checkpoint_id=folder)
    dist.destroy_process_group()


# Forked: a spawned process would write everything above again.
with tempfile.TemporaryDirectory() as scratch:
    torch.multiprocessing.start_processes(
        save_sharded, nprocs=4, start_method="fork",
        args=(os.path.join(out, "dcp_sharded"), scratch + "/store"))
