"""Topic set size design for the variances of scores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

import xarray as xr

from scorecube import names
from scorecube.analyses.variances import Missing, variances
from scorecube.collection.arguments import CubeLike, as_cube
from scorecube.collection.ranges import range_of
from scorecube.collection.schema import annotate, labels_of
from scorecube.collection.teams import listed
from scorecube.declare import Variable, along, limits_of
from scorecube.errors import BadInput, BadPlan, option
from scorecube.methods.design.parameters import QUANTITIES
from scorecube.methods.design.sizes import (
    AS_IN_PAPERS,
    WITHIN,
    default_variance_of,
    topic_set_size,
    wcw,
)

VarianceOf = Literal["paired", "within"]
TOPIC_LIMITS = along((), limits_of("topics", "limit of the number of topics", "topics"))
SIZES = (
    *(Variable(name, of.role, of.meaning, of.units, of.form) for name, of in QUANTITIES.items()),
    *TOPIC_LIMITS,
)
"""Of designs."""
NO_VARIANCE = "no variance between runs: nothing to detect"
OPTIONS = ("min_diff", "systems", "alpha", "beta")


def design_of_cube(
    cube: CubeLike,
    missing: Missing = "refuse",
    variance_of: VarianceOf | None = None,
    **settings: Any,
) -> xr.Dataset:
    """Return `topic_set_size` by one of the variances of scores, with jackknife limits."""
    estimated = variances(cube, missing)
    parts = []
    chosen = variance_of or default_variance_of(True, settings.get("mode", "exact"))
    for end in ("", "_low", "_high"):
        variance = estimated[f"{chosen}_variance{end}"].reset_coords(drop=True)
        is_known = variance > 0
        sizes = topic_set_size(variance.where(is_known, 1.0), variance_of=chosen, **settings)
        if not is_known.all():
            variance = variance.assign_attrs(sizes["variance"].attrs)
            sizes = sizes.where(is_known).assign_coords(variance=variance)
        parts.append(sizes)
    low, high = (part["topics"].drop_vars("variance").variable for part in parts[1:])
    result = annotate(parts[0].assign(topics_low=low, topics_high=high), TOPIC_LIMITS)
    said = [AS_IN_PAPERS] if chosen == WITHIN else []
    still = (estimated[f"{chosen}_variance"] == 0).all(names.GAIN).values
    said += [f"{metric}: {NO_VARIANCE}" for metric in estimated[names.METRIC].values[still]]
    notes = list(dict.fromkeys([*said, *estimated.attrs["notes"], *result.attrs["notes"]]))
    return result.assign_attrs(estimated.attrs | {"notes": notes})


def page_design(cube: xr.Dataset, name: str, **settings: Any) -> xr.Dataset | None:
    """Return the design of a collection, of metrics that vary; None without any.

    settings: Of `design_of_cube`, where a page is asked for others than the defaults.
    """
    topic_set_size(1.0, **settings)  # wrong options are refused, collections without a design not
    try:
        result = design_of_cube(cube, "drop", **settings)
        if settings.get("min_diff") is None:
            result = of_unit_scores(cube, result)
    except (BadPlan, BadInput):  # no complete topics, scores out of range, or too many topics
        return None
    varied = (result["variance"] > 0).all("gain").values
    chosen = result.isel(metric=varied).assign_attrs(collection=name)
    return with_options(chosen) if varied.any() else None


def of_unit_scores(cube: CubeLike, design: xr.Dataset) -> xr.Dataset:
    """Return a design for the default difference, of the metrics that it is for: from 0 to 1.

    Raises BadPlan: There is none.
    """
    read = as_cube(cube)
    metrics = enumerate(labels_of(read, names.METRIC))
    others = [one for k, one in metrics if range_of(read, k) != (0.0, 1.0)]
    chosen = design.isel(metric=~design[names.METRIC].isin(others).values)
    if not chosen.sizes[names.METRIC]:
        text = f"no design of {listed(others)}, not from 0 to 1: state {option('min_diff')}"
        raise BadPlan(text, option="min_diff")
    said = [f"no design of {one}, not from 0 to 1: state min_diff" for one in others]
    return chosen.assign_attrs(notes=[*design.attrs["notes"], *said])


def with_options(result: xr.Dataset) -> xr.Dataset:
    """Return a design for one difference with its options as those of a stored result."""
    options = {key: float(result[key]) for key in OPTIONS}
    options |= {key: result.attrs[key] for key in ("method", "mode", "variance_of")}
    return result.assign_attrs(plan=json.dumps({"options": options}))


def widths_of_cube(cube: CubeLike, missing: Missing = "refuse", **settings: Any) -> xr.Dataset:
    """Return the worst-case widths for the variances within systems of a cube."""
    estimated = variances(cube, missing)
    if estimated.attrs["n_topics"] < 2:
        raise BadPlan("no variance of one topic: 2 are needed")
    return wcw(estimated["within_variance"], **settings).assign_attrs(estimated.attrs)


def topics_at(design: xr.Dataset, along: str, values: Sequence[float]) -> Any:
    """Return the topics of a design for one variance, at other differences or widths."""
    settings: dict[str, Any] = {key: design[key] for key in OPTIONS[1:] if key in design.variables}
    settings |= {key: design.attrs[key] for key in ("method", "mode", "variance_of")}
    settings[along] = values
    return topic_set_size(design["variance"].clip(1e-300), **settings)["topics"]
