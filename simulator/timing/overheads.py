"""What surrounds every kernel on the device: the runtime's preamble and postamble and the fetching of instructions.

Each entry is `OPCODE start duration`, in nanoseconds: from the start of the execution for the preamble, from the end of
the core's last kernel instruction for the postamble. NeuronCore-v3: the trace fused_attention of github
allenkchau/trainium-kernel-fusion @d709ddf1 (its five profiles agree within 0.3 us); NeuronCore-v4 is assumed equal.
NeuronCore-v2: the trace 128x128x512 of github AnchovyPark/npu_profiling_code @2a956420.
"""

from __future__ import annotations

from dataclasses import dataclass

from neff_bench.parsers.formats.opcodes import OPCODES


@dataclass(frozen=True)
class Control:
    """One fixed instruction. Times in ns."""

    opcode: int
    start_ns: float
    duration_ns: float


@dataclass(frozen=True)
class Fetch:
    """One instruction-fetch packet: DMA engine within the core, bytes, times in ns from the start of the execution."""

    engine: int
    bytes: int
    start_ns: float
    duration_ns: float


@dataclass(frozen=True)
class Overheads:
    """By core (the second entry is that of the second core of a logical core), then by engine index.

    postamble_ns: last kernel instruction to the end of the execution.
    """

    preamble: tuple[tuple[tuple[Control, ...], ...], ...]
    postamble: tuple[tuple[tuple[Control, ...], ...], ...]
    fetches: tuple[tuple[Fetch, ...], ...]
    postamble_ns: float

    def kernel_start_ns(self, core: int, engine: int) -> float:
        """When the engine can begin with the kernel."""
        controls = self.preamble[core][engine]
        return max((c.start_ns + c.duration_ns for c in controls), default=0.0)

    @property
    def preamble_ns(self) -> float:
        """When the first engine can begin."""
        return min(self.kernel_start_ns(0, engine) for engine in range(5))


def _controls(*texts: str) -> tuple[tuple[Control, ...], ...]:
    return tuple(
        tuple(
            Control(OPCODES[name], float(start), float(duration))
            for name, start, duration in (entry.split() for entry in text.split(";") if entry.strip())
        )
        for text in texts
    )


def _fetches(text: str) -> tuple[Fetch, ...]:
    rows = (entry.split() for entry in text.split(";") if entry.strip())
    return tuple(Fetch(int(e), int(b), float(s), float(d)) for e, b, s, d in rows)


_V3 = Overheads(
    preamble=(
        _controls(
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
        _controls(
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
        _controls(
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
        _controls(
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
        _fetches(
            "4 16384 49 2015; 3 16384 160 2022; 5 8 2295 7; 5 4 2299 9; 4 16384 4303 1842; 3 16384 4430 1719"
            "; 4 1024 11170 43; 3 1024 11380 43"
        ),
        _fetches(
            "2 16384 1376 1388; 3 16384 1528 2001; 4 16384 1551 1776; 1 16384 1624 1875; 5 4 3486 7"
            "; 2 16384 5160 1181; 1 16384 5679 1831; 4 16384 5683 1799; 3 16384 5707 2007"
        ),
    ),
    postamble_ns=1688.0,
)

_V2 = Overheads(
    preamble=(
        _controls(
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
        _controls(
            "DRAIN 1354 10; EVENT_SEMAPHORE_RANGE_CLEAR 1409 332; DRAIN 1832 6; EVENT_SEMAPHORE 1880 9"
            "; EVENT_SEMAPHORE 1926 252; DRAIN 2219 6; NOTIFY 2266 7; COMPARE_BRANCH 2319 48",
            "DRAIN 1317 12; EVENT_SEMAPHORE_RANGE_CLEAR 1371 249; DRAIN 1659 7; EVENT_SEMAPHORE 1706 224"
            "; EVENT_SEMAPHORE 1967 182; DRAIN 2188 7; NOTIFY 2234 8; COMPARE_BRANCH 2281 47",
            "TENSOR_STORE 54 95; TENSOR_LOAD 189 389; COMPARE_BRANCH 617 91; WRITE 827 39; DRAIN 909 96"
            "; EVENT_SEMAPHORE 1048 37; EVENT_SEMAPHORE 1123 122; DRAIN 1287 23; EVENT_SEMAPHORE_RANGE_CLEAR 1353 247"
            "; DRAIN 1640 23; EVENT_SEMAPHORE 1703 258; EVENT_SEMAPHORE 1999 121; DRAIN 2159 23; NOTIFY 2222 11"
            "; COMPARE_BRANCH 2273 44",
            "EVENT_SEMAPHORE 1161 43; DRAIN 1255 8; EVENT_SEMAPHORE_RANGE_CLEAR 1317 291; DRAIN 1658 8"
            "; EVENT_SEMAPHORE 1717 271; EVENT_SEMAPHORE 2036 43; DRAIN 2130 8; NOTIFY 2189 9; COMPARE_BRANCH 2249 53",
            "DRAIN 1184 7; EVENT_SEMAPHORE_RANGE_CLEAR 1240 94; DRAIN 1379 7; EVENT_SEMAPHORE 1422 601; DRAIN 2054 7"
            "; WRITE 2096 46; WRITE 2172 36; NOTIFY 2252 8; COMPARE_BRANCH 2306 42",
        ),
    ),
    fetches=(_fetches("9 8 1042 7; 9 4 1045 9; 2 1024 3041 43"),),
    postamble_ns=2450.0,
)

OVERHEADS: dict[str, Overheads] = {"trn1": _V2, "inf2": _V2, "trn2": _V3, "trn3": _V3}
