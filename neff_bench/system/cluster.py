"""Makes calls of our functions on the hosts of a Ray cluster. Ray chooses the host, grants the cores, and calls again elsewhere
when a host is lost; here is only what a command needs of that."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from neff_bench.errors import NeffBenchError, WrongCall
from neff_bench.installation import pip_install
from neff_bench.system.signals import SIGNALS

NEURON_CORES = "neuron_cores"
"""Ray's resource of logical NeuronCores (ray, _private/accelerators/neuron.py)."""
VISIBLE_CORES = "NEURON_RT_VISIBLE_CORES"
RETRIES = 3
"""How often Ray calls again after the loss of a host; its own default for tasks."""
IN_FLIGHT_MAX = 256
"""Calls of one command that wait in its threads."""
_POLL_S = 0.2
_LOOK_S = 10.0
"""How often a waiting call looks whether a host is left for it."""
_CONNECT_S = 5.0
_END_S = 30.0
"""How long a cancelled call may take to end in order."""

T = TypeVar("T")


class ClusterError(NeffBenchError):
    """A call that the cluster could not bring to its end."""


class Cluster:
    """A running cluster. Its methods may be called by several threads."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._totals: dict[str, float] = ray.cluster_resources()

    def total(self, resource: str) -> int:
        """Return how many whole units of a resource the cluster had when the command began: `CPU`, `neuron_cores`."""
        return int(self._totals.get(resource, 0))

    def calls(self, resource: str, wanted: int | None) -> int:
        """Return how many calls to have under way. By default two for each unit, so that no host waits for this one."""
        return min(wanted or 2 * self.total(resource), IN_FLIGHT_MAX)

    def call(
        self,
        function: Callable[..., T],
        *arguments: object,
        cpus: float,
        resources: Mapping[str, float],
        go_on: Callable[[], None],
    ) -> T:
        """Return what the function returns, called on some host that grants `cpus` and `resources`. Raises `ClusterError`.

        `go_on` is called while waiting and may raise; the call is then cancelled, and its end is waited for.
        """
        needs = {"CPU": cpus, **resources}
        self._check(needs)
        remote = self._ray.remote(function).options(num_cpus=cpus, resources=dict(resources), max_retries=RETRIES)
        reference = remote.remote(*arguments)
        future: Future[T] = reference.future()
        look = time.monotonic() + _LOOK_S
        try:
            while not future.done():
                go_on()
                wait([future], _POLL_S)
                if time.monotonic() > look:
                    look = time.monotonic() + _LOOK_S
                    self._check(needs)
        except BaseException:
            with suppress(Exception):
                self._ray.cancel(reference)
                wait([future], _END_S)
            raise
        try:
            return future.result()
        except Exception as error:
            raise ClusterError(_one_line(error)) from None

    def _check(self, needs: Mapping[str, float]) -> None:
        """Check that some host has what is asked: Ray would wait for ever. Raises `ClusterError`."""
        totals = self._ray.cluster_resources()
        for name, units in needs.items():
            if totals.get(name, 0) < units:
                raise ClusterError(f"no host of the cluster has {name} any more; call again when one is back")


@contextmanager
def connected(address: str) -> Iterator[Cluster]:
    """Yield the cluster at `address` (`HOST:PORT`, or `auto` for the one that runs on this host) until the end of the block. Raises `WrongCall`."""
    try:
        import ray
    except ImportError:
        raise WrongCall(f"--ray needs Ray: {pip_install('ray')}") from None
    _check_port(address if address != "auto" else os.environ.get("RAY_ADDRESS", ""))
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
    except (Exception, SystemExit) as error:
        raise WrongCall(f"--ray {address}: cannot connect: {_one_line(error)}") from None
    finally:
        _restore(handlers)  # Ray puts a handler of its own in place of the command's
    try:
        cluster = Cluster(ray)
        if cluster.total("CPU") < 1:
            raise WrongCall(f"--ray {address}: no host of the cluster has a CPU (ray start --num-cpus N)")
        yield cluster
    finally:
        ray.shutdown()


def ended_in_order(work: Callable[[threading.Event], T]) -> T:
    """Return what `work` returns. Ray cancels a call with a KeyboardInterrupt in the main thread: then the event is set, and the
    work ends in its own order. To be called on a worker."""
    stop, future = threading.Event(), Future[T]()

    def run() -> None:
        try:
            future.set_result(work(stop))
        except BaseException as error:
            future.set_exception(error)

    thread = threading.Thread(target=run)
    try:
        thread.start()
        while not future.done():
            wait([future], _POLL_S)
    except BaseException:
        stop.set()
        while thread.ident is not None and not future.done():
            with suppress(KeyboardInterrupt):  # a second one: what has begun to end is not left halfway
                wait([future])
        raise
    return future.result()


def granted_core() -> int:
    """Return the one core that Ray granted to this call. To be called on a worker. Raises `ClusterError` for none or several."""
    import ray

    ids = ray.get_runtime_context().get_accelerator_ids().get(NEURON_CORES, [])
    visible = os.environ.get(VISIBLE_CORES)
    if len(ids) != 1 or visible != ids[0]:
        raise ClusterError(
            f"Ray granted {NEURON_CORES} {', '.join(ids) or 'none'} and {VISIBLE_CORES} is {visible or 'not set'}; expected one "
            "core, the same in both (start Ray without RAY_EXPERIMENTAL_NOSET_NEURON_RT_VISIBLE_CORES)"
        )
    return int(ids[0])


def host() -> str:
    """Return the name of this host, for messages of a worker."""
    return socket.gethostname()


def _check_port(address: str) -> None:
    """Check that the port answers: Ray would wait two minutes for it, and print what it does meanwhile. Raises `WrongCall`."""
    name, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or "/" in name:
        return  # Ray says at once what is wrong with it
    try:
        socket.create_connection((name.strip("[]"), int(port)), _CONNECT_S).close()
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise WrongCall(f"--ray {address}: no cluster answers there: {why} (ray start --head starts one)") from None


def _restore(handlers: Mapping[signal.Signals, Any]) -> None:
    if threading.current_thread() is threading.main_thread():
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _one_line(error: BaseException) -> str:
    """Return the one line of an exception of Ray that says what it is about; its text may be a whole traceback."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, BaseException):
        return f"internal error on a worker, please report it: {cause!r}"
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no reason was given'}"
