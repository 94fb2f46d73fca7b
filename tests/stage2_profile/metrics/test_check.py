from __future__ import annotations

import tracemalloc
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from neff_bench.neffs.checksums import FileSum, sum_file
from neff_bench.neffs.dtypes import stored
from neff_bench.neffs.findings import Finding
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.capture.runs import Run
from neff_bench.stage2_profile.errors import RunDamaged
from neff_bench.stage2_profile.metrics import check
from neff_bench.stage2_profile.metrics.check import Verdict, check_outputs, compare_files, kept_verdict
from neff_bench.stage2_profile.metrics.check import checked as checked_record

RUN = Run(
    status="viewed",
    neff_sha256="abc",
    tool="neuron-profile",
    tool_version="2.29",
    kind="neuron",
    num_exec=2,
    profile_nth_exec=2,
    lnc=1,
    created="2026-01-01T00:00:00+00:00",
)


def saved(directory, out):
    """A run that saved these values as its output."""
    (directory / "out").write_bytes(np.asarray(out, np.float32).tobytes())
    return msgspec.structs.replace(RUN, outputs={"out": "out"}, files={"out": sum_file(directory / "out")})


@pytest.fixture
def checked(make_bundle, tmp_path):
    def go(ref, out):
        bundle = make_bundle(ref=ref)
        return check_outputs(bundle, tmp_path, saved(tmp_path, out))

    return go


def test_within_tolerance_passes_with_the_largest_error(checked):
    verdict = checked([1.0] * 8, [1.0] * 7 + [1.0015])
    assert verdict.check == "passed"
    assert verdict.max_abs_error == pytest.approx(0.0015, rel=1e-3)


def test_tolerance_is_absolute_plus_relative(checked):
    assert checked([10.0] * 8, [10.0109] * 8).check == "passed"
    assert checked([10.0] * 8, [10.0112] * 8).check == "wrong"


def test_one_wrong_element_fails(checked):
    verdict = checked([1.0] * 8, [1.0] * 7 + [2.0])
    assert (verdict.check, verdict.max_abs_error) == ("wrong", 1.0)
    assert "1 of 8 values" in verdict.reason
    assert verdict.reason.endswith(
        "the tolerance (0.001 + 0.001 * |reference|); the first, [7], is 2 instead of 1; the largest difference is 1"
    )


def test_zeros_are_called_zero_unless_the_reference_is_zero(checked):
    assert checked([1.0] * 8, [0.0] * 8).check == "wrong"
    assert checked([0.0] * 8, [0.0] * 8).check == "passed"


def test_nan_fails_without_an_error_number(checked):
    verdict = checked([1.0] * 8, [1.0] * 7 + [float("nan")])
    assert (verdict.check, verdict.max_abs_error) == ("wrong", None)


def test_the_same_infinities_pass(checked):
    assert checked([np.inf, -np.inf, np.nan, *[1.0] * 5], [np.inf, -np.inf, np.nan, *[1.0] * 5]).check == "passed"
    assert checked([np.inf] * 8, [-np.inf] * 8).check == "wrong"


def test_another_size_fails(checked):
    assert "4 bytes instead of 32" in checked([1.0] * 8, [1.0]).reason


def test_an_output_that_was_not_saved_fails(make_bundle, tmp_path):
    verdict = check_outputs(make_bundle(), tmp_path, RUN)
    assert (verdict.check, verdict.reason) == ("wrong", "the capture saved no output 'out'")


def test_blocks_make_no_difference(checked, monkeypatch):
    values = [0.0, 1.0, 2.0, np.nan, np.inf, 5.0, 6.0, 7.0]
    out = [0.0, 1.0, 2.5, np.nan, np.inf, 5.0, 6.0, 9.0]
    whole = checked(values, out)
    monkeypatch.setattr(check, "BLOCK_ELEMENTS", 3)
    assert checked(values, out) == whole
    assert (whole.check, whole.max_abs_error) == ("wrong", 2.0)
    assert "2 of 8 values" in whole.reason


