"""`neff-bench tune`: JSON lines in, JSON lines out."""

import json
import subprocess
import sys

import msgspec
import pytest

from neff_bench.doors import estimation
from neff_bench.doors.tune import variants
from neff_bench.simulator.execution import calls
from tests.doors.programs import TOTAL

KERNEL = '''
import os
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def scale(x, pieces=1):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    step = x.shape[1] // pieces
    for i in range(pieces):
        tile = nl.ndarray((x.shape[0], step), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[:, i * step:(i + 1) * step])
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
        nisa.dma_copy(dst=out[:, i * step:(i + 1) * step], src=tile)
    return out


PIECES = 1


@nki.jit
def by_constant(x):
    return scale(x, pieces=PIECES)


@nki.jit
def widened(x, software=1):
    mode = nisa.dge_mode.swdge if software else nisa.dge_mode.hwdge
    tile = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x, dge_mode=mode, engine=nisa.engine.gpsimd if software else nisa.engine.sync)
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


def crash(x):
    os.abort()


def double(x):
    return 2 * x


def triple(x):
    return 3 * x


def by_pieces(x, pieces):
    return 2 * x if pieces == 4 else x
'''


def variant(name, kernel, **more):
    inputs = {"x": {"shape": [128, 2048], "dtype": "bfloat16"}}
    return json.dumps({"id": name, "kernel": kernel, "inputs": inputs, **more})


@pytest.fixture
def tune(tmp_path):
    (tmp_path / "k.py").write_text(KERNEL)

    def run(lines, *options):
        command = [sys.executable, "-m", "neff_bench", "tune", *options]
        done = subprocess.run(command, cwd=tmp_path, input="\n".join(lines), capture_output=True, text=True)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr

    return run


def test_each_line_gets_its_answer(tune):
    code, answers, messages = tune([variant("a", "k.py:scale"), variant("b", "k.py:crash"), "{", ""])
    found = {answer["id"]: answer for answer in answers}
    assert code == 0
    assert found["a"]["status"] == "estimated"
    assert found["a"]["row"]["total_time_us"] == found["a"]["total_time_us"] > 0
    assert (found["b"]["status"], found["b"]["reason"]) == ("failed", "killed by SIGABRT")
    assert found[None]["reason"].startswith("not a variant")
    assert messages == "error: 2 of 3 failed\n"


@pytest.mark.parametrize(
    "line", [b'{"id": 1, "kernel": "\xff"}', b'{"id": 1, "arguments": ' + b"[" * 5000], ids=["bytes", "depth"]
)
def test_a_line_that_cannot_be_decoded_is_no_variant(line):
    """Whatever the bytes are: in the process of the variant nobody else would say it in a line."""
    from neff_bench.doors.tune.variants import Answer, _answer

    answer = msgspec.json.decode(_answer("2.33", line), type=Answer)
    assert answer.status == "failed" and answer.reason.startswith("not a variant: ")


def test_top_prints_the_fastest_first(tune):
    lines = [variant(n, "k.py:scale", arguments={"pieces": n}) for n in (16, 1, 4)]
    _, everything, _ = tune(lines)
    _, best, _ = tune(lines, "--top", "2")
    times = sorted((answer["total_time_us"], answer["id"]) for answer in everything)
    assert [(answer["total_time_us"], answer["id"]) for answer in best] == times[:2]


def test_a_stream_without_one_good_variant_fails(tune):
    assert tune([variant("b", "k.py:missing")])[0] == 1


def test_a_variant_runs_on_its_own_target(tune):
    _, answers, _ = tune([variant("one", "k.py:scale", target="trn3", lnc=1), variant("two", "k.py:scale", lnc=7)])
    found = {answer["id"]: answer for answer in answers}
    assert found["one"]["row"]["target"] == "trn3"
    assert "lnc 7 does not exist" in found["two"]["reason"]


def test_a_checked_variant_is_compared_with_its_reference(tune):
    lines = [variant(name, "k.py:scale", check=True, reference=f"k.py:{name}") for name in ("double", "triple")]
    _, answers, _ = tune(
        [
            *lines,
            variant("free", "k.py:scale", check=True),
            variant("lost", "k.py:scale", check=True, reference="k.py:no"),
        ]
    )
    found = {answer["id"]: answer for answer in answers}
    assert [found[name]["check"] for name in ("double", "triple", "free")] == ["passed", "wrong", "unchecked"]
    assert found["lost"]["status"] == "failed" and "k.py:no" in found["lost"]["reason"]


def test_a_wrong_variant_is_never_among_the_best(tune):
    lines = [
        variant("wrong", "k.py:scale", check=True, reference="k.py:triple"),
        variant("slow", "k.py:scale", check=True, reference="k.py:double", arguments={"pieces": 16}),
    ]
    _, best, _ = tune(lines, "--top", "2")
    assert [answer["id"] for answer in best] == ["slow"]


def test_a_checked_variant_runs_on_all_of_its_ranks(tune, tmp_path):
    (tmp_path / "meeting.py").write_text(TOTAL)
    given = {"inputs": {"x": {"shape": [8, 4], "dtype": "float32"}}, "arguments": {"ranks": 2}, "check": True}
    lines = [
        json.dumps({"id": name, "kernel": "meeting.py:total", "reference": f"{name}:right", **given})
        for name in ("meeting.py", "other.py")
    ]
    (tmp_path / "other.py").write_text("def right(x):\n    return x\n")
    _, answers, _ = tune(lines)
    assert {answer["id"]: answer["check"] for answer in answers} == {"meeting.py": "passed", "other.py": "wrong"}
    assert {answer["row"]["ranks"] for answer in answers} == {2}


