"""Reads a NEFF: what a compiled graph or kernel says about itself, without the AWS package. formats/neff.py has its layout.

Inputs and outputs come from `neff.json`, their byte sizes and the queues from `sgNN/def.json`, the target from `kelf-0.json`, the compiler from `info.json`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Annotated, Any

import msgspec

from neff_bench.parsers.archive import BLOCK_BYTES, GZIP_MAGIC, PIECE_BYTES, Member, Stream, unpack, walk
from neff_bench.parsers.errors import ParseError, guarded
from neff_bench.parsers.formats import neff as layout
from neff_bench.parsers.formats.neff import (
    DTYPE_BYTES,
    DTYPES,
    HEADER_BYTES,
    INSTRUCTION_BYTES,
    PROGRAM_MEMBER,
    TARGETS,
)
from neff_bench.parsers.formats.opcodes import PUBLIC
from neff_bench.parsers.source import Source, open_source
from neff_bench.system.decoding import prepare

JSON_BYTES_MAX = 64 * 1024 * 1024
MEMBER_BYTES_MAX = 256 * 1024 * 1024


@dataclass(frozen=True)
class TensorInfo:
    """An input or output. `bytes`: what a raw file for it must hold; None where neither size nor dtype is known."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int | None


@dataclass(frozen=True)
class EngineProgram:
    """`instruction_count`: 64-byte slots in the NEFF, summed over physical cores; the loader adds its own when it runs them.
    `branch_count`: those that jump, so that others may run often or never."""

    instruction_count: int
    branch_count: int = 0


@dataclass(frozen=True)
class Queue:
    """A DMA queue as `def.json` declares it, once for each physical core."""

    name: str
    type: str
    owner: str | None
    num_queues: int | None
    core: int


@dataclass(frozen=True)
class Neff:
    """`uuid`, `hash`: lower-case hex. `hash` identifies; it is not the checksum of anything that is in the file.

    `target`: product name, see TARGETS; `architecture`: the core generation as the file names it.
    `hlo_mac_count`: multiply-accumulates of the HLO graph; None for NKI kernels, whose NEFFs carry no HLO statistics.
    `ranks`: how many logical cores run it together, None where it does not say. `members`: archive order. `simulated`: it carries a simulator's program and no machine code.
    """

    path: str
    bytes: int
    package_version: int
    version: str
    name: str
    uuid: str
    hash: str
    feature_bits: int
    target: str | None
    architecture: str | None
    lnc: int
    ranks: int | None
    compiler_version: str | None
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    engines: Mapping[str, EngineProgram]
    queues: tuple[Queue, ...]
    members: tuple[Member, ...]
    hlo_mac_count: int | None
    simulated: bool


_STREAMS = frozenset(f"{files.file}.bin" for files in layout.ENGINE_FILES)
BRANCH = PUBLIC["COMPARE_BRANCH"]

Index = Annotated[int, msgspec.Meta(ge=0)]


class _Info(msgspec.Struct):
    tool_version: str | None = None
    target: str | None = None


class _Graph(msgspec.Struct):
    definition: str
    name: str


class _Kelf(msgspec.Struct):
    graphs: list[_Graph]
    target: str | None = None


class _Node(msgspec.Struct):
    name: str
    output_names: list[str] = []


class _Attributes(msgspec.Struct):
    shape: tuple[str, list[list[int]]]
    dltype: tuple[str, list[str]]


class _Tvm(msgspec.Struct):
    nodes: list[_Node]
    arg_nodes: list[Index]
    heads: list[tuple[Index, Index, int]]
    attrs: _Attributes
    node_row_ptr: list[Index]


class _Variable(msgspec.Struct):
    type: str = ""
    size: int | None = None


class _DmaQueue(msgspec.Struct):
    type: str = ""
    owner: str | None = None
    num_queues: int | None = None


class _Definition(msgspec.Struct):
    var: dict[str, _Variable] = {}
    dma_queue: dict[str, _DmaQueue] = {}
    world_size: int | None = msgspec.field(name="#rank_world_size", default=None)
    pe_instr: str | list[str] | None = None
    act_instr: str | list[str] | None = None
    pool_instr: str | list[str] | None = None
    dve_instr: str | list[str] | None = None
    sp_instr: str | list[str] | None = None


class _HloStats(msgspec.Struct):
    mac_count: int | None = msgspec.field(name="HloMacCount", default=None)


class _Header(msgspec.Struct):
    package_version: int
    data_bytes: int
    version: str
    uuid: str
    hash: str
    name: str
    feature_bits: int
    lnc: int


_TABLES: dict[str, Any] = {
    layout.INFO: _Info,
    layout.KELF: _Kelf,
    layout.GRAPH: _Tvm,
    layout.HLO_STATS: _HloStats,
}

prepare(_Header, _Definition, *_TABLES.values())


