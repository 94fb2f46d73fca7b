"""What a worker says of what it could not do."""

import pytest

from neff_bench.installation import IMPORT_ROOT
from neff_bench.neffs.case import Case
from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.jobs.job import Job
from neff_bench.stage1_generate.jobs.worker import _reason
from neff_bench.stage1_generate.options import Options

CASE = Case("k", "nki", (), "float32", "trn2", 1)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (BuildError("/home/u/kernels/k.py:3: no"), "k.py:3: no"), (BuildError("/lib/nkilib/a.py:1: no"), "a.py:1: no"),
        (BuildError(f"{IMPORT_ROOT}/b.py:1: no"), "b.py:1: no"), (BuildError("/other/k.py:3: no"), "/other/k.py:3: no"),
        (MemoryError(), "ran out of memory (limit of a worker: 2.0 GiB)"),
        (FileNotFoundError(2, "No such file", "/tmp/x"), "/tmp/x: No such file"), (OSError(28, "No space left"), "the bundle: No space left"),
    ],
)  # fmt: skip
def test_a_reason_is_without_the_folders_that_are_searched(error, said):
    job = Job(CASE, "key", "sim", "/lib/nkilib", Options(memory_gib=2.0), "/home/u/kernels")
    assert _reason(job, error) == said


def test_a_worker_without_a_limit_names_none():
    job = Job(CASE, "key", "neuron")
    assert _reason(job, MemoryError()) == "ran out of memory" and _reason(job, ValueError("None/x")) == "None/x"
