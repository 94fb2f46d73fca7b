from __future__ import annotations

import csv
import io
import json

import pytest
from click.testing import CliRunner

from neff_bench.stage2_profile.compare.baseline import load
from neff_bench.stage2_profile.compare.cli import compare
from neff_bench.stage2_profile.metrics.rows import Row, to_dict


def within(low, high, total=100.0, **changes):
    """A simulated row whose total on the device is between `low` and `high` times its own."""
    return {"total": total, "total_time_low_us": low * total, "total_time_high_us": high * total, **changes}


def row(implementation="nki", total=100.0, size=128, **changes) -> dict:
    fields = {
        "case": f"matmul_{implementation}_M{size}_K64_lnc{changes.get('lnc', 2)}",
        "kernel": "matmul",
        "implementation": implementation,
        "dims": (("M", size), ("K", 64)),
        "dtype": "bfloat16",
        "target": "trn2",
        "lnc": 2,
        "source": "simulated",
        "status": "profiled",
        "check": "passed",
        "total_time_us": total,
        "mfu_percent": 10.0,
        "hbm_read_bytes": 1000,
        "dma_packet_count": 50,
        "model": "trn2-1",
        "total_time_low_us": 0.8 * total,
        "total_time_high_us": 1.25 * total,
    }
    return to_dict(Row(**{**fields, **changes}))


@pytest.fixture
def file(tmp_path):
    def write(name, *rows):
        path = tmp_path / name
        path.write_text(json.dumps(rows))
        return path

    return write


def run(*words):
    return CliRunner().invoke(compare, [str(word) for word in words])


def found(result) -> dict[tuple[str, str], dict]:
    return {(entry["case"], entry["metric"]): entry for entry in json.loads(result.stdout)}


def test_two_files_give_ratios_and_winners(file):
    a = file("a.json", row(), row(size=256, total=10.0))
    b = file("b.json", row(total=80.0, mfu_percent=12.5), row(size=256, total=11.0))
    result = run(a, b, "--format", "json")
    assert result.exit_code == 1, result.output  # one of the two got worse
    entries = found(result)
    first = entries["matmul nki M128 K64 bfloat16 trn2/2", "total_time_us"]
    assert (first["ratio"], first["verdict"], first["winner"]) == (0.8, "better", "b")
    assert entries["matmul nki M128 K64 bfloat16 trn2/2", "mfu_percent"]["verdict"] == "better"
    assert entries["matmul nki M256 K64 bfloat16 trn2/2", "total_time_us"]["winner"] == "a"
    assert entries["matmul nki M256 K64 bfloat16 trn2/2", "hbm_read_bytes"]["verdict"] == "same"


def test_people_see_totals_and_changed_counters(file):
    a, b = file("a.json", row()), file("b.json", row(dma_packet_count=51, total=200.0))
    text = run(a, b).stdout
    assert "total_time_us" in text
    assert "dma_packet_count" in text
    assert "hbm_read_bytes" not in text
    assert "SIMULATED" in text


def test_what_is_the_same_is_a_count_until_it_is_asked_for(file):
    a, b = file("a.json", row()), file("b.json", row(total=200.0))
    text = run(a, b).stdout
    assert "hbm_read_bytes" not in text
    assert "3 of 4 values are the same; --all lists them." in text
    assert "hbm_read_bytes 1000 1000 1.0000 same" in " ".join(run(a, b, "--all").stdout.split())
    assert "mfu_percent" not in run(a, b, "--all", "--metric", "hbm_*").stdout
    assert "1 of 1 values are the same" in run(a, b, "--metric", "hbm_*").stdout


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        ({}, {"total": 99.94}, "same"),
        ({}, {"total": 99.8}, "better"),
        ({}, {"total": 94.0}, "better"),
        ({}, {"total": 106.0}, "worse"),
        ({}, {"total": 75.0, "model": "trn2-2"}, "cannot tell"),
        ({}, {"total": 60.0, "model": "trn2-2"}, "better"),
        ({}, {"total": 160.0, "model": "trn2-2"}, "worse"),
        (within(0.64, 1.17), within(0.64, 1.17, 60.0, model="trn2-2"), "cannot tell"),
        (within(0.64, 1.17), within(0.64, 1.17, 54.0, model="trn2-2"), "better"),
        ({"total_time_low_us": None}, {"total": 50.0, "model": "trn2-2"}, "cannot tell"),
        ({"total_time_low_us": None}, {"total": 50.0, "total_time_low_us": None}, "better"),
        ({"source": "measured"}, {"source": "measured", "total": 50.0}, "cannot tell"),
        (
            {"source": "measured", "total_time_iqr_us": 1.0},
            {"source": "measured", "total": 99.94, "total_time_iqr_us": 0.1},
            "same",
        ),
        (
            {"source": "measured", "total_time_iqr_us": 1.0},
            {"source": "measured", "total": 98.0, "total_time_iqr_us": 3.0},
            "cannot tell",
        ),
    ],
)
def test_a_time_is_better_only_beyond_noise_and_error(file, a, b, verdict):
    result = run(file("a.json", row(**a)), file("b.json", row(**b)), "--format", "json")
    assert found(result)["matmul nki M128 K64 bfloat16 trn2/2", "total_time_us"]["verdict"] == verdict


