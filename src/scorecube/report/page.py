"""One self-contained HTML page with everything a study knows: no network, no scripts needed to read it."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
import os
import re
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.figure import Figure

from scorecube import __version__, names
from scorecube.analyses import ANALYSES
from scorecube.errors import BadStudy
from scorecube.report import figures
from scorecube.report.chapters import CHAPTERS
from scorecube.report.designs import designs
from scorecube.report.figures.style import STYLE
from scorecube.report.formats import cell_text, merge_gains, render
from scorecube.report.overview import overview
from scorecube.report.reading import headline
from scorecube.report.tables import COLLECTION, TABLES, combine
from scorecube.schema import labels_of
from scorecube.storage import Study

Progress = Callable[[int, int], None]
MOST_ROWS = 5_000
"""Of a table that the page carries along; `scorecube show` prints longer ones."""


def write_page(study: Study, path: str | os.PathLike[str], *, progress: Progress | None = None) -> None:
    """Write the report of a study; the file appears whole or not at all.

    Raises
    ------
    BadStudy
        A study without collections, or a path that cannot be written.
    """
    facts = overview(study)
    if not facts["collections"]:
        raise BadStudy(
            f"{study.path}: nothing to report yet; add a collection with scorecube evaluate or scorecube import"
        )
    results = [result for name in study for kind in ANALYSES for result in study[name].results(kind)]
    text = template().render(
        study=study.path, version=__version__, collections=facts["collections"], groups=sections([*results, *designs(study)], progress),
        provenance=[_provenance(result) for result in results], missing="none yet",
    )  # fmt: skip
    target = Path(path)
    partial = target.with_name(f".{target.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(target)
    except OSError as error:
        raise BadStudy(f"{target}: cannot be written: {error.strerror}") from None


def sections(results: Sequence[xr.Dataset], progress: Progress | None = None) -> list[dict[str, Any]]:
    """Return one section for each set of results made alike: one analysis, equal options, the latest of each collection."""
    alike: dict[tuple[str, str], dict[str, xr.Dataset]] = {}
    for result in results:
        options = json.dumps(json.loads(result.attrs["plan"])["options"], sort_keys=True)
        alike.setdefault((str(result.attrs["analysis"]), options), {})[str(result.attrs[COLLECTION])] = result
    order = [*ANALYSES, "design"]
    total, done = sum(map(len, alike.values())), 0
    made = []
    for (kind, options), members in sorted(alike.items(), key=lambda item: (order.index(item[0][0]), item[0][1])):
        curves = []
        for result in members.values():
            curves.append(curve(result))
            done += 1
            if progress is not None:
                progress(done, total)
        made.append(section(kind, json.loads(options), list(members.values()), curves))
    return made


def curve(result: xr.Dataset) -> dict[str, Any]:
    """Return the pictures and the reading of one result."""
    kind = str(result.attrs["analysis"])
    caption = CHAPTERS[kind].caption(result)
    draw = figures.FIGURES[kind]
    first, *others = labels_of(result, names.GAIN)
    return {
        "picture": picture(draw(result, first), caption), "caption": caption, "reading": headline(result),
        "others": [(gain, picture(draw(result, gain), caption)) for gain in others], "collection": result.attrs[COLLECTION],
    }  # fmt: skip


def section(
    kind: str, options: dict[str, Any], results: Sequence[xr.Dataset], curves: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return one section of the page."""
    chapter = CHAPTERS[kind]
    title = chapter.title(options)
    overview = figures.OVERVIEWS.get(kind)
    listed = [(name, combine([function(result) for result in results])) for name, function in TABLES[kind].items()]
    return {
        "name": chapter.name, "title": title, "about": chapter.about, "curves": curves,
        "anchor": re.sub(r"\W+", "-", f"{kind}-{title}-{hashlib.sha256(json.dumps(options).encode()).hexdigest()[:6]}"),
        "overview": picture(overview(results), f"{chapter.name}, all collections") if overview else None,
        "tables": [(heading, html_table(frame)) for heading, frame in chapter.tables(results)],
        "downloads": [(name, download(frame)) for name, frame in listed if len(frame) <= MOST_ROWS],
        "too_long": [(name, f"{len(frame):,}") for name, frame in listed if len(frame) > MOST_ROWS], "kind": kind,
    }  # fmt: skip


