"""Runs the commands of the `console` blocks in Markdown pages again and puts their real output there.

    python tools/docs.py docs/*.md

In a block, `$ ` starts a command, `> ` continues it; what follows is its standard output. The commands of a page run one
after the other in an empty directory of their own. Set NKILIB_PATH for the pages that build nki-library. Exit code 1: a
command failed that does not say `|| true`; the page is left as it was.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"```console\n(.*?)```\n", re.DOTALL)
ENVIRONMENT = {"NO_COLOR": "1", "COLUMNS": "120", "LC_ALL": "C.UTF-8"}


def refresh(page: Path) -> None:
    """Raises `subprocess.CalledProcessError` for a command that fails."""
    with tempfile.TemporaryDirectory() as directory:
        text = BLOCK.sub(lambda block: _run_block(block[1], Path(directory)), page.read_text())
    page.write_text(text)


def _run_block(block: str, directory: Path) -> str:
    parts = []
    for command in _commands(block):
        print(f"$ {command}", file=sys.stderr, flush=True)
        shown = "$ " + command.replace("\n", "\n> ")
        parts.append(f"{shown}\n{_output(command, directory)}")
    return f"```console\n{''.join(parts)}```\n"


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
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", command],
        cwd=directory,
        env={**os.environ, **ENVIRONMENT, "PATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    text = done.stdout.replace(f"{directory}/", "").strip("\n")
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n" if text else ""


def main() -> int:
    code = 0
    for name in sys.argv[1:]:
        try:
            refresh(Path(name))
        except subprocess.CalledProcessError as error:
            print(f"error: {name}: a command failed with exit code {error.returncode}", file=sys.stderr)
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
