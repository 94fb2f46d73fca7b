"""Every public name of the simulator says what it is."""

import ast
from collections.abc import Iterator

from neff_bench.installation import PACKAGE


def undocumented(body: list[ast.stmt], where: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            if ast.get_docstring(node) is None:
                yield f"{where} {node.name}"
            if isinstance(node, ast.ClassDef):
                yield from undocumented(node.body, f"{where} {node.name}")


def test_public_functions_classes_and_methods_have_docstrings():
    paths = sorted((PACKAGE / "simulator").rglob("*.py"))
    assert len(paths) > 90
    assert [name for path in paths for name in undocumented(ast.parse(path.read_text()).body, path.name)] == []
