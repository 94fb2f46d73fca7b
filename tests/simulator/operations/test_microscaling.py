"""quantize_mx and nc_matmul_mx against a statement of the specification: one block, one value, one product at a time."""

import math

import ml_dtypes
import numpy as np
import pytest

from neff_bench.chips import CHIPS
from neff_bench.simulator.errors import ExecutionError, NkiValidationError
from neff_bench.simulator.nki import isa as nisa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.launch import launch
from neff_bench.simulator.operations import OPERATIONS, microscaling
from neff_bench.simulator.program import Program
from neff_bench.simulator.recording.recorder import recording

FORMATS = {"float8_e4m3fn_x4": (4, 3, 7), "float8_e5m2_x4": (5, 2, 15), "float4_e2m1fn_x4": (2, 1, 1)}
"""Bits of exponent and mantissa, and the bias."""
FLOAT8 = [name for name in FORMATS if "float8" in name]


def value_of(code, name):
    """OCP Microscaling Formats v1.0, section 5.3."""
    exponent_bits, mantissa_bits, bias = FORMATS[name]
    sign = -1.0 if code >> (exponent_bits + mantissa_bits) else 1.0
    exponent = code >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = code & (1 << mantissa_bits) - 1
    if name == "float8_e4m3fn_x4" and (exponent, mantissa) == (15, 7):
        return math.nan
    if name == "float8_e5m2_x4" and exponent == 31:
        return math.nan if mantissa else sign * math.inf
    fraction = mantissa / (1 << mantissa_bits)
    return sign * (fraction * 2.0 ** (1 - bias) if exponent == 0 else (1 + fraction) * 2.0 ** (exponent - bias))


def nearest(value, name):
    """The code of the nearest value; of two, that with an even mantissa."""
    codes = [code for code in range(128) if math.isfinite(value_of(code, name))]
    best = min(codes, key=lambda code: (abs(value_of(code, name) - abs(value)), code & 1))
    return best | (0x80 if math.copysign(1, value) < 0 else 0)


def quantized(block, name):
    """Codes and scale of 32 values (AWS docs, nki.isa.quantize_mx)."""
    largest = max(abs(value) for value in block)
    exponent = (
        -127
        if largest == 0
        else max(math.frexp(largest)[1] - 1 - ({"float8_e4m3fn_x4": 8, "float8_e5m2_x4": 15}[name] - 1), -127)
    )
    return [nearest(value / 2.0**exponent, name) for value in block], exponent + 127


