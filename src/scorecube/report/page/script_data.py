"""What the script of a page computes with: leaderboards and topic set size designs at other numbers of topics.

Everything scales by closed forms. A standard error of a mean over n' topics is sqrt(n / n') times that over n, and a limit also by the
ratio of the quantiles of Student's t. A pair of runs is separated if its |t| reaches a critical value: |t| grows with sqrt(n' / n), and the
critical value is that of the last step of the study's own step-down test, moved to n' - 1 degrees of freedom at the same tail
probability. Effects and variances are those of the study.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from scorecube import names
from scorecube.design import achieved_power, expected_width
from scorecube.errors import visible
from scorecube.report.leaderboard import systems
from scorecube.report.tables.rows import COLLECTION, places, where
from scorecube.report.text_formats import with_labels

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
LEAST_TOPICS, MOST_TIMES, MOST_NUMBERS = 5, 4, 250
"""Smallest number of topics of a slider, times the study's own that it reaches, and how many numbers it has at most: a byte holds a place."""
MOST_BYTES = 80_000
"""Of the data of a page: further leaderboards have no slider."""
ROUNDING = 1e-12
"""Share of the sums of squares of two runs up to which that of their difference is rounding."""
SMALLEST_TAIL = 1e-300
"""Tail probability of a critical value below which it is taken for this one: SciPy inverts no smaller one."""
ABOVE = 1e-9
"""Relative distance by which a critical value that is not known lies above the largest |t| that is not separated, at least."""
AT_HAND = "topics_at_hand"


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


def limit_factors(numbers: Sequence[int], n: int, alpha: float) -> FloatArray:
    """Return the distance of a limit from its mean at each number of topics, as a multiple of that at n: float64 (number,)."""
    wanted = np.asarray(numbers, float)
    quantiles = stats.t.isf(alpha / 2, np.maximum(wanted, 2) - 1)
    return np.asarray(np.sqrt(n / wanted) * quantiles / stats.t.isf(alpha / 2, n - 1), np.float64)


def needed_t(numbers: Sequence[int], n: int, critical: float) -> FloatArray:
    """Return the |t| over n topics with which a pair is separated at each number of topics: float64 (number,), descending.

    Parameters
    ----------
    numbers
        Numbers of topics, ascending.
    n
        Topics of the study.
    critical
        What |t| must reach over n topics.
    """
    wanted = np.asarray(numbers, float)
    tail = max(float(stats.t.sf(critical, n - 1)), SMALLEST_TAIL)
    moved = stats.t.isf(tail, np.maximum(wanted, 2) - 1)
    return np.asarray(np.where(wanted == n, critical, moved * np.sqrt(n / wanted)), np.float64)


def moderated_t(scores: FloatArray, moderation: float) -> FloatArray:
    """Return the moderated |t| of all pairs of runs, as of `StepDown`: float64 (run, run), infinite for a constant difference.

    Parameters
    ----------
    scores
        float64 (run, topic), without missing ones.
    moderation
        Weight of the median variance of all pairs beside a pair's own.
    """
    n = scores.shape[1]
    mean = scores.mean(axis=1)
    centred = scores - mean[:, np.newaxis]
    products = centred @ centred.T
    own = np.diag(products)
    both = own[:, np.newaxis] + own
    squares = both - 2 * products
    squares = np.where(squares > ROUNDING * both, squares, 0.0)
    of_pairs = squares[np.triu_indices(len(mean), 1)]
    varying = of_pairs[of_pairs > 0]
    added = moderation * float(np.median(varying)) if len(varying) else 0.0
    difference = np.abs(mean[:, np.newaxis] - mean)
    difference[difference <= ROUNDING * np.maximum(np.abs(mean[:, np.newaxis]), np.abs(mean))] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        t = difference / np.sqrt((squares + added) / ((1 + moderation) * n * (n - 1)))
    constant = np.where(difference > 0, np.inf, 0.0)
    return np.asarray(np.where(squares > 0, t, constant), np.float64)


