import sys

import pytest

from neff_bench.simulator.errors import SpecError
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.nki.spec import decode_spec, lookup, resolve_arguments

install()


def test_an_argument_names_an_object_or_the_call_of_one():
    from nki.collectives import ReplicaGroup

    group = {"ref": "nki.collectives:ReplicaGroup"}
    found = resolve_arguments(
        {"kind": group, "groups": [{**group, "args": [[[0, 1], [2, 3]]]}], "plain": {"ref": 1, "x": 2}}
    )
    assert found["kind"] is ReplicaGroup and found["plain"] == {"ref": 1, "x": 2}
    (made,) = found["groups"]
    assert isinstance(made, ReplicaGroup) and made.groups == [[0, 1], [2, 3]]
    inside = resolve_arguments({"kinds": {"ref": "builtins:list", "args": [[group]]}})
    assert inside["kinds"] == [ReplicaGroup]
    with pytest.raises(SpecError, match="ReplicaGroups"):
        resolve_arguments({"g": {"ref": "nki.collectives:ReplicaGroups", "args": []}})


@pytest.mark.parametrize(
    "data", [b'{"entry": "\xf9.py:f"}', b'{"entry": "k.py:f", "arguments": ' + b"[" * 9000], ids=["bytes", "depth"]
)
def test_a_kernel_json_that_is_no_text_or_too_deep_is_one_line(tmp_path, data):
    with pytest.raises(SpecError, match="kernel.json") as raised:
        decode_spec(data, tmp_path)
    assert "\n" not in str(raised.value)


def test_no_bytecode_is_left_of_a_module_that_may_change_within_a_second(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "sizes_of_it.py").write_text("ROWS = 128\n")
    assert lookup("sizes_of_it:ROWS") == 128
    assert [path.name for path in tmp_path.iterdir()] == ["sizes_of_it.py"]