def is_neff(head: bytes | memoryview) -> bool:
    """Return whether these first 1026 bytes (or more) can start a NEFF; the format has no magic number."""
    if len(head) < HEADER_BYTES + 2:
        return False
    header = layout.unpack_header(head)
    return header.header_bytes == HEADER_BYTES and header.package_version in (1, 2) and 1 <= header.version_major <= 2


@guarded
def read_neff(path: str | os.PathLike[str]) -> Neff:
    """Return all that the NEFF says, in one pass over it and without holding it. Raises ParseError."""
    name = os.fspath(path)
    source = open_source(path)
    header = _read_header(source)
    members: list[Member] = []
    tables: dict[str, Any] = {}
    branches: dict[str, int] = {}
    for member, stream in _members(source, header):
        members.append(member)
        if member.name.rpartition("/")[2] in _STREAMS:
            branches[member.name] = _branch_count(stream, member.bytes)
        kind = _Definition if member.name.endswith(f"/{layout.DEFINITION}") else _TABLES.get(member.name)
        if kind is not None:
            tables[member.name] = _decode(name, member, stream, kind)
    missing = [needed for needed in (layout.GRAPH, layout.KELF) if needed not in tables]
    if missing:
        raise ParseError(name, HEADER_BYTES, f"no member {missing[0]} in the archive: not a whole NEFF")
    return _assemble(name, source.size_bytes, header, members, tables, branches)


@guarded
def read_header(path: str | os.PathLike[str]) -> layout.Header:
    """Return the header alone. Raises ParseError."""
    return _checked_header(open_source(path))


@guarded
def read_uuid(path: str | os.PathLike[str]) -> str:
    """Return the uuid alone, from the header. Raises ParseError."""
    return _read_header(open_source(path)).uuid


@guarded
def read_members(
    path: str | os.PathLike[str], names: Collection[str], bytes_max: int = MEMBER_BYTES_MAX
) -> dict[str, bytes]:
    """Return the contents of those of the members that are there. Raises ParseError when they hold more than `bytes_max` bytes."""
    source = open_source(path)
    found: dict[str, bytes] = {}
    for member, stream in _members(source, _read_header(source)):
        if member.name in names:
            total = member.bytes + sum(len(data) for data in found.values())
            if total > bytes_max:
                what = f"member {member.name} has {member.bytes} bytes, {total} in all, more than {bytes_max}"
                raise ParseError(path, member.offset, what)
            found[member.name] = stream.read(member.bytes)
    return found


def _checked_header(source: Source) -> layout.Header:
    name, head = source.path, source.read(0, HEADER_BYTES + 2)
    if not is_neff(head):
        raise ParseError(name, 0, "not a NEFF: it does not begin with a NEFF's header of 1024 bytes")
    header = layout.unpack_header(head)
    data_bytes, lnc = header.data_bytes, header.lnc_size
    if data_bytes > source.size_bytes - HEADER_BYTES:
        what = (
            f"the header announces {data_bytes} bytes of data, {source.size_bytes - HEADER_BYTES} are there: truncated"
        )
        raise ParseError(name, source.size_bytes, what)
    if lnc > 2:
        raise ParseError(name, 552, f"logical core size {lnc}, expected 1 or 2")
    return header


def _read_header(source: Source) -> _Header:
    header = _checked_header(source)
    text = header.name.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")
    # Compilers from before logical cores left the field zero; package version 1 hashes with sha256, 2 with md5.
    digest_bytes = 32 if header.package_version == 1 else 16
    return _Header(
        package_version=header.package_version,
        data_bytes=header.data_bytes,
        version=f"{header.version_major}.{header.version_minor}",
        uuid=header.uuid.hex(),
        hash=header.hash[:digest_bytes].hex(),
        name=text,
        feature_bits=header.feature_bits,
        lnc=header.lnc_size or 1,
    )


def _members(source: Source, header: _Header) -> Iterator[tuple[Member, Stream]]:
    head = source.read(HEADER_BYTES, BLOCK_BYTES)
    if head[:2] != GZIP_MAGIC and head[257:262] != b"ustar":
        raise ParseError(source.path, HEADER_BYTES, "neither gzip nor tar where the archive should start")
    packed = source.pieces(HEADER_BYTES, header.data_bytes, PIECE_BYTES)
    stream = Stream(unpack(source.path, packed, HEADER_BYTES, head[:2] == GZIP_MAGIC))
    for member in walk(source.path, stream):
        yield member, stream


