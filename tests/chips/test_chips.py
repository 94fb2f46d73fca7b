"""Sizes and names of the chips that no simulated time shows."""

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
