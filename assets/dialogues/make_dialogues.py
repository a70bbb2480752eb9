#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes dialogues.jsonl: short scenes of ../tinyshakespeare as conversations.

usage: make_dialogues.py
Neighbouring speeches of two speakers become user and assistant, two or four of
them a dialogue; the system message names who the assistant is. The same text
gives the same file.
"""
import json
import pathlib

FOLDER = pathlib.Path(__file__).parent
MAX_SPEECH = 220  # Characters: four speeches fit a row of 256 tokens.
NUM_DIALOGUES = 400


def speeches(text):
    for block in text.split("\n\n"):
        name, _, speech = block.strip().partition(":\n")
        is_speech = speech and "\n" not in name
        yield (name.title(), speech) if is_speech else None


def dialogues(all_speeches):
    """Runs of speeches by two speakers in turn, each short."""
    run = []
    for speech in all_speeches:
        is_short = speech and len(speech[1]) <= MAX_SPEECH
        goes_on = is_short and (
            not run or (len(run) == 1 and speech[0] != run[0][0]) or
            (len(run) > 1 and speech[0] == run[-2][0]))
        if goes_on:
            run.append(speech)
        if len(run) == 4 or (not goes_on and len(run) >= 2):
            yield run[:len(run) // 2 * 2]
        if len(run) == 4 or not goes_on:
            run = [speech] if is_short and not goes_on else []


def record(run):
    messages = [{"role": "system", "content": f"You are {run[1][0]}."}]
    for i, (_, speech) in enumerate(run):
        role = "user" if i % 2 == 0 else "assistant"
        messages.append({"role": role, "content": speech})
    return {"messages": messages}


def main():
    text = (FOLDER / "../tinyshakespeare/input.txt").read_text()
    chosen = list(dialogues(speeches(text)))
    # From all over the plays.
    step = len(chosen) // NUM_DIALOGUES
    with open(FOLDER / "dialogues.jsonl", "w") as file:
        for run in chosen[::step][:NUM_DIALOGUES]:
            file.write(json.dumps(record(run), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
