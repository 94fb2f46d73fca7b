"""Traces: what is counted, what is left out, and what is refused."""

import dataclasses
import os
from dataclasses import replace

import numpy as np
import pytest

from neff_bench.parsers.container import read_container, same_program
from neff_bench.parsers.describe import describe_ntff
from neff_bench.parsers.errors import ParseError, UnknownVersion
from neff_bench.parsers.ntff import read_ntff
from neff_bench.parsers.timeline import assemble


def rows(*pairs):
    return [record for pair in pairs for record in pair]


def test_figures_of_a_small_trace(files, write):
    trace = read_ntff(
        write(
            "a.ntff",
            files.ntff_of(
                rows(
                    files.instruction(0, 0, 100, 200),
                    files.instruction(0, 0, 150, 350),
                    files.instruction(1, 1, 0, 10, wait=12),
                    files.instruction(0, 2, 0, 5000),
                    files.instruction(0, 4, 400, 500),
                ),
                rows(files.packet(3, 1, 4096, 10, 30), files.packet(3, 1, 512, 20, 60)),
                [files.semaphore(7, 9, 42), files.semaphore(7, 0, 6_000_000)],
            ),
        )
    )
    assert (trace.version, trace.certainty, trace.total_time_s) == (6, "exact", 5e-6)
    assert trace.neuroncore_cycle_count == 6000
    assert (trace.matmul_instruction_count, trace.activate_instruction_count, trace.event_count) == (2, 1, 1)
    tensor = trace.engines["tensor"]
    # EVENT_SEMAPHORE (pc 2) is counted and takes no time; overlaps count twice in one figure and once in the other.
    assert (tensor.instruction_count, tensor.instruction_time_s, tensor.active_time_s) == (4, 400e-12, 350e-12)
    assert trace.engines["vector"].instruction_count == 0
    assert dataclasses.astuple(trace.dma) == (2, 4608, 60e-12, 50e-12, 0)
    assert trace.uuid == files.UUID.hex() and trace.runtime_version == "2.30.51"
    names = trace.instructions.opcode_names
    assert sorted({names[index] for index in trace.instructions.opcode}) == [
        "ACTIVATE",
        "COPY",
        "EVENT_SEMAPHORE",
        "MATMUL",
    ]
    assert trace.instructions.wait_ns[trace.instructions.engine == 1].tolist() == [10]
    assert (trace.semaphores.id.tolist(), trace.semaphores.value.tolist(), trace.semaphores.time_ps.tolist()) == (
        [7],
        [9],
        [42],
    )


def test_pairs_are_first_in_first_out_whatever_the_order_in_the_file(files, write):
    one, two = files.instruction(0, 0, 100, 200), files.instruction(0, 0, 150, 350)
    trace = read_ntff(write("a.ntff", files.ntff_of([two[0], one[0], two[1], one[1]])))
    found = sorted(zip(trace.instructions.begin_ps.tolist(), trace.instructions.duration_ps.tolist()))
    assert found == [(100, 100), (150, 200)]


def test_an_end_without_its_begin_does_not_shift_the_others(files, write):
    _, orphan = files.instruction(0, 0, 0, 50)
    whole, open_one = files.instruction(0, 0, 100, 130), files.instruction(0, 0, 200, 201)[:1]
    trace = read_ntff(write("a.ntff", files.ntff_of([orphan, *whole, *open_one])))
    assert (trace.instructions.begin_ps.tolist(), trace.instructions.duration_ps.tolist()) == ([100], [30])


def test_rows_outside_of_the_execution_do_not_count(files, write):
    early, late = files.instruction(0, 0, -10, 10), files.instruction(0, 0, files.TOTAL - 5, files.TOTAL + 1)
    trace = read_ntff(write("a.ntff", files.ntff_of(rows(early, late))))
    assert trace.engines["tensor"].instruction_count == 0


