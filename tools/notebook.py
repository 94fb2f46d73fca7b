"""Runs the cells of a notebook and keeps the value of each cell's last line as its output: `python -m tools.notebook docs/python.ipynb`."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any


def outputs(cells: list[dict[str, Any]]) -> list[str | None]:
    """Return what each cell answers, as text; None for one that answers nothing. The cells run here, one after the other."""
    names: dict[str, Any] = {}
    return [_run("".join(cell["source"]), names) if cell["cell_type"] == "code" else None for cell in cells]


def _run(source: str, names: dict[str, Any]) -> str | None:
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None
    return None if value is None else repr(value)


def main() -> None:
    path = Path(sys.argv[1])
    notebook = json.loads(path.read_text(encoding="utf-8"))
    number = 0
    for cell, text in zip(notebook["cells"], outputs(notebook["cells"]), strict=True):
        if cell["cell_type"] == "code":
            number += 1
            cell["execution_count"] = number
            told = {
                "output_type": "execute_result",
                "execution_count": number,
                "metadata": {},
                "data": {"text/plain": text},
            }
            cell["outputs"] = [told] if text is not None else []
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
