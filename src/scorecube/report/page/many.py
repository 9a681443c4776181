"""The overview of many collections: distributions over them, made of what the index of the study says, so that no results are read."""

from __future__ import annotations

import html
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from scorecube.errors import counted, visible
from scorecube.report.cautions import cautions_of, cautions_of_collection
from scorecube.report.page.board import TO
from scorecube.report.page.html import (
    embedded_json,
    headings_of,
    page_file,
    script_and_hash,
    template,
)
from scorecube.report.page.options import PageOptions
from scorecube.report.page.sections import in_report_order, options_text
from scorecube.report.results import Tables
from scorecube.report.stored_tables import CAUTIONS, rows_with_facts
from scorecube.report.study_contents import contents_of
from scorecube.report.study_overview import Found, frames_of
from scorecube.report.tables import COLLECTION
from scorecube.report.text_formats import merge_gains, with_labels
from scorecube.report.view import Order
from scorecube.report.views import view_of
from scorecube.storage import Study
from scorecube.storage.catalogue import ATTRIBUTES, in_order

BINS = 24
SIZES = ("runs", "topics", "results", "warnings")
"""First columns of the table of collections."""


def overview_rows(study: Study, names: Iterable[str]) -> list[dict[str, Any]]:
    """Return what the overview shows of collections, from the index of the study: JSON values.

    names: Of the collections.
    Returns rows: One for each collection: ``name``, ``runs``, ``topics``, ``cautions`` (texts) and ``results``, the
        latest result of each analysis and its options with ``kind``, ``heading``, ``title``, ``column`` and ``numbers``
        (see `key_numbers`).
    """
    indexed = rows_with_facts(study)
    rows: dict[str, dict[str, Any]] = {}
    for name in names:
        sizes = contents_of(name, indexed[name])
        rows[name] = {key: sizes[key] for key in ("name", "runs", "topics")}
        rows[name]["cautions"] = [each.text for each in cautions_of_collection(sizes)]
        rows[name]["results"] = []
    found: dict[tuple[str, str], list[Found]] = {}
    for name in rows:
        for kind in indexed[name].texts:
            results = in_order(indexed[name].results(kind))
            latest = {options_text(facts[ATTRIBUTES]): facts for facts in results}
            for options, facts in latest.items():
                found.setdefault((kind, options), []).append((name, facts))
    for kind in in_report_order({kind for kind, _ in found}):
        for options in sorted(options for known, options in found if known == kind):
            for name, result, cautions in _results(study, kind, options, found[kind, options]):
                rows[name]["results"].append(result)
                rows[name]["cautions"] += cautions
    for row in rows.values():
        row["cautions"] = list(dict.fromkeys(row["cautions"]))
    return list(rows.values())


def _results(
    study: Study, kind: str, options: str, found: Sequence[Found]
) -> Iterator[tuple[str, dict[str, Any], list[str]]]:
    """Yield the collection, the overview's facts and the cautions of each result of an analysis with equal options."""
    view = view_of(kind)
    shown = {"kind": kind, "heading": view.heading, "title": view.title(json.loads(options))}
    columns, numbers = "", dict[str, dict[str, float]]()
    if view.order is not None:
        for frame in frames_of(study, view, found):
            columns = columns or headings_of(frame)[view.order.column]
            numbers |= key_numbers(frame, view.order)
    for name, facts in found:
        cautions = facts.get(CAUTIONS)
        if cautions is None:
            result = study[name].find_result(kind, facts["digest"])
            made = [] if result is None else cautions_of(kind, result, Tables(result))
            cautions = [each.text for each in made]  # none if it was replaced since
        yield name, shown | {"column": columns, "numbers": numbers.get(name, {})}, cautions


def key_numbers(frame: pd.DataFrame, order: Order) -> dict[str, dict[str, float]]:
    """Return the number by which an analysis orders metrics, by collection and metric, at the largest of each condition (alpha, confidence, size).

    frame: First table of some collections.
    order: Of the analysis.
    """
    if not len(frame):
        return {}
    rows = merge_gains(frame)
    for condition in order.conditions:
        if condition in rows.columns:
            largest = rows.groupby(COLLECTION)[condition].transform("max")
            rows = rows[(rows[condition] == largest) | largest.isna()]
    labelled = with_labels(rows).dropna(subset=order.column)
    numbers: dict[str, dict[str, float]] = {}
    for name, label, value in zip(
        labelled[COLLECTION], labelled["label"], labelled[order.column], strict=True
    ):
        numbers.setdefault(str(name), {})[str(label)] = round(float(value), 6)
    return numbers


