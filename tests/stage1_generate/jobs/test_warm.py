"""What the warm parent of stage 1 imports."""

from dataclasses import replace

from neff_bench.neffs.case import Case
from neff_bench.stage1_generate.jobs.job import Job
from neff_bench.stage1_generate.jobs.warm import warm_parent

NKI = Job(Case("matmul", "nki", (("M", 32), ("K", 32), ("N", 32)), "bfloat16", "trn2", 1), "key", "sim")
XLA = replace(NKI, case=replace(NKI.case, implementation="xla"))


def modules(*jobs):
    """Without starting it."""
    return warm_parent(iter(jobs))._modules


def test_jax_is_imported_where_a_job_traces_a_graph():
    assert "jax" not in modules(NKI, NKI) and "jax" in modules(NKI, XLA)
    assert {"neff_bench.stage1_generate.jobs.worker", "neff_bench.simulator.commands.compile"} <= {*modules(NKI)}
    assert {*modules(NKI)} < {*modules(XLA)}


def test_there_is_none_where_a_job_is_for_the_sdk():
    assert warm_parent([NKI, replace(NKI, toolchain="neuron")]) is None
