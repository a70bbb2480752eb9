#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Record what Hugging Face `tokenizers` gives for hard texts and added tokens.

Usage: make_cases.py          (in this folder; needs tokenizers==0.23.3)
hard_texts.json:   {folder: [{text, ids}]}: white space and case corners.
added_tokens.json: [{added_tokens, cases: [{text, ids}]}] on llama3_bpe.
The folders' own files come from oracles/make_tokenizers.py.
"""
import json, pathlib, random
from tokenizers import AddedToken, Tokenizer

HERE = pathlib.Path(__file__).parent
POOL = [" ", "  ", "\n", "\r", "\r\n", "\t", "\x0b", "\x0c", "\x85", "\xa0", "\u180e", "\u200b", "\u2003", "\u2028",
        "\u3000", "\ufeff", "\x00", "\x1c", "'s", "'S", "'\u017f", "'ll", "'LL", "'re", "'VE", "'d", "'T", "'m", "a",
        "B", "\u00df", "\u0130", "\u0131", "\u017f", "\u00e9", "e\u0301", "\u4e2d", "\u65e5\u672c", "\u3072", "\u30ab",
        "\ud55c", "1", "23", "4567", "\u00bd", "\u2167", "\u0661", "\u0966", "!", "...", "#", "\u20ac", "_", "-",
        "\u2014", "(", "/", "<", "<|", "<|end|>", "|>", "\U0001f600", "\u200d", "\U0001f3fd", "\U0001d518", "\u0e44",
        "\u24b6", "\u02d0", "^", "`", "Word", "WORD", "The", "x", "\u01c5", "\u00aa", "\u0345", "\ue000", "\u0378"]
WORD, RAW = dict(single_word=True), dict(normalized=False)
ADDED = [
    # DAT-03 and DAT-04 (no normaliser), then overlaps that rstrip makes.
    ([("<|s|>", dict(lstrip=True, rstrip=True, special=True, **RAW)), ("<|e|>", dict(special=True, **RAW))],
     ["   <|s|> <|e|>   x", "a<|s|>b", "<|s|><|s|> <|s|>", "\u00a0<|s|>\u3000x", "\u180e<|s|>\u180e x"]),
    ([("YES", RAW), ("no", WORD), ("foo", dict(lstrip=True, **WORD, **RAW))],
     ["yes YES NO no", "noon no on", "\u00e9no no\u00e9", "no_ no!", "  foo foo  foo", "\u24b6no \u200dno", "foofoo no"]),
    ([(" x", {}), ("<s>", dict(rstrip=True)), (" yy", dict(lstrip=True, **WORD)), ("no", dict(rstrip=True, **WORD)), (" no", {})],
     ["<s> x", "<s>  x x", "no yy  yy no", "no no", " no no nono no", "<s>  yy", "a   yyx"]),
    ([("  ", {}), ("<s>", dict(rstrip=True)), ("\t\t", dict(lstrip=True, rstrip=True))],
     ["<s>     x", "<s>    x", "a     b", "\t\t\t\t\t  x", "<s>\t\t\t  x"]),
    ([("<a", {}), ("<ab", {}), ("<abc>", RAW)], ["<a<ab<abc><abc", "<abx<ax"]),
]


def load(folder):
    return Tokenizer.from_file(str(HERE / folder / "tokenizer.json"))


def encode(tokenizer, texts):
    return [{"text": t, "ids": tokenizer.encode(t, add_special_tokens=False).ids} for t in texts]


def main():
    rng = random.Random(7)
    hard = {}
    for folder in ["deepseek_bpe", "gpt2_bpe", "llama3_bpe"]:
        texts = ["".join(rng.choice(POOL) for _ in range(rng.randint(1, 40))) for _ in range(60)]
        hard[folder] = encode(load(folder), texts + ["ab" * 40, "the" * 30 + "  " * 40 + "x", "  \n" * 50])
    (HERE / "hard_texts.json").write_text(json.dumps(hard))
    added = []
    for tokens, texts in ADDED:
        tokenizer = load("llama3_bpe")
        tokenizer.add_tokens([AddedToken(content, **flags) for content, flags in tokens])
        cases = encode(tokenizer, texts)
        added.append({"added_tokens": json.loads(tokenizer.to_str())["added_tokens"], "cases": cases})
    (HERE / "added_tokens.json").write_text(json.dumps(added))


main()
