# SPDX-License-Identifier: BSD-3-Clause
"""Writes the Parquet files of this folder. PROVENANCE.md says with what.

usage: python make_fixtures.py OUT_FOLDER      (pyarrow 26.0.1)
"""
import datetime
import json
import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq


def words(count, size=24):
    """Texts that name their row."""
    return [(f"row {i} " * (size // 4))[:size] for i in range(count)]


def write(folder, name, table, **options):
    pq.write_table(table, os.path.join(folder, name + ".parquet"), **options)


def text_table():
    text = words(10)
    text[3] = None
    text[7] = ""
    return pa.table({"id": pa.array(range(10)), "text": pa.array(text),
                     "when": pa.array([datetime.datetime(2026, 1, 1)] * 10)})


def layouts_table():
    """One content in every layout that a column of texts can have."""
    text = words(20)
    text[5] = "\u00e9\u4f60\U0001f600"
    plain = pa.array(text)
    return pa.table({
        "string": plain,
        "large_string": plain.cast(pa.large_string()),
        "string_view": plain.cast(pa.string_view()),
        "binary": plain.cast(pa.binary()),
        "large_binary": plain.cast(pa.large_binary()),
        "dictionary": plain.dictionary_encode(),
    })


def lists_table():
    rows = [[1, 2, 3], [40, 50, 60], [7, 8, 9], [65000, 0, 1]]
    columns = {
        "list_int32": pa.list_(pa.int32()),
        "list_int64": pa.list_(pa.int64()),
        "list_uint16": pa.list_(pa.uint16()),
        "large_list": pa.large_list(pa.int32()),
        "fixed_size": pa.list_(pa.int32(), 3),
        "list_view": pa.list_view(pa.int32()),
        "large_list_view": pa.large_list_view(pa.int64()),
    }
    table = {name: pa.array(rows, kind) for name, kind in columns.items()}
    table["damaged"] = pa.array(
        [[1, None], [-1], [2**40], None], pa.list_(pa.int64()))
    table["empty"] = pa.array([[], [5], [], []], pa.list_(pa.int32()))
    table["floats"] = pa.array([[1.0]] * 4, pa.list_(pa.float32()))
    return pa.table(table)


def conversations():
    return [
        [{"role": "user", "content": "Hi \"you\"\n", "weight": None},
         {"role": "assistant", "content": "Hello", "weight": 1}],
        [{"role": "user", "content": "\u4f60\u597d", "weight": None},
         {"role": "assistant", "content": "\u4f60", "weight": 0}],
    ]


def chat_table():
    kind = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string()),
                               ("weight", pa.int32())]))
    messages = conversations() + [None]
    return pa.table({
        "messages": pa.array(messages, kind),
        "extra": pa.array([{"a": 1.5, "b": True}, None, None],
                          pa.struct([("a", pa.float64()), ("b", pa.bool_())])),
        "pairs": pa.array([[("k", "v")], [], None],
                          pa.map_(pa.string(), pa.string())),
        "prompt": ["[INST] p0", "p1", None],
        "completion": ["c0", "c1", None],
        "when": pa.array([datetime.date(2026, 1, 1)] * 3),
    })


def main(folder):
    write(folder, "text", text_table(), row_group_size=4)
    write(folder, "layouts", layouts_table(), row_group_size=12)
    write(folder, "lists", lists_table(), row_group_size=3)
    write(folder, "chat", chat_table())
    write(folder, "chat_json", pa.table({"messages": [
        json.dumps(each, ensure_ascii=False) for each in conversations()]}))
    for codec in ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]:
        write(folder, "codec_" + codec, pa.table({"text": words(50)}),
              compression=codec)
    # Pages of 20 rows or so, with checksums.
    write(folder, "pages", pa.table({"text": words(1000, 64)}),
          data_page_size=1024, write_batch_size=16, use_dictionary=False,
          compression="none", write_page_checksum=True)
    write(folder, "no_rows", text_table().slice(0, 0))
    with pq.ParquetWriter(os.path.join(folder, "no_row_groups.parquet"),
                          text_table().schema):
        pass


if __name__ == "__main__":
    main(sys.argv[1])
