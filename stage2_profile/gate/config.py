"""Says what the gate judges: the file that `--config` names.

times: [total_time_us]
time_percent: 1
counters: [dma_packet_count, hbm_read_bytes]
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from neff_bench.errors import WrongCall
from neff_bench.stage2_profile.compare.comparison import COMPARED
from neff_bench.stage2_profile.compare.verdict import Config
from neff_bench.stage2_profile.metrics.metric import Metric


def read_config(path: Path | None) -> Config:
    """Return the configuration in a YAML file, ours without one. Raises `WrongCall`."""
    if path is None:
        return Config()
    import yaml

    try:
        said = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WrongCall(f"--config {path}: cannot read it: {error.strerror}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise WrongCall(f"--config {path}: not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise WrongCall(f"--config {path}: nested too deep") from None
    try:
        config = msgspec.convert(said, _File)
    except msgspec.ValidationError as error:
        known = ", ".join(_File.__struct_fields__)
        raise WrongCall(f"--config {path}: {error}; expected a mapping with {known}") from None
    for key, names, fits in (("times", config.times, _is_time), ("counters", config.counters, _is_counter)):
        allowed = [name for name, metric in COMPARED.items() if metric.better == "lower" and fits(metric)]
        wrong = next((name for name in names if name not in allowed), None)
        if wrong is not None:
            raise WrongCall(f"--config {path}: {key}: found {wrong!r:.80}, expected a list of {', '.join(allowed)}")
    return Config(config.times, config.time_percent, config.counters)


class _File(msgspec.Struct, forbid_unknown_fields=True):
    times: tuple[str, ...] = Config.times
    time_percent: Annotated[float, msgspec.Meta(ge=0, lt=100)] = Config.time_percent
    counters: tuple[str, ...] = Config.counters


def _is_time(metric: Metric) -> bool:
    return not metric.exact and metric.unit == "us"


def _is_counter(metric: Metric) -> bool:
    return metric.exact
