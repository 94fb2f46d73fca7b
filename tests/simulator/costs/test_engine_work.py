import msgspec
import pytest

from neff_bench.chips import CHIPS
from neff_bench.parsers.formats.opcodes import NAMES, OPCODES, PUBLIC
from neff_bench.simulator.compiler.code.lowering import lower
from neff_bench.simulator.costs.activation_tables import activation_table
from neff_bench.simulator.errors import CompileError
from neff_bench.simulator.program import Access, Buffer, Instruction, Program

TRN2, INF2 = CHIPS["trn2"], CHIPS["inf2"]


def cost(
    operation, engine, columns, chip=TRN2, src=("sbuf", "float32"), dst=("sbuf", "float32"), pointer=False, **attributes
):
    buffers = [
        Buffer(name, memory, (128, columns), dtype, "internal") for name, (memory, dtype) in (("s", src), ("d", dst))
    ]
    views = [Access(i, 0, ((columns, 128), (1, columns)), b.dtype) for i, b in enumerate(buffers)]
    reads = {"src" if operation == "tensor_copy" else "data": views[0]}
    if operation == "tensor_tensor":
        reads = {"data1": views[0], "data2": views[0]}
    if pointer:
        buffers.append(Buffer("p", "sbuf", (128, 1), "float32", "internal"))
        reads["operand0"] = Access(2, 0, ((1, 128), (1, 1)), "float32")
    instruction = Instruction(operation, engine, {"dst": views[1]}, reads, attributes)
    lowered = lower(instruction, Program("c", "trn2", 1, tuple(buffers), (), (), ((instruction,),)), chip)
    return lowered.steps[0]


@pytest.mark.parametrize(
    ("found", "measured_ns"),
    [
        # Durations in traces of trn2, github allenkchau/trainium-kernel-fusion @d709ddf1.
        (lambda: cost("tensor_copy", "scalar", 512, src=("psum", "float32")), 586),
        (lambda: cost("tensor_copy", "scalar", 128, src=("psum", "float32")), 265),
        (lambda: cost("activation", "scalar", 512, src=("psum", "float32"), op="exp"), 688),
        (lambda: cost("activation", "scalar", 512, op="exp"), 706),
        (lambda: cost("tensor_copy", "vector", 512, src=("psum", "float32")), 691),
        (lambda: cost("tensor_copy", "vector", 128, src=("psum", "float32")), 289),
        (lambda: cost("tensor_reduce", "vector", 512, op="max"), 685),
        (lambda: cost("tensor_scalar", "vector", 512, pointer=True, op0="multiply"), 481),
        (lambda: cost("tensor_scalar", "vector", 128, src=("psum", "float32"), pointer=True, op0="multiply"), 349),
        (lambda: cost("reciprocal", "vector", 4), 178),
    ],
)
def test_latency_is_that_of_real_traces(found, measured_ns):
    assert found().latency_ns == pytest.approx(measured_ns, rel=0.07)


@pytest.mark.parametrize(
    ("found", "measured_ns"),
    [
        # From the end of one to the end of the next, in the same traces.
        (lambda: cost("tensor_copy", "scalar", 512, src=("psum", "float32")), 487.5),
        (lambda: cost("activation", "scalar", 512, src=("psum", "float32"), op="exp"), 578),
        (lambda: cost("activation", "scalar", 512, op="exp"), 612),
        (lambda: cost("tensor_reduce", "vector", 512, src=("psum", "float32"), op="max"), 598),
        (lambda: cost("tensor_scalar", "vector", 512, pointer=True, op0="multiply"), 396),
    ],
)
def test_results_follow_each_other_as_in_real_traces(found, measured_ns):
    assert found().interval_ns == pytest.approx(measured_ns, rel=0.02)


def test_vector_is_faster_on_narrow_types_in_sbuf():
    wide = cost("tensor_copy", "vector", 4096)
    narrow = cost("tensor_copy", "vector", 4096, src=("sbuf", "bfloat16"), dst=("sbuf", "bfloat16"))
    psum = cost("tensor_copy", "vector", 4096, src=("psum", "float32"), dst=("sbuf", "bfloat16"))
    assert narrow.interval_ns < wide.interval_ns < psum.interval_ns
    assert cost("tensor_copy", "vector", 4096, INF2).interval_ns > wide.interval_ns


def test_the_performance_mode_is_for_two_byte_floats_alone():
    narrow, wide = ("sbuf", "bfloat16"), ("sbuf", "float32")
    fast = cost("tensor_scalar", "vector", 4096, src=narrow, dst=narrow)
    for src, dst in ((narrow, ("sbuf", "float8_e4m3")), (narrow, wide), (("sbuf", "int8"), narrow)):
        slow = cost("tensor_scalar", "vector", 4096, src=src, dst=dst)
        assert slow.interval_ns == cost("tensor_scalar", "vector", 4096).interval_ns > fast.interval_ns


@pytest.mark.parametrize("memory", ["sbuf", "psum"])
@pytest.mark.parametrize(("operation", "slower"), [("tensor_scalar", 2), ("tensor_tensor", 1)])
def test_scalars_with_elements_that_have_gaps_between_them_run_at_half_the_rate(operation, slower, memory):
    def interval_ns(step):
        buffers = tuple(
            Buffer(name, at, (128, 8192), "bfloat16", "internal") for name, at in (("s", memory), ("d", "sbuf"))
        )
        view, to = (Access(i, 0, ((8192, 128), (step, 2048)), "bfloat16") for i in (0, 1))
        reads = {"data1": view, "data2": to} if operation == "tensor_tensor" else {"src": view}
        made = Instruction(operation, "vector", {"dst": to}, reads, {"op": "add"})
        return (
            lower(made, Program("c", "trn2", 1, buffers, (), (), ((made,),)), TRN2).steps[0].interval_ns
            - TRN2.vector_overhead_ns
        )

    assert interval_ns(2) == slower * interval_ns(1)


