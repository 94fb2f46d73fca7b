"""What a bad day does to a profiler: each capture takes the next misdeed of a list, and its view goes on with it."""

import fcntl
import os
import sys
import time

from habits import HABITS, HERE

CAPTURE = (
    "no_trace", "fails_after", "busy", "nan", "empty", "cut", "garbage", "no_outputs", "short_output", "zero_output",
    "other_output", "hang", "killed", "oom", "noisy", "no_text", "device",
)  # fmt: skip
VIEW = (
    "zero", "active", "mfu", "engine", "counts", "two_roots", "dma", "negative", "text", "no_total", "mbu", "some_counts", "many_counts",
    "view_empty", "view_cut", "view_logs", "view_nan", "view_fails",
)  # fmt: skip
EVERY = (*CAPTURE, *VIEW)


def next_one():
    """The misdeed of this capture, "" for none: every other one is good."""
    if not HABITS["misbehaves"]:
        return ""
    with open(HERE / "captures.txt", "a+") as count:
        fcntl.flock(count, fcntl.LOCK_EX)
        count.seek(0)
        number = len(count.read())
        count.write(".")
    return EVERY[number // 2 % len(EVERY)] if number % 2 else ""


def before(misdeed):
    if misdeed == "busy":
        sys.exit(
            "NRT:nrt_allocate_neuron_cores  Logical Neuron Core(s) not available - Requested:lnc1-lnc1 Available:0"
        )
    if misdeed == "oom":
        sys.exit("TDRV:log_dev_mem  Failed to allocate 4.000GB (alignment: none, usage: tensors) on ND 0:NC 4")
    if misdeed == "device":
        sys.exit("nrt_execute failed: NRT_EXEC_UNIT_UNRECOVERABLE")
    if misdeed == "no_trace":
        sys.exit("something else went wrong")
    if misdeed == "hang":
        time.sleep(600)
    if misdeed == "killed":
        os.kill(os.getpid(), 9)
    if misdeed == "noisy":
        print("WARN NRT:nrt_init notice {ok}\n" * 100_000)
    if misdeed == "no_text":
        sys.stdout.buffer.write(bytes(range(256)) * 100)


def damaged(misdeed, trace):
    return {"empty": b"", "cut": trace[: len(trace) // 3], "garbage": bytes(len(trace))}.get(misdeed, trace)


def other_outputs(misdeed, outputs):
    if misdeed == "no_outputs":
        return {}
    change = {
        "short_output": lambda raw: raw[:-8],
        "zero_output": lambda raw: bytes(len(raw)),
        "other_output": lambda raw: raw[::-1],
    }.get(misdeed, bytes)
    return {name: change(raw) for name, raw in outputs.items()}


def after(misdeed):
    if misdeed == "fails_after":
        print("something else went wrong", file=sys.stderr)
        return 3
    if misdeed == "nan":
        print("completed with numerical error (NaN)", file=sys.stderr)
        return 1
    return 0


def viewed(misdeed, text):
    return {
        "view_empty": "",
        "view_cut": text[: len(text) // 2],
        "view_logs": "INFO[0000] nothing {else}",
        "view_nan": text.replace('"total_active_time": ', '"total_active_time": NaN, "x": '),
    }.get(misdeed, text)
