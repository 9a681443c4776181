"""Tables of tests of pairs of runs: bootstrap, randomisation, Tukey, max-T."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.run_pairs import positions_of_pairs
from scorecube.errors import counted
from scorecube.report.tables.rows import parts, where
from scorecube.statistics.multiple_testing import METHODS, adjusted


def power(result: xr.Dataset) -> pd.DataFrame:
    """Discriminative power, best first; the bootstrap's also with the estimated difference (S1 Tables 4 and 6)."""
    estimated = "estimated_difference" in result
    rows = []
    for cell, data in parts(result):
        for k, alpha in enumerate(result[names.ALPHA].values):
            found = {
                "alpha": float(alpha),
                "significant": int(data["significant"].values[k]),
                "pairs": n_tested(data),
                "share": float(data["share"].values[k]),
            }
            if estimated:
                found["estimated_difference"] = float(data["estimated_difference"].values[k])
            odd: dict[str, int] = {
                "degenerate_pairs": int(data["degenerate_pairs"]),
                "constant_pairs": int(data["constant_pairs"]),
            }
            if "untested_pairs" in data:
                odd["untested_pairs"] = int(data["untested_pairs"])
            row = where(result) | cell | found | {"trials": result.attrs["trials"]} | odd
            if estimated and "p_value" in data:  # not in a result without its large arrays
                row["largest_not_significant"] = largest_not_significant(result, data, float(alpha))
            rows.append(row)
    return pd.DataFrame(rows).sort_values(
        ["alpha", "share"], ascending=False, kind="stable", na_position="last", ignore_index=True
    )


def largest_not_significant(result: xr.Dataset, data: xr.Dataset, alpha: float) -> float:
    """Return the largest difference in mean score of a pair that is not significant; NaN without such a pair."""
    open_pairs = data["p_value"].values >= alpha
    found = np.abs(differences(result, data)["mean_difference"])[open_pairs]
    return float(found.max()) if len(found) else math.nan


def asl_pairs(result: xr.Dataset) -> pd.DataFrame:
    """Every pair of runs with its achieved significance level; differences are first minus second run.

    The columns ``asl`` and ``p_value``, the name in the result and in the tables of other tests, are the same.
    """
    frame = _pairs(result, "asl")
    equal = [column for column in frame.columns if column.startswith("asl")]
    return frame.assign(**{column.replace("asl", "p_value"): frame[column] for column in equal})


def p_value_pairs(result: xr.Dataset) -> pd.DataFrame:
    """Every pair of runs with its p-value; differences are first minus second run."""
    return _pairs(result, "p_value")


def joint_pairs(result: xr.Dataset) -> pd.DataFrame:
    """Every pair of runs with its p-value, which accounts for all pairs together and takes no adjustment."""
    return p_value_pairs(result).drop(columns=["p_value_holm", "p_value_bh"])


def _pairs(result: xr.Dataset, label: str) -> pd.DataFrame:
    frames = []
    for cell, data in parts(result):
        p = data["p_value"].values
        never_zero = without_zeros(data, int(result.attrs["trials"]))
        frames.append(
            pd.DataFrame(
                where(result)
                | cell
                | {
                    names.RUN_A: result[names.RUN_A].values,
                    names.RUN_B: result[names.RUN_B].values,
                    **differences(result, data),
                    "t": data["t"].values,
                    label: p,
                    f"{label}_holm": adjusted(never_zero, "holm"),
                    f"{label}_bh": adjusted(never_zero, "bh"),
                }
            )
        )
    frame = pd.concat(frames, ignore_index=True)
    return frame.drop(columns="t") if label == "p_value" else frame


