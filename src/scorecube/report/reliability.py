"""What is shown of reliability: tables, figure and findings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.figures.style import COLOURS, FIGURE_SIZE, Axes, curve_style
from scorecube.report.findings import Finding, with_number
from scorecube.report.phrases import about, listed, number_of, on_collection, with_limits
from scorecube.report.tables import declared, where
from scorecube.report.text_formats import with_labels
from scorecube.report.view import TOPICS, Canvas, ResultGroup, Summary, View, notes_of, on_page

NAMES = {"erho2": "E rho^2", "phi": "Phi"}
LIMITED = "95% limits over topics"
COEFFICIENTS = declared(
    "metric gain n_topics", "metric gain n_topics erho2~=value~[erho2] phi~=value~[phi] n_runs"
)
"""Coefficients by number of topics."""
COMPONENTS = declared(
    "metric gain",
    "metric gain systems=component[systems] topics=component[topics] "
    "interaction=component[interaction] n_runs",
)
"""Variances of systems, topics and interaction; 0 for negative estimates."""
NEEDED = declared(
    "metric gain target coefficient", "metric gain target coefficient n_topics~=topics~"
)
"""Numbers of topics for the targets, missing where no number suffices."""


def conditions(result: xr.Dataset) -> str:
    """Return collection, and numbers of runs and topics."""
    sizes = f"{result.attrs['n_runs']} runs, {result.attrs['n_topics']} topics"
    return listed(where(result)["collection"], sizes, by=": ")


def title(options: Mapping[str, Any]) -> str:
    """Return the numbers of topics and the targets."""
    sizes = ", ".join(map(str, options.get("topic_sizes") or ()))
    targets = ", ".join(f"{target:g}" for target in options["target"])
    return listed(sizes and f"{sizes} topics", f"target {targets}")


def answer(group: ResultGroup) -> Iterator[Finding]:
    """Yield the topics for the largest target, of the metrics that need fewest and most."""
    if "topics" not in group.frames or group.first_table["erho2"].isna().all():
        return
    frame = with_labels(group.frames["topics"])
    frame = frame[(frame["target"] == frame["target"].max()) & (frame["coefficient"] == "erho2")]
    rows = frame.sort_values("n_topics", kind="stable").to_dict("records")
    for row in [rows[0], *rows[1:][-1:]]:
        place, topics = on_collection(row, group.several), number_of(row, "n_topics")
        sentence = f"an E rho^2 of {row['target']:g} takes {about(*topics)} topics; {LIMITED}"
        if np.isnan(topics[0]):
            sentence = (
                f"no number of topics gives an E rho^2 of {row['target']:g}, "
                "as systems' variance is not above 0"
            )
        yield with_number(
            f"{row['label']}{place}: {sentence}",
            f"topics for an E rho^2 of {row['target']:g}, {row['label']}{place}",
            topics,
            "topics",
            float(group.attrs[0]["confidence"]),
            "no number of topics is a limit",
            table="topics",
        )


def findings(result: xr.Dataset) -> Iterator[Finding]:
    """Yield the coefficients of the most and the least reliable metric, and notes."""
    frame = with_labels(COEFFICIENTS.make(result)).dropna(subset="erho2")
    if frame.empty:
        yield Finding("all scores are equal: no coefficient is defined")
        return
    own = frame[frame["n_topics"] == result.attrs["n_topics"]]
    own = frame[frame["n_topics"] == frame["n_topics"].iloc[0]] if own.empty else own
    rows = own.sort_values("erho2", ascending=False, kind="stable")
    shown = rows.iloc[[0, -1] if len(rows) > 1 else [0]].to_dict("records")
    values = "; ".join(
        f"{row['label']}: E rho^2 {with_limits(*number_of(row, 'erho2'), '.2f')}, "
        f"Phi {with_limits(*number_of(row, 'phi'), '.2f')}"
        for row in shown
    )
    yield with_number(
        f"with {shown[0]['n_topics']} topics, {values}; {LIMITED}",
        f"E rho^2 of {shown[0]['n_topics']} topics, {shown[0]['label']}",
        number_of(shown[0], "erho2"),
        confidence=float(result.attrs["confidence"]),
        unlimited="no limits are defined",
        table="coefficients",
    )
    yield from notes_of(result)


def reliability_curves(canvas: Canvas, result: xr.Dataset) -> None:
    """E rho^2 and Phi by number of topics; lines are the topics at hand and the targets."""
    cells = result.isel(gain=0)
    panels = canvas.figure(FIGURE_SIZE).subplots(1, len(NAMES), sharey=True)
    for axes, (name, heading) in zip(panels, NAMES.items(), strict=True):
        _curves(axes, cells.sel({names.COEFFICIENT: name}))
        of = "differences between systems" if name == "erho2" else "absolute means"
        axes.set_title(f"{heading}: {of}")
    panels[0].set(ylim=(0.0, 1.0), ylabel="coefficient")
    canvas.name(f"{conditions(result)}, gains {cells[names.GAIN].item()}")
    canvas.legend_outside(panels[0], "lower center", 6, fontsize=8)


def _curves(axes: Axes, at: xr.Dataset) -> None:
    topics, own = at["curve_topics"].values, int(at.attrs["n_topics"])
    ratios = at["ratio"].values
    known = [k for k in np.argsort(ratios) if np.isfinite(ratios[k])]
    # Bands cover each other: of more metrics only the highest and the lowest have one.
    banded = known if len(known) <= 3 else [known[0], known[-1]]
    for k, metric in enumerate(labels_of(at, names.METRIC)):
        curve, style = at["curve"].values[k], curve_style(k, 4, 1.2)
        axes.plot(topics, curve, linewidth=1.2, color=COLOURS[k % len(COLOURS)])
        axes.plot([own], [np.interp(own, topics, curve)], **style, label=metric)
        if k in banded:
            ends = (at[f"curve_{end}"].values[k] for end in ("low", "high"))
            axes.fill_between(topics, *ends, color=COLOURS[k % len(COLOURS)], alpha=0.15, lw=0)
    for target in at[names.TARGET].values:
        axes.axhline(target, linestyle="--", linewidth=0.8, color="0.4")
    axes.axvline(own, linestyle=":", linewidth=0.8, color="0.4")
    axes.set(xlim=(1, topics[-1]), xlabel="topics")


VIEW = View(
    name="reliability",
    heading="Reliability",
    about=(
        "A score is the sum of a system effect, a topic effect and an interaction with error "
        "(generalisability theory). E rho^2 is the expected squared correlation of systems' means "
        "over these topics with those over infinitely many, and is about differences between "
        "systems; Phi is about absolute means, for which the topics' difficulty is an error, too. "
        "Both are high where the systems differ much, whatever a metric's merit. Limits are about "
        "these systems on other topics like these."
    ),
    summary=(
        Summary(
            "metric=label E_rho^2=erho2~ Phi=phi~",
            at={names.N_TOPICS: math.inf},
            most=5,
            bar="E rho^2",
        ),
        Summary(
            "metric=label target topics=n_topics~",
            table="topics",
            most=5,
            at={"coefficient": "erho2"},
            title="topics needed for a reliability",
        ),
    ),
    tables={"coefficients": COEFFICIENTS, "components": COMPONENTS, "topics": NEEDED},
    title=title,
    caption=lambda result: (
        f"{conditions(result)}. Coefficients by number of topics; bands are {LIMITED}, lines the "
        "targets and the topics at hand."
    ),
    findings=findings,
    page_tables=on_page(
        {
            "Coefficients": "coefficients",
            "Variance components": "components",
            "Topics for a target": "topics",
        }
    ),
    figure=reliability_curves,
    answers={TOPICS: answer},
)
