"""The command: exit codes, the baseline, what it says."""

import json

import pytest
from click.testing import CliRunner

from neff_bench.errors import WrongCall
from neff_bench.stage2_profile.compare.baseline import load
from neff_bench.stage2_profile.compare.comparison import pair_cases
from neff_bench.stage2_profile.compare.verdict import Config, Judged, first_failure, judge, summary
from neff_bench.stage2_profile.gate.cli import gate
from neff_bench.stage2_profile.gate.command import _changes, _simulated
from neff_bench.stage2_profile.gate.config import read_config
from tests.stage2_profile.compare.test_verdict import row


@pytest.fixture
def file(tmp_path):
    def write(name, *rows, lines=None):
        path = tmp_path / name
        path.write_text(json.dumps({"schema": 1, "rows": rows, "lines": lines or {}}))
        return path

    return write


def run(*words):
    return CliRunner().invoke(gate, [str(word) for word in words])


def test_a_worse_case_fails_and_names_what_got_worse_and_where(file):
    line = ["nkilib_src/k.py", 7, [["DMA packets", 50, 100]]]
    more = ["nkilib_src/k.py", 9, [["DMA packets", 60, 120]]]
    before = file("a.json", row(), lines={"mlp_1": [line]})
    result = run(before, file("b.json", row(dma_packet_count=60), lines={"mlp_1": [more]}), "--format", "json")
    assert result.exit_code == 1
    (worse,) = [each for each in json.loads(result.stdout) if each["verdict"] == "worse"]
    assert (worse["label"], worse["metric"]) == ("mlp nkilib b1 bfloat16 trn2/2", "dma_packet_count")
    assert (worse["before"], worse["after"]) == (50, 60)
    assert (worse["lines"][0]["file"], worse["lines"][0]["before"], worse["lines"][0]["after"]) == (
        "nkilib_src/k.py",
        7,
        9,
    )


def test_an_improvement_passes_is_told_and_becomes_the_baseline(file):
    baseline, better = file("base.json", row(), row("mlp_2")), row(dma_packet_count=40)
    result = run(baseline, file("b.json", better, row("mlp_2", dma_packet_count=70)), "--update")
    assert result.exit_code == 1
    assert "1 got better" in result.output
    kept = {each["case"]: each["dma_packet_count"] for each in json.loads(baseline.read_text())["rows"]}
    assert kept == {"mlp_1": 40, "mlp_2": 50}


def test_lines_of_other_types_are_a_wrong_call(file):
    before = file("a.json", row(), lines={"mlp_1": ["k.py:7"]})
    result = run(before, file("b.json", row(dma_packet_count=60)))
    assert result.exit_code == 2
    assert result.stderr == f"error: {before}: lines: Expected `array`, got `str` - at `$[0]`\n"


def test_update_makes_the_first_baseline(file, tmp_path):
    new = tmp_path / "new.json"
    done = run(new, file("b.json", row()), "--update")
    assert done.exit_code == 0
    assert "NEW, with nothing to compare with: 1 case: mlp_1." in done.stdout and "NOTHING TO JUDGE" not in done.stdout
    assert [each["case"] for each in json.loads(new.read_text())["rows"]] == ["mlp_1"]


def test_a_kernel_that_nothing_covers_is_told_first(file, tmp_path):
    said = tmp_path / "changed.txt"
    said.write_text("only=none\nnot covered: attention_bwd\n")
    result = run(file("a.json", row()), file("b.json", row()), "--changed", said)
    assert result.exit_code == 0
    assert "NOT COVERED: attention_bwd" in result.stdout


def test_a_wrong_configuration_is_a_wrong_call(file, tmp_path):
    config = tmp_path / "gate.yaml"
    for text, what in (
        ("counters: [mfu_percent]", "mfu_percent"),
        ("tims: []", "expected a mapping"),
        ("[", "not YAML"),
        ("- times", "expected a mapping"),
        ("times: [dma_packet_count]", "times: found 'dma_packet_count'"),
        ("counters: [total_time_us]", "counters: found 'total_time_us'"),
        ("counters: [model_flops]", "counters: found 'model_flops'"),
        ("time_percent: -1", "Expected `float` >= 0.0 - at `$.time_percent`"),
        ("time_percent: 100", "Expected `float` < 100.0 - at `$.time_percent`"),
        ("time_percent: true", "Expected `float`, got `bool` - at `$.time_percent`"),
        ("counters: [1]", "Expected `str`, got `int` - at `$.counters[0]`"),
        ("[" * 3000, "nested too deep"),
    ):
        config.write_text(text)
        result = run(file("a.json", row()), file("b.json", row()), "--config", config)
        assert result.exit_code == 2
        assert what in result.stderr


