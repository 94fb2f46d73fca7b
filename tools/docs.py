"""Runs the commands of the `console` blocks in Markdown pages again and puts their real output there.

    python tools/docs.py README.md docs/*.md          # refresh what is stale
    python tools/docs.py --check README.md docs/*.md  # say what is stale, change nothing

In a block, `$ ` starts a command, `> ` continues it; what follows is its standard output. The commands of a page run one
after the other in a directory of their own, which holds the repository's shapes.yaml and the files that the page shows: a
line that begins with a file's name in backquotes and ends in a colon, then the file's text in a block. A block is stale when its
output differs in anything but what differs from host to host: wall times, dates, versions of Python, and, in a block that begins with
"```console host", every number and the name of the library that was timed. The fingerprint of the model, which each edit of the
simulator changes, is written as xxxxxxxx. An image NAME.png is made anew where the commands write NAME.html and a Chromium is there.
A page with NEEDS in it is passed over while NKILIB_PATH is not set.

Exit code 1: a command failed that does not say `|| true` (the page is left as it was), or --check found a stale page.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"```console( host)?\n(.*?)```\n", re.DOTALL)
FILE = re.compile(r"^`([\w.]+)`[^\n]*:\n\n```\w+\n(.*?)```\n", re.DOTALL | re.MULTILINE)
IMAGE = re.compile(r"\]\(([\w-]+)\.png\)")
FINGERPRINT = re.compile(r"\b((?:trn|inf|sim)[\d.-]*\d)\.[0-9a-f]{8}\b")
NEEDS = "<!-- needs NKILIB_PATH -->"
SHAPES = Path(__file__).parents[1] / "shapes.yaml"
ENVIRONMENT = {"NO_COLOR": "1", "COLUMNS": "120", "LC_ALL": "C.UTF-8"}


MASKS = (
    (re.compile(r"\b(built|done) in [\d.]+ s\b"), r"\1 in # s"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:+.]+"), "DATE"),
    (re.compile(r"Python [\d.]+,\s+\w+ \w+"), "PYTHON"),
    (re.compile(r" +max error +rel error"), " ERRORS"),
    (re.compile(r" +(0|[\d.]+e-\d+|0\.00\d+) +(0|[\d.]+e-\d+|0\.00\d+) passed"), " ERRORS passed"),
    (re.compile(r"─+"), "─"),
)
"""What differs from host to host (the last bits of a host's BLAS too), or with each edit of the simulator, and is no result."""
HOST_MASKS = (
    (re.compile(r"(measured|host): \w+ \S+.*"), r"\1: HOST"),
    (re.compile(r"\b(torch|jax|numpy)\b"), "HOST"),
    (re.compile(r"-?\d[\d,]*(\.\d+)?(e[-+]\d+)?"), "#"),
    (re.compile(r"\+cpu|\+cu\d+"), ""),
    (re.compile(r"[#, ]*#[#, ]*"), "#"),
    (re.compile(r" +"), " "),
)


def runnable(page: Path) -> bool:
    """Return whether this host has what the page needs."""
    return NEEDS not in page.read_text() or "NKILIB_PATH" in os.environ


def stale(page: Path) -> list[str]:
    """Lines of a diff, empty for a page whose outputs hold. Raises `subprocess.CalledProcessError`."""
    old = page.read_text()
    return list(
        difflib.unified_diff(old.splitlines(), refreshed(old).splitlines(), str(page), "fresh", lineterm="", n=1)
    )


def refresh(page: Path) -> None:
    """Raises `subprocess.CalledProcessError` for a command that fails."""
    page.write_text(refreshed(page.read_text(), page.parent))


def refreshed(text: str, pictures: Path | None = None) -> str:
    """Return the page with fresh output in the blocks that are stale; a block that holds stays to the byte. `pictures`: where its images go."""
    with tempfile.TemporaryDirectory() as directory:
        shutil.copy(SHAPES, directory)
        for name, content in FILE.findall(text):
            (Path(directory) / name).write_text(content)
        fresh = BLOCK.sub(lambda block: _fresh_block(block, Path(directory)), text)
        for name in IMAGE.findall(text) if pictures else ():
            page = Path(directory, f"{name}.html")
            if page.exists() and shutil.which("chromium"):
                words = [
                    sys.executable,
                    str(Path(__file__).parent / "chromium.py"),
                    str(page),
                    f"{pictures}/{name}.png",
                ]
                subprocess.run(words, check=True)
        return fresh


def masked(text: str, host: bool) -> str:
    """Return an output without what may differ. `host`: without any number."""
    for pattern, replacement in (*MASKS, *(HOST_MASKS if host else ())):
        text = pattern.sub(replacement, text)
    return text


def _fresh_block(block: re.Match[str], directory: Path) -> str:
    host = block[1] is not None
    fresh = _run_block(block[2], directory)
    if masked(fresh, host) == masked(block[2], host):
        return block[0]
    return f"```console{block[1] or ''}\n{fresh}```\n"


def _run_block(block: str, directory: Path) -> str:
    parts = []
    for command in _commands(block):
        print(f"$ {command}", file=sys.stderr, flush=True)
        shown = "$ " + command.replace("\n", "\n> ")
        parts.append(f"{shown}\n{_output(command, directory)}")
    return "".join(parts)


def _commands(block: str) -> list[str]:
    commands: list[str] = []
    continued = False
    for line in block.splitlines():
        if line.startswith("$ "):
            commands.append(line[2:])
            continued = True
        elif continued and line.startswith("> "):
            commands[-1] += "\n" + line[2:]
        else:
            continued = False
    return commands


def _output(command: str, directory: Path) -> str:
    """Standard output without trailing blanks; the directory's name is cut out."""
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", command],
        cwd=directory,
        env={**os.environ, **ENVIRONMENT, "PATH": path_of_commands()},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    text = FINGERPRINT.sub(r"\1.xxxxxxxx", done.stdout.replace(f"{directory}/", "").strip("\n"))
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n" if text else ""


def path_of_commands() -> str:
    """Return a PATH on which the commands of this installation come first."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the commands of Markdown pages again.")
    parser.add_argument("--check", action="store_true", help="Say what is stale, and change nothing.")
    parser.add_argument("pages", nargs="+", type=Path)
    words = parser.parse_args()
    code = 0
    for page in words.pages:
        try:
            if not runnable(page):
                print(f"{page}: not run: set NKILIB_PATH to a checkout of nki-library", file=sys.stderr)
            elif not words.check:
                refresh(page)
            elif lines := stale(page):
                print("\n".join(lines))
                code = 1
        except subprocess.CalledProcessError as error:
            print(f"error: {page}: a command failed with exit code {error.returncode}", file=sys.stderr)
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
