"""Writes docs/rules.md, the page of the rules of AWS's compiler: `python -m tools.rules > docs/rules.md`."""

from __future__ import annotations

import sys

from neff_bench.rules import RULES, Rule
from neff_bench.rules.report import releases_of
from neff_bench.rules.rule import SOURCES

_FAMILIES = {
    "N": "Names and arguments",
    "B": "The old dialect",
    "P": "Python forms inside a kernel",
    "D": "Element types",
    "S": "Shapes, sizes and indices",
    "M": "Memories",
    "E": "Operators, engines and chips",
    "X": "DMA and transfers",
    "L": "Launches",
    "C": "Collectives",
    "K": "Libraries",
}

_GRAPH = "of the graph around the kernel"
_MEMORY = "the memory of the whole graph"
_HLO = "a custom call of the graph; NKI's own instruction has rules"

ERROR_CODES = {
    "EARG001": "NBLL903",
    "EBIR023": "NBLK952",
    "EBVF030": "NBLK953",
    "EHCA005": "NBLK954",
    "EMOD025": _GRAPH,
    "EOOM001": _MEMORY,
    "EOOM002": _MEMORY,
    "ESFH002": _GRAPH,
    "ESPP004": "NBLD335",
    "ESPP047": "NBLD335",
    "EUOC002": _GRAPH,
    "EVRF001": _GRAPH,
    "EVRF004": "NBLD335",
    "EVRF005": "NBLD335",
    "EVRF006": _GRAPH,
    "EVRF007": "NBLK953",
    "EVRF009": _MEMORY,
    "EVRF010": _GRAPH,
    "EVRF011": _GRAPH,
    "EVRF013": "NBLD329",
    "EVRF015": "NBLK954",
    "EVRF016": _GRAPH,
    "EVRF017": _GRAPH,
    "EVRF018": _GRAPH,
    "EVRF019": _GRAPH,
    "EVRF022": _GRAPH,
    "EVRF031": _GRAPH,
    "EVRF035": "NBLD304",
    **dict.fromkeys((f"EVRF{number:03}" for number in (36, 37, 38, 39, 40, 42, 57)), _HLO),
    "EVRF041": "NBLD331",
    **dict.fromkeys((f"EVRF{number:03}" for number in (43, 44, 45, 46, 47, 48, 49, 50, 53, 54, 55)), _HLO),
    "EVRF051": "NBLD338",
    "EVRF052": "of chips after trn3",
    "EVRF056": _GRAPH,
    "EVRF058": "NBLS437",
    "EVRF059": "a file that the host lacks",
    "EVRF060": _GRAPH,
    "EVRF061": _GRAPH,
    "EVRF062": _GRAPH,
    "EVRF063": _GRAPH,
    "EVRF064": _GRAPH,
    "EVRF065": "NBLN156",
    "EXSP001": _MEMORY,
    "EXTP004": "NBLK953",
}
"""The rule that stands for each error code that AWS's compiler pages document, or why a kernel's file cannot show it."""