def test_a_queue_with_a_packet_on_the_way_at_the_start_is_left_out_as_in_the_report(files, write):
    packets = rows(files.packet(1, 14, 64, -5, 5), files.packet(1, 14, 64, 10, 20), files.packet(2, 0, 32, 10, 20))
    trace = read_ntff(write("a.ntff", files.ntff_of([], packets)))
    assert (trace.dma.packets, trace.dma.bytes, trace.dma.left_out_packets) == (1, 32, 1)
    assert len(trace.dma_packets.bytes) == 2


def test_unknown_tags_and_loader_records_are_named(files, write):
    begin, end = files.instruction(0, 5, 10, 20)
    strange = files.record(0x8E000000, 0, files.START + 1)
    outside, _ = files.instruction(0, 500, 10, 20)
    trace = read_ntff(write("a.ntff", files.ntff_of([begin, end, strange, outside])))
    assert trace.undecoded == {
        "instruction records of the runtime's loader": 1,
        "instruction records with tag 0x8e": 1,
        "instructions of opcode 0x99": 1,
    }


def test_packets_are_told_apart_by_the_names_of_their_queues(files, write):
    """Queues are listed under 16 x core + engine; a packet of a queue without a name is static."""
    queues = [(64 + 3, 1, "qSPDynamicHW"), (64 + 4, 1, "qPoolDynamic"), (64 + 5, 0, "qActTable")]
    packets = [(3, 1, 512), (3, 1, 512), (4, 1, 64), (5, 0, 8), (6, 9, 16)]
    records = rows(*(files.packet(engine, queue, size, 10, 30) for engine, queue, size in packets))
    trace = read_ntff(write("a.ntff", files.ntff_of(files.instruction(0, 0, 20, 45), records, queues=queues)))
    assert {kind: (time.packets, time.bytes) for kind, time in trace.dma_kinds.items()} == {
        "static": (2, 24),
        "software_dynamic": (1, 64),
        "hardware_dynamic": (2, 1024),
    }
    assert trace.total_active_time_s == 35e-12
    assert (trace.trace_count, trace.family) == (6, "trn2")


def test_exact_depends_on_the_content(files, write):
    """Whoever reads the figures must not take them for checked when part of the file was not understood."""
    known, outside = files.instruction(0, 0, 10, 20), files.instruction(0, 500, 10, 20)
    notification, unnamed = files.record(0x96000000, 0, files.START + 1), files.instruction(0, 5, 10, 20)
    certainty = {
        name: read_ntff(write("a.ntff", files.ntff_of([*known, *more]))).certainty
        for name, more in {"loader": outside, "notification": [notification], "opcode": unnamed}.items()
    }
    assert certainty == {"loader": "exact", "notification": "unverified", "opcode": "unverified"}


def test_a_file_that_changes_while_it_is_read_is_an_error_and_no_signal(files, write):
    path = write("a.ntff", files.ntff_of(files.instruction(0, 0, 10, 20)))
    container = read_container(path)
    os.truncate(path, 200)
    with pytest.raises(ParseError, match="changed while it was read"):
        assemble(container)


@pytest.mark.parametrize(
    ("version", "instance", "certainty", "cycles"),
    [
        (6, "trn2n.48xlarge", "exact", 6000),
        (6, "trn3.3xlarge", "unverified", 6000),
        (6, "new9.large", "unverified", None),
        (230, "trn2.sim", "simulated", 6000),
    ],
)
def test_certainty_names_what_was_compared_with_the_profiler(files, write, version, instance, certainty, cycles):
    trace = read_ntff(write("a.ntff", files.ntff_of(version=version, instance=instance)))
    assert (trace.certainty, trace.neuroncore_cycle_count) == (certainty, cycles)


def test_a_clock_older_than_a_hundred_days_does_not_wrap(files, write, monkeypatch):
    monkeypatch.setattr(files, "START", (1 << 63) + 12345)
    with pytest.raises(ParseError, match="lasts from"):
        read_ntff(write("a.ntff", files.ntff_of(total=-1)))
    trace = read_ntff(write("b.ntff", files.ntff_of(rows(files.instruction(0, 0, 100, 200)))))
    assert trace.instructions.begin_ps.tolist() == [100]


