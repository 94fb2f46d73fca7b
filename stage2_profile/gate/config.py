"""Says what the gate judges: the file that `--config` names.

times: [total_time_us]
time_percent: 1
counters: [dma_packet_count, hbm_read_bytes]
"""

from __future__ import annotations

from pathlib import Path

import msgspec

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
    except OSError as error:
        raise WrongCall(f"--config {path}: cannot read it: {error.strerror}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise WrongCall(f"--config {path}: not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise WrongCall(f"--config {path}: nested too deep") from None
    try:
        config = msgspec.convert(said, Config)
    except msgspec.ValidationError as error:
        known = ", ".join(Config.__struct_fields__)
        raise WrongCall(f"--config {path}: {error}; expected a mapping with {known}") from None
    lower = {name: metric for name, metric in COMPARED.items() if metric.better == "lower"}
    times = [name for name, metric in lower.items() if not metric.exact and metric.unit == "us"]
    counters = [name for name, metric in lower.items() if metric.exact]
    for key, names, allowed in (("times", config.times, times), ("counters", config.counters, counters)):
        wrong = next((name for name in names if name not in allowed), None)
        if wrong is not None:
            raise WrongCall(f"--config {path}: {key}: found {wrong!r:.80}, expected a list of {', '.join(allowed)}")
    return config
