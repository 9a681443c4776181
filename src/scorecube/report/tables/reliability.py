"""Tables of reliability: coefficients, variance components, numbers of topics, teams, and a third facet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.design import detectable_difference, topic_set_size
from scorecube.errors import BadPlan
from scorecube.report.tables.rows import parts, where
from scorecube.statistics.variance_components import DIFFERENT, ERHO2, ONE_TEAM, PHI

LIMITS = ("low", "high")
JACKKNIFE = ("jackknife_low", "jackknife_high")
NESTED = [f"{name}{end}" for name in (DIFFERENT, ONE_TEAM) for end in ("", "_low", "_high")]
DIFFERENCE = 0.1
"""Difference in mean score that topic set size design is asked for, beside numbers of topics; other parameters are its defaults."""


def conditions(result: xr.Dataset) -> str:
    """Return collection, numbers of runs, teams and topics, and what was left out."""
    facts = result.attrs
    teams = f" of {facts['n_teams']} teams" if facts["n_teams"] < facts["n_runs"] else ""
    dropped = f" without the worst {facts['drop']:.0%}" if facts["drop"] else ""
    name = where(result)["collection"]
    named = f"{name}: " if name else ""
    return f"{named}{facts['n_runs']} runs{teams}{dropped}, {facts['n_topics']} topics"


def cells_of(result: xr.Dataset) -> Iterator[tuple[dict[str, Any], xr.Dataset]]:
    """Yield the first columns of each metric and gain setting, and its part of the result."""
    for cell, data in parts(result):
        yield where(result) | cell, data


def coefficients(result: xr.Dataset) -> pd.DataFrame:
    """Coefficients by number of topics; limits by F distributions, then by the jackknife over topics and teams."""
    rows = []
    for cell, data in cells_of(result):
        n_runs = int(data["n_runs"])
        columns = {"n_topics": data[names.N_TOPICS].values.tolist()}
        for ends in (("", *LIMITS), JACKKNIFE):
            for each in (ERHO2, PHI):
                for end in ends:
                    values = data[f"value_{end}" if end else "value"].sel(coefficient=each)
                    columns[f"{each}_{end}" if end else each] = values.values.tolist()
        for numbers in zip(*columns.values(), strict=True):
            row = cell | dict(zip(columns, numbers, strict=True))
            rows.append(row | {"n_runs": n_runs})
    return pd.DataFrame(rows)


def components(result: xr.Dataset) -> pd.DataFrame:
    """Variances of systems, topics and interaction; `negative` names those whose unbiased estimate is below 0."""
    rows = []
    for cell, data in cells_of(result):
        found = dict(zip(labels_of(data, names.SOURCE), data["component"].values, strict=True))
        raw = zip(labels_of(data, names.SOURCE), data["unbounded_component"].values, strict=True)
        total = sum(found.values())
        rows.append(
            cell
            | {name: float(value) for name, value in found.items()}
            | {
                f"{name}_share": value / total if total > 0 else np.nan
                for name, value in found.items()
            }
            | {"negative": ", ".join(name for name, value in raw if value < 0)}
            | {"n_runs": int(data["n_runs"]), "n_topics": int(result.attrs["n_topics"])}
        )
    return pd.DataFrame(rows)


def topics(result: xr.Dataset) -> pd.DataFrame:
    """Numbers of topics for the targets, missing where no number suffices; beside them, topic set size design by the same variances.

    `design_topics` detect a difference of 0.1 between the best and the worst of 10 systems with power .8 at alpha = .05: for E rho^2 by the
    residual variance (the same topics for all systems), for Phi by the variance within systems. `detectable` is the difference that as many
    topics as the target asks for detect between two systems by the paired t test (E rho^2 only).
    """
    rows = []
    for cell, data in cells_of(result):
        systems, of_topics, rest = (float(value) for value in data["component"].values)
        for target in result[names.TARGET].values:
            for each, error in ((ERHO2, rest), (PHI, of_topics + rest)):
                at = data.sel({names.TARGET: target, names.COEFFICIENT: each})
                needed = finite(at["topics"])
                numbers = {
                    f"n_topics_{end}": finite(at[f"topics_{end}"]) for end in (*LIMITS, *JACKKNIFE)
                }
                design = {
                    "design_topics": design_topics(error, paired=each == ERHO2),
                    "detectable": detectable(rest, needed) if each == ERHO2 else np.nan,
                    "system_deviation": float(np.sqrt(systems)),
                }
                first = {"target": float(target), "coefficient": each, "n_topics": needed}
                rows.append(cell | first | numbers | design)
    return pd.DataFrame(rows)


def finite(number: Any) -> float:
    """Return a number of topics; NaN for an infinite one."""
    return float(number) if np.isfinite(float(number)) else np.nan


def design_topics(variance: float, *, paired: bool) -> float:
    """Return the number of topics of ANOVA-based design at its defaults; NaN if there is none."""
    if not variance > 0:
        return np.nan
    try:
        return float(topic_set_size(variance, DIFFERENCE, paired=paired)["topics"])
    except BadPlan:  # more topics than any collection could have
        return np.nan


def detectable(variance: float, n_topics: float) -> float:
    """Return the difference of two systems that the paired t test detects with power .8; NaN for fewer than 2 topics."""
    if not (variance > 0 and n_topics >= 2):
        return np.nan
    return float(detectable_difference(variance, int(n_topics), method="t")["min_diff"])


def teams(result: xr.Dataset) -> pd.DataFrame:
    """E rho^2 of runs of different teams and of one team with jackknife limits, and variances with runs nested in teams; empty without teams of several runs."""
    rows = []
    if "team_component" in result:
        for cell, data in cells_of(result):
            found = dict(
                zip(
                    labels_of(data, names.TEAM_SOURCE),
                    map(float, data["team_component"].values),
                    strict=True,
                )
            )
            for k, size in enumerate(result[names.N_TOPICS].values):
                at = {name: float(data[name].values[k]) for name in NESTED}
                rows.append(cell | {"n_topics": int(size)} | at | found)
    columns = ["collection", "metric", "gain", "n_topics", *NESTED]
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=columns)


def facets(result: xr.Dataset) -> pd.DataFrame:
    """Coefficients and variances with gain settings, or sets of judgements, as a third facet; empty without several."""
    rows = []
    for i, metric in (
        enumerate(labels_of(result, names.METRIC)) if names.FACET in result.dims else ()
    ):
        for j, facet in enumerate(labels_of(result, names.FACET)):
            at = result.isel({names.METRIC: i, names.FACET: j})
            values = at["facet_component"].values
            if np.isnan(values).all():  # no metric of gains
                continue
            found = dict(
                zip(labels_of(result, names.FACET_SOURCE), map(float, values), strict=True)
            )
            for k, size in enumerate(result[names.N_TOPICS].values):
                numbers = at["facet_coefficient"].isel({names.N_TOPICS: k}).values
                coefficient = dict(
                    zip(
                        labels_of(result, names.FACET_COEFFICIENT), map(float, numbers), strict=True
                    )
                )
                first = {
                    "metric": metric,
                    "facet": facet,
                    "n_levels": int(at["n_levels"]),
                    "n_topics": int(size),
                }
                rows.append(where(result) | first | coefficient | found)
    columns = ["collection", "metric", "facet", "n_levels", "n_topics"]
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=columns)
