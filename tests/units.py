"""Scores of one cell as centred integers, as tests of sums use them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scorecube.statistics.integer_scores import Units, comparable_scores, in_units


def centred_units(scores: NDArray[np.float64]) -> Units:
    """Return the scores (run, topic) of one cell as centred integers; see `comparable_scores`."""
    return in_units(*comparable_scores(scores))
