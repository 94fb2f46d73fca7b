import pytest
from hypothesis import given
from hypothesis import strategies as st

from neff_bench.stage1_generate.errors import ShapesError
from neff_bench.stage1_generate.shapes import read as reading
from neff_bench.stage1_generate.shapes.read import read_preset, read_shapes

MATMUL = "{kernel: matmul, implementation: nki, M: 128, K: 128, N: 512}"


@pytest.fixture
def shapes(tmp_path):
    """Cases of a shapes file with the given text."""

    def read(text, **overrides):
        path = tmp_path / "shapes.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_shapes(path, overrides)

    return read


def test_lists_and_ranges_are_multiplied_and_the_stop_is_included(shapes):
    cases = shapes(
        "defaults: {target: trn2, lnc: 2, dtype: bfloat16, seed: 42}\n"
        "cases:\n"
        "  - {kernel: matmul, implementation: [nki, xla], M: [128, 256], K: 512:2048:512, N: 1024}\n"
    )
    assert len(cases) == 2 * 2 * 4
    assert sorted({case.dim("K") for case in cases}) == [512, 1024, 1536, 2048]
    assert cases[0].name == "matmul_nki_M128_K512_N1024_bfloat16_trn2_lnc2"


def test_a_range_that_looks_like_a_base_60_number_is_a_range(shapes):
    cases = shapes("cases: [{kernel: matmul, implementation: nki, M: 1:20:5, K: 1, N: 1}]")
    assert [case.dim("M") for case in cases] == [1, 6, 11, 16]


def test_a_range_may_stand_in_a_list(shapes):
    cases = shapes("cases: [{kernel: matmul, implementation: nki, M: [1, 10:20:10], K: 1, N: 1}]")
    assert [case.dim("M") for case in cases] == [1, 10, 20]


def test_an_entry_stands_above_the_defaults_and_the_command_line_above_both(shapes):
    text = f"defaults: {{lnc: 1, dtype: float32}}\ncases:\n  - {MATMUL[:-1]}, dtype: float16}}\n"
    (case,) = shapes(text)
    assert (case.dtype, case.lnc) == ("float16", 1)
    (case,) = shapes(text, target="trn3", lnc=2)
    assert (case.target, case.lnc) == ("trn3", 2)


def test_without_an_lnc_it_is_that_of_a_launch_without_a_grid(shapes, monkeypatch):
    text = f"cases: [{MATMUL[:-1]}, target: [trn1, trn2]}}]"
    assert [case.lnc for case in shapes(text)] == [1, 1]
    monkeypatch.setenv("NEURON_LOGICAL_NC_CONFIG", "2")
    assert [case.lnc for case in shapes(text)] == [1, 2]


def test_a_dtype_may_be_said_as_rows_print_it(shapes):
    assert [case.dtype for case in shapes(f"cases: [{MATMUL[:-1]}, dtype: [bf16, fp32]}}]")] == ["bfloat16", "float32"]


def test_without_a_target_the_one_of_nki_s_environment_is_taken(shapes, monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "gen4")
    assert [case.target for case in shapes(f"cases: [{MATMUL}]")] == ["trn3"]
    assert [case.target for case in shapes(f"cases: [{MATMUL[:-1]}, target: trn1}}]")] == ["trn1"]
    monkeypatch.delenv("NEURON_PLATFORM_TARGET_OVERRIDE")
    assert [case.target for case in shapes(f"cases: [{MATMUL}]")] == ["trn2"]


def test_the_same_case_twice_is_one_case(shapes):
    assert len(shapes(f"cases:\n  - {MATMUL}\n  - {MATMUL}\n")) == 1


def test_flags_are_words(shapes):
    (case,) = shapes(f"cases: [{MATMUL[:-1]}, flags: ['--a b', -O1]}}]")
    assert case.flags == ("--a", "b", "-O1")


def test_a_preset_stands_for_its_kernel_and_dimensions(shapes):
    cases = shapes("cases:\n- {preset: boundary, implementation: [nki, xla], dtype: float32}\n")
    assert {case.kernel for case in cases} == {"matmul"}
    assert {case.implementation for case in cases} == {"nki", "xla"}
    assert {case.dim("M") for case in cases} > {127, 128, 129}
    assert {case.dtype for case in cases} == {"float32"}


