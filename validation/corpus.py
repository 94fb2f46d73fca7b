"""The public files that measured figures rest on: gather them from checkouts, verify them, rebuild the tables of their figures.

    python validation/corpus.py DIR CHECKOUT [CHECKOUT ...] [--tables]

tests/validation/manifest.json names every file: repository, commit, path, size, sha256, licence. CHECKOUT is a clone of one of these
repositories (a bare one will do) that has the commit. DIR then holds what `make fidelity DATA=DIR` reads. The files belong to
others and stay out of this repository; their figures are in tests/validation/. `--tables` writes these figures anew from DIR.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MEASURED = ROOT / "tests" / "validation"
MANIFEST = MEASURED / "manifest.json"
PUBLISHED = MEASURED / "published.json"
NKI_LIBRARY = "aws-neuron/nki-library"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, metavar="DIR", help="where the files go")
    parser.add_argument("checkouts", type=Path, nargs="+", metavar="CHECKOUT", help="clones of the repositories")
    parser.add_argument("--tables", action="store_true", help="write the tables in tests/validation anew (minutes)")
    options = parser.parse_args(arguments)
    manifest = json.loads(MANIFEST.read_bytes())
    problems = list(gather(manifest, options.checkouts, options.directory))
    for problem in problems:
        print(f"corpus: {problem}", file=sys.stderr)
    if problems:
        return 1
    shutil.copyfile(PUBLISHED, options.directory / "measured.json")
    if options.tables:
        from validation.tables import write_tables

        library = next(entry for entry in manifest if entry["repository"] == NKI_LIBRARY)
        checkout = next((p for p in options.checkouts if _tree(p, library) and (p / "src").is_dir()), None)
        if checkout is None:
            print(f"corpus: --tables: name a checkout of {NKI_LIBRARY} with its files", file=sys.stderr)
            return 1
        write_tables(manifest, options.directory, checkout, MEASURED)
    return 0


def gather(manifest: Sequence[dict[str, Any]], checkouts: Sequence[Path], directory: Path) -> Iterator[str]:
    """Copies every file that has a hash from the checkouts to its place in `directory`. Yields what is missing or different."""
    for entry in manifest:
        where = f"{entry['repository']} at {entry['commit'][:7]}"
        for file in entry["files"]:
            if file["sha256"] is None:
                continue
            found = (_blob(checkout, entry["commit"], file["path"]) for checkout in checkouts)
            contents = [data for data in found if data is not None]
            data = next((data for data in contents if hashlib.sha256(data).hexdigest() == file["sha256"]), None)
            if data is None:
                wrong = "has other contents" if contents else "not found; name a checkout that has it"
                yield f"{where}: {file['path']}: {wrong}"
                continue
            place = directory / file["to"]
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        for tree in entry.get("trees", ()):
            if all(_tree(checkout, entry) != tree["git_tree"] for checkout in checkouts):
                yield f"{where}: {tree['path']}: not found; name a checkout that has it"


def _blob(checkout: Path, commit: str, path: str) -> bytes | None:
    done = subprocess.run(["git", "-C", checkout, "cat-file", "blob", f"{commit}:{path}"], capture_output=True)
    return done.stdout if done.returncode == 0 else None


def _tree(checkout: Path, entry: dict[str, Any]) -> str | None:
    """Return the git tree of the entry's folder in the checkout."""
    [tree] = entry["trees"]
    name = f"{entry['commit']}:{tree['path']}"
    done = subprocess.run(
        ["git", "-C", checkout, "rev-parse", "--verify", "--quiet", name], capture_output=True, text=True
    )
    return done.stdout.strip() or None


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    raise SystemExit(main(sys.argv[1:]))
