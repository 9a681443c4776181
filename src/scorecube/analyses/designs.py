"""Designs of collections at the defaults, and what is drawn of designs: sizes around what is required, and the curves of Sakai 2017.

Each function returns a dataset with all numbers that are shown.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
import xarray as xr

from scorecube import names
from scorecube.collection.topic_means import without_other_summaries
from scorecube.design import (
    design_variances,
    exact_noncentrality,
    inputs,
    tool_noncentrality,
    topic_set_size,
    topic_set_size_of_cube,
    uncertainty,
    variance_intervals,
    wcw,
)
from scorecube.design.inputs import MAX_TOPICS
from scorecube.design.variance import within_system_variance
from scorecube.errors import BadPlan

VARIABLES = (*inputs.VARIABLES.values(), *uncertainty.VARIABLES, *uncertainty.COUNTS)
"""What datasets of designs hold; variances of scores, which have limits, are estimates."""
FloatArray = np.ndarray[Any, np.dtype[np.float64]]
CONFIDENCE = 0.95
"""Of the intervals of numbers of topics."""
TOPICS_AT_HAND = "topics_at_hand"
"""Attribute of a design: topics that the collection has."""
DESIGN_OPTIONS = ("method", "mode")
SMALLEST = float(np.finfo(np.float64).tiny)
"""Stands for a variance of 0, of which no size follows."""
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


def sizes_of_cube(cube: xr.Dataset) -> xr.Dataset:
    """Return the sizes for the variances of a cube, with all defaults, and the topics that it has."""
    result = topic_set_size_of_cube(variance_intervals(cube, CONFIDENCE))
    return result.assign_attrs({TOPICS_AT_HAND: cube.sizes[names.TOPIC]})


def widths_of_cube(cube: xr.Dataset) -> xr.Dataset:
    """Return the widths for the variances of a cube, with all defaults."""
    return wcw(design_variances(cube))


def design_of(cube: xr.Dataset, name: str) -> xr.Dataset | None:
    """Return the numbers of topics that a collection's metrics need, by ANOVA-based design at its defaults.

    Metrics that are not means over topics, and metrics whose variance is 0 or cannot be estimated, are left out.

    cube: Scores of the collection.
    Returns result: None without any metric left, or where more topics are needed than any collection could have.
    """
    cube = without_other_summaries(cube)
    if not cube.sizes[names.METRIC]:
        return None
    positive = (within_system_variance(cube[names.SCORE].values) > 0).all(axis=1)
    if not positive.any():
        return None
    try:
        result = sizes_of_cube(cube.isel({names.METRIC: positive}))
    except BadPlan:  # more topics than any collection could have
        return None
    return with_options(result).assign_attrs(collection=name)


def with_options(result: xr.Dataset) -> xr.Dataset:
    """Return a design for one difference with its options as those of a stored result."""
    options = {key: result.attrs[key] for key in DESIGN_OPTIONS} | {
        key: float(result[key]) for key in ("min_diff", "systems", "alpha", "beta")
    }
    return result.assign_attrs(plan=json.dumps({"options": options}))


def with_curves(result: xr.Dataset, along: str) -> xr.Dataset:
    """Return sizes with those for differences, or widths, around the required ones, all else equal.

    result: Of `topic_set_size`, at one gain setting.
    along: Dim of the required differences or widths.
    Returns result: With ``nearby``, the differences or widths, and their ``nearby_topics``: (..., point).
    """
    required, most = result[along], result["topics"].max(along)
    below = xr.ones_like(most, np.float64).where(most >= MAX_TOPICS / 4, 0.6)
    low = float(required.min()) * below
    high = (low * 1.01).clip(min=float(required.max()) * 1.6)
    points = np.linspace(low.values, high.values, POINTS, axis=-1)
    nearby = xr.DataArray(points, low.coords, (*low.dims, "point"))
    settings: dict[str, Any] = {
        key: result[key] for key in ("systems", "alpha", "beta") if key in result.variables
    }
    settings |= {key: result.attrs[key] for key in DESIGN_OPTIONS} | {along: nearby}
    # A variance of 0 has raised a warning when the result was computed.
    sizes = topic_set_size(result["variance"].clip(SMALLEST), **settings)
    return result.assign(nearby=nearby.variable, nearby_topics=sizes["topics"].variable)


def noncentralities(systems: Sequence[int]) -> xr.Dataset:
    """Return noncentralities by number of systems, Nagata's approximation and exact, and 4 z^2 (Sakai 2017, Figure 1).

    ``approximate`` and ``exact`` are at `FIVE_EIGHTY` (risks, systems), ``at_condition`` is the approximation at `CONDITIONS`.
    """
    m = np.array(list(systems), np.float64)
    alpha, beta = np.array(FIVE_EIGHTY).T[:, :, np.newaxis]
    levels = np.array([0.01, 0.05])
    alphas, betas, numbers = np.array(list(CONDITIONS.values())).T
    return xr.Dataset(
        {
            "approximate": (("risks", "systems"), tool_noncentrality(m, alpha, beta)),
            "exact": (("risks", "systems"), exact_noncentrality(m, alpha, beta)),
            "four_z_squared": ("alpha", four_z_squared(levels)),
            "at_condition": ("condition", tool_noncentrality(numbers, alphas, betas)),
        },
        {"systems": m, "alpha": levels, "condition": list(CONDITIONS)},
    )


def four_z_squared(alpha: float | FloatArray) -> FloatArray:
    """Return 4 z^2 of a two-sided alpha.

    Examples
    --------
    >>> round(float(four_z_squared(0.05)), 3)
    15.366
    """
    return np.asarray(4.0 * scipy.special.ndtri(np.asarray(alpha) / 2.0) ** 2)


def tools_compared(variances: Sequence[float], mode: str) -> xr.Dataset:
    """Return topics by interval width, and by difference that ANOVA is to detect, at alpha 0.05, beta 0.20 and 10 systems (Sakai 2017, Figure 2).

    variances: Within-system variances.
    mode: Of the ANOVA.
    """
    difference = np.round(np.arange(0.05, 0.501, 0.005), 3).tolist()
    sizes = {
        "interval_topics": topic_set_size(variances, width=difference, method="ci"),
        "anova_topics": topic_set_size(variances, difference, mode=mode),
    }
    dims = ("variance", "difference")
    values = {name: (dims, each["topics"].values) for name, each in sizes.items()}
    return xr.Dataset(values, {"variance": list(variances), "difference": difference})
