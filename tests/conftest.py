import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import checkouts
from tests.disk import Disk
from tests.parsers import small_files

# Nothing is timed in a test: a busy machine must not fail one. The same tree has the same examples in every run;
# `pytest -m hypothesis --hypothesis-profile search` looks for others.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", settings.get_profile("search"), derandomize=True, max_examples=50)
settings.load_profile("repeatable")

# xdist gives its workers the width of the terminal, and readline sets it behind os.environ; tables must not depend on where
# the tests are started.
os.environ.pop("COLUMNS", None)
os.unsetenv("COLUMNS")

# A shell that starts the tests in the background, or under nohup, has them ignore these signals, and every process that a test starts inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_configure():
    """A folder that somebody names holds every checkout: no test is passed over there without a word."""
    if folder := os.environ.get("CHECKOUTS"):
        os.environ["CHECKOUTS"] = os.path.abspath(folder)
        try:
            for checkout in checkouts.ALL:
                checkouts.find(checkout)
        except FileNotFoundError as error:
            raise pytest.UsageError(str(error)) from None


def given(checkout: checkouts.Checkout) -> Path:
    """Where it is. Skips the test where it is not."""
    try:
        return checkouts.find(checkout)
    except FileNotFoundError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def nki_library() -> Path:
    return given(checkouts.NKI_LIBRARY)


@pytest.fixture(scope="session")
def nki_samples() -> Path:
    return given(checkouts.NKI_SAMPLES)


@pytest.fixture(scope="session")
def neuron_sdk() -> Path:
    return given(checkouts.NEURON_SDK)


@pytest.fixture
def disk(monkeypatch) -> Disk:
    """What is synced and renamed from now on."""
    return Disk(monkeypatch)


@pytest.fixture(scope="session")
def files():
    """The functions that write small NEFF, NTFF and JSON files."""
    return small_files
