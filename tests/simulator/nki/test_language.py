"""Functions on tiles against numpy, through the executor; control flow and constants."""

import functools
from collections import Counter

import numpy as np
import pytest

import neff_bench.simulator.nki.simulate as simulation
from neff_bench.simulator.errors import KernelError, NkiValidationError, NotModelledError
from neff_bench.simulator.nki import isa as nisa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.beta import language as old_nl
from neff_bench.simulator.nki.beta.jit import jit as beta_jit
from neff_bench.simulator.nki.jit import jit
from neff_bench.simulator.nki.language.objects import NKIObject
from neff_bench.simulator.nki.spec import InputSpec
from neff_bench.simulator.nki.trace import Call, record
from neff_bench.simulator.recording.recorder import recording

RANDOM = np.random.default_rng(7)
X = RANDOM.uniform(0.5, 2.0, (64, 24)).astype(np.float32)
Y = RANDOM.uniform(0.5, 2.0, (64, 24)).astype(np.float32)


def run(function, *arrays):
    """The tile that `function` makes of the loaded arrays."""

    def kernel(a, b=None):
        tile = function(*[nl.load(tensor) for tensor in (a, b) if tensor is not None])
        out = nl.ndarray(tile.shape, tile.dtype, buffer=nl.shared_hbm)
        nl.store(out, tile)
        return out

    return simulation.simulate(kernel)(*arrays)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: nl.exp(x), np.exp(X)),
        (lambda x: nl.sin(nl.multiply(x, 4.0)), np.sin(X * 4)),
        (lambda x: nl.cos(nl.multiply(x, 4.0)), np.cos(X * 4)),
        (lambda x: nl.negative(x), -X),
        (lambda x: nl.reciprocal(x), 1 / X),
        (lambda x: nl.copy(x, dtype=nl.float16), X.astype(np.float16)),
        (lambda x: nl.logical_not(x), np.zeros_like(X)),
        (lambda x: nl.subtract(x, 2.0), X - 2),
        (lambda x: nl.subtract(2.0, x), 2 - X),
        (lambda x: nl.multiply(x, x[:, 0:1]), X * X[:, :1]),
        (lambda x: nl.subtract(x[:, 0:1], x), X[:, :1] - X),
        (lambda x: nl.sum(x, axis=1), X.sum(1, keepdims=True)),
        (lambda x: nl.sum(x.reshape((64, 4, 6)), axis=2), X.reshape(64, 4, 6).sum(2)),
        (lambda x: nl.max(x, axis=-1), X.max(1, keepdims=True)),
        (lambda x: nl.min(x, axis=[1], keepdims=True), X.min(1, keepdims=True)),
        (lambda x: nl.mean(x, axis=1), X.mean(1, keepdims=True)),
        (lambda x: nl.var(x, axis=1), X.var(1, keepdims=True)),
        (lambda x: nl.softmax(x), np.exp(X) / np.exp(X).sum(1, keepdims=True)),
        (lambda x: nl.where(nl.greater(x, 1.0), x, 0.0), np.where(X > 1, X, 0)),
        (lambda x: nl.rms_norm(x, x, axis=1, n=24), X * X / np.sqrt((X * X).mean(1, keepdims=True) + 1e-6)),
        (lambda x: nl.transpose(x), X.T),
        (lambda x: nl.matmul(x, x, transpose_x=True), X.T @ X),
        (lambda x: nl.matmul(nl.copy(nl.transpose(x)), x), X.T @ X),
        (lambda x: nl.broadcast_to(x[0:1], (32, 24)), np.broadcast_to(X[:1], (32, 24))),
        (lambda x: nl.full((4, 8), 3, dtype=nl.int32), np.full((4, 8), 3)),
        (lambda x: nl.shared_identity_matrix(5, dtype=nl.float32), np.eye(5)),
    ],
)
def test_functions_on_a_tile(function, expected):
    result = run(function, X)
    assert result.shape == expected.shape
    np.testing.assert_allclose(np.float32(result), np.float32(expected), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("add", X + Y), ("divide", X / Y), ("maximum", np.maximum(X, Y)), ("less", np.float32(X < Y)), ("power", X**Y)],
)
def test_operators_on_two_tiles(name, expected):
    np.testing.assert_allclose(run(getattr(nl, name), X, Y), expected, rtol=2e-5)


@pytest.mark.parametrize(
    ("target", "found"),
    [("trn1", {"tensor_copy": 4, "nc_stream_shuffle": 4}), ("trn2", {"memset": 1, "nc_matmul": 1, "tensor_copy": 1})],
)
def test_a_row_is_repeated_by_vector_on_the_first_generation_and_by_the_pe_on_later_ones(target, found):
    def spread(x):
        out = nl.ndarray((112, 24), x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.broadcast_to(nl.load(x), (112, 24)))
        return out

    program = record(Call(spread, "spread", [InputSpec("x", (1, 24), "float32")]), target, 1)
    counts = Counter(instruction.op for instruction in program.cores[0])
    assert {op: count for op, count in counts.items() if op != "dma_copy"} == found


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_a_row_that_vector_repeats_is_in_every_partition(monkeypatch, dtype):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn1")
    row = np.arange(2**31 - 12, 2**31).reshape(1, 2, 6).astype(dtype)
    result = run(lambda x: nl.broadcast_to(x, (112, 2, 6)), row)
    np.testing.assert_array_equal(result, np.broadcast_to(row, (112, 2, 6)))


