import os
import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from neff_bench.errors import WrongCall
from neff_bench.neffs.case import Case
from neff_bench.neffs.store import Store
from neff_bench.sdk.environment import for_lines
from neff_bench.stage1_generate import cli
from neff_bench.stage1_generate.jobs.build import Outcome
from neff_bench.stage1_generate.jobs.job import Job
from neff_bench.stage1_generate.options import Options
from neff_bench.stage1_generate.toolchains.find import Toolchain
from neff_bench.system.shard import Shard

SHAPES = """
defaults: {target: trn2, lnc: 2}
cases:
  - {kernel: matmul, implementation: nki, M: [128, 256], K: 128, N: 512}
  - {kernel: exp, implementation: nki, M: 128, N: 512}
"""


def names_of(**options):
    return [case.name for case in cli._selected(Options(**{"preset": "quick", **options}))]


EVERY = [f"matmul_{how}_M{m}_K{k}_N{n}_bfloat16_trn2_lnc1" for m, k, n in ((64, 128, 128), (128, 128, 128), (128, 256, 256), (256, 512, 512)) for how in ("nki", "xla")]  # fmt: skip


def test_cases_are_those_that_a_glob_chooses_and_none_leaves_out():
    assert names_of() == names_of(only=("matmul",)) == EVERY
    assert names_of(only=("*nki*", "*M64*")) == [name for name in EVERY if "nki" in name or "M64" in name]
    assert names_of(only=("*nki*",), skip=("*M64*", "*K512*")) == [EVERY[2], EVERY[4]]
    assert names_of(target="trn3", lnc=2)[0] == "matmul_nki_M64_K128_N128_bfloat16_trn3_lnc2"
    with pytest.raises(WrongCall, match="--only sofmax: matches none of the cases"):
        names_of(only=("matmul", "sofmax"))
    with pytest.raises(WrongCall, match="--skip leaves none of the 8 cases"):
        names_of(skip=("matmul",))


def test_a_flag_of_the_call_is_one_of_each_case():
    cases = cli._selected(Options(preset="quick", disable_dge=True))
    assert {case.flags for case in cases} == {("--disable-dge",)} and len(cases) == 8


def test_shards_share_the_cases_out_and_one_may_have_none(capsys):
    parts = [names_of(shard=Shard(number, 3)) for number in (1, 2, 3)]
    assert sorted(name for part in parts for name in part) == sorted(EVERY) and capsys.readouterr().err == ""
    assert names_of(only=("*nki*M64*",), shard=Shard(1, 97)) == []
    assert "--shard 1/97 has no case" in capsys.readouterr().err


@pytest.mark.parametrize("options", [{"preset": None}, {"shapes": Path("x.yaml")}])
def test_cases_come_from_a_file_or_from_a_preset(options):
    with pytest.raises(WrongCall, match="give either --shapes FILE or --preset NAME"):
        names_of(**options)


@pytest.mark.parametrize("wanted", [True, False])
def test_variables_for_source_lines_are_set_meanwhile_and_go_with_all_that_was_changed(wanted):
    before = dict(os.environ)
    with cli.debug_variables(wanted):
        assert {name: os.environ.get(name) for name in for_lines()} == (
            for_lines() if wanted else {name: before.get(name) for name in for_lines()}
        )
    assert dict(os.environ) == before


def test_everything_is_built_where_it_is_forced(tmp_path):
    cases = cli._selected(Options(preset="quick"))
    work = [Job(case, "key", "sim") for case in cases]
    assert cli._states(work, Store(tmp_path / "none"), force=True) == ["build"] * 8
    assert cli._states(work[:2], Store(tmp_path / "none"), force=False) == ["build"] * 2


BUILT, FAILED = Outcome("a", "built", None, 1.234), Outcome("b", "failed", "k.py:3: no")
LEFT, THERE = Outcome("c", "not built", "the run was ended"), Outcome("d", "up to date")


def test_an_outcome_is_a_line_with_its_time_or_its_reason():
    assert [cli._text(one) for one in (BUILT, FAILED, LEFT, THERE)] == [
        "built a 1.23 s", "failed b: k.py:3: no", "not built c: the run was ended", "up to date d"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("outcomes", "before", "said"),
    [
        ([BUILT], 0, "1 built"), ([FAILED], 0, "0 built, 1 failed"), ([THERE, BUILT, BUILT], 2, "2 built, 3 up to date"),
        ([LEFT, FAILED], 1, "0 built, 1 up to date, 1 failed, 1 not built"),
    ],
)  # fmt: skip
def test_a_run_is_counted_by_what_became_of_its_cases(outcomes, before, said):
    assert cli._counts(outcomes, before) == said


