"""What results of `Leaderboard` and `Board` hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.analyses.variables import read_variables

LETTERS = "abcdefghijklmnopqrstuvwxyz"
VARIABLES = read_variables("""
    [metric gain run]
    mean | estimate | score | mean score of a run
    mean_low | low:mean | score | lower limit of the mean
    mean_high | high:mean | score | upper limit of the mean
    leads | flag | 1 | whether the run leads: its limits hold although it was chosen by its mean
    rank | estimate/iu | 1 | rank of the mean, 1 for the best; the best rank of ties
    rank_low | low/iu:rank | 1 | best rank of the confidence set
    rank_high | high/iu:rank | 1 | worst rank of the confidence set
    group_first | label/iu | 1 | first group of runs that are not separated
    group_last | label/iu | 1 | last group of runs that are not separated
    groups | label | 1 | groups of a run: letters, or numbers where there are more than letters
    difference | estimate | score | mean minus that of the baseline
    difference_low | low:difference | score | simultaneous lower limit of the difference
    difference_high | high:difference | score | simultaneous upper limit of the difference
    p_baseline | p_value | 1 | adjusted p-value of the difference from the baseline
    better | flag | 1 | whether a run is significantly better than the baseline
    worse | flag | 1 | whether a run is significantly worse than the baseline
    wins | count | topics | topics with a better score than the baseline
    ties | count | topics | topics with the baseline's score
    losses | count | topics | topics with a worse score than the baseline
    mean_rank | estimate | 1 | mean of the ranks in the collections (Borda); no limits hold
    [metric gain]
    separated_neighbours | count | pairs | neighbours in the order of means that are separated
    own_error_pairs | count | pairs | pairs that only their own errors would separate (t, Holm)
    [metric gain collection run]
    collection_mean | estimate | score | mean score in a collection
    collection_mean_low | low:collection_mean | score | lower limit of the mean in a collection
    collection_mean_high | high:collection_mean | score | upper limit of the mean in a collection
    [collection]
    weight | share | 1 | weight of a collection
    topics | count | topics | topics of a collection
""")


def group_labels(first: Any, last: Any) -> Any:
    """Return groups as text, of int (cell, run): letters, or numbers if a cell has more of them.

    Examples
    --------
    >>> group_labels(np.array([[1, 1, 2]]), np.array([[1, 2, 2]])).tolist()
    [['a', 'ab', 'b']]
    """
    texts = np.empty(first.shape, object)
    for cell, run in np.ndindex(first.shape):
        low, high = int(first[cell, run]), int(last[cell, run])
        if last[cell].max() <= len(LETTERS):
            texts[cell, run] = LETTERS[low - 1 : high]
        else:
            texts[cell, run] = f"{low}-{high}" if low < high else f"{low}"
    return texts
