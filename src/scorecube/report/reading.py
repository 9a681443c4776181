"""Results in one or two plain sentences."""

from __future__ import annotations

import xarray as xr

from scorecube import names
from scorecube.report.formats import ANY_GAIN, merge_gains
from scorecube.report.tables import table


def headline(result: xr.Dataset) -> list[str]:
    """Return what a result says, shortest first."""
    return HEADLINES[str(result.attrs["analysis"])](result)


def swap_headline(result: xr.Dataset) -> list[str]:
    """Name the metric whose required difference most comparisons have."""
    frame = merge_gains(table(result, "sensitivity"))
    strictest = frame[frame["confidence"] == frame["confidence"].max()]
    found = strictest.dropna(subset="share")
    about = f"{result.attrs['n_runs']} runs, samples of {result.attrs['size']} topics ({result.attrs['sampling']})"
    if found.empty:
        return [
            f"at {strictest['confidence'].iloc[0]:.0%} confidence no difference is large enough for any metric; {about}"
        ]
    best = found.iloc[0]
    setting = "" if best["gain"] == ANY_GAIN or result.sizes[names.GAIN] == 1 else f" ({best['gain']})"
    return [
        f"at {best['confidence']:.0%} confidence {best['metric']}{setting} is the most sensitive: a difference of "
        f"{best['required_difference']:.2f} is needed, and {best['share']:.1%} of the comparisons have it; {about}"
    ]


HEADLINES = {"swap": swap_headline}
