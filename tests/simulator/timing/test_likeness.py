import dataclasses

import msgspec
import pytest

from neff_bench.simulator.timing.likeness import library_kernel, likeness
from neff_bench.simulator.timing.schedule import schedule
from tests.simulator.programs import matmul


def like(program, share=0.0):
    return likeness(program, schedule(program), share)


@pytest.mark.parametrize(("target", "generation"), [("trn1", 2), ("inf2", 2), ("trn2", 3), ("trn3", 4)])
def test_the_generation_of_the_engines(target, generation):
    assert like(msgspec.structs.replace(matmul(), target=target)).generation == generation


def test_the_cores():
    assert like(matmul(lnc=2)).lnc == 2


def test_an_idle_core_is_none():
    program = matmul()
    assert like(msgspec.structs.replace(program, lnc=2, cores=(*program.cores, ()))).lnc == 1


def test_the_old_dialect_and_hlo_go_through_a_compiler():
    assert not like(matmul()).compiled
    assert like(msgspec.structs.replace(matmul(), keeps_weights=True)).compiled
    assert like(msgspec.structs.replace(matmul(), model_flops=1)).compiled


@pytest.mark.parametrize(("share", "quarters"), [(0.0, 0.0), (0.01, 0.25), (0.25, 0.25), (0.26, 0.5), (1.0, 1.0)])
def test_the_share_of_uncompared_operations_is_rounded_up_to_quarters(share, quarters):
    assert like(matmul(), share).uncompared == quarters


@pytest.mark.parametrize(("busy", "binds"), [(0.74, False), (0.76, True)])
def test_the_tensor_engine_is_busy_from_three_quarters_of_the_kernel(busy, binds):
    load, other, product = matmul().cores[0][:3]
    program = msgspec.structs.replace(matmul(), cores=((load, other, *[product] * 400),))
    timed = schedule(program)
    [core] = timed.cores
    active = float((core.end_ns - core.start_ns - timed.chip.pe_latency_ns)[core.code.flops > 0].sum())
    longer = dataclasses.replace(core, kernel_end_ns=timed.overheads.preamble_ns + active / busy)
    assert likeness(program, dataclasses.replace(timed, cores=(longer,)), 0.0).tensor_busy is binds


KERNELS = {"mlp_tkg", "rmsnorm_tkg"}
LIBRARY = "nkilib_src/nkilib/core"


def made(*lines, callers=()):
    return msgspec.structs.replace(matmul(), sources=("", *lines), callers=(0, *callers) if callers else ())


def test_a_kernel_of_the_library_is_known_by_the_files_of_its_lines():
    lines = (
        f"{LIBRARY}/mlp/mlp.py:242",
        f"{LIBRARY}/mlp/mlp_tkg/mlp_tkg.py:12",
        f"{LIBRARY}/subkernels/rmsnorm_tkg.py:30",
    )
    assert library_kernel(made(*lines, callers=(0, 1, 2)), KERNELS) == "mlp_tkg"
    assert library_kernel(made("nkilib/core/subkernels/rmsnorm_tkg.py:30"), KERNELS) == "rmsnorm_tkg"


def test_a_kernel_that_uses_one_of_the_library_beside_lines_of_its_own_is_none_of_it():
    own = tuple(f"block.py:{line}" for line in range(5))
    assert library_kernel(made(*own, f"{LIBRARY}/subkernels/rmsnorm_tkg.py:30"), KERNELS) == ""
    assert library_kernel(made("my/mlp_tkg.py:1"), KERNELS) == library_kernel(matmul(), KERNELS) == ""
