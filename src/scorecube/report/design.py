"""What is shown of topic set size design and of worst-case widths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.design_curves import (
    CONDITIONS,
    EXTREME_VARIANCES,
    FIVE_EIGHTY,
    noncentralities,
    tools_compared,
    with_curves,
)
from scorecube.analyses.designs import (
    ONE_WAY,
    VARIABLES,
    design_of_cube,
    page_design,
    widths_of_cube,
)
from scorecube.analyses.jackknife import CONFIDENCE
from scorecube.report.figures.style import COLOURS, FIGURE_SIZE
from scorecube.report.findings import Finding, Short, with_number
from scorecube.report.phrases import about, is_known, listed, number_of, on_collection
from scorecube.report.tables import COLLECTION, Table
from scorecube.report.text_formats import merge_gains, with_labels
from scorecube.report.view import (
    TOPICS,
    Canvas,
    Frames,
    ResultGroup,
    Summary,
    View,
    names_of_variables,
    notes_of,
    on_page,
)

CELL = (COLLECTION, names.METRIC, names.GAIN)
LIMITS = ("topics_low", "topics_high")
SIZES = (
    *("method", "mode", "variance", "min_diff", "width", "systems", "alpha", "beta"),
    *("topics", *LIMITS, "power"),
)
WIDTHS = ("route", "variance", "systems", "alpha", "beta", "topics", "width")
PREFIX = f"{ONE_WAY}_"
WHOLE = ("systems", "topics", *LIMITS)
EXTRAPOLATED = 2
"""Times the topics at hand, beyond which a number of topics is an extrapolation."""
COUNT = ",.0f"
"""How numbers of topics are written on cards."""
DASHES = ("-", "--", ":")
WORDS = {"min_diff": "difference to be detected", "width": "width of the confidence interval"}


def sizes(result: xr.Dataset) -> pd.DataFrame:
    """Numbers of topics, with the requirements; limits where the variance is of a collection."""
    return _rows(result, SIZES, (*SIZES, *CELL, *result.dims, "expected_width"))


def one_way(result: xr.Dataset) -> pd.DataFrame:
    """The papers' numbers of topics, of systems that have topics of their own."""
    own = {name: str(name).removeprefix(PREFIX) for name in result if str(name).startswith(PREFIX)}
    part = result[list(own)].drop_vars("variance").rename(own)
    return sizes(part) if own else pd.DataFrame(columns=list(SIZES))


def widths(result: xr.Dataset) -> pd.DataFrame:
    """Confidence interval widths by number of topics."""
    frame = _rows(result, WIDTHS, (*CELL, *WIDTHS, *result.dims))
    intervals = frame["route"] == "ci"
    for column in ("systems", "beta"):  # the closed form does not use them
        if intervals.any():
            frame[column] = frame[column].astype(object).where(~intervals, None)
    return frame


def _rows(result: xr.Dataset, always: Sequence[str], columns: Sequence[Any]) -> pd.DataFrame:
    """Return one row for each combination of parameters; what a method does not use is missing."""
    first = result[next(iter(result.data_vars))]
    frame = pd.DataFrame(index=range(first.size))
    for column in dict.fromkeys(columns):
        if column in result.attrs:
            frame[column] = [str(result.attrs[column])] * first.size
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


