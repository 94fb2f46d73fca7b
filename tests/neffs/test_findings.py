"""Findings of a kernel: their place, and the file that keeps them."""

import pytest

from neff_bench.neffs.findings import FILE, Finding, found, leave, left, of_release


@pytest.mark.parametrize(
    ("source", "file", "line", "said"),
    [
        ("softmax.py:41", "softmax.py", 41, "text (softmax.py:41)"),
        ("%dot.3", "%dot.3", None, "text (%dot.3)"),
        ("a:b", "a:b", None, "text (a:b)"),
        (":41", ":41", None, "text (:41)"),
        ("", None, None, "text"),
        (None, None, None, "text"),
    ],
)
def test_a_finding_says_its_place_where_there_is_one(source, file, line, said):
    one = found("race", "text", source, ("2.27",))
    assert one == Finding(kind="race", text="text", file=file, line=line, releases=("2.27",)) and str(one) == said


def test_what_another_release_refuses_is_left_out():
    always, old = found("race", "a", None), found("refused", "b", None, ("2.26",))
    assert of_release([always, old], "2.27") == (always,) and of_release([always, old], "2.26") == (always, old)


def test_findings_are_left_in_a_directory_and_an_older_file_goes_where_there_are_none(tmp_path):
    leave(tmp_path, ())
    assert left(tmp_path) == ()
    leave(tmp_path, [found("race", "a", "k.py:1")])
    assert left(tmp_path) == (found("race", "a", "k.py:1"),)
    leave(tmp_path, ())
    assert not (tmp_path / FILE).exists()


@pytest.mark.parametrize("data", [b"", b"{}", b'[{"kind": "other", "text": ""}]', b"\xff"])
def test_a_file_that_is_none_of_ours_holds_no_findings(tmp_path, data):
    (tmp_path / FILE).write_bytes(data)
    assert left(tmp_path) == ()
