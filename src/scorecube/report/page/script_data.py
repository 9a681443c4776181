"""What the script of a page computes with: leaderboards and topic set size designs at other numbers of topics.

Effects and variances are those of the study; see `analyses.rank_sets.other_numbers` and `analyses.designs`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.designs import TOPICS_AT_HAND, widths_and_power
from scorecube.errors import visible
from scorecube.report.leaderboard import systems
from scorecube.report.tables import COLLECTION, declared, where
from scorecube.report.text_formats import with_labels

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
LEAST_TOPICS, MOST_TIMES, MOST_NUMBERS = 5, 4, 250
"""Smallest number of topics of a slider, times the study's own that it reaches, and how many numbers it has at most: a byte holds a place."""
MOST_BYTES = 80_000
"""Of the data of a page: further leaderboards have no slider."""


def numbers_of_topics(n: int) -> list[int]:
    """Return the numbers of topics that a slider offers, n among them.

    Examples
    --------
    >>> numbers_of_topics(6)[:3], numbers_of_topics(50)[-1], len(numbers_of_topics(1000))
    ([5, 6, 7], 200, 208)
    """
    least, most = min(LEAST_TOPICS, n), MOST_TIMES * n
    if most - least < MOST_NUMBERS:
        return list(range(least, most + 1))
    few = {round(each) for each in np.geomspace(least, most, MOST_NUMBERS - 1).tolist()}
    return sorted(few | {n})


def leaderboard_data(cube: xr.Dataset, result: xr.Dataset) -> dict[str, Any] | None:
    """Return the leaderboards of a collection for a slider of the number of topics, as JSON values.

    cube: Scores of the collection.
    result: Of a leaderboard.
    Returns data: Of each metric the runs, best first, by position in ``runs``; their means, and the distances of the
        limits; and, for all pairs of places in this order, the position in ``numbers`` of the first number of topics
        that separates them, as bytes. None for repeated runs of systems, and without a cell whose rank sets are found
        again at the study's own number of topics.
    """
    # Imported where it is needed, as it takes long and pages that are up to date do without.
    from scorecube.analyses.rank_sets.other_numbers import limit_factors

    if "repetitions" in result or "mean_low" not in result:
        return None
    n, alpha = int(result.attrs["n_topics"]), float(result.attrs["alpha"])
    numbers = numbers_of_topics(n)
    frame = with_labels(systems(result))
    found = []
    for label, rows in frame.groupby("label", sort=False):
        first = rows.iloc[0]
        chosen = {names.METRIC: first[names.METRIC], names.RUN: rows[names.RUN].tolist()}
        gains = result[names.GAIN].values.tolist()
        chosen[names.GAIN] = first[names.GAIN] if first[names.GAIN] in gains else gains[0]
        scores = _scores(cube, chosen, n)
        steps = None if scores is None else _steps(scores, rows, result, numbers)
        if steps is not None:
            place = {run: k for k, run in enumerate(result[names.RUN].values.tolist())}
            found.append(_cell(str(label), rows, steps, place))
    if not found:
        return None
    return {
        COLLECTION: visible(where(result)[COLLECTION]),
        "percent": f"{100 * (1 - alpha):g}",
        "n": n,
        "numbers": numbers,
        "factors": [float(f"{each:.12g}") for each in limit_factors(numbers, n, alpha)],
        "runs": [visible(str(run)) for run in result[names.RUN].values.tolist()],
        "cells": found,
    }


def _scores(cube: xr.Dataset, chosen: Mapping[str, Any], n: int) -> FloatArray | None:
    """Return the scores (run, topic) of a cell; None if they are not those of the result."""
    try:
        scores = cube[names.SCORE].sel(chosen).transpose(names.RUN, names.TOPIC).values
    except KeyError:
        return None
    known = scores.shape[1] == n and bool(np.isfinite(scores).all())
    return np.asarray(scores, np.float64) if known else None


