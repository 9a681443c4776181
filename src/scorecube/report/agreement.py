"""What is shown of the agreement of two sets of judgements: tables, figure and findings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.rank_agreement.agreement_quantities import DECISIONS
from scorecube.collection.schema import labels_of
from scorecube.report.figures.labels import name_conditions
from scorecube.report.figures.style import COLOURS, FIGURE_SIZE, Axes
from scorecube.report.findings import Finding
from scorecube.report.phrases import estimate_text, estimates, of_tau
from scorecube.report.tables import as_records, declared
from scorecube.report.text_formats import cell_text, with_labels
from scorecube.report.view import AGREEMENT, Canvas, Summary, View, on_page

LEAST_SPAN = 1e-9
"""Range of the axes if all means are equal: an axis needs a length."""
MOVED = 0.1
"""Share of the runs by which a rank must change for its line to have a colour."""
RANKINGS = declared(
    "metric gain",
    "metric gain set_a set_b {statistic}=agreement {statistic}_population=population "
    "{statistic}_population_low=population_low {statistic}_population_high=population_high "
    "{statistic}_low=contained_low {statistic}_high=contained_high largest_drop=drop "
    "drop_run=loser drop_low drop_high n_runs n_topics trials tied_pairs_a=tied_first "
    "tied_pairs_b=tied_second tau_bias=bias[tau]",
    sort="-tau",
    dtypes=dict.fromkeys(("tied_pairs_a", "tied_pairs_b"), "int64"),
)
"""Agreement of the rankings of runs; the most similar first.

