"""Curves of designs, and of Sakai 2017, Figures 1 and 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
import xarray as xr

from scorecube.analyses.designs import OPTIONS
from scorecube.design import topic_set_size
from scorecube.design.parameters import MOST_TOPICS
from scorecube.design.power import exact_noncentrality, tool_noncentrality

POINTS = 120
"""Of a curve."""
FIVE_EIGHTY = ((0.01, 0.10), (0.01, 0.20), (0.05, 0.10), (0.05, 0.20))
CONDITIONS = {
    "a": (0.05, 0.20, 10),
    "b": (0.05, 0.10, 5),
    "c": (0.01, 0.20, 18),
    "d": (0.01, 0.10, 10),
}
"""(alpha, beta, systems) for which the noncentrality is about 4 z^2 (Sakai 2017, section 3)."""
EXTREME_VARIANCES = (0.0182, 0.0471, 0.1145)


def noncentralities(systems: Sequence[int]) -> xr.Dataset:
    """Return noncentralities by number of systems, and 4 z^2 (Sakai 2017, Figure 1).

    ``approximate`` and ``exact`` are at `FIVE_EIGHTY` (risks, systems), ``at_condition`` is the
    approximation at `CONDITIONS`.
    """
    m = np.array(list(systems), float)
    alpha, beta = np.array(FIVE_EIGHTY).T[:, :, np.newaxis]
    alphas, betas, numbers = np.array(list(CONDITIONS.values())).T
    levels = np.array([0.01, 0.05])
    values = {
        "approximate": (("risks", "systems"), tool_noncentrality(m, alpha, beta)),
        "exact": (("risks", "systems"), exact_noncentrality(m, alpha, beta)),
        "four_z_squared": ("alpha", four_z_squared(levels)),
        "at_condition": ("condition", tool_noncentrality(numbers, alphas, betas)),
    }
    return xr.Dataset(values, {"systems": m, "alpha": levels, "condition": list(CONDITIONS)})


def four_z_squared(alpha: Any) -> Any:
    """Return 4 z^2 of a two-sided alpha, e.g. 15.366 for 0.05."""
    return np.asarray(4.0 * scipy.special.ndtri(np.asarray(alpha) / 2.0) ** 2)


def tools_compared(variances: Sequence[float], mode: str) -> xr.Dataset:
    """Return topics by interval width, and by difference to be detected (Sakai 2017, Figure 2).

    variances: Within-system variances.
    mode: Of the analysis of variance.
    """
    difference = np.round(np.arange(0.05, 0.501, 0.005), 3).tolist()
    sizes = {
        "interval_topics": topic_set_size(variances, width=difference, method="ci"),
        "anova_topics": topic_set_size(variances, difference, mode=mode),
    }
    values = {
        name: (("variance", "difference"), each["topics"].values) for name, each in sizes.items()
    }
    return xr.Dataset(values, {"variance": list(variances), "difference": difference})


def with_curves(result: xr.Dataset, along: str) -> xr.Dataset:
    """Return sizes with those for differences, or widths, around the required ones.

    They are ``nearby`` and ``nearby_topics``, (..., point).

    result: Of `topic_set_size`, at one gain setting.
    along: Dim of the required differences or widths.
    """
    required, most = result[along], result["topics"].max(along)
    below = xr.ones_like(most, float).where(most >= MOST_TOPICS / 4, 0.6)
    low = float(required.min()) * below
    high = (low * 1.01).clip(min=float(required.max()) * 1.6)
    points = np.linspace(low.values, high.values, POINTS, axis=-1)
    nearby = xr.DataArray(points, low.coords, (*low.dims, "point"))
    settings: dict[str, Any] = {key: result[key] for key in OPTIONS[1:] if key in result.variables}
    settings |= {key: result.attrs[key] for key in ("method", "mode", "paired")} | {along: nearby}
    sizes = topic_set_size(result["variance"].clip(1e-300), **settings)
    return result.assign(nearby=nearby.variable, nearby_topics=sizes["topics"].variable)
