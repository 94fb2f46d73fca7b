"""Describes Trainium3: NeuronCore-v4. What is not said here, the overheads among it, is that of trn2, but for instruction fetches,
which it has none of (docs/model.md, Evidence)."""

from dataclasses import replace

from neff_bench.chips import trn2
from neff_bench.chips.chip import like

DOCS = "AWS docs nki/guides/architecture/trainium3_arch.rst"

CHIP = like(
    trn2.CHIP,
    name="trn3",
    overheads=replace(trn2.OVERHEADS, fetches=((), ())),
    year=(2025, "", "AWS announcement of the instances"),
    generation=(4, "", f"{DOCS}: NeuronCore-v4"),
    arch=("mariana", "", "compiler name of NeuronCore-v4"),
    instance_type=("trn3.3xlarge", "", "AWS instance families"),
    mx=(True, "", f"{DOCS}: 315 MXFP8/MXFP4 TFLOPS beside 79 BF16"),
    vector_clock_ghz=(1.2, "GHz", DOCS),
    sbuf_partition_bytes=(256 * 1024, "bytes", DOCS),
    sbuf_fmax_bytes=(256 * 1024 - 16384 - 8, "bytes", trn2.NKIPY),
    hbm_bandwidth=(1178.0, "bytes/ns", f"{DOCS}: one stack, which two cores share (4.7 TB/s / 4)"),
    hbm_bandwidth_reported=(1178e9, "bytes/s", "mbu of SemiAnalysisAI/InferenceX trn3_lnc2_gemm profiles"),
    dma_engine_bandwidth=(38.1, "bytes/ns", f"{DOCS}: 38.4, times the 27/27.2 of trn2"),
    execution_clock_spread_ns=(6700.0, "ns", "no public kernel was measured by both clocks on trn3: the constant of trn2 may be all wrong"),
    link_bandwidth=(1100.0, "bytes/ns", "AWS docs about-neuron/arch/neuron-hardware/trn3-arch.rst: 2,048 GiB/s for each device, read as the sum of both directions; never compared with hardware"),
)  # fmt: skip
