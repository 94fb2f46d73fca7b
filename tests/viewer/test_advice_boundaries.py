"""Where each rule of advice begins and ends, and what it says can be gained."""

from types import SimpleNamespace

import pytest

from neff_bench.chips import CHIPS
from neff_bench.parsers.event_rows import (
    Dependence,
    DmaRow,
    InstructionRow,
    LinkedDmaRow,
    LinkedInstructionRow,
    Predecessor,
    Timeline,
)
from neff_bench.simulator.timing.sensitivity import Sensitivity
from neff_bench.viewer.advice import sensitivity
from neff_bench.viewer.advice.engines import _continues
from neff_bench.viewer.advice.facts import Facts, covered_ns, spans
from neff_bench.viewer.advice.shapes import _moving
from neff_bench.viewer.critical_path import PathStep
from tests.viewer.test_advice_rules import READS, product, rows, said


def advice(start, *words, **more):
    """The advice whose title starts so, None without one."""
    found = [one for title, one in said(*words, **{"total_time": 1e-7, **more}).items() if title.startswith(start)]
    return found[0] if found else None


def issues(engine, count, first=0):
    """DMAs that an engine issues, 200 ns each, with nothing beside them."""
    return [InstructionRow(400 * at, 200, 0, engine, "sg00", "DMA_DIRECT2D") for at in range(first, first + count)]


def packets(count, size, apart=10, queue="hardware_dynamic"):
    return [DmaRow(timestamp=at * apart, duration=5, transfer_size=size, queue_type=queue) for at in range(count)]


def row(begin, duration):
    return InstructionRow(timestamp=begin, duration=duration)


def test_time_alone_is_the_union_of_some_without_the_others():
    assert covered_ns(spans([row(0, 10), row(5, 10), row(20, 5)])) == 20
    timeline = Timeline("x", False, {}, [row(0, 30), row(10, 5), row(12, 8)], [], [])
    assert Facts(timeline).time_us([0]) == 0.020 and Facts(timeline).time_us([1, 2]) == 0.0


@pytest.mark.parametrize(
    ("on_sync", "on_scalar", "said_so"), [(8, 0, True), (7, 0, False), (9, 1, True), (17, 2, False)]
)
def test_one_queue_is_eight_dmas_of_which_nine_in_ten_are_of_one_engine(on_sync, on_scalar, said_so):
    found = advice("Issue DMAs from several", [*issues("Sync", on_sync), *issues("Scalar", on_scalar, on_sync)])
    assert (found is not None) == said_so
    if found:
        assert found.gain_us == pytest.approx(on_sync * 0.2 * 2 / 3)


@pytest.mark.parametrize(
    ("size", "count", "said_so"), [(511, 12, True), (512, 12, False), (4, 12, False), (5, 12, True)]
)
def test_packets_of_less_than_512_bytes_are_small_and_those_of_a_semaphore_no_data(size, count, said_so):
    found = advice("Move more with each DMA", dma=packets(count, size))
    assert (found is not None) == said_so
    if found:
        assert (
            found.gain_us == pytest.approx(count * 5e-3)
            and f"{count} of {count} DMA packets with data move {size} bytes" in found.evidence
        )


@pytest.mark.parametrize(("reload", "said_so"), [(1000, False), (1001, True)])
def test_spills_count_from_a_quarter_of_what_is_read(reload, said_so):
    found = advice("Keep what is used again", spill_save_bytes=500, spill_reload_bytes=reload, hbm_read_bytes=4000)
    assert (found is not None) == said_so
    if found:
        assert found.gain_us == pytest.approx(1501 / CHIPS["trn2"].hbm_bandwidth / 1000)


@pytest.mark.parametrize(
    ("read", "reload", "said_so"), [(1_500_000, 0, True), (1_499_999, 0, False), (1_600_000, 100_001, False)]
)
def test_reading_again_is_half_as_much_again_as_there_is_without_spills(read, reload, said_so):
    counters = {**READS, "hbm_read_bytes": read, "spill_reload_bytes": reload, "hbm_write_bytes": 500_000}
    found = advice("Load each tensor once", issues("Sync", 6), **counters)
    assert (found is not None) == said_so
    if found:
        assert found.gain_us == pytest.approx(1.2 * (1 - 1 / 1.5)) and "1.5 times" in found.evidence


