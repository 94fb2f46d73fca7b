"""Traces of our own making with every feature of the real ones: versions 4, 5 and 6, clocks of their own for each engine, DMA queues
and ticks, throttle records. What went in comes out, to the tick of the clock."""

import numpy as np
import pytest

from neff_bench.parsers.ntff import read_ntff

NOTIFY, EVENT_SEMAPHORE, MATMUL, THROTTLE = 0xA6, 0xA0, 0x02, 5
CODE = ((NOTIFY, 2), (EVENT_SEMAPHORE, 0), (MATMUL, 0), (0x21, 0))
TICK_PS = 20_000 / 17
TOTAL_PS = 20_000_000
KINDS = [
    (4, "trn1.2xlarge", "unverified"),
    (5, "inf2.xlarge", "calibrated"),
    (5, "trn2.3xlarge", "unverified"),
    (6, "trn2.3xlarge", "exact"),
]
OFFSETS_PS = (5_000_000, 3_000_000, -7_000_000, 90_000_000, 11_000_000)
"""By engine: what its clock counts beside the others, where each has its own."""


class Maker:
    """Encodes one execution as a version writes it. Times go in as picoseconds since the start of the execution."""

    def __init__(self, files, version, instance):
        self.files, self.version, self.instance = files, version, instance
        self.apart = version < 6 and not instance.startswith("trn2")
        # Version 5 on trn2 is opened by a NOTIFY that ends 4167 ps after the start.
        self.opening_ps = 0 if self.apart else 4_167
        self.start = 1_000_000_000
        self.records = {0: b"", 1: b"", 4: b"", THROTTLE: b""}
        self.instruction(0, 0, self.opening_ps - 1_000, self.opening_ps)

    def instruction(self, engine, pc, begin, end, wait=0):
        shift = self.start + (OFFSETS_PS[engine] if self.apart else 0)
        word = 0x80000000 | (engine + 1) << 26 | ((self.files.BASE + engine * 0x10000 >> 6) + pc) & 0x1FFFFF
        self.records[0] += self.files.record(word, wait << 16, shift + begin)
        self.records[0] += self.files.record(word | 1 << 24, 0xFFFFFFFF, shift + end)

    def update(self, identifier, value, at, writer):
        word = 0x83000000 | writer << 26 | 0xF3 << 16 | 1 << 8 | identifier
        self.records[1] += self.files.record(word, value, self.start + at)

    def packet(self, engine, queue, size, begin, end):
        tag = (0x80 | engine) << 24
        for word, kind, at in ((tag, 1, begin), (tag | size, 5, end), (tag, 6, end)):
            ticks = round((777_000_000 + at) / TICK_PS) if self.apart else self.start + at
            self.records[4] += self.files.record(word, queue << 4 | kind, ticks)

    def throttle(self, at):
        self.records[THROTTLE] += self.files.record(0x82000000 | 7 << 26, 0, self.start + at)

    def data(self):
        message = self.files.message
        code = b"".join(bytes([opcode]) + bytes(35) + bytes([mark]) + bytes(27) for opcode, mark in CODE)
        body, sections = (code * 5 if self.version == 6 else b""), []
        for kind, joined in self.records.items():
            place = (5, len(body)), (6, len(joined))
            unit = (3, 1 if kind == 4 else 0)
            sections.append((message((1, kind), unit, *place, (7, 4)), message((1, kind), unit, *place)))
            body += joined
        streams = []
        for engine in range(5):
            about = ((1, engine), (2, self.files.BASE + engine * 0x10000))
            held = ((7, engine * len(code)), (8, len(code))) if self.version == 6 else ((3, code),)
            streams.append((4, message(*about, *held)))
        queue = (7, message((1, 2), (2, 3), (4, "qSyncDynamicHW")))
        fields = [
            (1, "sg00"),
            *([(3, 4)] if self.version == 6 else []),
            *streams,
            queue,
            (11, message((2, 4096), (3, "io"))),
        ]
        if self.version < 6:
            fields += [*((6, old) for _, old in sections), (14, TOTAL_PS)]
        metadata = [
            (1, "file.neff"),
            (2, self.files.UUID),
            (4, message((4, message((1, message(*fields)))))),
            (9, self.instance),
        ]
        if self.version == 6:
            window = message((1, self.files.UUID), (2, self.start), (3, self.start + TOTAL_PS))
            metadata += [(15, window), *((16, new) for new, _ in sections)]
        packed = message(*metadata)
        return bytes([self.version]) + len(packed).to_bytes(7, "little") + bytes(120) + packed + body