def critical_value(t: FloatArray, n_separated: int, n: int, alpha: float) -> float:
    """Return a value of |t| between those of the pairs that were separated and those that were not.

    Where all pairs are separated, or none is, Bonferroni's value if it lies on the right side.

    Parameters
    ----------
    t
        float64 (pair,).
    n_separated
        Number of separated pairs: those with the largest |t|.
    n
        Number of topics.
    alpha
        1 - confidence.

    Examples
    --------
    >>> critical_value(np.array([1.0, 3.0, 5.0]), 1, 50, 0.05)
    4.0
    """
    ordered = np.sort(t)[::-1]
    above = float(ordered[n_separated - 1]) if n_separated else math.inf
    below = float(ordered[n_separated]) if n_separated < len(t) else 0.0
    usual = float(stats.t.isf(alpha / (2 * len(t)), n - 1))
    if math.isinf(above):
        return max(usual, below * (1 + ABOVE))
    return (above + below) / 2 if n_separated < len(t) else min(usual, above)


def leaderboard_data(cube: xr.Dataset, result: xr.Dataset) -> dict[str, Any] | None:
    """Return the leaderboards of a collection for a slider of the number of topics, as JSON values.

    Parameters
    ----------
    cube
        Scores of the collection.
    result
        Of a leaderboard.

    Returns
    -------
    data
        Of each metric the runs, best first, by position in ``runs``; their means, and the distances of the limits; and, for all pairs
        of places in this order, the position in ``numbers`` of the first number of topics that separates them, as bytes. None for repeated
        runs of systems, and without a cell whose rank sets are found again at the study's own number of topics.
    """
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
    """Return the data of one metric."""

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


def widths_and_power(result: xr.Dataset, n: int | None = None) -> pd.DataFrame:
    """Return expected interval widths and the power of the paired t test at a number of topics.

    Parameters
    ----------
    result
        Design of a collection, of `views.design.design_of`.
    n
        Number of topics; by default those of the collection.

    Returns
    -------
    table
        One row for each metric and gain setting: ``width`` for systems with topics of their own (variance within systems),
        ``paired_width`` and ``power`` for two systems on the same topics (residual variance), missing for a single run. Metrics
        without any variance, such as those of one topic, have no row.
    """
    topics = int(result.attrs[AT_HAND]) if n is None else n
    alpha, difference = float(result["alpha"]), float(result["min_diff"])
    own, residual = (
        result[name].transpose(names.METRIC, names.GAIN).values.ravel()
        for name in ("variance", "residual_variance")
    )

    def of_finite(
        variances: FloatArray, compute: Callable[[FloatArray], xr.DataArray]
    ) -> FloatArray:
        found, finite = np.full(variances.shape, np.nan), np.isfinite(variances)
        if finite.any():
            found[finite] = compute(variances[finite]).values
        return found

    def width(variances: FloatArray) -> xr.DataArray:
        return expected_width(variances, topics, alpha=alpha)["width"]

    def power(variances: FloatArray) -> xr.DataArray:
        return achieved_power(variances, difference, topics, alpha=alpha, method="t")["power"]

    columns = {
        "width": of_finite(own, width),
        "paired_width": of_finite(residual, width),
        "power": of_finite(residual, power),
        "own": own,
        "residual": residual,
    }
    rows = pd.DataFrame([where(result) | cell | {"topics": topics} for cell, _ in places(result)])
    found: pd.DataFrame = rows.assign(**columns)[np.isfinite(own)]
    return found.reset_index(drop=True)


def design_data(result: xr.Dataset) -> tuple[pd.DataFrame | None, dict[str, Any] | None]:
    """Return the table of `widths_and_power` at the topics of a collection, and what a slider needs to compute it, as JSON values.

    Of scores without any variance there is neither.
    """
    rows = widths_and_power(result)
    if not len(rows):
        return None, None
    rows = with_labels(rows)
    n, alpha = int(result.attrs[AT_HAND]), float(result["alpha"])
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


def within(parts: Sequence[dict[str, Any]], used: int = 0) -> list[dict[str, Any]]:
    """Return the parts whose data fit on a page; of leaderboards those of the first metrics.

    Parameters
    ----------
    parts
        Of `leaderboard_data` or `design_data`.
    used
        Bytes that other data take.
    """
    kept = []
    for part in parts:
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
