import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner

from neff_bench.parsers.cli import inspect
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.hlo import _message, portable, read_hlo

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
