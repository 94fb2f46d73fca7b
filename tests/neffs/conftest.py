import hashlib

import pytest

from neff_bench.neffs.bundle import Manifest, TensorFile, write_manifest
from neff_bench.neffs.case import Case


@pytest.fixture
def case():
    return Case("matmul", "nki", (("M", 2), ("K", 3), ("N", 4)), "float32", "trn2", 2)


@pytest.fixture
def fill(case):
    """A function that writes a small good bundle into a directory; `neff` is the content of its NEFF."""

    def write(directory, neff=b"neff", key="k"):
        data = b"\0" * 24
        (directory / "file.neff").write_bytes(neff)
        (directory / "inp-lhs-000.bin").write_bytes(data)
        tensor = TensorFile("lhs", (2, 3), "float32", 24, "inp-lhs-000.bin", hashlib.sha256(data).hexdigest())
        manifest = Manifest(
            case,
            key,
            "built",
            "sim",
            "2026-01-01T00:00:00Z",
            neff="file.neff",
            neff_sha256=hashlib.sha256(neff).hexdigest(),
            inputs=(tensor,),
            tolerance=(1e-5, 1e-6),
        )
        write_manifest(directory, manifest)

    return write
