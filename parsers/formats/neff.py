"""Declares the layout of a NEFF: a 1024-byte little-endian header (`neff_header_t` of the AWS docs), then a tar. Names are those of neuronx-cc 2.23."""

from __future__ import annotations

import struct
from typing import NamedTuple

from neff_bench.chips import CHIPS

_HEADER = struct.Struct("<5Q128sI32s16s256sI64sQI468s")
HEADER_BYTES = _HEADER.size


class Header(NamedTuple):
    """The header's fields in order. `hash`: md5 in its first 16 bytes for package version 2, sha256 for 1."""

    package_version: int
    header_bytes: int
    data_bytes: int
    version_major: int
    version_minor: int
    build_version: bytes
    num_tpb: int
    hash: bytes
    uuid: bytes
    name: bytes
    requested_tpb_count: int
    tpb_per_node: bytes
    feature_bits: int
    lnc_size: int
    pad: bytes = b""

    def pack(self) -> bytes:
        """Return the 1024 bytes."""
        return _HEADER.pack(*self)


def unpack_header(data: bytes | memoryview) -> Header:
    """Return the header that `data` (1024 bytes or more) starts with. Raises struct.error for less."""
    return Header(*_HEADER.unpack_from(data))


INFO, KELF, GRAPH, HLO_STATS = "info.json", "kelf-0.json", "neff.json", "hlo_stats.json"
"""Members that every graph shares."""
DEFINITION = "def.json"
"""The definition of one physical core, in its directory `sgNN`."""
PROGRAM_MEMBER = "sim/program.msgpack"
"""Only simulated NEFFs have it."""
CODE_MEMBER = "sim/code.msgpack"
"""What the simulator assembled from the program."""

INSTRUCTION_BYTES = 64
LENGTH_BYTE, LENGTH = 1, 0x10
"""Byte 1 of an instruction slot in every real stream."""


class EngineFiles(NamedTuple):
    """Holds what the compiler calls an engine. `file`: stem of its members; `key`: its keys of `def.json`, alone and before `_instr`."""

    engine: str
    file: str
    key: str


ENGINE_FILES = (
    EngineFiles("tensor", "PE", "pe"),
    EngineFiles("scalar", "Activation", "act"),
    EngineFiles("gpsimd", "Pool", "pool"),
    EngineFiles("vector", "DVE", "dve"),
    EngineFiles("sync", "SP", "sp"),
)
"""The files of each engine, by the engine index of NTFF files."""

TARGETS = {
    chip.arch: "/".join(other.name for other in CHIPS.values() if other.arch == chip.arch) for chip in CHIPS.values()
} | {"*": "any"}
"""Core generation in `kelf-0.json` to product names; trn1 and inf2 carry the same core, and the file does not tell which."""

DTYPES = {
    "float8e4": "float8_e4m3",
    "float8e5": "float8_e5m2",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
}
"""Spellings of the compiler that differ from the names used here."""

DTYPE_BYTES = {
    **dict.fromkeys(("bool", "int8", "uint8", "float8_e4m3", "float8_e5m2", "float8_e4m3fn"), 1),
    **dict.fromkeys(("int16", "uint16", "float16", "bfloat16"), 2),
    **dict.fromkeys(("int32", "uint32", "float32", "tfloat32"), 4),
    **dict.fromkeys(("int64", "uint64", "float64"), 8),
}

MUST_ALIAS = ".must_alias_input"
"""What NKI puts behind the name of an input that an output shares its memory with; the output has the plain name (aws-neuron/nki-library
@ 0759719, test/utils/unit_test_framework.py; read 2026-11-23)."""


def plain_name(name: str) -> str:
    """Return the name that a tensor of a NEFF has in its kernel."""
    return name.removesuffix(MUST_ALIAS)
