import os

import pytest

from tests.disk import Disk

os.environ.pop("COLUMNS", None)  # pytest-xdist sets it, and tables are laid out for it


@pytest.fixture
def disk(monkeypatch) -> Disk:
    """What is synced and renamed from now on."""
    return Disk(monkeypatch)
