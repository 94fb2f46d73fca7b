"""The compiled parts of the recorder and their plain forms give the same."""

import hashlib
import operator
import subprocess
import sys
from itertools import product
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from neff_bench.simulator.errors import SimulatorError
from neff_bench.simulator.native import recorder as native_recorder
from neff_bench.simulator.nki import isa
from neff_bench.simulator.nki.language.operators import OPERATORS
from neff_bench.simulator.program import encode
from neff_bench.simulator.recording import buffers, check, creation, indexing, operator_names, tensor
from neff_bench.simulator.recording.indexing import DynamicSlice
from neff_bench.simulator.recording.recorder import PlainStorage, recording
from neff_bench.simulator.recording.regions import MemoryRegion
from neff_bench.system import compiled
from tests.golden.programs import OURS
from tests.simulator.recording.test_sources import KERNEL, RESUMED, lines

core = native_recorder.compiled()
pytestmark = pytest.mark.skipif(core is None, reason="the recorder is not compiled here")


def told(made):
    """What can be read of a view or an allocation."""
    names = (tensor.PlainView if isinstance(made, tensor.View) else PlainStorage).__struct_fields__
    values = {name: getattr(made, name) for name in names}
    return {name: told(value) if name == "storage" else msgspec.to_builtins(value) for name, value in values.items()}


def outcome(work, *arguments, **named):
    """What a call makes, or how it is refused."""
    try:
        return told(work(*arguments, **named))
    except SimulatorError as error:
        return type(error), error.what
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return type(error), str(error)


numbers = some.integers(-3, 9)
parts = some.one_of(
    numbers,
    some.builds(slice, some.none() | numbers, some.none() | numbers, some.sampled_from([None, None, 1, 2, 0])),
    some.builds(DynamicSlice, numbers, numbers),
    some.just(...),
    some.booleans(),
)


@given(
    some.sampled_from(["sbuf", "private_hbm"]),
    some.lists(some.integers(1, 6), min_size=1, max_size=4).map(tuple),
    some.lists(parts, min_size=1, max_size=5).map(tuple) | parts,
)
def test_of_views(memory, shape, key):
    with recording("trn2"):
        whole = creation.ndarray(shape, "float32", MemoryRegion[memory])
        made, expected = (outcome(work, whole, key) for work in (operator.getitem, indexing.getitem))
        assert made == expected
        if isinstance(made, dict) and 0 not in made["shape"]:
            view = whole[key]
            first, view._access = tensor.access(view), None
            assert first == tensor.plain_access(view)


ENDS = [None, *range(-1, 6)]
ITEMS = [
    *range(-5, 6),
    *(slice(*ends) for ends in product(ENDS, ENDS, [None, 1, 2])),
    *(DynamicSlice(*bounds) for bounds in product(range(-1, 6), repeat=2)),
]


@pytest.mark.parametrize("memory", ["sbuf", "private_hbm"])
def test_of_every_end_of_an_index(memory):
    with recording("trn2"):
        whole = creation.ndarray((4, 4), "float32", MemoryRegion[memory])
        for key in (key for item in ITEMS for key in ((item, 1), (slice(0, 3), item))):
            assert outcome(operator.getitem, whole, key) == outcome(indexing.getitem, whole, key), key


STEPS = some.sampled_from([-8, 0, 1, 2, 8, 24, 48, 1 << 30, True])
PAIRS = some.tuples(STEPS, some.sampled_from([-1, 0, 1, 2, 3, 4, 64]))
PATTERNS = some.lists(PAIRS | PAIRS.map(list), max_size=4) | some.lists(some.lists(STEPS, max_size=3), max_size=2)


@given(
    some.sampled_from(["sbuf", "psum", "private_hbm"]),
    some.sampled_from([0, slice(1, 3), (slice(None), 1), ...]),
    PATTERNS,
    some.sampled_from([None, -1, 0, 3, 24, 1 << 50]),
    some.sampled_from([{}, {"dtype": "bfloat16"}, {"scalar_offset": 1}, {"indirect_dim": 1}, {"bytes": 1}]),
)
def test_of_patterns(memory, key, pattern, offset, more):
    def made(ap):
        view = ap(whole[key], pattern, offset, **more)
        tensor.access(view)
        return view

    with recording("trn2"):
        whole = creation.ndarray((4, 6, 4), "float32", MemoryRegion[memory])
        made, expected = (outcome(made, ap) for ap in (tensor.NkiTensor.ap, tensor.plain_ap))
        assert made == expected


