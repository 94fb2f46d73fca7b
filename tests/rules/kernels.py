"""Small kernels of one rule each, and what is found in them."""

import re
import textwrap
from functools import cache
from pathlib import Path

import yaml

from neff_bench.doors.estimation import record_kernel
from neff_bench.rules import findings
from neff_bench.rules.source import Source
from neff_bench.simulator.errors import SimulatorError
from neff_bench.simulator.execution.calls import judged, of_refusal

HEAD = """\
import nki, nki.isa as nisa, nki.language as nl, nki.collectives as nccl

def F(shape, dtype=nl.float32):
    tile = nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0)
    return tile

def P(shape, dtype=nl.float32):
    return nl.ndarray(shape, dtype=dtype, buffer=nl.psum)

@nki.jit
def k(a, b):
    x = F((128, 64)); y = F((128, 64)); z = F((128, 64))
    o = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
{body}
    nisa.dma_copy(dst=o, src=z)
    return o
"""
"""Around a kernel that is only lines: two inputs, three tiles, a result."""
INPUTS = dict.fromkeys("ab", ((128, 64), "float32"))


@cache
def listed():
    """What breaks each rule, by code, as it stands in the file beside this one."""
    return yaml.safe_load((Path(__file__).parent / "broken.yaml").read_text())


def broken(code):
    """The kernel that breaks a rule: its text, its chip, its cores."""
    one = listed()[code]
    return whole(one["kernel"]), one.get("target", "trn2"), one.get("lnc", 1)


def right(code):
    """The same kernel, mended."""
    one = listed()[code]
    text = one["kernel"]
    for wrong, better in one["right"].items():
        if wrong not in ("target", "lnc"):
            assert wrong in text, f"{code}: {wrong!r} does not stand in the kernel"
            text = text.replace(wrong, better)
    _, target, lnc = broken(code)
    return whole(text), one["right"].get("target", target), one["right"].get("lnc", lnc)


def whole(text):
    """A kernel as a file."""
    if re.match("import (nki,|nki as|neuronxcc)", text):
        return text
    return HEAD.format(body=textwrap.indent(text, "    "))


def found(text, target, lnc, path):
    """What is found in a kernel: in its source, in its calls, in why it is refused. And what the simulator refuses."""
    path.write_text(text)
    source = Source(text, str(path))
    every = findings.of_source(source, target)
    try:
        every += judged(record_kernel(f"{path}:k", INPUTS, target, lnc, {}))
    except SimulatorError as error:
        refused = of_refusal(error, error.source or "", target)
        return [*every, *([refused] if refused else [])], str(error)
    return every, ""
