#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Says whether PyTorch reads a file that we wrote: check_written.py OURS THEIRS...
# where OURS holds the tensors of all of THEIRS.
import sys

import torch

expected = {}
for path in sys.argv[2:]:
    expected |= torch.load(path, weights_only=True)
for mmap in (False, True):
    ours = torch.load(sys.argv[1], weights_only=True, mmap=mmap)
    assert list(ours) == list(expected), (list(ours), list(expected))
    for name, tensor in expected.items():
        assert ours[name].dtype == tensor.dtype, name
        assert ours[name].shape == tensor.shape, name
        same = ours[name].contiguous().view(-1).view(torch.uint8) == \
            tensor.detach().contiguous().view(-1).view(torch.uint8)
        assert bool(same.all()), name
print(f"torch {torch.__version__}: {len(expected)} tensors are equal, "
      "mapped and not")
