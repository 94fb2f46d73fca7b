"""Describes Trainium2: NeuronCore-v3. The overheads are those of the trace fused_attention (its five profiles agree within 0.3 us)."""

from neff_bench.chips import trn2_static
from neff_bench.chips.chip import chip
from neff_bench.chips.overheads import Overheads, controls, fetches

DOCS = "AWS docs nki/guides/architecture/trainium2_arch.rst"
TRACES = "measured: NTFF of github allenkchau/trainium-kernel-fusion @d709ddf1 (trn2, profiler 2.28)"
COURSEWORK = "measured: 44 NTFF of five repositories of Stanford CS149, assignment 4 (trn2, `--disable-dge`; validation/correlation/coursework.py)"
INF2_TRACES = "measured: NTFF of github AnchovyPark/npu_profiling_code @2a956420 (inf2, profiler 2.27)"
NKIPY = "aws-neuron/nkipy@3517bcb kernelgen/mlir/include/nkipy/Transforms/HardwareConstants.h (read 2026-11-23)"
COSTS = "AWS docs 2.26 general/nki/api/nki/isa/__init__.py, cost tables"

OVERHEADS = Overheads(
    preamble=(
        controls(
            "WRITE 84 70; NOP 2702 21; DRAIN 2803 19; EVENT_SEMAPHORE 2901 67; EVENT_SEMAPHORE 3044 6551"
            "; DRAIN 9744 12; TENSOR_LOAD 9835 1219; DRAIN 11494 12; EVENT_SEMAPHORE 11586 52"
            "; EVENT_SEMAPHORE 11714 276; DRAIN 12067 12; WRITE 12159 230; EVENT_SEMAPHORE 12704 67; DRAIN 12848 12"
            "; EVENT_SEMAPHORE 12939 55; EVENT_SEMAPHORE 13072 276; DRAIN 13424 12; SET_ORDERING_MODE 13539 44",  # Tensor
            "TENSOR_LOAD 2960 477; DRAIN 3504 7; COMPARE_BRANCH 3579 233; NOTIFY 3879 4; DRAIN 3947 7"
            "; EVENT_SEMAPHORE 4023 40; EVENT_SEMAPHORE 4125 5424; DRAIN 9612 7; TENSOR_LOAD 9688 1020"
            "; DRAIN 10913 7; EVENT_SEMAPHORE 10989 690; EVENT_SEMAPHORE 11742 205; DRAIN 12010 7; DRAIN 12086 7"
            "; EVENT_SEMAPHORE 12162 874; EVENT_SEMAPHORE 13169 135; DRAIN 13368 7; SET_ORDERING_MODE 13467 41",  # Scalar
            "TENSOR_LOAD 6557 683; DRAIN 7289 29; COMPARE_BRANCH 7365 130; NOTIFY 7703 20; DRAIN 7770 29"
            "; EVENT_SEMAPHORE 7847 45; EVENT_SEMAPHORE 7935 1576; DRAIN 9557 29; TENSOR_LOAD 9633 1025"
            "; DRAIN 10854 29; EVENT_SEMAPHORE 10931 786; EVENT_SEMAPHORE 11760 150; DRAIN 11955 29; DRAIN 12029 29"
            "; EVENT_SEMAPHORE 12105 969; EVENT_SEMAPHORE 13117 150; DRAIN 13313 29; SET_ORDERING_MODE 13391 41",  # GpSimd
            "TENSOR_LOAD 4085 906; DRAIN 5052 13; COMPARE_BRANCH 5125 158; NOTIFY 5534 13; DRAIN 5606 19"
            "; EVENT_SEMAPHORE 5686 2252; EVENT_SEMAPHORE 7992 1480; DRAIN 9528 13; TENSOR_LOAD 9601 1070"
            "; DRAIN 10860 13; EVENT_SEMAPHORE 10937 826; EVENT_SEMAPHORE 11817 54; DRAIN 11927 13; DRAIN 11996 13"
            "; EVENT_SEMAPHORE 12069 1052; EVENT_SEMAPHORE 13174 54; DRAIN 13284 13; SET_ORDERING_MODE 13358 56",  # Vector
            "TENSOR_LOAD 8143 648; DRAIN 8849 8; COMPARE_BRANCH 8924 123; NOTIFY 9262 10; DRAIN 9341 8"
            "; EVENT_SEMAPHORE 9404 30; DRAIN 9477 8; TENSOR_LOAD 9539 971; DRAIN 10694 8"
            "; EVENT_SEMAPHORE 10758 1039; DRAIN 11840 8; DRAIN 11913 8; EVENT_SEMAPHORE 11976 1178; DRAIN 13197 8"
            "; SET_ORDERING_MODE 13297 24",  # Sync
        ),
        controls(
            "NOP 59 19; NOP 157 19; NOP 255 13; TENSOR_LOAD 348 634; COMPARE_BRANCH 1066 233; NOTIFY 1380 7"
            "; WRITE 1468 75; NOP 3646 21; DRAIN 3747 19; EVENT_SEMAPHORE 3845 67; EVENT_SEMAPHORE 3989 3042"
            "; DRAIN 7178 12; DRAIN 7269 12; EVENT_SEMAPHORE 7361 52; EVENT_SEMAPHORE 7489 277; DRAIN 7843 12"
            "; WRITE 7935 225; EVENT_SEMAPHORE 8463 4094; DRAIN 12633 12; EVENT_SEMAPHORE 12724 52"
            "; EVENT_SEMAPHORE 12853 277; DRAIN 13206 12; SET_ORDERING_MODE 13321 44",  # Tensor
            "TENSOR_LOAD 5279 628; DRAIN 5974 7; COMPARE_BRANCH 6049 222; NOTIFY 6338 4; DRAIN 6406 7"
            "; EVENT_SEMAPHORE 6482 40; EVENT_SEMAPHORE 6584 404; DRAIN 7051 7; DRAIN 7127 7"
            "; EVENT_SEMAPHORE 7203 252; EVENT_SEMAPHORE 7518 206; DRAIN 7787 7; DRAIN 7863 7"
            "; EVENT_SEMAPHORE 7939 4879; EVENT_SEMAPHORE 12881 206; DRAIN 13216 7; SET_ORDERING_MODE 13315 41",  # Scalar
            "TENSOR_LOAD 4889 643; DRAIN 5580 29; COMPARE_BRANCH 5657 124; NOTIFY 5988 15; DRAIN 6050 29"
            "; EVENT_SEMAPHORE 6127 433; EVENT_SEMAPHORE 6603 348; DRAIN 6996 29; DRAIN 7069 29"
            "; EVENT_SEMAPHORE 7146 347; EVENT_SEMAPHORE 7536 150; DRAIN 7732 29; DRAIN 7805 29"
            "; EVENT_SEMAPHORE 7882 4974; EVENT_SEMAPHORE 12899 150; DRAIN 13095 29; SET_ORDERING_MODE 13174 41",  # GpSimd
            "TENSOR_LOAD 5396 691; DRAIN 6148 13; COMPARE_BRANCH 6221 140; NOTIFY 6605 13; DRAIN 6677 13"
            "; EVENT_SEMAPHORE 6750 54; EVENT_SEMAPHORE 6857 54; DRAIN 6968 13; DRAIN 7036 13"
            "; EVENT_SEMAPHORE 7109 430; EVENT_SEMAPHORE 7593 54; DRAIN 7703 13; DRAIN 7772 13"
            "; EVENT_SEMAPHORE 7845 5058; EVENT_SEMAPHORE 12956 54; DRAIN 13067 13; SET_ORDERING_MODE 13141 56",  # Vector
            "TENSOR_LOAD 5229 624; DRAIN 5905 8; COMPARE_BRANCH 5980 104; NOTIFY 6289 5; DRAIN 6363 8"
            "; EVENT_SEMAPHORE 6426 411; DRAIN 6880 8; DRAIN 6953 8; EVENT_SEMAPHORE 7016 556; DRAIN 8217 14"
            "; DRAIN 8969 5; EVENT_SEMAPHORE 8989 3946; DRAIN 12979 8; SET_ORDERING_MODE 13079 18",  # Sync
        ),
    ),
    postamble=(
        controls(
            "DRAIN 480 18; EVENT_SEMAPHORE_RANGE_CLEAR 565 379; DRAIN 1068 12; EVENT_SEMAPHORE 1147 52"
            "; EVENT_SEMAPHORE 1263 279; DRAIN 1605 12",  # Tensor
            "DRAIN 423 13; EVENT_SEMAPHORE_RANGE_CLEAR 492 270; DRAIN 818 7; EVENT_SEMAPHORE 882 358"
            "; EVENT_SEMAPHORE 1290 208; DRAIN 1548 7; NOTIFY 1612 4",  # Scalar
            "DRAIN 42 25; EVENT_SEMAPHORE 106 45; EVENT_SEMAPHORE 186 148; DRAIN 371 29"
            "; EVENT_SEMAPHORE_RANGE_CLEAR 439 290; DRAIN 772 29; EVENT_SEMAPHORE 840 438; EVENT_SEMAPHORE 1313 148"
            "; DRAIN 1498 29; NOTIFY 1566 10; COMPARE_BRANCH 1616 70",  # GpSimd
            "EVENT_SEMAPHORE 241 53; DRAIN 347 19; EVENT_SEMAPHORE_RANGE_CLEAR 416 308; DRAIN 772 13"
            "; EVENT_SEMAPHORE 835 489; EVENT_SEMAPHORE 1367 54; DRAIN 1467 13; NOTIFY 1529 13"
            "; COMPARE_BRANCH 1592 68",  # Vector
            "DRAIN 272 8; EVENT_SEMAPHORE_RANGE_CLEAR 320 99; DRAIN 453 8; EVENT_SEMAPHORE 503 854; DRAIN 1393 8"
            "; NOTIFY 1441 10; COMPARE_BRANCH 1488 55",  # Sync
        ),
        controls(
            "DRAIN 0 12; EVENT_SEMAPHORE 84 52; EVENT_SEMAPHORE 200 280; DRAIN 544 12"
            "; EVENT_SEMAPHORE_RANGE_CLEAR 681 374; DRAIN 1178 12; EVENT_SEMAPHORE 1257 52"
            "; EVENT_SEMAPHORE 1373 279",  # Tensor
            "DRAIN 0 7; EVENT_SEMAPHORE 69 131; EVENT_SEMAPHORE 250 209; DRAIN 509 7"
            "; EVENT_SEMAPHORE_RANGE_CLEAR 573 256; DRAIN 885 7; EVENT_SEMAPHORE 949 424; EVENT_SEMAPHORE 1424 208",  # Scalar
            "DRAIN 0 25; EVENT_SEMAPHORE 69 325; EVENT_SEMAPHORE 429 149; DRAIN 615 29"
            "; EVENT_SEMAPHORE_RANGE_CLEAR 683 281; DRAIN 1003 29; EVENT_SEMAPHORE 1071 496",  # GpSimd
            "DRAIN 0 13; EVENT_SEMAPHORE 69 380; EVENT_SEMAPHORE 492 54; DRAIN 592 13"
            "; EVENT_SEMAPHORE_RANGE_CLEAR 654 307; DRAIN 1009 13; EVENT_SEMAPHORE 1072 549",  # Vector
            "DRAIN 0 8; EVENT_SEMAPHORE 55 525; DRAIN 620 8; EVENT_SEMAPHORE_RANGE_CLEAR 668 99; DRAIN 801 8",  # Sync
        ),
    ),
    fetches=(
        fetches(
            "4 16384 49 2015; 3 16384 160 2022; 5 8 2295 7; 5 4 2299 9; 4 16384 4303 1842; 3 16384 4430 1719"
            "; 4 1024 11170 43; 3 1024 11380 43"
        ),
        fetches(
            "2 16384 1376 1388; 3 16384 1528 2001; 4 16384 1551 1776; 1 16384 1624 1875; 5 4 3486 7"
            "; 2 16384 5160 1181; 1 16384 5679 1831; 4 16384 5683 1799; 3 16384 5707 2007"
        ),
    ),
    postamble_ns=1688.0,
    # docs/mlp-comparison.md: the profile.ntff of --num-exec=10 is of 45.26 us, as later executions are.
    first_execution_ns=0.0,
    static=trn2_static.OVERHEADS,
)