def test_a_preset_needs_no_file():
    assert {case.dim("M") for case in read_preset("boundary")} > {127, 128, 129}
    with pytest.raises(ShapesError, match="preset: found .*nothing.*, allowed: llm, tiling"):
        read_preset("nothing")


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", None, "empty"),
        ("# only a comment\n", None, "empty"),
        (b"\x00\x01\x02\xff", None, "not text"),
        (b"cases: \x07", None, "not YAML"),
        ("cases: [}", 1, "not YAML"),
        ("a: b: c", 1, "not YAML"),
        ("cases:\n- kernel: matmul\n  implementation nki\n  M: 1\n", 3, "not YAML: could not find expected ':'"),
        ("- 1", 1, "the file: found a list, allowed: a mapping with defaults, cases"),
        ("cases: []", 1, "cases: found an empty list"),
        ("cases:", 1, "allowed: a list with at least one case"),
        ("defaults: {}", 1, "found no `cases`"),
        ("case: []", 1, "found key 'case', allowed: defaults, cases"),
        ("cases:\n- 5", 2, "case: found '5'"),
        ("cases:\n- {M: 1}", 2, "kernel: found nothing, allowed: attention_cte, attention_tkg, exp, matmul, mlp, "),
        ("cases:\n- {preset: lm, implementation: nki}", 2, "preset: found 'lm', allowed: llm"),
        ("cases:\n- {preset: llm, implementation: nki, M: 1}", 2, "preset: found key 'M'"),
        ("cases:\n- {preset: llm}", 2, "implementation: found nothing"),
        (
            "cases:\n- {kernel: matmull}",
            2,
            "kernel: found 'matmull', allowed: attention_cte, attention_tkg, exp, matmul, mlp, ",
        ),
        ("cases:\n- {kernel: [matmul, mlp]}", 2, "kernel: found a list"),
        (
            "cases:\n- {kernel: attention_cte, implementation: nkilib, b: 3, kv: 2, s: 8}",
            2,
            "b must be a multiple of kv",
        ),
        (
            "defaults: {dtype: float8_e4m3, target: trn1}\ncases:\n- " + MATMUL,
            1,
            "dtype: found float8_e4m3 with target trn1, allowed with trn2, trn3",
        ),
        ("cases:\n- {kernel: matmul, implementation: nki, M: 1, K: 1, N: 1, h: 4}", 2, "found key 'h'"),
        ("cases:\n- {kernel: matmul, implementation: nki,\n   M: 1, M: 2, K: 1, N: 1}", 3, "'M' twice"),
        ("cases:\n- {kernel: matmul, implementation: nki, M: 1, K: 1}", 2, "N: found nothing"),
        ("cases:\n- {kernel: matmul, M: 1, K: 1, N: 1}", 2, "implementation: found nothing, allowed: nki, xla"),
        (
            "cases:\n- {kernel: matmul, implementation: nkilib, M: 1, K: 1, N: 1}",
            2,
            "allowed for this kernel: nki, xla",
        ),
        ("defaults: {lnc: 2}\ncases:\n- {kernel: matmul, implementation: nki,\n   M: 0, K: 1, N: 1}", 4, "M: found 0"),
        ("cases:\n- {kernel: matmul, implementation: nki, M: -128, K: 1, N: 1}", 2, "M: found -128"),
        ("cases:\n- {kernel: matmul, implementation: nki, M: big, K: 1, N: 1}", 2, "M: found 'big'"),
        ("cases:\n- {kernel: matmul, implementation: nki, M: '128', K: 1, N: 1}", 2, "M: found the text '128'"),
        ("cases:\n- {kernel: matmul, implementation: nki, M: true, K: 1, N: 1}", 2, "M: found 'true'"),
        ("cases:\n- {kernel: matmul, implementation: nki, M: 1.5, K: 1, N: 1}", 2, "M: found '1.5'"),
        ("cases:\n- {kernel: matmul, implementation: nki, M: {a: 1}, K: 1, N: 1}", 2, "M: found a mapping"),
        ("cases:\n- {kernel: matmul, implementation: nki, M: [[1]], K: 1, N: 1}", 2, "M: found a list"),
        ("cases:\n- {kernel: matmul, implementation: nki, M: , K: 1, N: 1}", 2, "M: found ''"),
        ("cases:\n- {kernel: matmul, implementation: nki, M: 8:4:1, K: 1, N: 1}", 2, "start <= stop"),
        (
            "cases:\n- {kernel: matmul, implementation: nki, M: 8:b:1, K: 1, N: 1}",
            2,
            "M: found '8:b:1', allowed: a positive",
        ),
        ("cases:\n- {kernel: matmul, implementation: nki, M: 1:4:0, K: 1, N: 1}", 2, "M: found 1:4:0"),
        ("cases:\n- {kernel: matmul, implementation: nki, M: 1:2000000000:1, K: 1, N: 1}", 2, "at most 100000"),
        (
            "cases:\n- {kernel: matmul, implementation: nki, M: 1:1000:1, K: 1:1000:1, N: 1:1000:1}",
            2,
            "more than 100000 cases",
        ),
        ("defaults: {dtype: float64}\ncases:\n- " + MATMUL, 1, "dtype: found 'float64', allowed: float32"),
        ("defaults: {target: trn9}\ncases:\n- " + MATMUL, 1, "target: found 'trn9', allowed: trn1, inf2, trn2, trn3"),
        ("defaults: {target: trn1, lnc: 2}\ncases:\n- " + MATMUL, 1, "lnc 2 does not exist on trn1 (allowed: 1)"),
        ("defaults: {M: 1}\ncases:\n- " + MATMUL, 1, "defaults: found key 'M'"),
        ("defaults: {flags: '\"open'}\ncases:\n- " + MATMUL, 1, "flags: found"),
        ("a: &a [*a]\ncases: *a", 1, "found key 'a'"),
        ("cases: !!python/object:os.system [x]", 1, "case: found 'x'"),
    ],
)
def test_a_mistake_is_named_with_its_line(shapes, text, line, says):
    with pytest.raises(ShapesError) as error:
        shapes(text)
    assert says in str(error.value)
    assert error.value.line == line
    assert "\n" not in str(error.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ShapesError, match="none.yaml: cannot read the shapes file: No such file"):
        read_shapes(tmp_path / "none.yaml")


