import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner

from neff_bench.parsers.cli import inspect
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.hlo import DotDimensions, HloInstruction, Shape, _message, portable, read_hlo, read_hlo_file
from neff_bench.parsers.wire import encode_message

INT_MAX = 2**31 - 1


def lowered(function, *shapes):
    arguments = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in shapes]
    return jax.jit(function, keep_unused=True).lower(*arguments).compiler_ir("hlo").as_serialized_hlo_module_proto()


def gated(x, w):
    return jax.nn.silu(x @ w) * 2.5


def test_a_module_is_read_with_its_shapes_calls_and_constants():
    module = read_hlo(lowered(gated, ((4, 8), "float32"), ((8, 16), "float32")))
    instructions = [i for c in module.computations.values() for i in c.instructions]
    dot = next(i for i in instructions if i.opcode == "dot")
    assert dot.shape.dimensions == (4, 16) and dot.shape.dtype == "float32"
    assert dot.dot.lhs_contracting == (1,) and dot.dot.rhs_contracting == (0,)
    constants = {np.frombuffer(i.literal, "<f4").item() for i in instructions if i.opcode == "constant"}
    assert constants == {1.0, 2.5}
    assert any(i.opcode == "call" and i.calls for i in instructions)


def test_macs_count_batched_products_and_called_computations():
    def batched(a, b):
        return jax.jit(lambda x, y: jnp.einsum("bmk,bkn->bmn", x, y))(a, b)

    assert read_hlo(lowered(batched, ((3, 4, 5), "float32"), ((3, 5, 7), "float32"))).mac_count == 3 * 4 * 5 * 7


def test_portable_ids_fit_32_bits_and_every_reference_follows():
    module = read_hlo(portable(lowered(gated, ((4, 8), "float32"), ((8, 16), "float32")), "gated"))
    ids = [i.id for c in module.computations.values() for i in c.instructions]
    assert module.name == "gated"
    assert sorted(ids) == list(range(1, len(ids) + 1))
    assert max(ids) <= INT_MAX


def test_xla_reads_a_portable_module_as_the_same_program():
    xla = pytest.importorskip("jaxlib._hlo").HloModule
    data = lowered(gated, ((4, 8), "float32"), ((8, 16), "float32"))

    def text(proto):
        lines = xla.from_serialized_hlo_module_proto(proto).to_string().splitlines()
        return [line.split(", metadata=")[0] for line in lines if " = " in line]

    assert len(text(data)) > 5
    assert text(portable(data, "gated")) == text(data)


def test_no_source_location_remains():
    data = portable(lowered(gated, ((4, 8), "float32"), ((8, 16), "float32")), "gated")
    assert b"test_hlo.py" not in data and b".py" not in data


@pytest.mark.parametrize("data", [b"", b"\xff" * 40, b"not a module"])
def test_other_bytes_are_refused_with_the_file_named(data):
    with pytest.raises(ParseError, match="some.hlo: not an HLO module"):
        read_hlo(data, "some.hlo")


