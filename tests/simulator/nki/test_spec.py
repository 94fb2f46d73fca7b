import pytest

from neff_bench.simulator.errors import SpecError
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.nki.spec import resolve_arguments

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
    with pytest.raises(SpecError, match="ReplicaGroups"):
        resolve_arguments({"g": {"ref": "nki.collectives:ReplicaGroups", "args": []}})
