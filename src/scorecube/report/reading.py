"""Results in one or two plain sentences."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.formats import ANY_GAIN, cell_text, merge_gains
from scorecube.report.tables import as_records, table
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
    none = f"no pair of runs has p < {best['alpha']:g}, whatever the metric ({best['pairs']:,} pairs)"
    lines = [
        none
        if best["significant"] == 0
        else f"{best['metric']}{setting} tells most pairs of runs apart: {best['significant']:,} of {best['pairs']:,} ({best['share']:.1%}) "
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
        if row.significant
        else f"{row.test} test: no pair of runs has p < {row.alpha:g}, whatever the metric ({row.pairs:,} pairs)"
        for row in best.itertuples()
    ]


def splits_headline(result: xr.Dataset) -> list[str]:
    """Name the metric whose ranking depends least on the topics, and say how many topics it takes."""
    frame = merge_gains(table(result, "quantiles"))
    best = frame.iloc[0]
    setting = "" if best["gain"] == ANY_GAIN or result.sizes[names.GAIN] == 1 else f" ({best['gain']})"
    lines = [
        f"{best['metric']}{setting} ranks runs most alike on two samples of {best['size']} topics: tau {best['tau_mean']:.3f} on average, "
        f"{best['tau_5']:.3f} to {best['tau_95']:.3f} in 90% of the trials; the same run is best in {best['share_same_best']:.0%}"
    ]
    for level, rows in table(result, "settled").dropna(subset="settled_at").groupby("tau", sort=False):
        soonest = rows.sort_values("settled_at", kind="stable").iloc[0]
        lines.append(
            f"95% of the trials reach a tau of {level!s} from {soonest['settled_at']:.0f} topics on with {soonest['metric']}"
        )
    return lines


def agreement_headline(result: xr.Dataset) -> list[str]:
    """Say for each metric how alike two sets of judgements rank the runs, and who loses most."""
    facts = result.attrs
    lines = []
    frame = merge_gains(table(result, "rankings"))
    for row in as_records(frame):
        setting = "" if row["gain"] == ANY_GAIN or result.sizes[names.GAIN] == 1 else f" ({row['gain']})"
        drop = (
            f"{row['drop_run']} loses most, {row['largest_drop']} ranks"
            if row["largest_drop"]
            else "no run loses a rank"
        )
        tau, low, high, rbo = (cell_text(name, row[name]) for name in ("tau", "tau_low", "tau_high", "rbo"))
        lines.append(
            f"{row['metric']}{setting}: tau {tau} [{low}, {high}] between {facts['set_a']} and {facts['set_b']}, RBO {rbo}; {drop}"
        )
    below = int((frame["tau_high"] < frame["tau"]).sum())
    if below:
        lines.append(
            f"{below} intervals lie below the tau of all topics: samples with replacement hold fewer distinct topics and rank runs less well; "
            "--interval basic mirrors them at the observed value"
        )
    return lines


def correlation_headline(result: xr.Dataset) -> list[str]:
    """Name the most and the least alike pair of metrics, and the gain setting that changes a ranking most."""
    lines = []
    along = {"metrics": ("metric_a", "metric_b"), "gains": ("metric", "gain")}
    for name, (first, second) in along.items():
        frame = merge_gains(table(result, name)).dropna(subset="tau").sort_values("tau", kind="stable")
        if frame.empty:
            continue
        records = frame.to_dict("records")
        least, most = records[0], records[-1]
        link = " and " if name == "metrics" else " with "
        what = "metrics" if name == "metrics" else f"gain settings, against {least['default']}"
        ties = f"; up to {int(frame['tied_pairs'].max())} pairs of runs are tied" if frame["tied_pairs"].any() else ""
        lines.append(
            f"{what}: tau is highest for {most[first]}{link}{most[second]} ({most['tau']:.3f}) and lowest for "
            f"{least[first]}{link}{least[second]} ({least['tau']:.3f}); {result.attrs['n_runs']} runs{ties}"
        )
    return lines


HEADLINES = {
    "swap": swap_headline, "stability": stability_headline, "bootstrap": power_headline, "randomisation": power_headline,
    "tukey": power_headline, "unpaired": power_headline, "paired": classical_headline,
    "correlate": correlation_headline, "splits": splits_headline, "agreement": agreement_headline,
}  # fmt: skip
