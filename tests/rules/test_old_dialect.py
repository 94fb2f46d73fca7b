"""What the compiler of the old dialect refuses beside what the chip refuses: loops, and what a kernel may write."""

import json

import pytest

from neff_bench.rules.findings import of_source
from neff_bench.rules.source import Source
from tests.rules.test_check import check

OLD_STORE = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def k(x, y):
    for i in nl.{loop}(1):
        t = nl.load(x)
    nl.store(y, t)
    return y

k(np.zeros((128, 64), np.float32), np.zeros((128, 64), np.float32))
"""


@pytest.mark.parametrize(("loop", "codes"), [("affine_range", ["NBLB104", "NBLB125"]), ("static_range", ["NBLB125"])])
def test_a_store_into_an_input_is_one_finding_and_an_unrolled_loop_ends_no_tile(tmp_path, loop, codes):
    path = tmp_path / "old.py"
    path.write_text(OLD_STORE.format(loop=loop))
    found = json.loads(check(path, "--sdk", "2.28", "--format", "json").stdout)["findings"]
    assert [one["code"] for one in found if one["line"] == 9] == codes


LOOP = """
from neuronxcc import nki
import neuronxcc.nki.language as nl
import neuronxcc.nki.isa as nisa

@nki.jit
def k(x, y, flag=True):
    t = nl.zeros((nl.par_dim(128), 64), dtype=nl.float32, buffer=nl.sbuf)
    for i in nl.affine_range(4):
        {}
    nl.store(y, t)
"""


@pytest.mark.parametrize(
    ("lines", "code", "breaks"),
    [
        ("if i < 2:\n            a = nl.load(x)\n        t[:, i] = nl.exp(a)", "NBLB104", True),
        ("if flag:\n            a = nl.load(x)\n        t[:, i] = nl.exp(a)", "NBLB104", False),
        ("t[:, 0:8] = nl.load(x)", "NBLB106", True),
        ("t[:, 0:8] = t[:, 8:16]", "NBLB106", False),
        ("t[:, i] = nisa.activation(nl.exp, x, bias=float(1))", "NBLB124", True),
        ("t[:, i] = nisa.activation(nl.exp, x, bias=None)", "NBLB124", False),
    ],
)
def test_what_a_loop_of_the_old_dialect_holds(lines, code, breaks):
    found = {one.code for one in of_source(Source(LOOP.format(lines), "k.py"), "trn1")}
    assert (code in found) is breaks and "NBLB125" in found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def k(x, y,", "def k(x, y: nt.mutable_tensor,"),
        ("y, flag=True", "y=None, flag=True"),
        (
            "@nki.jit",
            "@nki.jit\ndef outer(x):\n    k(x, nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm))\n\n\n@nki.jit",
        ),
    ],
    ids=["mutable", "optional", "called"],
)
def test_what_a_kernel_may_write(old, new):
    text = LOOP.format("pass").replace(old, new)
    assert "NBLB125" not in {one.code for one in of_source(Source(text, "k.py"), "trn1")}
