"""Says what an Inferentia2 (NeuronCore-v2) is. What is not said here is as on trn2."""

from neff_bench.chips import trn2
from neff_bench.chips.chip import like
from neff_bench.chips.overheads import Overheads, controls, fetches

DOCS = "AWS docs nki/guides/architecture/trainium_inferentia2_arch.rst"
TRACES = trn2.INF2_TRACES

OVERHEADS = Overheads(
    preamble=(
        controls(
            "WRITE 57 64; NOP 1378 16; DRAIN 1454 6; EVENT_SEMAPHORE 1514 18; EVENT_SEMAPHORE 1582 253; DRAIN 1887 6"
            "; DRAIN 1945 6; EVENT_SEMAPHORE 2005 14; EVENT_SEMAPHORE 2069 1237; DRAIN 3358 6; SET_ORDERING_MODE 3418 6",
            "DRAIN 7 7; EVENT_SEMAPHORE 64 1510; EVENT_SEMAPHORE 1622 184; DRAIN 1855 7; DRAIN 1910 7"
            "; EVENT_SEMAPHORE 1967 93; EVENT_SEMAPHORE 2108 1168; DRAIN 3326 7; SET_ORDERING_MODE 3383 7",
            "DRAIN 52 23; EVENT_SEMAPHORE 137 1468; EVENT_SEMAPHORE 1664 112; DRAIN 1838 23; TENSOR_LOAD 1923 671"
            "; DRAIN 2958 23; EVENT_SEMAPHORE 3043 32; EVENT_SEMAPHORE 3135 112; DRAIN 3309 23; SET_ORDERING_MODE 3394 7",
            "DRAIN 48 8; EVENT_SEMAPHORE 119 1513; EVENT_SEMAPHORE 1692 43; DRAIN 1799 8; DRAIN 1867 8"
            "; EVENT_SEMAPHORE 1939 1164; EVENT_SEMAPHORE 3163 43; DRAIN 3269 8; SET_ORDERING_MODE 3341 8",
            "DRAIN 1709 7; DRAIN 1773 7; EVENT_SEMAPHORE 1829 1308; DRAIN 3179 7; SET_ORDERING_MODE 3246 7",
        ),
    ),
    postamble=(
        controls(
            "DRAIN 1354 10; EVENT_SEMAPHORE_RANGE_CLEAR 1409 332; DRAIN 1832 6; EVENT_SEMAPHORE 1880 9"
            "; EVENT_SEMAPHORE 1926 252; DRAIN 2219 6; NOTIFY 2266 7; COMPARE_BRANCH 2319 48"
            "; SET_ORDERING_MODE 2493 6; SET_ORDERING_MODE 2561 6",
            "DRAIN 1317 12; EVENT_SEMAPHORE_RANGE_CLEAR 1371 249; DRAIN 1659 7; EVENT_SEMAPHORE 1706 224"
            "; EVENT_SEMAPHORE 1967 182; DRAIN 2188 7; NOTIFY 2234 8; COMPARE_BRANCH 2281 47"
            "; SET_ORDERING_MODE 2446 7; SET_ORDERING_MODE 2507 7",
            "TENSOR_STORE 54 95; TENSOR_LOAD 189 389; COMPARE_BRANCH 617 91; WRITE 827 39; DRAIN 909 96"
            "; EVENT_SEMAPHORE 1048 37; EVENT_SEMAPHORE 1123 122; DRAIN 1287 23; EVENT_SEMAPHORE_RANGE_CLEAR 1353 247"
            "; DRAIN 1640 23; EVENT_SEMAPHORE 1703 258; EVENT_SEMAPHORE 1999 121; DRAIN 2159 23; NOTIFY 2222 11"
            "; COMPARE_BRANCH 2273 44; SET_ORDERING_MODE 2431 11; SET_ORDERING_MODE 2507 7",
            "EVENT_SEMAPHORE 1161 43; DRAIN 1255 8; EVENT_SEMAPHORE_RANGE_CLEAR 1317 291; DRAIN 1658 8"
            "; EVENT_SEMAPHORE 1717 271; EVENT_SEMAPHORE 2036 43; DRAIN 2130 8; NOTIFY 2189 9; COMPARE_BRANCH 2249 53"
            "; SET_ORDERING_MODE 2454 8; SET_ORDERING_MODE 2529 8",
            "DRAIN 1184 7; EVENT_SEMAPHORE_RANGE_CLEAR 1240 94; DRAIN 1379 7; EVENT_SEMAPHORE 1422 601; DRAIN 2054 7"
            "; WRITE 2096 46; WRITE 2172 36; NOTIFY 2252 8; COMPARE_BRANCH 2306 42; SET_ORDERING_MODE 2461 7"
            "; SET_ORDERING_MODE 2614 7",
        ),
    ),
    fetches=(fetches("9 8 1042 7; 9 4 1045 9; 2 1024 3041 43"),),
    postamble_ns=2450.0,
    leaving=(
        controls(
            "DRAIN 0 41; EVENT_SEMAPHORE 96 13; EVENT_SEMAPHORE 156 0",
            "DRAIN 0 31; EVENT_SEMAPHORE 75 34; EVENT_SEMAPHORE 145 0",
            "",
            "DRAIN 57 8; EVENT_SEMAPHORE 116 0",
            "DRAIN 40 179; EVENT_SEMAPHORE 260 0",
        ),
    ),
    # The traces are of first executions. GpSimd's first kernel instruction starts at 1,863,218 ns, its preamble ends at 3401.
    first_execution_ns=1_859_817.0,
)

