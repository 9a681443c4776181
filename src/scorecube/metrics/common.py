"""Lists and what metrics ask of them: the ideal list (all relevant documents by descending level), first ranks, condensing."""

from __future__ import annotations

from typing import Any

from scorecube.kernels.jit import inlined, over_lists


@inlined
def n_relevant(judged: Any) -> int:
    """R: the number of relevant documents of the topic."""
    total = 0
    for level in range(1, judged.shape[0]):
        total += judged[level]
    return total


@inlined
def ideal_gain(judged: Any, gains: Any, rank: int) -> float:
    """cg_I(rank): cumulative gain of the ideal list; flat beyond R."""
    left, total = rank, 0.0
    for level in range(judged.shape[0] - 1, 0, -1):
        taken = min(left, judged[level])
        total += taken * gains[level]
        left -= taken
    return total


@inlined
def listed(levels: Any, cutoff: int) -> Any:
    """Number of ranks to look at."""
    return min(levels.shape[0], cutoff) if cutoff > 0 else levels.shape[0]


@inlined
def first_relevant(levels: Any, n_ranks: int) -> int:
    """r_1: rank of the first relevant document, 0 if none."""
    for k in range(n_ranks):
        if levels[k] > 0:
            return k + 1
    return 0


def _condense(levels: Any, out: Any) -> None:
    """Move judged documents up into the places of unjudged ones."""
    kept = 0
    for k in range(levels.shape[0]):
        if levels[k] >= 0:
            out[kept] = levels[k]
            kept += 1
    out[kept:] = -1


condense = over_lists(_condense)
