#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Says whether PyTorch reads a distributed checkpoint that we wrote.

usage: check_dcp.py OURS THEIRS
OURS: a folder that `titan convert THEIRS OURS --to dcp` wrote.
"""
import pathlib
import sys
import tempfile

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save


def load(folder):
    metadata = dcp.FileSystemReader(folder).read_metadata()
    state = {name: torch.empty(about.size, dtype=about.properties.dtype)
             for name, about in metadata.state_dict_metadata.items()
             if hasattr(about, "properties")}
    dcp.load(state, checkpoint_id=folder)
    return state


ours, theirs = load(sys.argv[1]), load(sys.argv[2])
assert list(ours) == list(theirs), (list(ours), list(theirs))
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "whole.pt"
    dcp_to_torch_save(sys.argv[1], path)
    whole = torch.load(path, weights_only=True)
for name, tensor in theirs.items():
    for loaded in (ours[name], whole[name]):
        assert loaded.dtype == tensor.dtype and loaded.shape == tensor.shape
        assert bool((loaded.view(torch.uint8) ==
                     tensor.view(torch.uint8)).all()), name
print(f"torch {torch.__version__}: {len(ours)} tensors are equal")
