import pytest

from neff_bench.neffs.own import OwnKernel, Tensor
from neff_bench.stage1_generate.errors import ShapesError
from neff_bench.stage1_generate.own_kernel import implementation_of
from neff_bench.stage1_generate.shapes.read import read_shapes

ENTRY = """\
cases:
  - kernel: my_kernels.py:scale_rows
    implementation: nki
    M: [128, 256]
    N: 512
    inputs:
      x: {shape: [M, N], dtype: bfloat16}
      w: {shape: [N], dtype: float32, values: constant, scale: 2/N}
    arguments: {eps: 1e-6, mode: fast, rows: {arithmetic: M//128}, sizes: [1, 2]}
    reference: my_kernels.py:right
    tolerance: {rtol: 1e-2, atol: 0}
    flops: 2*M*N
"""


@pytest.fixture
def read(tmp_path):
    (tmp_path / "my_kernels.py").write_text(
        "import nki\n\n@nki.jit\ndef scale_rows(x, w): ...\n\ndef right(x, w): ...\n"
    )

    def cases(text):
        (tmp_path / "shapes.yaml").write_text(text)
        return read_shapes(tmp_path / "shapes.yaml")

    return cases


def test_an_entry_becomes_plain_data_with_numbers(read):
    first, second = read(ENTRY)
    assert first.name == "my_kernels.scale_rows_nki_M128_N512_bfloat16_trn2_lnc1"
    assert second.own == OwnKernel(
        entry="my_kernels.py:scale_rows",
        inputs=(Tensor("x", (256, 512), "bfloat16"), Tensor("w", (512,), "float32", 2 / 512, "constant")),
        arguments=(("eps", 1e-6), ("mode", "fast"), ("rows", 2), ("sizes", [1, 2])),
        reference="my_kernels.py:right",
        tolerance=(0.01, 0.0),
        flops=2 * 256 * 512,
    )


def test_inputs_without_a_dtype_take_the_one_of_the_case(read):
    text = ENTRY.replace(", dtype: bfloat16}", "}").replace(
        "implementation: nki", "implementation: nki\n    dtype: [float32, float16]"
    )
    assert [(case.dtype, case.own.inputs[0].dtype) for case in read(text)][:2] == [("float32",) * 2, ("float16",) * 2]


def test_a_name_tells_two_cases_apart(read):
    entry = ENTRY.removeprefix("cases:\n")
    other = entry.replace("1e-6", "1e-5")
    with pytest.raises(ShapesError, match=r"shapes.yaml:13: found a second, different kernel under the name .*`name:`"):
        read(f"cases:\n{entry}{other}")
    cases = read(f"cases:\n{entry}{other}    name: careful\n")
    assert {case.kernel for case in cases} == {"my_kernels.scale_rows", "careful"}


def test_a_kernel_may_have_no_inputs(read):
    text = "cases:\n  - {kernel: my_kernels.py:scale_rows, implementation: nki, target: trn2, inputs: {}}\n"
    assert [case.own.inputs for case in read(text)] == [()]


