"""Which shapes the named lists have."""

from neff_bench.stage1_generate.shapes import presets
from neff_bench.stage1_generate.shapes.presets import tiling


def test_tiling_varies_each_dimension_alone_around_multiples_of_its_tile():
    sizes = {(one["M"], one["K"], one["N"]) for one in tiling()}
    rows = [96, 112, 128, 144, 160, 224, 240, 256, 272, 288, 352, 368, 384, 400, 416, 480, 496, 512, 528, 544]
    assert sorted(m for m, k, n in sizes if (k, n) == (128, 512)) == rows
    assert sorted(k for m, k, n in sizes if (m, n) == (128, 512)) == rows
    assert min(n for *_, n in sizes) == 480 and max(n for *_, n in sizes) == 2080


def sizes_of(name):
    entries = presets.preset(name)
    assert all(entry["kernel"] == "matmul" for entry in entries)
    return [(entry["M"], entry["K"], entry["N"]) for entry in entries]


def test_quick_is_four_small_matmuls_and_projections_those_of_a_block():
    assert sizes_of("quick") == [(64, 128, 128), (128, 128, 128), (128, 256, 256), (256, 512, 512)]
    assert sizes_of("linear_projection") == [
        (64, 768, 960), (64, 768, 320), (64, 960, 768), (64, 768, 3072), (64, 3072, 768),
    ]  # fmt: skip


def test_llm_is_three_products_for_each_number_of_tokens():
    tokens = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]
    products = [(2048, 2048), (2048, 8192), (8192, 2048)]
    assert sizes_of("llm") == [(m, *each) for m in tokens for each in products]


def test_a_sweep_has_each_size_in_each_dimension():
    sizes = [64, 128, 256, 512, 1024]
    assert sizes_of("sweep") == [(m, k, n) for m in sizes for k in sizes for n in sizes]


def test_boundaries_lie_one_beside_each_edge_in_each_dimension_alone():
    edges = [size for edge in (128, 256, 512, 1024) for size in (edge - 1, edge, edge + 1)]
    found = sizes_of("boundary")
    for axis in range(3):
        assert [size[axis] for size in found if size[axis] != 128] == [edge for edge in edges if edge != 128]
    assert len(found) == 3 * 11 + 1 and (128, 128, 128) in found


def test_buckets_are_powers_of_two_and_then_every_128():
    assert sizes_of("buckets") == [(m, 1024, 1024) for m in (1, 2, 4, 8, 16, 32, 64, *range(128, 2049, 128))]
    assert presets.VLLM_SEQUENCE_BUCKETS == (128, 256, 512, 1024, 2048)
    assert presets.NAMES == ("llm", "tiling", "sweep", "boundary", "buckets", "linear_projection", "quick")
