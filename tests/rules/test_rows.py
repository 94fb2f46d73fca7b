"""A row says what AWS's compiler would refuse, and keeps its numbers."""

import neff_bench
from tests.rules.kernels import INPUTS, whole


def test_an_estimated_row_has_a_finding_with_the_line_of_what_is_refused(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(whole("nisa.tensor_scalar(dst=z, data=x, op0=nl.divide, operand0=3.0)"))
    row = neff_bench.estimate(f"{path}:k", INPUTS)
    (finding,) = row.findings
    assert finding.kind == "refused" and "NBLE603" in finding.text and finding.line == 15
    assert row.status == "estimated" and row.check is None


def test_a_row_of_a_kernel_that_breaks_no_rule_has_no_finding(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(whole("nisa.tensor_copy(dst=z, src=x)"))
    assert neff_bench.estimate(f"{path}:k", INPUTS).findings == ()