def test_a_module_beside_the_shapes_file_is_found(read, tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "deep.py").write_text("def scale_rows(x, w): ...\n")
    cases = read(ENTRY.replace("my_kernels.py:scale_rows", "pack.deep:scale_rows"))
    assert cases[0].kernel == "deep.scale_rows"


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("my_kernels.py:scale_rows", "none.py:f", 2, "none.py is no file"),
        (
            "my_kernels.py:scale_rows",
            "my_kernels.py:scale_row",
            2,
            "found no scale_row in my_kernels.py, allowed: scale_rows, right",
        ),
        ("my_kernels.py:scale_rows", "no.module:f", 2, "found no module no.module"),
        ("my_kernels.py:scale_rows", "'my_kernels.py:'", 2, "allowed: file.py:function or package.module:function"),
        ("my_kernels.py:scale_rows", "scale_rows", 2, "file.py:function, package.module:function"),
        ("implementation: nki", "implementation: isa", 3, "allowed: nki, xla"),
        ("M: [128, 256]", "M: many", 4, "M: found 'many', allowed: a positive whole number"),
        ("shape: [M, N]", "shape: [M, K]", 7, "inputs.x.shape: 'K' is no dimension of this case, allowed: M, N"),
        ("shape: [M, N]", "shape: [M, N/3]", 7, "no whole number"),
        ("shape: [M, N]", "shape: [M, N-512]", 7, "'N-512' is 0, allowed: from 1"),
        ("shape: [M, N]", "shape: M", 7, "inputs.x: found 'M' as shape, allowed: a list like [M, N]"),
        ("shape: [M, N], ", "", 7, "inputs.x: found nothing as shape"),
        ("dtype: bfloat16", "dtype: b16", 7, "inputs.x.dtype: found 'b16', allowed: float32, bfloat16"),
        ("dtype: bfloat16", "dtype: int32", 7, "found integers without `scale`"),
        ("dtype: bfloat16", "dtype: int32, values: normal", 7, "found 'normal', allowed for int32: constant, integers"),
        (
            "dtype: bfloat16",
            "dtype: float8_e8m0fnu, values: normal",
            7,
            "allowed for float8_e8m0fnu: uniform, constant",
        ),
        ("dtype: bfloat16", "dtype: int32, values: no.py:f", 7, "inputs.x.values: found 'no.py:f', but "),
        ("dtype: bfloat16", "dtype: bfloat16, dtype: int8", 7, "inputs.x: found key 'dtype' twice, allowed: once"),
        ("values: constant", "valeus: constant", 8, "found key 'valeus', allowed: shape, dtype, values, scale"),
        ("eps: 1e-6", "x: 1", 9, "arguments.x: found an argument with the name of an input"),
        ("my_kernels.py:right", "my_kernels.py:wrong", 10, "reference: found no wrong in my_kernels.py"),
        ("rtol: 1e-2", "rtol: small", 11, "tolerance: found no number as rtol"),
        ("flops: 2*M*N", "flops: M.bit_length()", 12, "is no arithmetic over the dimensions"),
        ("flops: 2*M*N", "flops: 0-M", 12, "'0-M' is -128, allowed: from 0"),
        ("flops: 2*M*N", "flosp: 7", 12, "found key 'flosp', allowed: kernel,"),
        ("    inputs:\n", "    given:\n", 2, "inputs: found nothing"),
        ("    inputs:\n", "    input:\n", 7, "inputs: found input, allowed: inputs: {x: "),
        ("    reference: my_kernels.py:right\n", "", 10, "tolerance: found without `reference`"),
    ],
)
def test_an_error_names_the_line_and_what_was_expected(read, old, new, line, says):
    assert old in ENTRY
    with pytest.raises(ShapesError) as error:
        read(ENTRY.replace(old, new))
    assert error.value.line == line
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("", "has no KERNEL"),
        ("KERNEL = 1", "has no KERNEL"),
        ("import nki_of_nobody", "cannot be imported: ModuleNotFoundError"),
        ("raise SystemExit", "cannot be imported: SystemExit"),
    ],
)
def test_a_file_that_declares_no_kernel_is_an_error_with_its_line(read, tmp_path, source, says):
    (tmp_path / f"declares_{abs(hash(source))}.py").write_text(source)
    with pytest.raises(ShapesError, match=says) as error:
        read(f"cases:\n  - kernel: declares_{abs(hash(source))}.py\n    implementation: nki\n")
    assert error.value.line == 2