def test_an_operator_on_hbm_says_to_load():
    with pytest.raises(NkiValidationError, match=r"test_language\.py:\d+: nl\.exp: load the tile first"):
        simulation.simulate(lambda a: nl.exp(a))(X)


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc"])
def test_rounding_to_whole_numbers(name):
    x = np.array([[-2.5, -1.5, -0.2, 0.0, 0.2, 0.5, 1.5, 2.9999, 7.0, -100000.3]], np.float32)
    np.testing.assert_array_equal(run(getattr(nl, name), x), getattr(np, name)(x))


def test_a_constant_travels_in_the_program():
    table = np.arange(64 * 3, dtype=np.int32).reshape(64, 3)
    assert np.array_equal(run(lambda x: nl.load(nl.shared_constant(table)), X), table)


def test_hbm_can_be_filled():
    def kernel(a):
        return nl.zeros((300, 5), nl.float32, buffer=nl.shared_hbm), nl.ones((7,), nl.float32, buffer=nl.shared_hbm)

    zeros, ones = simulation.simulate(kernel)(X)
    assert zeros.shape == (300, 5) and not zeros.any()
    assert np.array_equal(ones, np.ones(7))


def test_results_keep_their_structure_and_arrays_in_lists_are_inputs():
    def kernel(pair, scale):
        made = []
        for tensor in pair:
            out = nl.ndarray(tensor.shape, tensor.dtype, buffer=nl.shared_hbm)
            nl.store(out, nl.multiply(nl.load(tensor), scale))
            made.append(out)
        return {"first": made[0], "rest": made[1:], "none": None}

    result = simulation.simulate(kernel)([X, Y], scale=2.0)
    assert np.array_equal(result["first"], 2 * X)
    assert np.array_equal(result["rest"][0], 2 * Y)
    assert result["none"] is None


def test_two_cores_split_the_work():
    @jit
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        assert nl.program_ndim() == 1
        rows = a.shape[0] // nl.num_programs()
        part = nl.ds(nl.program_id(0) * rows, rows)
        nl.store(out[part], nl.add(nl.load(a[part]), float(nl.program_id(0))))
        return out

    expected = X + np.repeat(np.float32([0, 1]), 32)[:, None]
    assert np.array_equal(simulation.simulate(kernel)[2](X), expected)
    assert np.array_equal(simulation.simulate(kernel[2])(X), expected)