@pytest.mark.parametrize("dtype", ["float8_e4m3fn_x4", "float4_e2m1fn_x4", "float8_e8m0fnu"])
def test_packed_outputs_are_compared_by_value(tmp_path, dtype):
    def compared(out, ref):
        for name, values in (("out", out), ("ref", ref)):
            (tmp_path / name).write_bytes(stored(np.array([values], np.float32), dtype).tobytes())
        return compare_files(tmp_path / "out", tmp_path / "ref", dtype, (0.3, 0.0), 4).verdict("y", (4,))

    values = [1.0, 2.0, 4.0, 4.0]
    assert compared(values, values) == Verdict("passed", 0.0)
    assert compared([1.0, 2.0, 2.0, 4.0], values).max_abs_error == 2.0
    assert "1 of 4 values differ" in compared([1.0, 2.0, 2.0, 4.0], values).reason


def test_memory_stays_below_the_largest_tensor(tmp_path):
    for name in ("out", "ref"):
        (tmp_path / name).write_bytes(np.ones(16 << 20, np.float16).tobytes())
    np.float64(1)
    tracemalloc.start()
    compare_files(tmp_path / "out", tmp_path / "ref", "float16", (1e-3, 1e-3), 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 << 20


def test_a_kept_verdict_counts_for_these_outputs_and_references_only(make_bundle, make_case, tmp_path):
    bundle, run = make_bundle(ref=[1.0] * 8), saved(tmp_path, [1.0] * 8)
    run = msgspec.structs.replace(run, checked=checked_record(bundle, tmp_path, run))
    (tmp_path / "out").unlink()
    assert kept_verdict(bundle, run).check == "passed"
    other = make_bundle(make_case(dims=(("M", 9),)), ref=[2.0] * 8)
    assert kept_verdict(other, run) is None
    assert kept_verdict(bundle, msgspec.structs.replace(run, files={"out": FileSum(32, "0" * 64)})) is None


def test_an_output_that_was_changed_is_not_judged(make_bundle, tmp_path):
    bundle, run = make_bundle(ref=[1.0] * 8), saved(tmp_path, [1.0] * 8)
    (tmp_path / "out").write_bytes(np.full(8, 3.0, np.float32).tobytes())
    with pytest.raises(RunDamaged, match="out was changed"):
        check_outputs(bundle, tmp_path, run)


@pytest.mark.parametrize("word", ["failed", "zero"])
def test_a_verdict_that_an_earlier_version_kept_as_failed_or_zero_is_wrong(make_bundle, tmp_path, word):
    bundle, run = make_bundle(ref=[1.0] * 8), saved(tmp_path, [2.0] * 8)
    kept = runs.Checked(compared=check.compared(bundle, run), check=word, reason="told")
    assert kept_verdict(bundle, msgspec.structs.replace(run, checked=kept)) == Verdict("wrong", None, "told")


def test_a_wrong_output_names_its_first_wrong_index_with_both_values_and_its_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "BLOCK_ELEMENTS", 5)  # rows of 4 lie in two blocks
    ref = np.arange(32, dtype=np.float32).reshape(8, 4)
    out = ref.copy()
    out[3, 1:] += 1
    out[6, 3] = np.nan
    for name, values in (("out", out), ("ref", ref)):
        (tmp_path / name).write_bytes(values.tobytes())
    found = compare_files(tmp_path / "out", tmp_path / "ref", "float32", (0.0, 0.1), 4).verdict("y", (2, 4, 4))
    assert found.reason.startswith("output y: 4 of 32 values in 2 of 8 rows differ")
    assert "the first, [0, 3, 1], is 14 instead of 13; 1 values are not finite" in found.reason


