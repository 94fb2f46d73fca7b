"""Writes and reads the simulated NEFF: the real container (1024-byte header, gzip tar) with the program as an extra member.

The same program gives the same bytes: no time, no random number.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import zlib
from typing import Any

import msgspec

from neff_bench.installation import __version__
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.formats import neff as layout
from neff_bench.parsers.formats.neff import CODE_MEMBER, ENGINE_FILES, HEADER_BYTES, INSTRUCTION_BYTES, PROGRAM_MEMBER
from neff_bench.parsers.neff import read_header, read_members
from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.code.assembler import Code, assemble
from neff_bench.simulator.errors import CaptureError
from neff_bench.simulator.files.code import decode_code, encode_code
from neff_bench.simulator.files.consistency import inconsistency
from neff_bench.simulator.program import Program, decode, encode
from neff_bench.system.files import write_whole

_BLOCK = 10240
_FEATURE_BITS = 0x209C00
"""As in the trn2 NEFFs of github aws-neuron/nkipy; what the bits mean is not public."""


class NeffContent(msgspec.Struct, frozen=True):
    """Holds what `read_neff_content` finds: the program, the header's uuid and hash (16 bytes each) and its `name` field.

    `codes`: machine code of each core, None when another timing model assembled it.
    """

    program: Program
    uuid: bytes
    hash: bytes
    name: str
    data_size: int
    codes: tuple[Code, ...] | None = None


def write_neff(program: Program, path: str) -> None:
    """Write the NEFF of `program`, whole or not at all."""
    write_whole(path, neff_bytes(program, os.path.basename(path)))


def neff_bytes(program: Program, name: str = "file.neff") -> bytes:
    """Return the NEFF as bytes. `name` goes into the header and info.json, as the compiler's `--output` does."""
    encoded = encode(program)
    uuid = _uuid(encoded)
    members = _members(program, name, encoded, uuid)
    payload = _compress(_tar(members))
    payload += bytes(-len(payload) % _BLOCK)
    header = layout.Header(
        package_version=2,
        header_bytes=HEADER_BYTES,
        data_bytes=len(payload),
        version_major=2,
        version_minor=0,
        build_version=b"",
        num_tpb=1,
        hash=hashlib.md5(payload, usedforsecurity=False).digest(),
        uuid=uuid,
        name=name.encode()[:255],
        requested_tpb_count=1,
        tpb_per_node=b"\x01",
        feature_bits=_FEATURE_BITS,
        lnc_size=program.lnc,
    )
    return header.pack() + payload


def read_neff_content(path: str) -> NeffContent:
    """Read a NEFF. Raises CaptureError: no such file, not a NEFF, truncated, built by a real compiler, or with a program that is not consistent."""
    try:
        header = read_header(path)
        members = read_members(path, {PROGRAM_MEMBER, CODE_MEMBER})
    except ParseError as error:
        raise CaptureError(error.what, path) from None
    encoded, code = members.get(PROGRAM_MEMBER), members.get(CODE_MEMBER)
    if encoded is None:
        what = "AWS's compiler built it, and neuron-sim reads only what neuron-sim built; neff-bench inspect shows what is in it"
        raise CaptureError(what, path)
    try:
        program = decode(encoded)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise CaptureError(f"damaged program in NEFF: {error}", path) from None
    wrong = inconsistency(program)
    if wrong is None and _uuid(encoded) != header.uuid:
        wrong = "its bytes are not those that were compiled"
    codes = None
    if wrong is None and code is not None:
        try:
            codes = decode_code(code, program.target, header.uuid)
        except CaptureError as error:
            wrong = error.what
    if wrong is not None:
        raise CaptureError(f"the program in the NEFF is not consistent: {wrong}; compile it again", path)
    name = header.name.rstrip(b"\0").decode("utf-8", "replace")
    return NeffContent(program, header.uuid, header.hash[:16], name, header.data_bytes, codes)


def _uuid(encoded: bytes) -> bytes:
    """Return the uuid; equal programs have equal ones."""
    return hashlib.sha256(b"neff-bench uuid" + encoded).digest()[:16]


def _members(program: Program, name: str, encoded: bytes, uuid: bytes) -> list[tuple[str, bytes]]:
    cores = [f"sg{core:02d}" for core in range(len(program.cores))]
    members: list[tuple[str, bytes]] = []
    if program.model_flops is not None:
        members.append((layout.HLO_STATS, _json(_hlo_stats(program))))
    members.append((layout.INFO, _json({
        "tool_version": f"neuron-sim {__version__}+sim", "target": program.target, "kelp_version": "Dynamic", "name": name,
        "num_tpb": 1, "num_tpb_requested": 1, "num_tpb_per_node": [1] + [0] * 63,
    })))  # fmt: skip
    members.append((layout.KELF, _json({
        "graphs": [{"definition": f"{core}/{layout.DEFINITION}", "name": core} for core in cores],
        "version": "0.5", "target": chip_for(program.target).arch,
    })))  # fmt: skip
    codes = assemble(program)
    for core, code in zip(cores, codes, strict=True):
        for engine, (_, file, _) in enumerate(ENGINE_FILES):
            opcodes = code.opcode[code.engine == engine]
            slots = bytearray(INSTRUCTION_BYTES * len(opcodes))
            slots[0::INSTRUCTION_BYTES] = opcodes.astype("u1").tobytes()
            slots[layout.LENGTH_BYTE :: INSTRUCTION_BYTES] = bytes([layout.LENGTH]) * len(opcodes)
            members.append((f"{core}/{file}.bin", bytes(slots)))
            members.append((f"{core}/{file}.json", _json({"dma": [], "instr": f"{file}.bin", "name": f"{file}.json"})))
        members.append((f"{core}/{layout.DEFINITION}", _json(_definition(program))))
    members.append((PROGRAM_MEMBER, encoded))
    members.append((CODE_MEMBER, encode_code(codes, program.target, uuid)))
    members.append((layout.GRAPH, _json(_graph(program))))
    return members


