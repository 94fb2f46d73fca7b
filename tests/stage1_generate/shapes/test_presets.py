"""Which shapes the named lists have."""

from neff_bench.stage1_generate.shapes.presets import tiling


def test_tiling_varies_each_dimension_alone_around_multiples_of_its_tile():
    sizes = {(one["M"], one["K"], one["N"]) for one in tiling()}
    rows = [96, 112, 128, 144, 160, 224, 240, 256, 272, 288, 352, 368, 384, 400, 416, 480, 496, 512, 528, 544]
    assert sorted(m for m, k, n in sizes if (k, n) == (128, 512)) == rows
    assert sorted(k for m, k, n in sizes if (m, n) == (128, 512)) == rows
    assert min(n for *_, n in sizes) == 480 and max(n for *_, n in sizes) == 2080
