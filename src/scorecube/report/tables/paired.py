"""Tables of the classical tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.tables.pairs import differences, n_tested, share_of
from scorecube.report.tables.rows import parts, where
from scorecube.statistics.multiple_testing import METHODS, adjusted

VERDICTS = np.array(["equivalent", "different", "inconclusive", "not tested"], object)


def verdicts(data: xr.Dataset, alpha: float, method: str = "none") -> Any:
    """Return the verdict on each pair of a cell: int (pair,), positions in `VERDICTS`.

    A pair is equivalent if both one-sided tests find its difference smaller than the margin, else different if the t test finds a
    difference, else inconclusive.

    Parameters
    ----------
    data
        Part of a result with a margin.
    alpha
        Level of all tests.
    method
        One of `METHODS`, for the pairs together: of both one-sided tests, and of the t test.
    """
    within = data["equivalence_p_value"].values
    equivalent = adjusted(within, method) < alpha
    different = adjusted(data["difference_p_value"].values, method) < alpha
    return np.where(np.isnan(within), 3, np.where(equivalent, 0, np.where(different, 1, 2)))


def equivalence(result: xr.Dataset) -> pd.DataFrame:
    """Pairs by verdict, level and adjustment for testing many pairs; empty for a result without a margin.

    Tested pairs are the sum of the three. ``trivial`` is the number of equivalent pairs whose difference is not 0 by the t test either: a
    difference that is there, and smaller than the margin.
    """
    columns = ("equivalent", "different", "inconclusive")
    rows: list[dict[str, Any]] = []
    for cell, data in parts(result) if "equivalence_p_value" in result else ():
        for method in METHODS:
            unequal = adjusted(data["difference_p_value"].values, method)
            for alpha in result[names.ALPHA].values.tolist():
                found = verdicts(data, alpha, method)
                facts = {"margin": result.attrs["equivalence"], "alpha": alpha}
                counts = {name: int((found == k).sum()) for k, name in enumerate(columns)}
                both = int(((found == 0) & (unequal < alpha)).sum())
                rows.append(
                    where(result)
                    | cell
                    | facts
                    | {"adjustment": method}
                    | counts
                    | {"trivial": both}
                )
    if not rows:
        return pd.DataFrame(columns=[*where(result), "metric", "gain"])
    return pd.DataFrame(rows).sort_values(
        ["adjustment", "alpha", "equivalent"], ascending=False, kind="stable", ignore_index=True
    )


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
    """Every pair of runs with its p-values; differences are first minus second run.

    With a margin of equivalence also the p-value of the two one-sided tests, the interval of the difference (confidence 1 - 2 alpha)
    and the verdict, at the largest alpha. Of systems with repeated runs also the standard error of the difference over topics and
    repetitions, and its degrees of freedom.
    """
    level = int(result[names.ALPHA].values.argmax())
    runs = {name: result[name].values for name in (names.RUN_A, names.RUN_B)}
    frames = []
    for cell, data in parts(result):
        columns = {
            f"p_{test}": data["p_value"].values[k]
            for k, test in enumerate(labels_of(result, names.TEST))
        }
        if "standard_error" in data:
            of_systems = ("standard_error", "degrees_of_freedom")
            columns |= {name: data[name].values for name in of_systems}
        if "equivalence_p_value" in data:
            columns |= {
                "p_equivalence": data["equivalence_p_value"].values,
                "difference_low": data["difference_low"].values[level],
                "difference_high": data["difference_high"].values[level],
                "verdict": VERDICTS[verdicts(data, float(result[names.ALPHA].values[level]))],
            }
        means = differences(result, data)
        frames.append(pd.DataFrame(where(result) | cell | runs | means | columns))
    return pd.concat(frames, ignore_index=True)