def _definition(program: Program) -> dict[str, Any]:
    variables: dict[str, Any] = {"SB": {"type": "state-buffer", "var_id": 0}}
    inputs = [(program.input_name(index), index, "input") for index in program.inputs]
    outputs = [(program.buffers[index].name, index, "output") for index in program.outputs]
    for name, index, kind in (*inputs, *outputs):
        size = program.buffers[index].size_bytes
        variables.setdefault(name, {"ops": [], "size": size, "type": kind, "var_id": len(variables)})
    for buffer in program.buffers:
        if buffer.kind == "constant":
            variables[buffer.name] = {"ops": [], "size": buffer.size_bytes, "type": "file", "var_id": len(variables)}
        elif buffer.memory == "hbm" and buffer.kind == "internal":
            variables.setdefault(
                buffer.name,
                {"ops": [], "size": buffer.size_bytes, "type": "tmp-buf", "var_id": len(variables)},
            )
    definition: dict[str, Any] = {
        "#rank_world_size": ranks if (ranks := program.ranks) > 1 else 0, "cc_streams": {"num_streams": 0}, "debug_info": {}, "dma_queue": {},
        "name": "definition", "runtime_event_count": 12, "runtime_semaphore_count": 3, "var": variables, "version": "0.6",
    }  # fmt: skip
    if program.lnc > 1:
        definition["neff_features"] = ["neff_feature_vnc"]
    for _, file, key in ENGINE_FILES:
        definition[key] = f"{file}.json"
        definition[f"{key}_instr"] = f"{file}.bin"
    return definition


def _graph(program: Program) -> dict[str, Any]:
    """Return neff.json: a TVM-style graph. With LNC 2 each output occurs once for each core."""
    inputs = [program.buffers[i] for i in program.inputs]
    names = [program.input_name(i) for i in program.inputs]
    outputs = [program.buffers[i] for i in program.outputs] * program.lnc
    nodes: list[dict[str, Any]] = [
        {"op": "null", "name": name, "inputs": [], "output_names": [name], "is_param": "0"} for name in names
    ]
    nodes.append({
        "op": "tvm_op", "name": "sg_coreV10",
        "attrs": {"func_name": "__kelf", "flatten_data": "0", "num_inputs": str(len(inputs)), "kelf": layout.KELF,
                  "num_outputs": str(len(outputs))},
        "inputs": [[i, 0, 0] for i in range(len(inputs))],
        "output_names": [b.name for b in outputs],
    })  # fmt: skip
    entries = [*inputs, *outputs]
    return {
        "nodes": nodes,
        "arg_nodes": list(range(len(inputs))),
        "heads": [[len(inputs), i, 0] for i in range(len(outputs))],
        "attrs": {
            "shape": ["list_shape", [list(b.shape) for b in entries]],
            "storage_id": ["list_int", list(range(len(entries)))],
            "dltype": ["list_str", [b.dtype for b in entries]],
        },
        "node_row_ptr": [*range(len(inputs) + 1), len(inputs) + len(outputs)],
        "metadata": {"signatures": {"default": {
            "inputs": {
                name: {"id": i, "dtype": b.dtype, "shape": list(b.shape)}
                for i, (name, b) in enumerate(zip(names, inputs, strict=True))
            },
            "outputs": {},
        }}},
    }  # fmt: skip


def _hlo_stats(program: Program) -> dict[str, Any]:
    """Return -1 for what is unknown, as the compiler writes it."""
    inputs = sum(program.buffers[i].size_bytes for i in program.inputs)
    outputs = sum(program.buffers[i].size_bytes for i in program.outputs)
    return {
        "AliasedOutputSize": -1, "ArithmeticIntensity": -1, "ConstantSize": -1, "HloInputCount": len(program.inputs),
        "HloMacCount": (program.model_flops or 0) // 2, "HloOutputCount": len(program.outputs), "IfmapSize": inputs,
        "OfmapSize": outputs, "OutputsReadFromCount": -1, "PassthroughTensorsCount": -1, "RedundantOutputCount": -1,
        "Traffic": -1,
    }  # fmt: skip


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=2).encode()


def _tar(members: list[tuple[str, bytes]]) -> bytes:
    """Pack files as the compiler does: plain files, uid 1000, nobody, time 0, relative names."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(data), 0o664, 0
            info.uid = info.gid = 1000
            info.uname = info.gname = "nobody"
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def _compress(data: bytes) -> bytes:
    # zlib's own gzip wrapper: no time stamp and no name, so that equal programs give equal files.
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()
