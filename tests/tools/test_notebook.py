import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_shows_what_its_cells_answer(notebook, tmp_path):
    """`python -m tools.notebook docs/python.ipynb` refreshes a notebook that fails here."""
    fresh = tmp_path / notebook.name
    fresh.write_text(notebook.read_text(encoding="utf-8"), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "tools.notebook", fresh.name]
    subprocess.run(words, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert json.loads(fresh.read_text(encoding="utf-8")) == json.loads(notebook.read_text(encoding="utf-8"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_no_notebook_is_without_outputs(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert any(cell.get("outputs") for cell in cells)
    assert all(cell["execution_count"] for cell in cells if cell["cell_type"] == "code")
