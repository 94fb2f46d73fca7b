"""The callers of a kernel's instructions, from what NKI leaves in a NEFF."""

import json

import pytest

from neff_bench.parsers.call_stacks import read_call_stacks
from neff_bench.parsers.errors import ParseError

INDEX = json.dumps({"debug_info_files": [{"file_name": "f.json", "kernel_name": "k"}]}).encode()


def func(name, line, *children):
    return {"func": {"name": name, "file": f"/{name}.py", "line": line, "children": list(children)}}


def loop(line, *children):
    return {"iter": {"var": "i", "val": "0", "line": line, "children": list(children)}}


def inst(name):
    return {"inst": {"name": name, "line": 1}}


def stacks(*nodes):
    return read_call_stacks("x.neff", INDEX, {"f.json": json.dumps([{"lnc": 1, "info": nodes}]).encode()})


def test_a_caller_is_named_by_its_innermost_loop_or_by_its_beginning():
    inner = func("tiles", 7, inst("inst.1"))
    assert stacks(func("k", 3, inst("inst.0"), inner)) == {("k", "inst.1"): ("/k.py:3",)}
    assert stacks(func("k", 3, loop(5, loop(6, inner)))) == {("k", "inst.1"): ("/k.py:6",)}


def test_a_neff_without_debug_information_has_none():
    assert read_call_stacks("x.neff", None, {}) == {} == read_call_stacks("x.neff", INDEX, {})


@pytest.mark.parametrize("children", [7, ["x"], [{"func": 3}]])
def test_damage_is_one_error(children):
    with pytest.raises(ParseError, match=r"f\.json|Expected"):
        stacks({"func": {"name": "k", "file": "/k.py", "line": 3, "children": children}})