@pytest.mark.parametrize("percent", [0, 99.9])
def test_the_ends_of_the_percentage_are_taken(tmp_path, percent):
    config = tmp_path / "gate.yaml"
    config.write_text(f"time_percent: {percent}")
    assert read_config(config).time_percent == percent


def test_the_configuration_chooses_the_metrics(file, tmp_path):
    config = tmp_path / "gate.yaml"
    config.write_text("counters: [hbm_read_bytes]\n")
    result = run(file("a.json", row()), file("b.json", row(dma_packet_count=60)), "--config", config)
    assert result.exit_code == 0


def test_a_gate_that_could_compare_nothing_does_not_say_that_it_passed():
    gone = judge(pair_cases([row()], [], False), Config())
    assert (
        summary(gone)
        == "CANNOT TELL: by total time, counters and checks, none is known to have got worse or better, of 1 case."
    )
    assert (
        summary(judge(pair_cases([row()], [row()], False), Config()))
        == "SAME: by total time, counters and checks, nothing changed in 1 case."
    )
    assert summary([]) == "NOTHING TO JUDGE: no case is on both sides."


def test_a_gate_that_could_judge_nothing_does_not_pass():
    unprofiled = Judged("c", "c", "status", "unprofiled", "unprofiled", "cannot tell", "no profile yet")
    same = Judged("d", "d", "total_time_us", 1.0, 1.0, "same")
    assert first_failure([unprofiled]) == "nothing was judged: c: no profile yet"
    assert first_failure([unprofiled, same]) is None


def test_a_case_that_is_not_profiled_yet_is_no_failure_and_a_side_without_a_profile_is_a_wrong_call(tmp_path):
    waiting = row(status="unprofiled", total_time_us=None, reason="no profile yet")
    (judged,) = judge(pair_cases([row()], [waiting], False), Config())
    assert (judged.verdict, judged.fails) == ("cannot tell", False)
    for name, record in (("before", row()), ("after", waiting)):
        (tmp_path / f"{name}.json").write_text(json.dumps([record]))
    done = CliRunner().invoke(gate, [str(tmp_path / "before.json"), str(tmp_path / "after.json")])
    assert done.exit_code == 2 and "after.json is not profiled yet; run: profile-neffs" in done.stderr


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([], []), ([{"source": "measured"}], []), ([{"source": "simulated", "model": "m2"}, {"source": "simulated"}, {"source": "measured", "model": "m1"}],
         ["SIMULATED by neuron-sim (m2, model not recorded): whether instructions and bytes are exact is not known, times are estimates. Whether hardware has both in the same order: neff-bench explain SURE."]),
    ],
)  # fmt: skip
def test_what_is_simulated_says_by_which_models(records, said):
    assert _simulated(records) == said


def test_lines_that_one_side_does_not_keep_say_which(file):
    line = ["nkilib_src/k.py", 7, [["DMA packets", 50, 100]]]
    for kept, says in (
        ({"a": {"mlp_1": [line]}}, "b.json keeps none"),
        ({}, "a.json keeps none"),
        ({"b": {"mlp_1": [line]}}, "a.json keeps none"),
    ):
        before, after = (
            file("a.json", row(), lines=kept.get("a")),
            file("b.json", row(dma_packet_count=60), lines=kept.get("b")),
        )
        pairing = pair_cases([row()], [row(dma_packet_count=60)], False)
        assert _changes(pairing, ["mlp_1"], load(before), load(after))["mlp_1"].endswith(says)
    assert _changes(pairing, [], load(before), load(after)) == {}


def test_a_time_that_is_exact_and_a_counter_that_is_none_are_refused(tmp_path):
    path = tmp_path / "c.yaml"
    for text, says in (
        ("times: [dma_packet_count]", "times: found 'dma_packet_count'"),
        ("counters: [total_time_us]", "counters: found 'total_time_us'"),
        ("times: [mfu_percent]", "times: found 'mfu_percent'"),
        ("times: [compile_time_s]", "times: found 'compile_time_s'"),
    ):
        path.write_text(text)
        with pytest.raises(WrongCall, match=says):
            read_config(path)
    path.write_text("times: [total_time_us, tensor_active_us]\ncounters: [hbm_read_bytes]\n")
    assert read_config(path).counters == ("hbm_read_bytes",) and read_config(None) == Config()
