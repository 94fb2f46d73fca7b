"""Standard input: paths changed by a pull request. Standard output: `only=` and the options that choose their cases.

A change under `core/<kernel>/` chooses that kernel's cases; a change of what kernels share chooses all; a change that
touches no kernel chooses none.
"""

import re
import sys

KERNEL_CASES = {
    "attention": ["attention_*"],
    "mlp": ["mlp_*"],
    "output_projection": ["output_projection_*"],
    "qkv": ["qkv_*"],
    "rmsnorm": ["rmsnorm_*"],
}


def options(paths: list[str]) -> str:
    """The value of `only`: options for `generate`, "" for all cases, "none" for no case."""
    globs: set[str] = set()
    for path in paths:
        if path.startswith("benchmarks/"):
            return ""
        found = re.match(r"src/nkilib_src/nkilib/core/(\w+)/", path)
        if found and found.group(1) in KERNEL_CASES:
            globs.update(KERNEL_CASES[found.group(1)])
        elif path.startswith("src/nkilib_src/"):
            return ""
    return " ".join(f"--only '{glob}'" for glob in sorted(globs)) or "none"


if __name__ == "__main__":
    print("only=" + options(sys.stdin.read().split()))
