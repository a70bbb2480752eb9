# SPDX-License-Identifier: BSD-3-Clause
"""Renders chat templates as transformers' apply_chat_template does.

The environment is configured like transformers/utils/chat_template_utils.py
(4.5x): an ImmutableSandboxedEnvironment with trim_blocks, lstrip_blocks, break
and continue, its own tojson, raise_exception, strftime_now and the
{% generation %} tag. Written anew; needs jinja2 alone.
"""
import copy
import datetime
import json

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

# What strftime_now tells: fixed, so that renderings are.
NOW = datetime.datetime(2024, 7, 26, 13, 5, 9)


class Generation(jinja2.ext.Extension):
    """{% generation %}: wraps what is written in marks that render() finds."""

    tags = {"generation"}
    OPEN, CLOSE = "\ue000", "\ue001"

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), True)
        call = self.call_method("_mark")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _mark(self, caller):
        return self.OPEN + caller() + self.CLOSE


def make_environment():
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[Generation, jinja2.ext.loopcontrols],
    )

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None,
               sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent,
                          separators=separators, sort_keys=sort_keys)

    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = NOW.strftime
    return environment


ENVIRONMENT = make_environment()


def render(case):
    """Returns {"text", "generated"} (byte ranges) or {"error"}."""
    # jinja2's indent changes a list that it is given by mistake.
    case = copy.deepcopy(case)
    try:
        marked = ENVIRONMENT.from_string(case["template"]).render(
            **{
                **case.get("variables", {}),
                "messages": case.get("messages"),
                "tools": case.get("tools"),
                "documents": case.get("documents"),
                "add_generation_prompt":
                    case.get("add_generation_prompt", False),
            })
    except RecursionError:
        return {"error": "RecursionError"}
    except Exception as error:  # Whatever Python raises is "an error".
        return {"error": type(error).__name__ + ": " + str(error)}
    return split_marks(marked)


def split_marks(marked):
    text, ranges, begin, depth = b"", [], 0, 0
    for piece in marked.replace(Generation.OPEN, "\0" + Generation.OPEN).replace(
            Generation.CLOSE, "\0" + Generation.CLOSE).split("\0"):
        if piece.startswith(Generation.OPEN):
            if depth == 0:
                begin = len(text)
            depth += 1
        elif piece.startswith(Generation.CLOSE):
            depth -= 1
            if depth == 0:
                ranges.append([begin, len(text)])
        text += piece.strip(Generation.OPEN + Generation.CLOSE).encode()
    result = {"text": text.decode()}
    if ranges:
        result["generated"] = ranges
    return result
