"""Our host latencies beside `torch.utils.benchmark` on the same shapes: ratio of the medians of five, taken in turn.

    python bench/latency.py

Needs torch. On a busy machine the ratio of the fastest runs is the one to read: both wait for the same cores.
"""

from __future__ import annotations

import importlib.util
import statistics
import sys

from goals import Goals

SHAPES = ((64, 64, 64), (128, 128, 128), (512, 512, 512), (1024, 1024, 1024))
ROUNDS = 5
TIMES = 1.1


def main() -> int:
    goals = Goals()
    if importlib.util.find_spec("torch") is None:
        goals.not_compared("host latencies beside torch.utils.benchmark", "torch")
        return goals.exit_code()
    import torch
    from torch.utils.benchmark import Timer

    from neff_bench import MatmulConfig, NPUMatmulProfiler

    profiler = NPUMatmulProfiler(backend="torch")
    print(f"{'shape':>16} {'dtype':>9} {'ours ms':>9} {'torch ms':>9} {'ratio':>6} {'ratio of fastest':>17}")
    for dtype in ("float32", "bfloat16"):
        for m, k, n in SHAPES:
            a, b = torch.randn(m, k).to(getattr(torch, dtype)), torch.randn(k, n).to(getattr(torch, dtype))
            timer = Timer("torch.matmul(a, b)", globals={"torch": torch, "a": a, "b": b})
            ours, theirs = [], []
            for _ in range(ROUNDS):
                ours.append(profiler.profile_single_matmul(MatmulConfig(m, k, n, dtype), iterations=50).latency_ms)
                theirs.append(1e3 * timer.blocked_autorange(min_run_time=0.2).median)
            mine, other = statistics.median(ours), statistics.median(theirs)
            fastest = min(ours) / min(theirs)
            print(f"{f'{m}x{k}x{n}':>16} {dtype:>9} {mine:9.4f} {other:9.4f} {mine / other:6.2f} {fastest:17.2f}")
            goals.at_most(TIMES, f"latency of {m}x{k}x{n} in {dtype}", fastest, "torch's Timer, the fastest of each")
    return goals.exit_code()


if __name__ == "__main__":
    sys.exit(main())
