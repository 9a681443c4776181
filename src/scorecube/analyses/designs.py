"""Topic set size design from the scores of a collection."""

from __future__ import annotations

import json
from typing import Any, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.jackknife import FloatArray, limits, of_scores
from scorecube.analyses.table import make_table
from scorecube.collection import schema
from scorecube.collection.schema import CELL, Variable
from scorecube.collection.topic_means import without_other_summaries
from scorecube.design import topic_set_size, wcw
from scorecube.design.parameters import QUANTITIES
from scorecube.errors import BadInput, BadPlan
from scorecube.statistics.variance import components, within_system_variance

RESIDUAL, ONE_WAY = "residual_variance", "one_way"
MEANINGS = {
    "variance": "variance of scores within systems (one-way)",
    RESIDUAL: "variance of scores left after systems and topics (two-way)",
}
VARIANCES = tuple(
    variable
    for name, meaning in MEANINGS.items()
    for variable in (
        *schema.variables(CELL, "estimate", **{name: meaning}),
        *schema.limits(name, CELL, "1", f"{{}} limit of the {meaning}"),
    )
)
"""Of `variances`."""
TOPIC_LIMITS = schema.limits("topics", (), "topics", "{} limit of the number of topics")
VARIABLES = (
    *(
        Variable(name, (), "f", each.units, each.meaning, each.role)
        for name, each in QUANTITIES.items()
    ),
    *TOPIC_LIMITS,
)
"""Of designs."""
FEWEST = 25
"""Topics from which on variances have limits: with 10 or 15 they hold in as few as .87 or .89."""
OPTIONS = ("min_diff", "systems", "alpha", "beta")


def variances(cube: Any, missing: Literal["refuse", "drop"] = "refuse") -> xr.Dataset:
    """Estimate the variances of every metric and gain setting of a cube.

    Parameters
    ----------
    cube
        Scores, e.g. from `evaluate`.
    missing
        ``refuse`` missing scores, or ``drop`` their topics.

    Returns
    -------
    variances
        Dataset over metric and gain. `variance`, within systems, is the parameter of Sakai's
        spreadsheets; `residual_variance`, of systems on the same topics, is smaller. Both have
        ``_low`` and ``_high``, 95 % jackknife limits over topics, from 25 topics on.

    References
    ----------
    Sakai and Shang 2016, equation 1.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> result = variances(simulate_cube(n_runs=5, seed=1))
    >>> result["variance"].dims, result["variance"].round(4).values.tolist()
    (('metric', 'gain'), [[0.0579], [0.0608]])
    """
    table = make_table(cube, missing=missing, bags=None)
    values: dict[str, Any] = {}
    for name, estimate in (("variance", within_system_variance), (RESIDUAL, _residual)):
        found = of_scores(table, estimate, 0, len(table.scores))
        enough = table.sizes.size >= FEWEST
        low, high = limits(found[0], found[1:] if enough else found[:0], "log")
        values |= {name: found[0], f"{name}_low": low, f"{name}_high": high}
    attrs = {
        key: cube.attrs[key]
        for key in ("collection", names.LEFT_OUT)
        if key in getattr(cube, "attrs", {})
    }
    # Of topics in groups, the groups are what is counted.
    attrs |= {"trials": 0, "n_topics": table.sizes.size, "notes": list(table.notes)}
    return table.dataset(VARIANCES, values, attrs=attrs)


def _residual(scores: FloatArray) -> FloatArray:
    return np.asarray(components(scores)[-1])


def design_of_cube(
    cube: Any, missing: Literal["refuse", "drop"] = "refuse", **settings: Any
) -> xr.Dataset:
    """Return the number of topics that comparisons of systems on the same topics need.

    Parameters
    ----------
    cube, missing
        As of `variances`.
    settings
        Of `topic_set_size`.

    Returns
    -------
    sizes
        As of `topic_set_size` by the residual variance, with `topics_low` and `topics_high`:
        jackknife limits over topics. Variables that begin with ``one_way_`` are the papers'
        numbers: systems that have topics of their own, by the variance within systems.
    """
    found = variances(cube, missing)
    result = _with_limits(found, RESIDUAL, settings | {"paired": True})
    one_way = _with_limits(found, "variance", settings)
    added = {}
    for name in (*one_way.data_vars, "variance"):
        added[f"{ONE_WAY}_{name}"] = one_way[name].variable
        meaning = f"{one_way[name].attrs['long_name']}, systems with topics of their own"
        added[f"{ONE_WAY}_{name}"].attrs["long_name"] = meaning
    notes = list(dict.fromkeys([*found.attrs["notes"], *result.attrs["notes"]]))
    return result.assign(added).assign_attrs(found.attrs | {"notes": notes})


def _with_limits(found: xr.Dataset, name: str, settings: dict[str, Any]) -> xr.Dataset:
    """Return the sizes for a variance, with those for its limits; missing where the variance is."""
    parts = []
    for end in ("", "_low", "_high"):
        variance = found[f"{name}{end}"].reset_coords(drop=True)
        known = np.isfinite(variance)
        sizes = topic_set_size(variance.where(known, 1.0), **settings)
        parts.append(sizes if bool(known.all()) else sizes.where(known))
    low, high = (part["topics"].drop_vars("variance").variable for part in parts[1:])
    result = parts[0].assign(topics_low=low, topics_high=high)
    return schema.annotate(result, TOPIC_LIMITS)


def page_design(cube: xr.Dataset, name: str) -> xr.Dataset | None:
    """Return the design of a collection at its defaults, of metrics that vary; None without any."""
    cube = without_other_summaries(cube)
    if not cube.sizes[names.METRIC]:
        return None
    try:
        result = design_of_cube(cube, "drop")
    except (BadPlan, BadInput):  # no complete topics, scores out of range, or too many topics
        return None
    varied = (result["variance"] > 0).all("gain")
    if not varied.any():
        return None
    return with_options(result.isel(metric=varied.values)).assign_attrs(collection=name)


def with_options(result: xr.Dataset) -> xr.Dataset:
    """Return a design for one difference with its options as those of a stored result."""
    options = {key: float(result[key]) for key in OPTIONS}
    options |= {key: result.attrs[key] for key in ("method", "mode")}
    return result.assign_attrs(plan=json.dumps({"options": options}))


def widths_of_cube(
    cube: xr.Dataset, missing: Literal["refuse", "drop"] = "drop", **settings: Any
) -> xr.Dataset:
    """Return the worst-case widths for the variances within systems of a cube."""
    found = variances(cube, missing)
    unknown = found["variance"].isnull().any("gain")
    if unknown.any():
        metrics = ", ".join(found[names.METRIC].values[unknown.values])
        raise BadPlan(f"no variance of {metrics}: 2 topics are needed")
    return wcw(found["variance"], **settings).assign_attrs(found.attrs)
