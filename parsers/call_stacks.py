"""Reads the functions and loops that the instructions of a kernel were made in, from the debug information that NKI puts into a NEFF.

    [{"info": [{"func": {"name", "file", "line", "children": [{"iter": {"var", "val", "line", "children": [{"inst": {"name", "line"}}]}}]}}]}]

The line of a function is where it begins; the line of a call is not in there, so a caller is named by the innermost loop around the call, or else by the
line where its function begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from neff_bench.parsers.document import SMALL_BYTES, decode
from neff_bench.parsers.errors import ParseError
from neff_bench.system.decoding import prepare

INDEX = "kernel_debug_info.json"
DEPTH_MAX = 64
"""How deep functions and loops may lie in each other."""

CallStacks = dict[tuple[str, str], tuple[str, ...]]
"""For each kernel and instruction, the lines above the innermost function, outermost first."""


class _File(msgspec.Struct):
    file_name: str = ""
    kernel_name: str = ""


class _Index(msgspec.Struct):
    debug_info_files: list[_File] = []


class _Node(msgspec.Struct):
    """A node of a tree: exactly one of the keys is there."""

    func: dict[str, Any] | None = None
    iter: dict[str, Any] | None = None
    inst: dict[str, Any] | None = None


class _Kernel(msgspec.Struct):
    info: list[_Node] = []


prepare(_Index, list[_Kernel], list[_Node])


def stack_files(name: str, index: bytes | None) -> set[str]:
    """Return the members of a NEFF that hold the trees. Raises ParseError."""
    return {file.file_name for file in _files(name, index)}


def _files(name: str, index: bytes | None) -> list[_File]:
    found: _Index = decode(name, memoryview(index), _Index) if index else _Index()
    return found.debug_info_files


def read_call_stacks(name: str, index: bytes | None, members: Mapping[str, bytes]) -> CallStacks:
    """Return the callers of each instruction that has some, from the members that the index names. Raises ParseError."""
    stacks: CallStacks = {}
    for file in _files(name, index):
        data = members.get(file.file_name, b"")
        if not data or len(data) > SMALL_BYTES:
            continue
        kernels: list[_Kernel] = decode(name, memoryview(data), list[_Kernel])
        try:
            for node in (node for kernel in kernels for node in kernel.info):
                _walk(node, (), "", file.kernel_name, stacks)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ParseError(name, None, f"member {file.file_name}: no tree of functions: {error}") from None
    return stacks


def _walk(node: _Node, callers: tuple[str, ...], here: str, kernel: str, stacks: CallStacks) -> None:
    """Walk a tree. `here`: the line of the innermost function or loop above the node; empty above the first function."""
    if node.inst is not None and callers:
        stacks[kernel, str(node.inst.get("name"))] = callers
    for inner, is_function in ((node.func, True), (node.iter, False)):
        if inner is None or len(callers) > DEPTH_MAX:
            continue
        file = str(inner.get("file", "")) if is_function else here.rpartition(":")[0]
        below = (*callers, here) if is_function and here else callers
        for child in msgspec.convert(inner.get("children", []), list[_Node]):
            _walk(child, below, f"{file}:{inner.get('line', 0)}", kernel, stacks)
