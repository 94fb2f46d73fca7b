import pytest

from neff_bench.experiments.device import Build, _Instruction, count_instructions
from neff_bench.stage1_generate.shapes import presets


def matmul(duration, kind="REGULAR", flags=None):
    operands = "dst=..." + (f" acc_flags={flags} more" if flags is not None else "")
    return _Instruction("MATMUL", duration, kind, "", operands)


def test_matmuls_accumulation_and_transposes_are_counted_apart():
    found = count_instructions([matmul(200, flags=1), matmul(300, flags=2), matmul(100, "TRANSPOSE", 3)])
    assert (found.matmul_count, found.matmul_us) == (2, 0.5)
    assert (found.accumulate_count, found.accumulate_us) == (1, 0.3)
    assert (found.transpose_count, found.transpose_us) == (1, 0.1)


def test_what_a_profile_does_not_say_is_not_known():
    assert count_instructions([matmul(200)]).accumulate_count is None


def test_a_build_has_the_name_of_its_bundle():
    assert Build(64, 768, 960, "bfloat16", "nki", "trn2", 2).name == "matmul_nki_M64_K768_N960_bfloat16_trn2_lnc2"


@pytest.mark.parametrize("name", presets.NAMES)
def test_presets_hold_each_shape_once(name):
    shapes = [(entry["M"], entry["K"], entry["N"]) for entry in presets.preset(name)]
    assert len(shapes) == len(set(shapes)) > 0 and min(map(min, shapes)) >= 1


def test_the_projections_are_those_of_the_document():
    assert {(e["M"], e["N"], e["K"]) for e in presets.preset("linear_projection")} == {
        (64, 960, 768), (64, 320, 768), (64, 768, 960), (64, 3072, 768), (64, 768, 3072)
    }  # fmt: skip