@pytest.mark.parametrize(("written", "again"), [(2_000_000, False), (2_000_001, True)])
def test_most_of_what_is_read_again_is_the_kernels_own_where_more_than_half_was_written(written, again):
    counters = {**READS, "hbm_read_bytes": 4_000_000, "hbm_write_bytes": written}
    assert (advice("Keep intermediate", issues("Sync", 6), **counters) is not None) == again
    spilled = {**counters, "hbm_write_bytes": written + 1000, "spill_save_bytes": 1000}
    assert (advice("Keep intermediate", issues("Sync", 6), **spilled) is not None) == again


def test_what_the_summary_does_not_say_of_writes_was_not_written():
    assert advice("Load each tensor once", issues("Sync", 6), **READS)


@pytest.mark.parametrize(
    ("small", "said_so"),
    [
        (packets(256, 64, apart=39), True),
        (packets(255, 64, apart=1), False),
        (packets(256, 511), True),
        (packets(256, 512), False),
        (packets(256, 4), False),
        (packets(256, 64, queue="static"), False),
        (
            [*packets(255, 64), DmaRow(timestamp=10_000, duration=5, transfer_size=64, queue_type="software_dynamic")],
            False,
        ),
        (
            [*packets(255, 64), DmaRow(timestamp=9_999, duration=5, transfer_size=64, queue_type="software_dynamic")],
            True,
        ),
    ],
)
def test_a_storm_is_256_small_packets_in_ten_microseconds(small, said_so):
    assert (advice("Join the small dynamic DMAs", dma=small) is not None) == said_so


@pytest.mark.parametrize(
    ("on_vector", "on_gpsimd", "said_so"), [(8, 0, True), (7, 0, False), (9, 1, True), (17, 2, False)]
)
def test_copies_are_shared_where_one_engine_has_nine_in_ten_of_eight(on_vector, on_gpsimd, said_so):
    copies = [*rows("Vector", "COPY", "", on_vector), *rows("GpSimd", "CAST", "", on_gpsimd)]
    found = advice("Share the copies between Vector and Scalar", copies)
    assert (found is not None) == said_so
    if found and not on_gpsimd:
        assert found.gain_us == pytest.approx(8 * 0.2 / 2) and "idle 100%" in found.evidence


def test_copies_of_scalar_are_shared_with_vector_as_far_as_it_is_idle():
    busy = [InstructionRow(400 * at + 200, 100, 0, "Vector", "sg00", "TENSOR_TENSOR") for at in range(8)]
    found = advice("Share the copies between Scalar and Vector", [*rows("Scalar", "COPY", "", 8), *busy])
    assert found.gain_us == pytest.approx(1.6 * (1 - 0.8 / 3.1) / 2)


@pytest.mark.parametrize(("loads", "gain"), [(2, None), (3, 0.4), (5, 0.8)])
def test_a_third_load_of_a_table_is_one_too_many(loads, gain):
    found = advice("Group the activation functions", rows("Scalar", "ACT_TABLE_LOAD", "", loads))
    assert (found and found.gain_us) == (gain and pytest.approx(gain))


def test_work_on_gpsimd_could_take_half():
    assert advice("Move work from GpSimd", rows("GpSimd", "TENSOR_TENSOR", "", 1)).gain_us == pytest.approx(0.1)
    assert not advice("Move work from GpSimd", [*rows("GpSimd", "DRAIN", "", 1), *issues("GpSimd", 1)])