@pytest.mark.parametrize(
    ("engine", "dtype", "source", "gaps", "ns"),
    [
        ("vector", "float16", "sbuf", "", 185),
        ("vector", "float16", "sbuf", "read", 185),
        ("vector", "float32", "sbuf", "read", 185),
        ("vector", "float16", "psum", "write", 550),
        ("vector", "float32", "psum", "write", 240),
        ("vector", "float16", "sbuf", "write", 280),
        ("scalar", "float16", "sbuf", "", 465),
        ("scalar", "float16", "sbuf", "read", 320),
        ("scalar", "float16", "sbuf", "write", 570),
        ("scalar", "float16", "psum", "write", 562),
        ("scalar", "float32", "psum", "write", 232),
        ("scalar", "float16", "psum", "", 115),
    ],
)
def test_copies_of_two_cs149_repositories_end_as_far_apart_as_in_their_traces(engine, dtype, source, gaps, ns):
    """Those without gaps in SBUF are of 444 columns, others of 128; with gaps every ninth element counts."""
    columns = 444 if source == "sbuf" and not gaps else 128
    names = ("read", source), ("write", "sbuf")
    buffers = tuple(Buffer(name, at, (128, 9 * columns), dtype, "internal") for name, at in names)
    src, dst = (
        Access(i, 0, ((9 * columns, 128), (9 if gaps == name else 1, columns)), dtype)
        for i, (name, _) in enumerate(names)
    )
    made = Instruction("tensor_copy", engine, {"dst": dst}, {"src": src}, {})
    step = lower(made, Program("c", "trn2", 1, buffers, (), (), ((made,),)), TRN2).steps[0]
    assert step.interval_ns == pytest.approx(ns, rel=0.03)


def test_an_operator_with_a_scalar_costs_nothing_beside_that_of_two_tensors():
    two = cost("tensor_tensor", "vector", 512, op="divide")
    assert cost("scalar_tensor_tensor", "vector", 512).interval_ns == two.interval_ns
    assert cost("scalar_tensor_tensor", "vector", 512, INF2).interval_ns == cost("tensor_tensor", "vector", 512, INF2, op="divide").interval_ns  # fmt: skip


def test_copies_that_change_the_type_are_casts():
    assert NAMES[cost("tensor_copy", "vector", 64).opcode] == "COPY"
    assert NAMES[cost("tensor_copy", "vector", 64, dst=("sbuf", "bfloat16")).opcode] == "CAST"


def test_an_operation_that_is_not_declared_has_no_cost():
    with pytest.raises(CompileError, match="operation 'something_new' is not modelled"):
        cost("something_new", "gpsimd", 64)


def test_function_tables_are_loaded_when_needed():
    assert activation_table("exp", None) == "exp_and_others"
    assert activation_table("tanh", "exp_and_others") is None
    assert activation_table("copy", "silu_and_others") is None
    assert activation_table("silu", "exp_and_others") == "silu_and_others"


def test_opcodes_are_one_to_one_and_public_ones_are_kept():
    assert len(set(OPCODES.values())) == len(OPCODES)
    assert OPCODES["MATMUL"] == PUBLIC["MATMUL"] == 2
    assert not {0x41, 0x49, 0x92, 0xA1, 0xA7, 0xA8} & set(OPCODES.values())


@pytest.mark.parametrize(
    ("found", "measured_ns"),
    [
        # Durations in the trace of moe_tkg v6b of trn2, github KevGomes1403/nki-moe-megakernel @f1fe87a.
        (lambda: cost("tensor_scalar", "scalar", 128, pointer=True, op0="multiply"), 491),
        (lambda: cost("tensor_scalar", "scalar", 128, src=("psum", "float32"), pointer=True, op0="multiply"), 450),
        # Of trn2, github chenhzhu/asst4-trainium2 @fecd8c8, part2/profile/final_pool_float16.
        (lambda: cost("tensor_reduce", "vector", 420, src=("sbuf", "float16"), dst=("sbuf", "float16"), op="maximum"), 591),
    ],
)  # fmt: skip
def test_latency_is_that_of_traces_of_other_repositories(found, measured_ns):
    assert found().latency_ns == pytest.approx(measured_ns, rel=0.01)


def test_scalar_adds_what_a_tile_holds_as_fast_as_a_number():
    number = cost("tensor_scalar", "scalar", 128, op0="add")
    assert cost("tensor_scalar", "scalar", 128, pointer=True, op0="add") == number
    assert cost("tensor_scalar", "scalar", 128, pointer=True, op0="multiply").latency_ns > number.latency_ns


@pytest.mark.parametrize(("chip", "cycles"), [(TRN2, 2.0), (INF2, 1.0)])
def test_vector_repeats_an_element_without_its_performance_mode(chip, cycles):
    buffers = tuple(Buffer(name, "sbuf", (128, 2048), "float16", "internal") for name in "abc")
    wide, repeated = (Access(0, 0, ((2048, 128), (step, 2048)), "float16") for step in (1, 0))

    def columns_ns(other):
        reads = {"data1": wide, "data2": msgspec.structs.replace(other, buffer=1)}
        step = Instruction("tensor_tensor", "vector", {"dst": msgspec.structs.replace(wide, buffer=2)}, reads, {"op": "add"})  # fmt: skip
        found = lower(step, Program("c", "trn2", 1, buffers, (), (), ((step,),)), chip).steps[0]
        return found.latency_ns - chip.vector_latency_ns

    assert columns_ns(repeated) == pytest.approx(cycles * columns_ns(wide))
