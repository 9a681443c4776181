"""What is shown of tests of pairs of runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.frames import combine, frame_of, labelled
from scorecube.analyses.printed import number
from scorecube.collection.schema import CELL, labels_of, variable_of
from scorecube.declare import (
    DISCRIMINATION,
    Answer,
    Canvas,
    Column,
    Down,
    Marked,
    Table,
    View,
    maybe,
    shown,
)

LARGEST = {names.ALPHA: np.inf}
PAIR: tuple[str | Column, ...] = (
    *CELL,
    *("test", "run_a", "run_b", "mean_difference"),
    *maybe("joint_low", "joint_high"),
    *("difference_low", "difference_high", "effect_size"),
    *maybe("effect_size_low", "effect_size_high"),  # not of results before this version
    *("d_z", "p_value"),
    *maybe("p_value_holm", "p_value_bh", "p_single"),
    "t",
    "limits_reason",
)
BRIEF = (
    shown("metric", "label"),
    "significant",
    shown("of", "pairs"),
    "share",
    shown("estimated difference", "estimated_difference"),
    shown("at alpha", "alpha"),
)
OF_T = {"difference_low": ("test", "t")}
"""Limits of a pair by itself are Student's t, and printed beside its p-values alone."""


def at_largest_alpha(result: xr.Dataset) -> xr.Dataset:
    """Return the part of a result at its largest significance level."""
    return result.isel({names.ALPHA: int(result[names.ALPHA].values.argmax())})


def family(attrs: Mapping[str, Any], joint: bool) -> str:
    """Return which comparisons a p-value accounts for."""
    baseline = attrs.get("baseline")
    if not joint:
        return "each pair by itself" if baseline is None else "each comparison by itself"
    compared = "pairs" if baseline is None else f"comparisons with {baseline}"
    return f"all {compared} of a metric together"


POWER = Table(
    (*CELL, "alpha"),
    (
        *CELL,
        "test",
        "alpha",
        "significant",
        Column("pairs", of="n_tested"),
        "share",
        *maybe("estimated_difference"),
        "trials",
    ),
    (Down("alpha"), Down("share")),
    brief=BRIEF,
    at=LARGEST,
)
"""Discriminative power, best first (Sakai 2007, Tables 4 and 6)."""
PAIRS = Table((*CELL, "pair"), PAIR, limits_at=OF_T)
"""Every pair of runs: difference with 95 % limits, effect sizes, and p-values."""
PAIRED = {
    "power": replace(
        POWER,
        dims=(*CELL, "test", "alpha"),
        sort=(Down("test"), Down("alpha"), Down("share")),
        brief=("test", *BRIEF),
    ),
    "pairs": Table(
        (*CELL, "test", "pair"),
        (
            *PAIR,
            Column("p_equivalence", of="equivalence_p_value", optional=True),
            Column("verdict", of="verdict_on_pair", optional=True),
        ),
        part=at_largest_alpha,
        limits_at=OF_T,
    ),
}


def separated(result: xr.Dataset, joint: bool) -> Iterator[Answer]:
    """Yield the share of pairs, or of runs beside the baseline, that each metric separates."""
    attrs = result.attrs
    part = result
    if names.TEST in result.dims:  # by the test that was asked for first
        first = variable_of((), result[names.TEST].values[0])
        part = result.drop_vars(names.TEST).isel(test=0).assign_coords(test=first)
    runs = names.nouns(attrs).runs
    what = f"pairs of {runs} separated"
    if attrs.get("baseline") is not None:
        what = f"{runs} separated from {attrs['baseline']}"
    table = POWER.with_columns(Column("own", of="own_error_pairs", optional=True))
    for row in labelled(frame_of(table, part), LARGEST):
        clause = f"{row['significant']:,} of {row['pairs']:,}"
        clause += f", p < {row['alpha']:g}, {family(attrs, joint)}"
        if row.get("own", 0) > 0:
            clause += f"; Student's t with Holm's adjustment separates {row['own']:.0f} more"
        yield Answer(row["label"], row["share"], form=".1%", clause=clause, what=what)


def p_value_curves(canvas: Canvas, result: xr.Dataset) -> None:
    """Sorted p-values of all pairs, a curve a metric (Sakai 2017, section 2)."""
    if names.TEST in result.dims:
        result = result.isel({names.TEST: 0})
    cells = result.isel(gain=0)
    n_pairs = result.sizes[names.PAIR]
    axes = canvas.panel()
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
    runs = names.nouns(result.attrs).runs
    compared = f"pairs of {runs}" if baseline is None else f"{runs} against {baseline}"
    axes.set(xlabel=f"{compared}, by p-value", ylabel="p-value", title=canvas.title_of(result))
    canvas.legend_outside(axes, "lower left", 4)


def power_bars(canvas: Canvas, results: Sequence[xr.Dataset]) -> None:
    """Discriminative power by collection (Sakai 2007, Figure 10), at the largest level."""
    table = Table(CELL, (*CELL, "alpha", "share"), part=at_largest_alpha)
    frame = combine([frame_of(table, result.isel({names.GAIN: [0]})) for result in results])
    canvas.shares(frame, results, f"% of pairs with p < {frame['alpha'].max():g}")


def power_as_printed(result: xr.Dataset) -> Iterator[dict[str, Any]]:
    """Yield significant pairs and the estimated difference (Sakai 2007, Tables 4 and 6)."""
    for row in frame_of(POWER, result).to_dict("records"):
        pairs = f"{row['significant']}/{row['pairs']} = {row['share']:.0%}"
        yield {
            "metric": row["metric"],
            "gain": row["gain"],
            "alpha": Marked(f"{row['alpha']:g}"),
            "ASL < alpha": Marked(pairs),
            "estimated diff.": number(row.get("estimated_difference", math.nan), 2),
        }


ONE_BY_ONE = "Pairs are tested one by one: a share alpha of pairs without a difference passes."


def view_of_test(
    name: str, heading: str, about: str, *, joint: bool = False, **changes: Any
) -> View:
    """Return the view of a test of pairs.

    joint: Whether its p-values account for all pairs together.
    changes: Other fields of the view.
    """
    view = View(
        name=name,
        heading=heading,
        tables={"power": POWER, "pairs": PAIRS},
        about=about,
        answers={DISCRIMINATION: partial(separated, joint=joint)},
        conditions=("alphas",),
        figure=p_value_curves,
        overview=power_bars,
    )
    return replace(view, shown=(), chapter=None, **changes)
