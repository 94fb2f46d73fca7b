import pytest

from neff_bench.simulator import native
from neff_bench.simulator.native import sources


@pytest.fixture
def looked_up_again():
    native.library.cache_clear()
    yield
    native.library.cache_clear()


def test_a_library_of_other_sources_is_not_used(monkeypatch, looked_up_again):
    monkeypatch.setattr(native, "digest", lambda: "0" * 16)
    assert native.library() is None


def test_a_file_that_is_no_library_is_not_used(monkeypatch, tmp_path, looked_up_again):
    (tmp_path / "core.abi3.so").write_bytes(b"of another machine")
    monkeypatch.setattr(native, "FOLDER", tmp_path)
    assert native.library() is None


@pytest.mark.parametrize("changed", [path.name for path in sources.c_files()])
def test_a_change_of_any_c_file_changes_the_digest(changed, monkeypatch, tmp_path):
    for path in sources.c_files():
        (tmp_path / path.name).write_bytes(path.read_bytes() + (b"/* */" if path.name == changed else b""))
    before = sources.digest()
    monkeypatch.setattr(sources, "FOLDER", tmp_path)
    assert sources.digest() != before
