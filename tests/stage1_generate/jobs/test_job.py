"""What a worker is told."""

from pathlib import Path

from neff_bench.neffs.case import Case
from neff_bench.stage1_generate.jobs.job import Job, decode, encode
from neff_bench.stage1_generate.options import Options
from neff_bench.system.shard import Shard


def test_a_worker_reads_every_option_of_the_call():
    options = Options(shapes=Path("a b.yaml"), shard=Shard(2, 3), only=("x*",), memory_gib=1.5, verbose=True)
    job = Job(Case("matmul", "nki", (("M", 32),), "bfloat16", "trn2", 1), "key", "sim", None, options)
    assert decode(encode(job)) == job
