"""Tables with the columns, the order and the digits of the papers: ``show --table sakai-2005``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd
import xarray as xr

from scorecube.report.readable import Marked
from scorecube.report.tables import AS_PRINTED, Table, where

MISSING = Marked("-")
CONDITIONS = ("sampling", "confidence", "gain", "default", "alpha")
"""Columns that LaTeX and Markdown have where they differ; captions say them."""


def table(rows: Callable[[xr.Dataset], Iterator[dict[str, Any]]]) -> Table:
    """Return the declaration of a table whose cells are texts, given a function of its rows."""

    def make(result: xr.Dataset) -> pd.DataFrame:
        frame = pd.DataFrame([where(result) | row for row in rows(result)])
        frame.attrs[AS_PRINTED] = CONDITIONS
        return frame

    return Table("metric gain", "", make=make)


def number(value: float, decimals: int, whole: bool = True) -> Marked:
    """Return a number with some decimals, without the 0 of a fraction where papers print none.

    Examples
    --------
    >>> number(0.8575, 4, whole=False), number(0.11, 2), number(float("nan"), 2)
    ('.8575', '0.11', '-')
    """
    text = format(value, f".{decimals}f")
    if not whole and text.lstrip("-").startswith("0."):
        text = text.replace("0.", ".", 1)
    return Marked(text) if math.isfinite(value) else MISSING


def percent(share: float, decimals: int = 0) -> Marked:
    """Return a share as per cent."""
    return Marked(format(share, f".{decimals}%")) if math.isfinite(share) else MISSING


def swap(result: xr.Dataset) -> Iterator[dict[str, Any]]:
    """Yield the four columns of the swap method (Sakai 2005, Tables 1-4; Sakai 2007, Table 3)."""
    from scorecube.report.swap import SENSITIVITY

    decimals = 1 if result.attrs["rule"] == "s0" else 0
    for row in SENSITIVITY.frame(result).to_dict("records"):
        share = row["share"]
        yield {
            "sampling": row["sampling"],
            "confidence": percent(row["confidence"]),
            "metric": row["metric"],
            "gain": row["gain"],
            "(i) required": number(row["required_difference"], 2),
            "(ii) maximum": number(row["max_performance"], 4),
            "(iii) relative": percent(row["relative_difference"]),
            "(iv) comparisons": percent(share, max(decimals, int(share < 0.0995))),
        }


def discriminative_power(result: xr.Dataset) -> Iterator[dict[str, Any]]:
    """Yield significant pairs and the estimated difference (Sakai 2007, Tables 4 and 6)."""
    from scorecube.report.pair_tests import POWER

    for row in POWER.frame(result).to_dict("records"):
        pairs = f"{row['significant']}/{row['pairs']} = {row['share']:.0%}"
        yield {
            "metric": row["metric"],
            "gain": row["gain"],
            "alpha": Marked(f"{row['alpha']:g}"),
            "ASL < alpha": Marked(pairs),
            "estimated diff.": number(row["estimated_difference"], 2),
        }


def taus(result: xr.Dataset) -> Iterator[dict[str, Any]]:
    """Yield a triangle of tau of metrics (Sakai 2007, Table 2)."""
    from scorecube.report.correlate import METRICS

    frame = METRICS.frame(result).rename(columns={"metric_a": "metric"})
    return _crossed(frame, ["gain", "metric"], "metric_b")


def taus_of_gains(result: xr.Dataset) -> Iterator[dict[str, Any]]:
    """Yield tau of each gain setting with the first (Sakai 2007, Table 5)."""
    from scorecube.report.correlate import GAINS

    return _crossed(GAINS.frame(result), ["metric", "default"], "gain")


def _crossed(frame: pd.DataFrame, keys: list[str], across: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each of some keys, with a column for each label across."""
    blank = dict.fromkeys(frame[across].unique(), "-")
    for key, rows in frame.groupby(keys, sort=False):
        cells = {row[across]: tau(row) for row in rows.to_dict("records")}
        yield dict(zip(keys, key, strict=True)) | blank | cells


def tau(row: Mapping[Any, Any]) -> Marked:
    """Return tau with four decimals."""
    return number(row["tau"], 4, whole=False)


def variances(result: xr.Dataset) -> Iterator[dict[str, Any]]:
    """Yield variances by topics, and topics needed (Sakai and Shang 2016, Table 3)."""
    from scorecube.report.teams import VARIANCE

    frame = VARIANCE.frame(result)
    whole = frame[frame["left_out"] == 0]
    for (metric, gain), rows in whole.groupby(["metric", "gain"], sort=False):
        cells = {
            f"n' = {row['n_topics_wanted']}": Marked(
                f"{number(row['variance_mean'], 3, whole=False)} ({row['topics_needed_tool']})"
            )
            for row in rows.to_dict("records")
        }
        yield {"metric": metric, "gain": gain, **cells}


TABLES: Mapping[str, Mapping[str, Table]] = {
    "swap": {"sakai-2005": table(swap), "sakai-2007": table(swap)},
    "bootstrap": {"sakai-2007": table(discriminative_power)},
    "correlate": {"sakai-2007": table(taus), "sakai-2007-gains": table(taus_of_gains)},
    "teams": {"sakai-shang-2016": table(variances)},
}
"""Analysis -> tables by paper. Limits of tau (Sakai and Shang 2016, Table 2): its ``triangle``."""
