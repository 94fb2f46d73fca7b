import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from tests.disk import Disk
from tests.parsers import small_files

# Nothing is timed in a test: a busy machine must not fail one. The same tree has the same examples in every run;
# `pytest -m hypothesis --hypothesis-profile search` looks for others.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", settings.get_profile("search"), derandomize=True)
settings.load_profile("repeatable")

# xdist gives its workers the width of the terminal, and readline sets it behind os.environ; tables must not depend on where
# the tests are started.
os.environ.pop("COLUMNS", None)
os.unsetenv("COLUMNS")

# A shell that starts the tests in the background, or under nohup, has them ignore these signals, and every process that a test starts inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def disk(monkeypatch) -> Disk:
    """What is synced and renamed from now on."""
    return Disk(monkeypatch)


@pytest.fixture(scope="session")
def files():
    """The functions that write small NEFF, NTFF and JSON files."""
    return small_files
