"""Stanford CS149, assignment 4: part 1 (vectors, transposition) and part 2 (a convolution with bias and pooling)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from validation.wild.cases.case import Case, convolution, floats

_REPOSITORIES = {
    "chengli2003/asst4-trainium2": "a57e57b",
    "waahm7/asst4-trainium": "0243a24",  # part 2 is not filled in
    "akjadhav/asst4-trainium": "cf87b8a",
    "xaviergonzalez/asst4-trainium2": "d155261",
    "a-argy/asst4-trainium2": "f935d2d",
    "EtashGuha/asst4-trainium2": "0451941",
    "rishic3/asst4-trainium2": "e17b72e",
    "chenhzhu/asst4-trainium2": "fecd8c8",
    "nriedman/asst4-trainium2": "0d08c00",
    "robertpare17/asst4-trainium": "8a1d41c",
    "ewang675/asst4-trainium": "9adaa1d",
    "sahiljain01/asst4-trainium": "bc16755",
    "ichuniq/asst4-trainium": "ba2c5b1",
}


def _vectors(length: int) -> Any:
    return lambda random: {"a_vec": floats(random, length), "b_vec": floats(random, length)}


def image(pool: int, height: int = 32, width: int = 16) -> Any:
    """Return the arguments of a convolution of 128 channels with bias, pooled by `pool`."""
    return lambda random: {
        "X": random.random((1, 128, height, width), np.float32),
        "W": random.random((128, 128, 3, 3), np.float32),
        "bias": random.random(128, np.float32),
        "pool_size": pool,
    }


def _filters(pool: int) -> Any:
    """One repository calls the weights F."""
    return lambda random: {{"W": "F"}.get(name, name): value for name, value in image(pool)(random).items()}


def convolved(X: np.ndarray, bias: np.ndarray, pool_size: int, **weights: np.ndarray) -> np.ndarray:
    """Return what such a convolution gives. `weights`: one array, under the name that the kernel has for it."""
    (W,) = weights.values()
    full = convolution(X, W) + bias[None, :, None, None]
    n, c, h, w = full.shape
    return full.reshape(n, c, h // pool_size, pool_size, w // pool_size, pool_size).max((3, 5))


def _cases(repository: str, commit: str) -> tuple[Case, ...]:
    case = partial(Case, repository, commit)
    return (
        case("part1/kernels.py", "vector_add_naive", _vectors(128), lambda a_vec, b_vec: a_vec + b_vec),
        case("part1/kernels.py", "vector_add_tiled", _vectors(2560), lambda a_vec, b_vec: a_vec + b_vec),
        case("part1/kernels.py", "vector_add_stream", _vectors(256000), lambda a_vec, b_vec: a_vec + b_vec),
        *(
            case(
                "part1/kernels.py",
                "matrix_transpose",
                lambda random: {"a_tensor": floats(random, 2048, 2048)},
                lambda a_tensor: a_tensor.T,
            )
            for _ in range(repository.endswith("2"))  # the assignment of the year before has none
        ),
        *(
            case(
                "part2/conv2d.py",
                "fused_conv2d_maxpool",
                (_filters if repository.startswith("iamsalil") else image)(pool),
                convolved,
                label=f", pool {pool}",
            )
            for pool in ((1,) if repository.startswith("Pre1999") else (1, 2))  # one that never pools
            if not repository.startswith(_UNFILLED)
        ),
    )


_MORE_REPOSITORIES = {
    "Ericcsr/asst4-trainium": "8969170",
    "Ni2002ka/asst4-trainium2": "2d6c725",
    "Pre1999/asst4-trainium": "778f429",
    "TomZelazny/asst4-trainium": "fed24bf",
    "Yousef02/149-asst4-trainium": "210bf38",
    "juntongshi48/asst4-trainium2": "56cd353",
    "kenny1G/asst4-trainium": "b93c794",
    "minamky/asst4-trainium": "d1e213f",
    "msthaniana/asst4-trainium2": "ab4134c",
    "okyangyishen/asst4-trainium": "3a6a2b8",
    "rohanchanani/asst4-trainium": "372bc6e",
    "tianyeeT/cs149-asst4-trainium2": "5588fc6",
}

_THIRD_REPOSITORIES = {
    "iamsalil/cs149asst4": "59678c3",
    "ianye23301/asst4": "8455643",
    "im-a-jin/CS149-asst4": "85fbc70",
    "riya-ranjan/cs149-pa4": "9d1e8c9",
    "ssu53/cs149-asst4": "92a63af",
    "akuik/cs149-a4": "f3acadc",
}
_UNFILLED = ("waahm7", "akuik")  # part 2
_EARLIER = ("iamsalil", "im-a-jin", "akuik")  # the assignment of the year before: direct allocation, no transposition


def _third(repository: str, commit: str) -> tuple[Case, ...]:
    case = partial(Case, repository, commit)
    transposed = partial(
        case,
        "part1/kernels.py",
        arguments=lambda r: {"a_tensor": floats(r, 512, 256)},
        reference=lambda a_tensor: a_tensor.T,
    )
    early = repository.startswith(_EARLIER)
    return (
        *(one for one in _cases(repository, commit) if not (early and one.kernel == "matrix_transpose")),
        *(
            case(
                "part1/kernels.py",
                "vector_add_direct_allocation",
                _vectors(256000),
                lambda a_vec, b_vec: (a_vec + b_vec)[:, None],
            )
            for _ in range(early)
        ),
        *(transposed(kernel="matrix_transpose") for _ in range(not early and not repository.startswith("ianye"))),
        *(transposed(kernel="matrix_transpose_vector") for _ in range(repository.startswith("ssu53"))),
    )


CASES = tuple(case for item in _REPOSITORIES.items() for case in _cases(*item))
MORE_CASES = tuple(
    case for item in _MORE_REPOSITORIES.items() for case in _cases(*item) if "vector_add" not in case.kernel
)
THIRD_CASES = tuple(case for item in _THIRD_REPOSITORIES.items() for case in _third(*item))
