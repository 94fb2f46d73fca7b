import pytest


@pytest.fixture(autouse=True)
def nothing_is_known(monkeypatch, tmp_path):
    """Each test begins with an empty cache of answers."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
