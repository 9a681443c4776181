"""Reliability of mean scores, from variances of systems, topics and their interaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.frames import frame_of, labelled
from scorecube.analyses.jackknife import CONFIDENCE, limits, of_scores
from scorecube.analyses.pairs import check_pairs
from scorecube.analyses.preparation import make_table
from scorecube.analyses.protocol import Analysis, Totals
from scorecube.analyses.repetitions import Repetitions
from scorecube.analyses.table import ScoreTable
from scorecube.analyses.topic_units import FloatArray
from scorecube.collection.schema import CELL, label_array, labels_of
from scorecube.declare import (
    TOPICS,
    Answer,
    Canvas,
    Column,
    Question,
    Table,
    Variable,
    View,
    along,
    estimate,
    interval,
    is_known,
    limits_of,
    maybe,
    option_field,
    shown,
)
from scorecube.statistics.variance import (
    COEFFICIENTS,
    SOURCES,
    coefficient,
    components,
    ratios,
    repetition_components,
    topics_for,
)

VARIABLES = (
    *along(
        ("metric", "gain", "source"),
        Variable(
            "component", "estimate", "variance of a source; 0 for a negative estimate", form=".5f"
        ),
    ),
    *along(
        CELL,
        Variable("repetitions", "estimate", "variance between repetitions of a system", form=".5f"),
        Variable("by_repetition", "estimate", "variance of topic x repetition", form=".5f"),
    ),
    *along(
        ("metric", "gain", "coefficient"),
        Variable("value", "estimate", "reliability coefficient"),
        limits_of("value", "limit of the reliability coefficient"),
    ),
    *along(
        ("metric", "gain", "coefficient", "target"),
        Variable("topics", "estimate", "number of topics for a coefficient", "topics", form=".0f"),
        limits_of(
            "topics", "limit of the number of topics for a coefficient", "topics", form=".0f"
        ),
    ),
    *along(
        ("metric", "gain", "coefficient", "curve_topics"),
        Variable("curve", "estimate", "reliability coefficient by number of topics"),
        limits_of("curve", "limit of the reliability coefficient by number of topics"),
    ),
)


RELIABILITY = Question("How reliable are the scores?", "How reliable?")

ERHO2 = "E rho²"
PHI = "Phi"
NAMES = {"erho2": f"{ERHO2}: differences between systems", "phi": f"{PHI}: absolute means"}
OF_TOPICS_AT_HAND = Table(
    CELL,
    (
        *CELL,
        "n_topics",
        *estimate("erho2", of="value", at="erho2", heading=ERHO2),
        *estimate("phi", of="value", at="phi", heading=PHI),
        "n_runs",
    ),
    brief=(
        shown("metric", "label"),
        shown("topics", "n_topics"),
        shown(ERHO2, *interval("erho2")),
        shown(PHI, *interval("phi")),
    ),
)
"""Coefficients of the topics at hand."""
COMPONENTS = Table(
    CELL,
    (
        *CELL,
        Column("systems", of="component", at="systems"),
        Column("topics", of="component", at="topics"),
        Column("interaction", of="component", at="interaction"),
        *maybe("repetitions", "by_repetition"),
        "n_runs",
    ),
)
"""Variances of systems, topics and interaction, and within systems; 0 for negative estimates."""
NEEDED = Table(
    (*CELL, "target", "coefficient"),
    (*CELL, "target", "coefficient", *estimate("n_topics", of="topics")),
    brief=(shown("metric", "label"), "target", shown("topics", *interval("n_topics"))),
    at={names.COEFFICIENT: "erho2"},
)
"""Numbers of topics for the targets, missing where no number suffices."""


def answers(result: xr.Dataset) -> Iterator[Answer]:
    """Yield the coefficients for differences at the topics at hand, and topics for the target."""
    at = {names.TARGET: np.inf, names.COEFFICIENT: "erho2"}
    topics = names.nouns(result.attrs).topics
    needed = {row["label"]: row for row in labelled(frame_of(NEEDED, result), at)}
    for row in sorted(labelled(frame_of(OF_TOPICS_AT_HAND, result)), key=lambda row: -row["erho2"]):
        numbers = row["erho2"], row["erho2_low"], row["erho2_high"]
        if not is_known(row["erho2"]):
            continue
        words = f"with {row['n_topics']} {topics}"
        if (target := needed.get(row["label"])) and is_known(target["n_topics"]):
            ends = target["n_topics_low"], target["n_topics_high"]
            limits = f" ({ends[0]:,.0f} to {ends[1]:,.0f})" if all(map(is_known, ends)) else ""
            words += f"; {target['target']:g} takes {target['n_topics']:,.0f}{limits} {topics}"
        yield Answer(row["label"], *numbers, ".2f", words, ERHO2)


def reliability_curves(canvas: Canvas, result: xr.Dataset) -> None:
    """E rho^2 and Phi by number of topics; lines are the topics at hand and the targets."""
    cells = result.isel(gain=0)
    own = int(result.attrs[names.N_TOPICS])
    panels = canvas.figure(canvas.size).subplots(1, len(NAMES), sharey=True)
    for axes, (name, heading) in zip(panels, NAMES.items(), strict=True):
        at = cells.sel({names.COEFFICIENT: name})
        topics = at["curve_topics"].values
        for k, metric in enumerate(labels_of(at, names.METRIC)):
            curve = at["curve"].values[k]
            style = canvas.curve(k, 4)
            axes.plot(topics, curve, linewidth=1.2, color=style["color"])
            axes.plot([own], [np.interp(own, topics, curve)], **style, label=metric)
            ends = (at[f"curve_{end}"].values[k] for end in ("low", "high"))
            axes.fill_between(topics, *ends, color=style["color"], alpha=0.1, linewidth=0)
        for target in at[names.TARGET].values:
            axes.axhline(target, linestyle="--", linewidth=0.8, color="0.4")
        axes.axvline(own, linestyle=":", linewidth=0.8, color="0.4")
        words = names.nouns(result.attrs).topics
        axes.set(xlim=(1, topics[-1]), xlabel=words, title=heading)
    panels[0].set(ylim=(0.0, 1.0), ylabel="coefficient")
    canvas.name(result)
    canvas.legend_outside(panels[0], "lower center", 6)


VIEW = View(
    name="reliability",
    heading="Reliability",
    tables={"coefficients": OF_TOPICS_AT_HAND, "components": COMPONENTS, "topics": NEEDED},
    shown=("coefficients", "topics"),
    about="A score is the sum of a system effect, a topic effect and an interaction with error "
    "(generalisability theory). E rho^2 is about differences between systems; Phi about absolute "
    "means, for which the topics' difficulty is an error, too. Both are high where systems differ "
    "much, whatever a metric's merit. Limits are about these systems on other topics.",
    answers={RELIABILITY: answers},
    chapter=TOPICS,
    conditions=("target",),
    figure=reliability_curves,
)


@dataclass(frozen=True, eq=False)
class TableOfMeans(ScoreTable):
    """Means over repetitions, and the variances within systems, float64 (cell, 2)."""

    within: FloatArray = field(default_factory=lambda: np.empty((0, 2)))


@dataclass(frozen=True, kw_only=True)
class Reliability(Analysis):
    """Reliability of mean scores: generalizability (E rho^2, Phi), topics needed.

    ``erho2`` (E rho^2) is the expected squared correlation of systems' means over n topics with
    their means over infinitely many: it is about differences between systems. ``phi`` (Phi) counts
    the topics' difficulty as error too: it is about absolute scores. Negative estimates of
    variances count as 0, which a note says. Estimand: these systems, other topics; limits are
    jackknife limits over topics (95 %).

    Where systems have repetitions, such as training runs, all this is about means over them, and
    ``repetitions`` is the variance between a system's repetitions of its mean over infinitely many
    topics, ``by_repetition`` that of topic x repetition; both over the systems with two or more.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> result = analyse(simulate_cube(n_runs=12, seed=3), Reliability())
    >>> round(result["value"].sel(metric="AP", coefficient="erho2").item(), 2)
    0.95
    """

    name: ClassVar[str] = "reliability"
    in_demo: ClassVar[Mapping[str, Any] | None] = {}
    view: ClassVar[View] = VIEW
    variables: ClassVar[tuple[Variable, ...]] = VARIABLES
    references: ClassVar[tuple[str, ...]] = ("urbano2013",)
    resamples: ClassVar[bool] = False
    unused: ClassVar[tuple[str, ...]] = ("bags",)
    examples: ClassVar[tuple[str, ...]] = ("--target 0.9,0.95",)

    target: tuple[float, ...] = option_field(
        (0.95,), "Generalizability (E rho^2, Phi) to be reached by more topics.", above=0, below=1
    )

    def bytes_needed(self, table: ScoreTable, threads: int) -> int:
        # All scores, and those without each group of units, are held at once.
        return table.bytes_needed(more=len(table.groups()))

    def table(self, cube: xr.Dataset) -> ScoreTable:
        table = check_pairs(make_table(cube, bags=False), self.name)
        of = Repetitions.of(cube, table.runs, bags=False)
        if max(map(len, of.by_system.values())) < 2:
            return table
        found = []
        for cell in range(len(table.scores)):
            systems = [of.values(cell, system) for system in of.by_system]
            found.append(repetition_components(systems))
        kept = {item.name: getattr(table, item.name) for item in fields(table)}
        return TableOfMeans(**kept, within=np.array(found))

    def result(self, table: ScoreTable, totals: Totals) -> xr.Dataset:
        variances = of_scores(table, components)
        n_topics = table.sizes.size
        ratio, *left_out = np.moveaxis(ratios(np.moveaxis(variances, -1, 0)), 0, -1)
        low, high = limits(ratio, np.array(left_out), "log")
        points = np.linspace(1, 2 * n_topics, 60)
        values: dict[str, Any] = {"component": np.maximum(variances[0], 0.0)}
        estimates = variances[0]
        if isinstance(table, TableOfMeans):
            values["repetitions"], values["by_repetition"] = np.maximum(table.within.T, 0.0)
            estimates = np.concatenate([estimates, table.within], axis=-1)
        # The larger the ratio, the fewer the topics.
        ends = ("", ratio, ratio), ("_low", low, high), ("_high", high, low)
        for end, of, of_topics in ends:
            values[f"value{end}"] = coefficient(of, n_topics)
            values[f"curve{end}"] = coefficient(of[..., np.newaxis], points)
            topics = np.stack([topics_for(of_topics, target) for target in self.target], axis=-1)
            values[f"topics{end}"] = np.where(np.isfinite(topics), topics, np.nan)
        coords = {names.TARGET: np.array(self.target), "curve_topics": points}
        coords |= {names.COEFFICIENT: label_array(COEFFICIENTS), names.SOURCE: label_array(SOURCES)}
        negative = bool((estimates < 0).any())
        notes = ["Negative estimates of variance count as 0."] if negative else []
        attrs = {"trials": 0, "n_topics": n_topics, "confidence": CONFIDENCE, "notes": notes}
        return table.dataset(VARIABLES, values, coords, attrs)
