"""Labelled results -> tables with fixed columns, and tables -> text in five formats.

A table function takes a Dataset and returns a data frame; `TABLES` names them all, the first of an analysis is its default.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.cube import summarise
from scorecube.errors import BadName, nearest
from scorecube.schema import labels_of

COLLECTION = "collection"


def sensitivity(result: xr.Dataset) -> pd.DataFrame:
    """Required differences, sorted by the share of comparisons that have them (S0 Tables 1-4, S1 Table 3)."""
    facts = {name: result.attrs[name] for name in ("trials", "size", "sampling")}
    rows = [
        _where(result) | cell | {
            "confidence": float(at.confidence), "required_difference": float(at.required_difference),
            "max_performance": float(at.max_performance), "relative_difference": float(at.relative_difference),
            "share": float(at.share),
        } | facts
        for cell, data in _cells(result)
        for at in (data.isel(confidence=k) for k in range(data.sizes[names.CONFIDENCE]))
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    return frame.sort_values(
        ["confidence", "share"], ascending=False, kind="stable", na_position="last", ignore_index=True
    )


def rates(result: xr.Dataset) -> pd.DataFrame:
    """Swap rate of every difference bin (S0 Figures 2-4); empty bins have none."""
    columns = ("lower", "count", "swaps", "swap_rate", "swap_rate_low", "swap_rate_high")
    rows = [
        _where(result) | cell | {"bin": k} | {name: data[name].values[k].item() for name in columns}
        for cell, data in _cells(result)
        for k in range(data.sizes[names.BIN])
    ]
    return pd.DataFrame(rows)


def overlap(result: xr.Dataset) -> pd.DataFrame:
    """Mean numbers of distinct and of common topics of the two samples (S0 Table 5)."""
    facts = {"size": result.attrs["size"], "sampling": result.attrs["sampling"]}
    return pd.DataFrame(
        [_where(result) | facts | {"unique": float(result["unique"]), "common": float(result["common"])}]
    )


def means(cube: xr.Dataset) -> pd.DataFrame:
    """Mean score of every run, or the summary that the metric's prefix asks for (``geo:AP``)."""
    scores = summarise(cube)
    counts = cube[names.SCORE].count(names.TOPIC)
    teams = dict(zip(labels_of(cube, names.RUN), map(str, cube[names.TEAM].values), strict=True))
    frame = scores.to_series().rename("mean").reset_index()
    frame["team"] = frame[names.RUN].map(teams)
    frame["n_topics"] = counts.to_series().to_numpy()
    frame.insert(0, COLLECTION, cube.attrs.get(COLLECTION, ""))
    return frame[[COLLECTION, names.METRIC, names.GAIN, names.RUN, names.TEAM, "mean", "n_topics"]]


def cells(cube: xr.Dataset) -> pd.DataFrame:
    """Score of every run on every topic."""
    frame = cube[names.SCORE].to_series().reset_index()
    frame.insert(0, COLLECTION, cube.attrs.get(COLLECTION, ""))
    return frame


def statistics(rankings: xr.Dataset) -> pd.DataFrame:
    """Size of a collection and of its judgements: mean number of documents judged at each level per topic (S1 Table 1)."""
    judged = rankings[names.N_JUDGED].values
    row: dict[str, Any] = {
        COLLECTION: rankings.attrs.get(COLLECTION, ""), "n_runs": rankings.sizes[names.RUN],
        "n_teams": len(set(map(str, rankings[names.TEAM].values))), "n_topics": rankings.sizes[names.TOPIC],
        "judged": int(judged.sum()),
    }  # fmt: skip
    row |= {f"n_level_{level}": float(judged[:, level].mean()) for level in range(judged.shape[1])}
    return pd.DataFrame([row])


Table = Callable[[xr.Dataset], pd.DataFrame]
TABLES: dict[str, dict[str, Table]] = {
    "scores": {"means": means, "cells": cells, "statistics": statistics},
    "swap": {"sensitivity": sensitivity, "rates": rates, "overlap": overlap},
}
FROM_RANKINGS = {"statistics"}
"""Tables of `scores` that are made from rankings instead of the cube."""


def find_table(analysis: str, name: str | None) -> tuple[str, Table]:
    """Return a table's name and function; the default table for no name.

    Raises
    ------
    BadName
        An analysis or a table that does not exist.
    """
    if analysis not in TABLES:
        raise BadName(f"no analysis {analysis!r}; known: {', '.join(TABLES)}")
    tables = TABLES[analysis]
    chosen = name or next(iter(tables))
    if chosen not in tables:
        raise BadName(f"no table {chosen!r} of {analysis}; nearest: {nearest(chosen, list(tables))}")
    return chosen, tables[chosen]


def table(result: xr.Dataset, name: str | None = None) -> pd.DataFrame:
    """Return a table of a result.

    Parameters
    ----------
    result
        A result of an analysis, a cube or rankings.
    name
        E.g. ``sensitivity``; None is the first table of the analysis.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> table(simulate_cube(n_runs=4), "means").columns.tolist()
    ['collection', 'metric', 'gain', 'run', 'team', 'mean', 'n_topics']
    """
    return find_table(str(result.attrs.get("analysis", "scores")), name)[1](result)


def combine(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Stack the tables of several collections."""
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _where(result: xr.Dataset) -> dict[str, Any]:
    return {COLLECTION: str(result.attrs.get(COLLECTION, ""))}


def _cells(result: xr.Dataset) -> list[tuple[dict[str, Any], xr.Dataset]]:
    return [
        ({"metric": metric, "gain": gain}, result.isel(metric=i, gain=j))
        for i, metric in enumerate(labels_of(result, names.METRIC))
        for j, gain in enumerate(labels_of(result, names.GAIN))
    ]


def as_records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows as plain values, None for missing numbers."""
    return [
        {str(key): None if isinstance(value, float) and np.isnan(value) else value for key, value in row.items()}
        for row in frame.to_dict("records")
    ]
