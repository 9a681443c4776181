"""Sections of a page: one for each set of results with equal options, which are read and drawn one by one.

Between results only small data stay in memory: figures as text, tables that fit on a page, results without their large arrays.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.cautions import Caution, cautions_of
from scorecube.report.findings import Finding
from scorecube.report.page.board import is_board
from scorecube.report.page.html import MOST_PACKED, csv_address, html_table, picture
from scorecube.report.page.options import PageOptions
from scorecube.report.results import (
    Tables,
    findings_of,
    most_rows,
    of_metrics,
    options_of_result,
    view_of_result,
)
from scorecube.report.tables import COLLECTION, combine
from scorecube.report.view import Question, ResultGroup, View
from scorecube.report.views import unstored_names, view_names, view_of
from scorecube.storage import Collection, Study

LARGE = 1 << 20
"""Bytes of an array that is not kept beyond its result's own part of the page."""


@dataclass(frozen=True)
class PartSource:
    """What a part of the report is made from: a stored result, or the scores.

    collection, kind: Its collection, and its analysis.
    facts: Attributes of the stored result; None for an analysis that is computed from the scores.
    """

    collection: str
    kind: str
    facts: Mapping[str, Any] | None = None


def part_sources(collection: Collection) -> list[PartSource]:
    """Return what the report shows of a collection: the latest result of each analysis and its options, then what is computed."""
    latest = {
        (kind, options_text(facts)): PartSource(collection.name, kind, facts)
        for kind in in_report_order(collection.contents()["results"])
        for facts in collection.result_attributes(kind)
    }
    computed = (kind for kind in unstored_names() if view_of(kind).page_result is not None)
    return [*latest.values(), *(PartSource(collection.name, kind) for kind in computed)]


def in_report_order(kinds: Iterable[str]) -> list[str]:
    """Return analyses in the order of the report; those without a view come last, by name."""
    order = view_names()
    return sorted(
        kinds, key=lambda kind: (order.index(kind) if kind in order else len(order), kind)
    )


def options_text(facts: Mapping[str, Any]) -> str:
    """Return the options of a result as text; equal texts are equal options."""
    return json.dumps(options_of_result(facts), sort_keys=True)


@dataclass
class Section:
    """Results of one analysis with equal options, of one collection or several.

    kind, options: Shared by its results.
    parts: One for each result.
    """

    kind: str
    options: dict[str, Any]
    parts: list[Part] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    """Rows of every table, or a little more, of all parts together."""

    @property
    def view(self) -> View:
        """Of the analysis."""
        return view_of(self.kind)

    @property
    def name(self) -> str:
        """Heading of the analysis."""
        return self.view.heading

    @property
    def title(self) -> str:
        """What distinguishes it from other sections of the analysis."""
        return self.view.title(self.options)

    @property
    def anchor(self) -> str:
        """Its id on the page."""
        digest = hashlib.sha256(json.dumps(self.options).encode()).hexdigest()[:6]
        return re.sub(r"\W+", "-", f"{self.kind}-{self.title}-{digest}")

    def add(self, part: Part) -> None:
        """Add the part of one more collection; drop tables that have become too long for a page."""
        self.parts.append(part)
        for kept in ("frames", "findings"):
            self.__dict__.pop(kept, None)
        for name, rows in part.rows.items():
            self.rows[name] = self.rows.get(name, 0) + rows
            if self.rows[name] > most_rows(self.view, name):
                for each in self.parts:
                    each.frames.pop(name, None)

    @cached_property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables that are not too long, over all collections."""
        kept = [
            name for name in self.view.tables if all(name in part.frames for part in self.parts)
        ]
        return {name: combine([part.frames[name] for part in self.parts]) for name in kept}

    @property
    def first_table(self) -> pd.DataFrame:
        """The analysis' first table over all collections; empty if it is too long to be kept."""
        return self.frames.get(self.view.first_table, pd.DataFrame())

    @property
    def downloads(self) -> dict[str, str]:
        """Addresses of the tables that are not too long, by name, as packed CSV."""
        found = self.frames.items()
        return {name: csv_address(frame) for name, frame in found if len(frame) <= MOST_PACKED}

    @cached_property
    def findings(self) -> list[Finding]:
        """What the results say: of one collection all of it, of several the answers."""
        if len(self.parts) == 1:
            return list(self.parts[0].findings)
        group = ResultGroup(self.name, self.title, self.frames, [part.small for part in self.parts])
        return [each for own in self.view.answers for each in self.view.answered(own, group)]

    def answered(self, question: Question) -> list[Finding]:
        """Return what the results say on a question that they answer."""
        return [each for each in self.findings if each.question == question.text]

    @property
    def question(self) -> Question | None:
        """The question whose chapter shows it: that for which its analysis is there, else the first that it answers."""
        own = list(self.view.answers)
        return next(
            (each for each in own if each.analysis == self.kind),
            own[0] if own else self.view.chapter,
        )

    def sentences(self) -> list[str]:
        """Return what it says, the answer first, each once."""
        said = [sentence(each.sentence) for each in self.findings]
        # What a result says by itself begins as its answer does.
        return list({line[:40]: line for line in reversed(said)}.values())[::-1]

    def content(self) -> dict[str, Any]:
        """Return the values that the template of the page needs; of one collection no picture twice."""
        frames, view = self.frames, self.view
        board = is_board(self.first_table)
        downloads = self.downloads
        drawn = view.overview is not None
        if len(self.parts) == 1 and self.parts[0].curve.get("picture"):
            drawn = False
        shown = view.page_tables(frames) if view.first_table in frames and not board else []
        words = f"{view.heading}, {', '.join(part.collection for part in self.parts)}"
        return {
            "name": view.heading,
            "title": self.title,
            "about": view.about,
            "anchor": self.anchor,
            "kind": self.kind,
            "sentences": self.sentences(),
            "overview": picture(view.draw_overview([part.small for part in self.parts]), words)
            if drawn
            else None,
            "curves": [
                part.curve | {"reading": [sentence(each.sentence) for each in part.findings]}
                for part in self.parts
            ],
            "tables": [
                (heading, html_table(frame, f"{heading}, {view.heading}: {self.title}"))
                for heading, frame in shown
            ],
            "too_long": [
                (name, f"{self.rows[name]:,}") for name in view.tables if name not in downloads
            ],
            "downloads": downloads,
        }


