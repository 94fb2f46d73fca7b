import pytest

from neff_bench.errors import WrongCall
from neff_bench.experiments.workload import MatmulConfig, MlpConfig, parse_shape


def test_tiles_are_those_of_one_matmul_instruction():
    assert MatmulConfig(129, 512, 1024).tiles == (2, 4, 2)
    assert MatmulConfig(128, 128, 512).tiles == (1, 1, 1)


def test_padding_is_the_part_of_the_tiles_that_holds_nothing():
    assert MatmulConfig(128, 128, 512).padding == 0
    assert MatmulConfig(64, 128, 512).padding == 0.5


def test_flops_and_bytes():
    assert MatmulConfig(2, 3, 4, "bfloat16").flops == 48
    assert MatmulConfig(2, 3, 4, "bfloat16").bytes == 2 * (6 + 12 + 8)
    assert MlpConfig(1, 2, 3, 4).flops == 3 * 2 * 2 * 3 * 4


def test_a_shape_is_a_matmul_or_an_mlp():
    assert parse_shape("128x512x1024", "float32") == MatmulConfig(128, 512, 1024)
    assert parse_shape("1x128x1024x512", "bfloat16") == MlpConfig(1, 128, 1024, 512, "bfloat16")


@pytest.mark.parametrize("text", ["", "128", "128x128", "1x2x3x4x5", "axbxc", "0x1x1", "-1x1x1", "1.5x1x1"])
def test_other_shapes_are_refused(text):
    with pytest.raises(WrongCall):
        parse_shape(text, "float32")


@pytest.mark.parametrize("arguments", [(0, 1, 1), (1, -1, 1), (1, 1, "1"), (1, 1, True), (1, 1, 1, "int8")])
def test_other_sizes_and_dtypes_are_refused(arguments):
    with pytest.raises(WrongCall):
        MatmulConfig(*arguments)