def test_a_kernel_calls_another_and_needs_a_launch():
    @jit
    def inner(a):
        return nl.load(a)

    @jit(mode="trace")
    def outer(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        nl.store(out, inner(a))
        return out

    assert np.array_equal(simulation.simulate(outer)(X), X)
    with pytest.raises(KernelError, match="inner: a kernel is launched on a device"):
        inner(X)


def test_missing_fields_of_a_configuration_are_none():
    from dataclasses import dataclass

    @dataclass
    class Sizes(NKIObject):
        rows: int
        columns: int
        kind = "plain"

    made = Sizes(3, kind="other")
    assert (made.rows, made.columns, made.kind) == (3, None, "other")
    with pytest.raises(TypeError):
        Sizes(1, 2, nothing=3)


def test_sizes_of_the_machine(now):
    assert (nl.tile_size.pmax, nl.tile_size.psum_bank_fmax, nl.tile_size.gemm_moving_fmax) == (128, 512, 512)
    assert nl.tile_size.sbuf_size_bytes == 128 * 224 * 1024


@pytest.mark.parametrize(
    ("target", "usable_bytes"), [("trn1", 180224), ("inf2", 180224), ("trn2", 212984), ("trn3", 245752)]
)
def test_both_names_of_what_aws_calls_usable_have_its_value(target, usable_bytes):
    with recording(target):
        for sizes in (nl.tile_size, old_nl.tile_size):
            assert sizes.sbuf_fmax_bytes == sizes.total_available_sbuf_size == usable_bytes
            assert sizes.sbuf_fmax == usable_bytes // 4


def test_a_tile_has_the_bytes_of_a_partition_that_the_compiler_leaves(now):
    assert nl.ndarray((128, 208 * 1024), nl.int8).shape == (128, 208 * 1024)
    with pytest.raises(KernelError, match="needs 221184 bytes of each partition; a kernel may use 212992"):
        nl.ndarray((128, 216 * 1024), nl.int8)


def test_types_of_memory(now):
    assert nl.is_psum(nl.psum) and nl.is_hbm("hbm") and nl.is_on_chip(nl.sbuf)


def test_operators_survive_copies():
    import copy
    import pickle

    assert copy.deepcopy(nl.add) is pickle.loads(pickle.dumps(nl.add)) is nl.add


def test_the_order_inside_no_reorder_is_the_programs(now):
    with nl.no_reorder():
        nisa.memset(nl.ndarray((4, 4), nl.float32), 1)
    assert [step.op for step in now.instructions] == ["memset"]


def test_memories_are_known_without_an_import():
    from neff_bench.simulator.nki.install import install
    from neff_bench.simulator.nki.simulate import simulate

    install()

    def copied(x):
        tile = sbuf.view(dtype=x.dtype, shape=x.shape)  # noqa: F821
        nisa.dma_copy(tile, x)
        out = hbm.view(dtype=x.dtype, shape=x.shape)  # noqa: F821
        nisa.dma_copy(out, tile)
        return out

    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    assert np.array_equal(simulate(copied)(x), x)


def test_a_name_that_does_not_exist_is_an_error_at_the_kernels_line():
    def tensor(x):
        return x.spam

    def language(x):
        return nl.spam(x)

    def lacking(x):
        return nl.alloc_tiles(x)

    x = np.zeros((4, 4), np.float32)
    with pytest.raises(NkiValidationError, match=r"test_language\.py:\d+: a tensor of nki has no attribute 'spam'"):
        simulation.simulate(tensor)(x)
    with pytest.raises(NkiValidationError, match=r"test_language\.py:\d+: nki\.language has no 'spam'"):
        simulation.simulate(language)(x)
    with pytest.raises(NotModelledError, match=r"nki\.language\.alloc_tiles is not modelled"):
        simulation.simulate(lacking)(x)


def test_an_object_class_that_only_says_its_fields_takes_them():
    class Sizes(NKIObject):
        rows: int
        columns: int = 4
        name = "none"

    made = Sizes(3, name="wide")
    assert (made.rows, made.columns, made.name) == (3, 4, "wide")
    assert Sizes(columns=2).rows is None
    with pytest.raises(NkiValidationError, match="Sizes has the fields rows, columns, name, not depth"):
        Sizes(depth=1)


def test_operators_take_their_operands_by_name():
    np.testing.assert_array_equal(run(lambda x, y: nl.subtract(y=y, x=x), X, Y), X - Y)
    with pytest.raises(NkiValidationError, match=r"test_language\.py:\d+: nl\.add has no argument 'z'"):
        run(lambda x: nl.add(x, z=1.0), X)


def test_assignment_copies_between_memories_and_fills():
    def assigned(a):
        out = nl.ndarray((64, 24), a.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((64, 24), a.dtype, buffer=nl.sbuf)
        tile[:, 0:8] = a[:, 0:8]
        tile[:, 8:16] = nl.exp(nl.load(a[:, 8:16]))
        tile[:, 16:24] = 3.0
        tile[0:32, 16:24] = tile[0:32, 0:1]
        out[...] = tile
        out[0, 0] = tile[5, 1]
        return out

    expected = np.concatenate([X[:, :8], np.exp(X[:, 8:16]), np.full((64, 8), 3, np.float32)], 1)
    expected[:32, 16:] = X[:32, :1]
    expected[0, 0] = X[5, 1]
    np.testing.assert_allclose(simulation.simulate(assigned)(X), expected, rtol=1e-6)


def test_a_reduction_names_an_operator():
    def largest(x):
        made = nl.ndarray((64, 1), x.dtype)
        nisa.tensor_reduce(dst=made, op=nl.max, data=x, axis=1, keepdims=True)
        return made

    assert np.array_equal(run(largest, X), X.max(1, keepdims=True))


@pytest.mark.parametrize("name", ["engine", "reduce_cmd"])
def test_a_member_that_an_enumeration_lacks_is_an_error_at_the_kernels_line(name):
    with pytest.raises(NkiValidationError, match=rf"test_language\.py:\d+: nki's {name} has no attribute 'spam'"):
        run(lambda x: getattr(nisa, name).spam, X)


@pytest.mark.parametrize("decorator", [jit, beta_jit])
def test_a_partial_function_is_a_kernel_of_its_function(decorator):
    def scaled(factor, a):
        assert factor == 2, "wrong factor"
        return a

    assert np.array_equal(simulation.simulate(decorator(functools.partial(scaled, 2)))(X), X)
    assert decorator(functools.partial(scaled, 2)).__name__ == "scaled"


@pytest.mark.parametrize("kind", [np.int32, np.uint32])
def test_elements_are_gathered_at_whole_numbers_of_either_sign(kind):
    places = np.random.default_rng(2).integers(0, 24, (64, 10)).astype(kind)
    assert np.array_equal(run(nl.gather_flattened, X, places), np.take_along_axis(X, places.astype(int), 1))


def test_an_object_without_the_decorator_runs_what_follows_its_fields():
    class Sizes(NKIObject):
        width: int

        def __post_init__(self):
            self.tiles = self.width // 512

    assert Sizes(width=1024).tiles == 2
