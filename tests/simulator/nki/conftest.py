import pytest

from neff_bench.simulator.nki.recorder import recording


@pytest.fixture
def now():
    """A recording context on trn2."""
    with recording("trn2") as recorder:
        yield recorder