CHIP = chip(
    name="trn2",
    overheads=OVERHEADS,
    year=(2024, "", "AWS announcement of the instances"),
    generation=(3, "", f"{DOCS}: NeuronCore-v3"),
    arch=('cayman', "", "kelf-0.json `target` of NEFF files of github aws-neuron/nkipy"),
    instance_type=('trn2.3xlarge', "", "AWS instance families"),
    max_lnc=(2, "cores", "AWS docs logical-neuroncore-config.rst"),
    double_row=(True, "", f"{DOCS}: FP8 at twice the rate of BF16 (perf_mode double_row)"),
    mx=(False, "", f"{DOCS}: from NeuronCore-v4"),
    float8=(True, "", "AWS docs nki/api/nki.language, supported data types"),
    one_clock=(True, "", f"{TRACES}: all engines count the same picoseconds"),
    pe_rows=(128, "rows", DOCS),
    pe_cols=(128, "columns", DOCS),
    pe_clock_ghz=(2.4, "GHz", f"{DOCS}; profile metadata pe_clock_freq"),
    scalar_clock_ghz=(1.2, "GHz", DOCS),
    gpsimd_clock_ghz=(1.2, "GHz", DOCS),
    vector_clock_ghz=(0.96, "GHz", DOCS),
    base_clock_ghz=(1.2, "GHz", "profile metadata pe_clock_others; neuroncore_cycle_count / total_time"),
    sbuf_partition_bytes=(224 * 1024, "bytes", DOCS),
    sbuf_reserved_bytes=(16 * 1024, "bytes", "nki-library@0759719 core/mlp/mlp_cte/mlp_cte_constants.py: DynamicDMAScratchLoc (read 2026-11-23)"),
    sbuf_fmax_bytes=(224 * 1024 - 16384 - 8, "bytes", NKIPY),
    psum_partition_bytes=(16 * 1024, "bytes", DOCS),
    psum_bank_bytes=(2048, "bytes", DOCS),
    hbm_bandwidth=(716.0, "bytes/ns", f"{DOCS}: one stack, which two cores share (2.9 TB/s / 4); profile metadata hbm_ddr_bandwidth"),
    hbm_bandwidth_reported=(716e9, "bytes/s", "profile metadata hbm_ddr_bandwidth"),
    dma_bandwidth_reported=(435e9, "bytes/s", "profile metadata dma_ddr_bandwidth"),
    dma_engines=(16, "engines", "AWS docs nki/deep-dives/nki-dma-bandwidth-guide.rst"),
    dma_engine_bandwidth=(27.0, "bytes/ns", f"{TRACES}: packet spacing 4.5 ns + bytes/27"),
    dma_packet_ns=(4.5, "ns", f"{TRACES}: packet spacing 4.5 ns + bytes/27"),
    dma_read_stall_ns=(110.0, "ns", f"{TRACES}: reads through descriptors made at run time: packets of a DMA engine last 55 ns + 24 % longer than their spacing (least squares of 30 reads), each engine another share, from none to twice the mean"),
    dma_read_spread=(0.47, "", "as dma_read_stall_ns; AWS docs nki-dma-bandwidth-guide.rst: 23 of 27.2 bytes/ns in practice"),
    disabled_dge_read_stall=(0.4, "", "fitted: share of dma_read_stall_ns and dma_read_spread that reads under `--disable-dge` have: DMAs of a transposition of four CS149 repositories (github chenhzhu/asst4-trainium2, riya-ranjan/cs149-pa4) are active for 28.0-28.7 us, 25.2 without it and 28.3 with it beside instruction fetches; rope and silu of github Jerry2423/kda-for-trainium @90770f2"),
    dma_row_ns=(9.0, "ns", f"{TRACES}: 4 KiB packets that software descriptors gather from 8 or 16 rows take 222 and 281 ns, not 156"),
    dma_element_ns=(9.8, "ns", "profiles of github KevGomes1403/nki-moe-megakernel @90c3c94, kernels/attn_cte/PROFILING.md: v5a and v6a differ by 1,312,000 packets of 4 bytes on 16 DMA engines, and by 0.80 ms of DMA active time"),
    dma_gathered_row_ns=(208.0, "ns", "profiles of github joshdelg/cs217-final-proj @ffb8dd5: 1024 gathers of 128 rows of 256 bytes keep the 16 DMA engines active for 1.717 ms, 4096 of rows of 512 bytes take 6.87 ms (graphsage_gather_scatter_mean, _exaggerated): 1.67 us for eight rows and a semaphore, of either size"),
    dma_convert_factor=(2.0, "", f"{TRACES}: 256-byte packets of a DMA from float32 to bfloat16 come 28 ns apart, of one that copies 14"),
    dma_transpose_hbm_rate=(0.9, "", f"{DOCS}, DMA Transpose: from HBM to SBUF at up to 90 % of DMA throughput; never measured"),
    dma_transpose_sbuf_rate=(0.5, "", f"{DOCS}, DMA Transpose: from SBUF to SBUF at up to 50 %; never measured alone"),
    dma_stagger_ns=(10.0, "ns", f"{TRACES}: the 16 DMA engines begin a transfer one after the other within 150 ns"),
    dma_read_stagger_ns=(22.7, "ns", f"{TRACES}: reads through descriptors made at run time: within 183-713 ns, 340 in the mean of 14 reads that found the engines idle"),
    dma_issue_ns=(572.0, "ns", f"{TRACES}: DMA_DIRECT2D holds SP or ACT 541-613 ns, median 572"),
    dma_start_ns=(1340.0, "ns", f"{TRACES}: hardware DGE, trigger to first packet 1.33-1.35 us"),
    static_dma_issue_ns=(82.0, "ns", f"{COURSEWORK}: the WRITEs that start DMAs with descriptors made at compile time follow each other at 81-86 ns"),
    static_dma_start_ns=(790.0, "ns", f"{COURSEWORK}: that WRITE to the first packet 755-805 ns for stores that found the queue idle (of 30), 765-908 for loads (of 10)"),
    software_dma_issue_ns=(583.0, "ns", f"{TRACES}: spacing of DMA_DIRECT2D on GpSimd 582-586 ns"),
    software_dma_prepare_ns=(1155.0, "ns", f"{TRACES}: DMA_DIRECT2D on GpSimd starts 1191-1204 ns after the end of what it waits for, and 1177-1182 ns after GpSimd enters the kernel (5 + 5 DMAs), less semaphore_ns"),
    software_dma_start_ns=(770.0, "ns", f"{TRACES}: GpSimd trigger to first packet 0.77 us (first); docs about 1.3"),
    software_dma_instruction_ns=(50.0, "ns", f"{TRACES}: DMA_DIRECT2D on GpSimd lasts 31-75 ns"),
    dma_semaphore_gap_ns=(0.0, "ns", f"{TRACES}: the packet that bumps the semaphore follows the last data packet at once"),
    dma_wait_ns=(380.0, "ns", f"{TRACES}: last packet to waiter 341-473 ns, median 380"),
    dma_two_cores_ns=(750.0, "ns", "fitted, as in all 55 trn2 traces at hand the second core is idle: at LNC 2 the published profile of nki-library's mlp asks for 500 to 800 (-2.0 % with 500, -0.8 with 750, +5.2 with 1000), KevGomes1403/nki-moe-megakernel @90c3c94 (experts) and rmsnorm_tkg for 500 to 1000, rmsnorm_quant for 1250, attention_cte and mlp_tkg for 1250 to 1500, mlp_cte for 3000 and more, GEMM on trn3 for none; kernels on one core ask for none"),
    semaphore_ns=(38.0, "ns", f"{INF2_TRACES}: engine to engine 36-41 ns, median 38 (112 runs)"),
    minimum_cycles=(64, "cycles", f"{COSTS}: MIN_II about 64 cycles"),
    pe_column_cycles=(1.0, "cycles", "as pe_overhead_cycles: one column of moving data each cycle"),
    pe_overhead_cycles=(6, "cycles", f"{TRACES}: 512 columns take 216 ns = 512 + 6 cycles, 128 take 55.8, two passes of 128 109; throttled 426.7, 106.7 and 213.3, without"),
    pe_latency_ns=(107.0, "ns", f"{TRACES}: MATMUL lasts columns/clock + 160 ns at full clock, + 207 at half: 107 fixed + 128 cycles"),
    pe_fill_cycles=(128, "cycles", "as pe_latency_ns: the depth of the array, 128 rows"),
    load_weights_ns=(77.0, "ns", f"{TRACES} and {COURSEWORK[10:]}: LDWEIGHTS that find the PE idle last 80 ns for one column; throttled 104 for 32 cycles, 138 for 64, 180 for 128, 290 for 256"),
    load_weights_cycles=(32, "cycles", f"{DOCS}: fast LoadStationary, up to 4 columns a cycle: 128/4"),
    throttle_window_ns=(3413.3, "ns", f"{TRACES}: `ham` rows last multiples of 3413 ns (4096 base cycles); AWS docs say 3 us"),
    throttle_factor=(2.0, "", f"{TRACES}: MATMUL spacing 426 against 216 ns; AWS docs: PE at 50 %"),
    throttle_utilization=(0.375, "", f"{TRACES}: of the 120 windows of eight traces those that 37.7 % of the columns or more went through were followed by one at full speed, those with 37.0 % or less by a throttled one; AWS docs say about 50 %"),
    scalar_latency_ns=(158.0, "ns", f"{TRACES}: COPY 586 ns at 512 columns = columns/clock + 158"),
    scalar_function_latency_ns=(260.0, "ns", f"{TRACES}: ACTIVATE EXP from PSUM = columns/clock + 253..269"),
    scalar_sbuf_latency_ns=(280.0, "ns", f"{TRACES}: ACTIVATE EXP from SBUF = columns/clock + 277..294"),
    scalar_copy_overhead_ns=(61.0, "ns", f"{TRACES}: COPY of 512 columns end 486-489 ns after the one before = columns/clock + 61"),
    scalar_sbuf_copy_latency_ns=(190.0, "ns", f"{COURSEWORK}: COPY and CAST from SBUF = columns/clock + 190 (444, 420 and 111 columns), from PSUM + 158"),
    scalar_sbuf_copy_overhead_ns=(92.0, "ns", f"{COURSEWORK}: COPY from SBUF of 444 and 420 columns end 465 and 442 ns after the one before"),
    scalar_scattered_latency_ns=(223.0, "ns", f"{COURSEWORK}: COPY that writes every 9th element lasts 65 ns longer than its columns and scalar_latency_ns"),
    scalar_sbuf_scattered_latency_ns=(255.0, "ns", f"{COURSEWORK}: COPY that writes every 9th element lasts 65 ns longer than its columns and scalar_sbuf_copy_latency_ns"),
    scalar_overhead_ns=(151.0, "ns", f"{TRACES}: ACTIVATE EXP from PSUM ends 577-581 ns after the one before = columns/clock + 151"),
    scalar_sbuf_overhead_ns=(185.0, "ns", f"{TRACES}: ACTIVATE EXP from SBUF ends 611-615 ns after the one before = columns/clock + 185"),
    activation_table_load_ns=(1283.0, "ns", f"{TRACES}: ACT_TABLE_LOAD 1283 ns"),
    vector_latency_ns=(157.0, "ns", f"{TRACES}: smallest instruction 157 ns, COPY PSUM columns/clock + 157"),
    vector_pair_latency_ns=(157.0, "ns", f"{COURSEWORK}: TENSOR_TENSOR of 1000 and 2000 float32 columns last 1202 and 2242 ns = columns/clock + 159"),
    vector_scattered_latency_ns=(222.0, "ns", f"{COURSEWORK}: COPY that writes every 9th or 18th element lasts 715 ns (float16), 395 (float32), and ends 545 and 240 ns after the one before: 65 ns longer than its columns and vector_latency_ns"),
    vector_overhead_ns=(65.0, "ns", f"{TRACES}: TENSOR_REDUCE spacing 598 ns at 512 columns = columns/clock + 65"),
    vector_minimum_cycles=(64, "cycles", f"as minimum_cycles; {TRACES}: an instruction follows 67 and 85 ns after those of four columns, as if there were none, but nki-library's attention_cte takes as long as with it"),
    vector_pointer_ns=(58.0, "ns", f"{TRACES}: TENSOR_SCALAR with a per-partition operand lasts columns/clock + 215 against 157"),
    gpsimd_fixed_cycles=(150, "cycles", f"{COSTS}: iota, affine_select 150 + N"),
    gpsimd_latency_ns=(83.0, "ns", f"{COSTS}: engine static overhead about 100 cycles"),
    vector_fast_modes=(True, "", f"{DOCS}: DVE 2x/4x modes from NeuronCore-v3"),
    barrier_ns=(400.0, "ns", f"{TRACES}: EVENT_SEMAPHORE hand-over between the cores in the preamble, 0.3-0.5 us"),
    execution_clock_ns=(6700.0, "ns", "eight attentions of github allenkchau/trainium-kernel-fusion @d709ddf1 were measured by both clocks on a logical core of two: the 50th percentile of nki.benchmark is 4.3 to 9.9 us below the profile's total_time, median 6.7; at LNC 1 means of the runtime are 3 to 8 us below (yahavb/trainium-agent-labs)"),
    execution_clock_spread_ns=(3300.0, "ns", "as execution_clock_ns"),
    cores_per_device=(8, "cores", "AWS docs neuron-runtime/about/collectives.rst: eight physical NeuronCores on a Trainium2 chip"),
    devices_per_server=(16, "devices", "AWS docs about-neuron/arch/neuron-hardware/trn2-arch.rst: trn2.48xlarge"),
    link_bandwidth=(512.0, "bytes/ns", "AWS docs about-neuron/arch/neuron-hardware/trn2-arch.rst: 1,024 GB/s for each chip, read as the sum of both directions; never compared with hardware"),
    collective_step_ns=(1500.0, "ns", "AWS docs neuron-runtime/explore/intranode-collective-comm.rst: about 1-2 us for each hop; never compared with hardware"),
)  # fmt: skip
