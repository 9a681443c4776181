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
from scorecube.report.formats import cell_text, merge_gains, render
from scorecube.report.overview import overview
from scorecube.report.reading import headline
from scorecube.report.tables import COLLECTION, combine, overlap, sensitivity, table
from scorecube.schema import labels_of
from scorecube.storage import Study

Progress = Callable[[int, int], None]


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
        study=study.path, version=__version__, collections=facts["collections"], groups=swap_groups(results, progress),
        provenance=[_provenance(result) for result in results], missing="none yet",
    )  # fmt: skip
    target = Path(path)
    partial = target.with_name(f".{target.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(target)
    except OSError as error:
        raise BadStudy(f"{target}: cannot be written: {error.strerror}") from None


def swap_groups(results: Sequence[xr.Dataset], progress: Progress | None = None) -> list[dict[str, Any]]:
    """Return one section for each set of swap results made under the same conditions, latest plan of each collection."""
    latest: dict[tuple[Any, ...], dict[str, xr.Dataset]] = {}
    for result in results:
        if result.attrs["analysis"] != "swap":
            continue
        options = json.loads(result.attrs["plan"])["options"]
        key = (
            options["sampling"],
            options["size"] or "",
            options["rule"],
            json.dumps([options["bin_width"], options["bins"]]),
        )
        latest.setdefault(key, {})[str(result.attrs[COLLECTION])] = result
    groups = []
    total, done = sum(map(len, latest.values())), 0
    for (sampling, size, rule, _), members in sorted(latest.items(), key=lambda item: tuple(map(str, item[0]))):
        chosen = list(members.values())
        curves: list[dict[str, Any]] = []
        for result in chosen:
            caption = f"{figures.title_of(result)}. Rule {rule}; bands are 95 % intervals; gaps are empty bins."
            others = labels_of(result, names.GAIN)[1:]
            curves.append(
                {
                    "picture": picture(figures.swap_rates(result), caption),
                    "caption": caption,
                    "reading": headline(result),
                    "others": [(gain, picture(figures.swap_rates(result, gain), caption)) for gain in others],
                    "collection": result.attrs[COLLECTION],
                }
            )
            done += 1
            if progress is not None:
                progress(done, total)
        groups.append({
            "title": f"{sampling} samples" + (f" of {size} topics" if size else "") + f", rule {rule}",
            "anchor": re.sub(r"\W+", "-", f"swap-{sampling}-{size}-{rule}"),
            "curves": curves,
            "bars": picture(figures.sensitivity_bars(chosen), "Share of comparisons with the required difference"),
            "sensitivity": [(confidence, html_table(part)) for confidence, part in by_confidence(chosen)],
            "overlap": html_table(combine([overlap(result) for result in chosen])),
            "downloads": [(name, download(combine([table(result, name) for result in chosen]))) for name in ("sensitivity", "rates", "overlap")],
        })  # fmt: skip
    return groups


def by_confidence(results: Sequence[xr.Dataset]) -> list[tuple[str, pd.DataFrame]]:
    """Return the sensitivity table of each confidence, without the columns that are alike in all rows."""
    frame = combine([sensitivity(result) for result in results])
    frame = frame.drop(columns=["trials", "sampling"])
    return [
        (f"{confidence:.0%}", part.drop(columns="confidence"))
        for confidence, part in frame.groupby("confidence", sort=False)
    ]


HEADINGS = {
    "required_difference": "(i) required difference", "max_performance": "(ii) largest mean", "relative_difference": "(iii) = (i)/(ii)",
    "share": "(iv) share of comparisons", "size": "sample size", "unique": "distinct topics in a sample", "common": "topics in both samples",
}  # fmt: skip


def html_table(frame: pd.DataFrame) -> Markup:
    """Return a table as HTML, numbers as people read them."""
    head = "".join(
        f'<th scope="col">{html.escape(HEADINGS.get(str(column), str(column)))}</th>' for column in frame.columns
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
    with rc_context(figures.STYLE):
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
