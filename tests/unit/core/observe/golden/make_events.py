#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes events.tfevents with TensorBoard's own record writer and protobufs.

python3 -m venv venv && venv/bin/pip install tensorboard
venv/bin/python make_events.py
"""
import pathlib

from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

START = 1_700_000_000.25


def scalar(tag, value):
    return summary_pb2.Summary.Value(tag=tag, simple_value=value)


def text(tag, value):
    tensor = tensor_pb2.TensorProto(dtype=7, string_val=[value.encode()])
    tensor.tensor_shape.dim.add(size=1)
    out = summary_pb2.Summary.Value(tag=tag, tensor=tensor)
    out.metadata.plugin_data.plugin_name = "text"
    return out


events = [
    event_pb2.Event(wall_time=START, file_version="brain.Event:2"),
    event_pb2.Event(
        wall_time=START,
        step=301,
        session_log=event_pb2.SessionLog(status=event_pb2.SessionLog.START),
    ),
    event_pb2.Event(
        wall_time=START + 1,
        step=301,
        summary=summary_pb2.Summary(
            value=[
                scalar("loss", 5.125),
                scalar("lr", 8e-4),
                text("note", "resumed from step 300"),
            ]
        ),
    ),
]
path = pathlib.Path(__file__).parent / "events.tfevents"
with open(path, "wb") as file:
    writer = RecordWriter(file)
    for event in events:
        writer.write(event.SerializeToString())
    writer.flush()
