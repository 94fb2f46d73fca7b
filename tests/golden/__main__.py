"""`python -m tests.golden` writes times.json anew from the code as it stands: do so only for a change of the model that is meant.

With NKILIB_PATH the figures of nki-library are written too, else those in the file are kept.
"""

import json

from neff_bench.chips import CHIPS
from tests.golden.programs import CHIPS_OF, NKI_LIBRARY, OURS
from tests.golden.times import FILE, commit, read, times


def main() -> None:
    old = read()
    figures = {name: figures for name, figures in old["times_us"].items() if name.startswith("nkilib ")}
    for name, build in {**OURS, **NKI_LIBRARY}.items():
        chips = CHIPS_OF.get(name, tuple(CHIPS))
        figures[name] = {chip: {k: round(us, 4) for k, us in times(build(chip)).items()} for chip in chips}
    ordered = {name: figures[name] for name in sorted(figures)}
    document = {"nki-library": commit() or old["nki-library"], "times_us": ordered}
    FILE.write_text(json.dumps(document, indent=1) + "\n")
    print(f"{FILE}: {len(ordered)} programs")


if __name__ == "__main__":
    main()
