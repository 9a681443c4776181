"""Tables of leaderboards and rank sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.tables.rows import parts, where
from scorecube.report.text_formats import Bold, Marked, with_labels

LETTERS = "abcdefghijklmnopqrstuvwxyz"
BETTER, WORSE = "†", "‡"
"""Marks of runs that are significantly better and worse than the baseline."""
DIFFERENCES = (
    "difference",
    "difference_low",
    "difference_high",
    "p_baseline",
    "wins",
    "ties",
    "losses",
)


def systems(result: xr.Dataset) -> pd.DataFrame:
    """Runs, best first, with the interval of the mean (bootstrap-t, each run by itself), the rank set (all runs together), and groups.

    ``top_k`` says whether a run is in the confidence set of the k best; runs that share a letter of ``groups`` are not
    separated; ``best`` is the share of trials in which the run has the largest mean. With a baseline also the difference from it
    with simultaneous limits and adjusted p-value, and on how many topics a run has a higher, the same and a lower score.
    """
    frames = []
    for cell, data in parts(result):
        runs = {"rank": data["rank"].values} | _runs(data) | _repetitions(data)
        means = {name: data[name].values for name in ("mean", "mean_low", "mean_high")}
        ranks = {name: data[name].values for name in ("rank_low", "rank_high")}
        more = {name: data[name].values for name in DIFFERENCES if name in data}
        frame = pd.DataFrame(
            where(result)
            | cell
            | runs
            | means
            | ranks
            | _top(data, sizes(result)[:1])
            | {"groups": _groups(data)}
            | _top(data, sizes(result)[1:])
            | {"best": data["best"].values}
            | more
        )
        frames.append(frame.sort_values("rank", kind="stable"))
    return pd.concat(frames, ignore_index=True)


def matrix(result: xr.Dataset) -> pd.DataFrame:
    """Means of runs by metrics, for a paper: the largest in bold; with a baseline, † marks runs that are significantly better, ‡ worse.

    In the order of the first metric.
    """
    first = systems(result)
    labelled = with_labels(first)
    columns = list(dict.fromkeys(labelled["label"]))
    order = labelled.loc[labelled["label"] == columns[0], names.RUN].tolist()
    table: dict[str, Any] = where(result) | {names.RUN: order}
    for label in columns:
        rows = labelled[labelled["label"] == label].set_index(names.RUN).loc[order]
        table[label] = [_marked(row, result) for row in rows.to_dict("records")]
    return pd.DataFrame(table)


def _marked(row: dict[Any, Any], result: xr.Dataset) -> str:
    """Return a mean with its marks."""
    text = f"{row['mean']:.4f}"
    if row.get("p_baseline", 1.0) < float(result.attrs["alpha"]):
        text += BETTER if row["difference"] > 0 else WORSE
    return Bold(text) if row["rank"] == 1 else Marked(text)


def ranks(result: xr.Dataset) -> pd.DataFrame:
    """Runs, best first, with their rank sets: all sets hold together, or each by itself (marginal)."""
    frames = [
        pd.DataFrame(
            where(result)
            | cell
            | {names.RUN: labels_of(data, names.RUN)}
            | _repetitions(data)
            | {name: data[name].values for name in ("mean", "rank", "rank_low", "rank_high")}
            | {"sets": kind(result)}
        ).sort_values("rank", kind="stable")
        for cell, data in parts(result)
    ]
    return pd.concat(frames, ignore_index=True)


def top(result: xr.Dataset) -> pd.DataFrame:
    """Confidence sets of the k best runs: how many runs they have, and which, best first."""
    return pd.DataFrame(list(_top_rows(result)))


def _top_rows(result: xr.Dataset) -> Iterator[dict[str, Any]]:
    for cell, data in parts(result):
        order = np.argsort(data["rank"].values, kind="stable")
        runs = np.array(labels_of(result, names.RUN), object)[order]
        low = data["rank_low"].values[order]
        for k in sizes(result):
            chosen = runs[low <= k]
            yield (
                where(result) | cell | {"k": k, "n_systems": len(chosen), "runs": ", ".join(chosen)}
            )


def kind(result: xr.Dataset) -> str:
    """Return whether sets hold together or each by itself."""
    return "marginal" if result.attrs.get("marginal") else "simultaneous"


def sizes(result: xr.Dataset) -> list[int]:
    """Return the sizes k of the sets of the k best, without those that are no less than the number of runs."""
    return [int(k) for k in np.atleast_1d(result.attrs["top"]) if k < result.sizes[names.RUN]]


def _runs(data: xr.Dataset) -> dict[str, Any]:
    """Return runs and their teams; a run without a team is a team of its own."""
    runs = labels_of(data, names.RUN)
    teams = labels_of(data, names.TEAM) if names.TEAM in data.coords else runs
    return {names.RUN: runs, names.TEAM: teams}


def _repetitions(data: xr.Dataset) -> dict[str, Any]:
    """Return the number of runs of each system; nothing where runs are compared."""
    return {"repetitions": data["repetitions"].values} if "repetitions" in data else {}


def _top(data: xr.Dataset, sizes: list[int]) -> dict[str, Any]:
    return {f"top_{k}": data["rank_low"].values <= k for k in sizes}


def _groups(data: xr.Dataset) -> list[str]:
    """Return the groups of each run: letters, or numbers where there are more groups than letters."""
    begin, end = data["group_first"].values, data["group_last"].values
    if end.max() <= len(LETTERS):
        return [LETTERS[a - 1 : b] for a, b in zip(begin, end, strict=True)]
    return [f"{a}-{b}" if a < b else f"{a}" for a, b in zip(begin, end, strict=True)]
