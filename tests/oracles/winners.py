"""Plain reference of the limits of a winner's mean, after Zrnic and Fithian 2024: every run, pair and resample by a loop."""

from __future__ import annotations

import math
from collections.abc import Sequence

Matrix = Sequence[Sequence[float]]


def possible_winners(means: Sequence[float], margins: Sequence[float]) -> list[int]:
    """Return the runs no more than twice the margin of their difference behind the leader: those that may win with errors within the margins."""
    leader = max(means)
    return [k for k, (x, m) in enumerate(zip(means, margins, strict=True)) if leader - x <= 2 * m]


def limits(
    means: Sequence[float],
    errors: Sequence[float],
    drawn: Matrix,
    runs: Sequence[int],
    alpha: float,
    nu: float,
) -> tuple[float, float]:
    """Return the limits of the winner: of its lower one all of ``runs`` together are right, of the upper one each by itself."""
    winner = max(range(len(means)), key=lambda k: (means[k], -k))
    n = len(drawn[0])
    outside = math.floor((alpha - nu) / 2 * (n + 1))
    largest = sorted(max(drawn[k][b] for k in runs) for b in range(n))
    low = means[winner] - largest[n - outside] * errors[winner]
    widest = max(-sorted(drawn[k])[outside - 1] * errors[k] for k in runs)
    return low, means[winner] + widest