def _steps(
    scores: FloatArray, rows: pd.DataFrame, result: xr.Dataset, numbers: list[int]
) -> np.ndarray[Any, np.dtype[np.uint8]] | None:
    """Return for each pair of places the first of the numbers of topics that separates it; None if the rank sets are not found again."""
    from scorecube.analyses.rank_sets.other_numbers import critical_value, moderated_t, needed_t

    n, alpha = int(result.attrs["n_topics"]), float(result.attrs["alpha"])
    pairs = np.triu_indices(len(rows), 1)
    if n < LEAST_TOPICS or not len(pairs[0]):
        return None
    t = moderated_t(scores, float(result.attrs["moderation"]))[pairs]
    low, high = rows["rank_low"].to_numpy(), rows["rank_high"].to_numpy()
    critical = critical_value(t, int((low - 1).sum()), n, alpha)
    steps = np.searchsorted(-needed_t(numbers, n, critical), -t, side="left")
    separated = np.zeros((len(rows), len(rows)), bool)
    separated[pairs] = steps <= numbers.index(n)
    again = (1 + separated.sum(axis=0), len(rows) - separated.sum(axis=1))
    same = np.array_equal(again[0], low) and np.array_equal(again[1], high)
    return steps.astype(np.uint8) if same else None


def _cell(
    label: str, rows: pd.DataFrame, steps: np.ndarray[Any, Any], place: Mapping[Any, int]
) -> dict[str, Any]:
    def numbers(values: Any) -> list[float | None]:
        return [float(f"{each:.10g}") if np.isfinite(each) else None for each in values]

    return {
        "label": visible(label),
        "metric": visible(str(rows[names.METRIC].iloc[0])),
        "order": [place[run] for run in rows[names.RUN]],
        "mean": [float(each) for each in rows["mean"]],
        "below": numbers(rows["mean"] - rows["mean_low"]),
        "above": numbers(rows["mean_high"] - rows["mean"]),
        "steps": base64.b64encode(steps.tobytes()).decode(),
    }


DESIGNS = declared(
    "metric gain",
    "metric gain topics width paired_width power own=variance residual=residual_variance",
    only="variance",
)
"""Of `widths_and_power`, of the metrics that have any variance, which those of one topic do not."""


def design_data(result: xr.Dataset) -> tuple[pd.DataFrame | None, dict[str, Any] | None]:
    """Return the table of `widths_and_power` at the topics of a collection, and what a slider needs to compute it, as JSON values.

    Of scores without any variance there is neither.
    """
    rows = DESIGNS.make(widths_and_power(result))
    if not len(rows):
        return None, None
    rows = with_labels(rows)
    n, alpha = int(result.attrs[TOPICS_AT_HAND]), float(result["alpha"])
    data = {
        COLLECTION: visible(where(result)[COLLECTION]),
        "n": n,
        "numbers": numbers_of_topics(n),
        "alpha": alpha,
        "difference": float(result["min_diff"]),
        "cells": [
            {
                "label": visible(row["label"]),
                "metric": visible(row[names.METRIC]),
                "variance": row["own"],
                "residual": row["residual"] if np.isfinite(row["residual"]) else None,
            }
            for row in rows.to_dict("records")
        ],
    }
    shown = rows[[COLLECTION, "label", "topics", "power", "width", "paired_width"]]
    return shown.rename(columns={"label": names.METRIC}), data if n >= 2 else None


def within(boards: Sequence[dict[str, Any]], used: int = 0) -> list[dict[str, Any]]:
    """Return the leaderboards and designs whose data fit on a page; of leaderboards those of the first metrics.

    boards: Of `leaderboard_data` or `design_data`.
    used: Bytes that other data take.
    """
    kept = []
    for part in boards:
        cells = []
        used += len(json.dumps(part | {"cells": []}))
        for cell in part["cells"]:
            used += len(json.dumps(cell))
            if used > MOST_BYTES:
                break
            cells.append(cell)
        if cells:
            kept.append(part | {"cells": cells})
    return kept