UNWRITTEN = Finding(kind="unwritten-output", text="2 of 4 rows of y were never written", file="k.py", line=3)
DOUBLED = Finding(kind="doubled-work", text="both cores do all of the work", file="k.py", line=5)


@pytest.mark.parametrize(
    ("verdict", "findings", "expected"),
    [
        (Verdict("unchecked", None, "no reference"), [UNWRITTEN], ("suspect", str(UNWRITTEN))),
        (Verdict("passed", 0.0), [UNWRITTEN], ("suspect", str(UNWRITTEN))),
        (Verdict("wrong", 1.0, "8 values differ"), [UNWRITTEN], ("wrong", f"{UNWRITTEN}; 8 values differ")),
        (Verdict("passed", 0.0), [DOUBLED], ("passed", None)),
        (Verdict("unchecked", None, "no reference"), [], ("unchecked", "no reference")),
    ],
)
def test_a_finding_says_why_an_output_is_wrong_or_cannot_be_trusted(verdict, findings, expected):
    found = check.with_findings(verdict, findings)
    assert (found.check, found.reason) == expected


def test_zeros_within_the_tolerance_of_a_small_reference_are_zero_all_the_same(checked):
    assert checked([1e-6] * 8, [0.0] * 8).reason == "output out is all zero"


@pytest.mark.parametrize(
    ("verdicts", "worst"),
    [
        ([Verdict("passed", 1.0), Verdict("passed", 3.0)], ("passed", 3.0, None)), ([Verdict("passed", 1.0), Verdict("wrong", 0.5, "a")], ("wrong", 1.0, "a")),
        ([Verdict("wrong", None, "nan"), Verdict("passed", 1.0)], ("wrong", None, "nan")), ([Verdict("unchecked", None, "u"), Verdict("passed", 1.0)], ("unchecked", 1.0, "u")),
        ([Verdict("passed", 1.0), Verdict("unchecked", None, "u"), Verdict("wrong", 2.0, "w")], ("wrong", 2.0, "w")), ([Verdict("wrong", 1.0, "first"), Verdict("wrong", None, "second")], ("wrong", None, "first")),
        ([Verdict("unchecked", None, "u")], ("unchecked", None, "u")),
    ],
)  # fmt: skip
def test_the_worst_verdict_counts_with_the_largest_error_that_is_known(verdicts, worst):
    found = check._worst(verdicts)
    assert (found.check, found.max_abs_error, found.reason) == worst


def test_without_a_reference_nothing_is_checked(make_bundle, tmp_path):
    bundle, run = make_bundle(), saved(tmp_path, range(8))
    for changes in ({"tolerance": None}, {"outputs": ()}):
        other = replace(bundle, manifest=replace(bundle.manifest, **changes))
        assert check_outputs(other, tmp_path, run) == Verdict("unchecked", None, "the bundle has no reference")
    tensor = replace(bundle.manifest.outputs[0], file=None)
    other = replace(bundle, manifest=replace(bundle.manifest, outputs=(tensor,)))
    assert check_outputs(other, tmp_path, run) == Verdict("unchecked", None, "output 'out' has no reference")


def test_a_reference_that_was_changed_or_cannot_be_read_checks_nothing(make_bundle, tmp_path):
    bundle, run = make_bundle(), saved(tmp_path, range(8))
    (bundle.path / "ref-out-000.bin").write_bytes(np.ones(8, np.float32).tobytes())
    assert (
        check_outputs(bundle, tmp_path, run).reason
        == "ref-out-000.bin was changed after it was written; build the case again"
    )
    unsealed = replace(
        bundle, manifest=replace(bundle.manifest, outputs=(replace(bundle.manifest.outputs[0], sha256=None),))
    )
    assert check_outputs(unsealed, tmp_path, run).check == "wrong"
    (bundle.path / "ref-out-000.bin").unlink()
    assert check_outputs(bundle, tmp_path, run) == Verdict(
        "unchecked", None, "ref-out-000.bin: No such file or directory"
    )


