import json
import os

import pytest

from neff_bench.experiments.device import Build, _Instruction, count_instructions, count_reads, read_instructions
from neff_bench.stage1_generate.shapes import presets
from tests.sdk import contracts


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


def test_a_build_with_tile_sizes_is_another_kernel():
    build = Build(64, 768, 960, "bfloat16", "nki", "trn2", 2, (64, 64, 128))
    assert build.name == "tiled_matmul_nki_M64_K768_N960_tile_m64_tile_k64_tile_n128_bfloat16_trn2_lnc2"
    assert build.total_tiles == 1 * 12 * 8 and build.input_bytes == (64 * 768 * 2, 768 * 960 * 2)


def test_bytes_that_a_kernel_reads_are_counted_by_tensor():
    def load(source):
        return _Instruction("DMA_DIRECT2D", 0, "", "", f"src={source} dst=float32@sbuf:b+0[1][4]")

    reads = count_reads(
        [
            load("float32@hbm:rhs+64[960,1][64,8]"),
            load("float32@hbm:rhs+0[960,1][64,8]"),
            load("bfloat16@hbm:lhs+0[-1,4,1][2,3,4]"),
            load("float32@sbuf:x+0[1][9]"),
        ]
    )
    assert reads == {"rhs": 2 * 64 * 8 * 4, "lhs": 24 * 2}
    assert count_reads([matmul(1)]) is None


@pytest.mark.parametrize("name", presets.NAMES)
def test_presets_hold_each_shape_once(name):
    shapes = [(entry["M"], entry["K"], entry["N"]) for entry in presets.preset(name)]
    assert len(shapes) == len(set(shapes)) > 0 and min(map(min, shapes)) >= 1


def test_the_projections_are_those_of_the_document():
    assert {(e["M"], e["N"], e["K"]) for e in presets.preset("linear_projection")} == {
        (64, 960, 768), (64, 320, 768), (64, 768, 960), (64, 3072, 768), (64, 768, 3072)
    }  # fmt: skip


@pytest.mark.parametrize(("release", "count"), [("2.33", 1), ("2.34", None)])
def test_instructions_are_counted_where_the_release_of_the_profiler_writes_json(
    tmp_path, monkeypatch, capsys, release, count
):
    contracts.install(release, tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    run = tmp_path / "store" / "case" / "profiles" / "1"
    run.mkdir(parents=True)
    (run / "profile.ntff").write_text(json.dumps({"total_time": 1e-4}))
    (run.parents[1] / "file.neff").touch()
    rows = {"case": {"status": "profiled", "source": "measured", "run": "1"}}
    found = read_instructions(tmp_path / "store", rows)["case"]
    assert (found and found.matmul_count) == count
    assert ("SDK 2.34 writes no JSON" in capsys.readouterr().err) == (count is None)
