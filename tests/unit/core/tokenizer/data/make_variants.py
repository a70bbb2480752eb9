#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Record what Hugging Face `tokenizers` gives for every component it has.

Usage: make_variants.py [SEED NUM_TEXTS OUT]   (needs tokenizers==0.23.3, sentencepiece==0.2.3)
Without arguments writes variants.json here (seed 11, 10 texts per variant); with
them a larger file for a differential run that is not committed.
variants.json: [{name, tokenizer (the file), cases: [{text, ids, ids_special}],
decodes: [{ids, text, text_skip}]}].
"""
import base64, io, json, pathlib, random, sys, tempfile
import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).parent
WORDS = ["the", "The", "THE", "don't", "we're", "hello", "Hello", "world", "unwanted", "running", "caf\u00e9", "cafe\u0301",
         "na\u00efve", "\u00c5ngstr\u00f6m", "\ufb01ne", "\u4e2d\u6587", "\u65e5\u672c\u8a9e", "\u3072\u3089", "\u30ab\u30bf\u30ab\u30ca",
         "\u30fc", "\ud55c\uad6d", "\u1100\u1161\u11a8", "\u0440\u0443\u0441\u0441\u043a\u0438\u0439", "\u0395\u03bb\u03bb\u03ac\u03c3",
         "\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628\u0627", "\u0939\u093f\u0928", "\u0e44\u0e17\u0e22", "1", "12", "2024", "3.14", "\u0661\u0662", "\u00bd",
         "\u2167", "a", "b", "c", "x", "y", "_", "__init__", "\u0130stanbul", "\u0131", "\u017f", "\u00df", "\u01c5", "\U0001f600", "\U0001f469\u200d\U0001f467",
         "\U0001f3fd", "\U0001d518", "\u2460", "\uff21\uff22", "\u2126", "\u212b", "\ufdfa"]
MARKS = [".", ",", "!", "?", "...", "'", "\"", "(", ")", "-", "\u2014", "$", "+", "<", ">", "=", "^", "`", "|", "~", "#", "\u20ac", "\u00a7", "\u3002", "\u00bf",
         "<s>", "</s>", "[UNK]", "<unk>", "\u2581", "<0x41>", "##", "</w>", "_"]
SPACES = [" ", " ", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2003", "\u200b", "\x0b", "\x0c", "\x85", "\u2028", "\ufeff", "\x00", "\x01", "\x1c", "\x7f", "\u00ad", "\u180e"]
CORPUS = [" ".join(random.Random(i).choices(WORDS, k=12)) for i in range(60)]


def random_text(rng):
    pick = lambda: rng.choice(rng.choice([WORDS, WORDS, WORDS, MARKS, SPACES, SPACES, [" "]]))
    return "".join(pick() for _ in range(rng.randint(1, 14)))


def train(model, trainer, normalizer=None, pre=None, extra=()):
    tokenizer = Tokenizer(model)
    if normalizer: tokenizer.normalizer = normalizer
    if pre: tokenizer.pre_tokenizer = pre
    tokenizer.train_from_iterator(CORPUS + list(extra), trainer)
    return tokenizer


def word_level():
    return train(models.WordLevel(unk_token="[UNK]"), trainers.WordLevelTrainer(vocab_size=120, special_tokens=["[UNK]"]), pre=pre_tokenizers.Whitespace())


def word_piece(**kw):
    t = train(models.WordPiece(unk_token="[UNK]", **kw), trainers.WordPieceTrainer(vocab_size=220, special_tokens=["[UNK]", "[CLS]", "[SEP]"]),
              pre=pre_tokenizers.BertPreTokenizer())
    t.normalizer, t.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return t


def bpe(suffix=None, prefix=None, byte_fallback=False, fuse=False, unk="<unk>", ignore=False, pre=None):
    kw = {}
    if suffix: kw["end_of_word_suffix"] = suffix
    if prefix: kw["continuing_subword_prefix"] = prefix
    special = ["<unk>", "<s>", "</s>"] + (["<0x%02X>" % b for b in range(256)] if byte_fallback else [])
    t = train(models.BPE(**kw), trainers.BpeTrainer(vocab_size=len(special) + 170, special_tokens=special, limit_alphabet=60, **kw), pre=pre or pre_tokenizers.Whitespace())
    j = json.loads(t.to_str())
    m = j["model"]
    m.update(unk_token=unk, fuse_unk=fuse, byte_fallback=byte_fallback, ignore_merges=ignore)
    if suffix: m["end_of_word_suffix"] = suffix
    if prefix: m["continuing_subword_prefix"] = prefix
    t = Tokenizer.from_str(json.dumps(j))
    return t


def byte_level(pre, normalizer=None, ignore=False):
    t = train(models.BPE(), trainers.BpeTrainer(vocab_size=340, special_tokens=["<s>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()),
              normalizer, pre)
    t.decoder = decoders.ByteLevel()
    j = json.loads(t.to_str())
    j["model"]["ignore_merges"] = ignore
    return Tokenizer.from_str(json.dumps(j))


def unigram(byte_fallback=False, unk=True):
    vocab = train(models.Unigram(), trainers.UnigramTrainer(vocab_size=200, unk_token="<unk>", special_tokens=["<unk>", "<s>", "</s>"]),
                  pre=pre_tokenizers.Metaspace())
    tokens = [tuple(v) for v in json.loads(vocab.to_str())["model"]["vocab"]]
    tokens = [(t, s) for t, s in tokens if t not in ("\u4e2d", "\u30ab", "x")]
    if byte_fallback: tokens += [("<0x%02X>" % b, -20.0) for b in range(256)]
    t = Tokenizer(models.Unigram(tokens, 0 if unk else None, byte_fallback))
    t.pre_tokenizer, t.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    t.add_special_tokens(["<unk>", "<s>", "</s>"])
    return t


def charsmap(rule=None):
    """A compiled character map of SentencePiece: its nmt_nfkc, or small rules."""
    out, kw = io.BytesIO(), {}
    if rule:
        path = pathlib.Path(tempfile.mkdtemp()) / "rules.tsv"
        path.write_text("".join(" ".join("%X" % ord(c) for c in a) + "\t" + " ".join("%X" % ord(c) for c in b) + "\n" for a, b in rule))
        kw["normalization_rule_tsv"] = str(path)
    else:
        kw["normalization_rule_name"] = "nmt_nfkc"
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), model_writer=out, vocab_size=120, minloglevel=2, hard_vocab_limit=False, **kw)
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(out.getvalue())
    return base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()


RULES = [("\ufb01", "fi"), ("\u1100\u1161\u11a8", "\uac01"), ("\u1100\u1161", "\uac00"), ("e\u0301", "\u00e9"), ("\u00a0", " "), ("\u3000", " "), ("\t", " "),
         ("\uff21", "A"), ("\u200b", ""), ("\u00bd", "1\u20442"), ("\u0001", ""), ("\u2460", "1")]


def with_parts(name, base, **parts):
    t = Tokenizer.from_str(base.to_str())
    for key, value in parts.items():
        if key == "added": t.add_tokens(value)
        else: setattr(t, key, value)
    return name, t


def variants(large):
    N, P, D, X = normalizers, pre_tokenizers, decoders, processors
    wl, wp, uni, unib = word_level(), word_piece(), unigram(), unigram(byte_fallback=True)
    plain = bpe()
    yield "word_level", wl
    yield "word_piece", wp
    yield with_parts("word_piece_cased", wp, normalizer=N.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=False),
                     decoder=D.WordPiece(prefix="##", cleanup=False))
    yield with_parts("word_piece_accents", wp, normalizer=N.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False))
    yield "word_piece_short", word_piece(max_input_chars_per_word=5)
    yield "bpe", plain
    yield "bpe_suffix", bpe(suffix="</w>")
    yield with_parts("bpe_decoder", bpe(suffix="</w>"), decoder=D.BPEDecoder("</w>"))
    yield "bpe_prefix", bpe(prefix="##")
    yield "bpe_fuse", bpe(fuse=True)
    yield "bpe_no_unk", bpe(unk=None)
    yield "bpe_ignore", bpe(ignore=True)
    llama = bpe(byte_fallback=True, fuse=True, pre=P.Metaspace())
    llama_decoder = D.Sequence([D.Replace("\u2581", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)])
    template = X.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    yield with_parts("llama2", llama, normalizer=N.Sequence([N.Prepend("\u2581"), N.Replace(" ", "\u2581")]), pre_tokenizer=None, decoder=llama_decoder,
                     post_processor=template)
    for scheme in ["first", "always", "never"]:
        for split in [True, False]:
            yield with_parts(f"metaspace_{scheme}_{split}", llama, pre_tokenizer=P.Metaspace(prepend_scheme=scheme, split=split),
                             decoder=D.Metaspace(prepend_scheme=scheme), added=[AddedToken("<x>", normalized=False)])
    yield "unigram", uni
    yield "unigram_bytes", unib
    yield with_parts("unigram_bytes_decoder", unib, decoder=D.Sequence([D.ByteFallback(), D.Metaspace()]))
    small = charsmap(RULES)
    yield with_parts("xlmr", uni, normalizer=N.Precompiled(base64.b64decode(small)), pre_tokenizer=P.Sequence([P.WhitespaceSplit(), P.Metaspace()]),
                     post_processor=X.RobertaProcessing(("</s>", 2), ("<s>", 1)))
    yield with_parts("t5", uni, normalizer=N.Sequence([N.Precompiled(base64.b64decode(small)), N.Strip(left=False, right=True), N.Replace(Regex(" {2,}"), "\u2581")]),
                     pre_tokenizer=P.Metaspace(prepend_scheme="first"))
    if large:
        yield with_parts("nmt_nfkc", uni, normalizer=N.Precompiled(base64.b64decode(charsmap())))
    for form in ["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt"]:
        yield with_parts("normalizer_" + form, uni, normalizer=getattr(N, form)())
    yield with_parts("normalizer_strip", uni, normalizer=N.Sequence([N.Strip(), N.NFD(), N.StripAccents(), N.Lowercase()]), pre_tokenizer=P.Metaspace(prepend_scheme="first"))
    yield with_parts("normalizer_replace", plain, normalizer=N.Sequence([N.Replace("a", "bb"), N.Replace(Regex("[0-9]+"), "1"), N.Prepend("x ")]))
    yield with_parts("normalizer_byte_level", byte_level(P.ByteLevel(add_prefix_space=False)), normalizer=N.ByteLevel(), pre_tokenizer=P.Split(Regex("\u0120"), "merged_with_next"))
    for behavior in ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]:
        for invert in [False, True]:
            yield with_parts(f"split_{behavior}_{invert}", plain, pre_tokenizer=P.Split(Regex(r"[aeo]|\s+"), behavior, invert))
        yield with_parts(f"split_string_{behavior}", plain, pre_tokenizer=P.Split(" ", behavior))
        yield with_parts(f"punctuation_{behavior}", plain, pre_tokenizer=P.Punctuation(behavior))
    for name, pre in [("whitespace", P.Whitespace()), ("whitespace_split", P.WhitespaceSplit()), ("digits", P.Digits(True)), ("digits_runs", P.Digits(False)),
                      ("bert", P.BertPreTokenizer()), ("delimiter", P.CharDelimiterSplit("o")), ("scripts", P.UnicodeScripts()), ("fixed", P.FixedLength(3)),
                      ("sequence", P.Sequence([P.WhitespaceSplit(), P.Punctuation(), P.Digits(True)])), ("scripts_sequence", P.Sequence([P.UnicodeScripts(), P.Metaspace(prepend_scheme="first")])),
                      ("none", None)]:
        yield with_parts("pre_" + name, plain, pre_tokenizer=pre)
    bl = byte_level(P.ByteLevel(add_prefix_space=False))
    yield "byte_level", bl
    yield with_parts("byte_level_prefix", bl, pre_tokenizer=P.ByteLevel(add_prefix_space=True))
    yield with_parts("byte_level_no_regex", bl, pre_tokenizer=P.ByteLevel(add_prefix_space=False, use_regex=False))
    yield with_parts("byte_level_digits", bl, pre_tokenizer=P.Sequence([P.Digits(True), P.ByteLevel(add_prefix_space=False)]))
    yield with_parts("byte_level_nfc", bl, normalizer=N.NFC(), post_processor=X.ByteLevel(trim_offsets=True))
    yield with_parts("roberta", bl, post_processor=X.RobertaProcessing(("</s>", 2), ("<s>", 0)))
    yield with_parts("sequence_processor", bl, post_processor=X.Sequence([X.ByteLevel(), X.TemplateProcessing(single="<s> $A <s>", special_tokens=[("<s>", 0)])]))
    tokens = [AddedToken("no", single_word=True), AddedToken("YES", normalized=False), AddedToken("Hello", normalized=True),
              AddedToken("<l>", lstrip=True, normalized=False), AddedToken("<r>", rstrip=True, normalized=False), AddedToken("\u00c5", normalized=True),
              AddedToken("<sp>", special=True, normalized=False), AddedToken("<spn>", special=True, normalized=True)]
    yield with_parts("added_lower", plain, normalizer=N.Lowercase(), added=tokens)
    yield with_parts("added_byte_level", bl, added=tokens)
    yield with_parts("added_byte_level_normalizer", bl, normalizer=N.ByteLevel(), pre_tokenizer=None, added=tokens)
    yield with_parts("added_metaspace", uni, normalizer=N.Sequence([N.NFD(), N.Lowercase()]), pre_tokenizer=P.Metaspace(prepend_scheme="first"), added=tokens)
    yield with_parts("ctc", wl, decoder=D.CTC(pad_token="[UNK]", word_delimiter_token="a"))
    yield with_parts("ctc_plain", wl, decoder=D.CTC(pad_token="[UNK]", word_delimiter_token="a", cleanup=False))
    yield with_parts("strip_decoder", plain, decoder=D.Sequence([D.Strip("e", 2, 1), D.Fuse(), D.Replace(Regex("[abc]+"), "-")]))


def record(name, t, rng, num_texts):
    extra = ["no", "noon no NO no!", "YES yes", "  hello <l>  <r>  x", "<sp> \u00c5 A\u030a <spn>", "<x> <x>", " <s> a", "<s>a</s>", ""]
    texts = [rng.choice(extra) + (random_text(rng) if rng.random() < 0.5 else "") for _ in range(3)]
    texts += [random_text(rng) for _ in range(num_texts - len(texts))]
    cases, decodes, size = [], [], t.get_vocab_size()
    for text in texts:
        plain = t.encode(text, add_special_tokens=False).ids
        cases.append({"text": text, "ids": plain, "ids_special": t.encode(text).ids})
        lists = [plain, [i for i in rng.choices(range(size), k=rng.randint(1, 8)) if t.id_to_token(i) is not None]]
        for ids in lists:
            try:
                if ids:
                    decodes.append({"ids": ids, "text": t.decode(ids, skip_special_tokens=False), "text_skip": t.decode(ids)})
            except BaseException:  # the Strip decoder of `tokenizers` panics on short tokens
                pass
    return {"name": name, "tokenizer": json.loads(t.to_str()), "cases": cases, "decodes": decodes}


def main():
    seed, num_texts, out = (int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]) if len(sys.argv) == 4 else (11, 10, HERE / "variants.json")
    rng = random.Random(seed)
    all_of_them = [record(name, t, rng, num_texts) for name, t in variants(large=len(sys.argv) == 4)]
    pathlib.Path(out).write_text(json.dumps(all_of_them, separators=(",", ":")))
    print(len(all_of_them), "variants")


main()
