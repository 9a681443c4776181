"""Tables of the classical tests."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.tables.pairs import differences, n_tested, share_of
from scorecube.report.tables.rows import parts, where
from scorecube.statistics.multiple_testing import METHODS, adjusted


def power(result: xr.Dataset) -> pd.DataFrame:
    """Share of significant pairs by test, level and adjustment for testing many pairs."""
    rows = []
    for cell, data in parts(result):
        for k, test in enumerate(labels_of(result, names.TEST)):
            for method in METHODS:
                p = adjusted(data["p_value"].values[k], method)
                for alpha in result[names.ALPHA].values:
                    found = int((p < alpha).sum())
                    facts = {"test": test, "alpha": float(alpha), "adjustment": method}
                    rows.append(
                        where(result)
                        | cell
                        | facts
                        | {
                            "significant": found,
                            "pairs": n_tested(data),
                            "share": share_of(found, n_tested(data)),
                        }
                    )
    return pd.DataFrame(rows).sort_values(
        ["test", "adjustment", "alpha", "share"],
        ascending=[False, False, False, False],
        kind="stable",
        ignore_index=True,
    )


def pairs(result: xr.Dataset) -> pd.DataFrame:
    """Every pair of runs with its p-values; differences are first minus second run."""
    runs = {name: result[name].values for name in (names.RUN_A, names.RUN_B)}
    frames = []
    for cell, data in parts(result):
        columns = {
            f"p_{test}": data["p_value"].values[k]
            for k, test in enumerate(labels_of(result, names.TEST))
        }
        means = differences(result, data)
        frames.append(pd.DataFrame(where(result) | cell | runs | means | columns))
    return pd.concat(frames, ignore_index=True)
