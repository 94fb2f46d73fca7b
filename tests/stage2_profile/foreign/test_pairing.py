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