def test_a_directory_is_no_shapes_file(tmp_path):
    with pytest.raises(ShapesError, match="Is a directory"):
        read_shapes(tmp_path)


@pytest.mark.parametrize("bracket", ["[", "{a: "])
def test_deep_nesting_is_refused(shapes, bracket):
    with pytest.raises(ShapesError, match="nested more than 32 deep"):
        shapes("cases: " + bracket * 200_000)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_no_content_ends_in_another_error(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("fuzz") / "shapes.yaml"
    path.write_bytes(data)
    with pytest.raises(ShapesError):
        read_shapes(path)


def test_equal_cases_are_counted_and_nodes_are_bounded(shapes, monkeypatch):
    """Without these bounds a small file costs minutes and the memory of the host."""
    monkeypatch.setattr(reading, "MAX_CASES", 50)
    case = "{kernel: matmul, implementation: nki, M: 128, K: 128, N: 128}"
    with pytest.raises(ShapesError, match="more than 50 cases"):
        shapes(f"cases:\n  - &one {case}\n" + "  - *one\n" * 60)
    with pytest.raises(ShapesError, match="more than 50 values"):
        shapes("cases:\n  - {kernel: matmul, implementation: nki, M: [" + "1:40:1, " * 3 + "], K: 128, N: 128}")
    monkeypatch.setattr(reading, "MAX_NODES", 100)
    with pytest.raises(ShapesError, match=r":10: found more than 100 values"):
        shapes(f"cases:\n  - {case}\n" + f"  - {case}\n" * 20)


def test_ranks_are_an_axis_and_an_error_names_their_line(shapes):
    cases = shapes(f"cases:\n  - {MATMUL[:-1]}, ranks: [1, 4]}}")
    assert [(case.ranks, case.name.rpartition("_")[2]) for case in cases] == [(1, "lnc1"), (4, "ranks4")]
    with pytest.raises(ShapesError, match="2: 129 ranks at lnc 1 do not fit on a server of trn2"):
        shapes(f"cases:\n  - {MATMUL[:-1]}, ranks: 129}}")


def sizes(shapes, text):
    return [
        dict(case.dims)["M"]
        for case in shapes(f"cases:\n- {{kernel: matmul, implementation: nki, M: {text}, K: 128, N: 512}}")
    ]


LARGEST = 2**31 - 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1", [1]),
        (str(LARGEST), [LARGEST]),
        ("5:5:1", [5]),
        ("1:10:4", [1, 5, 9]),
        ("1:9:4", [1, 5, 9]),
        (f"[{LARGEST}:{LARGEST}:{LARGEST}]", [LARGEST]),
    ],
)
def test_a_size_is_from_one_to_the_largest_of_32_bits(shapes, text, found):
    assert sizes(shapes, text) == found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0", f"M: found 0, allowed: a positive whole number, a list of them, or a range start:stop:step, from 1 to {LARGEST}"),
        (str(LARGEST + 1), f"M: found {LARGEST + 1}, allowed: a positive whole number, a list of them, or a range start:stop:step, from 1 to {LARGEST}"),
        ("5:4:1", "M: found 5:4:1, allowed: start:stop:step with start <= stop, step >= 1"),
        ("1:2:0", f"M: found 1:2:0, allowed: a positive whole number, a list of them, or a range start:stop:step, from 1 to {LARGEST}"),
        ("1:2", "M: found '1:2', allowed: a positive whole number, a list of them, or a range start:stop:step"),
        ("'5'", "M: found the text '5', allowed: a positive whole number, a list of them, or a range start:stop:step"),
        ("[]", "M: found an empty list, allowed: a positive whole number, a list of them, or a range start:stop:step"),
    ],
)  # fmt: skip
def test_what_is_no_size_says_what_is_allowed(shapes, text, says):
    with pytest.raises(ShapesError) as error:
        sizes(shapes, text)
    assert str(error.value).endswith(f"shapes.yaml:2: {says}")