CHIP = like(
    trn2.CHIP,
    name="inf2",
    overheads=OVERHEADS,
    year=(2023, "", "AWS announcement of the instances"),
    generation=(2, "", f"{DOCS}: NeuronCore-v2"),
    arch=('sunda', "", "compiler names of NeuronCore-v2"),
    instance_type=('inf2.xlarge', "", "AWS instance families"),
    max_lnc=(1, "cores", "AWS docs logical-neuroncore-config.rst: no logical grouping"),
    double_row=(False, "", DOCS),
    float8=(False, "", "AWS docs nki/api/nki.language: a configurable FP8 that NKI does not name"),
    one_clock=(False, "", f"{TRACES}: each engine has a clock of its own"),
    pe_clock_ghz=(2.8, "GHz", f"{DOCS}; profile metadata pe_clock_freq"),
    scalar_clock_ghz=(1.4, "GHz", DOCS),
    gpsimd_clock_ghz=(1.4, "GHz", DOCS),
    vector_clock_ghz=(1.12, "GHz", DOCS),
    base_clock_ghz=(1.4, "GHz", "profile metadata pe_clock_others; neuroncore_cycle_count / total_time"),
    sbuf_partition_bytes=(192 * 1024, "bytes", DOCS),
    sbuf_fmax_bytes=(192 * 1024 - 16384, "bytes", f"{trn2.NKIPY}: trn1, which has the same core"),
    dma_element_ns=(4.5, "ns", "not in a trace: as a packet of trn2; with the 9.8 of trn2 five attentions of github ucb-bar/autocomp @dd26a56, examples/trn-tutorial/5_sd_attention, that load and store by element are 27 to 59 % too long on trn1, with 4.5 they take -5 to +22 %"),
    disabled_dge_read_stall=(0.0, "", "no trace of NeuronCore-v2 was looked at for it"),
    hbm_bandwidth=(272.0, "bytes/ns", "AWS docs nki/deep-dives/nki-dma-bandwidth-guide.rst: 16 DMA engines of 17 GB/s for each core; one alone moves 26 (inf2 and trn1 traces)"),
    hbm_bandwidth_reported=(410e9, "bytes/s", "profile metadata hbm_ddr_bandwidth"),
    dma_issue_ns=(649.0, "ns", f"{TRACES}: spacing of DMA_DIRECT2D 649 ns"),
    dma_start_ns=(215.0, "ns", f"{TRACES}: issue to first packet 190-240 ns"),
    software_dma_issue_ns=(649.0, "ns", f"{TRACES}: 649 ns"),
    software_dma_prepare_ns=(617.0, "ns", f"{TRACES}: 655 ns (4 of 4), less semaphore_ns"),
    software_dma_start_ns=(215.0, "ns", f"{TRACES}: issue to first packet 190-240 ns"),
    software_dma_instruction_ns=(0.0, "ns", f"{TRACES}: 0"),
    dma_semaphore_gap_ns=(96.0, "ns", f"{TRACES}, and of trn1: 95-103 ns behind the last packet of a load; 320-350 behind that of a store, for which this stands too"),
    static_dma_issue_ns=(37.0, "ns", f"{TRACES}: a DMA with descriptors made at compile time is started by a WRITE of 37 ns"),
    static_dma_start_ns=(266.0, "ns", f"{TRACES}: that WRITE to the first packet 266 ns"),
    dma_wait_ns=(445.0, "ns", f"{TRACES}: last packet to waiter 345-545 ns"),
    dma_two_cores_ns=(0.0, "ns", f"{DOCS}: no logical grouping"),
    throttle_factor=(1.0, "", f"{TRACES}: none"),
    pe_column_cycles=(1.137, "cycles", "112 profiles of github AnchovyPark/npu_profiling_code @2a956420: a MATMUL ends 0.406 ns a column after the one before, 8 to 512 columns (64 pairs; 1.3 ns off in the mean). On trn1 32,768 of 512 columns take 6.97 and 6.96 ms, 208 ns each and what begins and ends the kernels: aws-neuron/aws-neuron-sdk @72825d5, general/nki/tutorials/matrix_multiplication.rst, and ucb-bar/autocomp @dd26a56, examples/trn-tutorial/2_gemm_trace.py"),
    pe_overhead_cycles=(0, "cycles", "as pe_column_cycles: nothing beside the columns"),
    pe_latency_ns=(98.0, "ns", f"{TRACES}: MATMUL lasts columns/clock + 144 ns: 98 fixed + 128 cycles"),
    load_weights_ns=(71.6, "ns", f"{TRACES}: LDWEIGHTS 82-84 ns, less the 32 cycles of load_weights_cycles"),
    scalar_latency_ns=(157.0, "ns", "as scalar_function_latency_ns"),
    scalar_function_latency_ns=(157.0, "ns", f"{TRACES}: ACTIVATE COPY = columns/clock + 157 ns where Scalar was idle"),
    scalar_sbuf_latency_ns=(157.0, "ns", "as scalar_function_latency_ns, which is of PSUM"),
    scalar_copy_overhead_ns=(16.0, "ns", "as scalar_overhead_ns"),
    scalar_overhead_ns=(16.0, "ns", f"{TRACES}: ACTIVATE COPY ends columns/clock + 16 ns after the one before (2 of 2)"),
    scalar_sbuf_overhead_ns=(16.0, "ns", "as scalar_overhead_ns, which is of PSUM"),
    activation_table_load_ns=(368.0, "ns", f"{TRACES}: ACT_TABLE_LOAD 368 ns"),
    vector_overhead_ns=(57.0, "ns", "github ucb-bar/autocomp @dd26a56, examples/trn-advanced/4_conv1d_trace.py, trn1: 131,072 instructions of three columns take 8007 us, 61 ns each, 4 of them for the columns"),
    vector_minimum_cycles=(0, "cycles", "as vector_overhead_ns: the columns and it are all that they take"),
    vector_fast_modes=(False, "", f"{DOCS}: from NeuronCore-v3"),
    execution_clock_ns=(900.0, "ns", "one sum of vectors of github ichuniq/asst4-trainium on trn1: 28.85 us in its trace (@754c4f3), 28 as the 99th percentile of nki.benchmark in whole microseconds (@ba2c5b1)"),
    execution_clock_spread_ns=(1500.0, "ns", "as execution_clock_ns: one kernel, whole microseconds"),
    cores_per_device=(2, "cores", f"{DOCS}: two NeuronCores-v2"),
    devices_per_server=(12, "devices", "AWS docs about-neuron/arch/neuron-hardware/inf2-arch.rst: inf2.48xlarge"),
    link_bandwidth=(103.0, "bytes/ns", "AWS docs about-neuron/arch/neuron-hardware/inf2-arch.rst: 192 GiB/s for each chip, read as the sum of both directions; never compared with hardware"),
)  # fmt: skip