def test_a_truncated_module_is_refused():
    data = lowered(gated, ((4, 8), "float32"), ((8, 16), "float32"))
    with pytest.raises(ParseError):
        read_hlo(data[: len(data) // 2])


def module_of(*computations):
    """A module of named computations: `(id, instructions)`, an instruction being `(id, opcode, operands, calls, dot)`."""
    proto = _message("Module")(name="m", entry_computation_id=computations[-1][0])
    for number, instructions in computations:
        computation = proto.computations.add(name=f"c{number}", id=number, root_id=instructions[-1][0])
        for identifier, opcode, operands, calls, contracting in instructions:
            i = computation.instructions.add(
                name=f"i{identifier}", opcode=opcode, id=identifier, operand_ids=operands, called_computation_ids=calls
            )
            i.shape.element_type, i.shape.dimensions[:] = 11, [4, 4]
            if contracting is not None:
                i.dot_dimension_numbers.lhs_contracting.append(contracting)
                i.dot_dimension_numbers.rhs_contracting.append(0)
    return proto.SerializeToString()


PARAMETER = (1, "parameter", [], [], None)
DOT = (2, "dot", [1, 1], [], 1)


def test_a_dot_without_operands_or_with_a_dimension_that_is_not_there_is_refused():
    for dot in ((2, "dot", [], [], 1), (2, "dot", [1], [], 1), (2, "dot", [1, 1], [], 7), (2, "dot", [1, 1], [], -1)):
        with pytest.raises(ParseError, match="operands|dimension"):
            read_hlo(module_of((1, [PARAMETER, dot])))


def shape(element_type, *dimensions):
    return encode_message((2, element_type), *((3, size) for size in dimensions))


def whole(*instructions, entry=7, root=40, name=b"m"):
    """A module with one computation, by the numbers of hlo.proto."""
    computation = encode_message((1, b"main"), *((2, one) for one in instructions), (5, 7), (6, root))
    return encode_message((1, name), (3, computation), (5, 99), (6, entry), (7, b""), (17, b"frames.py"))


LEFT = encode_message((1, b"a"), (2, b"parameter"), (3, shape(16, 4, 8)), (9, 1), (35, 2**40))
PAIR = encode_message((1, b"t"), (2, b"tuple"), (3, encode_message((2, 13), (4, shape(1)), (4, shape(28, 2)))), (35, 3), (36, 2**40), (37, 2**40))  # fmt: skip
LAST = encode_message(
    (1, b"z"), (2, b"dot"), (3, shape(11, 4, 4)), (7, encode_message((1, b"Dot"), (2, b"f"), (4, b"file.py"))), (13, 5),
    (14, 1), (14, 0), (17, encode_message((1, 1), (2, 7), (3, 2))), (17, encode_message((2, 3))),
    (30, encode_message((1, 1), (2, 1), (3, 0), (4, 0))), (35, 40), (36, 2**40), (36, 2**40), (37, 3), (63, b"LT"),
)  # fmt: skip


def test_fields_have_the_numbers_of_xlas_messages():
    module = read_hlo(whole(LEFT, PAIR, LAST))
    assert (module.name, module.entry) == ("m", 7) and module.computations[7].name == "main"
    left, pair, last = module.computations[7].instructions
    assert left == HloInstruction(2**40, "a", "parameter", Shape("bfloat16", (4, 8)), parameter_number=1)
    assert pair.shape == Shape("tuple", (), (Shape("pred"), Shape("float8_e4m3", (2,))))
    assert last == HloInstruction(
        40, "z", "dot", Shape("float32", (4, 4)), (2**40, 2**40), tuple_index=5, dimensions=(1, 0),
        slices=((1, 7, 2), (0, 3, 1)), dot=DotDimensions((1,), (1,), (0,), (0,)), comparison="LT",
    )  # fmt: skip
    call = encode_message((1, b"c"), (2, b"call"), (3, shape(11)), (35, 41), (38, 7))
    with pytest.raises(ParseError, match="^graph.hlo: computation main calls itself$"):
        read_hlo(whole(LEFT, PAIR, LAST, call))


def test_a_portable_module_has_neither_sources_nor_its_own_id_and_keeps_its_order():
    module = _message("Module")()
    module.ParseFromString(portable(whole(LEFT, PAIR, LAST), "new"))
    assert (module.name, module.id, module.entry_computation_id) == ("new", 0, 1)
    assert not module.stack_frame_index and not module.HasField("schedule")
    [computation] = module.computations
    assert (computation.id, computation.root_id) == (1, 3) and [one.id for one in computation.instructions] == [1, 2, 3]
    assert [[*one.operand_ids] for one in computation.instructions] == [[], [1], [1, 1]]
    assert [[*one.control_predecessor_ids] for one in computation.instructions] == [[], [1], [2]]
    assert b"file.py" not in module.SerializeToString() and computation.instructions[2].metadata.op_name == "f"


@pytest.mark.parametrize(
    ("dtype", "code", "field", "data"),
    [
        ("pred", 1, 2, b"\1\0"), ("int8", 2, 15, b"\1\2"), ("int16", 3, 17, b"\1\0"), ("uint8", 6, 3, b"\1\2"),
        ("uint16", 7, 16, b"\1\0"), ("float16", 10, 11, b"\0\x3c"), ("bfloat16", 16, 13, b"\x80\x3f"),
        ("float8_e5m2", 19, 19, b"\x3c"), ("float8_e4m3fn", 20, 20, b"\x38"),
        ("float32", 11, 8, np.array([1.5, -2], "<f4").tobytes()), ("float64", 12, 9, np.array([1.5], "<f8").tobytes()),
    ],
)  # fmt: skip
def test_a_constant_has_the_bytes_of_its_type(dtype, code, field, data):
    constant = encode_message(
        (1, b"k"), (2, b"constant"), (3, shape(code, 2)), (8, encode_message((field, data))), (35, 40)
    )
    [found] = read_hlo(whole(constant)).computations[7].instructions
    assert (found.shape.dtype, found.literal) == (dtype, data)
    other = encode_message((1, b"k"), (2, b"iota"), (3, shape(code, 2)), (8, encode_message((field, data))), (35, 40))
    assert read_hlo(whole(other)).computations[7].instructions[0].literal == b""


@pytest.mark.parametrize(
    ("dtype", "code", "field", "kind"),
    [("int32", 4, 4, "<i4"), ("int64", 5, 5, "<i8"), ("uint32", 8, 6, "<u4"), ("uint64", 9, 7, "<u8")],
)
def test_a_constant_of_whole_numbers_has_their_bytes(dtype, code, field, kind):
    literal = encode_message((field, 1), (field, 300))
    constant = encode_message((1, b"k"), (2, b"constant"), (3, shape(code, 2)), (8, literal), (35, 40))
    [found] = read_hlo(whole(constant)).computations[7].instructions
    assert (found.shape.dtype, found.literal) == (dtype, np.array([1, 300], kind).tobytes())


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (lambda: whole(LEFT, entry=8, root=2**40), "the entry computation 8 is missing"),
        (lambda: whole(LEFT, root=3), "computation main has no root"),
        (lambda: whole(PAIR, LEFT, root=3), "tuple t refers to an instruction that is not there"),
        (lambda: whole(encode_message((1, b"c"), (2, b"call"), (3, shape(11)), (35, 40), (38, 8))), "call c refers to an instruction that is not there"),
        (lambda: whole(encode_message((1, b"k"), (2, b"iota"), (3, shape(99)), (35, 40))), "iota k has element type 99, which is not known"),
        (lambda: whole(encode_message((1, b"k"), (2, b"iota"), (3, shape(11, 2**64 - 1)), (35, 40))), "iota k has a negative dimension"),
        (lambda: module_of((1, [PARAMETER, (2, "dot", [1], [], 1)])), "dot i2 has 1 operands, expected 2"),
        (lambda: module_of((1, [PARAMETER, (2, "dot", [1, 1], [], 2)])), "dot i2 names a dimension that its operand does not have"),
    ],
)  # fmt: skip
def test_a_module_that_does_not_hold_together_is_refused_in_one_line(module, said):
    with pytest.raises(ParseError) as caught:
        read_hlo(module(), "some.hlo")
    assert str(caught.value) == f"some.hlo: {said}"