UNJUDGED = {
    "NBLC911": ("a collective at LNC 2 needs kernel[2]", "the LNC of the graph around the kernel is not in its file"),
    "NBLC916": ("limits of reduce_scatter_v", "its interface is of SDK 2.33 alone, and it cannot be recorded yet"),
    "NBLC917": ("rdispls of all_to_all_v between nodes", "where the ranks run is not in the file"),
    "NBLD326": ("nc_n_gather keeps the dtype", "NBLD325 says it"),
    "NBLE606": ("power does not read PSUM", "it runs on GpSimd: NBLM520 says it"),
    "NBLE636": ("one row is not copied from partition 63 to 0", "63 is no partition to begin at: NBLE634 says it"),
    "NBLE643": ("newer names of gelu's functions", "all known releases have them"),
    "NBLK952": ("the MLP kernel takes at most 4096 columns", "a kernel of the compiler's package, which is closed"),
    "NBLK953": (
        "a graph has too many instructions",
        "AWS's pages name no number; check says how many a large kernel has",
    ),
    "NBLK954": ("a custom call that is not found", "it is of the graph around the kernel"),
    "NBLL904": ("the launch and the compiler have one LNC", "the environment of the run is not in the file"),
    "NBLL905": ("both cores have the same run-time branches", "AWS does not refuse it: the run hangs"),
    "NBLM508": ("a mutable parameter is returned", "the current dialect has no such type"),
    "NBLM523": ("several sums in one tile of PSUM", "AWS does not refuse it, and one user saw wrong numbers"),
    "NBLM532": ("older names of nl.tile_size", "NBLN129 and NBLN144 say it"),
    "NBLN134": ("kernels of SDK 2.28 and 2.29 in one trace", "a file does not say for which release it was written"),
    "NBLN137": ("names that came with NKI 0.2", "all known releases have them"),
    "NBLP227": ("Python's control flow on run-time values", "NBLP214 says it"),
    "NBLP228": ("a very large body of a dynamic loop", "how large is not public"),
    "NBLS405": ("a matmul sums over 128 rows at most", "no tile has more: NBLS401 says it"),
    "NBLS414": ("the Tensor Engine transposes 128 x 128", "no result has more rows: NBLS401 says it"),
    "NBLS418": ("nl.add and the like do not broadcast", "a recorded call does not say whether nl or nisa issued it"),
    "NBLS435": ("local_gather works on 16 partitions", "NBLD327 says it"),
    "NBLX716": ("dma_copy writes 128 partitions", "no tile has more: NBLS401 says it"),
    "NBLX720": ("copies that the graph's compiler joins", "it is of the graph around the kernel"),
}
"""What AWS's compiler is known to refuse, and no rule judges: the code that is kept for it, what it is, and why it has no judge. These codes are never
used again."""


def page() -> str:
    """Return docs/rules.md."""
    lines = [
        "# Rules of AWS's compiler",
        "",
        f"`neff-bench check` knows {len(RULES)} rules. This page is made from their declarations by `python -m tools.rules`.",
        "",
        "An *error* has public words of AWS (a page, a declaration, the source of its parser, or a message of its compiler that somebody published)",
        "and was refused by a tool of AWS. A *warning* has one of the two. A *note* is deprecated, inferred, or done by AWS's own library or another",
        "kernel that ran on a device. A kernel that breaks no rule may still be refused.",
    ]
    for letter, title in _FAMILIES.items():
        lines += ["", f"## {title}"]
        for code, rule in sorted(RULES.items()):
            if code[3] == letter:
                lines += ["", *_section(rule)]
    lines += [
        "",
        "## Without a judge",
        "",
        "AWS refuses these too, or is said to. `neff-bench check` does not find them.",
        "",
    ]
    lines += [f"- {code}: {what}. Why: {why}." for code, (what, why) in sorted(UNJUDGED.items())]
    lines += ["", "## Error codes of AWS's compiler", "", "| code | rule, or why none |", "|---|---|"]
    lines += [f"| NCC_{code} | {_linked(said)} |" for code, said in sorted(ERROR_CODES.items())]
    return "\n".join(lines) + "\n"


def _linked(said: str) -> str:
    return f"[{said}](#{said.lower()})" if said in RULES else said


def _section(rule: Rule) -> list[str]:
    sources = ", ".join(
        f"[{what}]({where})" if where else what for what, where in (SOURCES[key] for key in rule.source)
    )
    return [
        f'### <a id="{rule.code.lower()}"></a>{rule.code}',
        "",
        f"{rule.forbids[0].upper()}{rule.forbids[1:]}. Instead: {rule.instead}.",
        "",
        f"{rule.level.capitalize()} ({rule.known_by}). Chips: {', '.join(rule.chips) or 'all'}. SDK: {releases_of(rule)}. Source: {sources}.",
        *([f"AWS says: `{rule.says}`."] if rule.says else []),
    ]


if __name__ == "__main__":
    sys.stdout.write(page())
