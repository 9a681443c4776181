"""Other summaries of scores over topics than their mean: geometric mean and area measure."""

from __future__ import annotations

from typing import Any

import numpy as np

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
GEOMETRIC_FLOOR = 1e-5
"""Scores below it are raised to it in the geometric mean, as in trec_eval (gm_map)."""


def log_scores(scores: FloatArray) -> FloatArray:
    """Return the logarithms of scores; scores below 1e-5 count as 1e-5."""
    return np.asarray(np.log(np.maximum(scores, GEOMETRIC_FLOOR)))


def area_weights(n_topics: int) -> FloatArray:
    """Return the weights of the worst, second worst, ... score in the area measure.

    It is the mean over X = 1 .. n/4 of the mean score of the X worst topics (Voorhees 2005).

    Examples
    --------
    >>> area_weights(8).tolist()
    [0.75, 0.25]
    """
    worst = np.arange(1, max(1, n_topics // 4) + 1)
    return np.asarray(np.cumsum(1.0 / worst[::-1])[::-1] / len(worst))
