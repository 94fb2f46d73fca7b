"""Rules of advice, each on a timeline with its fault and on the same one mended."""

import pytest

from neff_bench.parsers.event_rows import (
    Dependence,
    DmaRow,
    InstructionRow,
    LinkedDmaRow,
    LinkedInstructionRow,
    Predecessor,
    Timeline,
)
from neff_bench.viewer.advice import advise
from neff_bench.viewer.advice.engines import _are_joined


def rows(engine, opcode, operands, count=12, duration=200, linked=False, **more):
    kind = LinkedInstructionRow if linked else InstructionRow
    numbers = ({"id": number} if linked else {} for number in range(count))
    return [
        kind(timestamp=400 * at, duration=duration, subgroup=engine, subgraph="sg00", opcode=opcode, operands=operands, **number, **more)
        for at, number in enumerate(numbers)
    ]  # fmt: skip


def said(instructions=(), dma=(), *, simulated=False, **summary):
    """Title -> advice."""
    summary = {"total_time": 2e-5, "instance_type": "trn2.3xlarge", **summary}
    found = advise(Timeline("x.json", simulated, summary, list(instructions), list(dma), []))
    return {advice.title: advice for advice in found}


def on_tile(free, partitions=128, dtype="bfloat16", step=1, memory="0x4000"):
    pattern = f"{dtype}@{memory}[{step},1,1,1][{free},1,1,1]"
    return f"src={pattern} dst={pattern} channels={partitions}"


def product(columns):
    return f"acc_flags=3 src=bfloat16@0x4000[1,0,0][{columns},1,1] dst=0x2000000[1,0,0][{columns},1,1] 128*128"


@pytest.mark.parametrize(
    ("start", "wrong", "mended"),
    [
        ("Move more columns with each MATMUL", rows("Tensor", "MATMUL", product(64)), rows("Tensor", "MATMUL", product(512))),
        ("Fill the 128 partitions", rows("Vector", "TENSOR_TENSOR", on_tile(512, 64)), rows("Vector", "TENSOR_TENSOR", on_tile(512, 128))),
        ("Give Vector more elements", rows("Vector", "TENSOR_TENSOR", on_tile(16)), rows("Vector", "TENSOR_TENSOR", on_tile(256))),
        ("Give Vector more elements", rows("Vector", "TENSOR_TENSOR", on_tile(16)), rows("Vector", "TENSOR_TENSOR", on_tile(16, memory="0x4000000"))),
        ("Give Scalar more elements", rows("Scalar", "ACTIVATE", on_tile(16)), rows("Scalar", "ACTIVATE", on_tile(256))),
        ("Lay tiles out so that Vector reads neighbours", rows("Vector", "TENSOR_REDUCE", on_tile(256, step=16)), rows("Vector", "TENSOR_REDUCE", on_tile(256, step=8))),
        ("Keep what Vector works on in bfloat16", rows("Vector", "COPY", on_tile(256, dtype="fp32")), rows("Vector", "COPY", on_tile(256, dtype="fp32", memory="0x2000000"))),
        ("Keep what Vector works on in bfloat16", rows("Vector", "TENSOR_SCALAR", on_tile(256, dtype="fp32")), rows("Vector", "TENSOR_SCALAR", f"{on_tile(256)} operand0=float32@0x9000[1,1,1,1][1,1,1,1]")),
        ("Keep what Vector works on in bfloat16", rows("Vector", "COPY", "src=float32@sbuf:a+0[256,1][128,256] dst=bfloat16@sbuf:b+0[256,1][128,256]"), rows("Vector", "COPY", on_tile(256))),
    ],
)  # fmt: skip
def test_shapes_and_dtypes(start, wrong, mended):
    [advice] = [advice for title, advice in said(wrong).items() if title.startswith(start)]
    assert 0 < advice.gain_us <= 2.4 and advice.evidence
    assert not [title for title in said(mended) if title.startswith(start)]


READS = {"hbm_read_bytes": 4_000_000, "inputs_and_weights_size_bytes": 1_000_000, "inputs_outputs_weights_size_bytes": 1_500_000}  # fmt: skip


@pytest.mark.parametrize(
    ("written", "cores", "start"),
    [(500_000, ["sg00"], "Load each tensor once"), (3_500_000, ["sg00"], "Keep intermediate results in SBUF"),
     (500_000, ["sg00", "sg01", "sg02"], None)],
)  # fmt: skip
def test_what_is_read_again_is_an_input_or_a_result_of_the_kernel(written, cores, start):
    loads = [
        InstructionRow(timestamp=500 * at, duration=500, subgroup="Sync", subgraph=core, opcode="DMA_DIRECT2D")
        for core in cores
        for at in range(12)
    ]
    again = [
        title
        for title in said(loads, hbm_write_bytes=written, **READS)
        if title.startswith(("Load each", "Keep inter"))
    ]
    assert [title[: len(start or "")] for title in again] == ([start] if start else [])


def test_many_small_dynamic_packets_at_once_are_said_of_measured_profiles():
    packets = [
        DmaRow(timestamp=at * 10, duration=5, transfer_size=64, queue_type="hardware_dynamic") for at in range(300)
    ]
    title = (
        "Join the small dynamic DMAs: where there are many at once, the times of the profile are not reliable either"
    )
    assert "up to 300 packets" in said(dma=packets)[title].evidence
    assert title not in said(dma=packets, simulated=True)
    assert title not in said(dma=[*packets[:200]])


