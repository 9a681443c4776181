"""What is shown of tests of pairs of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.results import labelled
from scorecube.report.tables import Table, combine
from scorecube.report.views import DISCRIMINATION, Answer, View

JOINT = ("tukey", "maxt")
"""Tests whose p-values account for all pairs together."""
LARGEST = {names.ALPHA: np.inf}
COUNTS = "significant pairs=n_tested share estimated_difference? trials"
PAIR = (
    "test run_a run_b mean_difference joint_low? joint_high? difference_low difference_high "
    "effect_size d_z p_value p_value_holm? p_value_bh? p_single? t limits_reason"
)
BRIEF = "metric=label significant of=pairs share estimated_difference alpha"
OF_T = {"difference_low": ("test", "t")}
"""Limits of a pair by itself are Student's t, and printed beside its p-values alone."""


def at_largest_alpha(result: xr.Dataset) -> xr.Dataset:
    """Return the part of a result at its largest significance level."""
    return result.isel({names.ALPHA: int(result[names.ALPHA].values.argmax())})


def family(attrs: Mapping[str, Any]) -> str:
    """Return which comparisons a p-value accounts for."""
    baseline = attrs.get("baseline")
    if attrs.get("analysis") not in JOINT:
        return "each pair by itself" if baseline is None else "each comparison by itself"
    compared = "pairs" if baseline is None else f"comparisons with {baseline}"
    return f"all {compared} of a metric together"


POWER = Table(
    "metric gain alpha",
    f"metric gain test alpha {COUNTS}",
    "-alpha -share",
    brief=BRIEF,
    at=LARGEST,
)
"""Discriminative power, best first (Sakai 2007, Tables 4 and 6)."""
PAIRS = Table("metric gain pair", f"metric gain {PAIR}", limits_at=OF_T)
"""Every pair of runs: difference with 95 % limits, effect sizes, and p-values."""
PAIRED = {
    "power": replace(
        POWER, dims="metric gain test alpha", sort="-test -alpha -share", brief=f"test {BRIEF}"
    ),
    "pairs": Table(
        "metric gain test pair",
        f"metric gain {PAIR} p_equivalence?=equivalence_p_value verdict?=verdict_on_pair",
        part=at_largest_alpha,
        limits_at=OF_T,
    ),
}


def separated(result: xr.Dataset) -> Iterator[Answer]:
    """Yield the share of pairs, or of runs beside the baseline, that each metric separates."""
    attrs, part = result.attrs, result
    if names.TEST in result.dims:  # by the test that was asked for first
        part = result.isel({names.TEST: 0})
    what = "pairs of runs separated"
    if attrs.get("baseline") is not None:
        what = f"runs separated from {attrs['baseline']}"
    table = replace(POWER, columns=f"{POWER.columns} own?=own_error_pairs")
    for row in labelled(table.frame(part), LARGEST):
        clause = f"{row['significant']:,} of {row['pairs']:,}"
        clause += f", p < {row['alpha']:g}, {family(attrs)}"
        if row.get("own", 0) > 0:
            clause += f"; their own errors alone would separate {row['own']:.0f} more"
        yield Answer(row["label"], row["share"], form=".1%", clause=clause, what=what)


