"""Runs of another host, published here as they were made or not at all."""

import os
import shutil

import msgspec
import pytest

from neff_bench.stage2_profile import on_ray
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.errors import RunDamaged
from tests.stage2_profile.capture.test_runs import best, publish


@pytest.fixture
def pair(tmp_path):
    """Two bundles: what is here, and the copy that another host works on."""
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    return tmp_path / "here", tmp_path / "there"


def arrived(bundle, there):
    """The runs of the other host, as they lie on this one's disk."""
    place = bundle / "profiles" / ".work-arrived"
    shutil.copytree(there / "profiles", place)
    return place


def test_a_run_of_another_host_is_published_as_it_was_made(pair):
    here, there = pair
    publish(there)
    with runs.locked(here):
        on_ray.publish_arrived(here, arrived(here, there))
    assert runs.read_run(here / "profiles" / "1") == runs.read_run(there / "profiles" / "1")
    assert runs.read_run(here / "profiles" / "1").files.keys() == {"summary-1.json"}
    assert os.listdir(here / "profiles" / "1") == os.listdir(there / "profiles" / "1")


def test_what_another_host_added_to_a_run_is_added_here(pair):
    here, there = pair
    publish(here, status="captured")
    shutil.copytree(here / "profiles", there / "profiles")
    before = on_ray.records(there)
    path = there / "profiles" / "1"
    (path / "session-1.json").write_bytes(b"[]")
    viewed = msgspec.structs.replace(runs.read_run(path), status="viewed")
    runs.write_run(path, runs.with_files(path, viewed, ["session-1.json"]))
    assert on_ray.unadopted(there, before) == ["1"]
    assert on_ray.unadopted(there, on_ray.records(there)) == []
    with runs.locked(here):
        on_ray.publish_arrived(here, arrived(here, there))
    assert best(here).name == "1"
    runs.check_file(here / "profiles" / "1", runs.read_run(here / "profiles" / "1"), "session-1.json")


def test_nothing_of_a_damaged_arrival_is_published(pair):
    here, there = pair
    publish(there)
    publish(there)
    (there / "profiles" / "2" / "summary-1.json").write_bytes(b"[]")
    with runs.locked(here), pytest.raises(RunDamaged, match="was changed"):
        on_ray.publish_arrived(here, arrived(here, there))
    assert runs.run_directories(here) == []
