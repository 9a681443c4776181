"""Tables of the swap method."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.tables.rows import parts, where
from scorecube.report.tables.topic_samples import by_size, sizes_of
from scorecube.statistics.decay_curve import fit_decay, lack_of_fit, sizes_beyond, without_ties

MEASURED = (
    "confidence",
    "required_difference",
    "max_performance",
    "relative_difference",
    "share",
    "required_difference_first",
    "max_difference",
    "support",
)
ADDED = (
    "required_low",
    "required_high",
    "share_low",
    "share_high",
    "share_behind",
    "share_behind_low",
    "share_behind_high",
    "first_probability",
    "required_difference_smooth",
    "required_suffix",
)
"""Columns that results of version 0.1.0 lack; in those the required difference is that of the suffix rule."""
READ = (*MEASURED, *ADDED, "open_bin")
"""Variables of a result that the table of sensitivity shows."""


def values_of(data: xr.Dataset, name: str) -> list[float]:
    """Return a variable of each confidence, missing where a result does not have it."""
    before = {"required_suffix": "required_difference"}
    chosen = name if name in data else before.get(name, "")
    n_levels = data.sizes[names.CONFIDENCE]
    if chosen not in data:
        return [np.nan] * n_levels
    # A DataArray takes much longer to make than its numbers.
    values: list[float] = (
        np.broadcast_to(data.variables[chosen].values, n_levels).astype(float).tolist()
    )
    return values


def sensitivity(result: xr.Dataset) -> pd.DataFrame:
    """Required differences, sorted by the share of comparisons that have them (S0 Tables 1-4, S1 Table 3)."""
    rows, used = [], [name for name in READ if name in result]
    for cell, size, data in by_size(result[used]):
        # All levels at a time: taking one of a dataset costs more than the numbers.
        values = {name: values_of(data, name) for name in (*MEASURED, *ADDED)}
        opened = values_of(data, "open_bin")
        for k in range(data.sizes[names.CONFIDENCE]):
            at = {name: each[k] for name, each in values.items()}
            row = cell | {name: at[name] for name in MEASURED[:5]}
            row |= {"trials": result.attrs["trials"], "size": size}
            row |= {"sampling": result.attrs["sampling"]}
            row |= {name: at[name] for name in (*MEASURED[5:], *ADDED)}
            rows.append(row | {"open_bin": opened[k] == 1})
    frame = pd.DataFrame(rows)
    return frame.sort_values(
        ["confidence", "size", "share"],
        ascending=False,
        kind="stable",
        na_position="last",
        ignore_index=True,
    )


def rates(result: xr.Dataset) -> pd.DataFrame:
    """Swap rate of every difference bin (S0 Figures 2-4); empty bins have none. ``interval`` names the population of its 95 % interval."""
    columns = ["lower", "count", "swaps", "swap_rate", "swap_rate_low", "swap_rate_high"]
    columns += [name for name in ("swap_rate_fitted", "tie_share") if name in result]
    last, rows = interval_of(result), []
    for cell, size, data in by_size(result):
        values = [data[name].values.tolist() for name in (names.BIN, *columns)]
        for numbers in zip(*values, strict=True):
            row = cell | dict(zip(("bin", *columns), numbers, strict=True))
            rows.append(row | {"size": size, "interval": last})
    return pd.DataFrame(rows)


def curves(result: xr.Dataset) -> pd.DataFrame:
    """Swap rate of every difference bin against topic set size (Voorhees and Buckley 2002, Figures 1 and 2).

    ``fitted`` is a decay ``A1 * exp(-A2 * size)`` fitted to the rates of a bin, given where at least three sizes have
    one; sizes at which more than half of a bin's comparisons are exact ties are left out. ``lack_of_fit`` is the root mean square
    of rate - fitted over the sizes of the fit. Rows with ``extrapolated`` are untested sizes, up to twice the largest: the continued fit;
    see `scorecube.statistics.decay_curve` for its error.
    """
    tried = result[names.SIZE].values.astype(float)
    beyond = sizes_beyond(tried)
    bins = [(int(number), float(result["lower"][k])) for k, number in enumerate(result[names.BIN])]
    rows, used = [], [name for name in ("swap_rate", "tie_share") if name in result]
    for cell, data in parts(result[used]):
        measured = data["swap_rate"].transpose(names.BIN, names.SIZE).values
        usable = measured
        if "tie_share" in data:
            ties = data["tie_share"].transpose(names.BIN, names.SIZE).values
            usable = without_ties(measured, ties)
        heights, decays = fit_decay(tried, usable)
        errors = lack_of_fit(tried, usable, heights, decays)
        for k, (height, decay) in enumerate(zip(heights, decays, strict=True)):
            bin_ = dict(zip(("bin", "lower"), bins[k], strict=True))
            known = [*zip(tried, measured[k], [False] * len(tried), strict=True)]
            further = [(size, np.nan, True) for size in beyond] if np.isfinite(height) else []
            rows += [
                where(result)
                | cell
                | bin_
                | {
                    "size": int(size),
                    "swap_rate": float(rate),
                    "fitted": float(height * np.exp(-decay * size)),
                    "extrapolated": extrapolated,
                    "lack_of_fit": float(errors[k]),
                }
                for size, rate, extrapolated in known + further
            ]
    return pd.DataFrame(rows)


def overlap(result: xr.Dataset) -> pd.DataFrame:
    """Mean numbers of distinct and of common topics of the two samples (S0 Table 5)."""
    return pd.DataFrame(
        [
            where(result)
            | {
                "size": size,
                "sampling": result.attrs["sampling"],
                "unique": float(result["unique"].sel(size=size)),
                "common": float(result["common"].sel(size=size)),
            }
            for size in sizes_of(result)
        ]
    )


def interval_of(result: xr.Dataset) -> str:
    """Return the population of the intervals of the swap rates; old results treat comparisons as independent."""
    return str(result.attrs.get("interval", "independent"))


def interval_note(result: xr.Dataset) -> str:
    """Describe the 95 % intervals of the swap rates.

    Examples
    --------
    >>> interval_note(xr.Dataset(attrs={"interval": "trials"}))
    '95% intervals of the rate over infinitely many trials with these topics and runs'
    """
    return INTERVAL_NOTES[interval_of(result)]


INTERVAL_NOTES = {
    "trials": "95% intervals of the rate over infinitely many trials with these topics and runs",
    "population": "95% intervals of the mean rate of collections with as many other topics and teams, drawn in the same way",
    "independent": "95% intervals as if comparisons were independent (too narrow; computed by an older version)",
}


def support_note(result: xr.Dataset) -> str:
    """Return a note on the largest differences, if the last bins are empty for every metric."""
    highest, last = float(result["support"].max()), float(result["lower"].max())
    return (
        ""
        if highest >= last
        else f" No difference of {last:.2f} or more was observed: the highest bin begins at {highest:.2f}."
    )