def answer(group: ResultGroup) -> Iterator[Finding]:
    """Yield the metrics that need fewest and most topics; nothing for designs from numbers."""
    if not all("n_topics" in attrs for attrs in group.attrs):
        return
    at_hand = {str(attrs[COLLECTION]): int(attrs["n_topics"]) for attrs in group.attrs}
    frame = with_labels(group.first_table)
    limited = f"; {CONFIDENCE:.0%} limits over topics"
    rows = frame[frame["topics"] > 0].sort_values("topics", kind="stable").to_dict("records")
    for place, row in enumerate([*rows[:1], *rows[1:][-1:]]):
        number, where = number_of(row, "topics"), on_collection(row, group.several)
        topics = at_hand[row[COLLECTION]]
        yield with_number(
            f"{row['label']}{where}: about {about(*number)} topics, the same for all systems, "
            f"detect a difference of {row['min_diff']:g} between the best and the worst of "
            f"{row['systems']:g} systems (alpha {row['alpha']:g}, power {1 - row['beta']:.0%}); "
            f"the {topics} at hand {_verdict(number, topics)}"
            f"{limited if is_known(number[1]) else ''}",
            f"topics needed, {row['label']}{where}",
            number,
            "topics",
            CONFIDENCE,
            "no limits of the variance hold with so few topics",
            table="sizes",
            short=() if group.several or place else _short(frame, topics),
        )


def _verdict(number: Sequence[Any], at_hand: int) -> str:
    """Return whether the topics at hand are as many as are needed."""
    if is_known(number[2]) and number[2] <= at_hand:
        return "are enough"
    return "are too few" if is_known(number[1]) and number[1] > at_hand else "may be enough"


def _short(frame: pd.DataFrame, at_hand: int) -> tuple[Short, ...]:
    """Return the topics that each metric needs, and whether those at hand are enough."""
    found = []
    for row in frame.to_dict("records"):
        number = number_of(row, "topics")
        words = (
            f"for {row['min_diff']:g} between best and worst of {row['systems']:g} systems; "
            f"{at_hand} today {_verdict(number, at_hand)}"
        )
        found.append(Short(row["label"], number=number, form=COUNT, words=words))
    return tuple(found)


def findings(result: xr.Dataset) -> list[Finding]:
    """Return for designs from numbers what they have."""
    return notes_of(result) if "n_topics" in result.attrs else names_of_variables(result)


def cautions(result: xr.Dataset, frames: Frames) -> list[tuple[str, str]]:
    """Return a remark on metrics that need many more topics than there are."""
    frame = merge_gains(frames["sizes"])
    far = frame[frame["topics"] > EXTRAPOLATED * int(result.attrs["n_topics"])]
    text = (
        f"More than {EXTRAPOLATED} times the topics at hand are needed: "
        "limits do not include that so many further topics may be of another kind."
    )
    return [(text, ", ".join(dict.fromkeys(far["metric"])))] if len(far) else []


def noncentrality_curves(canvas: Canvas, systems: Sequence[int] = range(2, 31)) -> None:
    """Noncentrality by number of systems, 4 z^2, and where both agree (Sakai 2017, Figure 1).

    systems: Numbers of systems. Curves are Nagata's approximation, the thin dotted ones beside them
        exact.
    """
    curves = noncentralities(systems)
    m = curves["systems"]
    axes = canvas.figure(FIGURE_SIZE).add_subplot()
    for k, (alpha, beta) in enumerate(FIVE_EIGHTY):
        label = (
            f"\N{GREEK SMALL LETTER ALPHA} = {alpha:.2f}, \N{GREEK SMALL LETTER BETA} = {beta:.2f}"
        )
        at = curves.isel(risks=k)
        axes.plot(m, at["approximate"], color=COLOURS[k], linewidth=1.4, label=label)
        axes.plot(m, at["exact"], color=COLOURS[k], linewidth=0.8, linestyle=":")
    for level in curves["four_z_squared"]:
        axes.axhline(float(level), color="0.4", linewidth=0.9, linestyle="--")
        shown = f"\N{GREEK SMALL LETTER ALPHA} = {float(level['alpha']):.2f}"
        words = f"4 z\N{SUPERSCRIPT TWO}, {shown}: {float(level):.2f}"
        style: Any = {"textcoords": "offset points", "ha": "right", "fontsize": 8, "color": "0.3"}
        axes.annotate(words, (float(m[-1]), float(level)), (0, -10), **style)
    for name, (alpha, _, number) in CONDITIONS.items():
        height = float(curves["at_condition"].sel(condition=name))
        axes.plot([number], [height], marker="o", markersize=4, color="black")
        place = (-4, 5) if alpha < 0.05 else (4, -11)  # clear of the other curves
        axes.annotate(f"({name})", (number, height), place, textcoords="offset points", fontsize=8)
    axes.set(
        xlabel="number of systems m",
        ylabel="noncentrality \N{GREEK SMALL LETTER LAMDA}",
        ylim=(0.0, None),
    )
    axes.legend()