HEADINGS = {
    "required_difference": "(i) required difference", "max_performance": "(ii) largest mean", "relative_difference": "(iii) = (i)/(ii)",
    "share": "(iv) share of comparisons", "required_difference_first": "(i) by the first bin alone",
    "max_difference": "largest difference", "support": "highest bin begins at", "size": "sample size",
    "unique": "distinct topics in a sample", "common": "topics in both samples",
    "significant": "significant pairs", "estimated_difference": "estimated difference", "degenerate_pairs": "pairs with equal scores",
    "constant_pairs": "pairs with a constant difference",
}  # fmt: skip
OF_PAIRS = {"share": "share of pairs"}
"""Headings of tables that count pairs of runs."""


def html_table(frame: pd.DataFrame) -> Markup:
    """Return a table as HTML, numbers as people read them."""
    headings = HEADINGS | (OF_PAIRS if "significant" in frame.columns else {})
    head = "".join(
        f'<th scope="col">{html.escape(headings.get(str(column), str(column)))}</th>' for column in frame.columns
    )
    rows = []
    for record in merge_gains(frame).to_dict("records"):
        cells = "".join(
            f"<td{' class=number' if isinstance(value, int | float) else ''}>{html.escape(cell_text(str(column), value))}</td>"
            for column, value in record.items()
        )
        rows.append(f"<tr>{cells}</tr>")
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return Markup(f'<div class="scroll" tabindex="0"><table>{body}</table></div>')  # noqa: S704 - cells are escaped above


def picture(figure: Figure, description: str) -> Markup:
    """Return a figure as inline SVG with a text for those who cannot see it."""
    buffer = io.StringIO()
    with rc_context(STYLE):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    # Ids are made unique per picture, so that several pictures on a page do not borrow each other's shapes.
    prefix = f"p{hashlib.sha256(svg.encode()).hexdigest()[:8]}-"
    svg = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{prefix}", svg)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # A hundredth of a point is more than anyone sees; only inside tags, numbers to be read stay as they are.
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0]), svg)
    svg = re.sub(r"\s*\n\s*", " ", svg)
    svg = re.sub(r'\sxmlns:(?:cc|dc|rdf)="[^"]*"', "", svg)
    svg = re.sub(r'<svg ([^>]*?)width="[^"]*"', r"<svg \1", svg, count=1)
    svg = re.sub(r'<svg ([^>]*?)height="[^"]*"', r"<svg \1", svg, count=1)
    return Markup(svg.replace("<svg ", f'<svg role="img" aria-label="{html.escape(description, quote=True)}" ', 1))  # noqa: S704 - drawn here


def download(frame: pd.DataFrame) -> str:
    """Return a table as a CSV data address."""
    return "data:text/csv;base64," + base64.b64encode(render(frame, "csv").encode()).decode()


def template() -> Any:
    """Return the page's template."""
    source = files("scorecube").joinpath("report/page.html").read_text(encoding="utf-8")
    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True).from_string(
        source
    )


def _provenance(result: xr.Dataset) -> dict[str, Any]:
    plan = json.loads(result.attrs["plan"])
    options = ", ".join(f"{key}={value}" for key, value in plan["options"].items() if value is not None)
    versions = ", ".join(f"{name} {number}" for name, number in json.loads(result.attrs["versions"]).items())
    facts = {
        name: str(result.attrs[name])
        for name in (COLLECTION, "analysis", "seed", "digest", "started", "finished", "python", "machine")
    }
    return facts | {
        "options": options,
        "trials": f"{plan['trials']:,}",
        "versions": versions,
        "scores": plan["cube"][:16],
        "samples": plan["samples"][:16],
    }
