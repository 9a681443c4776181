"""How consistently several orders of the same things agree.

References: Kendall and Babington Smith 1939, "The problem of m rankings"; Friedman 1937, "The use of ranks to avoid the assumption of
normality implicit in the analysis of variance".
"""

import numpy as np
import scipy

from scorecube.analyses.base import Array


def ranks_of(values: Array, more_is_better: bool) -> Array:
    """Return ranks in each row: 1 is best, ties share the mean rank, missing values come last.

    values: float64 (order, thing).
    more_is_better: Whether the largest value comes first.

    Examples
    --------
    >>> ranks_of(np.array([[0.5, 0.9, np.nan], [0.2, 0.2, 0.1]]), True).tolist()
    [[2.0, 1.0, 3.0], [1.5, 1.5, 3.0]]
    """
    signed = -values if more_is_better else values
    return np.asarray(scipy.stats.rankdata(np.where(np.isnan(values), np.inf, signed), axis=1))


def kendall_w(ranks: Array) -> tuple[float, float]:
    """Return Kendall's W, 1 if all rows have the same order, and the p-value of Friedman's test of unrelated orders.

    ranks: Of `ranks_of`: three or more things. Both are missing if all are tied in every row.

    Examples
    --------
    >>> kendall_w(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]))[0]
    1.0
    """
    if (ranks == ranks[:, :1]).all():
        return np.nan, np.nan
    found = scipy.stats.friedmanchisquare(*ranks.T)
    return float(found.statistic / (len(ranks) * (ranks.shape[1] - 1))), float(found.pvalue)
