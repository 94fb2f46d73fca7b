"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write beside, sync and rename; an earlier file stays as it was when that fails. Raises `OSError`.

    A path that is there and is no plain file (`/dev/stdout`, a pipe) is written as it is.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        Path(path).write_bytes(data)
        return
    target = Path(os.path.realpath(path))
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".neff-bench-", delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.chmod(file.name, 0o666 & ~_umask())
            os.replace(file.name, target)
        except BaseException:
            os.unlink(file.name)
            raise


def _umask() -> int:
    """Of this process, without changing it even for a moment: other threads make files."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    return 0o022