def test_a_throttled_tensor_engine():
    limits = {"throttle_activity_1_active_time_nc0_percent": 0.4, "throttle_activity_1_avg_util_limit_nc0_percent": 0.5}
    work = rows("Tensor", "MATMUL", product(512))
    [advice] = [
        advice for title, advice in said(work, **limits).items() if title.startswith("Keep the Tensor Engine busy")
    ]
    assert advice.gain_us == 1.2 and "40% of the time" in advice.evidence
    assert not [title for title in said(work) if title.startswith("Keep the Tensor")]


def test_engines_that_wait_for_each_other_in_turn():
    def chain(overlap):
        found = []
        for number in range(24):
            before = [Predecessor(number - 1 - overlap, Dependence.FLOW)] if number > overlap else []
            engine, opcode = ("Vector", "TENSOR_TENSOR") if number % 2 else ("Scalar", "ACTIVATE")
            begin = 300 * number if not overlap else 300 * (number // 2)
            found.append(LinkedInstructionRow(timestamp=begin, duration=300, subgroup=engine, subgraph="sg00", opcode=opcode,
                                              id=number, predecessors=before))  # fmt: skip
        return found

    start = "Let the engines work on different tiles"
    [advice] = [advice for title, advice in said(chain(0)).items() if title.startswith(start)]
    assert advice.gain_us == pytest.approx(3.6) and "Scalar and Vector" in advice.evidence
    assert not [title for title in said(chain(1)) if title.startswith(start)]


@pytest.mark.parametrize("opcode", ["DMA_DIRECT2D", "WRITE", "SENDRECV"])
def test_an_engine_that_waits_for_dmas_in_turn_waits_for_no_engine(opcode):
    work = [
        LinkedInstructionRow(timestamp=300 * at, duration=300, subgroup="Sync" if at % 2 else "Vector", subgraph="sg00",
                             opcode=opcode if at % 2 else "COPY", id=at, predecessors=[Predecessor(at - 1)] if at else [])
        for at in range(24)
    ]  # fmt: skip
    packets = [LinkedDmaRow(300 * at, 300, 512, subgraph="sg00", trigger=at) for at in range(1, 24, 2)]
    assert not [title for title in said(work, packets) if title.startswith("Let the engines work on different tiles")]


def test_elementwise_instructions_of_which_each_reads_what_the_other_wrote():
    def pairs(readers):
        found = []
        for number in range(12):
            place = f"0x{0x1000 * (number + 1):x}[1,1,1][256,1,1]"
            written = f"dst=bfloat16@0x{0x1000 * (number + 2):x}[1,1,1][256,1,1]"
            before = [Predecessor(one, Dependence.FLOW) for one in range(max(number - readers, 0), number)]
            found.append(LinkedInstructionRow(timestamp=300 * number, duration=300, subgroup="Vector", subgraph="sg00", opcode="TENSOR_SCALAR",
                                              operands=f"src=bfloat16@{place} {written}", id=number, predecessors=before))  # fmt: skip
        return found

    start = "Join elementwise instructions"
    [advice] = [advice for title, advice in said(pairs(1)).items() if title.startswith(start)]
    assert advice.gain_us == pytest.approx(3.3) and "TENSOR_SCALAR then TENSOR_SCALAR" in advice.evidence
    assert not [title for title in said(pairs(3)) if title.startswith(start)]


def test_what_is_at_its_roof_has_no_gain():
    found = said(rows("Vector", "TENSOR_TENSOR", "", duration=390), mbu_estimated_percent=0.7)
    assert found["Vector is at its roof: only less work for it helps"].gain_us is None
    assert found["HBM is at its roof: only fewer bytes help"].gain_us is None
    assert not [title for title in said(rows("Vector", "TENSOR_TENSOR", "")) if "roof" in title]


def on_core(core, opcode, **more):
    return InstructionRow(100, 50, 0, "Vector", core, opcode, **more)


@pytest.mark.parametrize(
    ("beside", "idle"),
    [
        ([], False),
        ([on_core("sg01", "EVENT_SEMAPHORE"), on_core("sg01", "CORE_BARRIER"), on_core("sg01", "TENSOR_STORE")], True),
        ([on_core("sg01", "ACT_TABLE_LOAD", alignment="runtime")], True),
        ([on_core("sg01", "ACT_TABLE_LOAD")], False),
    ],
)
def test_a_core_on_which_the_kernel_does_nothing_is_named(beside, idle):
    found = said([on_core("sg00", "COPY"), on_core("sg00", "COPY", alignment="compiled"), *beside])
    named = [one for title, one in found.items() if title.startswith("Core 1 does nothing: ")]
    assert len(named) == idle
    if idle:
        assert named[0].evidence == "all 2 instructions of the kernel run on core 0" and named[0].gain_us is None


def test_two_cores_that_do_nothing_are_no_advice():
    found = said([on_core("sg00", "EVENT_SEMAPHORE"), on_core("sg01", "EVENT_SEMAPHORE")])
    assert not any("does nothing" in title for title in found)


@pytest.mark.parametrize(
    ("first", "step", "joined"),
    [("TENSOR_TENSOR", 0, True), ("TENSOR_TENSOR", 1, False), ("ACTIVATE", 0, False), ("TENSOR_SCALAR", 1, True), ("COPY", 1, True)],
)  # fmt: skip
def test_a_scalar_for_each_row_is_joined_where_two_tensors_are_one_operation(first, step, joined):
    read = f"data1=float32@0x0[1][8] data2=float32@0x40[{step}][8] dst=float32@0x80[1][8]"
    assert _are_joined(first, "TENSOR_SCALAR", read, "data=float32@0x80[1][8] dst=float32@0xc0[1][8]") is joined
