import json
from pathlib import Path

HERE = Path(__file__).parent
HABITS = json.loads((HERE / "habits.json").read_text())