def execution(files, version, instance):
    """The file, its MATMULs and ACTIVATEs [engine, begin, duration] and its packets [DMA engine, queue, bytes, begin, duration]."""
    made = Maker(files, version, instance)
    random = np.random.default_rng(version)
    work, packets = [], []
    for engine in range(5):
        for at in np.cumsum(random.integers(50_000, 900_000, 12)).tolist():
            made.instruction(engine, 1, at + 2_000, at + 30_000)
            made.update(engine, 1, at + 30_000, engine + 1)
        work.append((engine, 12_000_000 + 1_000 * engine, 100_000))
        made.instruction(engine, 2 if engine == 0 else 3, *(work[-1][1], work[-1][1] + work[-1][2]), wait=120)
    for number, at in enumerate(np.cumsum(random.integers(50_000, 900_000, 16)).tolist()):
        packets.append((number, 15 - number, 512 + number, at + 1_000_000, 80_000))
        made.packet(*packets[-1][:4], at + 1_080_000)
        made.update(40 + number, number, at + 1_080_000, 6)
    for window in range(3):
        made.throttle(3_413_300 * window + 5)
    return made.data(), work, packets


@pytest.mark.parametrize(("version", "instance", "certainty"), KINDS)
def test_an_execution_is_read_as_it_was_written(files, write, version, instance, certainty):
    data, work, packets = execution(files, version, instance)
    trace = read_ntff(write("a.ntff", data))
    # Where engines have clocks of their own, constants of up to 35 ns are taken off that these engines do not have.
    slack = 60_000 if certainty == "calibrated" else 5_000 if version < 6 else 0
    assert (trace.version, trace.certainty, trace.instance_type) == (version, certainty, instance)
    assert trace.total_time_s == pytest.approx(TOTAL_PS * 1e-12)
    assert dict(trace.queues) == {(2, 3): "qSyncDynamicHW"}
    assert [(use.name, use.bytes) for use in trace.memory] == [("io", 4096)]
    assert trace.matmul_instruction_count == 1
    rows = trace.instructions
    chosen = np.isin(rows.opcode, (MATMUL, 0x21))
    found = sorted(zip(rows.engine[chosen].tolist(), rows.begin_ps[chosen].tolist(), rows.duration_ps[chosen].tolist()))
    for (engine, begin, duration), (want, at, long) in zip(found, work, strict=True):
        assert engine == want and abs(begin - at) <= slack and abs(duration - long) <= slack // 1000 + 3
    # The NOTIFY that opens the pass begins before an execution that starts when it ends.
    opening = 1 if version == 6 or instance.startswith("trn2") else 0
    counts = {name: of.instruction_count for name, of in trace.engines.items()}
    assert counts == {"tensor": 13 + opening, "scalar": 13, "gpsimd": 13, "vector": 13, "sync": 13}
    moved = trace.dma_packets
    columns = (moved.engine, moved.queue, moved.bytes, moved.begin_ps, moved.duration_ps)
    carried = sorted(zip(*(column.tolist() for column in columns)))
    spread = 200_000 if certainty == "calibrated" else 3 * int(TICK_PS) if version < 6 else 0
    for (engine, queue, size, begin, duration), want in zip(carried, packets, strict=True):
        assert (engine, queue, size) == want[:3]
        assert abs(begin - want[3]) <= spread and abs(duration - want[4]) <= 2 * TICK_PS * (version < 6)
    assert len(trace.throttle_ps) == (3 if version == 6 else 0)
    assert not trace.undecoded
