import json

import pytest

from neff_bench.simulator.costs import comparisons
from validation.compared import of_traces, summary
from validation.corpus import MEASURED
from validation.correlation.measured import is_test

DATA = MEASURED.parents[2] / "shared" / "data"
WRITTEN = json.loads(comparisons.FILE.read_bytes())["rows"]


@pytest.mark.skipif(not DATA.exists(), reason="no measurements beside the project")
def test_what_was_compared_in_traces_is_what_the_tool_counts():
    made = json.loads(json.dumps(summary(list(of_traces(DATA)))))
    assert made == [line for line in WRITTEN if line[2] != comparisons.ACTIVE]


def test_no_row_of_the_test_set_was_compared():
    kernels = {line[4].split(" of ")[0] for line in WRITTEN if line[2] == comparisons.ACTIVE}
    assert {"silu", "gemm", "conv2d_maxpool"} <= kernels
    assert not any(is_test(kernel) for kernel in kernels)
