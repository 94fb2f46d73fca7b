import pytest

SHAPES = """
defaults: {target: trn2, lnc: 2}
cases:
  - {kernel: matmul, implementation: nki, M: [128, 256], K: 128, N: 512}
  - {kernel: exp, implementation: nki, M: 128, N: 512}
"""


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
