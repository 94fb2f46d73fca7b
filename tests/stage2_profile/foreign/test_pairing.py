"""Which NEFF a trace is of, and which trace a profile."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from neff_bench.stage2_profile.foreign.pairing import Nearest, Neffs, Traces, _runs, _sharing_a_name, same_time
from neff_bench.stage2_profile.foreign.survey import NeffFile, ProfileFile, TraceFile

UUID, OTHER = "11" * 16, "22" * 16
CUT = "aabbccdd" + "00" + "11" * 11
"""A uuid of which a C string keeps four bytes, enough to tell; one of three is not."""
SHORT = "aabbcc" + "00" + "11" * 12


@pytest.mark.parametrize(
    ("one", "other", "tolerance", "same"),
    [(1.0, 1.0, 0.0, True), (100.0, 99.0, 0.01, True), (99.0, 100.0, 0.01, True), (100.0, 98.9, 0.01, False), (None, 1.0, 1.0, False), (1.0, None, 1.0, False)],
)  # fmt: skip
def test_durations_are_the_same_within_a_share_of_the_longer(one, other, tolerance, same):
    assert same_time(one, other, tolerance) == same


def test_the_nearest_of_several_files_is_found():
    nearest = Nearest()
    for path in ("/a/b/far/x", "/a/near/x", "/z/x"):
        nearest.add("x", Path(path))
    assert nearest.find("x", Path("/a/near/deep/y")) == Path("/a/near/x")
    assert nearest.find("x", Path("/a/b/y")) == Path("/a/b/far/x") and nearest.find("x", Path("/q")) == Path("/z/x")
    assert nearest.find("y", Path("/a/y")) is None


def trace(path="/run/t.ntff", uuid=UUID, time_s=1.0, **more):
    return TraceFile(Path(path), uuid, time_s, **more)


@pytest.mark.parametrize(
    ("neffs", "uuid", "found"),
    [
        ([("/far/a.neff", UUID), ("/run/b.neff", OTHER)], UUID, ("/far/a.neff", "uuid", None)),
        ([("/run/b.neff", OTHER)], UUID, (None, "", "b.neff beside it is another program: its uuid is not the trace's")),
        ([("/far/b.neff", OTHER)], UUID, (None, "", None)),
        ([("/run/b.neff", None)], UUID, ("/run/b.neff", "name", None)),
        ([("/run/b.neff", UUID)], None, ("/run/b.neff", "name", None)),
        ([("/run/a.neff", None), ("/run/b.neff", None)], UUID, (None, "", None)),
        ([("/run/t.neff", None), ("/run/b.neff", None)], UUID, ("/run/t.neff", "name", None)),
        ([("/far/c.neff", CUT)], "aabbccdd", ("/far/c.neff", "uuid", None)),
        ([("/far/c.neff", CUT)], "aabbccdd77", ("/far/c.neff", "uuid", None)),
        ([("/far/c.neff", SHORT)], "aabbcc", (None, "", None)), ([("/run/c.neff", SHORT)], "aabbcc", ("/run/c.neff", "name", None)),
        ([], UUID, (None, "", None)),
    ],
)  # fmt: skip
def test_a_trace_is_of_the_neff_of_its_uuid_else_of_the_only_one_near_that_may_be_it(neffs, uuid, found):
    path, by, wrong = Neffs(NeffFile(Path(path), of) for path, of in neffs).of_trace(trace(uuid=uuid))
    assert (path and str(path), by, wrong) == found


def test_a_neff_that_cannot_be_read_is_of_no_trace():
    assert Neffs([NeffFile(Path("/run/b.neff"), UUID, "torn")]).of_trace(trace()) == (None, "", None)


def profile(path="/run/t.json", time_s=1.0, name=None, uuid=None):
    return ProfileFile(Path(path), SimpleNamespace(total_time_s=time_s, ntff_name=name, neff_uuid=uuid))


@pytest.mark.parametrize(
    ("neffs", "uuid", "found"),
    [
        ([("/far/a.neff", UUID)], UUID, ("/far/a.neff", "uuid")), ([("/run/a.neff", OTHER)], UUID, (None, "")),
        ([("/run/a.neff", OTHER)], None, ("/run/a.neff", "name")), ([("/a.neff", OTHER)], None, ("/a.neff", "name")),
        ([("/run/a.neff", OTHER), ("/run/b.neff", UUID)], None, (None, "")), ([], None, (None, "")),
    ],
)  # fmt: skip
def test_a_profile_without_a_trace_is_of_the_neff_of_its_uuid_else_of_the_only_one_near(neffs, uuid, found):
    path, by = Neffs(NeffFile(Path(path), of) for path, of in neffs).of_profile(profile(uuid=uuid))
    assert (path and str(path), by) == found


@pytest.mark.parametrize(
    ("traces", "of", "found"),
    [
        ([trace("/run/a.ntff", time_s=1.0), trace("/run/b.ntff", time_s=1.01)], profile("/run/p.json", 1.01), "/run/b.ntff"),
        ([trace("/run/a.ntff", time_s=1.0), trace("/run/b.ntff", time_s=1.0)], profile("/run/p.json", 1.0), None),
        ([trace("/run/a.ntff"), trace("/run/b.ntff")], profile("/run/p.json", name="/elsewhere/b.ntff"), "/run/b.ntff"),
        ([trace("/run/q.ntff"), trace("/run/b.ntff")], profile("/run/b_summary.json"), "/run/b.ntff"),
        ([trace("/run/a.ntff"), trace("/run/b.ntff")], profile("/run/p_1.json"), "/run/b.ntff"),
        ([trace("/run/a.ntff"), trace("/b.ntff")], profile("/run/p.json"), "/run/a.ntff"),
        ([trace("/run/a.ntff", time_s=1.0)], profile("/run/p.json", 1.03), None), ([trace("/run/a.ntff", time_s=1.0)], profile("/run/p.json", 1.019), "/run/a.ntff"),
        ([trace("/run/a.ntff", uuid=OTHER)], profile("/run/p.json", uuid=UUID), None), ([trace("/run/a.ntff", problem="torn")], profile("/run/p.json"), None),
        ([trace("/far/away/a.ntff")], profile("/run/p.json", name="x/a.ntff"), "/far/away/a.ntff"), ([trace("/far/away/a.ntff")], profile("/run/p.json"), None),
        ([trace("/run/below/a.ntff")], profile("/run/p.json"), "/run/below/a.ntff"), ([], profile(), None),
    ],
)  # fmt: skip
def test_a_profile_is_of_the_trace_with_the_best_evidence(traces, of, found):
    got = Traces(traces).of_profile(of)
    assert (got and str(got.path)) == found


def test_a_trace_of_a_full_directory_is_found_by_its_number_its_name_and_its_time():
    many = [trace(f"/run/t{at:03d}.ntff", time_s=1 + at) for at in range(70)]
    found = Traces(many)
    assert found.of_profile(profile("/run/p_69.json", None)) is many[69]
    assert found.of_profile(profile("/run/p_70.json", None)) is None
    assert found.of_profile(profile("/run/t005_summary.json", None)) is many[5]
    assert found.of_profile(profile("/run/p.json", 31.0)) is many[30]
    assert found.of_profile(profile("/run/p.json", None, name="t007.ntff")) is many[7]
    assert found.of_profile(ProfileFile(Path("/run/p.json"), None)) is None


def test_names_are_shared_by_stem_or_by_a_hash():
    others = [Path("/a/t.neff"), Path("/a/x_0123abcd.neff"), Path("/a/x_0123abc.neff")]
    assert _sharing_a_name(Path("t_rank_0_exec_2.ntff"), others) == others[:1]
    assert _sharing_a_name(Path("y_0123abcd_vnc_0.ntff"), others) == others[1:2]
    assert _sharing_a_name(Path("y_0123abc.ntff"), others) == []
    assert _runs("a_b.c", ["a", "b", "c"]) == {"a", "b", "c", "a_b", "b.c", "a_b.c"}


@pytest.mark.parametrize(
    ("found", "name"),
    [
        ("t_01234567.ntff", ["x_01234567.neff"]),
        ("t_0123456.ntff", []),
        ("t_rank_0.ntff", ["t.neff"]),
        ("t.ntff", ["t.neff"]),
        ("t_exec_2_x.ntff", []),
    ],
)
def test_a_hash_has_eight_letters_at_least(found, name):
    others = [Path("t.neff"), Path("x_01234567.neff"), Path("x_0123456.neff")]
    assert [path.name for path in _sharing_a_name(Path(found), others)] == name


@pytest.mark.parametrize(("one", "other", "same"), [(1.0, 1.0 + 0.9e-4, True), (1.0, 1.0 + 1.05e-4, False)])
def test_two_statements_of_one_duration_agree_to_a_ten_thousandth(one, other, same):
    assert same_time(one, other) == same == same_time(other, one)


def test_a_name_that_lies_elsewhere_is_of_the_same_program_first():
    far = [trace("/far/a/x.ntff", uuid=OTHER), trace("/far/away/b/x.ntff", uuid=UUID), trace("/far/z/y.ntff")]
    for uuid, found in ((UUID, far[1]), (OTHER, far[0]), (None, far[0])):
        assert Traces(far).of_profile(profile("/run/here/p.json", name="x.ntff", uuid=uuid)) is found
    assert (
        Traces([trace("/far/a/x.ntff", uuid=OTHER)]).of_profile(profile("/run/here/p.json", name="x.ntff", uuid=UUID))
        is None
    )
    assert Traces([trace("/far/a/x.ntff", time_s=9.0)]).of_profile(profile("/run/here/p.json", name="x.ntff")) is None


@pytest.mark.parametrize(
    ("evidence", "found"),
    [
        (profile("/run/p_0.json", None, name="b.ntff"), "/run/b.ntff"), (profile("/run/p_0.json", 2.0), "/run/b.ntff"), (profile("/run/b_x_0.json", None), None), (profile("/run/p_0.json", None), "/run/a.ntff"),
        (profile("/run/p_1.json", None), "/run/b.ntff"), (profile("/run/p_2.json", None), None),
    ],
)  # fmt: skip
def test_a_stated_name_counts_most_then_the_duration_then_the_name_of_the_file(evidence, found):
    got = Traces([trace("/run/a.ntff", time_s=None), trace("/run/b.ntff", time_s=2.0)]).of_profile(evidence)
    assert (got and str(got.path)) == found


def test_a_trace_beside_the_profile_comes_before_one_above_it():
    found = Traces([trace("/run/a.ntff"), trace("/run/sub/a.ntff"), trace("/run/sub/deep/a.ntff")])
    assert str(found.of_profile(profile("/run/sub/a.json")).path) == "/run/sub/a.ntff"


def test_numbers_go_on_in_the_directories_below():
    found = Traces(
        [trace("/run/a.ntff", time_s=None), trace("/run/x/b.ntff", time_s=None), trace("/run/y/c.ntff", time_s=None)]
    )
    assert [str(found.of_profile(profile(f"/run/p_{number}.json", None)).path) for number in (1, 2)] == [
        "/run/x/b.ntff",
        "/run/y/c.ntff",
    ]


def test_directories_below_are_looked_through_where_they_are_few():
    few, many = ([trace(f"/run/d{at}/t.ntff", time_s=1.0 + at) for at in range(count)] for count in (64, 65))
    assert (
        Traces(few).of_profile(profile("/run/p.json", 3.0)) is few[2]
        and Traces(many).of_profile(profile("/run/p.json", 3.0)) is None
    )


@pytest.mark.parametrize("count", [64, 65])
def test_a_full_directory_counts_its_numbers_behind_those_before_it(count):
    inner = [trace(f"/run/sub/t{at:03}.ntff", time_s=None) for at in range(count)]
    outer = [trace(f"/run/u{at:03}.ntff", time_s=None) for at in range(70)]
    found = Traces([*inner, *outer])
    assert found.of_profile(profile(f"/run/sub/p_{count + 3}.json", None)) is outer[3]
    assert found.of_profile(profile("/run/sub/p_3.json", None)) is inner[3]
    assert found.of_profile(profile(f"/run/sub/p_{count + 70}.json", None)) is None


def test_times_that_differ_by_less_than_two_ten_thousandths_are_looked_at():
    many = [trace(f"/run/t{at:03}.ntff", time_s=1 + at) for at in range(70)]
    found = Traces(many)
    for at in (0, 30, 69):
        for factor, same in ((1 + 0.9e-4, True), (1 - 0.9e-4, True), (1 + 3e-4, False), (1 - 3e-4, False)):
            got = found.of_profile(profile("/run/p.json", (1 + at) * factor))
            assert (got is many[at]) == same


@pytest.mark.parametrize(("stem", "parts"), [("a", {"a"}), ("a-a", {"a", "a-a"}), ("", set()), ("_b", {"b", "_b"})])
def test_parts_of_a_name_begin_and_end_with_whole_words(stem, parts):
    import re

    assert _runs(stem, re.split(r"[^0-9A-Za-z]+", stem)) == parts


def test_a_uuid_that_was_cut_is_that_of_the_longest_that_agrees():
    neffs = [NeffFile(Path("/far/c.neff"), CUT), NeffFile(Path("/far/d.neff"), "aabbccddee" + "00" + "22" * 10)]
    for uuid, name in (
        ("aabbccdd", "c"),
        ("aabbccddee", "d"),
        ("aabbccddee77", "d"),
        ("aabbccdd99", "c"),
        ("aabbcc", None),
    ):
        path, by, _ = Neffs(neffs).of_trace(trace(uuid=uuid))
        assert (path and path.stem, by) == (name, "uuid" if name else "")


def test_the_stem_decides_between_neffs_that_have_no_uuid():
    found = Neffs(
        [NeffFile(Path("/run/a.neff"), None), NeffFile(Path("/run/t.neff"), None), NeffFile(Path("/t.neff"), UUID)]
    )
    assert found.of_trace(trace(uuid=UUID))[:2] == (Path("/t.neff"), "uuid") and found.of_trace(trace(uuid=None))[
        :2
    ] == (None, "")
    assert found.of_trace(trace(uuid=OTHER))[:2] == (Path("/run/t.neff"), "name")


@pytest.mark.parametrize(
    ("time_s", "found"), [(1.0 / 0.981, True), (1.0 / 0.979, False), (0.981, True), (0.979, False)]
)
def test_a_duration_that_differs_by_two_percent_is_of_another_execution(time_s, found):
    assert (Traces([trace("/run/a.ntff")]).of_profile(profile("/run/p.json", time_s)) is not None) == found
