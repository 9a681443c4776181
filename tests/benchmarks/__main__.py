"""``python -m tests.benchmarks [start|swap|correlation|evaluate|pairs|items|teams|sweep|scaling ...]``: all benchmarks, or those named."""

from __future__ import annotations

import sys

from tests.benchmarks import correlation, evaluate, items, pairs, scaling, start, swap, sweep, teams

BENCHMARKS = {
    "start": start.main,
    "swap": swap.main,
    "correlation": correlation.main,
    "evaluate": evaluate.main,
    "pairs": pairs.main,
    "items": items.main,
    "teams": teams.main,
    "sweep": sweep.main,
    "scaling": scaling.main,
}

if __name__ == "__main__":
    chosen = sys.argv[1:] or list(BENCHMARKS)
    if unknown := [name for name in chosen if name not in BENCHMARKS]:
        sys.exit(f"no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}")
    for name in chosen:
        BENCHMARKS[name]()
