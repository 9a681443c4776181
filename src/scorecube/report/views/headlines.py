"""Results in one or two plain sentences."""

from __future__ import annotations

from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.tables import as_records, table
from scorecube.report.tables.swap import sizes_of
from scorecube.report.text_formats import ANY_GAIN, cell_text, merge_gains


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
        f"{'none suffices' if missing else cell_text('required_difference', row.required_difference)} with {row.size}"
        for row, missing in zip(chosen.itertuples(), chosen["required_difference"].isna(), strict=True)
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


MOST_NAMED = 6
"""Metrics that a sentence lists."""


def teams_headline(result: xr.Dataset) -> list[str]:
    """Say how many teams can go before the variance changes, what the ranking loses, and which run depends most on its team."""
    frame = merge_gains(table(result, "first_miss"))
    misses = as_records(frame[frame["n_topics_wanted"] == frame["n_topics_wanted"].max()])
    settings = frame[names.GAIN].nunique() > 1
    parts = [
        f"{row['metric']}{f' ({row[names.GAIN]})' if settings and row[names.GAIN] != ANY_GAIN else ''} "
        f"{'never' if row['first_miss'] is None else _miss(row)}"
        for row in misses
    ]
    more = f"; {len(parts) - MOST_NAMED} more in the tables" if len(parts) > MOST_NAMED else ""
    lines = [
        f"the interval over trials first misses the variance of the whole with so many of {result.sizes[names.TEAM]} teams left out (and its middle is off "
        f"by so much): {', '.join(parts[:MOST_NAMED])}{more}"
    ]
    lines += _order_kept(table(result, "reusability"))
    own = table(result, "own")
    lost = (own["rank_without"] - own["rank"]).to_numpy()
    if lost.max() > 0:
        run = own.iloc[int(lost.argmax())]
        lines.append(
            f"without what only its own team contributed, {run['run']} of {run['team']} falls from rank {run['rank']} to {run['rank_without']} by "
            f"{run['metric']}; no other run loses more"
        )
    return [*lines, *result.attrs.get("notes", [])]


def _order_kept(frame: pd.DataFrame) -> list[str]:
    """Say what the fewest teams that are left out do to the ranking; nothing where no ranking is left."""
    fewest = frame[frame["left_out"] == frame.loc[frame["left_out"] > 0, "left_out"].min()]
    # With equal means tau is below 1 already without any team left out.
    whole = frame.loc[frame["left_out"] == 0, "tau_mean"].to_numpy()
    fewest = fewest.assign(whole=whole, loss=whole - fewest["tau_mean"]).dropna(subset="tau_mean")
    if fewest.empty:
        return []
    worst = fewest.sort_values("loss", ascending=False, kind="stable").iloc[0]
    number = f"{worst['left_out']} team{'s' if worst['left_out'] > 1 else ''}"
    return [
        f"without {number} the order of the others changes most by {worst['metric']}: tau with the full evaluation {worst['tau_mean']:.3f} on average and "
        f"{worst['tau_lowest']:.3f} at the lowest, {worst['whole']:.3f} with all teams; no run loses more than "
        f"{fewest['rank_drop_largest'].max()} ranks by any metric"
    ]


def _miss(row: dict[str, Any]) -> str:
    """Say with how many teams the interval misses, and by how much its middle is off."""
    return f"{row['first_miss']} ({row['variance_there'] / row['variance'] - 1:+.1%})"


def design_headline(result: xr.Dataset) -> list[str]:
    """Name the metrics that need fewest and most topics."""
    frame = merge_gains(table(result)).sort_values("topics", kind="stable")
    settings = frame[names.GAIN].nunique() > 1
    least, most = (
        f"{row['topics']} topics by {row['metric']}{f' ({row[names.GAIN]})' if settings and row[names.GAIN] != ANY_GAIN else ''}"
        for row in (frame.iloc[0], frame.iloc[-1])
    )
    first = frame.iloc[0]
    return [
        f"to detect a difference of {first['min_diff']:g} between the best and the worst of {first['systems']} systems takes {least}"
        + (f" and {most}" if len(frame) > 1 else "")
        + f"; the collection has {result.attrs['topics_at_hand']}"
    ]


HEADLINES = {
    "swap": swap_headline, "stability": stability_headline, "bootstrap": power_headline, "randomisation": power_headline,
    "tukey": power_headline, "unpaired": power_headline, "paired": classical_headline,
    "correlate": correlation_headline, "splits": splits_headline, "agreement": agreement_headline,
    "teams": teams_headline, "design": design_headline,
}  # fmt: skip
