"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile


def write_whole(path: str, data: bytes) -> None:
    """Write beside, sync and rename; an earlier file stays as it was when that fails. Raises OSError."""
    directory = os.path.dirname(os.path.abspath(path))
    with tempfile.NamedTemporaryFile(dir=directory, prefix=".neuron-sim-", delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise
