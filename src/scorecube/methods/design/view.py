"""What is shown of topic set size design and of worst-case widths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.frames import KEYS, labelled
from scorecube.collection.teams import listed
from scorecube.declare import (
    TOPICS,
    Answer,
    Canvas,
    Table,
    Variable,
    View,
    interval,
    is_known,
    shown,
)
from scorecube.methods.design import curves
from scorecube.methods.design import estimates as designs
from scorecube.methods.design.pair import NEEDED, OF_PAIR, REPETITIONS

SIZES = (
    *("method", "mode", "variance", "variance_of", "min_diff", "width", "systems"),
    *("alpha", "beta"),
    *("topics", "topics_low", "topics_high", "power"),
)
BESIDE = ("topics_retrained", "expected_width", "noncentrality", "exact_noncentrality")
WIDTHS = ("route", "variance", "variance_of", "systems", "alpha", "beta", "topics", "width")
OF_WIDTHS = (
    Variable("route", "condition", "way to the width", kinds="O"),
    Variable("variance_of", "condition", "what the variance is of", kinds="O"),
)
WHOLE = ("systems", "topics", "topics_low", "topics_high")
WORDS = {
    "paired": "the paired variance (two-way residual)",
    "within": "the variance within systems (one-way)",
}


def sizes(result: xr.Dataset) -> pd.DataFrame:
    """Return numbers of topics, with the requirements."""
    return _rows(result, (*SIZES, *KEYS, *result.indexes, *BESIDE), SIZES)


def widths(result: xr.Dataset) -> pd.DataFrame:
    """Return confidence interval widths by number of topics."""
    frame = _rows(result, (*KEYS, *WIDTHS, *result.indexes), WIDTHS)
    intervals = frame["route"] == "ci"
    for column in ("systems", "beta") if intervals.any() else ():  # the closed form has neither
        frame[column] = frame[column].astype(object).where(~intervals, None)
    return frame


def _rows(result: xr.Dataset, columns: Sequence[Any], always: Sequence[str]) -> pd.DataFrame:
    """Return one row for each combination of parameters; what a method does not use is missing."""
    dims = ["row", *result[next(iter(result.data_vars))].dims]
    frame = result.expand_dims("row").to_dataframe(dim_order=dims).reset_index()
    for column in {*columns} & result.attrs.keys():
        frame[column] = str(result.attrs[column])
    whole = [name for name in WHOLE if name in frame and np.isfinite(frame[name]).all()]
    shown = [name for name in dict.fromkeys(columns) if name in frame or name in always]
    return frame.astype(dict.fromkeys(whole, np.int64)).reindex(columns=shown)


def answers(result: xr.Dataset) -> Iterator[Answer]:
    """Yield the topics that each metric needs; nothing for designs from numbers."""
    at_hand = result.attrs.get(names.N_TOPICS)
    if at_hand is None or result.attrs.get("method") == "ci":
        return
    if "pair" in result.attrs:
        yield from answers_of_pair(result)
        return
    needed = f"{names.nouns(result.attrs).topics} needed"
    for row in labelled(sizes(result)):
        low = row["topics_low"]
        high = row["topics_high"]
        enough = f"{at_hand} are at hand"
        if is_known(low) and is_known(high):
            verdict = "are enough" if high <= at_hand else "may be enough"
            enough = f"the {at_hand} at hand {'are too few' if low > at_hand else verdict}"
        if row["variance"] == 0:
            yield Answer(row["label"], np.nan, clause=designs.NO_VARIANCE, what=needed)
            continue
        clause = (
            f"for a difference of {row['min_diff']:g}, best against worst of "
            f"{row['systems']:g} systems (alpha {row['alpha']:g}, power {1 - row['beta']:.0%}), by "
            f"{WORDS[row['variance_of']]} of {row['variance']:.4f}; {enough}"
        )
        yield Answer(row["label"], row["topics"], low, high, ",.0f", clause, needed)


def answers_of_pair(result: xr.Dataset) -> Iterator[Answer]:
    """Yield the topics that the difference of two systems needs, with one repetition and more."""
    nouns = names.nouns(result.attrs)
    several = names.plural(nouns.repetition)
    compared = " and ".join(result.attrs["pair"])
    needed = result[NEEDED].values.ravel().tolist()
    frame = sizes(result)
    rows = labelled(frame[frame[REPETITIONS] == 1])
    for row, repetitions in zip(rows, needed, strict=True):
        clause = (
            f"for a difference of {row['min_diff']:g} between {compared} (alpha {row['alpha']:g}, "
            f"power {1 - row['beta']:.0%}), with one {nouns.repetition} of each"
        )
        if result.sizes[REPETITIONS] > 1:
            enough = f"no number of {several} is enough"
            if is_known(repetitions):
                enough = f"{repetitions:.0f} {several} of each are needed"
            at_hand = f"the {result.attrs[names.N_TOPICS]} {nouns.topics} at hand"
            clause += f"; with {at_hand}, for other {several}, too, {enough}"
        what = f"{nouns.topics} needed"
        yield Answer(row["label"], row["topics"], form=",.0f", clause=clause, what=what)


def needs_of_mean(results: Sequence[xr.Dataset]) -> list[str]:
    """Return what the mean over collections needs of a pair, which `compare` and `gate` judge."""
    if "pair" not in results[0].attrs:
        return []
    nouns = names.nouns(results[0].attrs)
    needed: dict[str, list[float]] = {}
    for answer in chain.from_iterable(map(answers_of_pair, results)):
        needed.setdefault(answer.label, []).append(answer.value)
    # The variance of a mean of k means is their sum over the square of k.
    sizes = [f"{np.mean(of) / len(results):,.0f} ({label})" for label, of in needed.items()]
    return [
        f"Each row is about one {nouns.collection} by itself. The mean over all, which compare and "
        f"gate judge, needs in each about this number of {nouns.topics}: {listed(sizes)}."
    ]


def width_curves(canvas: Canvas, result: xr.Dataset) -> None:
    """Worst-case width by number of topics, a curve a variance or metric (Sakai 2017, Figure 3)."""
    axes = canvas.panel()
    chosen = result.isel({names.GAIN: 0}, missing_dims="ignore")
    for k, (label, line) in enumerate(curves_of(chosen, "topics")):
        style = canvas.curve(k) | {"marker": "o" if line["width"].size == 1 else None}
        axes.plot(line["topics"], line["width"], label=label, **style)
    topics = names.nouns(result.attrs).topics
    axes.set(xlabel=f"number of {topics}", ylabel="worst-case confidence interval width")
    axes.set(title=canvas.title_of(chosen), ylim=(0, None))
    axes.legend(fontsize=8)


def size_curves(canvas: Canvas, result: xr.Dataset) -> None:
    """Topics by difference to be detected, the requirements marked; or the curves of a paper."""
    if curves.CURVES in result.attrs:
        curves.draw(canvas, result)
        return
    axes = canvas.panel()
    chosen = result.isel({names.GAIN: 0}, missing_dims="ignore")
    x = "width" if chosen.attrs["method"] == "ci" else "min_diff"
    if x not in chosen.dims:
        chosen = chosen.expand_dims(x, axis=-1)
    points = np.linspace(float(chosen[x].min()), 3.0 * float(chosen[x].max()), 120)
    for k, (label, line) in enumerate(curves_of(chosen, x)):
        style = canvas.curve(k)
        axes.plot(points, designs.topics_at(line, x, points.tolist()), label=label, **style)
        axes.plot(line[x], line["topics"], "o", markersize=5, color=style["color"])
    words = {"width": "width of the limits", "min_diff": "difference to be detected"}
    topics = names.nouns(result.attrs).topics
    axes.set(xlabel=words[x], ylabel=f"number of {topics}")
    axes.set(ylim=(0.0, None), title=canvas.title_of(chosen))
    axes.legend(fontsize=8)


def curves_of(result: xr.Dataset, along: str) -> Iterator[tuple[str, xr.Dataset]]:
    """Yield label and part of the result for each curve, which runs along one dim."""
    dims = [str(dim) for dim in result[next(iter(result.data_vars))].dims if dim != along]
    for index in np.ndindex(*(result.sizes[dim] for dim in dims)):
        part = result.isel(dict(zip(dims, index, strict=True)))
        words = ((dim, part[dim].item()) for dim in dims or ["variance"])
        texts = (word if isinstance(word, str) else f"{dim} {word:.4g}" for dim, word in words)
        yield ", ".join(texts), part


DESIGN = View(
    name="design",
    heading="Topic set size design",
    tables={
        "sizes": Table(
            (),
            make=sizes,
            variables=(*designs.SIZES, *OF_PAIR),
            brief=(
                shown("metric", "label"),
                shown("min diff", "min_diff"),
                "width",
                shown("topics needed", *interval("topics")),
                shown("have", "n_topics"),
                "repetitions",
                *BESIDE,
                "systems",
                "variance",
                shown("of", "variance_of"),
                "alpha",
                "power",
            ),
        )
    },
    about="How many topics separate the best and the worst of several systems, whose means differ "
    "by at least the difference, with probability 1 - beta at level alpha? By the paired variance "
    "(two-way residual) all systems have the same topics; the papers take the one within systems "
    "(one-way), which is larger and asks for more. Limits are about these systems on other topics. "
    "Fewer topics do not make a metric better: equal differences mean less on a wide range.",
    answers={TOPICS: answers},
    conditions=("method", "mode", "variance_of", "min_diff", "systems", "alpha", "beta"),
    figure=size_curves,
    compute=lambda cube: designs.design_of_cube(cube, "drop"),
    page_result=designs.page_design,
    of_several=needs_of_mean,
)
WCW = View(
    name="wcw",
    heading="Worst-case confidence interval widths",
    tables={
        "widths": Table(
            (),
            make=widths,
            variables=(*designs.SIZES, *OF_WIDTHS),
            brief=(
                shown("metric", "label"),
                *("route", "topics", "width", "variance"),
                shown("variance of", "variance_of"),
                "systems",
                "alpha",
            ),
            at={"topics": (10, 25, 50, 100, 200)},
        )
    },
    figure=width_curves,
    compute=lambda cube: designs.widths_of_cube(cube, "drop"),
)
