"""The list of public repositories that the nightly job clones."""

from tools.mutate import ROOT
from validation.wild.cases import CASES


def test_the_list_names_every_repository_of_a_public_kernel():
    listed = (ROOT / "validation" / "repositories.txt").read_text().split()
    assert {case.repository for case in CASES} <= set(listed)
    assert listed == sorted(set(listed), key=str.lower)
