"""Declares `neff-bench fsck`, `neff-bench gc` and `neff-bench merge`: the command lines of upkeep."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from neff_bench.neffs import DEFAULT_STORE
from neff_bench.terminal.command import command
from neff_bench.terminal.options import PATH, OutputOptions, argument, flag, option, takes


@dataclass(frozen=True, kw_only=True)
class FsckOptions(OutputOptions):
    """Holds which store is examined, and whether it is mended."""

    directory: Path = argument(default=Path(DEFAULT_STORE), metavar="[STORE]", type=PATH)
    repairs: bool = flag("--repair", help="Set aside what is wrong, so that it is made again.")


@dataclass(frozen=True, kw_only=True)
class GcOptions(OutputOptions):
    """Holds which store is cleared, and what of it stays."""

    directory: Path = argument(default=Path(DEFAULT_STORE), metavar="[STORE]", type=PATH)
    keep: int = option(required=True, type=click.IntRange(1), metavar="N", help="Runs of each case that stay.")
    dry_run: bool = flag(help="Say what would be removed, and remove nothing.")


@dataclass(frozen=True, kw_only=True)
class MergeOptions(OutputOptions):
    """Holds which stores become one."""

    into: Path = argument(required=True, metavar="INTO", type=PATH)
    sources: tuple[Path, ...] = argument(required=True, metavar="FROM...", nargs=-1, type=PATH)


@command("fsck")
@takes(FsckOptions)
def fsck(options: FsckOptions) -> int:
    """Compare every file of a store with its checksum.

    STORE is what generate-neffs wrote, or one bundle in it. Each damaged, missing or
    surplus file is a line. --repair moves them to STORE/.store/aside; the next
    generate-neffs or profile-neffs makes exactly these again. Exit code 0: all is as it
    was written; 1: something is not; 2: wrong call.

    \b
    neff-bench fsck neffs
    neff-bench fsck neffs --format json
    neff-bench fsck neffs --repair && profile-neffs neffs
    """
    from neff_bench.stage2_profile.upkeep.answers import check_store

    return check_store(options.directory, options.repairs, options.format, options.output)


@command("gc")
@takes(GcOptions)
def gc(options: GcOptions) -> int:
    """Remove old runs from a store and say how many bytes that gave back.

    The newest N runs of each case stay, and always the one that its row shows. Damaged
    runs are left to neff-bench fsck.

    \b
    neff-bench gc neffs --keep 1
    neff-bench gc neffs --keep 3 --dry-run
    """
    from neff_bench.stage2_profile.upkeep.answers import remove_runs

    return remove_runs(options.directory, options.keep, options.dry_run, options.format, options.output)


@command("merge")
@takes(MergeOptions)
def merge(options: MergeOptions) -> int:
    """Copy into the store INTO what it lacks of the stores FROM: cases, and runs of cases that it has.

    Every file is compared with its checksum first. What INTO has stays as it is, but for a
    case that failed there and was built elsewhere. Exit code 0: all is in INTO; 1: a case
    is damaged or of another build; 2: wrong call.

    \b
    generate-neffs --shapes shapes.yaml --shard 1/2 --out a     # on one host
    generate-neffs --shapes shapes.yaml --shard 2/2 --out b     # on another one
    neff-bench merge neffs.out a b && profile-neffs neffs.out
    """
    from neff_bench.stage2_profile.upkeep.answers import merge_stores

    return merge_stores(options.into, options.sources, options.format, options.output)