def test_a_file_has_a_most_of_bytes(tmp_path, monkeypatch):
    (tmp_path / "a.hlo").write_bytes(data := whole(LEFT, root=2**40))
    monkeypatch.setattr("neff_bench.parsers.hlo.FILE_BYTES_MAX", len(data))
    assert read_hlo_file(tmp_path / "a.hlo").name == "m"
    monkeypatch.setattr("neff_bench.parsers.hlo.FILE_BYTES_MAX", len(data) - 1)
    with pytest.raises(ParseError, match=f"{len(data)} bytes, more than {len(data) - 1} for an HLO module"):
        read_hlo_file(tmp_path / "a.hlo")


def test_computations_that_call_each_other_in_a_circle_are_refused():
    one = (1, [PARAMETER, (2, "call", [1], [2], None)])
    two = (2, [PARAMETER, (2, "call", [1], [1], None)])
    with pytest.raises(ParseError, match="calls itself"):
        read_hlo(module_of(one, two))


def test_calls_that_double_at_each_level_are_counted_once_each():
    levels = [(1, [PARAMETER, DOT])]
    for level in range(2, 61):
        levels.append((level, [PARAMETER, (2, "call", [1], [level - 1], None), (3, "call", [2], [level - 1], None)]))
    assert read_hlo(module_of(*levels)).mac_count == 64 * 2**59


def test_inspect_shows_computations_shapes_and_flops(write):
    callee = (1, [PARAMETER, DOT])
    caller = (2, [PARAMETER, (2, "call", [1], [1], None), (3, "call", [2], [1], None)])
    path = write("graph.hlo", module_of(callee, caller))
    shown = json.loads(CliRunner().invoke(inspect, [str(path), "--format", "json"]).stdout)
    assert (shown["kind"], shown["name"], shown["flops"]) == ("hlo", "m", 2 * 2 * 64)
    assert shown["parameters"] == [{"name": "i1", "shape": [4, 4], "dtype": "float32"}]
    assert [(each["name"], each["flops"], each["opcodes"]) for each in shown["computations"]] == [
        ("c1", 128, {"parameter": 1, "dot": 1}),
        ("c2", 256, {"call": 2, "parameter": 1}),
    ]
    table = CliRunner().invoke(inspect, [str(path)])
    assert table.exit_code == 0 and "float32" in table.stdout
    damaged = CliRunner().invoke(inspect, [str(write("bad.hlo", b"no module"))])
    assert damaged.exit_code == 1 and "not an HLO module" in damaged.stderr
