#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Encode English text with Titan, tiktoken and Hugging Face tokenizers, in turn.

Usage: tokenizer_speed.py BENCH_TOKENIZER_SPEED TEXT [VOCAB [ROUNDS [MORE...]]]
Trains a byte-level BPE of VOCAB (32768) tokens with Llama 3's pattern on TEXT and the files MORE, gives tiktoken the same ranks, checks that
all three give the same ids, and prints medians of ROUNDS (9) alternating single-thread passes, then Titan on 2 threads.
Needs tokenizers==0.23.3 and tiktoken==0.14.0.
"""
import os, pathlib, statistics, subprocess, sys, tempfile, time
os.environ["RAYON_NUM_THREADS"], os.environ["TOKENIZERS_PARALLELISM"] = "1", "false"
import tiktoken
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def train(text, vocab):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(PATTERN), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(text.splitlines(keepends=True), trainers.BpeTrainer(vocab_size=vocab, min_frequency=1, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return t


def byte_of_character():
    own = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174]
    rest = [b for b in range(256) if b not in own]
    return {**{chr(b): b for b in own}, **{chr(256 + i): b for i, b in enumerate(rest)}}


def main():
    binary, path = sys.argv[1:3]
    vocab, rounds = (int(sys.argv[3]) if len(sys.argv) > 3 else 32768), (int(sys.argv[4]) if len(sys.argv) > 4 else 9)
    text = pathlib.Path(path).read_text()
    megabytes = len(text.encode()) / 1e6
    more = [pathlib.Path(p).read_text(errors="replace") for p in sys.argv[5:]]
    hf, table = train("".join([text, *more]), vocab), byte_of_character()
    ranks = {bytes(table[c] for c in token): i for token, i in hf.get_vocab().items()}
    tik = tiktoken.Encoding("bench", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
    with tempfile.TemporaryDirectory() as folder:
        hf.save(folder + "/tokenizer.json")
        titan = subprocess.Popen([binary, folder, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

        def run_titan(threads=1):
            titan.stdin.write(f"{threads}\n"); titan.stdin.flush()
            seconds, tokens, checksum = titan.stdout.readline().split()
            return float(seconds), int(checksum)

        def timed(encode):
            start = time.perf_counter()
            ids = encode(text)
            return time.perf_counter() - start, ids

        ids, checksum = tik.encode_ordinary(text), 0
        for i in ids: checksum = (checksum * 31 + i) % 2**64
        assert run_titan()[1] == checksum, "titan's ids differ from tiktoken's"
        assert hf.encode(text).ids == ids, "the ids of tokenizers differ from tiktoken's"
        print(f"{megabytes:.2f} MB, {len(ids)} tokens, vocabulary {hf.get_vocab_size()}: all three give the same ids")
        times = {"titan": [], "tiktoken": [], "tokenizers": [], "titan, 2 threads": []}
        for _ in range(rounds):
            times["titan"].append(run_titan()[0])
            times["tiktoken"].append(timed(tik.encode_ordinary)[0])
            times["tokenizers"].append(timed(lambda t: hf.encode(t).ids)[0])
            times["titan, 2 threads"].append(run_titan(2)[0])
    base = statistics.median(times["titan"])
    for name, values in times.items():
        median = statistics.median(values)
        print(f"{name:18} {megabytes / median:8.1f} MB/s  (best {megabytes / min(values):.1f})  titan is {median / base:.2f}x")


main()
