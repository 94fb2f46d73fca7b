from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def validation(monkeypatch):
    """The folder `validation` can be imported."""
    monkeypatch.syspath_prepend(str(ROOT))
    pytest.importorskip("validation.correlation", reason="validation is part of the repository only")
