# SPDX-License-Identifier: BSD-3-Clause
"""Writes rendered.json and snippets.json: what jinja2 makes of our cases.

usage: make_rendered.py   (needs jinja2 3.1.6)
rendered.json: each template of templates/ with each of conversations.json.
snippets.json: random templates of fuzz.py that jinja2 renders (or refuses), and
found.txt, whose lines are templates that once rendered otherwise here.
"""
import json
import pathlib
import warnings

import compare
import fuzz
import hf_renderer

FOLDER = pathlib.Path(__file__).parent
NUM_RANDOM = 3000
MAX_SNIPPET_BYTES = 220


def outcome(case):
    result = hf_renderer.render(case)
    return {"error": True} if "error" in result else result


def rendered():
    paths = sorted((FOLDER / "templates").glob("*.jinja"))
    cases = {}
    for name, case in compare.cases_of(paths):
        template, conversation = name.split(": ")
        cases.setdefault(template, {})[conversation] = outcome(case)
    return cases


def has_supported_result(result):
    text = result.get("text", "")
    # Addresses, and letters whose case this engine refuses to change.
    return " at 0x" not in text and "error" not in result


def snippets():
    sources = [fuzz.Generator(f"snippet/{i}").template()
               for i in range(NUM_RANDOM)]
    sources = [s for s in sources if len(s) < MAX_SNIPPET_BYTES]
    found = [line.encode().decode("unicode_escape").encode("latin1").decode()
             for line in (FOLDER / "found.txt").read_text().splitlines()
             if line and not line.startswith("#")]
    cases = []
    for source in found + sources:
        result = hf_renderer.render({"template": source,
                                     "variables": fuzz.CONTEXT,
                                     "messages": fuzz.MESSAGES})
        if source in found:
            result = {"error": True} if "error" in result else result
        elif not has_supported_result(result):
            continue
        cases.append({"template": source, **result})
    return {"variables": fuzz.CONTEXT, "messages": fuzz.MESSAGES,
            "cases": cases}


def write(name, value):
    text = json.dumps(value, ensure_ascii=False, indent=0)
    (FOLDER / name).write_text(text + "\n")


def main():
    warnings.simplefilter("ignore")  # Of Python, about what jinja2 compiles.
    write("rendered.json", rendered())
    write("snippets.json", snippets())


if __name__ == "__main__":
    main()