@given(
    some.sampled_from(["sbuf", "private_hbm"]),
    some.lists(PAIRS, min_size=1, max_size=4),
    some.integers(-1, 100),
    some.sampled_from(["float32", "bfloat16"]),
)
def test_of_bounds(memory, pattern, offset, dtype):
    """Of views that may reach out of their allocation."""
    strides, shape = zip(*pattern)

    def taken(access):
        view = tensor.NkiTensor(whole.storage, offset, shape, strides, dtype, (), True)
        access(view)
        return view

    with recording("trn2"):
        whole = creation.ndarray((4, 6, 4), "float32", MemoryRegion[memory])
        made, expected = (outcome(taken, access) for access in (tensor.access, tensor.plain_access))
        assert made == expected


SIZES = some.sampled_from([0, 1, 2, 64, 129, 512, 1 << 17, True, "4"])
REGIONS = [MemoryRegion.sbuf, MemoryRegion.psum, MemoryRegion.private_hbm, MemoryRegion.shared_hbm, "sbuf"]
BYTES = some.sampled_from([0, 2048, 16000, 190000, None])


@given(
    some.lists(SIZES, max_size=3).map(tuple) | some.integers(0, 4),
    some.sampled_from(["float32", "bfloat16", "bool", "nonsense", None]),
    some.sampled_from(REGIONS),
    some.sampled_from(["", "tile", None]),
    some.none() | some.tuples(some.sampled_from([0, 64, 127]), BYTES),
)
def test_of_allocations(shape, dtype, buffer, name, address):
    compare_allocations(shape, dtype, buffer, name, address)


@pytest.mark.parametrize("memory", ["sbuf", "psum"])
def test_of_places_at_the_edge(memory):
    for rows, partition, byte in product([1, 2, 64, 65], [0, 64, 126, 127], [0, 12288, 12289, 192512, 192513]):
        compare_allocations((rows, 1024), "float32", MemoryRegion[memory], "", (partition, byte))


def compare_allocations(shape, dtype, buffer, name, address):
    def made(ndarray):
        with recording("trn2") as now:
            found = outcome(ndarray, shape, dtype, buffer=buffer, name=name, address=address)
        return found, [told(storage) for storage in now.storages], now.lines.texts

    compiled, expected = map(made, (creation.ndarray, creation.plain_ndarray))
    assert compiled == expected


FLAGS = some.sampled_from([False, True, None, 0])
TILES = some.sampled_from([(), (), None, (0, 0), (32, 64)])


@given(
    some.tuples(*[some.sampled_from(["sbuf", "sbuf", "psum", "private_hbm"])] * 3),
    some.tuples(*[some.sampled_from([(128, 128), (128, 512), (64, 512), (128, 2, 64)])] * 3),
    some.tuples(*[some.sampled_from(["bfloat16", "float32", "float8_e4m3"])] * 3),
    some.sampled_from([None, 0, 1024, 2048]),
    some.fixed_dictionaries(
        {},
        optional={
            "is_stationary_onezero": FLAGS,
            "is_transpose": FLAGS,
            "accumulate": FLAGS,
            "tile_position": TILES,
            "tile_size": TILES,
            "perf_mode": some.sampled_from([None, "none", "double_row", "nonsense"]),
            "name": some.just("product"),
            "nonsense": some.just(1),
        },
    ),
    some.booleans(),
)
def test_of_matmuls(memories, shapes, dtypes, byte, more, right):
    if right:
        memories, shapes, dtypes = (
            ("psum", "sbuf", "sbuf"), ((128, 512), (128, 128), (128, 512)), ("float32", "bfloat16", "bfloat16"),
        )  # fmt: skip

    def outcomes(nc_matmul):
        found = []
        with recording("trn2") as now:
            places = [None if byte is None else (0, byte), None, None]
            made = map(creation.ndarray, shapes, dtypes, map(MemoryRegion.__getitem__, memories), [""] * 3, places)
            dst, *operands = made
            for write in (dst, dst, dst.ap([[512, 128], [1, 512]], 1), None):
                try:
                    found.append(nc_matmul(write, *operands, **more))
                except SimulatorError as error:
                    found.append((type(error), error.what, error.source))
                except TypeError as error:
                    found.append(str(error))
        return found, now.instructions, now.valid_matmuls

    assert outcomes(isa.nc_matmul) == outcomes(native_recorder.PLAIN["nc_matmul"])


