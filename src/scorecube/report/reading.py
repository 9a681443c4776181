"""Results in one or two plain sentences."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.formats import ANY_GAIN, cell_text, merge_gains
from scorecube.report.tables import table
from scorecube.report.tables.swap import sizes_of


def headline(result: xr.Dataset) -> list[str]:
    """Return what a result says, shortest first."""
    return HEADLINES[str(result.attrs["analysis"])](result)


def swap_headline(result: xr.Dataset) -> list[str]:
    """Name the metric whose required difference most comparisons have."""
    frame = merge_gains(table(result, "sensitivity"))
    sizes = sizes_of(result)
    strictest = frame[(frame["confidence"] == frame["confidence"].max()) & (frame["size"] == sizes[-1])]
    found = strictest.dropna(subset="share")
    about = f"{result.attrs['n_runs']} runs, samples of {sizes[-1]} topics ({result.attrs['sampling']})"
    if found.empty:
        return [
            f"at {strictest['confidence'].iloc[0]:.0%} confidence no difference is large enough for any metric; {about}"
        ]
    best = found.iloc[0]
    setting = "" if best["gain"] == ANY_GAIN or result.sizes[names.GAIN] == 1 else f" ({best['gain']})"
    return [
        f"at {best['confidence']:.0%} confidence {best['metric']}{setting} is the most sensitive: a difference of "
        f"{best['required_difference']:.2f} is needed, and {best['share']:.1%} of the comparisons have it; {about}",
        *_by_size(
            frame[(frame["metric"] == best["metric"]) & (frame["gain"] == best["gain"])], float(best["confidence"])
        ),
    ]


def _by_size(frame: pd.DataFrame, confidence: float) -> list[str]:
    """Say what fewer topics would need, of a metric and gain setting, if several sizes were tried."""
    chosen = frame[frame["confidence"] == confidence].sort_values("size")
    if len(chosen) < 2:
        return []
    needs = [
        f"{cell_text('required_difference', row.required_difference)} with {row.size}" for row in chosen.itertuples()
    ]
    return [f"difference needed by topics in a sample: {', '.join(needs)}"]


def stability_headline(result: xr.Dataset) -> list[str]:
    """Name the metric with the lowest error rate."""
    frame = merge_gains(table(result, "stability"))
    best = frame[frame["size"] == frame["size"].max()].iloc[0]
    setting = "" if best["gain"] == ANY_GAIN or result.sizes[names.GAIN] == 1 else f" ({best['gain']})"
    return [
        f"{best['metric']}{setting} errs least: {best['error_rate']:.2%} of the comparisons contradict the majority of their "
        f"pair and {best['ties']:.1%} are ties, with fuzziness {best['fuzziness']:.0%} and {best['size']} topics"
    ]


def power_headline(result: xr.Dataset) -> list[str]:
    """Name the metric that tells most pairs of runs apart, and say what is odd."""
    frame = merge_gains(table(result, "power"))
    best = frame[frame["alpha"] == frame["alpha"].max()].iloc[0]
    setting = "" if best["gain"] == ANY_GAIN or result.sizes[names.GAIN] == 1 else f" ({best['gain']})"
    difference = best.get("estimated_difference")
    enough = (
        "" if difference is None or pd.isna(difference) else f"; a difference of {difference:.2f} is enough for that"
    )
    lines = [
        f"{best['metric']}{setting} tells most pairs of runs apart: {best['significant']:,} of {best['pairs']:,} ({best['share']:.1%}) "
        f"have p < {best['alpha']:g}{enough}"
    ]
    equal = int(frame["degenerate_pairs"].max())
    if equal:
        lines.append(f"up to {equal} pairs of runs have equal scores on every topic; they count as not different")
    return [*lines, *result.attrs["notes"]]


def classical_headline(result: xr.Dataset) -> list[str]:
    """Name, for each test, the metric that tells most pairs of runs apart."""
    frame = merge_gains(table(result, "power"))
    plain = frame[(frame["adjustment"] == "none") & (frame["alpha"] == frame["alpha"].max())]
    best = plain.groupby("test", sort=False).first().reset_index()
    return [
        f"{row.test} test: {row.metric} tells most pairs of runs apart, {row.significant:,} of {row.pairs:,} ({row.share:.1%}) have p < {row.alpha:g}"
        for row in best.itertuples()
    ]


HEADLINES = {
    "swap": swap_headline, "stability": stability_headline, "bootstrap": power_headline, "randomisation": power_headline,
    "tukey": power_headline, "unpaired": power_headline, "paired": classical_headline,
}  # fmt: skip