def test_the_instance_id_is_nowhere_in_the_result(files, write):
    trace = read_ntff(write("a.ntff", files.ntff_of()))
    assert b"i-0123456789abcdef0" in files.ntff_of()
    assert "i-0123456789" not in repr(trace) and trace.neff_name == "/out/i-..._pid_7/file.neff"


@pytest.mark.parametrize("version", [0, 1, 3, 7, 115, 129, 255])
def test_unknown_versions_are_named(files, write, version):
    with pytest.raises(UnknownVersion, match=f"NTFF version {version} is not known"):
        read_ntff(write("a.ntff", bytes([version]) + files.ntff_of()[1:]))


def test_a_zeroed_record_is_refused_with_its_offset(files, write):
    data = files.ntff_of([bytes(16)])
    with pytest.raises(ParseError, match="bad tag") as caught:
        read_ntff(write("a.ntff", data))
    assert caught.value.offset == len(data) - 16


def test_truncation_is_named_with_its_offset(files, write):
    data = files.ntff_of(rows(files.instruction(0, 0, 1, 2)))
    for length in (1, 64, 127, 129, 200, len(data) - 1):
        with pytest.raises(ParseError) as caught:
            read_ntff(write("a.ntff", data[:length]))
        assert caught.value.offset is not None and str(caught.value).startswith(str(caught.value.path))


def test_sections_that_overlap_are_refused(files, write):
    body = bytes(160)
    section = files.message((1, 0), (5, 0), (6, 160), (7, 0))
    core = files.message((4, files.message((4, files.message((1, files.message((1, "sg00"))))))))
    metadata = core + files.message((15, files.message((2, 1), (3, 2)))) + files.message((16, section), (16, section))
    data = bytes([6]) + len(metadata).to_bytes(7, "little") + bytes(120) + metadata + body
    with pytest.raises(ParseError, match="overlap"):
        read_ntff(write("a.ntff", data))


@pytest.mark.parametrize(
    ("kept", "whole", "answer"),
    [
        ("aabbccdd" * 4, "aabbccdd" * 4, True),
        ("aabbccddee", "aabbccddee00" + "11" * 10, True),
        ("aabbccddee", "aabbccddff00" + "11" * 10, False),
        ("aa", "aa00" + "11" * 14, None),
        ("bb", "aa00" + "11" * 14, False),
        ("", "00" * 16, None),
    ],
)
def test_a_uuid_cut_at_a_zero_byte_is_compared_as_far_as_it_goes(kept, whole, answer):
    assert same_program(kept, whole) is answer


