"""What is on the disk when a file or a directory gets its name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


class Disk:
    """Follows what is synced and renamed. `unsynced`: what a rename would have left in memory only; `synced`: inodes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: set[int] = set()
        self.unsynced: list[str] = []
        self.renamed: list[str] = []
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self.fsync)
        for name in ("rename", "replace"):
            monkeypatch.setattr(os, name, self._following(getattr(os, name)))

    def fsync(self, descriptor: int) -> None:
        self._fsync(descriptor)
        self.synced.add(os.fstat(descriptor).st_ino)

    def _following(self, rename):
        def follow(old, new, **directories):
            old_path = Path(os.fsdecode(old))
            parts = [old_path, *old_path.rglob("*")] if old_path.is_dir() else [old_path]
            self.unsynced += [str(part) for part in parts if part.lstat().st_ino not in self.synced]
            self.renamed.append(Path(os.fsdecode(new)).name)
            rename(old, new, **directories)

        return follow

    def has(self, path: Path) -> bool:
        """Whether the file or directory was synced."""
        return path.lstat().st_ino in self.synced
