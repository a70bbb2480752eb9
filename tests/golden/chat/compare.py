# SPDX-License-Identifier: BSD-3-Clause
"""Compares this engine with jinja2 on a folder of templates.

usage: compare.py DRIVER TEMPLATE...
DRIVER reads JSON lines of cases and prints a JSON line for each (see
../PROVENANCE.md). Prints every difference; exit code 1 if there is one.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import hf_renderer

TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>",
          "unk_token": "<unk>"}


def cases_of(paths):
    folder = pathlib.Path(__file__).parent
    conversations = json.loads((folder / "conversations.json").read_text())
    for path in paths:
        source = pathlib.Path(path).read_text()
        for name, conversation in conversations.items():
            case = dict(conversation, template=source)
            case["variables"] = {**TOKENS, **case.get("variables", {})}
            yield f"{pathlib.Path(path).name}: {name}", case


def run_driver(driver, cases):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for case in cases:
            file.write(json.dumps(case) + "\n")
        file.flush()
        output = subprocess.run([driver, file.name], check=True,
                                capture_output=True, text=True).stdout
    return [json.loads(line) for line in output.split("\n") if line]


def is_same(ours, theirs):
    if "error" in ours or "error" in theirs:
        return "error" in ours and "error" in theirs
    return ours == theirs


def main():
    driver, paths = sys.argv[1], sys.argv[2:]
    names, cases = zip(*cases_of(paths))
    num_different = num_errors = 0
    for name, case, ours in zip(names, cases, run_driver(driver, cases)):
        theirs = hf_renderer.render(case)
        num_errors += "error" in theirs
        if is_same(ours, theirs):
            continue
        num_different += 1
        print(f"--- {name}\nours:   {str(ours)[:600]}\ntheirs: {str(theirs)[:600]}")
    print(f"{len(paths)} templates, {len(cases)} cases, {num_errors} of them "
          f"errors, {num_different} different")
    return num_different > 0


if __name__ == "__main__":
    sys.exit(main())
