from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tools(monkeypatch):
    """The folder `tools` can be imported."""
    monkeypatch.syspath_prepend(str(ROOT))
    pytest.importorskip("tools.correlation", reason="tools are part of the repository only")