def test_a_kernel_of_nki_library_needs_its_checkout_and_is_looked_for_when_it_is_built(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(
        "cases: [{kernel: 'nkilib_src.nkilib.core.cumsum.cumsum:cumsum', implementation: nkilib, M: 8, "
        "inputs: {x: {shape: [M, M], dtype: float32}}}]\n"
    )
    (case,) = read_shapes(path)
    assert case.implementation == "nkilib"
    assert implementation_of(case, str(tmp_path)).needs == ("nkilib",)


def test_the_number_of_ranks_may_stand_in_expressions(read):
    text = ENTRY.replace("M: [128, 256]", "M: 128\n    ranks: [2, 4]").replace("[N]", "[N*ranks]")
    assert [(case.ranks, case.own.inputs[1].shape) for case in read(text)] == [(2, (1024,)), (4, (2048,))]


@pytest.mark.parametrize(
    ("said", "tensor"),
    [
        ("dtype: bfloat16", ("bfloat16", 1.0, "normal")), ("dtype: bf16", ("bfloat16", 1.0, "normal")),
        ("dtype: float8_e8m0fnu", ("float8_e8m0fnu", 1.0, "constant")), ("dtype: uint8, scale: 1", ("uint8", 1.0, "integers")),
        ("dtype: int32, scale: N", ("int32", 512.0, "integers")), ("dtype: int32, scale: 2**31-1", ("int32", 2.0**31 - 1, "integers")),
        ("dtype: int32, values: constant", ("int32", 1.0, "constant")), ("values: uniform, scale: 1/4", ("float32", 0.25, "uniform")),
        ("values: my_kernels.py:right, scale: 3", ("float32", 1.0, "my_kernels.py:right")),
    ],
)  # fmt: skip
def test_an_input_is_drawn_as_its_type_says(read, said, tensor):
    text = (
        ENTRY.replace("M: [128, 256]", "M: 128")
        .replace("dtype: bfloat16", said)
        .replace("implementation: nki", "implementation: nki\n    dtype: float32")
    )
    [case] = read(text)
    x = case.own.inputs[0]
    assert (x.shape, x.dtype, x.scale, x.values) == ((128, 512), *tensor)


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("dtype: bfloat16", "dtype: int32, scale: 0", 7, "inputs.x.scale: found 0, allowed: from 1 to 2147483647"),
        ("dtype: bfloat16", "dtype: int32, scale: 2**31", 7, "inputs.x.scale: found 2.14748e+09, allowed: from 1 to 2147483647"),
        ("shape: [M, N]", "shape: [2**31]", 7, "inputs.x.shape: '2**31' is 2147483648, allowed: from 1 to 2147483647"),
        ("x: {shape: [M, N], dtype: bfloat16}", "x: MN", 7, "inputs.x: found 'MN', allowed: a mapping with shape, dtype, values, scale"),
        ("atol: 0", "atol: -1", 11, "tolerance: found no number as atol, allowed: {rtol: 1e-2, atol: 1e-2}"),
        ("atol: 0", "atol: .inf", 11, "tolerance: found no number as atol, allowed: {rtol: 1e-2, atol: 1e-2}"),
        ("atol: 0", "atol: true", 11, "tolerance: found no number as atol, allowed: {rtol: 1e-2, atol: 1e-2}"),
        (", atol: 0", "", 11, "tolerance: found no number as atol, allowed: {rtol: 1e-2, atol: 1e-2}"),
        ("flops: 2*M*N", "flops: 2**201", 12, None),
        ("      x: {", "      1x: {", 7, "inputs: found the name '1x', allowed: letters, digits and _, each name once"),
        ("values: constant", "values: [constant]", 8, "inputs.w.values: found a list, allowed: normal, uniform, constant, integers"),
        ("mode: fast", "mode: fast, mode: slow", 9, "arguments: found the name 'mode', allowed: letters, digits and _, each name once"),
    ],
)  # fmt: skip
def test_limits_are_told_with_what_is_allowed(read, old, new, line, says):
    assert old in ENTRY
    with pytest.raises(ShapesError) as error:
        read(ENTRY.replace(old, new))
    assert error.value.line == line and (says is None or str(error.value).endswith(f":{line}: {says}"))


def test_zero_flops_and_the_largest_are_taken(read):
    for flops in (0, 2**200):
        assert read(ENTRY.replace("2*M*N", str(flops)))[0].own.flops == flops


def test_arguments_are_plain_data_and_arithmetic_is_computed(read):
    for case, rows in zip(read(ENTRY), (1, 2)):
        assert dict(case.own.arguments) == {"eps": 1e-6, "mode": "fast", "rows": rows, "sizes": [1, 2]}
    one = read(ENTRY.replace("{arithmetic: M//128}", "{arithmetic: M, more: 1}"))[0]
    assert dict(one.own.arguments)["rows"] == {"arithmetic": "M", "more": 1}


def test_a_dimension_may_be_used_by_an_argument_alone(read):
    text = ENTRY.replace("    N: 512\n", "    N: 512\n    K: 96\n").replace(
        "{arithmetic: M//128}", "{arithmetic: K//32}"
    )
    assert dict(read(text)[0].own.arguments)["rows"] == 3


