"""What results of `Reliability` hold, and what follows from them."""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.quantities import elementwise
from scorecube.collection.schema import CELL, Derived, Variable, derived, variables
from scorecube.errors import BadPlan
from scorecube.statistics.variance_components import ERHO2, coefficient

SOURCES = ("systems", "topics", "interaction")
DIFFERENCE = 0.1
"""Difference in mean score that topic set size design is asked for, beside numbers of topics; other parameters are its defaults."""
POINTS = 200
"""Of a curve."""
FARTHEST = 6
"""Times the topics at hand that a curve reaches at most, unless more are asked for."""
_RATIO = (*CELL, names.COEFFICIENT)
_JACKKNIFE = "(jackknife over topics and teams)"
_INTERVALS = {
    "": "",
    "_low": ", lower limit (F)",
    "_high": ", upper limit (F)",
    "_jackknife_low": f", lower limit {_JACKKNIFE}",
    "_jackknife_high": f", upper limit {_JACKKNIFE}",
}


def _with_limits(
    name: str, dims: tuple[str, ...], unit: str, meaning: str, form: str = ""
) -> tuple[Variable, ...]:
    """Return an estimate and its limits by F distributions and by the jackknife."""
    return tuple(
        Variable(
            f"{name}{end}",
            (*_RATIO, *dims),
            "f",
            unit,
            f"{meaning}{limit}",
            role=end.rpartition("_")[2] or "estimate",
            of=name if end else "",
            form=form,
        )
        for end, limit in _INTERVALS.items()
    )


VARIABLES = (
    *variables(CELL, "count", "runs", "iu", n_runs="runs"),
    *variables(
        *((*CELL, names.SOURCE), "estimate", "1"),
        form=".5f",
        component="estimated variance; 0 for a negative one",
        unbounded_component="unbiased variance",
    ),
    *_with_limits("ratio", (), "1", "variance of systems over the error variance of one topic"),
    *_with_limits("value", (names.N_TOPICS,), "1", "reliability coefficient"),
    *_with_limits("topics", (names.TARGET,), "topics", "number of topics for a coefficient"),
)


def _error(result: xr.Dataset) -> xr.DataArray:
    """Return the error variance of one topic by coefficient: of differences the interaction, of absolute means the topics' too."""
    component = result["component"]
    rest, topics = (
        component.sel({names.SOURCE: name}, drop=True) for name in ("interaction", "topics")
    )
    return rest.where(result[names.COEFFICIENT] == ERHO2, topics + rest)


def design_topics(variance: float, paired: bool) -> float:
    """Return the number of topics of ANOVA-based design at its defaults; NaN if there is none."""
    from scorecube.design import topic_set_size  # which loads pandas; help needs none

    if not variance > 0:
        return np.nan
    try:
        return float(topic_set_size(variance, DIFFERENCE, paired=paired)["topics"])
    except BadPlan:  # more topics than any collection could have
        return np.nan


def detectable(variance: float, n_topics: float) -> float:
    """Return the difference of two systems that the paired t test detects with power .8; NaN for fewer than 2 topics."""
    from scorecube.design import detectable_difference

    if not (variance > 0 and n_topics >= 2):
        return np.nan
    return float(detectable_difference(variance, int(n_topics), method="t")["min_diff"])


def _detectable(result: xr.Dataset) -> xr.DataArray:
    needed = _needed(result)
    relative = needed.where(needed[names.COEFFICIENT] == ERHO2)
    interaction = result["component"].sel({names.SOURCE: "interaction"}, drop=True)
    return elementwise(detectable, interaction, relative, dtype=float)


def _needed(result: xr.Dataset, name: str = "topics") -> xr.DataArray:
    return result[name].where(np.isfinite(result[name]))


def _negative(result: xr.Dataset) -> xr.DataArray:
    below = result["unbounded_component"] < 0
    return elementwise(lambda row: ", ".join(np.array(SOURCES)[row]), below, along=names.SOURCE)


def _share(result: xr.Dataset) -> xr.DataArray:
    # A sum in this order, one by one: the total of NumPy would add in another.
    total = sum(result["component"].isel({names.SOURCE: k}) for k in range(len(SOURCES)))
    assert isinstance(total, xr.DataArray)
    return result["component"] / total.where(total > 0)


def curve_topics(result: xr.Dataset) -> xr.DataArray:
    """Return the numbers of topics of curves: up to those of the targets of E rho^2, those asked for, and twice those at hand."""
    own = int(result.attrs["n_topics"])
    needed = result["topics"].sel({names.COEFFICIENT: ERHO2}).values
    wanted = needed[np.isfinite(needed)].max(initial=0.0) * 1.1
    asked = result[names.N_TOPICS].values.max() * 1.05
    return xr.DataArray(
        np.linspace(1, max(2 * own, min(wanted, FARTHEST * own), asked), POINTS), dims="point"
    )


def shown_limit(result: xr.Dataset, end: str) -> xr.DataArray:
    """Return the limit of a ratio by the jackknife, by F distributions where that has none."""
    known = np.isfinite(result["ratio_jackknife_low"]) & np.isfinite(result["ratio_jackknife_high"])
    return result[f"ratio_jackknife_{end}"].where(known, result[f"ratio_{end}"])


def coefficient_at(ratio: xr.DataArray, topics: xr.DataArray | int) -> xr.DataArray:
    """Return the coefficient for numbers of topics."""
    found: xr.DataArray = xr.apply_ufunc(coefficient, ratio, topics)
    return found


_TOPICS = (*_RATIO, names.TARGET)
DERIVED = (
    *(
        Derived(
            Variable(
                each.name.replace("topics", "needed", 1),
                _TOPICS,
                "f",
                "topics",
                f"{each.long_name}; missing where no number suffices",
                role=each.role,
                of=each.of and "needed",
                form=".0f",
            ),
            partial(_needed, name=each.name),
        )
        for each in _with_limits(
            "topics", (names.TARGET,), "topics", "number of topics for a coefficient"
        )
    ),
    derived(
        lambda result: elementwise(
            design_topics, _error(result), result[names.COEFFICIENT] == ERHO2, dtype=float
        ),
        *(_RATIO, "estimate", "topics"),
        form=".0f",
        design_topics=f"topics that topic set size design asks for to detect {DIFFERENCE:g} by the same variances",
    ),
    derived(
        _detectable,
        *(_TOPICS, "estimate"),
        form=".3f",
        detectable="difference of two systems that as many topics as the target asks for detect by the paired t test; of E rho^2 only",
    ),
    derived(
        lambda result: result["component"].sel({names.SOURCE: "systems"}, drop=True) ** 0.5,
        *(CELL, "estimate"),
        form=".3f",
        system_deviation="standard deviation of the systems' effects",
    ),
    derived(
        _share,
        *((*CELL, names.SOURCE), "share"),
        form=".1%",
        component_share="share of the sum of the variances",
    ),
    derived(
        lambda result: xr.DataArray(int(result.attrs["n_topics"])),
        *((), "condition", "topics", "i"),
        topics_at_hand="topics of the collection",
    ),
    derived(_negative, CELL, "label", negative="components whose unbiased estimate is below 0"),
)