@pytest.fixture
def build(monkeypatch, tmp_path, capsys):
    """A function that runs `_build` with a builder that has these outcomes; returns exit code, standard output and error."""

    def run(*outcomes, up_to_date=0, number=None, toolchain="neuron"):
        asked = []

        def build_all(jobs, workers, report):
            asked.append((len(jobs), workers))
            for outcome in outcomes:
                report(outcome)
            return list(outcomes)

        @contextmanager
        def builder(*_):
            yield SimpleNamespace(build_all=build_all), 3

        monkeypatch.setattr(cli, "_builder", builder)
        stop = SimpleNamespace(number=number, name="SIGINT", exit_code=lambda code: 130 if number else code)
        keys = SimpleNamespace(toolchain=SimpleNamespace(name=toolchain))
        work = ["job"] * (len(outcomes) + up_to_date)
        code = cli._build(work, work[up_to_date:], keys, Options(out=tmp_path), stop)
        assert asked == ([(len(outcomes), 3)] if outcomes else [])
        return code, *capsys.readouterr()

    return run


def test_a_run_ends_with_what_it_built_and_says_so(build, tmp_path):
    code, out, err = build(BUILT, THERE, up_to_date=2)
    assert code == 0 and out.startswith("1 built, 3 up to date in ") and out.endswith(f" s: {tmp_path}\n")
    assert "building with the AWS Neuron SDK" in err
    assert build(BUILT, FAILED)[0] == build(BUILT, LEFT)[0] == 1
    code, _, err = build(BUILT, LEFT, number=2)
    assert code == 130 and "interrupted by SIGINT; run again to build the rest" in err


@pytest.mark.parametrize(
    ("toolchain", "slow", "said"), [("sim", "it is slow", True), ("sim", None, False), ("neuron", "it is slow", False)]
)
def test_a_simulated_toolchain_that_is_slow_here_says_so(build, monkeypatch, toolchain, slow, said):
    monkeypatch.setattr("neff_bench.system.compiled.slow_notice", lambda: slow)
    assert ("it is slow" in build(BUILT, toolchain=toolchain)[2]) == said


def test_nothing_to_build_is_said_and_good(build, tmp_path):
    assert build(up_to_date=2) == (0, f"nothing to build: {tmp_path} is up to date (2 cases)\n", "")


def test_list_prints_the_names_and_nothing_else(generate, shapes_file):
    done = generate("--shapes", shapes_file(SHAPES), "--list", "--only", "matmul*", "--skip", "*M256*")
    assert (done.returncode, done.stdout) == (0, "matmul_nki_M128_K128_N512_bfloat16_trn2_lnc2\n")
    assert done.stderr == ""


def test_a_kernel_is_all_its_cases(generate, shapes_file):
    done = generate("--shapes", shapes_file(SHAPES), "--list", "--only", "matmul")
    assert [name.split("_")[2] for name in done.stdout.splitlines()] == ["M128", "M256"]


def test_a_name_in_the_list_is_that_of_the_bundle_with_the_flags_of_the_call(generate, shapes_file):
    done = generate("--shapes", shapes_file(SHAPES), "--list", "--only", "exp*", "--disable-dge")
    assert done.stdout.startswith("exp_nki_M128_N512_bfloat16_trn2_lnc2_flags")


def test_dry_run_builds_nothing(generate, shapes_file, tmp_path):
    done = generate("--shapes", shapes_file(SHAPES), "--dry-run")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["build"] * 3
    assert not (tmp_path / "out").exists()