def test_integers_need_no_range_where_nothing_is_drawn(read, tmp_path):
    (tmp_path / "shapes.yaml").write_text(
        ENTRY.replace("dtype: bfloat16", "dtype: int32").replace("dtype: float32", "dtype: bf16")
    )
    case = read_shapes(tmp_path / "shapes.yaml", draws=False)[0]
    assert (case.own.inputs[0].values, case.own.inputs[0].scale) == ("integers", 1.0)


@pytest.mark.parametrize("implementation", ["nki", "xla", "nkilib"])
def test_a_function_is_built_by_each_of_the_ways(read, tmp_path, implementation):
    [case, _] = read(ENTRY.replace("implementation: nki", f"implementation: {implementation}"))
    found = implementation_of(case, str(tmp_path))
    assert found.entry == f"{tmp_path}/my_kernels.py:scale_rows"
    assert found.route == ("xla" if implementation == "xla" else "nki")
    assert found.needs == (("nkilib",) if implementation == "nkilib" else ())


@pytest.mark.parametrize(
    ("source", "allowed"),
    [
        ("".join(f"def f{at}(): ...\n" for at in range(25)), ", ".join(f"f{at}" for at in range(20))),
        ("a = b = 1\n", "a, b"), ("", "nothing, it defines no function"), ("a = 1\ndef f(): ...\n", "f"),
    ],
)  # fmt: skip
def test_a_function_that_is_not_there_is_told_with_the_first_20_that_are(read, tmp_path, source, allowed):
    (tmp_path / "others.py").write_text(source)
    with pytest.raises(ShapesError) as error:
        read(ENTRY.replace("my_kernels.py:scale_rows", "others.py:none"))
    assert str(error.value).endswith(f"found no none in others.py, allowed: {allowed}")


def test_a_package_without_an_init_and_a_file_of_unknown_names_are_believed(read, tmp_path):
    (tmp_path / "bare").mkdir()
    (tmp_path / "stars.py").write_text("from x import *\n")
    for entry in ("bare:f", "stars.py:f"):
        assert read(ENTRY.replace("my_kernels.py:scale_rows", entry))[0].own.entry == entry


FIELDS = "allowed: a mapping of names, in the order of the parameters"


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("inputs", "[x]", f"inputs: found a list, {FIELDS}"), ("inputs", "7", f"inputs: found '7', {FIELDS}"), ("outputs", "[]", f"outputs: found an empty list, {FIELDS}"),
        ("arguments", "fast", f"arguments: found 'fast', {FIELDS}"), ("tolerance", "1e-2", "tolerance: found '1e-2', allowed: a mapping with rtol, atol"),
        ("flops", "[1]", "flops: found a list, allowed: arithmetic over the dimensions (numbers, names, + - * / // % ** and parentheses)"),
        ("name", "{}", "name: found a mapping, allowed: a text"), ("reference", "[a]", "reference: found a list, allowed: file.py:function or package.module:function"),
        ("outputs", "{y: {shape: [M], dtype: float32, scale: 2}}", "outputs.y: found key 'scale', allowed: shape, dtype"),
    ],
)  # fmt: skip
def test_a_part_of_an_entry_that_is_of_another_kind_is_told_at_its_line(read, key, value, says):
    lines = ENTRY.splitlines()
    kept, skips = [], False
    for line in lines:
        skips = (line.startswith("      ") and skips) or line.startswith(f"    {key}:")
        kept += [] if skips else [line]
    kept.insert(3, f"    {key}: {value}")
    with pytest.raises(ShapesError) as error:
        read("\n".join(kept))
    assert error.value.line == 4 and str(error.value).endswith(f"shapes.yaml:4: {says}")


def test_a_declaration_may_not_have_the_name_of_a_built_in_kernel_and_its_file_must_be_there(read, tmp_path):
    (tmp_path / "declares_matmul.py").write_text("from neff_bench.stage1_generate.kernels.matmul import KERNEL\n")
    for file, says in (
        ("declares_matmul.py", "kernel: the KERNEL in declares_matmul.py has the name of a built-in one, 'matmul'"),
        ("gone.py", f"kernel: found 'gone.py', but {tmp_path}/gone.py is no file, allowed: file.py:function, "
                    "package.module:function or file.py with a KERNEL"),
    ):  # fmt: skip
        with pytest.raises(ShapesError) as error:
            read(f"cases:\n  - kernel: {file}\n    implementation: nki\n")
        assert str(error.value).endswith(f"shapes.yaml:2: {says}")
