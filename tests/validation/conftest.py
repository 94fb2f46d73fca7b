import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def validation(monkeypatch):
    """The folder `validation` can be imported."""
    monkeypatch.syspath_prepend(str(ROOT))
    pytest.importorskip("validation.correlation", reason="validation is part of the repository only")


@pytest.fixture(autouse=True)
def own_host():
    """What stands in for packages of another host (validation/wild/loading.py) goes with the test."""
    yield
    sys.meta_path[:] = [finder for finder in sys.meta_path if not _stands_in(finder)]
    for name in [name for name, module in sys.modules.items() if _stands_in(getattr(module, "__loader__", None))]:
        del sys.modules[name]


def _stands_in(one: object) -> bool:
    return type(one).__name__ == "_HostPackages"