@dataclass(frozen=True)
class Distribution:
    """Numbers of one analysis and metric over collections."""

    label: str
    values: list[float]
    low: float
    high: float

    @property
    def cells(self) -> list[str]:
        """Number of collections, and smallest, quartiles and largest value, as text."""
        points = np.quantile(self.values, [0, 0.25, 0.5, 0.75, 1])
        form = "{:,.6g}" if all(value.is_integer() for value in self.values) else "{:.3g}"
        return [f"{len(self.values):,}", *map(form.format, points.tolist())]

    @property
    def picture(self) -> Markup:
        """A histogram as SVG."""
        high = self.high if self.high > self.low else self.low + 1
        counts, _ = np.histogram(self.values, bins=BINS, range=(self.low, high))
        most = max(1, int(counts.max()))
        bars = "".join(
            f'<rect x="{5 * k}" y="{30 - 30 * count / most:.1f}" width="4" height="{30 * count / most:.1f}"/>'
            for k, count in enumerate(counts.tolist())
        )
        label = html.escape(
            visible(f"Histogram of {self.label} from {self.low:.4g} to {self.high:.4g}"), quote=True
        )
        return Markup(  # noqa: S704 - numbers, and a label that is escaped
            f'<svg class="bars" role="img" aria-label="{label}" viewBox="0 0 {5 * BINS} 30">{bars}</svg>'
        )


def distributions(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return, for each analysis with its options, the distributions of its numbers, and which collections lack it."""
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        for result in row["results"]:
            group = groups.setdefault(
                (result["kind"], result["title"]), {**result, "values": {}, "count": 0}
            )
            group["count"] += 1
            for label, value in result["numbers"].items():
                group["values"].setdefault(label, []).append(value)
    found = []
    for group in groups.values():
        known = [value for values in group["values"].values() for value in values]
        low, high = (min(known), max(known)) if known else (0.0, 0.0)
        found.append(
            {key: group[key] for key in ("heading", "title", "column", "count")}
            | {
                "lacking": len(rows) - group["count"],
                "distributions": [
                    Distribution(label, values, low, high)
                    for label, values in sorted(group["values"].items())
                ],
            }
        )
    return found


def table_data(rows: Sequence[Mapping[str, Any]], links: Mapping[str, str]) -> dict[str, Any]:
    """Return the table of collections for the script of the page: columns, warnings, and a row for each collection."""
    columns: dict[tuple[str, str, str], str] = {}
    for row in rows:
        for result in row["results"]:
            for label in result["numbers"]:
                key = (result["kind"], result["title"], label)
                columns.setdefault(key, f"{result['heading']}: {result['column']}, {label}")
    kinds = in_report_order({kind for kind, _, _ in columns})
    # A wider table would be cut off.
    chosen = sorted(columns, key=lambda key: (kinds.index(key[0]), *key[1:]))[:12]
    cautions = sorted({text for row in rows for text in row["cautions"]})
    place = {text: number for number, text in enumerate(cautions)}
    data = []
    for row in rows:
        numbers = {
            (result["kind"], result["title"], label): value
            for result in row["results"]
            for label, value in result["numbers"].items()
        }
        data.append(
            [
                visible(row["name"]),
                links.get(row["name"], ""),
                [place[text] for text in row["cautions"]],
                [row["runs"], row["topics"], len(row["results"]), len(row["cautions"])],
                [numbers.get(key) for key in chosen],
            ]
        )
    return {
        "columns": [*SIZES, *(visible(columns[key]) for key in chosen)],
        "cut": len(columns) - len(chosen),
        "cautions": [visible(text) for text in cautions],
        "rows": data,
    }


def _glance(
    sizes: Sequence[Distribution], groups: Sequence[Mapping[str, Any]]
) -> list[tuple[str, str, str, str]]:
    """Return what the page opens with: median and range of the sizes, and of the first metric of each analysis."""
    shown = [(each.label, each.cells) for each in sizes]
    shown += [
        (f"{group['heading']}: {group['column']}, {each.label}", each.cells)
        for group in groups
        for each in group["distributions"][:1]
    ]
    words = "median, smallest and largest of the collections"
    return [(heading, cells[3], f"{cells[1]}{TO}{cells[5]}", words) for heading, cells in shown]


def overview_page(
    study: Study, rows: Sequence[Mapping[str, Any]], links: Mapping[str, str], options: PageOptions
) -> str:
    """Return the overview of many collections.

    rows: Of `overview_rows`.
    links: File of each collection's page, of those that have one.
    options: Title, authors and date.
    """
    script = page_file("page.js") + page_file("overview.js")
    counts: dict[str, int] = {}
    for row in rows:
        for caution in row["cautions"]:
            counts[caution] = counts.get(caution, 0) + 1
    sizes = [
        Distribution(key, values, min(values), max(values))
        for key in ("runs", "topics")
        for values in [[float(row[key]) for row in rows]]
    ]
    groups = distributions(rows)
    rendered = template("overview.html").render(
        title=options.name(study),
        options=options,
        up=None,
        facts=[
            f"{len(rows):,} collections",
            counted(sum(len(row["results"]) for row in rows), "result"),
        ],
        study=study.path,
        study_word=shlex.quote(study.path),
        version=version("scorecube"),
        count=len(rows),
        sizes=sizes,
        groups=groups,
        glance=_glance(sizes, groups),
        cautions=sorted(counts.items(), key=lambda item: (-item[1], item[0])),
        data=Markup(embedded_json(table_data(rows, links))),  # noqa: S704 - escaped there
        names=[row["name"] for row in rows],
        links=links,
        **script_and_hash(script),
    )
    return str(rendered)
