"""The contract of each release agrees with what is documented, entry by entry."""

import copy
import json
from collections.abc import Iterator, Mapping
from functools import cache

import msgspec
import pytest

from neff_bench.sdk.release import Release, documents, merged, names
from tests.sdk.agreement import SECTIONS, complaints

WORDS = ("source", "sure", "date", "name", "advice", "kind", "answer", "generation")
"""What speaks about an entry. Its absence is refused by the reader, or is our own answer, which other tests hold."""


@cache
def plain():
    """The files as plain data without aliases, so that one place can change alone."""
    return json.loads(json.dumps(documents()))


@pytest.mark.parametrize("release", names())
def test_the_contract_agrees_with_what_is_documented(release, tmp_path):
    contract = merged(plain(), release)
    assert [text for section in SECTIONS for text in complaints(contract, section, tmp_path / "work")] == []


def entries(node, path=()) -> Iterator[tuple]:
    """The path of everything in a file that can be deleted."""
    items = node.items() if isinstance(node, Mapping) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        if key not in WORDS or path == ("messages",):
            yield (*path, key)
            yield from entries(value, (*path, key))


def without(release, path):
    """The files with one thing less in the file of a release."""
    written = dict(plain())
    node, path = written, (release, *path)
    for key in path[:-1]:
        node[key] = node = copy.copy(node[key])
    del node[path[-1]]
    return written


@pytest.mark.parametrize("release", names())
def test_nothing_can_be_deleted_from_a_release_unnoticed(release, tmp_path):
    unnoticed, whole = [], merged(plain(), release)
    for path in entries(plain()[release]):
        written = without(release, path)
        contract = merged(written, release)
        if contract == whole:
            continue  # nothing is deleted by it
        try:
            msgspec.convert(contract, Release)
        except msgspec.ValidationError:
            continue
        if next(complaints(contract, path[0], tmp_path / "work"), None) is None:
            unnoticed.append(path)
    assert unnoticed == []
