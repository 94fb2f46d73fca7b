"""Does what pages of the built site say, as a reader who pastes their blocks, and compares what is printed: `make paste`.

    python -m tools.paste build/site/index.html build/site/tutorial/index.html

The blocks of a page are files, whose name stands in the line above them, commands, and what the commands print. They are run in an empty
directory, all by one shell. What differs from host to host is masked as in tools/docs.py. Exit code 1: a page prints something else.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path

from tools.docs import ENVIRONMENT, FINGERPRINT, masked, path_of_commands


class Page(HTMLParser):
    """Collects the blocks of a page: (paragraph above, kind, text). `kind`: console, output, or the name of a language."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.blocks: list[tuple[str, str, str]] = []
        self._above = self._kind = self._text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a paragraph or a block."""
        classes = dict(attrs).get("class") or ""
        if tag == "div" and "highlight" in classes:
            self._kind = "console" if "console" in classes else "output" if "output" in classes else classes
        if tag in ("p", "pre"):
            self._text = ""

    def handle_endtag(self, tag: str) -> None:
        """End a paragraph or a block."""
        if tag == "p":
            self._above = self._text
        if tag == "pre":
            self.blocks.append((self._above, self._kind, self._text))
            self._above = self._text = ""

    def handle_data(self, data: str) -> None:
        """Add to the paragraph or the block."""
        self._text += data


def differences(page: Path) -> list[str]:
    """Return the lines of a diff between what a page shows and what its commands print; empty where they are equal."""
    with tempfile.TemporaryDirectory() as directory:
        shown, printed = [], []
        for above, kind, text in Page(page.read_text(encoding="utf-8")).blocks:
            name = re.match(r"([\w.]+)\b.*:$", above, re.DOTALL)
            if kind == "output":
                shown.append(text)
            elif kind == "console":
                printed.append(_printed(text, directory))
            elif name is not None and "." in name[1]:
                Path(directory, name[1]).write_text(text, encoding="utf-8")
        a, b = (masked(FINGERPRINT.sub(r"\1.#", "".join(text)), host=False).splitlines() for text in (shown, printed))
    return list(difflib.unified_diff(a, b, str(page), "printed", lineterm="", n=1))


def _printed(commands: str, directory: str) -> str:
    """Return standard output of what is pasted into a shell, without blanks at the ends of lines."""
    print(commands, file=sys.stderr)
    environment = {**os.environ, **ENVIRONMENT, "PATH": path_of_commands()}
    done = subprocess.run(["bash"], input=commands, cwd=directory, env=environment, stdout=subprocess.PIPE, text=True)
    text = done.stdout.replace(f"{directory}/", "").strip("\n")
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def main(pages: list[str]) -> int:
    """Return the exit code; prints what differs."""
    found = [line for page in pages for line in differences(Path(page))]
    print("\n".join(found) or f"{len(pages)} pages print what they show")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
