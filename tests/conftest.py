import pytest

from tests.disk import Disk


@pytest.fixture
def disk(monkeypatch) -> Disk:
    """What is synced and renamed from now on."""
    return Disk(monkeypatch)
