"""Options of generate-neffs that cannot be together, and the memory of a worker."""

import os
from pathlib import Path

import pytest

from neff_bench.errors import WrongCall
from neff_bench.stage1_generate.cli import generate
from neff_bench.stage1_generate.options import Options


@pytest.mark.parametrize(
    ("gib", "toolchain", "size_bytes"), [(2.0, "sim", 2 << 30), (0.5, "neuron", 1 << 29), (None, "neuron", None)]
)
def test_a_worker_has_the_memory_that_is_asked_for(gib, toolchain, size_bytes):
    assert Options(memory_gib=gib).memory_bytes(toolchain) == size_bytes


def test_a_simulated_build_has_nine_tenths_of_the_hosts_memory():
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert Options().memory_bytes("sim") == whole * 9 // 10


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"shared_store": True}, "--shared-store says how --ray works; give --ray ADDRESS too"),
        ({"script": Path("a.py"), "ray": "auto"}, "--capture-framework-neff runs your script on this host; leave --ray out"),
        ({"script": Path("none.py")}, "--capture-framework-neff: none.py: no such file"),
        ({"script_arguments": ("s.yaml",)}, "s.yaml: unexpected argument; for a shapes file say --shapes s.yaml (see --help)"),
        ({"script_arguments": ("x",), "shapes": Path("s.yaml")}, "x: unexpected argument (see --help)"),
    ],
)  # fmt: skip
def test_options_that_cannot_be_together_are_told(given, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WrongCall) as error:
        Options(**given).check()
    assert str(error.value) == says


def test_a_script_may_have_arguments(tmp_path):
    (tmp_path / "a.py").write_text("")
    Options(script=tmp_path / "a.py", script_arguments=("x",)).check()
    Options().check()


@pytest.mark.parametrize(
    ("flag", "least", "said"),
    [("--jobs", 1, None), ("--timeout", 0, 1800), ("--memory", 0, None), ("--toolchain", None, "auto")],
)
def test_an_option_says_its_range_and_its_default(flag, least, said):
    [found] = [one for one in generate.params if flag in one.opts]
    assert getattr(found.type, "min", None) == least and getattr(found.type, "max", None) is None
    assert found.default == said and bool(found.show_default) == (said is not None)
    assert not getattr(found.type, "min_open", False) or flag in ("--timeout", "--memory")
    flags = [one for one in generate.params if getattr(one, "is_flag", False) and one.name != "version"]
    assert len(flags) == 9 and not any(one.default for one in flags)
