"""Says what the gate judges: the file that `--config` names.

times: [total_time_us]
time_percent: 1
counters: [dma_packet_count, hbm_read_bytes]
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neff_bench.errors import WrongCall
from neff_bench.stage2_profile.compare.comparison import COMPARED
from neff_bench.stage2_profile.compare.verdict import Config


def read_config(path: Path | None) -> Config:
    """Return the configuration in a YAML file, ours without one. Raises `WrongCall`."""
    if path is None:
        return Config()
    import yaml

    try:
        said = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise WrongCall(f"--config {path}: cannot read it: {getattr(error, 'strerror', None) or error}") from None
    except yaml.YAMLError as error:
        raise WrongCall(f"--config {path}: not YAML: {' '.join(str(error).split())}") from None
    known = Config.__dataclass_fields__
    if not isinstance(said, dict) or not set(said) <= set(known):
        raise WrongCall(f"--config {path}: expected a mapping with {', '.join(known)}")
    percent = said.get("time_percent", Config.time_percent)
    if not isinstance(percent, (int, float)) or isinstance(percent, bool) or not 0 <= percent < 100:
        raise WrongCall(f"--config {path}: time_percent: found {percent!r}, expected a number from 0 to 100")
    return Config(
        _metrics(path, said, "times", lambda metric: not metric.exact and metric.unit == "us", Config.times),
        float(percent),
        _metrics(path, said, "counters", lambda metric: metric.exact, Config.counters),
    )


def _metrics(path: Path, said: Mapping[str, Any], key: str, fits: Any, default: tuple[str, ...]) -> tuple[str, ...]:
    names = said.get(key, default)
    allowed = [name for name, metric in COMPARED.items() if metric.better == "lower" and fits(metric)]
    wrong = [str(name) for name in names if name not in allowed] if isinstance(names, (list, tuple)) else [str(names)]
    if wrong:
        raise WrongCall(f"--config {path}: {key}: found {wrong[0]}, expected a list of {', '.join(allowed)}")
    return tuple(names)
