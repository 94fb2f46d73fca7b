import os
import sys

import pytest

from neff_bench.neffs.kernel_file import execute, kernel_module


@pytest.fixture(autouse=True)
def bytecode_is_allowed(monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


def value_of(path):
    module = kernel_module(path)
    execute(module)
    return module.value


def test_a_file_that_changes_within_a_second_is_imported_as_it_is(tmp_path):
    path = tmp_path / "changes_fast.py"
    for value in (1, 2):
        path.write_text(f"value = {value}\n")
        os.utime(path, (1_700_000_000, 1_700_000_000))
        assert value_of(path) == value


def test_no_bytecode_is_left_of_what_a_kernel_imports(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "tiles_of_it.py").write_text("value = 7\n")
    (tmp_path / "imports_tiles.py").write_text("from tiles_of_it import value\n")
    assert value_of(tmp_path / "imports_tiles.py") == 7
    assert sorted(path.name for path in tmp_path.iterdir()) == ["imports_tiles.py", "tiles_of_it.py"]
    assert not sys.dont_write_bytecode
