#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Record what SentencePiece and tiktoken give for small models of their own.

Usage: make_models.py [SEED NUM_TEXTS FOLDER]  (needs sentencepiece==0.2.3, tiktoken==0.14.0)
Without arguments writes models/ here: *.model, ranks.tiktoken and models.json:
[{spec, cases: [{text, ids, decoded}]}].
"""
import base64, io, json, pathlib, random, sys
import sentencepiece, tiktoken
from tiktoken_ext import openai_public
sys.argv, arguments = sys.argv[:1], sys.argv[1:]
import importlib.util
HERE = pathlib.Path(__file__).parent
source = (HERE / "make_variants.py").read_text().rsplit("\nmain()", 1)[0]
exec(compile(source, "make_variants.py", "exec"))

KINDS = {
    "unigram": dict(model_type="unigram"),
    "unigram_bytes": dict(model_type="unigram", byte_fallback=True, character_coverage=0.98, user_defined_symbols=["<sep>", "\u4e2d"]),
    "unigram_plain": dict(model_type="unigram", normalization_rule_name="identity", add_dummy_prefix=False, remove_extra_whitespaces=False),
    "unigram_suffix": dict(model_type="unigram", treat_whitespace_as_suffix=True),
    "bpe": dict(model_type="bpe", character_coverage=0.98),
    "bpe_bytes": dict(model_type="bpe", byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False, character_coverage=0.98,
                      user_defined_symbols=["<sep>", "ell"]),
}


def sentencepiece_model(kind, folder):
    out = io.BytesIO()
    rules = folder / "rules.tsv"
    kw = dict(KINDS[kind])
    if "normalization_rule_name" not in kw:
        rules.write_text("".join(" ".join("%X" % ord(c) for c in a) + "\t" + " ".join("%X" % ord(c) for c in b) + "\n" for a, b in RULES))
        kw["normalization_rule_tsv"] = str(rules)
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), model_writer=out, vocab_size=420 if kw.get("byte_fallback") else 160, minloglevel=2,
                                             hard_vocab_limit=False, num_threads=1, **kw)
    rules.unlink(missing_ok=True)
    (folder / f"{kind}.model").write_bytes(out.getvalue())
    model = sentencepiece.SentencePieceProcessor(model_proto=out.getvalue())
    return model.encode, model.decode


def tiktoken_model(pattern, folder):
    if pattern == "llama3":
        split = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    else:
        reader, openai_public.load_tiktoken_bpe = openai_public.load_tiktoken_bpe, lambda *a, **k: {}
        merges, openai_public.data_gym_to_mergeable_bpe_ranks = openai_public.data_gym_to_mergeable_bpe_ranks, lambda *a, **k: {}
        split = {"gpt2": openai_public.gpt2, "cl100k": openai_public.cl100k_base, "o200k": openai_public.o200k_base}[pattern]()["pat_str"]
        openai_public.load_tiktoken_bpe, openai_public.data_gym_to_mergeable_bpe_ranks = reader, merges
    ranks = {bytes([b]): b for b in range(256)}
    words = sorted({w.encode() for t in CORPUS for w in t.split()} | {b" " + w.encode() for t in CORPUS for w in t.split()})
    rng = random.Random(5)
    while len(ranks) < 460:  # Random neighbours, so that cuts of one token differ.
        word = rng.choice(words)
        cut = rng.randrange(len(word) - 1) if len(word) > 1 else 0
        token = word[cut:cut + rng.choice([2, 2, 3, 4])]
        if len(token) > 1 and token not in ranks: ranks[token] = len(ranks)
    (folder / "ranks.tiktoken").write_text("".join(base64.b64encode(t).decode() + f" {r}\n" for t, r in ranks.items()))
    model = tiktoken.Encoding("x", pat_str=split, mergeable_ranks=ranks, special_tokens={})
    return model.encode_ordinary, model.decode


def model_cases(encode, decode, rng, num_texts):
    texts = [random_text(rng) for _ in range(num_texts)]
    texts += ["ell <sep>hello", "", " ", "a  ", "  a", " a \n\n b  \n", "a\n  ", "DON'T we'LL I'm x's 'S 'sa", "12345 6789.5", "Hello\u017f world", "HTTPServer fooBar Foo's"]
    cases = []
    for text in texts:
        ids = encode(text)
        cases.append({"text": text, "ids": ids, "decoded": decode(ids)})
    return cases


def write_models():
    seed, num_texts, folder = (int(arguments[0]), int(arguments[1]), pathlib.Path(arguments[2])) if arguments else (13, 14, HERE / "models")
    folder.mkdir(exist_ok=True, parents=True)
    rng, out = random.Random(seed), []
    for kind in KINDS:
        out.append({"spec": f"{kind}.model", "cases": model_cases(*sentencepiece_model(kind, folder), rng, num_texts)})
    for pattern in ["llama3", "cl100k", "o200k", "gpt2"]:
        out.append({"spec": f"ranks.tiktoken#{pattern}", "cases": model_cases(*tiktoken_model(pattern, folder), rng, num_texts)})
    if arguments:
        for model in out: model["spec"] = str(folder / model["spec"])
    (folder / "models.json").write_text(json.dumps(out, separators=(",", ":")))
    print(len(out), "models")


write_models()
