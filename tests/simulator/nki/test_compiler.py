"""`nki.compiler`: options that are taken, and the way from a kernel to a NEFF."""

import numpy as np
import pytest

from neff_bench.simulator.errors import MissingModel
from neff_bench.simulator.files.neff import read_neff_content
from neff_bench.simulator.nki import install as nki_install

nki_install.install()
import nki  # noqa: E402
import nki.isa as nisa  # noqa: E402
import nki.language as nl  # noqa: E402
from nki.compiler import CompileConfig, SpecializationConfig  # noqa: E402
from nki.compiler.frontend import NKIFrontend, ParserFrontend  # noqa: E402
from nki.compiler.ncc_driver import CompiledKernel, CompileOptions  # noqa: E402

X = np.ones((128, 8), np.float32)


@nki.jit(compile_config=CompileConfig(non_ssa_legalization=True), specialization_config=SpecializationConfig())
def scaled(x, factor):
    out = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
    tile = nl.load(x)
    nisa.tensor_scalar(tile, tile, nl.multiply, factor)
    nisa.dma_copy(out, tile)
    return out


def test_options_of_the_compiler_change_nothing():
    np.testing.assert_array_equal(nki.simulate(scaled)(X, 3.0), 3 * X)
    assert CompileConfig(address_rotation=False).address_rotation is False
    assert CompileConfig().barrier_check is None


def test_a_frontend_records_and_a_driver_writes_a_neff(tmp_path):
    frontend: NKIFrontend = ParserFrontend()
    made = frontend.compile(scaled, inputs={"x": X, "factor": 2.0}, target="trn2", lnc=1, artifacts_dir=tmp_path)
    options = CompileOptions(target="trn2", lnc=1, output_path=str(tmp_path / "deep" / "file.neff"))
    compiled = CompiledKernel.from_frontend(made, options.disable_backend_optimizations())
    assert read_neff_content(compiled.neff_path)


def test_tensors_in_tuples_and_plain_tuples_are_arguments_of_a_frontend():
    def kernel(pair, operation, scale):
        out = nl.ndarray(pair[0].shape, pair[0].dtype, nl.shared_hbm)
        nisa.dma_copy(out, nl.add(nl.load(pair[0]), nl.load(pair[1].reshape(operation[1]))))
        return out

    inputs = {"pair": (X, X), "operation": ("reshape", X.shape), "scale": np.float64(0.5)}
    program = ParserFrontend().compile(kernel, inputs, "trn2").program
    assert [program.buffers[at].name for at in program.inputs] == ["pair.0", "pair.1"]


def test_the_grid_is_unknown_outside_a_kernel():
    assert not nl.program_ndim() and not nl.num_programs() and not nl.program_id()


def test_what_the_compiler_has_beyond_that_is_not_modelled():
    with pytest.raises(MissingModel, match=r"test_compiler\.py:\d+: nki\.compiler\.kernel_builder is not modelled"):
        _ = nki.compiler.kernel_builder
