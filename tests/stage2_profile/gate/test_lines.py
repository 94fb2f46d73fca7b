"""Which source lines make other instructions."""

import json

import pytest

from neff_bench.stage2_profile.gate.lines import Change, Line, _file, changed_lines, lines_of, read_lines

COPY = (("Vector COPY", 2, 1000),)
LOAD = (("DMA packets", 8, 4096),)
MORE = (("DMA packets", 9, 4608),)


def test_lines_that_only_moved_have_not_changed():
    before = [Line("k.py", 10, LOAD), Line("k.py", 20, COPY)]
    assert changed_lines(before, [Line("k.py", 13, LOAD), Line("k.py", 25, COPY)]) == []


def test_a_new_line_and_a_line_that_makes_more():
    before = [Line("k.py", 10, LOAD), Line("k.py", 20, COPY)]
    after = [Line("k.py", 10, MORE), Line("k.py", 20, COPY), Line("k.py", 30, COPY)]
    assert changed_lines(before, after) == [
        Change("k.py", 10, 10, "8 DMA packets, 4096 bytes in all", "9 DMA packets, 4608 bytes in all"),
        Change("k.py", None, 30, "nothing", "2 Vector COPY in 1.000 us"),
    ]


def test_lines_are_read_without_the_folder_of_the_checkout_and_without_control(tmp_path):
    where = {"nki_source_location": "/somewhere/src/nkilib_src/nkilib/k.py:33"}
    profile = {
        "summary": [{"total_time": 1e-5}],
        "metadata": [{}],
        "instruction": [
            {"subgroup": "Tensor", "opcode": "MATMUL", "timestamp": 0, "duration": 300, **where},
            {"subgroup": "Tensor", "opcode": "EVENT_SEMAPHORE", "timestamp": 0, "duration": 9, **where},
        ],
        "dma": [{"timestamp": 0, "duration": 5, "transfer_size": 4096, "queue_type": "data", **where}],
    }
    path = tmp_path / "ntff.json"
    path.write_text(json.dumps(profile))
    (line,) = read_lines(path, None, simulated=True)
    assert line == Line("nkilib_src/nkilib/k.py", 33, (("DMA packets", 1, 4096), ("Tensor MATMUL", 1, 300)))
    assert read_lines(path, None, simulated=False)[0].does[1] == ("Tensor MATMUL", 1, 0)


def test_a_line_whose_time_differs_by_a_nanosecond_has_not_changed():
    before, after = ([Line("k.py", 9, (("Vector TENSOR_TENSOR", 4, ns),))] for ns in (4894, 4893))
    assert changed_lines(before, after) == []


def test_two_lines_whose_times_differ_by_rounding_have_not_changed_where_one_is_gone():
    first, second = (("Vector TENSOR_REDUCE", 6, 7341),), (("Vector TENSOR_REDUCE", 6, 7342),)
    before = [Line("k.py", 16, first), Line("k.py", 17, COPY), Line("k.py", 20, second)]
    after = [Line("k.py", 16, second), Line("k.py", 17, COPY)]
    assert [(change.before, change.after) for change in changed_lines(before, after)] == [(20, None)]


def test_lines_that_do_something_of_another_kind_are_not_one_line():
    reciprocal, scale = (
        Line("k.py", 19, (("Vector RECIPROCAL", 2, 0),)),
        Line("k.py", 15, (("Vector TENSOR_SCALAR", 2, 0),)),
    )
    assert [(change.before, change.after) for change in changed_lines([reciprocal], [scale])] == [
        (19, None),
        (None, 15),
    ]


def test_a_line_whose_time_was_rounded_is_found_beside_a_new_line():
    reciprocal = (("Vector RECIPROCAL", 6, 991),)
    after = [Line("k.py", 21, COPY), Line("k.py", 22, (("Vector RECIPROCAL", 6, 995),))]
    assert [(change.before, change.after) for change in changed_lines([Line("k.py", 21, reciprocal)], after)] == [
        (None, 21)
    ]


def test_lines_that_did_not_move_are_compared_by_their_number():
    before = [Line("k.py", 17, (("DMA packets", 576, 9),)), Line("k.py", 18, (("DMA packets", 64, 1),))]
    after = [Line("k.py", 17, (("DMA packets", 1088, 18),)), Line("k.py", 18, (("DMA packets", 576, 9),))]
    assert [(one.before, one.after) for one in changed_lines(before, after)] == [(17, 17), (18, 18)]