def simultaneous_pairs(result: xr.Dataset) -> pd.DataFrame:
    """Every tested pair of runs with the simultaneous interval of its difference, first minus second run, and effect sizes.

    All intervals of a metric together hold the true differences with probability 1 - the largest alpha. ``effect_size`` is the
    difference in units of the residual standard deviation of runs and topics (Sakai 2014, SIGIR Forum 48(1)), ``d_z`` in units
    of the standard deviation of the pair's differences over topics.
    """
    level = int(result[names.ALPHA].values.argmax())
    frames = []
    for cell, data in parts(result):
        difference = differences(result, data)["mean_difference"]
        error = data["moderated_error"].values
        # Without spread the interval is a point, even if there are too few trials for a critical value.
        margin = np.where(error > 0, float(data["critical_value"].values[level]), 0.0) * error
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = difference / math.sqrt(float(data["residual_variance"]))
        frames.append(
            pd.DataFrame(
                where(result)
                | cell
                | {
                    names.RUN_A: result[names.RUN_A].values,
                    names.RUN_B: result[names.RUN_B].values,
                    "mean_difference": difference,
                    "difference_low": difference - margin,
                    "difference_high": difference + margin,
                    "effect_size": effect,
                    "d_z": data["t"].values / math.sqrt(result.attrs["n_topics"]),
                    "p_value": data["p_value"].values,
                }
            )
        )
    frame = pd.concat(frames, ignore_index=True)
    # t of systems has the variance of repetitions, too.
    return frame.drop(columns="d_z") if "repetitions" in result else frame


def differences(result: xr.Dataset, data: xr.Dataset) -> dict[str, np.ndarray[Any, Any]]:
    """Return the differences of means of all pairs of a cell; over the common topics of a pair, with their number, where scores are missing."""
    if "common_topics" in data:
        return {
            "n_topics": data["common_topics"].values,
            "mean_difference": data["common_difference"].values,
        }
    mean = data["mean"].values
    first, second = positions_of_pairs(result)
    return {"mean_difference": mean[first] - mean[second]}


def n_tested(data: xr.Dataset) -> int:
    """Return the number of pairs of a cell that have a p-value."""
    untested = int(data["untested_pairs"]) if "untested_pairs" in data else 0
    return int(data.sizes[names.PAIR]) - untested


def without_zeros(data: xr.Dataset, trials: int) -> np.ndarray[Any, Any]:
    """Return (count + 1) / (B + 1), which is never 0 (Phipson and Smyth 2010)."""
    reached = data["reached"].values
    return np.where(np.isnan(data["p_value"].values), np.nan, (reached + 1) / (trials + 1))


def share_of(found: int, pairs: int) -> float:
    """Return a share; NaN of none."""
    return found / pairs if pairs else math.nan


def adjusted_power(result: xr.Dataset) -> pd.DataFrame:
    """Significant pairs under each adjustment for testing many pairs; adjusted are (count + 1) / (B + 1).

    Holm's adjustment needs more trials than pairs / alpha to find any pair.
    """
    rows = []
    for cell, data in parts(result):
        for method in METHODS:
            p = data["p_value"].values
            p = (
                p
                if method == "none"
                else adjusted(without_zeros(data, int(result.attrs["trials"])), method)
            )
            for alpha in result[names.ALPHA].values:
                found = int((p < alpha).sum())
                rows.append(
                    where(result)
                    | cell
                    | {
                        "alpha": float(alpha),
                        "adjustment": method,
                        "significant": found,
                        "pairs": n_tested(data),
                        "share": share_of(found, n_tested(data)),
                    }
                )
    return pd.DataFrame(rows)


def curve(result: xr.Dataset) -> pd.DataFrame:
    """Sorted p-values: how many pairs have one up to a value (S2, section 2)."""
    frames = [
        pd.DataFrame(
            where(result)
            | cell
            | {
                "rank": np.arange(1, n_tested(data) + 1),
                "p_value": np.sort(data["p_value"].values)[: n_tested(data)],
            }
        )
        for cell, data in parts(result)
    ]
    return pd.concat(frames, ignore_index=True)


def conditions(result: xr.Dataset) -> str:
    """Return collection and conditions of a test in one line."""
    facts, n_pairs = result.attrs, result.sizes[names.PAIR]
    noun = "system" if "repetitions" in result else "run"
    compared = (
        f"{counted(n_pairs, noun)} against {facts['baseline']}, "
        if "baseline" in facts
        else f"{facts['n_runs']} {noun}s ({n_pairs:,} pairs), "
    )
    return (
        f"{facts.get('collection', '')}  {compared}"
        f"{facts['n_topics']} topics, "
        + (
            f"{facts['trials']:,} trials"
            if facts["trials"]
            else f"{result[names.TEST].item()} test"
        )
    ).strip()
