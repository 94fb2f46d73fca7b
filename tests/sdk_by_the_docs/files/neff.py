"""A NEFF: the header of AWS's page work-with-neff-files.rst and a tar with the members that compilers write."""

import base64
import gzip
import hashlib
import io
import json
import pickle
import struct
import tarfile
import uuid

from habits import HABITS

HEADER = struct.Struct("<5Q128sI32s16s256sI64sQI468s")
ARCHES = {"trn1": "sunda", "inf2": "sunda", "trn2": "cayman", "trn3": "mariana"}
ENGINES = {"Tensor": "PE", "Scalar": "Activation", "Vector": "DVE", "GpSimd": "Pool", "Sync": "SP"}
OPCODES = {"MATMUL": 0x02, "ACTIVATE": 0x21, "TENSOR_TENSOR": 0x41, "COPY": 0x46, "MEMSET": 0x49, "DMA_DIRECT2D": 0xB8}


def dtype_name(dtype):
    import numpy as np

    name = np.dtype(dtype).name
    return HABITS["bf16_name"] if name == "bfloat16" else name


def write(path, *, target, lnc, inputs, outputs, program, kernel):
    """`inputs` and `outputs`: (name in the NEFF, shape, dtype). `kernel`: what this SDK runs instead of the machine code."""
    import numpy as np

    lnc = HABITS["lnc_made"] or lnc
    if HABITS["order"] == "reversed":
        inputs, outputs = inputs[::-1], outputs[::-1]
    graphs = [f"sg{core:02d}" for core in range(lnc)]
    members = {
        "hlo_stats.json": {"HloMacCount": 0, "IfmapSize": 0, "OfmapSize": 0, "Traffic": -1},
        "info.json": {
            "tool_version": HABITS["compiler_version"] + "+0a1b2c3d",
            "kelp_version": "Dynamic",
            "name": "file.neff",
            "num_tpb": 1,
            "num_tpb_requested": 1,
            "num_tpb_per_node": [1] + [0] * 63,
        },
        "kelf-0.json": {
            "graphs": [{"definition": f"{graph}/def.json", "name": graph} for graph in graphs],
            "version": "0.5",
            "target": ARCHES[target],
        },
        "kernel.pickle": base64.b64encode(pickle.dumps(kernel)).decode(),
    }
    for graph in graphs:
        variables = {}
        for number, (kind, (name, shape, dtype)) in enumerate(
            [("input", tensor) for tensor in inputs] + [("output", tensor) for tensor in outputs], 1
        ):
            size = int(np.prod(shape)) * np.dtype(dtype).itemsize
            variables[name] = {"type": kind, "size": size, "var_id": number}
        definition = {"version": "0.6", "name": graph, "var": variables, "neff_features": ["neff_feature_vnc"]}
        for engine, short in ENGINES.items():
            slots = [OPCODES[opcode] for where, opcode, _, _ in program if where == engine]
            members[f"{graph}/{short}.bin"] = b"".join(bytes((opcode, 0x10)) + bytes(62) for opcode in slots)
            members[f"{graph}/{short}.json"] = {"dma": []}
            definition[short.lower()] = f"{short}.json"
            definition[f"{short.lower()}_instr"] = f"{short}.bin"
        members[f"{graph}/def.json"] = definition
    members["neff.json"] = _graph(inputs, outputs * lnc)
    blob = _tar(members)
    header = HEADER.pack(
        2, 1024, len(blob), 2, 0, b"", 1, hashlib.md5(blob).digest(), uuid.uuid4().bytes, b"file.neff",
        1, bytes([1]), 0x201C00, lnc, b"",
    )  # fmt: skip
    with open(path, "wb") as file:
        file.write(header + blob)


def _graph(inputs, outputs):
    tensors = [*inputs, *outputs]
    nodes = [
        {"op": "null", "name": name, "inputs": [], "output_names": [name], "is_param": "0"} for name, _, _ in inputs
    ]
    nodes.append(
        {
            "op": "tvm_op",
            "name": "sg_coreV10",
            "attrs": {
                "func_name": "__kelf",
                "kelf": "kelf-0.json",
                "num_inputs": str(len(inputs)),
                "num_outputs": str(len(outputs)),
                "flatten_data": "0",
            },
            "inputs": [[number, 0, 0] for number in range(len(inputs))],
            "output_names": [name for name, _, _ in outputs],
        }
    )
    return {
        "nodes": nodes,
        "arg_nodes": list(range(len(inputs))),
        "heads": [[len(inputs), number, 0] for number in range(len(outputs))],
        "attrs": {
            "shape": ["list_shape", [list(shape) for _, shape, _ in tensors]],
            "storage_id": ["list_int", list(range(len(tensors)))],
            "dltype": ["list_str", [dtype_name(dtype) for _, _, dtype in tensors]],
        },
        "node_row_ptr": [*range(len(inputs) + 1), len(tensors)],
        "metadata": {
            "signatures": {
                "default": {
                    "inputs": {
                        name: {"id": number, "dtype": dtype_name(dtype), "shape": list(shape)}
                        for number, (name, shape, dtype) in enumerate(inputs)
                    },
                    "outputs": {},
                }
            }
        },
    }


def _tar(members):
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w:", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in members.items():
            content = content if isinstance(content, bytes) else _text(content).encode()
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.uid, member.uname = len(content), 0o664, 1000, "nobody"
            archive.addfile(member, io.BytesIO(content))
    packed = gzip.compress(plain.getvalue())
    return packed + bytes(-len(packed) % 10240)


def _text(content):
    return content if isinstance(content, str) else json.dumps(content)


class Neff:
    def __init__(self, path):
        with open(path, "rb") as file:
            raw = file.read()
        self.name = str(path)
        fields = HEADER.unpack_from(raw)
        self.uuid, self.hash, self.lnc = fields[8], fields[7][:16], fields[13]
        self.data_size = fields[2]
        data = gzip.GzipFile(fileobj=io.BytesIO(raw[1024:])).read()
        archive = tarfile.open(fileobj=io.BytesIO(data), mode="r:")
        variables = json.loads(archive.extractfile("sg00/def.json").read())["var"]
        self.inputs = {name: entry["size"] for name, entry in variables.items() if entry["type"] == "input"}
        self.outputs = {name: entry["size"] for name, entry in variables.items() if entry["type"] == "output"}
        self.kernel = pickle.loads(base64.b64decode(archive.extractfile("kernel.pickle").read()))
        self.info = json.loads(archive.extractfile("info.json").read())
