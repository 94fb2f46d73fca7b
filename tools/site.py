"""Writes the pages that the site is built from: `python -m tools.site build/pages`, which `make docs` calls.

The pages of docs/ are copied. The first page is README.md, and CONTRIBUTING.md is a page too. The pages of commands, of a row's JSON and of the tools
for agents are made from the product, the page of Python from its notebook. A console session becomes blocks of commands, which can be pasted, and
blocks of their output. Where a page has `xxxxxxxx`, the site shows the fingerprint of the model
that it was built with: this is the only place that writes one into a page.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import click

from neff_bench import cli
from neff_bench.doors.mcp_calls import Limits
from neff_bench.doors.mcp_server import INSTRUCTIONS, server_of
from neff_bench.doors.schema import row_schema
from neff_bench.simulator.commands.cli import main as neuron_sim
from neff_bench.simulator.timing.model import fingerprint
from neff_bench.stage1_generate import kernels
from neff_bench.stage1_generate.shapes import presets

ROOT = Path(__file__).parents[1]
MASK = "xxxxxxxx"
EXPLAINED = ("bundle", "NEFF", "NTFF", "LNC", "current dialect", "old dialect", "finding", "suspect", "unchecked")
"""Words of the glossary that each page links where it first uses them. The others are too common to be told from ordinary words."""
CONSOLE = re.compile(r"```console(?: host)?\n(.*?)```\n", re.DOTALL)
NO_PROSE = re.compile(r"```.*?```|`[^`\n]*`|!?\[[^]]*\]\([^)]*\)|<[^>]*>|^#.*?$", re.DOTALL | re.MULTILINE)


def write(target: Path) -> None:
    """Write every page of the site, and the schema of rows beside them."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ROOT / "docs", target)
    (target / "README.md").unlink()  # GitHub's index of the folder; here the navigation is one
    pages = {
        "index.md": linked(ROOT / "README.md"),
        "contributing.md": linked(ROOT / "CONTRIBUTING.md"),
        "commands.md": commands(),
        "rows-json.md": rows(),
        "mcp.md": agents(),
        "shapes-file.md": (ROOT / "docs" / "shapes-file.md").read_text(encoding="utf-8") + built_in(),
        "python.md": notebook(ROOT / "docs" / "python.ipynb"),
    }
    for name, text in pages.items():
        (target / name).write_text(text, encoding="utf-8")
    (target / "rows.schema.json").write_text(json.dumps(row_schema(), indent=2), encoding="utf-8")
    for page in target.glob("*.md"):
        text = (
            page.read_text(encoding="utf-8")
            .replace("](../README.md", "](index.md")
            .replace("](python.ipynb)", "](python.md)")
        )
        if page.name == "glossary.md":
            text = re.sub(r"^\| ([A-Za-z][\w, ]*?) \|", _anchored, text, flags=re.MULTILINE)
        else:
            text = explained(pasteable(text))
        page.write_text(text.replace(MASK, fingerprint()), encoding="utf-8")


def _anchored(row: re.Match[str]) -> str:
    """Return the first cell of a row of the glossary, with a place to link to for each word in it."""
    places = "".join(f'<a id="{word.strip().lower().replace(" ", "-")}"></a>' for word in row[1].split(","))
    return f"| {places}{row[1]} |"


def explained(text: str) -> str:
    """Return a page whose first use of each word of `EXPLAINED` is a link to the glossary. Code, links and headings stay as they are."""
    for word in EXPLAINED:
        kept = NO_PROSE.findall(text)
        for number, prose in enumerate(parts := NO_PROSE.split(text)):
            if found := re.search(rf"(?<![\w-]){word}s?(?![\w-])", prose):
                link = f"[{found[0]}](glossary.md#{word.lower().replace(' ', '-')})"
                parts[number] = prose[: found.start()] + link + prose[found.end() :]
                break
        text = "".join(part + code for part, code in zip(parts, [*kept, ""], strict=True))
    return text


def pasteable(text: str) -> str:
    """Return a page whose console sessions are apart: commands without prompts, and what they print."""
    return CONSOLE.sub(lambda session: "".join(_blocks(session[1])), text)


def _blocks(session: str) -> Iterator[str]:
    in_command = False
    lines: list[tuple[bool, str]] = []
    for line in session.splitlines():
        in_command = line.startswith("$ ") or (in_command and line.startswith("> "))
        lines.append((in_command, line[2:] if in_command else line))
    for command, group in groupby(lines, key=itemgetter(0)):
        kind = "{.bash .console}" if command else "{.text .output}"
        yield "\n".join([f"```{kind}", *(line for _, line in group), "```\n\n"])