def test_a_range_and_a_list_have_a_most_of_values(shapes, monkeypatch):
    monkeypatch.setattr(reading, "MAX_CASES", 4)
    assert sizes(shapes, "1:4:1") == sizes(shapes, "[1:2:1, 3, 4]") == [1, 2, 3, 4]
    with pytest.raises(ShapesError, match="M: found a range of more than 4 values, allowed: at most 4"):
        sizes(shapes, "1:5:1")
    with pytest.raises(ShapesError, match="M: found more than 4 values, allowed: at most 4"):
        sizes(shapes, "[1:2:1, 3, 4, 5]")


def test_a_file_has_a_most_of_bytes(tmp_path, monkeypatch):
    path = tmp_path / "shapes.yaml"
    path.write_text(text := f"cases:\n- {MATMUL}\n")
    for most in (len(text), 1 << 20):
        monkeypatch.setattr(reading, "MAX_BYTES", most)
        assert len(read_shapes(path)) == 1
    path.write_text(text + "#" * ((1 << 20) + 1 - len(text)))
    with pytest.raises(ShapesError) as error:
        read_shapes(path)
    assert str(error.value) == f"{path}: larger than 1 MiB, so this is no shapes file"


def test_a_file_that_cannot_be_read_is_named_first(tmp_path):
    with pytest.raises(ShapesError) as error:
        read_shapes(tmp_path / "none.yaml")
    assert str(error.value) == f"{tmp_path / 'none.yaml'}: cannot read the shapes file: No such file or directory"
    (tmp_path / "a.yaml").write_bytes(b"ab\xff")
    with pytest.raises(ShapesError) as error:
        read_shapes(tmp_path / "a.yaml")
    assert str(error.value) == f"{tmp_path / 'a.yaml'}: not text: byte 2 is not UTF-8"


def test_nesting_and_values_have_a_most(shapes, monkeypatch):
    text = "cases:\n- " + MATMUL  # a mapping, a list, a mapping; 14 nodes
    monkeypatch.setattr(reading, "MAX_DEPTH", 3)
    assert len(shapes(text)) == 1
    monkeypatch.setattr(reading, "MAX_DEPTH", 2)
    with pytest.raises(ShapesError, match="shapes.yaml:2: nested more than 2 deep, so this is no shapes file"):
        shapes(text)
    monkeypatch.setattr(reading, "MAX_DEPTH", 32)
    monkeypatch.setattr(reading, "MAX_NODES", 14)
    assert len(shapes(text)) == 1
    monkeypatch.setattr(reading, "MAX_NODES", 13)
    with pytest.raises(ShapesError, match="shapes.yaml:2: found more than 13 values, allowed: at most 13; use lists"):
        shapes(text)


def test_an_lnc_that_a_chip_has_not_is_told_on_its_line(shapes):
    with pytest.raises(ShapesError) as error:
        shapes("cases:\n- kernel: matmul\n  implementation: nki\n  M: 1\n  K: 1\n  N: 1\n  ranks: 1\n  lnc: 3\n")
    assert error.value.line == 8


def test_a_file_may_be_as_large_as_16_mebibytes(shapes, monkeypatch):
    assert reading.MAX_BYTES == 16 * 2**20
    text = f"cases: [{MATMUL}]"
    monkeypatch.setattr(reading, "MAX_BYTES", len(text))
    assert len(shapes(text)) == 1
    monkeypatch.setattr(reading, "MAX_BYTES", 2**20)
    with pytest.raises(ShapesError, match="larger than 1 MiB, so this is no shapes file"):
        shapes(text + " " * 2**20)