def quantize(name, rows, scale_dtype="uint8"):
    def kernel(x):
        data, scale = nl.ndarray((rows, x.shape[1] // 4), name), nl.ndarray((rows, x.shape[1] // 4), scale_dtype)
        tile = nl.load(x)
        nisa.memset(scale, 0 if scale_dtype == "uint8" else 1.0)
        nisa.quantize_mx(data, tile, scale)
        results = [nl.ndarray(one.shape, one.dtype, nl.shared_hbm) for one in (data, scale)]
        for result, one in zip(results, (data, scale)):
            nisa.dma_copy(result, one)
        return tuple(results)

    return kernel


@pytest.fixture
def trn3(monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn3")


@pytest.mark.parametrize("name", FLOAT8)
@pytest.mark.parametrize(("dtype", "rows"), [(ml_dtypes.bfloat16, 128), (np.float16, 64), (ml_dtypes.bfloat16, 32)])
def test_quantize_mx_is_the_specification(trn3, name, dtype, rows):
    random = np.random.default_rng(rows)
    spread = np.exp2(random.integers(-20, 14, (rows // 8, 1, 4, 1)))
    x = (random.standard_normal((rows // 8, 8, 4, 4)) * spread).astype(dtype)
    x[0, :, 0] = 0
    x[1, :, 1] = np.copysign(0, x[1, :, 1])
    x[2, :, 2] *= dtype(2.0**-24 if dtype is np.float16 else 2.0**-122)
    x[3, 0, 3, 0] = ml_dtypes.finfo(dtype).max
    result = launch(quantize(name, rows), (x.reshape(rows, 16),), {}, 1, fits=True).result
    codes, scales = result[0].view(np.uint8).reshape(rows // 8, 8, 4, 4), result[1]
    for group in range(rows // 8):
        for column in range(4):
            block = x[group, :, column].astype(float).ravel().tolist()
            expected, scale = quantized(block, name)
            assert codes[group, :, column].ravel().tolist() == expected
            assert scales[group // 4 * 32 + group % 4, column] == scale
    unused = [row for row in range(rows) if row % 32 >= 4]
    assert not scales[unused].any()


def test_earlier_releases_have_the_scale_of_ocps_sample_algorithm(trn3, monkeypatch):
    monkeypatch.setattr(microscaling, "ROOM", 0)
    x = np.full((32, 4), 1.984375, ml_dtypes.bfloat16)  # rounds up to 512, beyond the largest value of e4m3fn
    data, scale = launch(quantize("float8_e4m3fn_x4", 32), (x,), {}, 1, fits=True).result
    assert (scale[:4] == 119).all() and (data.view(np.uint8) == 0x7E).all()


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_a_block_with_a_value_that_is_not_finite_is_not_a_number(trn3, odd):
    x = np.ones((32, 8), ml_dtypes.bfloat16)
    x[9, 5] = odd
    data, scale = launch(quantize("float8_e4m3fn_x4", 32), (x,), {}, 1, fits=True).result
    assert scale[:4].tolist() == [[120, 120], [120, 255], [120, 120], [120, 120]]
    assert (data.view(np.uint8)[8:16, 4:] == 0x7F).all() and (data.view(np.uint8)[:8] == 0x70).all()


def draw(random, name, rows, columns):
    """Random codes without NaN and infinity, packed, as the host has them."""
    width = sum(FORMATS[name][:2]) + 1
    fine = [code for code in range(1 << width) if math.isfinite(value_of(code, name))]
    codes = random.choice(fine, (rows, columns, 4)).astype(np.uint64)
    return codes, (codes << (width * np.arange(4, dtype=np.uint64))).sum(-1).astype(f"u{width // 2}")


def product(codes, scales, names):
    """Sum over the partitions and the four values of an element, in exact arithmetic of doubles."""
    whole = []
    for code, scale, name in zip(codes, scales, names):
        values = np.array([value_of(at, name) for at in range(256 if "8" in name[:6] else 16)])[code.astype(int)]
        rows = np.arange(len(code)) // 32 * 32 + np.arange(len(code)) // 8 % 4
        whole.append(values * np.exp2(scale[rows].astype(float) - 127)[..., None])
    return np.einsum("pmv,pnv->mn", *whole)


def multiply(names, dst="float32", first=0, times=1):
    """A product of packed tensors, with scales that begin `first` partitions into each quadrant."""

    def kernel(a, a_scale, b, b_scale):
        tiles = [nl.ndarray(t.shape, n) for t, n in zip((a, b), names)]
        for tile, hbm in zip(tiles, (a, b)):
            nisa.dma_copy(tile, hbm.view(tile.dtype))
        scales = [nl.load(a_scale)[first:], nl.load(b_scale)[first:]]
        out = nl.ndarray((a.shape[1], b.shape[1]), dst, nl.psum)
        for _ in range(times):
            nisa.nc_matmul_mx(out, *tiles, *scales)
        copy, result = nl.ndarray(out.shape, dst), nl.ndarray(out.shape, dst, nl.shared_hbm)
        nisa.tensor_copy(copy, out)
        nisa.dma_copy(result, copy)
        return result

    return kernel


@pytest.mark.parametrize("first", [0, 12])
@pytest.mark.parametrize("rows", [32, 96, 128])
@pytest.mark.parametrize(
    "names",
    [("float8_e4m3fn_x4", "float8_e5m2_x4"), ("float4_e2m1fn_x4", "float8_e4m3fn_x4"), ("float4_e2m1fn_x4",) * 2],
)
def test_nc_matmul_mx_is_the_specification(trn3, names, rows, first):
    random = np.random.default_rng(rows + first)
    (a_codes, a), (b_codes, b) = (draw(random, name, rows, columns) for name, columns in zip(names, (6, 10)))
    high = rows if rows > 32 else 4 + first
    scales = [random.integers(100, 140, (high, columns)).astype(np.uint8) for columns in (6, 10)]
    out = launch(multiply(names, first=first), (a, scales[0], b, scales[1]), {}, 1, fits=True).result
    expected = product((a_codes, b_codes), [np.roll(scale, -first, 0) for scale in scales], names)
    np.testing.assert_allclose(out, expected, rtol=1e-6, atol=np.abs(expected).max() * 1e-6)


def test_products_add_up_in_psum_and_round_to_its_dtype(trn3):
    random = np.random.default_rng(5)
    names = ("float8_e5m2_x4", "float4_e2m1fn_x4")
    (a_codes, a), (b_codes, b) = (draw(random, name, 32, 4) for name in names)
    scale = np.full((4, 4), 127, np.uint8)
    out = launch(multiply(names, "bfloat16", times=2), (a, scale, b, scale), {}, 1, fits=True).result
    once = product((a_codes, b_codes), (scale, scale), names).astype(np.float32).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(out, once * np.float32(2))


def test_no_scale_overflows_before_the_sum(trn3):
    one = np.full((32, 2), 0x78787878, np.uint32)  # 256 in float8_e4m3fn
    scales = [np.full((4, 2), code, np.uint8) for code in (254, 0)]
    out = launch(multiply(("float8_e4m3fn_x4",) * 2), (one, scales[0], one, scales[1]), {}, 1, fits=True).result
    assert (out == 128 * 2.0**16).all()


def test_a_scale_that_is_not_a_number_makes_its_columns_so(trn3):
    one = np.full((32, 2), 0x38383838, np.uint32)
    scales = np.full((4, 2), 127, np.uint8)
    scales[2, 1] = 255
    out = launch(
        multiply(("float8_e4m3fn_x4",) * 2), (one, scales, one, np.full((4, 2), 127, np.uint8)), {}, 1, fits=True
    ).result
    assert (out[0] == 128).all() and np.isnan(out[1]).all()


def test_what_is_not_a_number_gives_zero_with_zero(trn3):
    one, half = np.full((32, 2), 0x38383838, np.uint32), np.full((32, 2), 0x38383838, np.uint32)
    half[8:16, 0] = 0
    scales = np.full((4, 2), 127, np.uint8)
    unknown = scales.copy()
    unknown[1] = 255
    for first, second, a, b in ((one, half, unknown, scales), (half, one, scales, unknown)):
        out = launch(multiply(("float8_e4m3fn_x4",) * 2), (first, a, second, b), {}, 1, fits=True).result
        column = out[:, 0] if first is one else out[0]
        assert (column == 96).all() and np.isnan(out).sum() == 2


def test_scales_of_two_tensors_share_a_tile_without_a_dependency(trn3):
    """What AWS calls scale packing: each call writes and reads its own four partitions of each quadrant."""
    with recording("trn3") as now:
        tile = nl.ndarray((128, 8), "uint8")
        data = [nl.ndarray((128, 8), "float8_e4m3fn_x4") for _ in range(2)]
        for number in range(2):
            nisa.quantize_mx(data[number], nl.ndarray((128, 32), nl.bfloat16), tile[4 * number :])
        rows = [{i.writes[key].offset // 8 for key in i.writes if key != "dst"} for i in now.instructions]
        assert rows == [{0, 32, 64, 96}, {4, 36, 68, 100}]
        assert {i.writes[key].shape for i in now.instructions for key in i.writes if key != "dst"} == {(4, 8)}


def e4(rows, columns):
    return nl.ndarray((rows, columns), "float8_e4m3fn_x4")


def scale(rows, columns, dtype="uint8"):
    return nl.ndarray((rows, columns), dtype)


def bf16(rows, columns):
    return nl.ndarray((rows, columns), "bfloat16")


def out(rows, columns, dtype="float32"):
    return nl.ndarray((rows, columns), dtype, nl.psum)


WRONG = {
    "src must be bfloat16 or float16": lambda: nisa.quantize_mx(e4(32, 2), nl.ndarray((32, 8), "float32"), scale(4, 2)),
    "dst must be one of float8_e4m3fn_x4, float8_e5m2_x4": lambda: nisa.quantize_mx(nl.ndarray((32, 2), "float4_e2m1fn_x4"), bf16(32, 8), scale(4, 2)),
    "src must be a multiple of 32": lambda: nisa.quantize_mx(e4(48, 2), bf16(48, 8), scale(48, 2)),
    "must be a multiple of 4": lambda: nisa.quantize_mx(e4(32, 2), bf16(32, 10), scale(4, 2)),
    r"dst must be \[32, 2\]": lambda: nisa.quantize_mx(e4(32, 3), bf16(32, 8), scale(4, 2)),
    "src must be in SBUF": lambda: nisa.quantize_mx(e4(32, 2), out(32, 8, "bfloat16"), scale(4, 2)),
    "dst_scale must be uint8 or float8_e8m0fnu": lambda: nisa.quantize_mx(e4(32, 2), bf16(32, 8), scale(4, 2, "int8")),
    r"dst_scale must be \[100 to 128, 2\]": lambda: nisa.quantize_mx(e4(128, 2), bf16(128, 8), scale(16, 2)),
    "must start 0, 4, 8 or 12 partitions into a quadrant, not 6": lambda: nisa.quantize_mx(e4(32, 2), bf16(32, 8), scale(32, 2)[6:10]),
    "stationary must be one of": lambda: nisa.nc_matmul_mx(out(4, 4), bf16(32, 4), e4(32, 4), scale(4, 4), scale(4, 4)),
    "contraction differs": lambda: nisa.nc_matmul_mx(out(4, 4), e4(64, 4), e4(32, 4), scale(64, 4), scale(4, 4)),
    "even number of columns": lambda: nisa.nc_matmul_mx(out(3, 4), e4(32, 3), e4(32, 4), scale(4, 3), scale(4, 4)),
    r"dst must be \[4, 8\]": lambda: nisa.nc_matmul_mx(out(4, 4), e4(32, 4), e4(32, 8), scale(4, 4), scale(4, 8)),
    "dst must be float32 or bfloat16 in PSUM": lambda: nisa.nc_matmul_mx(out(4, 4, "float16"), e4(32, 4), e4(32, 4), scale(4, 4), scale(4, 4)),
    "moving has 4098 columns, at most 4096": lambda: nisa.nc_matmul_mx(out(4, 4), e4(32, 4), e4(32, 4098), scale(4, 4), scale(4, 4098)),
    r"moving_scale must be \[4 to 32, 8\]": lambda: nisa.nc_matmul_mx(out(4, 8), e4(32, 4), e4(32, 8), scale(4, 4), scale(4, 4)),
    "moving_scale must be in SBUF": lambda: nisa.nc_matmul_mx(out(4, 4), e4(32, 4), e4(32, 4), scale(4, 4), out(4, 4, "uint8")),
    r"tile_size must be \(32, 64 or 128, 128\)": lambda: nisa.nc_matmul_mx(out(4, 4), e4(32, 4), e4(32, 4), scale(4, 4), scale(4, 4), (0, 32), (32, 32)),
    "exceeds tile_size": lambda: nisa.nc_matmul_mx(out(4, 4), e4(64, 4), e4(64, 4), scale(64, 4), scale(64, 4), (32, 0), (32, 128)),
}  # fmt: skip


def test_a_packed_tile_is_filled_with_zero_only():
    with recording("trn3") as now:
        nisa.memset(e4(32, 2), 0.0)
        assert now.instructions[0].attributes == {"value": 0.0}
        with pytest.raises(NkiValidationError, match="memset: a packed type is filled with 0 only, not with 1.0"):
            nisa.memset(e4(32, 2), 1.0)


def test_arithmetic_on_packed_elements_is_refused_at_the_kernels_line(trn3):
    def kernel(a):
        tile, result = nl.ndarray((32, 2), "float8_e4m3fn_x4"), nl.ndarray((32, 2), "float8_e4m3fn_x4", nl.shared_hbm)
        nisa.memset(tile, 0)
        nisa.tensor_tensor(tile, tile, tile, nl.add)
        nisa.dma_copy(result, tile)
        return result

    with pytest.raises(ExecutionError, match=r"test_microscaling\.py:\d+: an operand is float8_e4m3fn_x4"):
        launch(kernel, (np.zeros((32, 2), np.float32),), {}, 1, fits=True)


@pytest.mark.parametrize("what", WRONG)
def test_a_limit_of_the_documents_is_refused_at_the_kernels_line(what):
    with recording("trn3"), pytest.raises(NkiValidationError, match=rf"test_microscaling\.py:\d+: .*{what}"):
        WRONG[what]()


@pytest.mark.parametrize("target", ["trn1", "inf2", "trn2"])
def test_only_neuroncore_v4_has_them(target):
    with recording(target), pytest.raises(NkiValidationError, match=f"quantize_mx: only on trn3, not on {target}"):
        nisa.quantize_mx(e4(32, 2), bf16(32, 8), scale(4, 2))
    with recording(target), pytest.raises(NkiValidationError, match=f"nc_matmul_mx: only on trn3, not on {target}"):
        nisa.nc_matmul_mx(out(4, 4), e4(32, 4), e4(32, 4), scale(4, 4), scale(4, 4))


def test_a_product_counts_four_values_an_element_and_takes_as_long_as_a_profile_of_trn3_shows():
    with recording("trn3") as now:
        nisa.nc_matmul_mx(out(128, 512), e4(128, 128), e4(128, 512), scale(128, 128), scale(128, 512))
        nisa.nc_matmul(out(128, 512), bf16(128, 128), bf16(128, 512))
        scaled, plain = (
            OPERATIONS[one.op].lower(one, Program("p", "trn3", 1, (), (), (), ((one,),)), CHIPS["trn3"])
            for one in now.instructions
        )
    assert scaled.steps[1].flops == 4 * plain.steps[1].flops == 2 * 512 * 128 * 512
    assert scaled.steps[1].pe_ns / plain.steps[1].pe_ns == pytest.approx(1.177, abs=1e-3)