def linked(page: Path) -> str:
    """Return a page of the repository's root, with its links as they are in the site."""
    text = page.read_text(encoding="utf-8").replace("[all pages](docs/README.md), ", "")
    return text.replace("](docs/", "](").replace("](CONTRIBUTING.md)", "](contributing.md)")


def commands() -> str:
    """Return the help text of every command."""
    parts = ["# Commands\n\nEach section is what `--help` prints.\n"]
    for group, name in ((cli.main, "neff-bench"), (neuron_sim, "neuron-sim")):
        parts += [f"## {words}\n\n```text\n{text}```\n" for words, text in helps(group, name, None)]
    return "\n".join(parts)


def helps(command: click.Command, name: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    """Yield a command and what it prints, then those below it."""
    context = click.Context(command, info_name=name, parent=parent, terminal_width=100, max_content_width=100)
    yield context.command_path, command.get_help(context) + "\n"
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            if (below := command.get_command(context, each)) is not None:
                yield from helps(below, each, context)


def built_in() -> str:
    """Return the kernels and presets that a shapes file can name."""
    lines = ["\n## Built-in kernels\n", "| `kernel` | dimensions | `implementation` | `dtype` |", "|---|---|---|---|"]
    for name in kernels.names():
        kernel = kernels.load(name)
        sizes = [f"{dim} = {kernel.defaults[dim]}" if dim in kernel.defaults else dim for dim in kernel.dims]
        lines.append(
            "| "
            + " | ".join((name, ", ".join(sizes), ", ".join(kernel.implementations), ", ".join(kernel.dtypes)))
            + " |"
        )
    lines += ["\n## Presets\n", "| `preset` | cases of one implementation | |", "|---|---|---|"]
    lines += [f"| {name} | {len(presets.preset(name))} | {getattr(presets, name).__doc__} |" for name in presets.NAMES]
    return "\n".join(lines) + "\n"


def rows() -> str:
    """Return the keys of a row."""
    lines = [
        "# JSON of rows\n",
        "`profile-neffs --format json` prints a list of rows, one object for each case. A key whose value is not known is `null`. Keys may be read in any order.",
        "[rows.schema.json](rows.schema.json) is the schema; `neff-bench schema` prints it. [Metrics](metrics.md) says what each number is.\n",
        "| key | value | |",
        "|---|---|---|",
    ]
    for key, value in row_schema()["items"]["properties"].items():
        lines.append(f"| `{key}` | {kinds(value)} | {value.get('description', '')} |")
    return "\n".join(lines) + "\n"


def kinds(value: dict[str, Any]) -> str:
    """Return what a value may be."""
    if "enum" in value:
        return ", ".join("null" if each is None else f"`{each}`" for each in value["enum"])
    if "anyOf" in value:
        return " or ".join(kinds(each) for each in value["anyOf"])
    if "$ref" in value:
        return "object with " + str(value["$ref"]).rpartition("/")[2].lower()
    types = value.get("type", "any")
    return " or ".join([types] if isinstance(types, str) else types)


def agents() -> str:
    """Return the tools that `neff-bench mcp` serves."""
    parts = ["# Tools for agents (MCP)\n", INSTRUCTIONS + "\n"]
    parts += [
        "```bash\npip install 'mcp>=2.0'\nneff-bench mcp --root my-kernels   # the command that an agent's configuration names\n```\n"
    ]
    for tool in asyncio.run(server_of(Limits(ROOT, 30.0, 1 << 32)).list_tools()):
        parts.append(
            f"## {tool.name}\n\n{' '.join((tool.description or '').split())}\n\n| argument | value | |\n|---|---|---|"
        )
        required = tool.input_schema.get("required", ())
        for name, value in tool.input_schema["properties"].items():
            told = value.get("description", "") or next(
                (e["description"] for e in value.get("anyOf", ()) if "description" in e), ""
            )
            parts.append(f"| `{name}`{'' if name in required else ' (optional)'} | {kinds(value)} | {told} |")
        parts.append("")
    return "\n".join(parts)


def notebook(path: Path) -> str:
    """Return a notebook as a page: its texts, its cells and what they printed."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            parts.append(f"```text\n{''.join(output['data']['text/plain'])}\n```")
    return re.sub(r"\n{3,}", "\n\n", "\n\n".join(parts)) + "\n"


if __name__ == "__main__":
    write(Path(sys.argv[1]))