def test_a_rate_is_as_uncertain_as_its_time(file):
    slow, fast = row(mfu_percent=10.0), row("xla", 90.0, mfu_percent=100 / 9)
    entries = found(run(file("rows.json", slow, fast), "--between", "nki", "xla", "--format", "json"))
    time, rate = (entries["matmul M128 K64 bfloat16 trn2/2", name] for name in ("total_time_us", "mfu_percent"))
    assert time["verdict"] == rate["verdict"] == "cannot tell"
    assert 1 / time["ratio_low"] == pytest.approx(rate["ratio_high"])


def test_counters_are_exact_however_wrong_times_may_be(file):
    rows = file("rows.json", row(), row("xla", hbm_read_bytes=999))
    entries = found(run(rows, "--between", "nki", "xla", "--format", "json"))
    assert entries["matmul M128 K64 bfloat16 trn2/2", "hbm_read_bytes"]["verdict"] == "better"


def test_two_single_profiles_are_compared_whatever_their_names(tmp_path):
    def profile(name, time_s):
        path = tmp_path / name
        path.write_text(json.dumps({"summary": [{"total_time": time_s, "hbm_read_bytes": 7}]}))
        return path

    result = run(profile("before.json", 1e-4), profile("after.json", 5e-5), "--format", "json")
    assert result.exit_code == 0, result.output
    assert found(result)["before.json / after.json", "total_time_us"]["ratio"] == 0.5


def test_the_geometric_mean_is_over_all_cases(file):
    a = file("a.json", row(total=100.0), row(size=256, total=100.0))
    b = file("b.json", row(total=50.0), row(size=256, total=200.0))
    assert (
        "B takes 1.0000 times the total time of A (2 cases, geometric mean; by total time alone: 1 worse, 1 better)"
        in run(a, b).stdout
    )


def test_a_difference_within_the_iqr_is_noise(file):
    a = file("a.json", row(source="measured", executions=10, total_time_iqr_us=3.0))
    b = file("b.json", row(source="measured", total=102.0, executions=10, total_time_iqr_us=1.0))
    entry = found(run(a, b, "--format", "json"))["matmul nki M128 K64 bfloat16 trn2/2", "total_time_us"]
    assert (entry["verdict"], entry["winner"]) == ("cannot tell", None)
    assert "cannot tell (B/A from 1.00 to 1.04)" in run(a, b).stdout


def test_two_implementations_inside_one_store(file):
    rows = file("rows.json", row(), row("xla", 50.0), row("nkilib", 60.0), row("xla", 9.0, size=512))
    result = run(rows, "--between", "nki", "xla")
    assert result.exit_code == 0
    assert "matmul M128 K64 bfloat16 trn2/2 total_time_us 100.000 50.000 0.5000 better" in " ".join(
        result.stdout.split()
    )
    assert "Only in B: matmul_xla_M512_K64_lnc2" in result.stdout
    assert "there are: nki, nkilib, xla" in run(rows, "--between", "nki", "cuda").stderr


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"lnc": 1}, "lnc 2 against 1"),
        ({"target": "trn1", "case": "other"}, "target trn2 against trn1"),
        ({"source": "measured"}, "source simulated against measured"),
    ],
)
def test_lnc_target_and_source_are_not_mixed_silently(file, changes, says):
    a, b = file("a.json", row()), file("b.json", row(**changes))
    refused = run(a, b)
    assert refused.exit_code == 2
    assert says in refused.stderr
    assert refused.stdout == ""
    mixed = run(a, b, "--mixed")
    assert mixed.exit_code == 0
    assert f"Mixed: matmul nki M128 K64 bfloat16 trn2/2: {says}" in " ".join(mixed.stdout.split())


def test_what_is_mixed_beside_good_pairs_is_named_and_left_out(file):
    a = file("a.json", row(), row(size=256))
    b = file("b.json", row(), row(size=256, lnc=1))
    result = run(a, b, "--format", "json")
    assert {case for case, _ in found(result)} == {"matmul nki M128 K64 bfloat16 trn2/2"}
    assert "Not compared, because of" in run(a, b).stdout


