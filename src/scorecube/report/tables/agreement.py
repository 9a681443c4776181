"""Tables of the agreement of two sets of judgements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.rank_agreement.pair_decisions import DECISIONS, TOP_PAIR_COUNTS
from scorecube.collection.schema import labels_of
from scorecube.report.tables.population import containing, estimates
from scorecube.report.tables.rows import parts, where


def rankings(result: xr.Dataset) -> pd.DataFrame:
    """Agreement of the rankings of runs; the most similar first.

    `tau_population` and its likes are over infinitely many topics, with intervals. Percentile intervals over topic samples (`tau_low`,
    `tau_high`) are missing where they exclude their value.
    """
    runs, statistics = labels_of(result, names.RUN), labels_of(result, names.STATISTIC)
    rows = []
    for cell, data in parts(result):
        found: dict[str, Any] = {}
        for k, statistic in enumerate(statistics):
            value = float(data["agreement"].values[k])
            limits = containing(value, *(float(data[end].values[k]) for end in ("low", "high")))
            found[statistic] = value
            found |= {name: float(part) for name, part in estimates(data, statistic).items()}
            found |= {f"{statistic}_low": float(limits[0]), f"{statistic}_high": float(limits[1])}
        drop = int(data["drop"])
        found |= {"largest_drop": drop, "drop_run": runs[int(data["drop_run"])] if drop > 0 else ""}
        found |= {"drop_low": float(data["drop_low"]), "drop_high": float(data["drop_high"])}
        found |= {
            "n_runs": result.attrs["n_runs"],
            "n_topics": result.attrs["n_topics"],
            "trials": result.attrs["trials"],
        }
        found |= {"tied_pairs_a": int(data["tied_first"]), "tied_pairs_b": int(data["tied_second"])}
        found |= {"tau_bias": float(data["bias"].values[0])}
        rows.append(where(result) | cell | sets(result) | found)
    return pd.DataFrame(rows).sort_values(
        "tau", ascending=False, kind="stable", na_position="last", ignore_index=True
    )


def decisions(result: xr.Dataset) -> pd.DataFrame:
    """Pairs of runs by the decisions of both sets of judgements, and false decisions among the best runs of the first set."""
    n_pairs = result.attrs["n_runs"] * (result.attrs["n_runs"] - 1) // 2
    rows = [
        where(result)
        | cell
        | sets(result)
        | {"test": result.attrs["test"], "alpha": float(alpha), "pairs": n_pairs}
        | {name: int(data[name].values[k]) for name in DECISIONS}
        | {"top": result.attrs["top"]}
        | {name: int(data[name].values[k]) for name in TOP_PAIR_COUNTS}
        for k, alpha in enumerate(result[names.ALPHA].values)
        for cell, data in parts(result)
    ]
    return pd.DataFrame(rows)


def runs(result: xr.Dataset) -> pd.DataFrame:
    """Mean and rank of every run under both sets of judgements, by its rank under the first; a positive rank change is a loss."""
    labels = np.array(labels_of(result, names.RUN), object)
    frames = []
    for cell, data in parts(result):
        mean_a, mean_b = data["mean_first"].values, data["mean_second"].values
        rank_a, rank_b = data["rank_first"].values, data["rank_second"].values
        columns = {
            "run": labels,
            "mean_a": mean_a,
            "mean_b": mean_b,
            "mean_change": mean_b - mean_a,
            "rank_a": rank_a,
            "rank_b": rank_b,
            "rank_change": rank_b - rank_a,
        }
        frame = pd.DataFrame(where(result) | cell | sets(result) | columns)
        frames.append(frame.sort_values("rank_a", kind="stable", ignore_index=True))
    return pd.concat(frames, ignore_index=True)


def sets(result: xr.Dataset) -> dict[str, str]:
    """Return the names of both sets of judgements."""
    return {"set_a": str(result.attrs["set_a"]), "set_b": str(result.attrs["set_b"])}


def conditions(result: xr.Dataset) -> str:
    """Return sets and conditions of a result in one line."""
    facts = result.attrs
    return f"{facts['set_a']} against {facts['set_b']}, {facts['n_runs']} runs, {facts['n_topics']} topics, {facts['trials']:,} trials"
