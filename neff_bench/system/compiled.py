"""Knows the compiled parts of the simulator: their files, and whether they can be used. setup.py runs it alone, so it imports nothing of this package."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "simulator" / "native"
PARTS = {"passes": "passes*.so", "recorder": "recorder/core*.so"}
_INNER = "@cython.cfunc\n@cython.nogil\n@cython.exceptval(check=False)\n"


def c_files() -> list[Path]:
    """Return the C files and their headers, by name; those of the recorder's extension lie in `recorder/`."""
    return sorted(FOLDER.rglob("*.[ch]"))


def pass_files() -> list[Path]:
    """Return the passes that are written in Python, by name."""
    return sorted(path for path in FOLDER.glob("*.py") if path.stem not in ("__init__", "cython"))


def pass_source() -> str:
    """Return all passes as one module for Cython, which takes the place of cython.py. It has another name than theirs, so that Python never
    takes it for one of them."""
    text = "".join(path.read_text(encoding="utf-8") for path in pass_files())
    lines = (line for line in text.splitlines(keepends=True) if not line.startswith("from "))
    return f"import cython\n{''.join(lines).replace('@cython.inner', _INNER.rstrip())}"


def digest() -> str:
    """16 hex digits over the contents of all these files, which a part that was built of them holds."""
    return _digest((*c_files(), *pass_files()))


@cache
def _digest(paths: tuple[Path, ...]) -> str:
    import hashlib  # a command that only prints its help does without it

    whole = hashlib.sha256()
    for path in paths:
        whole.update(path.name.encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()[:16]


def usable(part: str) -> Path | None:
    """Return the file of a part that is whole and of these sources, None where there is none. It is read, not loaded: a file that was cut off
    ends the process that loads it."""
    return next((path for path in FOLDER.glob(PARTS[part]) if _wrong(path) is None), None)


def slow() -> str | None:
    """Return which parts cannot be used, what that costs, and what helps; None where all can. The results are the same without them."""
    why = []
    for part, pattern in PARTS.items():
        if usable(part) is None:
            built = next(FOLDER.glob(pattern), None)
            why.append(f"{built} {_wrong(built)}" if built is not None else f"no compiled {part}")
    if not why:
        return None
    return f"about 3 times slower: {'; '.join(why)}; to build them: pip install -e . in a checkout, or install neff-bench again"


def slow_notice() -> str | None:
    """Return what a command says once where parts cannot be used, else None."""
    why = slow()
    return f"the simulator works without its compiled parts ({why})" if why is not None else None


def _wrong(path: Path) -> str | None:
    try:
        data = path.read_bytes()
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if data[:5] == b"\x7fELF\x02":
        sections = int.from_bytes(data[40:48], "little")
        size, count = (int.from_bytes(data[at : at + 2], "little") for at in (58, 60))
        if len(data) < max(64, sections + size * count):  # the table of sections is the end of the file
            return "is cut off"
    return None if digest().encode() in data else "is not of these sources"
