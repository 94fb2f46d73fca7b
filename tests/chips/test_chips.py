"""Sizes and names of the chips that no simulated time shows."""

from dataclasses import astuple

import pytest

from neff_bench.chips import CHIPS

KIB = 1024


@pytest.mark.parametrize(
    ("name", "arch", "instance", "lnc", "sbuf"),
    [
        ("trn1", "sunda", "trn1.2xlarge", 1, 192 * KIB),
        ("inf2", "sunda", "inf2.xlarge", 1, 192 * KIB),
        ("trn2", "cayman", "trn2.3xlarge", 2, 224 * KIB),
        ("trn3", "mariana", "trn3.3xlarge", 2, 256 * KIB),
    ],
)
def test_a_chip_is_the_one_that_aws_documents(name, arch, instance, lnc, sbuf):
    chip = CHIPS[name]
    assert (chip.name, chip.arch, chip.instance_type, chip.max_lnc) == (name, arch, instance, lnc)
    assert (chip.pe_rows, chip.pe_cols, chip.dma_engines) == (128, 128, 16)
    assert (chip.sbuf_partition_bytes, chip.psum_partition_bytes, chip.psum_bank_bytes) == (sbuf, 16 * KIB, 2 * KIB)


@pytest.mark.parametrize(
    ("name", "peak_tflops", "hbm", "base_clock"),
    [
        ("trn1", 91.7504, 410e9, 1.4),
        ("inf2", 91.7504, 410e9, 1.4),
        ("trn2", 78.6432, 716e9, 1.2),
        ("trn3", 78.6432, 1178e9, 1.2),
    ],
)
def test_figures_that_profiles_divide_by(name, peak_tflops, hbm, base_clock):
    chip = CHIPS[name]
    assert chip.peak_flops == pytest.approx(peak_tflops * 1e12)
    assert (chip.hbm_bandwidth_reported, chip.base_clock_ghz) == (hbm, base_clock)
    assert chip.dma_bandwidth_reported == 435e9


@pytest.mark.parametrize(
    ("name", "peaks"),
    [
        ("inf2", {"bfloat16": 92, "float8_e4m3": 92, "float8_e4m3fn_x4": None, "float32": 23}),
        ("trn2", {"bfloat16": 79, "float8_e4m3": 157, "float8_e4m3fn_x4": None, "float32": 20}),
        ("trn3", {"bfloat16": 79, "float8_e4m3": 157, "float8_e4m3fn_x4": 315, "float32": 20}),
    ],
)
def test_peaks_of_the_dtypes_are_those_of_the_architecture_guides(name, peaks):
    for dtype, tflops in peaks.items():
        assert CHIPS[name].peak_tflops(dtype, 1) == (tflops and pytest.approx(tflops, abs=0.5)), dtype


FIXED = {
    "inf2": {
        "preamble": [[(11, 20667, 1632), (9, 16242, 2990), (10, 21453, 2494), (9, 17237, 2803), (5, 11736, 1336)]],
        "postamble": [[(10, 20259, 682), (10, 19676, 750), (17, 24341, 1637), (11, 20695, 750), (11, 21180, 862)]],
        "leaving": [[(3, 252, 54), (3, 220, 65), (0, 0, 0), (2, 173, 8), (2, 300, 179)]],
    },
    "trn1": {
        "preamble": [[(7, 62696, 368), (7, 32677, 10325), (7, 33149, 10173), (7, 34069, 9913), (6, 22751, 10032)]],
        "postamble": [
            [(59, 157280, 1208), (59, 151464.25, 1379), (67, 161712, 2244), (60, 169118.5, 853), (57, 125766, 1978)]
        ],
        "leaving": [[(3, 292, 20), (3, 347, 115), (0, 0, 0), (2, 117, 9), (2, 546, 436)]],
    },
    "trn2": {
        "preamble": [
            [(18, 168659, 9007), (18, 155223, 9192), (18, 181111, 5778), (18, 167631, 8018), (15, 156614, 4079)],
            [(23, 138235, 9230), (17, 135012, 6931), (17, 132228, 7428), (17, 135844, 6695), (14, 109274, 5723)],
        ],
        "postamble": [
            [(6, 6128, 752), (7, 7065, 867), (11, 8749, 1261), (9, 8566, 1030), (7, 5870, 1042)],
            [(8, 5317, 1073), (8, 4659, 1249), (7, 3870, 1334), (7, 3888, 1329), (5, 2144, 648)],
        ],
        "leaving": [],
    },
}
"""By core and engine: number of the runtime's instructions, sum of their starts and of their durations in ns."""


@pytest.mark.parametrize("part", ["preamble", "postamble", "leaving"])
@pytest.mark.parametrize("name", FIXED)
def test_the_fixed_instructions_add_up(name, part):
    cores = getattr(CHIPS[name].overheads, part)
    sums = [
        [(len(rows), sum(row.start_ns for row in rows), sum(row.duration_ns for row in rows)) for rows in engines]
        for engines in cores
    ]
    assert sums == FIXED[name][part]


@pytest.mark.parametrize(
    ("name", "sums"),
    [
        ("inf2", [(3, 20, 1036, 5128, 59)]),
        ("trn1", [(65, 585, 260, 219660, 2175)]),
        ("trn2", [(8, 31, 67596, 36086, 7700), (9, 25, 131076, 31794, 13865)]),
    ],
)
def test_the_instruction_fetches_add_up(name, sums):
    """By core: packets, and the sums of their DMA engines, bytes, starts and durations in ns."""
    for fetches, expected in zip(CHIPS[name].overheads.fetches, sums, strict=True):
        assert (len(fetches), *(sum(column) for column in zip(*map(astuple, fetches), strict=True))) == expected


def test_without_descriptors_made_on_the_device_the_runtime_of_trn2_prepares_for_none():
    made_on_device, static = (CHIPS["trn2"].overheads.around(static=flag) for flag in (False, True))
    for core in (0, 1):
        for engine in range(5):
            assert "TENSOR_LOAD" in {row.opcode for row in made_on_device.preamble[core][engine]}
            assert "TENSOR_LOAD" not in {row.opcode for row in static.preamble[core][engine]}
    assert [round(static.kernel_start_ns(0, engine)) for engine in range(5)] == [13308, 13235, 13165, 13138, 13047]
    assert static.postamble_ns == 2039


def test_the_runtime_of_inf2_is_the_same_for_static_descriptors():
    assert CHIPS["inf2"].overheads.around(static=True) is CHIPS["inf2"].overheads


def test_trn3_has_the_overheads_of_trn2_but_for_instruction_fetches():
    assert CHIPS["trn3"].overheads.preamble == CHIPS["trn2"].overheads.preamble
    assert CHIPS["trn3"].overheads.postamble_ns == CHIPS["trn2"].overheads.postamble_ns
    assert CHIPS["trn3"].overheads.fetches == ((), ())