def test_a_comparison_is_done_by_whom_it_is_given_to(make_bundle, tmp_path):
    asked = []

    def compare(*words):
        asked.append(words)
        return compare_files(*words)

    bundle = make_bundle()
    assert check_outputs(bundle, tmp_path, saved(tmp_path, range(8)), compare).check == "passed"
    assert asked == [(tmp_path / "out", bundle.path / "ref-out-000.bin", "float32", (1e-3, 1e-3), 8)]


def test_a_file_that_was_cut_while_it_was_read_is_wrong(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "BLOCK_ELEMENTS", 2)
    (tmp_path / "out").write_bytes(np.ones(3, np.float32).tobytes())
    (tmp_path / "ref").write_bytes(np.ones(4, np.float32).tobytes())
    found = compare_files(tmp_path / "out", tmp_path / "ref", "float32", (0.0, 0.0), 4)
    assert found.verdict("y", (4,)) == Verdict("wrong", None, "output y was cut")


@pytest.mark.parametrize(
    ("out", "ref", "wrong", "largest"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0, 0.0), ([1.0, 2.5], [1.0, 2.0], 0, 0.5), ([1.0, 2.75], [1.0, 2.0], 1, 0.75), ([-1.0, -9.0], [-1.0, -8.0], 0, 1.0), ([-1.0, -10.0], [-1.0, -8.0], 1, 2.0),
        ([np.inf, 1.0], [np.inf, 1.0], 0, 0.0), ([np.inf, 1.0], [-np.inf, 1.0], 1, 0.0), ([np.nan, 1.0], [np.nan, 4.0], 1, 3.0), ([np.nan, 1.0], [0.0, 1.0], 1, 0.0), ([0.0, 1.0], [np.inf, 1.0], 1, 0.0),
    ],
)  # fmt: skip
def test_values_differ_beyond_the_tolerance_or_where_one_is_not_finite(out, ref, wrong, largest):
    found = check.Comparison((0.125, 0.25), 2)
    found.add(np.array(out), np.array(ref))
    assert (found.wrong, found.largest, found.wrong_rows) == (wrong, largest, min(wrong, 1))
    assert found.not_finite == sum(not np.isfinite(value) for value in out)


def test_rows_with_wrong_values_are_counted_once_across_blocks():
    found = check.Comparison((0.0, 0.0), 4)
    found.add(np.array([0.0, 0, 1, 0, 0, 0]), np.zeros(6))
    found.add(np.array([1.0, 0, 0, 0, 1, 0]), np.zeros(6))
    assert (found.wrong_rows, found.wrong, found.first, found.size, found.last_row) == (3, 3, (2, 1.0, 0.0), 12, 2)


def test_an_index_counts_the_last_dimension_first():
    assert [check._index(23, (2, 3, 4)), check._index(5, (6,)), check._index(4, (2, 4))] == [
        "[1, 2, 3]",
        "[5]",
        "[1, 0]",
    ]


@pytest.mark.parametrize(
    ("check_word", "kind", "suspect"),
    [
        ("passed", "not-finite", False),
        ("passed", "race", True),
        ("unchecked", "not-finite", True),
        ("unchecked", "unwritten-read", True),
        ("wrong", "race", False),
        ("passed", "unwritten-read", False),
    ],
)
def test_what_may_agree_by_luck_is_less_than_what_may_be_wrong(check_word, kind, suspect):
    found = check.with_findings(Verdict(check_word), [DOUBLED, Finding(kind=kind, text="t")])
    assert (found.check == "suspect") == suspect


def test_doubts_stand_behind_the_reason_of_a_wrong_output():
    assert check.suspected(Verdict("wrong", 1.0, "w"), ["d"]) == Verdict("wrong", 1.0, "w; d")
    assert check.suspected(Verdict("unchecked", None, "u"), ["d", "e"], "f") == Verdict("suspect", None, "f; d; e")