@pytest.mark.parametrize(
    ("active", "limit", "said_so"), [(0.1, 0.5, True), (0.099, 0.5, False), (0.5, 1, False), (0.5, 0.99, True)]
)
def test_the_tensor_engine_is_throttled_from_a_tenth_of_the_time(active, limit, said_so):
    keys = {
        "throttle_activity_1_active_time_nc0_percent": active,
        "throttle_activity_1_avg_util_limit_nc0_percent": limit,
    }
    found = advice("Keep the Tensor Engine busy", rows("Tensor", "MATMUL", product(512)), **keys)
    assert (found is not None) == said_so
    if found:
        assert found.gain_us == pytest.approx(2.4 * (1 - limit))


def test_a_throttle_whose_time_is_no_number_is_not_said():
    keys = {
        "throttle_activity_1_active_time_nc0_percent": "much",
        "throttle_activity_1_avg_util_limit_nc0_percent": 0.5,
    }
    assert advice("Keep the Tensor Engine busy", rows("Tensor", "MATMUL", product(512)), **keys) is None


def test_a_throttle_without_its_limit_is_not_said():
    active = {"throttle_activity_1_active_time_nc0_percent": 0.5}
    assert not advice("Keep the Tensor Engine busy", rows("Tensor", "MATMUL", product(512)), **active)


@pytest.mark.parametrize(("duration", "mbu", "engine", "memory"), [(360, 0.6, True, True), (359, 0.599, False, False)])
def test_nine_tenths_of_an_engine_and_six_of_hbm_are_the_roof(duration, mbu, engine, memory):
    work = [
        *rows("Vector", "TENSOR_TENSOR", "", 10, duration),
        InstructionRow(3900, 100, 0, "Scalar", "sg00", "ACTIVATE"),
    ]
    assert (advice("Vector is at its roof", work) is not None) == engine
    assert (advice("HBM is at its roof", mbu_estimated_percent=mbu) is not None) == memory


def test_products_that_read_float32_could_take_half():
    wide = "src=fp32@0x4000[1,0,0][512,1,1] dst=bfloat16@0x2000000[1,0,0][512,1,1]"
    found = advice("Give the Tensor Engine bfloat16", rows("Tensor", "MATMUL", wide, 4))
    assert found.gain_us == pytest.approx(0.4) and "4 of 4" in found.evidence
    written = "src=bfloat16@0x4000[1,0,0][512,1,1] dst=fp32@0x2000000[1,0,0][512,1,1]"
    assert not advice("Give the Tensor Engine bfloat16", rows("Tensor", "MATMUL", written, 4))


@pytest.mark.parametrize(("count", "said_so"), [(4, True), (3, False)])
def test_four_transposes_are_worth_a_word(count, said_so):
    turned = rows("Tensor", "MATMUL", product(128), count, linked=True, instruction_type="TRANSPOSE")
    found = advice("Lay the tensor out", turned)
    assert (found is not None) == said_so
    if found:
        assert found.gain_us == pytest.approx(0.8) and "4 of 4" in found.evidence


@pytest.mark.parametrize(("total_us", "said_so"), [(5.0, True), (5.1, False)])
def test_what_gains_less_than_two_percent_is_not_said(total_us, said_so):
    work = rows("GpSimd", "TENSOR_TENSOR", "", 1)
    assert (advice("Move work from GpSimd", work, total_time=total_us * 1e-6) is not None) == said_so


def test_spills_and_what_each_core_needs_once_are_not_read_again():
    counters = {**READS, "hbm_read_bytes": 2_000_000, "spill_reload_bytes": 400_000, "hbm_write_bytes": 500_000}
    found = advice("Load each tensor once", issues("Sync", 6), **counters)
    assert found.gain_us == pytest.approx(1.2 * (1 - 1 / 1.6)) and "1.6 times" in found.evidence
    loads = issues("Sync", 6)
    loads[5].subgraph = "sg01"
    found = advice("Load each tensor once", loads, **{**READS, "hbm_write_bytes": 500_000})
    assert found.gain_us == pytest.approx(1.2 * (1 - 2 / 4)) and "4.0 times by 2 cores" in found.evidence