class TestUnsynchronised:
    """Version 5 on inf2: every engine has its own clock; EVENT_SEMAPHOREs tell the offsets, a NOTIFY tells the start."""

    OFFSETS = (5_000_000, 3_000_000, -7_000_000, 90_000_000, 11_000_000)

    def trace(self, files, write, instance="inf2.xlarge"):
        slots = [(0xA6, 2), (0xA0, 0), (0x02, 0)]
        code = b"".join(bytes([opcode]) + bytes(35) + bytes([mark]) + bytes(27) for opcode, mark in slots)
        instructions, updates = [], []
        generator = np.random.default_rng(1)
        for engine, offset in enumerate(self.OFFSETS):
            base = files.BASE + engine * 0x10000

            def pair(pc, begin, end):
                word = 0x80000000 | (engine + 1) << 26 | ((base >> 6) + pc) & 0x1FFFFF
                yield files.record(word, 1 << 16, 50_000_000 + begin + offset)
                yield files.record(word | 1 << 24, 0xFFFFFFFF, 50_000_000 + end + offset)

            if engine == 0:
                instructions += pair(0, 0, 1_000)
            for at in np.cumsum(generator.integers(50_000, 900_000, 12)).tolist():
                instructions += pair(1, 2_000 + at, 30_000 + at)
                updates.append(files.record(0x83000000 | (engine + 1) << 26 | 0xF30102, 1, 50_000_000 + 30_000 + at))
            instructions += pair(2, 10_000_000, 10_100_000)
            instructions += pair(2, -900_000, -800_000)
        data, sections = b"", []
        for kind, records in ((0, instructions), (1, updates)):
            joined = b"".join(records)
            sections.append((6, files.message((1, kind), (5, len(data)), (6, len(joined)))))
            data += joined
        streams = [
            (4, files.message((1, engine), (2, files.BASE + engine * 0x10000), (3, code))) for engine in range(5)
        ]
        core = files.message((1, "sg00"), *streams, *sections, (14, 20_000_000))
        metadata = files.message(
            (2, files.UUID + b"xy"), (4, files.message((4, files.message((1, core))))), (9, instance)
        )
        return read_ntff(
            write("a.ntff", bytes([5]) + len(metadata).to_bytes(7, "little") + bytes(120) + metadata + data)
        )

    @pytest.mark.parametrize(("instance", "certainty"), [("inf2.xlarge", "calibrated"), ("trn1.2xlarge", "unverified")])
    def test_engines_are_put_on_one_axis(self, files, write, instance, certainty):
        trace = self.trace(files, write, instance)
        assert trace.certainty == certainty and set(trace.engines) == {"tensor", "scalar", "gpsimd", "vector", "sync"}
        matmul = trace.instructions.opcode == 2
        begins = trace.instructions.begin_ps[matmul]
        assert len(begins) == 5 and np.abs(begins - 9_999_000).max() < 20_000
        assert trace.total_time_s == 20e-6 and trace.neuroncore_cycle_count == 28_000

    def test_without_an_opening_notify_figures_are_missing_not_zero(self, files, write, monkeypatch):
        import neff_bench.parsers.clocks

        monkeypatch.setattr(neff_bench.parsers.clocks, "OPENS_PASS", 99)
        trace = self.trace(files, write)
        assert trace.engines == {} and trace.dma is None and trace.matmul_instruction_count is None
        assert trace.undecoded["instructions on a clock that was not found"] == 71


def test_a_full_buffer_is_named(files, write):
    rows_of_one = list(files.instruction(0, 0, 1, 2))
    data = files.ntff_of(rows_of_one)
    metadata_bytes = int.from_bytes(data[1:8], "little")
    for capacity, full in ((32, ("instruction",)), (33, ())):
        metadata = data[128 : 128 + metadata_bytes] + files.message((13, files.message((3, capacity))))
        whole = data[:1] + len(metadata).to_bytes(7, "little") + bytes(120) + metadata + data[128 + metadata_bytes :]
        assert read_ntff(write("a.ntff", whole)).full_buffers == full


def test_every_dma_engine_and_queue_has_its_own_number(files, write):
    """Sixteen DMA engines of sixteen queues each, with a packet on every one of them at the same time, up to 16 MiB long."""

    def size(engine, queue):
        return engine << 20 | queue << 16 | 7

    pairs = [(engine, queue) for engine in range(16) for queue in range(16)]
    packets = rows(*(files.packet(engine, queue, size(engine, queue), 10, 30) for engine, queue in pairs))
    found = read_ntff(write("a.ntff", files.ntff_of([], packets))).dma_packets
    columns = zip(found.engine.tolist(), found.queue.tolist(), found.bytes.tolist(), strict=True)
    assert sorted(columns) == [(engine, queue, size(engine, queue)) for engine, queue in pairs]


def test_a_trace_without_a_window_tells_of_a_first_execution_by_what_its_engines_did(files, write):
    trace = read_ntff(write("a.ntff", files.ntff_of([*files.instruction(0, 0, 100, 200)])))
    alone = replace(trace, total_active_time_s=None)
    assert alone.summed_active_time_s == pytest.approx(trace.total_active_time_s)
    assert replace(alone, dma=None).summed_active_time_s is None
    assert "first (cold) execution" in describe_ntff(replace(alone, total_time_ps=10**9))["warnings"][0]
