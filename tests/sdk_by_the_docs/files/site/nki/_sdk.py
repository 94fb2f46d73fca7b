"""Where the rest of this SDK lies."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))
from habits import HABITS as HABITS  # noqa: E402