@pytest.mark.parametrize(
    ("type_", "beside", "said_so"),
    [
        (Dependence.FLOW, "", True),
        (next(one for one in Dependence if one is not Dependence.FLOW), "", False),
        (Dependence.FLOW, "src1=bfloat16@0x2000000[1,1,1][256,1,1] ", False),
    ],
)
def test_a_chain_is_of_results_that_are_read_and_empties_no_psum(type_, beside, said_so):
    chain = []
    for number in range(12):
        read, written = (f"bfloat16@0x{0x1000 * (number + more):x}[1,1,1][256,1,1]" for more in (1, 2))
        before = [Predecessor(number - 1, type_)] if number else []
        chain.append(
            LinkedInstructionRow(300 * number, 300, 0, "Vector", "sg00", "TENSOR_SCALAR", 0, f"src={read} {beside}dst={written}",
                                 id=number, predecessors=before)
        )  # fmt: skip
    assert (advice("Join elementwise instructions", chain) is not None) == said_so


def _pairs(first, second, operations=""):
    """Five pairs of instructions of which one reads what the other wrote."""
    steps = []
    for number in range(10):
        read, written = (f"float32@sbuf:t{at}+0[512,1][128,512]" for at in (number, number + 1))
        steps.append(
            LinkedInstructionRow(
                *(300 * number, 300, 0, "Vector", "sg00", second if number % 2 else first, 0),
                f"src={read} dst={written}{operations}",
                id=number,
                predecessors=[Predecessor(number - 1, Dependence.FLOW)] if number % 2 else [],
            )
        )
    return steps


@pytest.mark.parametrize(
    ("opcodes", "said_so"),
    [
        (("TENSOR_SCALAR", "ACTIVATE"), True),
        (("TENSOR_SCALAR", "TENSOR_TENSOR"), True),
        (("ACTIVATE", "COPY"), True),
        (("ACTIVATE", "TENSOR_SCALAR"), False),
        (("TENSOR_TENSOR", "TENSOR_SCALAR"), False),
        (("ACTIVATE", "ACTIVATE"), False),
    ],
)
def test_a_function_comes_last_and_two_tensors_meet_behind_a_scalar(opcodes, said_so):
    assert (advice("Join elementwise instructions", _pairs(*opcodes)) is not None) == said_so


@pytest.mark.parametrize("which", [0, 1])
def test_an_instruction_of_two_operations_takes_no_third(which):
    pairs = _pairs("TENSOR_SCALAR", "TENSOR_SCALAR")
    assert advice("Join elementwise instructions", pairs)
    for one in pairs[which::2]:
        one.operands += " op1=add"
    assert advice("Join elementwise instructions", pairs) is None


def test_two_tensors_and_a_scalar_on_two_bytes_are_faster_as_two_instructions():
    pairs = _pairs("TENSOR_SCALAR", "TENSOR_TENSOR")
    assert advice("Join elementwise instructions on one tile: scalar_tensor_tensor", pairs)
    for one in pairs:
        one.operands = one.operands.replace("float32", "bfloat16")
    assert advice("Join elementwise instructions", pairs) is None


@pytest.mark.parametrize(
    ("first", "reduce", "said_so"),
    [
        ("ACTIVATE", " op=add", True),
        ("TENSOR_TENSOR", " op=add", True),
        ("ACTIVATE", " op=maximum", False),
        ("TENSOR_SCALAR", " op=add", False),
    ],
)
def test_a_sum_of_squares_or_of_a_function_is_one_activation_reduce(first, reduce, said_so):
    tile, row = "float32@sbuf:{}+0[512,1][128,512]", "float32@sbuf:s+0[1,1][128,1]"
    squared = f"data1={tile.format('x')} data2={tile.format('x')} dst={tile.format('y')} op=multiply"
    rows = [
        LinkedInstructionRow(0, 300, 0, "Scalar", "sg00", first, 0, squared, id=0, nki_source_location="k.py:3"),
        LinkedInstructionRow(300, 300, 0, "Vector", "sg00", "TENSOR_REDUCE", 0, f"data={tile.format('y')} dst={row}{reduce}",
                             id=1, predecessors=[Predecessor(0, Dependence.FLOW)], nki_source_location="k.py:4"),
    ]  # fmt: skip
    found = advice("Sum while the function is computed", rows)
    assert (found is not None) == said_so
    if found:
        assert found.gain_us == pytest.approx(0.3) and found.evidence.endswith("most at k.py:4")


