"""Quantities that several metrics share: the number of relevant documents, the ideal list, the first relevant rank, condensed lists.

The ideal list of a topic has all its relevant documents by descending level. Arguments are as in `scorecube.metrics.registry`.
"""

from typing import Any

from scorecube.kernels.jit import inlined, over_lists


@inlined
def n_relevant(judged: Any) -> int:
    """Return R, the number of relevant documents of the topic."""
    total = 0
    for level in range(1, judged.shape[0]):
        total += judged[level]
    return total


@inlined
def ideal_gain(judged: Any, gains: Any, rank: int) -> float:
    """Return cg_I(rank), the cumulative gain of the ideal list; constant beyond R."""
    left, total = rank, 0.0
    level = judged.shape[0] - 1
    while level > 0:
        taken = judged[level] if judged[level] < left else left
        total += taken * gains[level]
        left -= taken
        level -= 1
    return total


@inlined
def n_scored(levels: Any, cutoff: int) -> Any:
    """Return the number of ranks that are scored: the list's length, or the cut-off if that is smaller."""
    return cutoff if 0 < cutoff < levels.shape[0] else levels.shape[0]


@inlined
def first_relevant(levels: Any, n_ranks: int) -> int:
    """Return r_1, the rank of the first relevant document; 0 if there is none."""
    for k in range(n_ranks):
        if levels[k] > 0:
            return k + 1
    return 0


def _condense(levels: Any, out: Any) -> None:
    """Remove unjudged documents from a list."""
    kept = 0
    for k in range(levels.shape[0]):
        if levels[k] >= 0:
            out[kept] = levels[k]
            kept += 1
    out[kept:] = -1


condense = over_lists(_condense)
"""Condense lists, int8 (..., rank): judged documents in their order, then -1."""