def _decode(name: str, member: Member, stream: Stream, kind: Any) -> Any:
    if member.bytes > JSON_BYTES_MAX:
        raise ParseError(
            name, member.offset, f"member {member.name} has {member.bytes} bytes, more than {JSON_BYTES_MAX}"
        )
    try:
        return msgspec.json.decode(stream.read(member.bytes), type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ParseError(
            name, member.offset, f"member {member.name}: {error} (offset of the unpacked archive)"
        ) from None


def _branch_count(stream: Stream, size_bytes: int) -> int:
    """Return how many slots jump, in pieces of whole slots."""
    found = 0
    while size_bytes > 0 and (piece := stream.read(min(size_bytes, PIECE_BYTES))):
        found += piece[::INSTRUCTION_BYTES].count(BRANCH)
        size_bytes -= len(piece)
    return found


def _assemble(
    name: str,
    size_bytes: int,
    header: _Header,
    members: list[Member],
    tables: dict[str, Any],
    branches: Mapping[str, int],
) -> Neff:
    info: _Info = tables.get(layout.INFO) or _Info()
    kelf: _Kelf = tables[layout.KELF]
    stats: _HloStats = tables.get(layout.HLO_STATS) or _HloStats()
    paths = [graph.definition for graph in kelf.graphs]
    for path in paths:
        if not isinstance(tables.get(path), _Definition):
            raise ParseError(name, HEADER_BYTES, f"no member {path} in the archive, which kelf-0.json names")
    definitions: list[tuple[str, _Definition]] = [(path, tables[path]) for path in paths]
    inputs, outputs = _tensors(name, tables[layout.GRAPH], definitions[0][1].var if definitions else {})
    return Neff(
        path=name,
        bytes=size_bytes,
        package_version=header.package_version,
        version=header.version,
        name=header.name,
        uuid=header.uuid,
        hash=header.hash,
        feature_bits=header.feature_bits,
        target=info.target or (TARGETS.get(kelf.target, kelf.target) if kelf.target else None),
        architecture=kelf.target,
        lnc=header.lnc,
        ranks=max((found.world_size or 0 for _, found in definitions), default=0) or None,
        compiler_version=info.tool_version,
        inputs=inputs,
        outputs=outputs,
        engines=_engines(definitions, {member.name: member.bytes for member in members}, branches),
        queues=_queues(definitions),
        members=tuple(members),
        hlo_mac_count=stats.mac_count if stats.mac_count and stats.mac_count > 0 else None,
        simulated=any(member.name == PROGRAM_MEMBER for member in members),
    )


def _tensors(
    name: str, graph: _Tvm, variables: dict[str, _Variable]
) -> tuple[tuple[TensorInfo, ...], tuple[TensorInfo, ...]]:
    """Return the inputs and outputs in order. A logical core of two lists each output once per physical core: the first one counts."""

    def tensor(label: str, entry: int) -> TensorInfo:
        shape, dtype = tuple(graph.attrs.shape[1][entry]), graph.attrs.dltype[1][entry]
        dtype = DTYPES.get(dtype, dtype)
        element_bytes = DTYPE_BYTES.get(dtype)
        declared = variables.get(label, _Variable()).size
        known = element_bytes is not None and min(shape, default=0) >= 0
        size_bytes = (
            declared if declared is not None else prod(shape) * element_bytes if known and element_bytes else None
        )
        return TensorInfo(label, shape, dtype, size_bytes)

    try:
        inputs = tuple(tensor(graph.nodes[node].name, graph.node_row_ptr[node]) for node in graph.arg_nodes)
        outputs: dict[str, TensorInfo] = {}
        for node, index, _ in graph.heads:
            source = graph.nodes[node]
            label = source.output_names[index] if source.output_names else source.name
            outputs.setdefault(label, tensor(label, graph.node_row_ptr[node] + index))
    except (IndexError, ValueError):
        raise ParseError(name, None, "member neff.json: an index points outside of its table") from None
    return inputs, tuple(outputs.values())


def _engines(
    definitions: list[tuple[str, _Definition]], sizes: Mapping[str, int], branches: Mapping[str, int]
) -> dict[str, EngineProgram]:
    """Return the engines whose streams are all there and made of whole slots; another encoding is left out, not divided."""
    engines = {}
    for engine, _, key in layout.ENGINE_FILES:
        of_cores = [(path, _listed(getattr(definition, f"{key}_instr"))) for path, definition in definitions]
        streams = [f"{path.rpartition('/')[0]}/{stream}" for path, names in of_cores for stream in names]
        counts = [sizes.get(stream) for stream in streams]
        known = [count for count in counts if count is not None and count % INSTRUCTION_BYTES == 0]
        if known and len(known) == len(counts):
            jumps = sum(branches.get(stream, 0) for stream in streams)
            engines[engine] = EngineProgram(sum(known) // INSTRUCTION_BYTES, jumps)
    return engines


def _listed(names: str | list[str] | None) -> list[str]:
    return [names] if isinstance(names, str) else names or []


def _queues(definitions: list[tuple[str, _Definition]]) -> tuple[Queue, ...]:
    return tuple(
        Queue(name, queue.type, queue.owner, queue.num_queues, core)
        for core, (_, definition) in enumerate(definitions)
        for name, queue in definition.dma_queue.items()
    )