`tau_population` and its likes are over infinitely many topics, with intervals. Percentile intervals over topic samples (`tau_low`,
`tau_high`) are missing where they exclude their value.
"""
PAIRS = declared(
    "alpha metric gain",
    "metric gain set_a set_b test alpha pairs=n_pairs active_agreement active_disagreement "
    "mixed_agreement mixed_disagreement passive_agreement passive_disagreement top top_pairs "
    "top_significant top_significant_second false_positives false_negatives",
)
"""Pairs of runs by the decisions of both sets of judgements, and false decisions among the best runs of the first set."""
RUNS = declared(
    "metric gain run",
    "metric gain set_a set_b run mean_a=mean_first mean_b=mean_second mean_change "
    "rank_a=rank_first rank_b=rank_second rank_change",
    sort="rank_a",
    within=2,
    long=True,
)
"""Mean and rank of every run under both sets of judgements, by its rank under the first; a positive rank change is a loss."""


def conditions(result: xr.Dataset) -> str:
    """Return sets and conditions of a result in one line."""
    attrs = result.attrs
    return f"{attrs['set_a']} against {attrs['set_b']}, {attrs['n_runs']} runs, {attrs['n_topics']} topics, {attrs['trials']:,} trials"


def title(options: Mapping[str, Any]) -> str:
    """Return the sets of judgements."""
    return f"{options['first']} against {options['second']}"


def findings(result: xr.Dataset) -> Iterator[Finding]:
    """Yield for each metric how similarly two sets of judgements rank the runs, and which run loses most ranks."""
    attrs, confidence = result.attrs, float(result.attrs["confidence"])
    sets = f"{attrs['set_a']} and {attrs['set_b']}"
    for row in as_records(with_labels(RANKINGS.make(result))):
        drop = "no run loses a rank"
        if row["largest_drop"]:
            drop = f"{row['drop_run']} loses the most ranks ({row['largest_drop']})"
        tau = cell_text(row["tau"])
        yield of_tau(
            f"{row['label']}: tau {tau} between {sets} on these {attrs['n_topics']} topics{estimate_text(row, confidence=confidence)} "
            f"for these {attrs['n_runs']} runs; {drop}",
            f"tau between {sets}, {row['label']}",
            row,
            confidence,
            "rankings",
        )
    if reason := result.attrs["no_interval"]:
        yield Finding(f"no interval over infinitely many topics: {reason}")


def agreement_panels(canvas: Canvas, result: xr.Dataset) -> None:
    """Means under both sets with the diagonal, and ranks under both sets joined by lines; a row a metric.

    Runs that lose many ranks are red, those that gain many are blue; the one that loses most is ringed and named.
    """
    cells = result.isel(gain=0)
    shown = labels_of(result, names.METRIC)[:4]  # in one figure; the tables have all
    figure = canvas.figure((FIGURE_SIZE[0], 0.5 + 3.2 * len(shown)))
    panels = figure.subplots(len(shown), 2, squeeze=False)
    for k, metric in enumerate(shown):
        at = cells.isel(metric=k)
        colours = _colours(at)
        _means(panels[k, 0], at, colours, result.attrs)
        _ranks(panels[k, 1], at, colours, result.attrs)
        tau, found = float(at["agreement"].values[0]), estimate_text(estimates(at, "tau"))
        panels[k, 0].set_title(f"{metric}: tau {tau:.3f}{found}")
    name_conditions(figure, conditions(result), cells, shown)


def _colours(at: xr.Dataset) -> list[str]:
    change = at["rank_second"].values - at["rank_first"].values
    least = max(1.0, MOVED * len(change))
    return [
        COLOURS[1] if lost >= least else COLOURS[0] if -lost >= least else "0.65" for lost in change
    ]


def _name(at: xr.Dataset) -> tuple[int, str]:
    """Return the run that loses most ranks, and its label, which is empty if no run loses any."""
    run = int(at["drop_run"])
    return run, labels_of(at, names.RUN)[run] if int(at["drop"]) > 0 else ""


def _means(axes: Axes, at: xr.Dataset, colours: list[str], attrs: dict[Any, Any]) -> None:
    a, b = at["mean_first"].values, at["mean_second"].values
    low, high = min(a.min(), b.min()), max(a.max(), b.max())
    margin = 0.05 * max(high - low, LEAST_SPAN)
    ends = [low - margin, high + margin]
    axes.plot(ends, ends, linewidth=0.8, color="0.4", linestyle="--")
    axes.scatter(a, b, s=12, c=colours, linewidths=0)
    run, name = _name(at)
    if name:
        axes.scatter(a[run], b[run], s=45, facecolors="none", edgecolors="0.1", linewidths=0.9)
    axes.set(xlabel=f"mean, {attrs['set_a']}", ylabel=f"mean, {attrs['set_b']}")


def _ranks(axes: Axes, at: xr.Dataset, colours: list[str], attrs: dict[Any, Any]) -> None:
    first, second = at["rank_first"].values, at["rank_second"].values
    # Runs that moved little are drawn first, so that the others lie above them.
    for run in np.argsort(np.abs(second - first), kind="stable"):
        style = {"color": colours[run], "linewidth": 0.9, "marker": "o", "markersize": 2}
        axes.plot([0, 1], [first[run], second[run]], **style)
    run, name = _name(at)
    if name:
        words: Any = {"fontsize": 7, "va": "center", "annotation_clip": False}
        axes.annotate(name, (1, second[run]), (5, 0), textcoords="offset points", **words)
    axes.set_xlim(-0.08, 1.5)
    axes.set_xticks([0, 1], [str(attrs["set_a"]), str(attrs["set_b"])])
    axes.invert_yaxis()
    axes.grid(axis="x", visible=False)
    axes.set_ylabel("rank")


VIEW = View(
    name="agreement",
    heading="Agreement of two sets of judgements",
    about=(
        "The same runs are scored with two sets of judgements, the first of which is taken as the truth. Rank correlations (tau, and tau-AP with more "
        "weight on the best runs) compare the rankings. Pairs of runs are active if both sets find "
        "a significant difference, mixed if one does, passive if neither does; disagreements put the two runs in opposite orders. False "
        "positives are differences among the best runs that only the second set finds. The observed agreement estimates what other topics, as many, "
        "would show on average. The agreement of the two rankings of these runs over infinitely many topics (tau_population and its likes, with "
        "intervals) is another quantity, and usually higher, as chance in the topics separates the two rankings. Its intervals covered the true "
        'tau in most simulations as often as stated; the documentation of scorecube lists the others ("Intervals: estimands and coverage"). '
        "Percentile intervals over resampled topics are no "
        "confidence intervals of either, and are left out where they exclude their value."
    ),
    summary=(
        Summary(
            "metric=label tau over_other_topics=tau_population~ tau_ap "
            "largest_drop=largest_drop of_run=drop_run",
            most=3,
            bar="over other topics",
        ),
        Summary(
            f"metric=label test pairs {' '.join(f'{each}={each}' for each in DECISIONS)}",
            table="decisions",
            most=4,
            at={names.ALPHA: math.inf},
            title="pairs by their decisions",
        ),
    ),
    tables={"rankings": RANKINGS, "decisions": PAIRS, "runs": RUNS},
    title=title,
    caption=lambda result: (
        f"{conditions(result)}. Means under both sets, and ranks; red runs lose a tenth of the ranks or more, blue ones gain."
    ),
    findings=findings,
    page_tables=on_page(
        {"Rankings of runs": "rankings", "Decisions on pairs of runs": "decisions"},
        without=("trials", "set_a", "set_b"),
    ),
    figure=agreement_panels,
    by_metric=True,
    chapter=AGREEMENT,
)