VALUES = {
    "tile": ((4, 6), "sbuf"),
    "column": ((4, 1), "psum"),
    "long column": ((6, 1), "sbuf"),
    "deep column": ((4, 1, 1), "sbuf"),
    "row of HBM": ((4, 1), "private_hbm"),
}
NUMBERS = [None, 0, 2.5, True, np.float32(0.5), np.ones(1), "nonsense"]


@pytest.mark.parametrize("value", [*VALUES, *NUMBERS])
def test_of_operands(value):
    """What the rules of `check` say of a value, with each kind of tensor beside it."""
    with recording("trn2"):
        tensors = {name: creation.ndarray(shape, "float32", MemoryRegion[to]) for name, (shape, to) in VALUES.items()}
        unchecked = tensors["tile"].ap([[6, 4], [1, 1]], 6)  # reaches out of its allocation
        given = tensors.get(value, value) if isinstance(value, str) else value
        for name in ("on_chip", "same_tile", "vector", "operand"):
            work = getattr(check, name)
            for like in (*tensors.values(), unchecked):
                assert rule(work, name, given, like) == rule(native_recorder.PLAIN[name], name, given, like)
                assert rule(work, name, like, given) == rule(native_recorder.PLAIN[name], name, like, given)


def rule(work, name, value, like):
    reads, attributes = {}, {}
    arguments = {
        "on_chip": (),
        "same_tile": ("key", value, like),
        "vector": ("key", value, 4),
        "operand": ("key", value, 4, reads, attributes),
    }[name]
    named = {"value": value, "like": like} if name == "on_chip" else {}
    try:
        made = work("op", *arguments, **named)
        operands = {key: tensor.access(operand) for key, operand in reads.items()}
        return made and tensor.access(made), operands, attributes
    except SimulatorError as error:
        return type(error), error.what, [*reads], attributes
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    "given",
    ["add", "max", "nonsense", None, [], np.add, np.maximum, *OPERATORS.values()],
    ids=lambda given: getattr(given, "__name__", str(given)),
)
def test_of_operators(given):
    for allowed in (operator_names.ALU, operator_names.ACTIVATIONS, operator_names.REDUCTIONS):
        words = "op", "key", given, allowed
        assert refused(operator_names.alu, *words) == refused(native_recorder.PLAIN["alu"], *words)


def refused(work, *arguments):
    try:
        return work(*arguments)
    except SimulatorError as error:
        return type(error), error.what


@given(
    some.lists(some.tuples(some.sampled_from(REGIONS[:4]), some.sampled_from(["", "tile", "Größe"])), max_size=12),
    some.integers(0, 10**30),
)
def test_of_buffers(made, last):
    with recording("trn2") as now:
        for region, name in made:
            creation.ndarray((4, 4), "float32", region, name)
        if made:
            now.storages[-1].index = last
        assert buffers.buffers_of(now.storages) == buffers.plain_buffers_of(now.storages)


PLAIN = """
import sys
sys.modules["neff_bench.simulator.native.recorder.core"] = None
from tests.simulator.native.test_recorder import core, digests
assert core is None
print(*digests(sys.argv[1]))
"""


def digests(folder):
    """Of recorded programs, with the lines of kernels that call helpers and generators."""
    kernels = [record for name, record in OURS.items() if name.startswith(("exp ", "matmul ", "mlp b"))]
    made = [hashlib.sha256(encode(record("trn2"))).hexdigest() for record in kernels]
    return made + [str(lines(Path(folder), kernel)).replace(" ", "") for kernel in (KERNEL, RESUMED)]


def test_of_programs(tmp_path):
    command = [sys.executable, "-c", PLAIN, str(tmp_path)]
    plain = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert plain == digests(tmp_path)


def test_an_extension_of_other_sources_is_not_used(monkeypatch):
    native_recorder.compiled.cache_clear()
    monkeypatch.setattr(compiled, "digest", lambda: "0" * 16)
    assert native_recorder.compiled() is None
    native_recorder.compiled.cache_clear()