def test_a_tensor_with_one_value_for_each_row_is_a_bias():
    of_rows = " data2=float32@sbuf:m+0[1,0][128,512]"
    assert advice("Join elementwise instructions", _pairs("TENSOR_TENSOR", "ACTIVATE", of_rows)) is not None
    assert advice("Join elementwise instructions", _pairs("TENSOR_TENSOR", "ACTIVATE")) is None


def test_what_has_two_operations_already_takes_no_third():
    assert advice("Join elementwise instructions", _pairs("TENSOR_SCALAR", "TENSOR_SCALAR", operations=" op0=multiply"))
    full = _pairs("TENSOR_SCALAR", "TENSOR_SCALAR", operations=" op0=multiply op1=add")
    assert advice("Join elementwise instructions", full) is None


@pytest.mark.parametrize(("step", "times"), [(512, 4), (0, 1)], ids=["again", "broadcast"])
def test_the_tensor_that_is_read_again_is_named_not_the_largest(step, times):
    places = [*(("x", 65536 * part) for part in range(6)), *[("w", 0)] * times]
    loads = [
        LinkedInstructionRow(
            *(400 * at, 200, 0, "Sync", "sg00", "DMA_DIRECT2D", 0),
            f"src=bfloat16@hbm:{name}+{place}[{step if name == 'w' else 512},1][128,512] dst=bfloat16@sbuf:t+0[512,1][128,512]",
            id=at,
        )
        for at, (name, place) in enumerate(places)
    ]
    moved = [LinkedDmaRow(400 * at, 9, 131072, variable=name, trigger=at) for at, (name, _) in enumerate(places)]
    found = advice("Load each tensor once", loads, moved, **{**READS, "hbm_write_bytes": 500_000})
    assert found is not None and found.evidence.endswith("most of it w")


def test_an_engine_works_for_its_share_of_the_kernels_own_time():
    """What sets a core up is no work, and no part of the kernel's own time."""
    names = ("subgroup", "opcode")
    setup, work, other = (
        dict(zip(names, one)) for one in (("Vector", "DRAIN"), ("Vector", "COPY"), ("Tensor", "MATMUL"))
    )
    found = [
        InstructionRow(at, 100, 0, subgraph="sg00", **one)
        for at, one in ((0, setup), (200, work), (500, other), (700, setup))
    ]
    facts = Facts(Timeline("x", False, {}, found, [], []))
    assert facts.span_us == 0.4 and facts.busy_share("Vector") == 0.25 == facts.busy_share("Tensor")
    assert facts.busy_us == {("sg00", "Vector"): 0.1, ("sg00", "Tensor"): 0.1}


def test_a_path_that_is_known_already_is_not_worked_out_again():
    steps = [PathStep(0, 0.0, 5.0, (("Vector", 5.0),))]
    assert Facts(Timeline("x", False, {}, [row(0, 10)], [], []), steps).path is steps


@pytest.mark.parametrize(("total_s", "gains"), [(5.0000000000000004e-08, [0.05]), (5e-8, [])])
def test_a_constant_that_would_gain_a_printed_zero_is_not_said(total_s, gains):
    tried = [Sensitivity("hbm_bandwidth", "2x", 0.0)]
    timeline = Timeline("x", True, {"total_time": total_s}, [], [], [], sensitivity=tried)
    assert [one.gain_us for one in sensitivity(timeline)] == gains


@pytest.mark.parametrize(
    ("text", "columns"),
    [("moving=x@0x0[1][256] src=x@0x0[1][64]", 256), ("src=x@0x0[1][64]", 64), ("dst=x@0x0[1][64]", 0), ("", 0)],
)
def test_the_columns_of_a_product_are_those_of_what_moves(text, columns):
    assert _moving(text) == columns


