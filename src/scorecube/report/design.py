"""What is shown of topic set size design and of worst-case widths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.design_curves import with_curves
from scorecube.analyses.designs import VARIABLES, design_of_cube, page_design, widths_of_cube
from scorecube.report.readable import is_known
from scorecube.report.results import labelled
from scorecube.report.tables import COLLECTION, Table
from scorecube.report.views import TOPICS, Answer, View

CELL = (COLLECTION, names.METRIC, names.GAIN)
SIZES = (
    *("method", "mode", "variance", "min_diff", "width", "systems", "alpha", "beta"),
    *("topics", "topics_low", "topics_high", "power"),
)
WIDTHS = ("route", "variance", "systems", "alpha", "beta", "topics", "width")
WHOLE = ("systems", "topics", "topics_low", "topics_high")
WORDS = {"min_diff": "difference to be detected", "width": "width of the confidence interval"}


def sizes(result: xr.Dataset) -> pd.DataFrame:
    """Return numbers of topics, with the requirements."""
    return _rows(result, (*SIZES, *CELL, *result.dims, "expected_width"), SIZES)


def widths(result: xr.Dataset) -> pd.DataFrame:
    """Return confidence interval widths by number of topics."""
    frame = _rows(result, (*CELL, *WIDTHS, *result.dims), WIDTHS)
    intervals = frame["route"] == "ci"
    for column in ("systems", "beta") if intervals.any() else ():  # the closed form has neither
        frame[column] = frame[column].astype(object).where(~intervals, None)
    return frame


def _rows(result: xr.Dataset, columns: Sequence[Any], always: Sequence[str]) -> pd.DataFrame:
    """Return one row for each combination of parameters; what a method does not use is missing."""
    first = result[next(iter(result.data_vars))]
    frame = pd.DataFrame(index=range(first.size))
    for column in dict.fromkeys(columns):
        if column in result.attrs:
            frame[column] = str(result.attrs[column])
        elif column in result.variables:
            values = result[column].broadcast_like(first).transpose(*first.dims).values.ravel()
            whole = column in WHOLE and np.isfinite(values).all()
            frame[column] = values.astype(np.int64) if whole else values
        elif column in always:
            frame[column] = pd.Series([None] * first.size, dtype=object)
    return frame


def title(options: Mapping[str, Any]) -> str:
    """Return method and requirements."""
    wanted = f"difference {options['min_diff']:g}, {options['systems']:g} systems"
    rates = f"alpha {options['alpha']:g}, beta {options['beta']:g}"
    return f"{options['method']}, {options['mode']}, {wanted}, {rates}"


def answers(result: xr.Dataset) -> Iterator[Answer]:
    """Yield the topics that each metric needs; nothing for designs from numbers."""
    at_hand = result.attrs.get(names.N_TOPICS)
    if at_hand is None or result.attrs["method"] == "ci":
        return
    for row in labelled(sizes(result)):
        low, high = row["topics_low"], row["topics_high"]
        enough = f"{at_hand} are at hand"
        if is_known(low) and is_known(high):
            verdict = "are enough" if high <= at_hand else "may be enough"
            enough = f"the {at_hand} at hand {'are too few' if low > at_hand else verdict}"
        clause = (
            f"for a difference of {row['min_diff']:g} between best and worst of "
            f"{row['systems']:g} systems (alpha {row['alpha']:g}, power {1 - row['beta']:.0%}); "
            f"{enough}"
        )
        yield Answer(row["label"], row["topics"], low, high, ",.0f", clause, "topics needed")


def width_curves(canvas: Any, result: xr.Dataset) -> None:
    """Worst-case width by number of topics, a curve a variance or metric (Sakai 2017, Figure 3)."""
    axes, chosen = canvas.panel(), result.isel({names.GAIN: 0}, missing_dims="ignore")
    for label, style, line in curves_of(chosen, "topics"):
        marker = "o" if line["width"].size == 1 else None
        axes.plot(line["topics"], line["width"], linewidth=1.2, marker=marker, label=label, **style)
    alpha = chosen["alpha"].values.ravel()
    interval = f"{1 - float(alpha[0]):.0%} intervals" if len(alpha) == 1 else ""
    axes.set(xlabel="number of topics", ylabel="worst-case confidence interval width")
    axes.set(
        title=_title(chosen, [str(chosen.attrs.get(COLLECTION, "")), interval]), ylim=(0, None)
    )
    axes.legend(fontsize=8)


def size_curves(canvas: Any, result: xr.Dataset) -> None:
    """Topics by difference to be detected, or by interval width, the requirements marked."""
    axes, chosen = canvas.panel(), result.isel({names.GAIN: 0}, missing_dims="ignore")
    x = "width" if chosen.attrs["method"] == "ci" else "min_diff"
    if x not in chosen.dims:
        chosen = chosen.expand_dims(x, axis=-1)
    for label, style, line in curves_of(with_curves(chosen, x), x):
        required, topics = (np.atleast_1d(line[name].values) for name in (x, "topics"))
        name = f"{label}: {topics[0]} topics" if len(required) == 1 else label
        axes.plot(line["nearby"], line["nearby_topics"], linewidth=1.2, label=name, **style)
        axes.plot(required, topics, "o", markersize=5, color=style["color"])
    axes.set(xlabel=WORDS[x], ylabel="number of topics", ylim=(0.0, None))
    words = [str(chosen.attrs.get(name, "")) for name in (COLLECTION, "method", "mode")]
    for name in ("systems", "alpha", "beta"):
        if name in chosen.coords and chosen[name].size == 1:
            words.append(f"{name} {chosen[name].item():g}")
    axes.set_title(_title(chosen, words), wrap=True)
    many = len(axes.get_lines()) > 2 * 15  # curves whose legend has one column
    axes.legend(fontsize=5.5 if many else 8, ncols=3 if many else 1)


def _title(result: xr.Dataset, words: Sequence[str]) -> str:
    """Return a title with the gain setting of a result at one."""
    gain = f"gains {result[names.GAIN].item()}" if names.GAIN in result.coords else ""
    return ", ".join(filter(None, [*words, gain]))


def curves_of(result: xr.Dataset, along: str) -> Iterator[tuple[str, dict[str, Any], xr.Dataset]]:
    """Yield label, style and part of the result for each curve, which runs along one dim."""
    from scorecube.report.drawing import COLOURS, DASHES

    # Routes change dashes, everything else colours, so routes vary fastest.
    dims = [str(dim) for dim in result[next(iter(result.data_vars))].dims if dim != along]
    dims.sort(key="route".__eq__)
    n_routes = result.sizes["route"] if "route" in dims else 1
    for k, index in enumerate(np.ndindex(*(result.sizes[dim] for dim in dims))):
        part = result.isel(dict(zip(dims, index, strict=True)))
        number, route = divmod(k, n_routes)
        dashes = route if "route" in dims else number // len(COLOURS)
        style = {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[dashes % len(DASHES)]}
        yield ", ".join(_word(dim, part) for dim in dims or ["variance"]), style, part


def _word(dim: str, part: xr.Dataset) -> str:
    """Return what a curve is of along a dim."""
    value = part[dim].values.item() if dim in part.variables else ""
    name = "" if dim in (names.METRIC, "route") else {**WORDS, "systems": "m"}.get(dim, dim)
    return f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}".lstrip()


DESIGN = View(
    name="design",
    heading="Topic set size design",
    tables={
        "sizes": Table(
            "",
            "",
            make=sizes,
            variables=VARIABLES,
            brief="metric=label difference=min_diff width topics_needed=topics~ have=n_topics "
            "expected_width systems variance alpha power",
        )
    },
    about="How many topics separate the best and the worst of several systems, whose means differ "
    "by at least the difference, with probability 1 - beta at level alpha? All systems have the "
    "same topics (two-way residual variance); the papers' numbers, for topics of their own, are "
    "larger. Limits are about these systems on other topics. Fewer topics do not make a metric "
    "better: equal differences mean less on a wide range.",
    answers={TOPICS: answers},
    title=title,
    figure=size_curves,
    compute=lambda cube: design_of_cube(cube, "drop"),
    page_result=page_design,
)
WCW = View(
    name="wcw",
    heading="Worst-case confidence interval widths",
    tables={
        "widths": Table(
            "",
            "",
            make=widths,
            variables=VARIABLES,
            brief="metric=label route topics width variance systems alpha",
        )
    },
    figure=width_curves,
    compute=widths_of_cube,
)
VIEWS = {"design": DESIGN, "wcw": WCW}