def tool_curves(
    canvas: Canvas, variances: Sequence[float] = EXTREME_VARIANCES, mode: str = "sakai"
) -> None:
    """Topics by interval width, and by difference to be detected (Sakai 2017, Figure 2).

    variances: Within-system variances.
    mode: Of the ANOVA curve, which is at alpha 0.05, beta 0.20 and 10 systems.
    """
    from scorecube.report.figures.canvas import plain_log_labels

    curves = tools_compared(variances, mode)
    styles = {
        "interval_topics": {"linewidth": 2.4, "alpha": 0.5, "label": "CI"},
        "anova_topics": {"linewidth": 1.0, "linestyle": "--", "label": f"ANOVA, {mode}"},
    }
    figure = canvas.figure((2.6 * len(variances), 2.9))
    panels = figure.subplots(1, len(variances), squeeze=False, sharey=True)[0]
    for k, (axes, variance) in enumerate(zip(panels, variances, strict=True)):
        for colour, (name, style) in zip(COLOURS, styles.items(), strict=False):
            axes.plot(curves["difference"], curves[name][k], color=colour, **style)
        axes.set_yscale("log")
        plain_log_labels(axes.yaxis)
        axes.set(title=f"variance {variance:.4f}", xlabel="width, or difference")
    panels[0].set_ylabel("number of topics")
    panels[-1].legend()


def width_curves(canvas: Canvas, result: xr.Dataset) -> None:
    """Worst-case width by number of topics, a curve a variance or metric (Sakai 2017, Figure 3).

    result: Of `wcw`; several routes differ in their dashes.
    """
    axes = canvas.panel(FIGURE_SIZE)
    chosen, setting = _at_gain(result)
    for label, style, line in curves_of(chosen, "topics"):
        marker = "o" if line["width"].size == 1 else None
        axes.plot(line["topics"], line["width"], linewidth=1.2, marker=marker, label=label, **style)
    alpha = chosen["alpha"].values.ravel()
    interval = f"{1 - float(alpha[0]):.0%} intervals" if len(alpha) == 1 else ""
    words = (str(result.attrs.get(COLLECTION, "")), interval, setting)
    axes.set(title=", ".join(filter(None, words)), ylim=(0.0, None))
    axes.set(xlabel="number of topics", ylabel="worst-case confidence interval width")
    axes.legend(fontsize=8)


def size_curves(canvas: Canvas, result: xr.Dataset) -> None:
    """Topics by difference to be detected, or by interval width, with the requirements marked.

    result: Of `topic_set_size`.
    """
    axes = canvas.panel(FIGURE_SIZE)
    chosen, setting = _at_gain(result)
    x = "width" if chosen.attrs["method"] == "ci" else "min_diff"
    if x not in chosen.dims:
        chosen = chosen.expand_dims(x, axis=-1)
    for label, style, line in curves_of(with_curves(chosen, x), x):
        required = np.atleast_1d(line[x].values)
        found = np.atleast_1d(line["topics"].values)
        name = f"{label}: {found[0]} topics" if len(required) == 1 else label
        axes.plot(line["nearby"], line["nearby_topics"], linewidth=1.2, label=name, **style)
        axes.plot(required, found, "o", markersize=5, color=style["color"])
    axes.set(xlabel=WORDS[x], ylabel="number of topics", ylim=(0.0, None))
    words = [str(chosen.attrs.get(name, "")) for name in (COLLECTION, "method", "mode")]
    words += [
        f"{name} {chosen[name].item():g}"
        for name in ("systems", "alpha", "beta")
        if name in chosen.coords and chosen[name].size == 1
    ]
    axes.set_title(listed(*words, setting), loc="left", fontsize=9, wrap=True)
    many = len(axes.get_lines()) > 2 * 15  # curves whose legend has one column
    axes.legend(fontsize=5.5 if many else 8, ncols=3 if many else 1)


