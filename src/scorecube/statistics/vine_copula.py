"""Regular vine copulas of one metric's systems, by pyvinecopulib (the extra ``simulate``).

Reference: Dissmann, Brechmann, Czado and Kurowicka 2013, "Selecting and estimating regular vine copulae and application to financial returns",
Computational Statistics & Data Analysis 59: each tree is a maximum spanning tree, here of Spearman's |rho|.

The library's own random numbers cannot be addressed by topic. So a vine maps independent uniform numbers of ours to dependent ones (inverse
Rosenblatt transform), always for as many topics at once and on one thread, as the last digits of its results depend on both.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
TRUNCATION = 20
"""Trees with dependence; pairs of systems are independent given the others in those above."""
FAMILIES = ("gaussian", "student", "clayton", "gumbel", "frank", "joe")
"""Candidates for each pair, also rotated; the largest likelihood decides. With independence among them and AIC, simulated systems are less
correlated than those of the sample (adhoc8, AP: by .05 at the median), as weak dependence is left out in all trees."""
TOPICS = 1000
"""Topics that are always transformed together."""


@dataclass(frozen=True)
class Vine:
    """A fitted vine copula.

    model: ``pyvinecopulib.Vinecop``.
    """

    model: Any

    def dependent(self, uniforms: FloatArray) -> FloatArray:
        """Return dependent uniform numbers.

        uniforms: float64 (topic, system): independent; `TOPICS` topics.
        """
        return np.asarray(self.model.inverse_rosenblatt(np.asfortranarray(uniforms), num_threads=1))


def fit_vine(ranks: FloatArray, n_threads: int = 1) -> Vine:
    """Return the vine copula of a sample of topics.

    ranks: float64 (system, topic): 1 to the number of topics, without ties.
    n_threads: Number of threads; the vine does not depend on it.
    Raises ModuleNotFoundError: pyvinecopulib is not installed.
    """
    import pyvinecopulib

    families = [getattr(pyvinecopulib.families, name) for name in FAMILIES]
    controls = pyvinecopulib.FitControlsVinecop(
        family_set=families,
        selection_criterion="loglik",
        tree_criterion="rho",
        trunc_lvl=TRUNCATION,
        num_threads=n_threads,
        seeds=[1],
    )
    sample = np.asfortranarray((ranks / (ranks.shape[1] + 1)).T)
    return Vine(pyvinecopulib.Vinecop.from_data(sample, controls=controls))
