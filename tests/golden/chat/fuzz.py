# SPDX-License-Identifier: BSD-3-Clause
"""Random templates, rendered by jinja2 and by this engine.

usage: fuzz.py DRIVER [SEED [COUNT]]
Prints each difference of text, and where one side alone stops. Differences
that were found and repaired are kept in found.json.
"""
import random
import sys
import warnings

import compare
import hf_renderer

NAMES = ["messages", "tools", "bos_token", "n", "f", "s", "xs", "d", "empty",
         "nothing", "flag", "m", "x", "i", "ns.a", "words"]
STRINGS = ["", "a", "b c", " x ", "A-b c", "a,b,,c", "\\n", "é", "1", "3.7",
           "l1\\nl2\\n", "it\\'s", "<&>", "你好", "%s", "ab", "aXbXc"]
CONTEXT = {
    "bos_token": "<s>", "n": 3, "f": 2.5, "s": "Hello, World", "flag": True,
    "xs": [3, 1, 2, 1], "words": ["pear", "Apple", "fig"], "empty": [],
    "nothing": None,
    "d": {"b": 1, "a": [1, 2], "items": {"k": "v"}, "name": "é\"'"},
}
MESSAGES = [
    {"role": "system", "content": "Be  brief."},
    {"role": "user", "content": " hi\n"},
    {"role": "assistant", "content": "yo", "n": 1},
    {"role": "user", "content": ""},
]
STRING_METHODS = ["strip()", "lstrip()", "rstrip('x')", "upper()", "lower()",
                  "title()", "capitalize()", "split()", "split(',')",
                  "split(' ', 1)", "rsplit(' ', 1)", "splitlines()",
                  "startswith('a')", "endswith(('b', 'c'))", "find('b')",
                  "rfind('c')", "replace('a', 'zz')", "replace('', '-', 2)",
                  "count('a')", "join(['p', 'q'])", "isdigit()", "isspace()",
                  "isupper()", "isalpha()", "zfill(6)", "ljust(5, '.')",
                  "center(7)", "partition(' ')", "rpartition(' ')",
                  "removeprefix('a')", "removesuffix('c')", "index('a')",
                  "format(1, 'two')", "splitlines(true)", "split('b')[-1]",
                  "isalnum()", "islower()", "rjust(4)"]
DICT_METHODS = ["get('a')", "get('zz', 4)", "items()|list", "keys()|list",
                "values()|list", "items", "copy()", "update", "a", "zz",
                "get('name')", "items.k"]
LIST_METHODS = ["index(1)", "count(1)", "copy()", "append(3)", "append"]
FILTERS = ["length", "trim", "upper", "lower", "title", "capitalize", "string",
           "int", "float", "abs", "first", "last", "list", "join", "join(', ')",
           "sort", "sort(reverse=true)", "unique|list", "reverse|list", "sum",
           "max", "min", "tojson", "tojson(indent=2)", "default('z')",
           "default('z', true)", "d('q')", "replace('a', 'b')", "indent(2)",
           "indent(2, true, true)", "map('string')|list", "map('upper')|list",
           "map(attribute='role')|list", "selectattr('role', '==', 'user')|list",
           "rejectattr('n')|list", "selectattr('n', 'defined')|list", "select|list",
           "reject('none')|list", "select('string')|list", "items|list",
           "dictsort", "dictsort(reverse=true)", "batch(2)|list",
           "batch(3, 0)|list", "slice(2)|list", "round", "round(1)",
           "round(1, 'floor')", "count", "e", "safe", "center(9)",
           "truncate(5)", "truncate(6, true, '.')", "attr('x')", "format(1)",
           "tojson(sort_keys=true)", "tojson(separators=(',', ':'))",
           "sort(attribute='role')", "map('length')|list", "string|length",
           "first|length", "select('gt', 1)|list", "join('-', attribute='role')",
           "map(attribute='zz', default=7)|list", "reverse", "trim('a')",
           "tojson(ensure_ascii=true)", "int(default=5)", "list|last"]
TESTS = ["defined", "undefined", "none", "string", "number", "mapping",
         "sequence", "iterable", "boolean", "true", "false", "integer", "float",
         "callable", "odd", "even", "divisibleby 2", "divisibleby(3)",
         "in [1, 'a', none]", "eq 1", "equalto('a')", "ne 2", "gt 1", "lower",
         "upper", "sameas none", "sameas(true)", "in 'abc'", "lt 'b'"]
