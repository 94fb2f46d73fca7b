"""Text files are UTF-8 whatever the locale says."""

import ast
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("neff_bench", "neffs", "parsers", "stage1_generate", "stage2_profile")
SHAPES = """cases:
  - {kernel: matmul, implementation: nki, M: 128, K: 128, N: 128, dtype: bfloat16, target: trn2}
"""


def _python_files():
    for room in ROOMS:
        for folder, _, names in os.walk(ROOT / room):  # links between the rooms are not followed
            yield from (Path(folder, name) for name in names if name.endswith(".py"))


def _takes_the_locale(call):
    """Whether a call opens or reads text and names no encoding."""
    name = getattr(call.func, "attr", None) or getattr(call.func, "id", None)
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if "encoding" in given or None in given:
        return False
    if name in ("run", "Popen", "check_output"):
        return "text" in given
    if name == "open" and not (
        isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") in ("os", "tarfile")
    ):
        place = 1 if isinstance(call.func, ast.Name) else 0
        mode = given.get("mode", call.args[place] if len(call.args) > place else ast.Constant("r"))
        return isinstance(mode, ast.Constant) and isinstance(mode.value, str) and "b" not in mode.value
    return (name == "read_text" and not call.args) or (name == "write_text" and len(call.args) < 2)


def test_every_text_file_is_opened_with_its_encoding():
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in _python_files()
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call) and _takes_the_locale(node)
    ]
    assert found == []


def test_a_row_is_the_same_in_the_c_locale(tmp_path):
    (tmp_path / "shapes.yaml").write_text(SHAPES)
    rows = []
    for number, locale in enumerate(({"LC_ALL": "C.UTF-8"}, {"LC_ALL": "C", "PYTHONUTF8": "0"})):
        env = {**os.environ, "PYTHONPATH": str(ROOT), **locale}
        for words in (
            ["generate", "--shapes", "shapes.yaml", "--out", f"store{number}", "--cold"],
            ["profile", f"store{number}", "--format", "json", "--output", f"{number}.json"],
        ):
            done = subprocess.run(
                [sys.executable, "-m", "neff_bench", *words], cwd=tmp_path, env=env, capture_output=True
            )
            assert done.returncode == 0, done.stderr.decode(errors="replace")
        manifest = next((tmp_path / f"store{number}").glob("*/file.neff")).read_bytes()
        rows.append((manifest, (tmp_path / f"{number}.json").read_bytes()))
    assert rows[0][0] == rows[1][0]
    assert _without_times(rows[0][1]) == _without_times(rows[1][1])


def _without_times(rows):
    import orjson

    return [{name: value for name, value in row.items() if name != "compile_time_s"} for row in orjson.loads(rows)]
