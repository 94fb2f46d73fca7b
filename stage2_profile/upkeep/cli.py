"""`neff-bench fsck`, `neff-bench gc` and `neff-bench merge`: the command lines of upkeep."""

from __future__ import annotations

from pathlib import Path

import click

from neff_bench.neffs import DEFAULT_STORE
from neff_bench.terminal.command import command
from neff_bench.terminal.formats import chosen
from neff_bench.terminal.output import output_options


@command("fsck")
@click.argument("directory", metavar="[DIR]", type=click.Path(path_type=Path), default=DEFAULT_STORE)
@click.option("--repair", "repairs", is_flag=True, help="Set aside what is wrong, so that it is made again.")
@output_options
def fsck(directory: Path, repairs: bool, format_: str | None, output: Path | None) -> int:
    """Compare every file of a store with its checksum.

    DIR is what generate-neffs wrote, or one bundle in it. Each damaged, missing or
    surplus file is a line. --repair moves them to DIR/.store/aside; the next
    generate-neffs or profile-neffs makes exactly these again. Exit code 0: all is as it
    was written; 1: something is not; 2: wrong call.

    \b
    neff-bench fsck neffs
    neff-bench fsck neffs --format json
    neff-bench fsck neffs --repair && profile-neffs neffs
    """
    from neff_bench.stage2_profile.upkeep.answers import check_store

    return check_store(directory, repairs, chosen(format_, output), output)


@command("gc")
@click.argument("directory", metavar="[DIR]", type=click.Path(path_type=Path), default=DEFAULT_STORE)
@click.option("--keep", type=click.IntRange(1), required=True, metavar="N", help="Runs of each case that stay.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@output_options
def gc(directory: Path, keep: int, dry_run: bool, format_: str | None, output: Path | None) -> int:
    """Remove old runs from a store and say how many bytes that gave back.

    The newest N runs of each case stay, and always the one that its row shows. Damaged
    runs are left to neff-bench fsck.

    \b
    neff-bench gc neffs --keep 1
    neff-bench gc neffs --keep 3 --dry-run
    """
    from neff_bench.stage2_profile.upkeep.answers import remove_runs

    return remove_runs(directory, keep, dry_run, chosen(format_, output), output)


@command("merge")
@click.argument("into", metavar="INTO", type=click.Path(path_type=Path))
@click.argument("sources", metavar="FROM...", nargs=-1, required=True, type=click.Path(path_type=Path))
@output_options
def merge(into: Path, sources: tuple[Path, ...], format_: str | None, output: Path | None) -> int:
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

    return merge_stores(into, sources, chosen(format_, output), output)
