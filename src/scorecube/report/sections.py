"""Sections of a page: results of one analysis, and what is shown of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import pandas as pd
import xarray as xr
from markupsafe import Markup

from scorecube import names
from scorecube.analyses.frames import COLLECTION, combine, frame_of
from scorecube.collection.schema import labels_of
from scorecube.declare import Answer, Question, View
from scorecube.report.drawing import draw
from scorecube.report.page_parts import page_cells, picture
from scorecube.report.papers import reference_keys
from scorecube.report.result_parts import (
    conditions,
    gain_of,
    graded_metrics,
    median_of,
    of_metrics,
    options_of_result,
)
from scorecube.report.views import view_of

MOST_ROWS = 5_000
"""Rows of a table."""


@dataclass
class SectionPart:
    """What a page shows of one result."""

    attrs: Mapping[Any, Any]
    gain: str
    answers: dict[Question, list[Answer]]
    pictures: list[tuple[str, Markup]]
    frames: dict[str, pd.DataFrame]


@dataclass
class Section:
    """Results of one analysis with equal options, of one collection or several."""

    kind: str
    options: str
    parts: list[SectionPart] = field(default_factory=list)

    @property
    def view(self) -> View:
        """What is shown of the analysis."""
        return view_of(self.kind)

    @property
    def references(self) -> Sequence[str]:
        """Keys of what the analysis cites."""
        return reference_keys(self.kind)

    @property
    def title(self) -> str:
        """Under which conditions the results were made."""
        gain = self.parts[0].gain
        setting = f"gains {gain}" if gain else ""
        return ", ".join(filter(None, [conditions(*(p.attrs for p in self.parts)), setting]))

    @property
    def anchor(self) -> str:
        """Id of its part of the page."""
        return f"{self.kind}-{hashlib.sha256(self.options.encode()).hexdigest()[:6]}"

    def frame(self, name: str = "") -> pd.DataFrame:
        """Return a table over all collections, the first by default; empty if it is too long."""
        name = name or self.view.first_table
        return combine([part.frames[name] for part in self.parts if name in part.frames])

    def answers(self, question: Question) -> list[Answer]:
        """Return the answers to a question; of several collections medians."""
        several = [part.answers.get(question, []) for part in self.parts]
        if len(several) == 1:
            return several[0]
        return median_of(several, names.word(self.parts[0].attrs, COLLECTION))

    def content(self) -> dict[str, Any]:
        """Return the values that the template needs."""
        view = self.view
        answers = chain.from_iterable(map(self.answers, view.answers))
        return {
            "view": view,
            "title": self.title,
            "anchor": self.anchor,
            "sentences": [answer.sentence for answer in answers],
            "parts": [(part.attrs[COLLECTION], part.pictures) for part in self.parts],
            "tables": [
                (name.replace("_", " "), len(frame), page_cells(frame))
                for name in view.shown
                if len(frame := self.frame(name))
            ],
        }


def section_part(
    collection: str, kind: str, result: xr.Dataset, primary: str, gains: Sequence[str]
) -> tuple[tuple[str, str], SectionPart]:
    """Return the analysis and options of a result, and what is shown of it.

    gains: Settings of the collection; where a result has one of several, its answers name it.
    """
    result = result.assign_attrs({COLLECTION: collection})
    if names.METRIC in result.dims:
        metrics = labels_of(result, names.METRIC)
        result = of_metrics(result, sorted(metrics, key=primary.__ne__))  # the primary one first
    options = json.dumps(options_of_result(result.attrs), sort_keys=True)
    part = part_of(kind, result)
    if len(gains) > 1 and (gain := gain_of(result)):
        graded = graded_metrics(result)
        for answers in part.answers.values():
            answers[:] = [_with_gain(answer, gain, graded) for answer in answers]
    return (kind, options), part


def _with_gain(answer: Answer, gain: str, graded: Sequence[str]) -> Answer:
    """Return an answer whose metric is named with its gain setting, if it has one."""
    return replace(answer, label=f"{answer.label} ({gain})") if answer.label in graded else answer


def part_of(kind: str, result: xr.Dataset) -> SectionPart:
    """Return what a page shows of a result."""
    view = view_of(kind)
    pictures = []
    of_any_length = {view.first_table, "collections"}  # the second is the matrix of a board
    frames = {}
    for name, table in view.tables.items():
        is_short = name in view.shown and table.n_rows(result) <= MOST_ROWS
        if name in of_any_length or is_short:
            frames[name] = frame_of(table, result)
    if view.figure is not None and not view.as_leaderboard:
        gains = labels_of(result, names.GAIN) if names.GAIN in result.dims else []
        if not graded_metrics(result):
            gains = gains[:1]  # the others have the same figure
        for gain in gains or [""]:
            words = f"{view.heading}, {result.attrs[COLLECTION]}, gains {gain}"
            drawn_at = result.sel({names.GAIN: [gain]}) if gains else result
            pictures.append((gain, picture(draw(view, drawn_at), words)))
    answers = {question: list(of(result)) for question, of in view.answers.items()}
    return SectionPart(result.attrs, gain_of(result), answers, pictures, frames)
