"""Known failures of the device step and their answers: the one table of them.

Messages: AWS Neuron docs (neuron-runtime/nrt-troubleshoot.rst, tools/neuron-explorer/troubleshooting.rst), issues of
aws-neuron/aws-neuron-sdk (#820, #1007), status names and numbers of src/libnrt/include/nrt/nrt_status.h.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Answer = Literal["wait", "without_dge", "single_io", "drop_flag", "warn", "core_out", "fail"]
"""`wait`: back off and try again. `without_dge`: again without DGE notifications. `single_io`: again with one buffer for
all tensors; the outputs are invalid then. `drop_flag`: again without the flag that the tool does not know. `warn`: the
trace counts, with a warning. `core_out`: this core is not used again. `fail`: nothing to be done here."""


@dataclass(frozen=True)
class Failure:
    """`pattern`: what the log says; its first group, if any, goes into `advice` at `{0}`."""

    name: str
    pattern: re.Pattern[str]
    answer: Answer
    advice: str

    def explain(self, log: str) -> str:
        """The advice, with what the pattern found in the log."""
        match = self.pattern.search(log)
        return self.advice.format(*(match.groups() if match else ()))


def _status(number: int, *names: str) -> str:
    """A pattern for an NRT status by name, or by number where the log says that it is a status."""
    return "|".join([rf"NRT_{name}\b" for name in names] + [rf"(?i:status|error code|err)[ =:(]+{number}\b"])


FAILURES = (
    Failure(
        "device error",
        re.compile(
            "|".join(
                [
                    _status(101, "EXEC_UNIT_UNRECOVERABLE", "UNRECOVERABLE"),
                    _status(1200, "EXEC_HW_ERR_COLLECTIVES"),
                    _status(1201, "EXEC_HW_ERR_HBM_UE"),
                    _status(1202, "EXEC_HW_ERR_NC_UE"),
                    _status(1203, "EXEC_HW_ERR_DMA_ABORT"),
                    _status(1205, "EXEC_HW_ERR_REPAIRABLE_HBM_UE"),
                    _status(6, "HW_ERROR"),
                ]
            )
        ),
        "core_out",
        "the device reported a hardware error",
    ),
    Failure(
        "core busy",
        re.compile(
            r"NeuronCore\(s\) not available|" + _status(1005, "EXEC_NC_BUSY") + "|" + _status(9, "LOAD_NOT_ENOUGH_NC")
        ),
        "wait",
        "the core is held by another process",
    ),
    Failure(
        "DGE notification overflow",
        re.compile(r"potentially caused by DGE notifications|" + _status(1204, "EXEC_SW_NQ_OVERFLOW")),
        "without_dge",
        "the notification queue overflowed with DGE notifications on",
    ),
    Failure(
        "out of device memory",
        re.compile(r"mc_alloc: device mempool|(?i:out of device memory)|" + _status(4, "RESOURCE")),
        "single_io",
        "the device has too little free memory for this NEFF and the profiler's buffers",
    ),
    Failure(
        "unknown flag",
        re.compile(r"unknown flag [`'\"]?-*(save-nth-output|write-tensors-per-exec)"),
        "drop_flag",
        "the tool does not know --{0}",
    ),
    Failure(
        "NTFF version",
        re.compile(r"NTFF version (\d+) is not supported"),
        "fail",
        "NTFF version {0} is newer than the tool; update package aws-neuronx-tools",
    ),
    Failure(
        "LNC",
        re.compile(r"Logical NC not available|Could not find VNC id"),
        "fail",
        "the cores of this host do not fit the LNC of the NEFF (NEURON_LOGICAL_NC_CONFIG); build it for the other LNC",
    ),
    Failure(
        "no driver",
        re.compile(r"Unable to determine Neuron Driver version"),
        "fail",
        "no Neuron driver: install aws-neuronx-dkms, on a host with a Neuron device",
    ),
    Failure(
        "other architecture",
        re.compile(r"NEFF compiled for a different arch"),
        "fail",
        "the NEFF was compiled for another target than this device",
    ),
    Failure(
        "NEFF version",
        re.compile(
            r"NEFF version mismatch|NEFF version: .* are not supported|" + _status(10, "UNSUPPORTED_NEFF_VERSION")
        ),
        "fail",
        "the runtime is older than the compiler that built the NEFF; update package aws-neuronx-runtime-lib",
    ),
    Failure(
        "bad input",
        re.compile(_status(1002, "EXEC_BAD_INPUT")),
        "fail",
        "an input has another name or size than the NEFF declares",
    ),
    Failure(
        "NaN",
        re.compile(r"completed with numerical error|" + _status(1003, "EXEC_COMPLETED_WITH_NUM_ERR")),
        "warn",
        "the run completed with a numerical error (NaN)",
    ),
)
"""The first that matches counts: what harms the device comes before what harms the result."""


def diagnose(log: str) -> Failure | None:
    """The known failure that a log speaks of. Error lines alone mean nothing: ask only when something went wrong."""
    return next((failure for failure in FAILURES if failure.pattern.search(log)), None)


def last_words(log: str) -> str:
    """The last line that says something, for a failure that is not in the table."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"(?i)error|fatal|panic|fail|ERRO|FATA", line)]
    return (telling or lines or ["it printed nothing"])[-1][:300]
