"""What is shown of reliability."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.readable import is_known
from scorecube.report.results import labelled
from scorecube.report.tables import Table
from scorecube.report.views import TOPICS, Answer, Question, View

RELIABILITY = Question("How reliable are the scores?", "How reliable?", ("reliability",))

NAMES = {"erho2": "E rho^2: differences between systems", "phi": "Phi: absolute means"}
COEFFICIENTS = Table(
    "metric gain",
    "metric gain n_topics erho2~=value~[erho2] phi~=value~[phi] n_runs",
    brief="metric=label n_topics E_rho^2=erho2~ Phi=phi~",
)
"""Coefficients of the topics at hand."""
COMPONENTS = Table(
    "metric gain",
    "metric gain systems=component[systems] topics=component[topics] "
    "interaction=component[interaction] n_runs",
)
"""Variances of systems, topics and interaction; 0 for negative estimates."""
NEEDED = Table(
    "metric gain target coefficient",
    "metric gain target coefficient n_topics~=topics~",
    brief="metric=label target topics=n_topics~",
    at={names.COEFFICIENT: "erho2"},
)
"""Numbers of topics for the targets, missing where no number suffices."""


def answers(result: xr.Dataset) -> Iterator[Answer]:
    """Yield the coefficients for differences at the topics at hand, and topics for the target."""
    at = {names.TARGET: np.inf, names.COEFFICIENT: "erho2"}
    needed = {row["label"]: row for row in labelled(NEEDED.frame(result), at)}
    for row in sorted(labelled(COEFFICIENTS.frame(result)), key=lambda row: -row["erho2"]):
        numbers = row["erho2"], row["erho2_low"], row["erho2_high"]
        if not is_known(row["erho2"]):
            continue
        words = f"with {row['n_topics']} topics"
        if (target := needed.get(row["label"])) and is_known(target["n_topics"]):
            ends = target["n_topics_low"], target["n_topics_high"]
            limits = f" ({ends[0]:,.0f} to {ends[1]:,.0f})" if all(map(is_known, ends)) else ""
            words += f"; {target['target']:g} takes {target['n_topics']:,.0f}{limits} topics"
        yield Answer(row["label"], *numbers, ".2f", words, "E rho²")


def reliability_curves(canvas: Any, result: xr.Dataset) -> None:
    """E rho^2 and Phi by number of topics; lines are the topics at hand and the targets."""
    cells, own = result.isel(gain=0), int(result.attrs[names.N_TOPICS])
    panels = canvas.figure(canvas.size).subplots(1, len(NAMES), sharey=True)
    for axes, (name, heading) in zip(panels, NAMES.items(), strict=True):
        at = cells.sel({names.COEFFICIENT: name})
        topics = at["curve_topics"].values
        for k, metric in enumerate(labels_of(at, names.METRIC)):
            curve, style = at["curve"].values[k], canvas.curve(k, 4)
            axes.plot(topics, curve, linewidth=1.2, color=style["color"])
            axes.plot([own], [np.interp(own, topics, curve)], **style, label=metric)
            ends = (at[f"curve_{end}"].values[k] for end in ("low", "high"))
            axes.fill_between(topics, *ends, color=style["color"], alpha=0.1, linewidth=0)
        for target in at[names.TARGET].values:
            axes.axhline(target, linestyle="--", linewidth=0.8, color="0.4")
        axes.axvline(own, linestyle=":", linewidth=0.8, color="0.4")
        axes.set(xlim=(1, topics[-1]), xlabel="topics", title=heading)
    panels[0].set(ylim=(0.0, 1.0), ylabel="coefficient")
    canvas.name(result)
    canvas.legend_outside(panels[0], "lower center", 6)


VIEW = View(
    name="reliability",
    heading="Reliability",
    tables={"coefficients": COEFFICIENTS, "components": COMPONENTS, "topics": NEEDED},
    shown=("coefficients", "topics"),
    about="A score is the sum of a system effect, a topic effect and an interaction with error "
    "(generalisability theory). E rho^2 is about differences between systems; Phi about absolute "
    "means, for which the topics' difficulty is an error, too. Both are high where systems differ "
    "much, whatever a metric's merit. Limits are about these systems on other topics.",
    answers={RELIABILITY: answers},
    chapter=TOPICS,
    conditions="target",
    figure=reliability_curves,
)
