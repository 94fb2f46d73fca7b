"""Reads the explorer's Parquet directory (schema 7.4.0): a `<Table>.parquet` for each table, big ones split. Needs pyarrow, the `parquet` extra."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from neff_bench.installation import pip_install
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
    """Return whether it holds a summary table."""
    return (Path(path) / "Summary.parquet").is_file()


@guarded
def read_parquet(path: str | os.PathLike[str]) -> tuple[Summary, Metadata]:
    """Return the summary and the device. Raises ParseError, also when pyarrow is not installed."""
    keys, described = summary_keys(path)
    try:
        return summary_from(keys), metadata_from(described)
    except ValueError as error:
        raise ParseError(Path(path) / "Summary.parquet", None, str(error)) from None


def summary_keys(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the summary under the keys of neuron-profile, and the metadata as it stands. Raises ParseError."""
    directory = Path(path)
    if not is_parquet_directory(directory):
        raise ParseError(path, None, "a directory without Summary.parquet, expected a profile of neuron-explorer")
    keys = _first_row(directory / "Summary.parquet")
    described = _first_row(directory / "Metadata.parquet") if (directory / "Metadata.parquet").exists() else {}
    versions = {MOVED.get(key, key): value for key, value in described.items() if key in MOVED or key in SHARED}
    simulated = {key: value for key, value in described.items() if key.startswith("simulator_")}
    return {key: value for key, value in {**versions, **simulated, **keys}.items() if value is not None}, described


def open_table(path: Path) -> Any:
    """Return a `pyarrow.parquet.ParquetFile`, to be closed. Raises ParseError, also when pyarrow is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ParseError(path, None, f"Parquet needs pyarrow: {pip_install('parquet')}") from None
    try:
        return pyarrow.parquet.ParquetFile(path)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise ParseError(path, None, f"no Parquet table: {str(error).splitlines()[0]}") from None


def _first_row(path: Path) -> dict[str, Any]:
    with open_table(path) as file:
        try:
            batch = next(file.iter_batches(batch_size=1), None)
        except (OSError, ValueError) as error:  # ArrowException is one or the other
            raise ParseError(path, None, f"no Parquet table: {str(error).splitlines()[0]}") from None
    if batch is None or batch.num_rows == 0:
        raise ParseError(path, None, "the table is empty")
    first: dict[str, Any] = batch.to_pylist()[0]
    return first