@dataclass
class Part:
    """The parts of one result that a page shows.

    collection, kind, options: The result's collection, its analysis, and the analysis' options as text.
    curve: Figures.
    findings: What the result says.
    frames: Its tables by name, without those that are too long.
    rows: Rows of all its tables, or a little more of those that are too long.
    small: The result without its large arrays.
    cautions: Cautions about the result.
    facts: The result's attributes.
    """

    collection: str
    kind: str
    options: str
    curve: dict[str, Any]
    findings: Sequence[Finding]
    frames: dict[str, pd.DataFrame]
    rows: dict[str, int]
    small: xr.Dataset
    cautions: list[Caution]
    facts: Mapping[str, Any]


def read_part(
    study: Study, source: PartSource, *, options: PageOptions | None = None
) -> Part | None:
    """Read one result, and draw it; return its small parts, None if there is no result."""
    collection, view = study[source.collection], view_of(source.kind)
    if source.facts is not None:
        result = collection.find_result(source.kind, str(source.facts["digest"]))
    else:
        result = view.page_result and view.page_result(collection.cube, source.collection)
    if result is None:
        return None
    result = result.assign_attrs({COLLECTION: source.collection})
    if names.METRIC in result.dims:
        known = labels_of(result, names.METRIC)
        chosen = (options or PageOptions()).chosen(known)
        result = result if chosen == known else of_metrics(result, chosen)
    tables = Tables(result)
    frames = dict(tables)
    facts = result.attrs if source.facts is None else source.facts
    return Part(
        source.collection,
        source.kind,
        options_text(facts),
        curve(result),
        [*findings_of([result], tables)],
        frames,
        tables.rows,
        without_large(result),
        cautions_of(source.kind, result, tables),
        {**facts, COLLECTION: source.collection},
    )


def curve(result: xr.Dataset) -> dict[str, Any]:
    """Return the figures of one result."""
    view = view_of_result(result)
    in_rows = "rank_low" in result  # leaderboards have their bars in the rows of the page
    caption = "" if in_rows else view.caption(result)
    pictures = []
    if view.figure is not None and not in_rows:
        for gain in labels_of(result, names.GAIN):
            pictures.append(
                (gain, picture(view.draw(result, gain), f"{view.heading}: {caption} Gains {gain}."))
            )
    return {
        "picture": pictures[0][1] if pictures else "",
        "caption": caption,
        "collection": str(result.attrs[COLLECTION]),
        "others": pictures[1:],
    }


def sentence(line: str) -> str:
    """Return a line of a headline as a sentence.

    Examples
    --------
    >>> sentence("no run loses a rank")
    'No run loses a rank.'
    """
    first = line.split(" ", 1)[0]
    # Names of metrics and runs keep their letters.
    return f"{line[0].upper() if first.isalpha() and first.islower() else line[0]}{line[1:].rstrip('.')}."


def without_large(result: xr.Dataset) -> xr.Dataset:
    """Return a result without its large arrays; dims keep their lengths."""
    small = result.drop_vars(
        [name for name, variable in result.variables.items() if variable.nbytes > LARGE]
    )
    lost = {dim: size for dim, size in result.sizes.items() if dim not in small.sizes}
    # A broadcast array takes no memory.
    return small.assign(
        {f"no_array_{dim}": (dim, np.broadcast_to(np.int8(0), size)) for dim, size in lost.items()}
    )


class Sections:
    """Sections that grow part by part, so that tables that become too long for a page are dropped."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], Section] = {}

    def add(self, part: Part) -> None:
        """Add a part to the section of its analysis and options."""
        key = (part.kind, part.options)
        self._made.setdefault(key, Section(part.kind, json.loads(part.options))).add(part)

    def in_order(self) -> list[Section]:
        """Return the sections in the order of the analyses."""
        order = in_report_order({kind for kind, _ in self._made})
        return [
            self._made[key]
            for key in sorted(self._made, key=lambda key: (order.index(key[0]), key[1]))
        ]
