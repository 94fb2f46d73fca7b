"""Describes Trainium1: NeuronCore-v2, which it shares with inf2. What is not said here is that of inf2.

Its kernels wait for a DMA by which the runtime switches the queues of inputs and outputs, and behind it an instruction of its own clears each semaphore.
"""

from neff_bench.chips import inf2
from neff_bench.chips.chip import like
from neff_bench.chips.overheads import Overheads, controls, fetches

TRACES = "nine trn1 traces of five students: github Yousef02/149-asst4-trainium @4cb6364, Ericcsr/asst4-trainium @9189842, im-a-jin/CS149-asst4 @c1cec4c, waahm7/asst4-trainium @a4d4676, ichuniq/asst4-trainium @754c4f3"

OVERHEADS = Overheads(
    preamble=(
        controls(
            "WRITE 59 68; NOP 10200 16; DRAIN 10271 6; EVENT_SEMAPHORE 10329 14; EVENT_SEMAPHORE 10391 252; DRAIN 10694 6"
            "; SET_ORDERING_MODE 10752 6",
            "COMPARE_BRANCH 21 76; NOTIFY 230 24; DRAIN 301 7; EVENT_SEMAPHORE 354 10020; EVENT_SEMAPHORE 10419 184"
            "; DRAIN 10649 7; SET_ORDERING_MODE 10703 7",
            "COMPARE_BRANCH 104 83; NOTIFY 330 19; DRAIN 413 22; EVENT_SEMAPHORE 494 9909; EVENT_SEMAPHORE 10461 111"
            "; DRAIN 10631 22; SET_ORDERING_MODE 10716 7",
            "COMPARE_BRANCH 299 118; NOTIFY 592 20; DRAIN 670 9; EVENT_SEMAPHORE 738 9704; EVENT_SEMAPHORE 10499 44"
            "; DRAIN 10602 9; SET_ORDERING_MODE 10669 9",
            "COMPARE_BRANCH 202 81; NOTIFY 418 19; DRAIN 499 7; EVENT_SEMAPHORE 552 9911; DRAIN 10508 7"
            "; SET_ORDERING_MODE 10572 7",
        ),
    ),
    postamble=(
        controls(
            "DRAIN 1284 6; EVENT_SEMAPHORE 1331 9 51 46; DRAIN 3675 6; EVENT_SEMAPHORE 3722 9; EVENT_SEMAPHORE 3768 672"
            "; DRAIN 4479 6; NOTIFY 4526 8; COMPARE_BRANCH 4574 36; SET_ORDERING_MODE 4721 6",
            "DRAIN 1241 7; EVENT_SEMAPHORE 1284 10 51 43.75; DRAIN 3518 7; EVENT_SEMAPHORE 3561 201"
            "; EVENT_SEMAPHORE 3796 604; DRAIN 4435 7; NOTIFY 4478 10; COMPARE_BRANCH 4524 26; SET_ORDERING_MODE 4646 7",
            "TENSOR_STORE 39 84; TENSOR_LOAD 161 406; COMPARE_BRANCH 604 55; WRITE 757 43; DRAIN 842 106"
            "; EVENT_SEMAPHORE 986 33; EVENT_SEMAPHORE 1054 121; DRAIN 1211 22; EVENT_SEMAPHORE 1271 10 51 45"
            "; DRAIN 3573 22; EVENT_SEMAPHORE 3632 159; EVENT_SEMAPHORE 3826 542; DRAIN 4406 22; WRITE 4468 74"
            "; NOTIFY 4579 9; COMPARE_BRANCH 4625 29; SET_ORDERING_MODE 4753 7",
            "EVENT_SEMAPHORE 1101 44; DRAIN 1197 15; EVENT_SEMAPHORE 1258 12 51 56.5; DRAIN 4141 9"
            "; EVENT_SEMAPHORE 4196 50; EVENT_SEMAPHORE 4290 50; DRAIN 4386 9; NOTIFY 4441 10; COMPARE_BRANCH 4498 45"
            "; SET_ORDERING_MODE 4673 9",
            "DRAIN 1116 7; EVENT_SEMAPHORE 1154 10 49 34.25; DRAIN 2844 10; EVENT_SEMAPHORE 2885 1381; DRAIN 4297 7"
            "; WRITE 4336 41; NOTIFY 4412 9; COMPARE_BRANCH 4466 26; SET_ORDERING_MODE 4586 7",
        ),
    ),
    fetches=(fetches("9 4 1448 1119; 9 4 2564 64; 9 4 2624 436; 9 4 3057 9 61 9; 9 4 10077 7"),),
    postamble_ns=4606.0,
    leaving=(
        controls(
            "DRAIN 46 6; EVENT_SEMAPHORE 98 14; EVENT_SEMAPHORE 148 0",
            "DRAIN 40 7; EVENT_SEMAPHORE 83 108; EVENT_SEMAPHORE 224 0",
            "",
            "DRAIN 36 9; EVENT_SEMAPHORE 81 0",
            "DRAIN 38 436; EVENT_SEMAPHORE 508 0",
        ),
    ),
    first_execution_ns=inf2.OVERHEADS.first_execution_ns,
)

CHIP = like(
    inf2.CHIP,
    name="trn1",
    overheads=OVERHEADS,
    year=(2022, "", "AWS announcement of the instances"),
    instance_type=("trn1.2xlarge", "", "AWS instance families"),
    static_dma_issue_ns=(81.0, "ns", f"{TRACES}: WRITEs that start DMAs come 81-82 ns apart, 74-80 with runtime 2.25"),
    static_dma_start_ns=(404.0, "ns", f"{TRACES}: that WRITE to the first packet 402-406 ns of loads, 424-444 of stores, 498-689 in three of them"),
    dma_wait_ns=(232.0, "ns", f"{TRACES}: last packet of a load to the waiting Vector 221-242 ns; of a store to GpSimd 375-412"),
    vector_latency_ns=(157.0, "ns", "as trn2, no trace of NeuronCore-v2 shows it: four top-k masks and nine poolings of github aws-neuron/nki-samples, mostly small instructions that wait for each other, have mean errors of 2.8 and 22.7 % with it, 8.9 and 26.8 % with 240"),
    vector_pair_latency_ns=(211.0, "ns", f"{TRACES}: TENSOR_TENSOR of 1000 and 2000 float32 columns last 2016 and 3821 ns: on a line that begins at 211"),
    devices_per_server=(16, "devices", "AWS docs about-neuron/arch/neuron-hardware/trn1-arch.rst: trn1.32xlarge"),
    link_bandwidth=(206.0, "bytes/ns", "AWS docs about-neuron/arch/neuron-hardware/trn1-arch.rst: 384 GiB/s for each chip, read as the sum of both directions; never compared with hardware"),
)  # fmt: skip
