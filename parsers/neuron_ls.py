"""Reads `neuron-ls` as JSON: the Neuron devices of a host, their cores, and the processes that use them.

To SDK 2.33 it prints an array of devices. From 2.34 it prints an object; the name of its list of devices is not public, so it is the one list of objects
that have `neuron_device`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from neff_bench.parsers.document import decode
from neff_bench.parsers.errors import ParseError, guarded
from neff_bench.parsers.json_text import read_json
from neff_bench.parsers.source import source_name
from neff_bench.system.decoding import prepare

_CORES_MAX = 1024
"""The most cores of a device; AWS's have at most 8. A number without a bound would fill the memory."""


@dataclass(frozen=True)
class NeuronProcess:
    """A process that uses a device. `command` may be empty, `runtime_version` None."""

    pid: int
    command: str
    runtime_version: str | None


@dataclass(frozen=True)
class NeuronDevice:
    """One chip. `logical_cores`: the numbers that NEURON_RT_VISIBLE_CORES takes; each is `lnc` physical cores, 1 where the chip
    has no LNC (trn1, inf2). `memory_bytes`: of all its HBM, None where the tool does not say."""

    number: int
    logical_cores: tuple[int, ...]
    lnc: int
    memory_bytes: int | None
    processes: tuple[NeuronProcess, ...]

    @property
    def physical_cores(self) -> tuple[int, ...]:
        """Logical core L of size n is physical cores L*n ... L*n+n-1."""
        return tuple(core * self.lnc + part for core in self.logical_cores for part in range(self.lnc))


@dataclass(frozen=True)
class Topology:
    """The devices of a host. `instance_type`: such as `trn2.48xlarge`, None where the tool does not say."""

    devices: tuple[NeuronDevice, ...]
    instance_type: str | None

    @property
    def lnc(self) -> int:
        """The LNC by which the tool numbers logical cores."""
        return self.devices[0].lnc

    @property
    def physical_cores(self) -> tuple[int, ...]:
        """The number on all devices."""
        return tuple(core for device in self.devices for core in device.physical_cores)

    @property
    def logical_cores(self) -> tuple[int, ...]:
        """The number on all devices."""
        return tuple(core for device in self.devices for core in device.logical_cores)

    def device_of(self, core: int) -> NeuronDevice | None:
        """Return the device of a physical core, None for a core that the host lacks."""
        return next((device for device in self.devices if core in device.physical_cores), None)


class _Process(msgspec.Struct):
    pid: int
    command: str | None = None
    neuron_runtime_version: str | None = None


class _Device(msgspec.Struct):
    neuron_device: int
    nc_count: Annotated[int, msgspec.Meta(ge=0, le=_CORES_MAX)] | None = None
    neuroncore_ids: list[int] | None = None
    logical_neuroncore_config: Annotated[int, msgspec.Meta(ge=0, le=_CORES_MAX)] | None = None
    memory_size: int | None = None
    neuron_processes: list[_Process] | None = None
    instance_type: str | None = None


prepare(list[_Device])


def ask(answer: Callable[[Sequence[str]], bytes | None], forms: Iterable[Sequence[str]]) -> Topology:
    """Return the topology from the first of `forms` (arguments) for which `answer`, which runs the tool, has one. Raises ParseError."""
    problem = ParseError("neuron-ls", None, "it gave no answer")
    for arguments in forms:
        said = answer(arguments)
        if said is not None:
            try:
                return read_neuron_ls(said)
            except ParseError as error:
                problem = error
    raise problem


@guarded
def read_neuron_ls(source: str | os.PathLike[str] | bytes) -> Topology:
    """Return the topology. Raises ParseError, also when there is no device."""
    name = source_name(source)
    text = read_json(source)[0]
    document = decode(name, text, Any)
    found, instance = document, None
    if isinstance(document, dict):
        lists = [value for value in document.values() if _holds_devices(value)]
        found = lists[0] if len(lists) == 1 else None
        instance = document.get("instance_type")
    if not _holds_devices(found):
        raise ParseError(name, None, "neuron-ls names no device: expected a list of objects with `neuron_device`")
    try:
        devices = msgspec.convert(found, list[_Device])
    except msgspec.ValidationError as error:
        raise ParseError(name, None, f"a device of neuron-ls: {error}") from None
    instance = instance if isinstance(instance, str) else devices[0].instance_type
    made, counted = [], 0
    for device in devices:
        made.append(_device(device, counted))
        counted += len(made[-1].logical_cores)
    if not counted or len({core for each in made for core in each.physical_cores}) != sum(
        len(each.physical_cores) for each in made
    ):
        raise ParseError(name, None, "neuron-ls names no core, or a core of two devices")
    return Topology(tuple(made), instance)


def _holds_devices(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and "neuron_device" in item for item in value)
    )


def _device(said: _Device, counted: int) -> NeuronDevice:
    """Return a device as we know it. `counted`: logical cores of the devices before it, for a tool that tells only how many there are."""
    cores = said.neuroncore_ids
    if cores is None:
        cores = list(range(counted, counted + (said.nc_count or 0)))
    return NeuronDevice(
        said.neuron_device,
        tuple(cores),
        max(1, said.logical_neuroncore_config or 1),
        said.memory_size,
        tuple(
            NeuronProcess(each.pid, each.command or "", each.neuron_runtime_version)
            for each in said.neuron_processes or ()
        ),
    )