@pytest.mark.parametrize(
    ("changes", "rule", "code"),
    [
        ({"total": 104.9}, "total_time_us:5%", 0),
        ({"total": 105.1}, "total_time_us:5%", 1),
        ({"total": 50.0}, "total_time_us:0%", 0),
        ({"mfu_percent": 9.0}, "mfu_percent:5", 1),
        ({"mfu_percent": 11.0}, "mfu_percent:5", 0),
        ({"dma_packet_count": 49}, "dma_packet_count:0%", 0),
        ({"dma_packet_count": 49}, "dma_packet_count:=0%", 1),
        ({"dma_packet_count": 51}, "dma_packet_count:=0%", 1),
        ({"dma_packet_count": 50}, "dma_packet_count:=0%", 0),
        ({"total": 94.9}, "total_time_us:=5%", 1),
        ({"dma_packet_count": 51}, "dma_packet_count:0%", 1),
        ({"dma_packet_count": 51}, "dma_packet_count:2%", 0),
        ({"dma_packet_count": None}, "dma_packet_count:2%", 1),
        ({"check": "wrong"}, "total_time_us:5%", 1),
        ({"status": "failed", "total_time_us": None, "reason": "core busy"}, "total_time_us:5%", 1),
    ],
)
def test_gates(file, changes, rule, code):
    result = run(file("a.json", row()), file("b.json", row(**changes)), "--fail-if", rule)
    assert result.exit_code == code, result.output
    assert ("FAILED:" in result.stdout) == bool(code)


def test_a_lost_case_breaks_a_gate(file):
    result = run(file("a.json", row(), row(size=256)), file("b.json", row()), "--fail-if", "total_time_us:5%")
    assert result.exit_code == 1
    assert "matmul_nki_M256_K64_lnc2: not there any more" in result.stdout


def test_several_gates(file):
    a, b = file("a.json", row()), file("b.json", row(hbm_read_bytes=1001))
    words = ["--fail-if", "total_time_us:5%", "--fail-if", "hbm_read_bytes:0%"]
    result = run(a, b, *words, "--format", "md")
    assert result.exit_code == 1
    assert (
        "- FAILED: matmul nki M128 K64 bfloat16 trn2/2: hbm_read_bytes 1000 -> 1001 (+0.10 %, allowed 0 %)"
        in result.stdout
    )


def test_a_baseline_carries_its_environment(file, tmp_path):
    rows = file("rows.json", row(tool="neuron-sim 0.1.0+sim"))
    saved = tmp_path / "baseline.json"
    assert run(rows, "--save", saved).exit_code == 0
    environment = json.loads(saved.read_text())["environment"]
    assert environment["tools"] == ["neuron-sim 0.1.0+sim"]
    assert environment["models"] == ["trn2-1"]
    result = run(file("new.json", row(total=120.0)), "--baseline", saved, "--fail-if", "total_time_us:5%")
    assert result.exit_code == 1
    assert f"Baseline of {environment['created']}: neuron-sim 0.1.0+sim, model trn2-1" in " ".join(
        result.stdout.split()
    )
    assert "1.2000 worse" in result.stdout


def test_times_of_different_models_are_said_to_be(file):
    text = run(file("a.json", row(model="trn2-1")), file("b.json", row(model="trn2-2"))).stdout
    assert "different models (trn2-1, trn2-2)" in text


def test_a_file_that_is_no_baseline_is_not_overwritten(file, tmp_path):
    other = tmp_path / "notes.txt"
    other.write_text("precious")
    result = run(file("rows.json", row()), "--save", other)
    assert result.exit_code == 2
    assert other.read_text() == "precious"


def test_csv(file):
    text = run(file("a.json", row()), file("b.json", row(total=50.0)), "--format", "csv").stdout
    entries = list(csv.DictReader(io.StringIO(text)))
    assert entries[0]["metric"] == "total_time_us"
    assert entries[0]["ratio"] == "0.5"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "not JSON"),
        ("[]", "expected a list of rows"),
        ("{}", "expected a list of rows"),
        ("[1]", "row 1 has no case"),
        ('[{"kernel": "x"}]', "row 1 has no case"),
        ('{"schema": 99, "rows": []}', "newer"),
        ('{"schema": "x", "rows": []}', "not a baseline: Expected `int`, got `str` - at `$.schema`"),
        (
            '[{"case": "x", "total_time_us": "1"}]',
            "row 1, x: Expected `float | null`, got `str` - at `$.total_time_us`",
        ),
        ('[{"case": "x", "dims": {"M": "1"}}]', "row 1, x: Expected `int`, got `str` - at `$.dims[...]`"),
    ],
)
def test_bad_files_are_wrong_calls(file, tmp_path, content, says):
    bad = tmp_path / "bad.json"
    bad.write_text(content)
    result = run(file("a.json", row()), bad)
    assert result.exit_code == 2
    assert says in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "nothing to compare with"),
        (["B", "--between", "nki", "xla"], "exclude each other"),
        (["--baseline", "missing.json"], "no such file"),
        (["--fail-if", "total_time_us"], "expected METRIC:PERCENT%"),
        (["--fail-if", "speed:5%"], "unknown metric 'speed'"),
    ],
)
def test_wrong_calls(file, words, says):
    result = run(file("a.json", row()), *words)
    assert result.exit_code == 2
    assert says in result.stderr


