"""The overview of many collections: distributions over them.

It is made from rows, which the pages of collections hold in their heads, so that memory does not grow with the results, and a page that is
up to date is not made again.
"""

from __future__ import annotations

import html
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from scorecube.errors import visible
from scorecube.report.page.cautions import cautions_of_collection
from scorecube.report.page.comparisons import headline_columns
from scorecube.report.page.html import HEADINGS, OF_PAIRS, embedded_json
from scorecube.report.page.sections import Section
from scorecube.report.page.templates import page_file, script_and_hash, template
from scorecube.report.text_formats import merge_gains, with_labels
from scorecube.report.views.view import Order
from scorecube.storage import Study

ROW = "scorecube-row"
"""Name of the metadata in the head of a collection's page: what the overview needs of it."""
HEAD_BYTES = 2**18
"""Of a page, in which its metadata stands."""
MOST_COLUMNS = 12
"""Numbers of results in the table of collections."""
BINS = 24


def read_row(page: Path) -> dict[str, Any] | None:
    """Return the row in the head of a page; None for another file."""
    try:
        with page.open("rb") as file:
            text = file.read(HEAD_BYTES).decode(errors="replace")
        found = re.search(rf'<meta name="{ROW}" content="([^"]*)">', text)
        content = None if found is None else json.loads(html.unescape(found[1]))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def make_row(facts: Mapping[str, Any], sections: Sequence[Section]) -> dict[str, Any]:
    """Return what the overview needs of a collection, as JSON values.

    Parameters
    ----------
    facts
        As from `overview`.
    sections
        Its results.
    """
    cells = {id(each["section"]): each["cells"] for each in headline_columns(sections)}
    cautions = [each.text for each in cautions_of_collection(facts)]
    cautions += [
        each.text for section in sections for part in section.parts for each in part.cautions
    ]
    results = []
    for section in sections:
        order = section.view.order
        results.append(
            {
                "kind": section.kind,
                "heading": section.name,
                "title": section.title,
                "cell": cells.get(id(section), {}).get(facts["name"], ""),
                "column": "" if order is None else _heading(order.column, section.first_table),
                "numbers": {} if order is None else key_numbers(section.first_table, order),
            }
        )
    return {
        "name": facts["name"],
        "runs": facts["runs"],
        "topics": facts["topics"],
        "cautions": list(dict.fromkeys(cautions)),
        "results": results,
    }


def _heading(column: str, frame: pd.DataFrame) -> str:
    """Return what a column of an analysis' first table holds, in words."""
    known = HEADINGS | (OF_PAIRS if "significant" in frame.columns else {})
    text = known.get(column, column.replace("_", " "))
    return re.sub(r"^\([ivx]+\) ", "", text)  # the numbers of the columns of S1's tables


def key_numbers(frame: pd.DataFrame, order: Order) -> dict[str, float]:
    """Return the number by which an analysis orders metrics, by metric, at the largest of each condition (alpha, confidence, size).

    Parameters
    ----------
    frame
        First table of one collection.
    order
        Of the analysis.
    """
    if not len(frame):
        return {}
    rows = merge_gains(frame)
    for condition in order.conditions:
        if condition in rows.columns and rows[condition].notna().any():
            rows = rows[rows[condition] == rows[condition].max()]
    labelled = with_labels(rows)
    return {
        str(label): round(float(value), 6)
        for label, value in zip(labelled["label"], labelled[order.column], strict=True)
        if pd.notna(value)
    }


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
        form = "{:,.6g}" if all(value.is_integer() for value in self.values) else "{:.4f}"
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
            {
                "heading": group["heading"],
                "title": group["title"],
                "column": group["column"],
                "count": group["count"],
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
    chosen = sorted(columns)[:MOST_COLUMNS]
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
                links[row["name"]],
                [place[text] for text in row["cautions"]],
                [row["runs"], row["topics"], len(row["results"]), len(row["cautions"])],
                [numbers.get(key) for key in chosen],
            ]
        )
    return {
        "columns": [
            "runs",
            "topics",
            "results",
            "warnings",
            *(visible(columns[key]) for key in chosen),
        ],
        "cut": len(columns) - len(chosen),
        "cautions": [visible(text) for text in cautions],
        "rows": data,
    }


def overview_page(study: Study, rows: Sequence[Mapping[str, Any]], links: Mapping[str, str]) -> str:
    """Return the overview of many collections.

    Parameters
    ----------
    study
        The study.
    rows
        Of `make_row`.
    links
        File of each collection's page.
    """
    script = page_file("page.js") + page_file("overview.js")
    counts: dict[str, int] = {}
    for row in rows:
        for caution in row["cautions"]:
            counts[caution] = counts.get(caution, 0) + 1
    name = Path(study.path.rstrip("/")).name or study.path
    sizes = [
        Distribution(key, values, min(values), max(values))
        for key in ("runs", "topics")
        for values in [[float(row[key]) for row in rows]]
    ]
    rendered = template("overview.html").render(
        name=name,
        study=study.path,
        study_word=shlex.quote(study.path),
        version=version("scorecube"),
        count=len(rows),
        results=sum(len(row["results"]) for row in rows),
        sizes=sizes,
        groups=distributions(rows),
        cautions=sorted(counts.items(), key=lambda item: (-item[1], item[0])),
        data=Markup(embedded_json(table_data(rows, links))),  # noqa: S704 - escaped there
        links=links,
        **script_and_hash(script),
    )
    return str(rendered)
