"""Holds a pytest plugin: `pytest --neff-bench` runs kernels on the embedded toolchain and prints their table at the end.

    def test_scale(neff_bench):
        result = scale(x)                              # a kernel of nki or neuronxcc.nki, called on arrays
        assert neff_bench.last.total_time_us < 30      # simulated
        assert neff_bench.last.hbm_read_bytes == x.nbytes

The exit code is 1 where a row is suspect, as that of the commands is. Without the option the plugin does nothing, and a test that asks for the fixture is skipped.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from neff_bench.chips import LISTED
from neff_bench.sdk.installed import OPTION, judged_by

if TYPE_CHECKING:
    from neff_bench.simulator.nki.launch import Launch
    from neff_bench.stage2_profile.metrics.rows import Row


class Launched:
    """The rows of the kernels that a test has launched, in their order. Times are simulated, counters are exact."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    @property
    def last(self) -> Row:
        """The row of the newest launch. Raises IndexError when the test launched none."""
        return self.rows[-1]


_everything: dict[bytes, Row] = {}
"""Rows of all distinct programs of the session, by program."""
_listening: list[Launched] = []


def pytest_addoption(parser: Any) -> None:
    """Add the options of this plugin."""
    group = parser.getgroup("neff-bench")
    group.addoption(
        "--neff-bench", action="store_true", help="Run NKI kernels on the embedded toolchain and time them."
    )
    group.addoption("--neff-bench-target", default=None, help=f"Chip: {LISTED}.  [default: trn2]")
    group.addoption("--neff-bench-sdk", help=OPTION)
    group.addoption("--neff-bench-lnc", type=int, help="Cores of a launch without a grid.  [default: 1, as on AWS]")


def pytest_configure(config: Any) -> None:
    """Make the kernels of this process run on the embedded toolchain, where it was asked for."""
    if not config.getoption("--neff-bench"):
        return
    from neff_bench.doors.embedded import embedded

    session = ExitStack()
    config.add_cleanup(session.close)
    if config.getoption("--neff-bench-target"):
        environment = session.enter_context(pytest.MonkeyPatch.context())
        environment.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", config.getoption("--neff-bench-target"))
    session.enter_context(
        embedded(partial(_hear, judged_by(config.getoption("--neff-bench-sdk"))), config.getoption("--neff-bench-lnc"))
    )
    session.callback(_everything.clear)


def _hear(sdk: str, launch: Launch) -> None:
    import hashlib

    from neff_bench.doors.estimation import row_of
    from neff_bench.simulator.program import encode

    digest = hashlib.sha256(encode(launch.program)).digest()
    row = _everything.get(digest) or row_of(launch.program, sdk=sdk)
    _everything[digest] = row
    for launched in _listening:
        launched.rows.append(row)


@pytest.fixture
def neff_bench(request: pytest.FixtureRequest) -> Any:
    """Yield the kernels that this test launches: `.last` and `.rows`."""
    if not request.config.getoption("--neff-bench"):
        pytest.skip("needs pytest --neff-bench")
    launched = Launched()
    _listening.append(launched)
    yield launched
    _listening.remove(launched)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """End a session without failures with 1 where a kernel's outputs cannot be right."""
    if session.exitstatus == pytest.ExitCode.OK and any(row.failed for row in _everything.values()):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the table of all kernels that were launched."""
    if not _everything:
        return
    from neff_bench.stage2_profile.report.layout import answer
    from neff_bench.terminal.formats import render

    terminalreporter.section("neff-bench")
    terminalreporter.write(render(answer(list(_everything.values())), "table"))
