"""Topic set size design for the variances of scores, and the curves of Sakai 2017."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import scipy
import xarray as xr

from scorecube import names
from scorecube.analyses.variances import Missing, variances
from scorecube.collection.arguments import CubeLike
from scorecube.collection.schema import annotate
from scorecube.declare import Canvas, Variable, along, limits_of
from scorecube.errors import BadInput, BadPlan
from scorecube.methods.design.parameters import QUANTITIES
from scorecube.methods.design.power import exact_noncentrality, tool_noncentrality
from scorecube.methods.design.sizes import (
    AS_IN_PAPERS,
    WITHIN,
    default_variance_of,
    topic_set_size,
    wcw,
)

VarianceOf = Literal["paired", "within"]
TOPIC_LIMITS = along((), limits_of("topics", "limit of the number of topics", "topics"))
SIZES = (
    *(Variable(name, of.role, of.meaning, of.units) for name, of in QUANTITIES.items()),
    *TOPIC_LIMITS,
)
"""Of designs."""
NO_VARIANCE = "no variance between runs: nothing to detect"
OPTIONS = ("min_diff", "systems", "alpha", "beta")
FIVE_EIGHTY = ((0.01, 0.10), (0.01, 0.20), (0.05, 0.10), (0.05, 0.20))
CONDITIONS = {
    "a": (0.05, 0.20, 10),
    "b": (0.05, 0.10, 5),
    "c": (0.01, 0.20, 18),
    "d": (0.01, 0.10, 10),
}
"""(alpha, beta, systems) for which the noncentrality is about 4 z^2 (Sakai 2017, section 3)."""
ALPHA = "\N{GREEK SMALL LETTER ALPHA}"
BETA = "\N{GREEK SMALL LETTER BETA}"
GREY: Any = {"textcoords": "offset points", "ha": "right", "fontsize": 8, "color": "0.3"}


def design_of_cube(
    cube: CubeLike,
    missing: Missing = "refuse",
    variance_of: VarianceOf | None = None,
    **settings: Any,
) -> xr.Dataset:
    """Return `topic_set_size` by one of the variances of scores, with jackknife limits."""
    estimated = variances(cube, missing)
    parts = []
    chosen = variance_of or default_variance_of(True, settings.get("mode", "exact"))
    for end in ("", "_low", "_high"):
        variance = estimated[f"{chosen}_variance{end}"].reset_coords(drop=True)
        is_known = variance > 0
        sizes = topic_set_size(variance.where(is_known, 1.0), variance_of=chosen, **settings)
        if not is_known.all():
            variance = variance.assign_attrs(sizes["variance"].attrs)
            sizes = sizes.where(is_known).assign_coords(variance=variance)
        parts.append(sizes)
    low, high = (part["topics"].drop_vars("variance").variable for part in parts[1:])
    result = annotate(parts[0].assign(topics_low=low, topics_high=high), TOPIC_LIMITS)
    said = [AS_IN_PAPERS] if chosen == WITHIN else []
    still = (estimated[f"{chosen}_variance"] == 0).all(names.GAIN).values
    said += [f"{metric}: {NO_VARIANCE}" for metric in estimated[names.METRIC].values[still]]
    notes = list(dict.fromkeys([*said, *estimated.attrs["notes"], *result.attrs["notes"]]))
    return result.assign_attrs(estimated.attrs | {"notes": notes})


def page_design(cube: xr.Dataset, name: str, **settings: Any) -> xr.Dataset | None:
    """Return the design of a collection, of metrics that vary; None without any.

    settings: Of `design_of_cube`, where a page is asked for others than the defaults.
    """
    topic_set_size(1.0, **settings)  # wrong options are refused, collections without a design not
    try:
        result = design_of_cube(cube, "drop", **settings)
    except (BadPlan, BadInput):  # no complete topics, scores out of range, or too many topics
        return None
    varied = (result["variance"] > 0).all("gain").values
    chosen = result.isel(metric=varied).assign_attrs(collection=name)
    return with_options(chosen) if varied.any() else None


def with_options(result: xr.Dataset) -> xr.Dataset:
    """Return a design for one difference with its options as those of a stored result."""
    options = {key: float(result[key]) for key in OPTIONS}
    options |= {key: result.attrs[key] for key in ("method", "mode", "variance_of")}
    return result.assign_attrs(plan=json.dumps({"options": options}))


def widths_of_cube(cube: xr.Dataset, missing: Missing = "refuse", **settings: Any) -> xr.Dataset:
    """Return the worst-case widths for the variances within systems of a cube."""
    estimated = variances(cube, missing)
    if estimated.attrs["n_topics"] < 2:
        raise BadPlan("no variance of one topic: 2 are needed")
    return wcw(estimated["within_variance"], **settings).assign_attrs(estimated.attrs)


def topics_at(design: xr.Dataset, along: str, values: Sequence[float]) -> Any:
    """Return the topics of a design for one variance, at other differences or widths."""
    settings: dict[str, Any] = {key: design[key] for key in OPTIONS[1:] if key in design.variables}
    settings |= {key: design.attrs[key] for key in ("method", "mode", "variance_of")}
    settings[along] = values
    return topic_set_size(design["variance"].clip(1e-300), **settings)["topics"]


def noncentrality_curves(canvas: Canvas) -> None:
    """Noncentrality by number of systems, 4 z^2, and where both agree (Sakai 2017, Figure 1).

    Curves are Nagata's approximation, the thin dotted ones beside them exact.
    """
    axes = canvas.panel()
    m = np.arange(2.0, 31.0)
    for colour, (alpha, beta) in zip(canvas.colours, FIVE_EIGHTY, strict=False):
        label = f"{ALPHA} = {alpha:.2f}, {BETA} = {beta:.2f}"
        approximate = tool_noncentrality(m, alpha, beta)
        axes.plot(m, approximate, color=colour, linewidth=1.4, label=label)
        exact = exact_noncentrality(m, alpha, beta)
        axes.plot(m, exact, color=colour, linewidth=0.8, linestyle=":")
    for alpha in (0.01, 0.05):
        level = 4.0 * float(scipy.special.ndtri(alpha / 2.0)) ** 2
        axes.axhline(level, color="0.4", linewidth=0.9, linestyle="--")
        words = f"4 z\N{SUPERSCRIPT TWO}, {ALPHA} = {alpha:.2f}: {level:.2f}"
        axes.annotate(words, (m[-1], level), (0, -10), **GREY)
    for name, (alpha, beta, number) in CONDITIONS.items():
        height = float(tool_noncentrality(number, alpha, beta))
        axes.plot([number], [height], marker="o", markersize=4, color="black")
        place = (-4, 5) if alpha < 0.05 else (4, -11)  # clear of the other curves
        axes.annotate(f"({name})", (number, height), place, textcoords="offset points", fontsize=8)
    axes.set(xlabel="number of systems m", ylim=(0.0, None))
    axes.set_ylabel("noncentrality \N{GREEK SMALL LETTER LAMDA}")
    axes.legend()


def tool_curves(canvas: Canvas, variances: Sequence[float] = (0.0182, 0.0471, 0.1145)) -> None:
    """Topics by interval width, and by difference to be detected (Sakai 2017, Figure 2).

    The ANOVA curve is that of Sakai's tool at alpha 0.05, beta 0.20 and 10 systems.
    """
    figure = canvas.figure((2.6 * len(variances), 2.9))
    panels = figure.subplots(1, len(variances), squeeze=False, sharey=True)[0]
    x = np.round(np.arange(0.05, 0.501, 0.005), 3)
    of_intervals, of_anova = canvas.colours[:2]
    for axes, variance in zip(panels, variances, strict=True):
        intervals = topic_set_size(variance, width=x, method="ci")["topics"]
        axes.plot(x, intervals, color=of_intervals, linewidth=2.4, alpha=0.5, label="CI")
        anova = topic_set_size(variance, x, mode="sakai")["topics"]
        axes.plot(x, anova, color=of_anova, linewidth=1.0, linestyle="--", label="ANOVA, sakai")
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")  # the usual ones are formulas
        axes.yaxis.set_minor_formatter("")
        axes.set(title=f"variance {variance:.4f}", xlabel="width, or difference")
    panels[0].set_ylabel("number of topics")
    panels[-1].legend()