def test_target_and_lnc_stand_above_the_file(generate, shapes_file):
    done = generate("--shapes", shapes_file(SHAPES), "--list", "--target", "trn3", "--lnc", "1")
    assert all(line.endswith("_trn3_lnc1") for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--target", "trn9"], "unknown target 'trn9'"),
        (["--target", "trn1", "--lnc", "2"], "lnc 2 does not exist on trn1"),
        (["--only", "nothing*"], "--only nothing*: matches none of the cases; there is matmul_nki_"),
        (
            ["--only", "matmull"],
            "--only matmull: matches none of the cases; did you mean matmul?; there is matmul_nki_",
        ),
        (["--skip", "*"], "--skip leaves none"),
        (["--nkilib", "/nowhere"], "--nkilib: /nowhere is no checkout of nki-library"),
        (["--toolchain", "neuron"], "activate the Neuron SDK's environment"),
        (["--shapes", "none.yaml"], "none.yaml: cannot read the shapes file"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_code_2(generate, shapes_file, arguments, says):
    done = generate("--shapes", shapes_file(SHAPES), *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("error: ")
    assert done.stdout == ""


def test_a_shapes_file_without_its_option_is_a_wrong_call_that_names_it(generate):
    done = generate("mine.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr == "error: mine.yaml: unexpected argument; for a shapes file say --shapes mine.yaml (see --help)\n"
    )


def test_a_store_that_cannot_be_written_is_one_line(generate, shapes_file, tmp_path):
    (tmp_path / "out").write_text("a file")
    done = generate("--shapes", shapes_file(SHAPES), "--only", "exp*")
    assert done.returncode in (1, 2)
    assert "out: " in done.stderr and "Traceback" not in done.stderr


def test_help_loads_nothing_heavy(environment):
    import subprocess
    import sys

    heavy = ("numpy", "ml_dtypes", "yaml", "rich", "jax", "msgspec", "orjson")
    code = (
        "import sys\nfrom neff_bench.stage1_generate.cli import generate\n"
        "try:\n    generate(['--help'])\nexcept SystemExit:\n    pass\n"
        f"sys.exit(str([name for name in {heavy} if name in sys.modules] or ''))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == ""
    assert "Examples:" in done.stdout


SIM = Toolchain("sim", None, False, False, False, False, True)


def test_a_job_is_a_case_with_its_key_and_the_folders_that_it_needs():
    cases = cli._selected(Options(preset="quick"))[:1]
    own = replace(cases[0], own="mine.py")
    options = Options(preset="quick")
    for nkilib, said in ((None, None), (Path("/lib"), "/lib")):
        keys = SimpleNamespace(
            toolchain=replace(SIM, nkilib=nkilib), folder="/here", key=lambda case: f"key of {case.own}"
        )
        assert cli._jobs([*cases, own], keys, options) == [
            Job(cases[0], "key of None", "sim", said, options, None), Job(own, "key of mine.py", "sim", said, options, "/here")
        ]  # fmt: skip


def test_a_plan_says_of_each_case_what_would_be_done_and_what_cannot(capsys):
    matmul, mlp = (Case(kernel, how, dims, "bfloat16", "trn2", 1) for kernel, how, dims in (
        ("matmul", "nki", (("M", 4), ("K", 4), ("N", 4))), ("mlp", "nkilib", (("b", 1), ("s", 4), ("h", 129), ("i", 4)))
    ))  # fmt: skip
    work = [Job(case, "key", "sim") for case in (matmul, matmul, mlp, mlp)]
    states = ["build", "retry", "build", "up to date"]
    cli._print_plan(work, states, SIM)
    lacks, *_ = SIM.lacks(("nkilib",), "nki").splitlines()
    said = [
        f"build      {matmul.name}",
        f"retry      {matmul.name}",
        f"fail ({lacks}) {mlp.name}",
        f"up to date {mlp.name}",
    ]
    assert capsys.readouterr().out.splitlines() == said
    cli._print_plan(work[2:3], ["build"], replace(SIM, nkilib=Path("/lib")))
    assert (
        capsys.readouterr().out == f"fail (nki-library's mlp needs h to be a multiple of 128 (h is 129)) {mlp.name}\n"
    )


class Warm:
    """A warm parent that notes what is done with it."""

    def __init__(self):
        self.done = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.done.append("ended")

    def fork(self):
        self.done.append("forked")


@pytest.mark.parametrize(("jobs", "workers"), [(None, os.cpu_count()), (3, 3)])
def test_cases_are_built_here_from_a_warm_parent_unless_it_is_cold(monkeypatch, tmp_path, jobs, workers):
    warm, asked = Warm(), []
    monkeypatch.setattr(
        "neff_bench.stage1_generate.jobs.warm.warm_parent", lambda waiting: asked.append(waiting) or warm
    )
    keys, stop = SimpleNamespace(toolchain=SIM), threading.Event()
    with cli._builder(["job"], keys, Options(out=tmp_path, jobs=jobs), stop) as (builder, number):
        assert (builder.warm, builder.elsewhere, builder.stop, number) == (warm, None, stop, workers)
        assert (asked, warm.done, builder.toolchain, builder.store.path) == ([["job"]], ["forked"], SIM, tmp_path)
    assert warm.done == ["forked", "ended"]
    with cli._builder(["job"], keys, Options(out=tmp_path, cold=True), stop) as (builder, _):
        assert builder.warm is None and len(asked) == 1


def test_cases_are_built_on_the_hosts_of_a_cluster_as_many_as_it_takes(monkeypatch, tmp_path, capsys):
    asked = []

    @contextmanager
    def given(value, *said):
        asked.append(said)
        yield value

    cluster = SimpleNamespace(total=lambda what: {"CPU": 12}[what], calls=lambda what, jobs: (what, jobs))
    monkeypatch.setattr("neff_bench.system.cluster.connected", lambda address: given(cluster, address))
    monkeypatch.setattr("neff_bench.stage1_generate.jobs.on_ray.elsewhere", lambda *said: given("there", *said))
    options = Options(out=tmp_path, ray="auto", shared_store=True, jobs=5)
    with cli._builder(["job"], SimpleNamespace(toolchain=SIM), options, threading.Event()) as (builder, number):
        assert (builder.elsewhere, builder.warm, number) == ("there", None, ("CPU", 5))
    assert "the cluster has 12 CPUs" in capsys.readouterr().err
    assert asked[0] == ("auto",) and (asked[1][0], asked[1][3]) == (cluster, True)
