"""A row says what AWS's compiler would refuse, by every door, and keeps its numbers."""

import json
import subprocess
import sys

import pytest

import neff_bench
from neff_bench.doors.tune import variants
from neff_bench.errors import WrongCall
from tests.rules.kernels import INPUTS, whole

DIVIDE = "nisa.tensor_scalar(dst=z, data=x, op0=nl.divide, operand0=3.0)"
LOOP = "nl.fori_loop(0, 2, lambda i: nisa.tensor_copy(dst=z, src=x))"
"""Since 2.32."""
LAUNCH = "\nimport numpy as np\nk(np.ones((128, 64), np.float32), np.ones((128, 64), np.float32))\n"
SHAPES = {name: {"shape": shape, "dtype": dtype} for name, (shape, dtype) in INPUTS.items()}


@pytest.fixture
def kernel(tmp_path):
    def write(text):
        (tmp_path / "kernel.py").write_text(whole(text))
        return f"{tmp_path / 'kernel.py'}:k"

    return write


def command(*words, cwd, given=""):
    line = [sys.executable, "-m", "neff_bench", *map(str, words)]
    return subprocess.run(line, cwd=cwd, input=given, capture_output=True, text=True, check=False)


def test_an_estimated_row_has_a_finding_with_the_line_of_what_is_refused(kernel):
    row = neff_bench.estimate(kernel(DIVIDE), INPUTS)
    (finding,) = row.findings
    assert finding.kind == "refused" and "NBLE603" in finding.text and finding.line == 15
    assert row.status == "estimated" and row.check is None


def test_a_row_of_a_kernel_that_breaks_no_rule_has_no_finding(kernel):
    assert neff_bench.estimate(kernel("nisa.tensor_copy(dst=z, src=x)"), INPUTS).findings == ()


def test_the_release_that_is_asked_for_refuses(kernel):
    refused = {sdk: neff_bench.estimate(kernel(DIVIDE), INPUTS, sdk=sdk).findings for sdk in ("2.28", "2.29")}
    assert refused["2.28"] == () and refused["2.29"]
    from_psum = "p = nl.ndarray((128, 64), nl.float32, buffer=nl.psum)\nnisa.tensor_copy(dst=p, src=x)\nnisa.dma_copy(dst=z, src=p)"
    rows = {sdk: neff_bench.estimate(kernel(from_psum), INPUTS, sdk=sdk).findings for sdk in ("2.28", "2.29")}
    assert rows["2.28"] == () and "NBLM503" in rows["2.29"][0].text
    refused = {sdk: neff_bench.estimate(kernel(LOOP), INPUTS, sdk=sdk).findings for sdk in ("2.31", "2.32")}
    assert refused["2.32"] == () and "NBLN124" in refused["2.31"][0].text and refused["2.31"][0].line == 15
    with pytest.raises(WrongCall, match=r"release '9.9' of the SDK is not known"):
        neff_bench.estimate(kernel(DIVIDE), INPUTS, sdk="9.9")


def test_every_door_has_the_same_findings(kernel, tmp_path):
    text = f"{DIVIDE}\n{LOOP}"
    entry = kernel(text)
    estimated = neff_bench.estimate(entry, INPUTS, sdk="2.31").findings
    assert len(estimated) == 2 > len(neff_bench.estimate(entry, INPUTS).findings) == 1
    store = tmp_path / "store"
    assert neff_bench.profile(entry, INPUTS, store=store, sdk="2.31").findings == estimated
    said = command("profile", store, "--sdk", "2.31", "--format", "json", cwd=tmp_path)
    assert [one["text"] for one in json.loads(said.stdout)[0]["findings"]] == [one.text for one in estimated]
    newest = json.loads(command("profile", store, "--format", "json", cwd=tmp_path).stdout)[0]["findings"]
    assert [one["text"] for one in newest] == [one.text for one in neff_bench.estimate(entry, INPUTS).findings]
    (tmp_path / "script.py").write_text(whole(text) + LAUNCH)
    said = command("run", "--sdk", "2.31", "--store", tmp_path / "of_run", "script.py", cwd=tmp_path)
    assert all(one.text.split(":")[0] in said.stdout for one in estimated) and said.returncode == 0, said.stderr
    wrong = command("profile", store, "--sdk", "9.9", cwd=tmp_path)
    assert wrong.returncode == 2 and "release '9.9' of the SDK is not known" in wrong.stderr


def test_a_refused_variant_does_not_win(kernel, tmp_path):
    entry = kernel(DIVIDE)
    (tmp_path / "slow.py").write_text(whole("\n".join(["nisa.tensor_copy(dst=z, src=x)"] * 40)))
    variants = [("fast", entry, True), ("slow", f"{tmp_path / 'slow.py'}:k", False)]
    lines = [json.dumps({"id": name, "kernel": at, "inputs": SHAPES, "check": check}) for name, at, check in variants]
    ranked = {}
    for sdk in ("2.28", "2.31"):
        said = command("tune", "--top", "2", "--sdk", sdk, cwd=tmp_path, given="\n".join(lines))
        ranked[sdk] = [json.loads(line) for line in said.stdout.splitlines()]
    assert [one["id"] for one in ranked["2.28"]] == ["fast", "slow"]
    assert [one["id"] for one in ranked["2.31"]] == ["slow", "fast"]
    slow, fast = ranked["2.31"]
    assert slow["refused"] is None and "NBLE603" in fast["refused"] and fast["total_time_us"] < slow["total_time_us"]


def test_pytest_judges_by_the_release_that_is_asked_for(kernel, tmp_path):
    kernel(DIVIDE)
    (tmp_path / "test_kernel.py").write_text(
        "import numpy as np\nfrom kernel import k\n\ndef test_findings(neff_bench):\n"
        "    k(np.ones((128, 64), np.float32), np.ones((128, 64), np.float32))\n"
        "    print([one.text for one in neff_bench.last.findings])\n    assert not neff_bench.last.findings\n"
    )
    for sdk, code in (("2.28", 0), ("2.29", 1)):
        line = [sys.executable, "-m", "pytest", "-q", "--neff-bench", "--neff-bench-sdk", sdk, "test_kernel.py"]
        said = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (said.returncode, "NBLE603" in said.stdout) == (code, bool(code)), said.stdout


def test_what_is_refused_is_never_before_what_is_not():
    """Not by speed, not by a check that passed."""
    names = ("slow", "refused_checked", "refused", "slower")
    answers = [
        variants.Answer(name, "estimated", time, check, None, refused, None)
        for name, time, check, refused in zip(
            names, (9.0, 1.0, 2.0, 10.0), ("unchecked", "passed", None, None), (None, "NBLE603", "NBLE603", None)
        )
    ]
    assert [one.id for one in variants.ranked(answers, 4)] == ["slow", "slower", "refused_checked", "refused"]
    assert [one.id for one in variants.ranked(answers, 1)] == ["slow"]
