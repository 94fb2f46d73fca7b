import json
import sys

import pytest

pytestmark = pytest.mark.usefixtures("validation")


def test_a_row_that_is_taken_out_of_the_lists_is_missed():
    from validation.correlation import attention_block, autocomp, gathers, scans, tutorials

    assert len(tutorials.KERNELS) == 26
    assert len(autocomp.SAMPLED_MS) == 11
    assert len(attention_block.VERSIONS) == 7
    assert len(scans.VERSIONS_US) == 2
    assert len(gathers.GATHERS) == 10


def test_a_kernel_from_before_the_decorator_is_recorded_with_its_output_argument():
    from validation.correlation.tutorials import Kernel, recorded

    source = """import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def double(x, result):
    nl.store(result, nl.load(x) * 2)
"""
    program = recorded(source, Kernel("f", "f.py", "double", {"x": (128, 64), "result": (128, 64)}, "float32", 1.0))
    copies = [step for step in program.cores[0] if step.op == "dma_copy"]
    assert [step.attributes["dge_mode"] for step in copies] == ["disabled", "disabled"]


@pytest.mark.parametrize("log", [False, True])
def test_times_are_those_of_a_summary_or_of_the_line_of_a_log(log):
    from validation.correlation.gathers import _times

    active = dict.fromkeys(("tensor", "vector", "scalar"), 2e-6)
    summary = {"n_0": {"total_time": 5e-6, "dma_active_time": 3e-6, **{f"{k}_engine_active_time": v for k, v in active.items()}}}  # fmt: skip
    text = json.dumps(summary)
    found = _times(f"COMMAND:\nneuron-profile\n\nSTDOUT:\n{text}\n" if log else text)
    assert found == (
        pytest.approx(5.0),
        pytest.approx(dict.fromkeys(("tensor", "vector", "scalar"), 2.0) | {"dma": 3.0}),
    )


def test_a_kernel_gathers_the_rows_that_its_graph_has():
    from validation.correlation.gathers import Gather, recorded

    script = """@nki.jit
def gather_mean_nki(x, src_padded, mask_padded, inv_degree):
    out = nl.ndarray((NUM_NODES, FEAT_DIM), dtype=nl.float32, buffer=nl.shared_hbm)
    for k in range(MAX_DEG // GATHER_MEAN_D_CHUNK):
        nl.store(out[0:TILE_NODES, 0:FEAT_DIM], nl.load(x[0:TILE_NODES, 0:FEAT_DIM]))
    return out
"""
    program = recorded(script, Gather("", 4, "", nodes=128, width=16, degree=12))
    stores = [step for step in program.cores[0] if step.op == "dma_copy"]
    assert len(stores) >= 3


def test_modules_of_one_commit_are_unknown_to_the_next():
    from validation.correlation.scans import _own_modules

    places = sys.path[:]
    with _own_modules():
        sys.modules["nkilib_src"] = sys
        sys.path.insert(0, "of one commit")
    assert "nkilib_src" not in sys.modules
    assert sys.path == places
