"""`python -m tests.golden` writes times.json anew from the code as it stands: do so only for a change of the model that is meant.

With a checkout of nki-library (tests/checkouts.py) its figures are written too, else those in the file are kept.
"""

import json

from neff_bench.chips import CHIPS
from tests import checkouts
from tests.golden.programs import CHIPS_OF, OURS, of_nki_library
from tests.golden.times import FILE, read, times


def main() -> None:
    old = read()
    figures = {name: figures for name, figures in old["times_us"].items() if name.startswith("nkilib ")}
    try:
        theirs = of_nki_library(checkouts.find(checkouts.NKI_LIBRARY))
    except FileNotFoundError as error:
        print(f"figures of nki-library are kept: {error}")
        theirs = {}
    for name, build in {**OURS, **theirs}.items():
        chips = CHIPS_OF.get(name, tuple(CHIPS))
        figures[name] = {chip: {k: round(us, 4) for k, us in times(build(chip)).items()} for chip in chips}
    ordered = {name: figures[name] for name in sorted(figures)}
    FILE.write_text(json.dumps({"times_us": ordered}, indent=1) + "\n")
    print(f"{FILE}: {len(ordered)} programs")


if __name__ == "__main__":
    main()
