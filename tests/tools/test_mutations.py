"""The mutations of tools/mutate.py fit today's files."""

import pytest

from tools.mutate import ROOT
from tools.mutations import MUTATIONS


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_names_text_that_stands_once_in_its_file_and_tests_that_exist(mutation):
    assert (ROOT / mutation.path).read_text().count(mutation.old) == 1
    assert all((ROOT / test.split("::")[0]).exists() for test in mutation.tests.split() if test.startswith("tests/"))
