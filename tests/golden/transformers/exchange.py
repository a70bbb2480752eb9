#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Models that transformers and Titan hand to one another.

Needs: pip install torch==2.11.0 transformers==5.24.0 safetensors
Usage: exchange.py write OUT        folders that save_pretrained writes, with the
                                    logits that transformers computes
       exchange.py check EXPORT     loads what Titan exported, offline and
                                    strictly, and writes logits, loss and
                                    gradients into it for `titan parity EXPORT`

`write` makes the fixtures of this folder: shards with an index, float32 and
bfloat16, tied and not. Logits are computed in float32 from the stored weights.
"""
import json
import logging
import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers
from safetensors.torch import save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import golden_cases  # noqa: E402
import make_golden  # noqa: E402

LENGTH = 24
CASES = {f"{name}_{'tied' if tied else 'untied'}": (dtype, tied)
         for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16))
         for tied in (False, True)}


def ids_of(config, length=LENGTH):
    generator = torch.Generator().manual_seed(make_golden.SEED + 1)
    return torch.randint(0, config.vocab_size, (1, length), generator=generator)


def write_case(folder, dtype, tied):
    config = transformers.LlamaConfig(
        **golden_cases.llama(hidden_size=16, intermediate_size=24,
                            tie_word_embeddings=tied))
    config._attn_implementation = "eager"
    model = transformers.LlamaForCausalLM(config)
    make_golden.randomise(model)
    model.to(dtype).save_pretrained(folder, max_shard_size="6KB")
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager").eval()
    ids = ids_of(config)
    with torch.no_grad():
        logits = model(input_ids=ids, use_cache=False).logits
    save_file({"input_ids": ids}, folder / "inputs.safetensors")
    save_file({"logits": logits.contiguous()}, folder / "expected.safetensors")


class Warnings(logging.Handler):
    """Collects what transformers says."""

    def __init__(self):
        super().__init__()
        self.messages = []

    def emit(self, record):
        # Slower operators of its own where a package of kernels is missing.
        if "falling back to its reference" not in record.getMessage():
            self.messages.append(record.getMessage())


def check_export(folder):
    heard = Warnings()
    logging.getLogger("transformers").addHandler(heard)
    model, info = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager",
        output_loading_info=True)
    faults = {kind: list(keys) for kind, keys in info.items() if keys}
    assert not faults, faults
    assert not heard.messages, heard.messages
    vocabulary = "of bytes"
    if (folder / "tokenizer.json").exists():
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        assert model.generation_config.eos_token_id == tokenizer.eos_token_id
        vocabulary = f"of {len(tokenizer)}"
    model.eval()
    config = model.config.get_text_config()
    ids = ids_of(config, min(64, config.max_position_embeddings))
    logits = model(input_ids=ids, use_cache=False).logits
    loss = torch.nn.functional.cross_entropy(logits[0, :-1], ids[0, 1:])
    loss.backward()
    squares = sum(p.grad.double().square().sum() for p in model.parameters())
    save_file({"input_ids": ids}, folder / "inputs.safetensors")
    save_file({"logits": logits.detach().contiguous(),
               "loss": loss.detach().reshape(1),
               "grad_norm": squares.sqrt().float().reshape(1)},
              folder / "expected.safetensors")
    make_golden.save_gradients(model, folder / "grads.safetensors")
    config = json.loads((folder / "config.json").read_text())
    print(f"transformers {transformers.__version__} loads {folder.name}:"
          f" {sum(p.numel() for p in model.parameters())} parameters,"
          f" stored as {config['torch_dtype']}, nothing missing, no warning;"
          f" vocabulary {vocabulary}")


def main():
    command, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if command == "check":
        check_export(folder)
        return
    for name, (dtype, tied) in CASES.items():
        write_case(folder / name, dtype, tied)
        size = sum(f.stat().st_size for f in (folder / name).iterdir())
        print(f"{name}: {size // 1024} KiB")


if __name__ == "__main__":
    main()