def test_a_line_of_two_instructions_has_changed_where_one_of_them_has():
    before, after = (
        [Line("k.py", 9, (("Vector COPY", 2, 1000), ("Vector TENSOR_TENSOR", 4, ns)))] for ns in (400, 900)
    )
    assert [(change.before, change.after) for change in changed_lines(before, after)] == [(9, 9)]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ((("Vector COPY", 2, 1000),), (("Vector COPY", 2, 1002),), []),
        ((("Vector COPY", 2, 1000),), (("Vector COPY", 2, 1003),), [("2 Vector COPY in 1.000 us", "2 Vector COPY in 1.003 us")]),
        ((("Vector COPY", 2, 1000),), (("Vector COPY", 3, 1000),), [("2 Vector COPY in 1.000 us", "3 Vector COPY in 1.000 us")]),
        ((("DMA packets", 2, 1000),), (("DMA packets", 2, 1001),), [("2 DMA packets, 1000 bytes in all", "2 DMA packets, 1001 bytes in all")]),
        ((*LOAD, *COPY), LOAD, [("2 Vector COPY in 1.000 us", "only what stayed the same")]),
        ((("Vector COPY", 2, 0),), (("Vector COPY", 1, 0),), [("2 Vector COPY", "1 Vector COPY")]),
    ],
)  # fmt: skip
def test_a_line_says_what_the_other_side_does_not_make(before, after, said):
    found = changed_lines([Line("k.py", 9, before)], [Line("k.py", 9, after)])
    assert [(one.was, one.now) for one in found] == said


def test_lines_of_several_files_are_compared_file_by_file():
    before = [Line("a.py", 1, COPY), Line("b.py", 1, LOAD)]
    after = [Line("b.py", 2, LOAD), Line("b.py", 3, COPY), Line("c.py", 1, COPY)]
    assert [(one.file, one.before, one.after) for one in changed_lines(before, after)] == [
        ("a.py", 1, None), ("b.py", None, 3), ("c.py", None, 1),
    ]  # fmt: skip


def test_equal_instructions_of_a_line_are_summed_and_those_without_a_place_left_out(tmp_path):
    where = {"nki_source_location": "/a/b/k.py:33"}
    matmul = {"subgroup": "Tensor", "opcode": "MATMUL", "timestamp": 0, "duration": 300.4}
    packet = {"timestamp": 0, "duration": 5, "transfer_size": 4096, "queue_type": "data"}
    profile = {
        "summary": [{"total_time": 1e-5}],
        "metadata": [{}],
        "instruction": [{**matmul, **where}] * 3 + [matmul, {**matmul, "nki_source_location": "no place"}],
        "dma": [{**packet, **where}] * 2 + [packet],
    }
    path = tmp_path / "ntff.json"
    path.write_text(json.dumps(profile))
    assert read_lines(path, None, simulated=True) == (
        Line("b/k.py", 33, (("DMA packets", 2, 8192), ("Tensor MATMUL", 3, 900))),
    )


@pytest.mark.parametrize(
    ("path", "name"),
    [("/x/nkilib_src/a/k.py", "nkilib_src/a/k.py"), ("/x/y/z/k.py", "z/k.py"), ("k.py", "k.py"), ("y/k.py", "y/k.py")],
)
def test_a_file_is_named_without_the_folder_of_its_checkout(path, name):
    assert _file(path) == name and Line.__struct_config__.frozen


def test_a_changed_part_pairs_lines_that_make_the_same_kind_in_their_order():
    before = [Line("k.py", 1, COPY), Line("k.py", 2, LOAD), Line("k.py", 3, LOAD)]
    after = [Line("k.py", 5, (("Vector COPY", 9, 9),)), Line("k.py", 6, (("Scalar ADD", 1, 1),)), Line("k.py", 7, MORE)]
    found = [(change.before, change.after) for change in changed_lines(before, after)]
    assert found == [(1, 5), (None, 6), (2, 7), (3, None)]
    assert changed_lines([], []) == []


def test_lines_of_cases_that_cannot_be_profiled_say_why(tmp_path, monkeypatch):
    from neff_bench.errors import WrongCall
    from neff_bench.stage2_profile import directory
    from neff_bench.stage2_profile.foreign.search import ForeignCase
    from neff_bench.stage2_profile.metrics.rows import Row

    def none(options):
        raise WrongCall("no store")

    monkeypatch.setattr(directory, "profiled_rows", none)
    assert lines_of(tmp_path, ["a", "b"]) == {"a": "no store", "b": "no store"} and lines_of(tmp_path, []) == {}
    rows = [
        Row(case="a", status="profiled"),
        Row(case="b", status="failed", reason="broke"),
        Row(case="c", status="profiled"),
        Row(case="d", status="failed"),
    ]
    (tmp_path / "c.json").write_text(
        json.dumps({"summary": [{"total_time": 1e-5}], "metadata": [{}], "instruction": [], "dma": []})
    )
    entries = [ForeignCase(name, detail_json=tmp_path / "c.json" if name == "c" else None) for name in "abcd"]
    asked = []
    monkeypatch.setattr(directory, "profiled_rows", lambda options: asked.append(options) or (entries, rows))
    none_there = "no whole profile; run profile-neffs --hot where the profiler is"
    assert lines_of(tmp_path, ["a", "b", "c", "d"]) == {"a": none_there, "b": "broke", "c": (), "d": none_there}
    assert (asked[0].only, asked[0].steps, asked[0].detail, asked[0].directory) == (
        ("a", "b", "c", "d"),
        "view",
        True,
        tmp_path,
    )
