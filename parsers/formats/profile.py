"""Declares profiles as tables: names that neuron-profile's JSON and neuron-explorer's Parquet directory (schema 7.4.0) use for the same thing."""

from __future__ import annotations

DMA_ENGINES = 16
"""The DMA engines of each physical core; the tables number them through."""

PARQUET_TABLES = {"dma": "DmaPacket", "neff_node": "TensorInfo", "ham": "Throttle", "warnings": "Warning"}
"""Tables of the JSON whose Parquet name is not their own in capitals."""

PARQUET_KEYS = {
    "timestamp": "start_ts",
    "duration": "duration_ns",
    "subgroup": "engine",
    "label": "timeline_track",
    "evt_wait_time": "evt_wait_time_ns",
    "transfer_size": "transfer_bytes",
}


def parquet_table(name: str) -> str:
    """Return the name of a Parquet table: `DmaPacket` for `dma`, `LayerSummary` for `layer_summary`."""
    return PARQUET_TABLES.get(name) or "".join(part.capitalize() for part in name.split("_"))
