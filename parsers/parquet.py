"""The explorer's Parquet directory: one `<Table>.parquet` for each table, big ones split into `<Table>_0.parquet`, `<Table>_1.parquet`, ...

Schema 7.4.0 (AWS docs, tools/neuron-explorer/profile-schema-reference.rst). Needs pyarrow, the `parquet` extra.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from neff_bench.parsers.errors import ParseError, guarded
from neff_bench.parsers.metadata import Metadata, metadata_from
from neff_bench.parsers.summary import Summary, summary_from

MOVED = {"neuroncore_idx": "nc_idx", "neuron_device_idx": "nd_idx", "explorer_version": "profiler_version"}
"""Metadata keys that neuron-profile keeps in the summary under another name."""
SHARED = (
    "instance_type",
    "runtime_version",
    "collectives_version",
    "driver_version",
    "compiler_version",
    "is_simulation",
)


def is_parquet_directory(path: str | os.PathLike[str]) -> bool:
    """Whether it holds a summary table."""
    return (Path(path) / "Summary.parquet").is_file()


@guarded
def read_parquet(path: str | os.PathLike[str]) -> tuple[Summary, Metadata]:
    """The summary and the device. Raises ParseError, also when pyarrow is not installed."""
    directory = Path(path)
    if not is_parquet_directory(directory):
        raise ParseError(path, None, "a directory without Summary.parquet, expected a profile of neuron-explorer")
    keys = _first_row(directory / "Summary.parquet")
    described = _first_row(directory / "Metadata.parquet") if (directory / "Metadata.parquet").exists() else {}
    versions = {MOVED.get(key, key): value for key, value in described.items() if key in MOVED or key in SHARED}
    simulated = {key: value for key, value in described.items() if key.startswith("simulator_")}
    present = {key: value for key, value in {**versions, **simulated, **keys}.items() if value is not None}
    try:
        return summary_from(present), metadata_from(described)
    except ValueError as error:
        raise ParseError(directory / "Summary.parquet", None, str(error)) from None


def _first_row(path: Path) -> dict[str, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ParseError(path, None, "Parquet needs pyarrow: pip install 'neff-bench[parquet]'") from None
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            batch = next(file.iter_batches(batch_size=1), None)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise ParseError(path, None, f"no Parquet table: {str(error).splitlines()[0]}") from None
    if batch is None or batch.num_rows == 0:
        raise ParseError(path, None, "the table is empty")
    first: dict[str, Any] = batch.to_pylist()[0]
    return first
