"""Small files of every kind, written byte by byte as the formats are documented in the readers."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tarfile
from collections.abc import Iterable, Mapping

UUID = bytes(range(0x11, 0x21))


def tar_of(members: Mapping[str, bytes], extra: Iterable[tarfile.TarInfo] = ()) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for info in extra:
            archive.addfile(info)
    return out.getvalue()


def neff_header(data_bytes: int, lnc: int = 2, uuid: bytes = UUID) -> bytes:
    return struct.pack(
        "<5Q128sI32s16s256sI64sQI468s",
        2,
        1024,
        data_bytes,
        2,
        0,
        b"",
        1,
        b"\x11" * 16,
        uuid,
        b"file.neff",
        1,
        b"\1",
        0,
        lnc,
        b"",
    )


def neff_members(lnc: int = 2, dtype: str = "bfloat16") -> dict[str, bytes]:
    graph = {
        "nodes": [
            {"op": "null", "name": "x", "output_names": ["x"]},
            {"op": "null", "name": "y", "output_names": ["y"]},
            {"op": "tvm_op", "name": "sg", "output_names": ["out"] * lnc},
        ],
        "arg_nodes": [0, 1],
        "heads": [[2, core, 0] for core in range(lnc)],
        "attrs": {
            "shape": ["list_shape", [[4, 8], [8, 2], *[[4, 2]] * lnc]],
            "dltype": ["list_str", [dtype] * (2 + lnc)],
        },
        "node_row_ptr": [0, 1, 2, 2 + lnc],
    }
    definition = {
        "var": {"x": {"type": "input", "size": 64}, "out": {"type": "output", "size": 16}},
        "dma_queue": {"qSPDynamicHW": {"type": "dynamic", "owner": "sp", "num_queues": 16}},
        "pe_instr": "PE.bin",
        "act_instr": "Activation.bin",
    }
    members = {
        "info.json": {"tool_version": "2.23.6484.0+3b612583"},
        "kelf-0.json": {
            "graphs": [{"definition": f"sg{core:02}/def.json", "name": f"sg{core:02}"} for core in range(lnc)],
            "target": "cayman",
        },
        **{f"sg{core:02}/def.json": definition for core in range(lnc)},
        "hlo_stats.json": {"HloMacCount": 64},
        "neff.json": graph,
    }
    streams = {
        f"sg{core:02}/{name}.bin": bytes(64 * slots)
        for core in range(lnc)
        for name, slots in (("PE", 5), ("Activation", 3))
    }
    return {**streams, **{name: json.dumps(value).encode() for name, value in members.items()}}


def neff_of(members: Mapping[str, bytes], packed: bool = True, padding: int = 10240, **header: object) -> bytes:
    data = tar_of(members)
    if packed:
        data = gzip.compress(data, mtime=0)
        data += bytes(-len(data) % padding)
    return neff_header(len(data), **header) + data  # type: ignore[arg-type]


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def message(*fields: tuple[int, object]) -> bytes:
    """A protobuf message: integers as varints, bytes and text as they are."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else bytes(value)  # type: ignore[arg-type]
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


START, TOTAL = 1_000_000, 5_000_000
BASE = 0x8005C0400000


def record(word: int, detail: int, ticks: int) -> bytes:
    return struct.pack("<IIQ", word, detail, ticks)


def instruction(engine: int, pc: int, begin: int, end: int, wait: int = 1) -> tuple[bytes, bytes]:
    """Begin and end record; times in ps after START."""
    address = ((BASE + engine * 0x10000 >> 6) + pc) & 0x1FFFFF
    word = 0x80000000 | (engine + 1) << 26 | address
    return record(word, wait << 16, START + begin), record(word | 1 << 24, 0xFFFFFFFF, START + end)


def packet(engine: int, queue: int, size: int, begin: int, end: int) -> tuple[bytes, bytes, bytes]:
    """Start, read done, write done."""
    tag = (0x80 | engine) << 24
    return (
        record(tag, queue << 4 | 1, START + begin),
        record(tag | size, queue << 4 | 5, START + end),
        record(tag, queue << 4 | 6, START + end + 10),
    )


def semaphore(identifier: int, value: int, at: int, writer: int = 1) -> bytes:
    return record(0x83000000 | writer << 26 | 0xF3 << 16 | 1 << 8 | identifier, value, START + at)


OPCODES = (0x02, 0x21, 0xA0, 0xB8, 0x46, 0x99)


def ntff_of(
    instructions: Iterable[bytes] = (),
    packets: Iterable[bytes] = (),
    semaphores: Iterable[bytes] = (),
    version: int = 6,
    instance: str = "trn2.3xlarge",
    uuid: bytes = UUID,
    total: int = TOTAL,
    queues: Iterable[tuple[int, int, str]] = (),
) -> bytes:
    """One core (number 4), five streams of six slots with OPCODES."""
    code = b"".join(bytes([opcode]) + bytes(63) for opcode in OPCODES)
    data = code * 5
    streams = [
        (4, message((1, engine), (2, BASE + engine * 0x10000), (7, engine * len(code)), (8, len(code))))
        for engine in range(5)
    ]
    sections = []
    for kind, unit, records in ((0, 0, instructions), (1, 0, semaphores), (4, 1, packets)):
        joined = b"".join(records)
        sections.append((16, message((1, kind), (3, unit), (5, len(data)), (6, len(joined)), (7, 4))))
        data += joined
    named = [(7, message((1, engine), (2, queue), (4, name))) for engine, queue, name in queues]
    core = message((1, "sg00"), (3, 4), *streams, *named, (11, message((2, 4096), (3, "io"))))
    metadata = message(
        (1, "/out/i-0123456789abcdef0_pid_7/file.neff"),
        (2, uuid),
        (3, 10001),
        (4, message((4, message((1, core))))),
        (8, message((1, 2), (2, 30), (3, 51))),
        (9, instance),
        (15, message((1, uuid), (2, START), (3, START + total))),
        (17, "i-0123456789abcdef0"),
        *sections,
    )
    return bytes([version]) + len(metadata).to_bytes(7, "little") + bytes(120) + metadata + data