def curves_of(result: xr.Dataset, along: str) -> Iterator[tuple[str, dict[str, Any], xr.Dataset]]:
    """Yield label, style and part of the result for each curve, which runs along one dim."""
    # Routes change dashes, everything else colours, so routes vary fastest.
    dims = sorted(
        (str(dim) for dim in result[next(iter(result.data_vars))].dims if dim != along),
        key="route".__eq__,
    )
    n_routes = result.sizes["route"] if "route" in dims else 1
    for k, index in enumerate(np.ndindex(*(result.sizes[dim] for dim in dims))):
        part = result.isel(dict(zip(dims, index, strict=True)))
        number, route = divmod(k, n_routes)
        dashes = route if "route" in dims else number // len(COLOURS)
        style = {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[dashes % len(DASHES)]}
        words = [_word(dim, part) for dim in dims] or [_word("variance", part)]
        yield ", ".join(words), style, part


def _word(dim: str, part: xr.Dataset) -> str:
    value = part[dim].values.item() if dim in part.variables else ""
    if dim in (names.METRIC, "route"):
        return str(value)
    return (
        f"{'m' if dim == 'systems' else WORDS.get(dim, dim)} {value:.4g}"
        if isinstance(value, float)
        else f"{dim} {value}"
    )


def _at_gain(result: xr.Dataset) -> tuple[xr.Dataset, str]:
    if names.GAIN not in result.dims:
        return result, ""
    chosen = result.isel({names.GAIN: 0})
    return chosen, f"gains {chosen[names.GAIN].item()}"


DESIGN = View(
    name="design",
    heading="Topic set size design",
    about=(
        "How many topics would a collection need for the best and the worst of several systems to "
        "be separated with probability 1 - beta at significance level alpha, if their mean scores "
        "differ by at least the difference? All systems have the same topics, so that differences "
        "between topics cancel (two-way residual variance). The papers' numbers are for systems "
        "with topics of their own, by the variance within systems; they are larger, and stand in a "
        "table of their own. The power is that of the estimated variance: the true power is below "
        "1 - beta about as often as above. Limits are about these systems on other topics. A metric "
        "that needs fewer topics for a difference is not better for that reason alone: equal "
        "differences mean less on a metric with a wide range."
    ),
    summary=(
        Summary(
            "metric=label difference=min_diff width topics_needed=topics~ have=n_topics "
            "expected_width=expected_width systems variance alpha power",
            bar="topics needed",
        ),
    ),
    tables={
        "sizes": Table(sizes, variables=VARIABLES),
        "one_way": Table(one_way, variables=VARIABLES),
    },
    title=title,
    caption=lambda result: (
        f"{result.attrs['n_topics']} topics in the collection. "
        "Number of topics by difference to be detected."
    ),
    findings=findings,
    page_tables=on_page(
        {
            "Topics needed": "sizes",
            "Topics needed by the papers, systems with topics of their own": "one_way",
        }
    ),
    figure=size_curves,
    answers={TOPICS: answer},
    cautions=cautions,
    compute=lambda cube: design_of_cube(cube, "drop"),
    page_result=page_design,
)
WCW = View(
    name="wcw",
    heading="Worst-case confidence interval widths",
    summary=(Summary("metric=label route topics width variance systems alpha"),),
    tables={"widths": Table(widths, variables=VARIABLES)},
    figure=width_curves,
    compute=widths_of_cube,
)
VIEWS = {"design": DESIGN, "wcw": WCW}