@pytest.mark.parametrize(("columns", "said_so"), [(1, True), (127, True), (128, False), (0, False)])
def test_a_product_of_one_to_127_columns_is_small(columns, said_so):
    assert (advice("Move more columns", rows("Tensor", "MATMUL", product(columns))) is not None) == said_so


@pytest.mark.parametrize(
    ("active", "limit", "said_so"),
    [
        (0.1, 0.5, True),
        (0.09, 0.5, False),
        (1.0, 0.99, True),
        (1.0, 1.0, False),
        (1.0, None, False),
        ("no", 0.5, False),
    ],
)
def test_a_limit_of_the_tensor_engine_counts_from_a_tenth_of_the_time_and_below_its_peak(active, limit, said_so):
    key = "throttle_activity_1_active_time_nc0_percent"
    counters = {key: active} | ({} if limit is None else {"throttle_activity_1_avg_util_limit_nc0_percent": limit})
    found = advice("Keep the Tensor Engine busy", rows("Tensor", "MATMUL", product(512)), total_time=0, **counters)
    assert (found is not None) == said_so
    if found:
        assert found.gain_us == pytest.approx(12 * 0.2 * (1 - limit)) and found.metric == key
        assert (
            found.evidence
            == f"core 0: {active:.0%} of the time the Tensor Engine may do no more than {limit:.0%} of its peak"
        )


TILE = "bfloat16@sbuf:{}+0[8,1][128,8]"


@pytest.mark.parametrize(
    ("before", "after", "said_so"),
    [
        ("src={x} dst={y}", "src={y} dst={z}", True), ("src={x} dst={y}", "src={x} dst={y}", False), ("src={x} dst={y}", "src={x} dst={z}", False),
        ("src={x}", "src={x} dst={z}", False), ("src=bfloat16@psum:p+0[8,1][128,8] dst={y}", "src={y} dst={z}", False), ("", "", False),
        ("src={x} dst=bfloat16@psum:p+0[8,1][128,8]", "src=bfloat16@psum:p+0[8,1][128,8] dst={z}", False),
    ],
)  # fmt: skip
def test_an_instruction_continues_one_whose_whole_result_it_reads_in_sbuf(before, after, said_so):
    texts = [text.format(**{name: TILE.format(name) for name in "xyz"}) for text in (before, after)]
    assert _continues(SimpleNamespace(text=texts.__getitem__), 0, 1) is said_so


@pytest.mark.parametrize(
    ("names", "most"), [(("x", "y", "y", "unknown", ""), ", most of it y"), (("unknown", "", "", "", ""), "")]
)
def test_without_operands_the_tensor_that_most_bytes_are_moved_of_is_named(names, most):
    sizes = (1000, 600, 600, 9000, 9000)
    moved = [DmaRow(400 * at, 9, size, variable=name) for at, (size, name) in enumerate(zip(sizes, names))]
    found = advice("Load each tensor once", issues("Sync", 5), moved, **{**READS, "hbm_write_bytes": 500_000})
    assert found.evidence.endswith(f"{most}" if most else "4.0 times") and ("most of it" in found.evidence) == bool(
        most
    )


def test_engines_that_wait_for_each_other_are_held_against_the_busiest_of_the_core_where_the_path_ends():
    found = [
        LinkedInstructionRow(300 * at, 300, 0, ("Vector", "Scalar")[at % 2], "sg00" if at < 6 else "sg01", "ACTIVATE", id=at,
                             predecessors=[Predecessor(at - 1, Dependence.FLOW)] if at else [])
        for at in range(16)
    ]  # fmt: skip
    assert advice("Let the engines work on different tiles", found).gain_us == pytest.approx(16 * 0.3 - 5 * 0.3)


def test_what_is_no_product_is_no_transpose_on_the_tensor_engine():
    for opcode, said_so in (("MATMUL", True), ("DMA_DIRECT2D", False), ("COPY", False)):
        turned = rows("Tensor", opcode, product(128), 12, linked=True, instruction_type="TRANSPOSE")
        assert (advice("Lay the tensor out", turned) is not None) == said_so
