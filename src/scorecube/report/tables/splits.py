"""Tables of rank correlations between topic samples."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.tables.rows import parts, where
from scorecube.report.tables.topic_samples import by_size


def quantiles(result: xr.Dataset) -> pd.DataFrame:
    """Distribution of tau between the rankings by two topic samples, the largest size and the most stable metric first."""
    trials = int(result.attrs["trials"])
    rows = [
        cell
        | {
            "size": size,
            "tau_mean": float(at["tau_mean"]),
            "tau_median": float(at["tau_median"]),
            "tau_5": float(at["tau_low"]),
            "tau_95": float(at["tau_high"]),
            "share_same_best": int(at["same_best_trials"]) / trials,
            "trials": trials,
            "sampling": result.attrs["sampling"],
            "tau_b_mean": float(at["tau_b_mean"]),
            "tau_ap_mean": float(at["tau_ap_mean"]),
            "rank_change_median": float(at["rank_change_median"]),
            "tied_pairs": float(at["tied_pairs"]),
        }
        for cell, size, at in by_size(result)
    ]
    return pd.DataFrame(rows).sort_values(
        ["size", "tau_mean"], ascending=False, kind="stable", ignore_index=True
    )


def settled(result: xr.Dataset) -> pd.DataFrame:
    """Smallest number of topics in a sample from which on the 5 % quantile of tau reaches a value; missing if none that was tried."""
    rows = [
        where(result)
        | cell
        | {
            "tau": float(level),
            "settled_at": float(data["settled"].values[k]),
            "largest_size": int(result[names.SIZE].max()),
        }
        for k, level in enumerate(result[names.THRESHOLD].values)
        for cell, data in parts(result)
    ]
    return pd.DataFrame(rows)


def trials(result: xr.Dataset) -> pd.DataFrame:
    """Every trial's rank correlation, largest rank change of a run, and whether the best run is the same."""
    numbers = np.arange(result.sizes[names.TRIAL])
    columns = ("tau", "tau_b", "tau_ap", "rank_change", "same_best")
    frames = [
        pd.DataFrame(
            cell | {"size": size, "trial": numbers} | {name: at[name].values for name in columns}
        )
        for cell, size, at in by_size(result)
    ]
    return pd.concat(frames, ignore_index=True)
