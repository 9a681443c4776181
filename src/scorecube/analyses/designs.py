"""Topic set size design from the scores of a collection."""

from __future__ import annotations

import json
from typing import Any, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.jackknife import limits, of_scores
from scorecube.analyses.table import make_table
from scorecube.collection import schema
from scorecube.collection.schema import Variable, read_variables
from scorecube.design import topic_set_size, wcw
from scorecube.design.parameters import QUANTITIES
from scorecube.errors import BadInput, BadPlan
from scorecube.statistics.variance import components, within_system_variance

Missing = Literal["refuse", "drop"]
RESIDUAL, ONE_WAY = "residual_variance", "one_way"
ESTIMATES = {
    "variance": ("variance of scores within systems (one-way)", within_system_variance),
    RESIDUAL: (
        "variance of scores left after systems and topics (two-way)",
        lambda scores: components(scores)[-1],
    ),
}
VARIANCES = read_variables(
    "[metric gain]\n"
    + "\n".join(
        f"{name} | estimate | 1 | {meaning}\n{name} | limits:{name} | 1 | limit of the {meaning}"
        for name, (meaning, _) in ESTIMATES.items()
    )
)
"""Of `variances`."""
TOPIC_LIMITS = read_variables("topics | limits:topics | topics | limit of the number of topics")
VARIABLES = (
    *(Variable(name, (), "f", of.units, of.meaning, of.role) for name, of in QUANTITIES.items()),
    *TOPIC_LIMITS,
)
"""Of designs."""
FEWEST = 25
"""Topics from which on variances have limits: with 10 or 15 they hold in as few as .87 or .89."""
OPTIONS = ("min_diff", "systems", "alpha", "beta")


def variances(cube: Any, missing: Missing = "refuse") -> xr.Dataset:
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
    table = make_table(cube, missing=missing, bags=False)
    n_units = table.sizes.size  # of topics in groups, the groups
    values: dict[str, Any] = {}
    for name, (_, estimate) in ESTIMATES.items():
        values[name], *left_out = of_scores(table, estimate)
        ends = limits(values[name], np.array(left_out if n_units >= FEWEST else []), "log")
        values |= zip((f"{name}_low", f"{name}_high"), ends, strict=True)
    of_cube = getattr(cube, "attrs", {})
    kept = {key: of_cube[key] for key in ("collection", names.LEFT_OUT) if key in of_cube}
    attrs = kept | {"trials": 0, "n_topics": n_units, "notes": list(table.notes)}
    return table.dataset(VARIANCES, values, attrs=attrs)


def design_of_cube(cube: Any, missing: Missing = "refuse", **settings: Any) -> xr.Dataset:
    """Return the number of topics that comparisons of systems on the same topics need.

    cube, missing: As of `variances`.
    settings: Of `topic_set_size`.
    Returns sizes: As of `topic_set_size` by the residual variance, with jackknife limits over
        topics. Variables that begin with ``one_way_`` are the papers' numbers: systems that have
        topics of their own, by the variance within systems.
    """
    found = variances(cube, missing)
    result = _sizes_with_limits(found, RESIDUAL, settings | {"paired": True})
    papers = _sizes_with_limits(found, "variance", settings).reset_coords("variance")
    for name, array in papers.items():
        meaning = f"{array.attrs['long_name']}, systems with topics of their own"
        result[f"{ONE_WAY}_{name}"] = array.dims, array.values, array.attrs | {"long_name": meaning}
    notes = list(dict.fromkeys([*found.attrs["notes"], *result.attrs["notes"]]))
    return result.assign_attrs(found.attrs | {"notes": notes})


def _sizes_with_limits(found: xr.Dataset, name: str, settings: dict[str, Any]) -> xr.Dataset:
    """Return the sizes for a variance and for its limits; missing where the variance is."""
    parts = []
    for end in ("", "_low", "_high"):
        variance = found[f"{name}{end}"].reset_coords(drop=True)
        known = variance.notnull()
        sizes = topic_set_size(variance.where(known, 1.0), **settings)
        if not known.all():
            attrs = sizes["variance"].attrs
            sizes = sizes.where(known).assign_coords(variance=variance.assign_attrs(attrs))
        parts.append(sizes)
    low, high = (part["topics"].drop_vars("variance").variable for part in parts[1:])
    return schema.annotate(parts[0].assign(topics_low=low, topics_high=high), TOPIC_LIMITS)


def page_design(cube: xr.Dataset, name: str) -> xr.Dataset | None:
    """Return the design of a collection at its defaults, of metrics that vary; None without any."""
    try:
        result = design_of_cube(cube, "drop")
    except (BadPlan, BadInput):  # no complete topics, scores out of range, or too many topics
        return None
    varied = (result["variance"] > 0).all("gain").values
    chosen = result.isel(metric=varied).assign_attrs(collection=name)
    return with_options(chosen) if varied.any() else None


def with_options(result: xr.Dataset) -> xr.Dataset:
    """Return a design for one difference with its options as those of a stored result."""
    options = {key: float(result[key]) for key in OPTIONS}
    options |= {key: result.attrs[key] for key in ("method", "mode")}
    return result.assign_attrs(plan=json.dumps({"options": options}))


def widths_of_cube(cube: xr.Dataset, missing: Missing = "drop", **settings: Any) -> xr.Dataset:
    """Return the worst-case widths for the variances within systems of a cube."""
    found = variances(cube, missing)
    unknown = found["variance"].isnull().any("gain").values
    if unknown.any():
        metrics = ", ".join(found[names.METRIC].values[unknown])
        raise BadPlan(f"no variance of {metrics}: 2 topics are needed")
    return wcw(found["variance"], **settings).assign_attrs(found.attrs)
