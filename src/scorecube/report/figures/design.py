"""Figures of topic set size design and of worst-case confidence interval widths (Sakai 2017, S2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy
import xarray as xr
from matplotlib.axes import Axes

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.design import exact_noncentrality, tool_noncentrality, topic_set_size, wcw
from scorecube.design.inputs import MAX_TOPICS
from scorecube.report.figures.canvas import Canvas
from scorecube.report.figures.collections import MOST_BARS, by_collection
from scorecube.report.figures.log_labels import plain_log_labels
from scorecube.report.figures.style import COLOURS, FIGURE_SIZE

FIVE_EIGHTY = ((0.01, 0.10), (0.01, 0.20), (0.05, 0.10), (0.05, 0.20))
CONDITIONS = {
    "a": (0.05, 0.20, 10),
    "b": (0.05, 0.10, 5),
    "c": (0.01, 0.20, 18),
    "d": (0.01, 0.10, 10),
}
"""(alpha, beta, systems) for which the noncentrality is about 4 z^2 (S2 section 3)."""
SMALLEST = float(np.finfo(np.float64).tiny)
"""Stands for a variance of 0, of which no size follows."""
EXTREME_VARIANCES = (0.0182, 0.0471, 0.1145)
DASHES = ("-", "--", ":")
WORDS = {
    "topics": "number of topics",
    "min_diff": "difference to be detected",
    "width": "width of the confidence interval",
    "power": "power",
}
PANEL = (3.6, 3.0)
MOST_NAMED = 15
"""Curves whose legend has one column."""


def noncentrality_curves(canvas: Canvas, systems: Sequence[int] = range(2, 31)) -> None:
    """Noncentrality by number of systems with the lines 4 z^2, and the four conditions where both agree (S2 Figure 1).

    Parameters
    ----------
    systems
        Numbers of systems. Curves are Nagata's approximation, the thin dotted ones beside them exact.
    """
    m = np.array(list(systems), np.float64)
    figure = canvas.figure(FIGURE_SIZE)
    axes = figure.add_subplot()
    for k, (alpha, beta) in enumerate(FIVE_EIGHTY):
        risks = (np.full_like(m, alpha), np.full_like(m, beta))
        label = (
            f"\N{GREEK SMALL LETTER ALPHA} = {alpha:.2f}, \N{GREEK SMALL LETTER BETA} = {beta:.2f}"
        )
        axes.plot(m, tool_noncentrality(m, *risks), color=COLOURS[k], linewidth=1.4, label=label)
        axes.plot(m, exact_noncentrality(m, *risks), color=COLOURS[k], linewidth=0.8, linestyle=":")
    for alpha in (0.01, 0.05):
        level = four_z_squared(alpha)
        axes.axhline(level, color="0.4", linewidth=0.9, linestyle="--")
        words = f"4 z\N{SUPERSCRIPT TWO}, \N{GREEK SMALL LETTER ALPHA} = {alpha:.2f}: {level:.2f}"
        axes.annotate(
            words,
            (m[-1], level),
            (0, -10),
            textcoords="offset points",
            ha="right",
            fontsize=8,
            color="0.3",
        )
    for name, (alpha, beta, number) in CONDITIONS.items():
        at = float(tool_noncentrality(np.array(float(number)), np.array(alpha), np.array(beta)))
        axes.plot([number], [at], marker="o", markersize=4, color="black")
        place = (-4, 5) if alpha < 0.05 else (4, -11)  # clear of the other curves
        axes.annotate(f"({name})", (number, at), place, textcoords="offset points", fontsize=8)
    axes.set_xlabel("number of systems m")
    axes.set_ylabel("noncentrality \N{GREEK SMALL LETTER LAMDA}")
    axes.set_ylim(bottom=0.0)
    axes.legend()


def tools_compared(
    canvas: Canvas, variances: Sequence[float] = EXTREME_VARIANCES, mode: str = "sakai"
) -> None:
    """Topics by confidence interval width, and by difference to be detected, a panel a variance (S2 Figure 2).

    Parameters
    ----------
    variances
        Within-system variances.
    mode
        Of the ANOVA curve, which is at alpha 0.05, beta 0.20 and 10 systems.
    """
    difference = np.round(np.arange(0.05, 0.501, 0.005), 3)
    figure = canvas.figure((2.6 * len(variances), 2.9))
    panels = figure.subplots(1, len(variances), squeeze=False, sharey=True)[0]
    for axes, variance in zip(panels, variances, strict=True):
        intervals = topic_set_size(variance, width=difference, method="ci")["topics"]
        anova = topic_set_size(variance, difference, mode=mode)["topics"]
        axes.plot(difference, intervals, color=COLOURS[0], linewidth=2.4, alpha=0.5, label="CI")
        axes.plot(
            difference,
            anova,
            color=COLOURS[1],
            linewidth=1.0,
            linestyle="--",
            label=f"ANOVA, {mode}",
        )
        axes.set_yscale("log")
        plain_log_labels(axes.yaxis)
        axes.set_title(f"variance {variance:.4f}", loc="left", fontsize=9)
        axes.set_xlabel("width, or difference")
    panels[0].set_ylabel("number of topics")
    panels[-1].legend()


def wcw_curves(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """Worst-case width of confidence intervals by number of topics, a curve a variance or metric: low is better (S2 Figure 3).

    Parameters
    ----------
    result
        Of `wcw`; several routes differ in their dashes.
    gain
        Gain setting, where the result has any; the first by default.
    """
    wcw_panels(canvas, {str(result.attrs.get("collection", "")): result}, gain)


def wcw_panels(canvas: Canvas, results: Mapping[str, xr.Dataset], gain: str | None = None) -> None:
    """Worst-case width by number of topics, a panel a collection (S2 Figure 3).

    Parameters
    ----------
    results
        Title -> result of `wcw`.
    gain
        Gain setting, where a result has any; each result's first by default.
    """
    columns = min(2, len(results))
    rows = -(-len(results) // columns)
    size = FIGURE_SIZE if len(results) == 1 else (PANEL[0] * columns, PANEL[1] * rows)
    figure = canvas.figure(size)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    for axes, (title, result) in zip(grid, results.items(), strict=False):
        chosen, setting = _at_gain(result, gain)
        for label, style, line in curves_of(chosen, "topics"):
            marker = "o" if line["width"].size == 1 else None
            axes.plot(
                line["topics"], line["width"], linewidth=1.2, marker=marker, label=label, **style
            )
        interval = (
            f"{1 - float(chosen['alpha'].values.flat[0]):.0%} intervals"
            if chosen["alpha"].size == 1
            else ""
        )
        axes.set_title(
            ", ".join(word for word in (title, interval, setting) if word), loc="left", fontsize=9
        )
        axes.set_ylim(bottom=0.0)
        axes.legend(fontsize=7 if len(results) > 1 else 8)
    for axes in grid[len(results) :]:
        axes.set_axis_off()
    figure.supxlabel("number of topics", fontsize=9)
    figure.supylabel("worst-case confidence interval width", fontsize=9)


def widths_of_designs(canvas: Canvas, results: Sequence[xr.Dataset]) -> None:
    """Worst-case width by number of topics for the variances that designs started from, a panel a collection.

    Of many collections, the topics that each metric needs instead, at each first gain setting.
    """
    if len(results) > MOST_BARS:
        names_of = [str(each.attrs.get("collection", "")) for each in results]
        found: dict[str, dict[str, float]] = {}
        for name, each in zip(names_of, results, strict=True):
            topics = each["topics"].isel({names.GAIN: 0})
            for metric in labels_of(each, names.METRIC):
                found.setdefault(metric, {})[name] = float(topics.sel({names.METRIC: metric}))
        values = {metric: pd.Series(numbers) for metric, numbers in found.items()}
        by_collection(canvas, values, names_of, "topics needed", logarithmic=True)
        return
    wcw_panels(
        canvas, {str(each.attrs.get("collection", "")): wcw(each["variance"]) for each in results}
    )


def wcw_of_collections(canvas: Canvas, results: Sequence[xr.Dataset]) -> None:
    """Worst-case width by number of topics, a panel a collection."""
    wcw_panels(canvas, {str(each.attrs.get("collection", "")): each for each in results})


def size_curves(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """Topics by difference to be detected, or by interval width, with the requirements marked; or an inverse question.

    Parameters
    ----------
    result
        Of `topic_set_size`, `detectable_difference`, `achieved_power` or `expected_width`.
    gain
        Gain setting, where the result has any; the first by default.
    """
    size_panels(canvas, [result], gain)


def size_panels(canvas: Canvas, results: Sequence[xr.Dataset], gain: str | None = None) -> None:
    """Topics by difference or width, a panel a collection; see `size_curves`."""
    columns = min(2, len(results))
    rows = -(-len(results) // columns)
    size = FIGURE_SIZE if len(results) == 1 else (1.4 * PANEL[0] * columns, 1.2 * PANEL[1] * rows)
    figure = canvas.figure(size)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    for axes, result in zip(grid, results, strict=False):
        _draw_sizes(axes, *_at_gain(result, gain))
    for axes in grid[len(results) :]:
        axes.set_axis_off()


def _draw_sizes(axes: Axes, chosen: xr.Dataset, setting: str) -> None:
    inverse = "topics" not in chosen.data_vars
    x = "topics" if inverse else "width" if chosen.attrs["method"] == "ci" else "min_diff"
    y = next(name for name in ("topics", "min_diff", "width", "power") if name in chosen.data_vars)
    if x not in chosen.dims:
        chosen = chosen.expand_dims(x, axis=-1)
    lines = list(curves_of(chosen, x))
    curves = None if inverse else _nearby([line for _, _, line in lines], x)
    for k, (label, style, line) in enumerate(lines):
        required = np.atleast_1d(line[x].values)
        found = np.atleast_1d(line[y].values)
        if curves is None:
            axes.plot(required, found, label=label, marker="o", markersize=4, **style)
            continue
        curve = curves.isel(line=k)
        words = f"{label}: {found[0]} topics" if len(required) == 1 else label
        axes.plot(curve[x], curve["topics"], linewidth=1.2, label=words, **style)
        axes.plot(required, found, "o", markersize=5, color=style["color"])
    axes.set_xlabel(WORDS[x])
    axes.set_ylabel(WORDS[y])
    axes.set_ylim(bottom=0.0)
    axes.set_title(
        ", ".join(word for word in (_title(chosen), setting) if word),
        loc="left",
        fontsize=9,
        wrap=True,
    )
    many = len(axes.get_lines()) > 2 * MOST_NAMED
    axes.legend(fontsize=5.5 if many else 8, ncols=3 if many else 1)


def four_z_squared(alpha: float) -> float:
    """Return 4 z^2 of a two-sided alpha.

    Examples
    --------
    >>> round(four_z_squared(0.05), 3)
    15.366
    """
    return float(4.0 * scipy.special.ndtri(alpha / 2.0) ** 2)


def curves_of(result: xr.Dataset, along: str) -> Iterator[tuple[str, dict[str, Any], xr.Dataset]]:
    """Yield label, style and part of the result for each curve, which runs along one dim."""
    # Routes change dashes, everything else colours, so routes vary fastest.
    dims = sorted(
        (str(dim) for dim in result[next(iter(result.data_vars))].dims if dim != along),
        key="route".__eq__,
    )
    counts = [result.sizes[dim] for dim in dims]
    main = [k for k, dim in enumerate(dims) if dim != "route"]
    for index in np.ndindex(*counts):
        part = result.isel(dict(zip(dims, index, strict=True)))
        number = (
            int(np.ravel_multi_index([index[k] for k in main], [counts[k] for k in main]))
            if main
            else 0
        )
        routes = index[dims.index("route")] if "route" in dims else number // len(COLOURS)
        style = {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[routes % len(DASHES)]}
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


def _at_gain(result: xr.Dataset, gain: str | None) -> tuple[xr.Dataset, str]:
    if names.GAIN not in result.dims:
        return result, ""
    chosen = result.isel({names.GAIN: 0}) if gain is None else result.sel({names.GAIN: gain})
    return chosen, f"gains {chosen[names.GAIN].item()}"


def _nearby(lines: Sequence[xr.Dataset], x: str) -> xr.Dataset:
    """Return the sizes for differences around the required ones of each line, all else equal: (line, point)."""

    def by_line(name: str) -> xr.DataArray:
        return xr.DataArray([line[name].item() for line in lines], dims="line")

    grids = xr.DataArray([_grid(line, x) for line in lines], dims=("line", "point"))
    # A variance of 0 has raised a warning when the result was computed.
    variance, alpha = by_line("variance").clip(SMALLEST), by_line("alpha")
    facts = lines[0].attrs
    if facts["method"] == "ci":
        return topic_set_size(variance, width=grids, alpha=alpha, method="ci")
    return topic_set_size(
        variance,
        grids,
        systems=by_line("systems") if "systems" in lines[0].variables else 2,
        alpha=alpha,
        beta=by_line("beta"),
        method=facts["method"],
        mode=facts["mode"],
        sided=int(facts["sided"]),
    )


def _grid(line: xr.Dataset, x: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return 120 differences around the required ones."""
    required = np.atleast_1d(line[x].values)
    low = required.min() * (0.6 if line["topics"].max() < MAX_TOPICS / 4 else 1.0)
    return np.linspace(low, max(required.max() * 1.6, low * 1.01), 120)


def _title(result: xr.Dataset) -> str:
    words = [
        f"{result.attrs.get('collection', '')}",
        str(result.attrs["method"]),
        str(result.attrs["mode"]),
    ]
    for name in ("systems", "alpha", "beta"):
        if name in result.coords and result[name].size == 1:
            words.append(f"{name} {result[name].values.item():g}")
    return ", ".join(word for word in words if word)
