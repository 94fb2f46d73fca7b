from dataclasses import replace

import pytest

from neff_bench.neffs.case import Case
from neff_bench.stage1_generate.build.keys import Keys
from neff_bench.stage1_generate.toolchains.find import Toolchain

MLP = Case("mlp", "nkilib", (("b", 1), ("s", 128), ("h", 1024), ("i", 512)), "bfloat16", "trn2", 2)
TOOLCHAIN = Toolchain("sim", None, False, False, False, False, True)


def nkilib(folder, line):
    source = folder / "nkilib_src" / "nkilib" / "mlp.py"
    source.parent.mkdir(parents=True)
    source.write_text(line)
    return folder


@pytest.mark.parametrize("implementation", ["nki", "xla", "nkilib", "neuronxcc"])
def test_the_toolchain_belongs_to_the_key(implementation):
    case = replace(MLP, implementation=implementation)
    assert Keys(TOOLCHAIN).key(case) != Keys(replace(TOOLCHAIN, name="neuron")).key(case)
    assert Keys(TOOLCHAIN).key(case) == Keys(TOOLCHAIN).key(case)


def test_the_kernel_source_belongs_to_the_key(tmp_path):
    one = Keys(replace(TOOLCHAIN, nkilib=nkilib(tmp_path / "one", "a = 1")))
    two = Keys(replace(TOOLCHAIN, nkilib=nkilib(tmp_path / "two", "a = 2")))
    same = Keys(replace(TOOLCHAIN, nkilib=nkilib(tmp_path / "same", "a = 1")))
    assert one.key(MLP) != two.key(MLP)
    assert one.key(MLP) == same.key(MLP)  # content counts, not the place


def test_sources_of_other_implementations_do_not(tmp_path):
    nki = replace(MLP, implementation="nki")
    assert Keys(TOOLCHAIN).key(nki) == Keys(replace(TOOLCHAIN, nkilib=nkilib(tmp_path, "a = 1"))).key(nki)


def test_compiler_flags_of_the_environment_belong_to_the_key_where_the_compiler_reads_them(monkeypatch):
    nki = replace(MLP, implementation="nki")
    keys = []
    for flags in ("-O1", "-O2"):
        monkeypatch.setenv("NEURON_CC_FLAGS", flags)
        keys.append((Keys(TOOLCHAIN).key(nki), Keys(replace(TOOLCHAIN, name="neuron")).key(nki)))
    assert keys[0][0] == keys[1][0] and keys[0][1] != keys[1][1]
