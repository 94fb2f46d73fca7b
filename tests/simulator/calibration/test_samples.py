"""What single rows of a timeline say of a chip."""

from neff_bench.chips import CHIPS
from neff_bench.parsers.event_rows import DmaRow, InstructionRow, Timeline
from neff_bench.simulator.calibration.samples import packet_spacings, samples_of

TRN2 = CHIPS["trn2"]
COPY = "src=fp32@0x2002000[1][480] dst=fp32@0x10[1][480]"


def timeline(*rows):
    return Timeline("x.ntff", False, {}, list(rows), [], [])


def row(begin, duration, engine, opcode, operands=""):
    return InstructionRow(begin, duration, 0, engine, "sg00", opcode, 0, operands)


def test_a_copy_shows_the_latency_beyond_its_columns():
    found = samples_of(timeline(row(0, 500 + 170, "Vector", "COPY", COPY)), TRN2)
    assert found == {"vector_latency_ns": [170.0]}


def test_an_instruction_without_operands_shows_nothing():
    assert samples_of(timeline(row(0, 670, "Vector", "COPY"), row(0, 99, "Tensor", "LDWEIGHTS")), TRN2) == {}


def test_the_engine_s_interval_shows_only_where_the_next_instruction_began_before_the_end():
    waited = samples_of(timeline(row(0, 657, "Vector", "COPY", COPY), row(900, 657, "Vector", "COPY", COPY)), TRN2)
    ready = samples_of(timeline(row(0, 657, "Vector", "COPY", COPY), row(570, 657, "Vector", "COPY", COPY)), TRN2)
    assert "vector_overhead_ns" not in waited
    assert ready["vector_overhead_ns"] == [70.0]


def test_the_interval_is_that_of_the_ends_since_an_engine_takes_instructions_in_early():
    early = samples_of(timeline(row(0, 657, "Vector", "COPY", COPY), row(540, 687, "Vector", "COPY", COPY)), TRN2)
    assert early["vector_overhead_ns"] == [70.0]


def test_what_begins_while_its_engine_is_busy_says_nothing_of_the_latency():
    alone = samples_of(timeline(row(0, 657, "Vector", "COPY", COPY), row(900, 660, "Vector", "COPY", COPY)), TRN2)
    behind = samples_of(timeline(row(0, 657, "Vector", "COPY", COPY), row(500, 700, "Vector", "COPY", COPY)), TRN2)
    assert (alone["vector_latency_ns"], behind["vector_latency_ns"]) == ([157.0, 160.0], [157.0])


def test_each_pipeline_of_scalar_has_constants_of_its_own():
    in_sbuf = COPY.replace("0x2002000", "0x20")
    made = (row(0, 558, "Scalar", "COPY", COPY), row(461, 558, "Scalar", "COPY", COPY),
            row(2000, 660, "Scalar", "ACTIVATE", COPY), row(2551, 660, "Scalar", "ACTIVATE", COPY),
            row(4000, 680, "Scalar", "ACTIVATE", in_sbuf), row(4585, 680, "Scalar", "ACTIVATE", in_sbuf))  # fmt: skip
    assert samples_of(timeline(*made), TRN2) == {
        "scalar_latency_ns": [158.0], "scalar_copy_overhead_ns": [61.0],
        "scalar_function_latency_ns": [260.0], "scalar_overhead_ns": [151.0],
        "scalar_sbuf_latency_ns": [280.0], "scalar_sbuf_overhead_ns": [185.0],
    }  # fmt: skip


def test_a_product_on_a_throttled_pe_says_nothing_of_its_latency():
    operands = "src=bfloat16@0x372fe[1][512] dst=0x2000000[1][512] 128*128"
    full = samples_of(timeline(row(0, 380, "Tensor", "MATMUL", operands)), TRN2)
    throttled = samples_of(timeline(row(0, 650, "Tensor", "MATMUL", operands)), TRN2)
    assert list(full) == ["pe_latency_ns"]
    assert throttled == {}


def test_loads_of_float32_weights_say_nothing_of_those_of_two_bytes():
    for operands, told in (
        ("src=fp32@0x1[1][4] 128*128", {}),
        ("src=bfloat16@0x1[1][4] 1", {"load_weights_ns": [72.333]}),
    ):
        found = samples_of(timeline(row(0, 99, "Tensor", "LDWEIGHTS", operands)), TRN2)
        assert {name: [round(value, 3) for value in values] for name, values in found.items()} == told


def test_packets_of_one_engine_and_size_that_touch_show_their_spacing():
    def packet(begin, size=512, engine="64", kind="hardware_dynamic"):
        return DmaRow(begin, 30, size, f"Q1-E{engine}", "sg00", engine, "1", kind)

    assert packet_spacings([packet(0), packet(24), packet(5, engine="65")]) == [(512, 24)]
    assert packet_spacings([packet(0), packet(90)]) == []
    assert packet_spacings([packet(0), packet(24, size=64)]) == []
    assert packet_spacings([packet(0, kind="software_dynamic"), packet(24, kind="software_dynamic")]) == []