def p_value_curves(canvas: Any, result: xr.Dataset) -> None:
    """Sorted p-values of all pairs, a curve a metric (Sakai 2017, section 2)."""
    if names.TEST in result.dims:
        result = result.isel({names.TEST: 0})
    cells, n_pairs, axes = result.isel(gain=0), result.sizes[names.PAIR], canvas.panel()
    for k, label in enumerate(labels_of(result, names.METRIC)):
        p = np.sort(cells["p_value"].isel(metric=k).values)
        p = p[~np.isnan(p)]
        # Of a curve over very many pairs a thousand points.
        shown = np.unique(np.linspace(0, max(len(p) - 1, 0), min(1000, len(p))).astype(int))
        style = canvas.curve(k, 3.5 if n_pairs <= 30 else 0.0, 1.4)
        axes.plot(shown + 1, p[shown], label=label, **style)
    alphas = result[names.ALPHA].values
    for alpha in alphas:
        axes.axhline(alpha, linestyle=":", linewidth=0.9, color="0.35")
        style = {"fontsize": 8, "color": "0.35", "va": "center", "annotation_clip": False}
        axes.annotate(f"{alpha:g}", (1.005, alpha), xycoords=("axes fraction", "data"), **style)
    top = min(1.0, max(3 * float(max(alphas)), 0.15))
    # Room below, so that curves along p = 0 are visible.
    axes.set(ylim=(-0.02 * top, top), xlim=(0, n_pairs + max(1, n_pairs // 50)))
    axes.locator_params(axis="x", integer=True)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    baseline = result.attrs.get("baseline")
    compared = "pairs of runs" if baseline is None else f"runs against {baseline}"
    axes.set(xlabel=f"{compared}, by p-value", ylabel="p-value", title=canvas.title_of(result))
    canvas.legend_outside(axes, "right upper")


def power_bars(canvas: Any, results: Sequence[xr.Dataset]) -> None:
    """Discriminative power by collection (Sakai 2007, Figure 10), at the largest level."""
    table = Table("metric gain", "metric gain alpha share", part=at_largest_alpha)
    frame = combine([table.frame(result.isel({names.GAIN: [0]})) for result in results])
    canvas.shares(frame, results, f"% of pairs with p < {frame['alpha'].max():g}")


ONE_BY_ONE = "Pairs are tested one by one: a share alpha of pairs without a difference passes."
TESTS = {
    "bootstrap": (
        "Bootstrap test",
        "Topics are drawn anew with replacement. The p-value is the share of draws in which chance "
        "alone makes a pair's t statistic as large as the observed one; Sakai's estimated "
        f"difference is what it reaches with probability alpha in some pair. {ONE_BY_ONE}",
    ),
    "randomisation": (
        "Randomisation test",
        "The p-value is the share of random exchanges of two runs' scores on topics that make the "
        f"mean difference at least as large as the observed one. {ONE_BY_ONE}",
    ),
    "tukey": (
        "Randomised Tukey HSD test",
        "The scores of all runs are shuffled within each topic; the p-value of a pair is the share "
        "of shuffles in which the largest difference of any two means reaches the pair's. Where "
        "runs vary differently it errs more often than alpha (0.05 to 0.12 at 0.05 on real scores, "
        "0.16 where nearly all scores are 1, 0.34 with one erratic run of 30); the max-T test does "
        "not.",
    ),
    "maxt": (
        "Step-down max-T test",
        "Topics are drawn anew with the differences of every pair centred; the p-value of a pair "
        "is the share of draws in which the largest moderated t of the pairs that are not yet "
        "decided reaches the pair's. Some pair without a difference is significant with "
        "probability alpha (measured at 0.05: 0.05 to 0.11).",
    ),
    "paired": (
        "Classical tests",
        "Paired t test, Wilcoxon's signed-rank test and the sign test of every pair; the latter "
        "two separate equal means too often where differences are skewed. Limits are those of t, "
        "which has pseudo-topics at plus and minus the range where few topics differ and for "
        "scores of 0 and 1; p < .05 where they do not hold 0. With a margin, two "
        "one-sided t tests find pairs whose means differ by less (equivalent).",
    ),
}
VIEWS = {
    name: View(
        name=name,
        heading=heading,
        tables={"power": POWER, "pairs": PAIRS},
        about=about,
        answers={DISCRIMINATION: separated},
        conditions="alphas",
        figure=p_value_curves,
        overview=power_bars,
    )
    for name, (heading, about) in TESTS.items()
}
VIEWS["paired"] = replace(VIEWS["paired"], tables=PAIRED, conditions="tests alphas", overview=None)
