"""Says what a Linux host says of its Neuron driver and runtime, by files of AWS's packages. Opens no device."""

from __future__ import annotations

import re
from pathlib import Path

DRIVER = Path("sys/module/neuron/version")
"""Below the root: the loaded kernel module (package aws-neuronx-dkms)."""
RUNTIME = Path("opt/aws/neuron/lib/libnrt.so.1")
"""Below the root: package aws-neuronx-runtime-lib (AWS Neuron documentation, setup)."""


def driver_version(root: Path = Path("/")) -> str | None:
    """Return the version of the kernel module, None when it is not loaded."""
    return first_line(root / DRIVER)


def runtime_file(root: Path = Path("/")) -> str | None:
    """Return libnrt as the runtime package installs it; links are followed, since the file's name ends in the version."""
    library = root / RUNTIME
    return f"/{library.resolve().relative_to(root.resolve())}" if library.is_file() else None


def runtime_version(root: Path = Path("/")) -> str | None:
    """Return the version in the name of libnrt, None where it has none or is not installed."""
    match = re.search(r"libnrt\.so\.(\d+\.\d+[.\d]*)$", runtime_file(root) or "")
    return match[1] if match else None


def first_line(path: Path) -> str | None:
    """Return the text of a file of one line, None where it cannot be read or is empty."""
    try:
        return path.read_text(errors="replace", encoding="utf-8").strip() or None
    except OSError:
        return None
