"""The whole of what each rule says: title, evidence, gain, and the metric that would show it."""

import pytest

from neff_bench.chips import CHIPS
from neff_bench.parsers.event_rows import LinkedDmaRow, LinkedInstructionRow, Predecessor
from tests.viewer.test_advice_boundaries import issues, packets
from tests.viewer.test_advice_rules import READS, on_tile, product, rows, said

ALONE = "in which nothing else runs"


def loads(count, size, operands):
    """DMAs of 16 packets each, 3 us apart, and a product that waits for them all."""
    dmas = [
        LinkedInstructionRow(3000 * at, 50, 0, "Sync", "sg00", "DMA_DIRECT2D", id=at, operands=operands)
        for at in range(count)
    ]
    after = [Predecessor(at) for at in range(count)]
    last = LinkedInstructionRow(3000 * count, 50, 0, "Tensor", "sg00", "MATMUL", id=count, predecessors=after)
    moves = [LinkedDmaRow(3000 * at + 1000 + part, 10, size, trigger=at) for at in range(count) for part in range(16)]
    return [*dmas, last], moves


WEIGHTS = rows("Tensor", "LDWEIGHTS", "src=bfloat16@0x0[1,0,0][128,1,1]", 1)
WIDE = rows("Tensor", "MATMUL", product(512).replace("src=bfloat16", "src=fp32"), 3)
TURNED = rows("Tensor", "MATMUL", "", 4, linked=True, instruction_type="TRANSPOSE")
OF_TWO_DTYPES = "src=fp32@hbm:x+0[1][8] dst=bfloat16@sbuf:y+0[1][8] channels=64"


@pytest.mark.parametrize(
    ("title", "instructions", "dma", "summary", "evidence", "gain_us", "metric"),
    [
        ("Give the Tensor Engine bfloat16", [*WIDE, *WEIGHTS], (), {},
         f"3 of 4 instructions of the Tensor Engine read float32, 0.4 us {ALONE}", 0.2, "tensor_active_us"),
        ("Lay the tensor out so that no tile is transposed",
         [*TURNED, LinkedInstructionRow(5000, 100, 0, "Tensor", "sg00", "MATMUL", id=50)], (), {},
         f"4 of 5 products are transposes; with the copies that empty PSUM after them they take 0.8 us {ALONE}", 0.8, "transpose_flops"),
        ("Share the copies between Vector and Scalar", [*rows("Vector", "COPY", "", 9), *rows("GpSimd", "CAST", "", 1)], (), {},
         f"9 of 10 copies run on Vector, 1.6 us {ALONE}, while Scalar is idle 100% of the time", 0.8, "vector_active_us"),
        ("Group the activation functions", rows("Scalar", "ACT_TABLE_LOAD", "", 4), (), {},
         f"4 ACT_TABLE_LOAD, 0.8 us {ALONE}", 0.6, "scalar_active_us"),
        ("Move work from GpSimd", rows("GpSimd", "TENSOR_TENSOR", "", 2), (), {},
         f"2 instructions on GpSimd, 0.4 us {ALONE}", 0.2, "gpsimd_active_us"),
        ("Move more columns", rows("Tensor", "MATMUL", product(64), 10), (), {},
         f"10 of 10 MATMULs move 64 columns, 2.0 us {ALONE}, with their weights; an instruction takes the time of 64 or more",
         2.0 - 640 / 2.4 / 1000, "matmul_instruction_count"),
        ("Give Vector more elements", rows("Vector", "TENSOR_TENSOR", on_tile(16), 10), (), {},
         f"10 of 10 instructions of Vector work on 16 elements a partition, 2.0 us {ALONE}; 157 ns of each are fixed, 17 ns work",
         2.0 * (1 - (16 / 0.96 + CHIPS["trn2"].vector_latency_ns * 16 / 512) / (16 / 0.96 + CHIPS["trn2"].vector_latency_ns)), "vector_active_us"),
        ("Lay tiles out so that Vector reads neighbours", rows("Vector", "TENSOR_REDUCE", on_tile(256, step=16), 9), (), {},
         f"9 of 9 instructions of Vector step over more than 16 bytes, 1.8 us {ALONE}", 0.9, "vector_active_us"),
        ("Keep what Vector works on in bfloat16", rows("Vector", "COPY", on_tile(256, dtype="fp32"), 9), (), {},
         f"9 of 9 copies and elementwise instructions of Vector work on four bytes, all of it in SBUF, 1.8 us {ALONE}", 0.9, "vector_active_us"),
        ("Join the small dynamic DMAs", (), packets(300, 64), {},
         "up to 300 packets of dynamic DMAs with less than 512 bytes begin within 10 us", None, "dma_packet_count"),
        ("Move more with each DMA", (), packets(12, 500) + packets(3, 4096), {},
         "12 of 15 DMA packets with data move 500 bytes on average", 0.06, "dma_packet_count"),
        ("Move more with each DMA", *loads(8, 64, on_tile(4)), {},
         "8 of 8 DMAs move 8 bytes for each of 128 partitions, in packets of 64 bytes", None, "dma_packet_count"),
        ("Move more with each DMA", *loads(8, 64, ""), {}, "8 of 8 DMAs move 1024 bytes each, in packets of 64 bytes", None, "dma_packet_count"),
        ("Issue DMAs from several engines", *loads(8, 64, ""), {},
         "8 of 8 DMAs are issued by Sync; their issue takes 21.0 us of the critical path", 14.0, "sync_instruction_count"),
        ("Load the next tile", *loads(8, 64, ""), {},
         "the critical path waits 3.0 us for DMAs, whose packets move for 0.2 us", 2.8, "dma_active_us"),
        ("Give a tile the dtype of the tensor", *loads(1, 4096, OF_TWO_DTYPES), {},
         "1 of 1 DMAs convert; they take 3.0 us of the critical path, issue and latency included",
         3.0 * (1 - 1 / CHIPS["trn2"].dma_convert_factor), "dma_active_us"),
        ("Keep what is used again", (), (), {"spill_save_bytes": 500, "spill_reload_bytes": 1001, "hbm_read_bytes": 4000},
         "spills: 500 bytes saved, 1001 of 4000 bytes read from HBM are reloads", 1501 / CHIPS["trn2"].hbm_bandwidth / 1000, "spill_reload_bytes"),
        ("Load each tensor once", issues("Sync", 6), (), {**READS, "hbm_read_bytes": 2_000_000},
         "2000000 bytes are read from HBM, where inputs and weights hold 1000000: 2.0 times", 0.6, "hbm_read_bytes"),
        ("Keep intermediate results", issues("Sync", 6), (), {**READS, "hbm_read_bytes": 4_000_000, "hbm_write_bytes": 2_000_001},
         "4000000 bytes are read from HBM, where inputs and weights hold 1000000: 4.0 times; 2000001 bytes are written, 500000 of them outputs",
         0.9, "hbm_write_bytes"),
    ],
)  # fmt: skip
def test_each_rule_says_what_it_saw_and_what_it_could_save(
    title, instructions, dma, summary, evidence, gain_us, metric
):
    """The gain of small DMAs along a path is held in test_advice_boundaries."""
    found = said(instructions, dma, **{"total_time": 1e-7, **summary})
    [one] = [advice for said_title, advice in found.items() if said_title.startswith(title)]
    assert (one.evidence, one.metric) == (evidence, metric)
    if gain_us is not None:
        assert one.gain_us == pytest.approx(gain_us, abs=5e-4)
