"""Finds the cores of each toolchain for one call: what the user asks for, what a scheduler granted, what the host has."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from neff_bench.errors import WrongCall
from neff_bench.stage2_profile.capture.cores import LOCK_DIRECTORY, CorePool, lock_directory
from neff_bench.stage2_profile.capture.grant import check_cores, read_grant
from neff_bench.stage2_profile.capture.host import find_host
from neff_bench.stage2_profile.capture.nki_locks import CoreLocks
from neff_bench.stage2_profile.capture.nki_locks import lock_directory as nki_lock_directory
from neff_bench.stage2_profile.capture.tools import NEURON_BIN, Kind
from neff_bench.stage2_profile.options import Options
from neff_bench.terminal.streams import notice


def make_pools(cores: tuple[int, ...] | None, kinds: Iterable[str], options: Options) -> dict[Kind, CorePool]:
    """Return the cores for each toolchain. The simulator needs none, and takes simulated ones when they are asked for; then the host
    is not looked at. Raises `WrongCall` for cores that are not granted, unless they are forced."""
    if options.force_cores and cores is None:
        raise WrongCall("--force-cores leaves the grant for the cores that --cores names; add --cores")
    measured = "neuron" in set(kinds)
    directory = lock_directory(options.environ) if cores is not None or measured else LOCK_DIRECTORY
    pools: dict[Kind, CorePool] = {
        "sim": CorePool(
            cores or (),
            kind="sim",
            directory=directory,
            stop=options.stop,
            say=notice,
            lock_timeout_s=options.lock_timeout_s,
        ),
    }
    if measured:
        host = find_host(options.environ, NEURON_BIN)
        topology = host.topology if host is not None else None
        grant = None if options.force_cores else read_grant(options.environ, topology)
        if cores is not None:
            check_cores(cores, grant, topology)
        has_device = host is not None or any(Path("/dev").glob("neuron[0-9]*"))
        pools["neuron"] = CorePool(
            cores,
            kind="neuron",
            directory=directory,
            grant=grant,
            host=host,
            nki_locks=CoreLocks(nki_lock_directory(options.environ)) if has_device else None,
            share_hbm=options.share_hbm,
            stop=options.stop,
            say=notice,
            lock_timeout_s=options.lock_timeout_s,
        )
    return pools