def test_a_failed_variant_is_told_where_only_the_fastest_are_printed(tune):
    _, best, messages = tune([variant("a", "k.py:scale", ranks=2)], "--top", "1")
    assert best == []
    assert messages.startswith(
        "error: 1 of 1 failed; the first, a: not a variant: Object contains unknown field `ranks`"
    )
    assert "; allowed: id, kernel, inputs, implementation, arguments, target" in messages


def test_a_file_is_judged_once_before_the_forks_that_need_it(tmp_path):
    file = tmp_path / "k.py"
    file.write_text(KERNEL)
    line = variant("a", f"{file}:scale").encode()
    variants._warm_all()
    calls._of_text.cache_clear()
    variants._warm(variants.DECODER.decode(line))
    judged = calls._of_text.cache_info().currsize
    estimation.estimate(f"{file}:scale", {"x": ((128, 512), "float32")})
    assert (judged, calls._of_text.cache_info().currsize) == (1, 1)


X = "x=128x2048:bfloat16"


@pytest.fixture
def vary(tmp_path):
    (tmp_path / "k.py").write_text(KERNEL)

    def run(*words):
        command = [sys.executable, "-m", "neff_bench", "tune", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    return run


@pytest.mark.parametrize(
    "words", [("k.py:scale", X, "--vary", "pieces=1,4,16"), ("k.py:by_constant", X, "--vary", "PIECES=1,4,16")]
)
def test_values_of_a_parameter_or_of_a_constant_are_ranked(vary, tune, words):
    done = vary(*words, "--format", "json", "--reference", "k.py:double")
    _, lines, _ = tune([variant(n, "k.py:scale", arguments={"pieces": n}) for n in (1, 4, 16)])
    times = sorted((answer["total_time_us"], answer["id"]) for answer in lines)
    found = json.loads(done.stdout)
    name = words[-1].partition("=")[0]
    assert [(answer["total_time_us"], answer[name]) for answer in found] == times
    assert {answer["check"] for answer in found} == {"passed"}


def test_a_variant_that_is_wrong_is_no_candidate(vary):
    done = vary("k.py:scale", X, "--vary", "pieces=1,4", "--reference", "k.py:triple")
    assert done.returncode == 1
    assert "wrong: pieces=1: " in done.stdout and "\n   1 " not in done.stdout


def test_the_reference_gets_what_varies_where_it_has_such_a_parameter(vary):
    done = vary("k.py:scale", X, "--vary", "pieces=1,4", "--reference", "k.py:by_pieces", "--format", "json")
    assert [(answer["pieces"], answer["check"]) for answer in json.loads(done.stdout)] == [(4, "passed")]


def test_the_table_says_which_ranks_the_evidence_carries(vary):
    done = vary("k.py:scale", X, "--vary", "pieces=1,2,64")
    lines = [line.split() for line in done.stdout.splitlines() if line.strip()[:1].isdigit()][:3]
    assert [line[1] for line in lines] == ["2", "1", "64"] or [line[1] for line in lines] == ["1", "2", "64"]
    assert [word for line in lines for word in line if word in ("SURE", "UNCLEAR")] == ["UNCLEAR", "SURE"]


def test_the_table_names_the_rule_by_which_awss_compiler_refuses_a_variant(vary):
    done = vary("k.py:widened", X, "--vary", "software=1,0")
    lines = [line.split() for line in done.stdout.splitlines() if line.strip()[:1].isdigit()][:2]
    assert [(line[1], line[-1]) for line in lines] == [("1", "-"), ("0", "NBLD310")]


def test_the_page_marks_the_front(vary, tmp_path):
    assert vary("k.py:scale", X, "--vary", "pieces=1,16", "--output", "p.html").returncode == 0
    page = (tmp_path / "p.html").read_text()
    assert page.count("<circle") == 2 and page.count('class="front"') == 1 and "pieces=16" in page


OLD = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

ROUNDS = 1


@nki.jit
def doubled(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    for _ in range(ROUNDS):
        tile = nl.add(tile, tile)
    nl.store(out, tile)
    return out
"""


def test_a_constant_of_an_old_kernel_varies_too(vary, tmp_path):
    (tmp_path / "old.py").write_text(OLD)
    found = json.loads(vary("old.py:doubled", X, "--vary", "ROUNDS=9,3", "--format", "json").stdout)
    assert [answer["ROUNDS"] for answer in found] == [3, 9]
    assert found[1]["row"]["instruction_count"] == found[0]["row"]["instruction_count"] + 6


@pytest.mark.parametrize(
    "words, says",
    [
        (("k.py:scale", X), "what varies?"),
        (("k.py:scale", X, "--vary", "pieces"), "expected NAME=VALUE"),
        (("k.py:scale", "--vary", "pieces=1,2"), "on which inputs?"),
        (("--vary", "pieces=1,2"), "belong to KERNEL.py:FUNCTION"),
    ],
)
def test_a_wrong_call_says_what_is_missing(vary, words, says):
    done = vary(*words)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1


def test_a_name_that_the_file_lacks_fails_with_its_name(vary):
    done = vary("k.py:scale", X, "--vary", "PIECE=1,2")
    assert done.returncode == 1 and "PIECE is no argument of the function and no constant of its file" in done.stderr
    assert "2 of 2 variants tried\n" in done.stdout and "SURE" not in done.stdout
