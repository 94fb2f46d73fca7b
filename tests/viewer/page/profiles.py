"""Timelines for the tests of the page: one of the simulator, and one whose every text tries to be markup."""

import json
from pathlib import Path

from neff_bench.parsers.event_rows import (
    Dependence,
    LinkedDmaRow,
    LinkedInstructionRow,
    Predecessor,
    SemaphoreRow,
    Timeline,
    UsageRow,
)
from neff_bench.simulator.commands.view import load_profile, write_json
from neff_bench.simulator.files.neff import write_neff
from neff_bench.simulator.program import Program
from tests.simulator.programs import matmul

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=\"window.hacked=1\">{{data}}\u202e"


def simulated_json(directory: Path, tiles: int = 2, program: Program | None = None) -> Path:
    """A whole-profile JSON of the simulator."""
    write_neff(program or matmul(tiles=tiles, lnc=2), directory / "file.neff")
    path = directory / "profile.json"
    write_json(load_profile(str(directory / "file.neff"), None), "file.neff", "profile.ntff", str(path))
    return path


def rows_in(path: Path) -> int:
    """The events of a profile JSON, counted without us."""
    tables = json.loads(path.read_bytes())
    return sum(len(tables[name]) for name in ("instruction", "dma", "semaphore_update"))


def small(text: str = "", simulated: bool = False) -> Timeline:
    """A load, a product that waits for it, and a copy of the product; `text` is added to every name."""
    line = f"kernel{text}.py"
    return Timeline(
        f"profile{text}",
        simulated,
        {"total_time": 1e-6, "hardware_flops": 4000, "hbm_read_bytes": 100, "instance_type": "trn2.48xlarge", "key": text},
        [
            LinkedInstructionRow(0, 50, 0, "Sync", "sg00", f"DMA_DIRECT2D{text}", 0, text, id=1, nki_source_location=f"{line}:3"),
            LinkedInstructionRow(
                300, 200, 20, "Tensor", "sg00", "MATMUL", 0, f"dst=p{text}", id=2, nki_source_location=f"{line}:4",
                nki_call_stack=(f"{line}:9",), predecessors=[Predecessor(1, Dependence.FLOW)],
            ),
            LinkedInstructionRow(
                520, 80, 10, "Vector", "sg00", f"COPY{text}", 0, id=3, nki_source_location=f"{line}:5",
                predecessors=[Predecessor(2, Dependence.FLOW)],
            ),
        ],
        [
            LinkedDmaRow(60, 200, 2048, "Q1-E3", "sg00", "3", "1", f"hardware{text}", "", f"lhs{text}", trigger=1),
            LinkedDmaRow(70, 210, 2048, "Q1-E4", "sg00", "4", "1", f"hardware{text}", "", f"lhs{text}", trigger=1),
        ],
        [SemaphoreRow(280, f"S[8]{text}", 1, "sg00")],
        notes=(f"note {text}",) if text else (),
        usage=[UsageRow(60, "sb", 0.5, "sg00"), UsageRow(600, "sb", 0.0, "sg00")],
    )  # fmt: skip