BINARY = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">",
          ">=", "in", "not in", "and", "or"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, items):
        return self.random.choice(items)

    def string(self):
        return "'" + self.pick(STRINGS) + "'"

    def atom(self):
        kind = self.random.randrange(8)
        if kind < 3:
            return self.pick(NAMES)
        if kind < 5:
            return self.string()
        if kind == 5:
            return str(self.random.randrange(-2, 12))
        return self.pick(["true", "false", "none", "1.5", "0.1", "[]", "{}",
                          "'a' 'b'", "range(4)", "range(5, 1, -2)", "1e20",
                          "100000.0", "(1,)", "()", "loop.index", "loop.last"])

    def slice(self):
        bound = lambda: self.pick(["", "", "0", "1", "-1", "2", "-2", "9", "n"])
        step = self.pick(["", "", ":2", ":-1", ":"])
        return f"[{bound()}:{bound()}{step}]"

    def expression(self, depth=3):
        if depth == 0:
            return self.atom()
        more = lambda: self.expression(depth - 1)
        kind = self.random.randrange(16)
        if kind < 2:
            return self.atom()
        if kind < 4:
            return f"({more()}) | {self.pick(FILTERS)}"
        if kind == 4:
            return f"{more()} | {self.pick(FILTERS)}"
        if kind == 5:
            return f"({more()}) {self.pick(['is', 'is not'])} {self.pick(TESTS)}"
        if kind < 8:
            return f"({more()} {self.pick(BINARY)} {more()})"
        if kind == 8:
            return f"{more()} {self.pick(BINARY)} {more()} {self.pick(BINARY)} {more()}"
        if kind == 9:
            return f"({more()} if {more()} else {more()})"
        if kind == 10:
            return f"(({more()})|string).{self.pick(STRING_METHODS)}"
        if kind == 11:
            return f"{self.pick(['d', 'messages[0]', 'd.items'])}.{self.pick(DICT_METHODS)}"
        if kind == 12:
            return f"({more()}){self.slice()}"
        if kind == 13:
            return self.pick([f"[{more()}, {more()}]", f"{{'k': {more()}}}",
                              f"({more()}, {more()})",
                              f"{{'a': {more()}, 'b': 2}}"])
        if kind == 14:
            return self.pick([f"not {more()}", f"-({more()})",
                              f"({more()})[{more()}]", f"xs.{self.pick(LIST_METHODS)}",
                              f"messages[{self.random.randrange(-1, 5)}].content",
                              f"namespace(a={more()}).a", f"dict(a={more()})",
                              f"'%s|%5d|%-4s' % ({more()}, n, 'q')"])
        return f"{self.string()}.{self.pick(STRING_METHODS)}"

    def tag(self, inside, kind="%"):
        open_sign = self.pick(["", "", "", "-", "-", "+"])
        close_sign = self.pick(["", "", "", "-", "-"] + (["+"] if kind == "%" else []))
        end = "}" if kind == "{" else kind
        start = "{" if kind == "{" else kind
        return "{" + start + open_sign + " " + inside + " " + close_sign + end + "}"

    def text(self):
        return self.pick(["", " ", "\n", "  ", "text", "\n  ", "a\n", "\t", "x\n\n  ",
                          "\r\n", "é", "}}", "%}", "{", "\n\n"])

    def body(self, depth, in_loop=False):
        return "".join(
            self.text() + self.statement(depth, in_loop)
            for _ in range(self.random.randrange(1, 4))) + self.text()

    def statement(self, depth, in_loop):
        kind = self.random.randrange(18)
        if depth == 0 or kind < 6:
            return self.tag(self.expression(), "{")
        more = lambda loop=in_loop: self.body(depth - 1, loop)
        if kind < 8:
            text = self.tag(f"if {self.expression()}") + more()
            if self.random.random() < 0.4:
                text += self.tag(f"elif {self.expression(2)}") + more()
            if self.random.random() < 0.5:
                text += self.tag("else") + more()
            return text + self.tag("endif")
        if kind < 10:
            target, items = self.pick([("m", "messages"), ("x", "xs"), ("i", "range(3)"),
                                       ("k, v", "d.items()"), ("x", "words"),
                                       ("x", self.expression(2)), ("x", "'abc'"),
                                       ("k, v", "d|dictsort"), ("x", "empty")])
            condition = f" if {self.expression(1)}" if self.random.random() < 0.3 else ""
            text = self.tag(f"for {target} in {items}{condition}") + more(True)
            if self.random.random() < 0.3:
                text += self.tag("else") + more()
            return text + self.tag("endfor")
        if kind < 12:
            return self.tag(f"set {self.pick(['x', 'i', 's', 'y', 'ns.a', 'x, y'])} = {self.expression()}")
        if kind == 12:
            return self.tag("set x") + more(False) + self.tag("endset") + "{{ x }}"
        if kind == 13:
            name = self.pick(["f1", "f2"])
            return (self.tag(f"macro {name}(x, y={self.expression(1)})") + more(False) +
                    self.tag("endmacro") + self.tag(f"{name}({self.expression(1)})", "{") +
                    self.tag(f"{name}(y={self.expression(1)})", "{"))
        if kind == 14:
            return self.tag(self.pick(["comment", "if x", "  \n "]), "#")
        if kind == 15 and in_loop:
            return self.tag(f"if {self.expression(1)}") + self.tag(
                self.pick(["break", "continue"])) + self.tag("endif")
        if kind == 16:
            return self.tag("generation") + more(False) + self.tag("endgeneration")
        return self.pick([
            self.tag("filter upper") + "a{{ s }}" + self.tag("endfilter"),
            self.tag(f"with x = {self.expression(1)}") + more() + self.tag("endwith"),
            self.tag("raw") + "{{ x }} {% if %}" + self.tag("endraw"),
            "{% call(z) f3('q') %}[{{ z }}{{ x }}]{% endcall %}",
        ])

    def template(self):
        return ("{% set ns = namespace(a=1) %}{% macro f3(q) %}{{ q }}{{ caller(2) }}"
                "{% endmacro %}") + self.body(3)


def main():
    warnings.simplefilter("ignore")  # Of Python, about what jinja2 compiles.
    driver = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
    cases = [{"template": Generator(f"{seed}/{i}").template(),
              "variables": CONTEXT, "messages": MESSAGES, "tools": None}
             for i in range(count)]
    num_good = num_text = num_stops = 0
    for case, ours in zip(cases, compare.run_driver(driver, cases)):
        theirs = hf_renderer.render(case)
        if compare.is_same(ours, theirs):
            num_good += "error" not in theirs
            continue
        if "error" in ours:
            num_stops += 1
        else:
            num_text += 1
        print(f"--- {case['template']!r}\nours:   {str(ours)[:500]}\n"
              f"theirs: {str(theirs)[:500]}")
    print(f"seed {seed}: {count} templates, {num_good} render alike, "
          f"{num_text} differ, {num_stops} stop here only")


if __name__ == "__main__":
    main()