def test_a_baseline_of_other_shapes_is_a_wrong_call(file):
    result = run(file("a.json", row(size=128)), file("b.json", row(size=256)))
    assert result.exit_code == 2
    assert "no case in common" in result.stderr


def test_a_store_is_read_without_running_anything(make_bundle, store):
    make_bundle()
    result = run(store, store)
    assert result.exit_code == 2 and f"is not profiled yet; run: profile-neffs {store}" in result.stderr
    assert not list(store.glob("*/profiles/*"))


def test_help_has_an_example():
    assert "neff-bench compare neffs --between nki xla" in run("--help").stdout


def test_the_public_call_gives_the_same_differences(file):
    import neff_bench

    a, b = file("a.json", row()), file("b.json", row(total=50.0))
    (total,) = [found for found in neff_bench.compare(a, b) if found.metric == "total_time_us"]
    assert (total.ratio, total.verdict, total.ratio_interval) == (0.5, "better", (0.5, 0.5))
    assert neff_bench.compare(a, file("c.json", row(lnc=1, case="other"))) == []
    assert len(neff_bench.compare(a, file("c.json", row(lnc=1, case="other")), mixed=True)) > 1


def test_the_order_of_keys_means_nothing(file, tmp_path):
    rows = [row(size=size) for size in (128, 256)] + [row("xla", 50.0, size=size) for size in (256, 128)]
    plain = file("rows.json", *rows)
    (tmp_path / "sorted.json").write_text(json.dumps(rows, sort_keys=True))
    words = ["--between", "nki", "xla", "--all"]
    first, second = (run(path, *words).stdout for path in (plain, tmp_path / "sorted.json"))
    assert first.replace("rows.json", "sorted.json") == second
    assert "matmul M256 K64 bfloat16 trn2/2" in first


@pytest.mark.parametrize("sort_keys", [False, True])
def test_rows_that_an_earlier_version_wrote_are_read(tmp_path, sort_keys):
    old = []
    for size, check in ((128, "passed"), (256, "zero")):
        record = row(size=size, check="passed")
        named = {"case": record["case"], "kernel": "matmul", "implementation": "nki", "K": 64, "M": size, "dim_lnc": 7}
        rest = {name: value for name, value in record.items() if name not in ("dims", "findings", *named)}
        old.append({**named, **rest, "check": check})
    (tmp_path / "old.json").write_text(json.dumps(old, sort_keys=sort_keys))
    first, second = load(tmp_path / "old.json").records
    assert first["dims"] == {"K": 64, "M": 128, "lnc": 7} and first["lnc"] == 2
    assert second["check"] == "wrong"


def own(name, total, size, **changes):
    """A row of a kernel of the user's own: its dimensions have no names."""
    shapes = f"{size}x64"
    return row(total=total, case=name, kernel="my_kernels.f", dims=(), shapes=shapes, **changes)


def test_kernels_without_named_dimensions_are_paired_by_their_shapes(file):
    a = file("a.json", own("f_nki_old_128", 100.0, 128), own("f_nki_old_256", 200.0, 256))
    b = file("b.json", own("f_nki_256", 200.0, 256), own("f_nki_128", 100.0, 128))
    result = run(a, b, "--format", "json")
    assert result.exit_code == 0, result.output
    assert {ratio["ratio"] for ratio in found(result).values() if ratio["metric"] == "total_time_us"} == {1.0}
    assert ("my_kernels.f nki 128x64 bfloat16 trn2/2", "total_time_us") in found(result)


def test_implementations_are_paired_seed_by_seed(file):
    rows = [
        row(implementation, total, case=f"matmul_{implementation}_M128_K64_lnc2_{seed}")
        for implementation, cases in (("nki", {"seed1": 10.0, "seed2": 20.0}), ("xla", {"seed2": 20.0, "seed1": 10.0}))
        for seed, total in cases.items()
    ]
    entries = found(run(file("a.json", *rows), "--between", "nki", "xla", "--format", "json"))
    assert entries["matmul M128 K64 bfloat16 trn2/2 seed1", "total_time_us"]["ratio"] == 1.0
    assert entries["matmul M128 K64 bfloat16 trn2/2 seed2", "total_time_us"]["ratio"] == 1.0


def test_a_reason_that_both_sides_have_is_told_once(file):
    same = row(check="wrong", reason="output0 differs")
    text = run(file("a.json", same), file("b.json", same)).stdout
    assert text.count("output0 differs") == 1
    assert "A and B: matmul_nki" in text
