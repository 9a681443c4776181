"""The report of a study: HTML without network access and scripts; one file, or a summary and a page for each collection."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from scorecube.errors import BadStudy, option, visible
from scorecube.files import check_target, staged_files, write_file
from scorecube.report.page.answers import answers
from scorecube.report.page.cautions import cautions_of_collection, merge_cautions
from scorecube.report.page.comparisons import comparisons, headline_columns
from scorecube.report.page.sections import Part, Section, Sections, read_part, stored_results
from scorecube.report.study_overview import overview
from scorecube.report.tables.rows import COLLECTION
from scorecube.storage import Study

Progress = Callable[[int, int], None]
INDEX = "index.html"
GENERATOR = '<meta name="generator" content="scorecube'
"""Marks a page as a report of this package."""
LONGEST_NAME = 200
"""Bytes of a file name, without what makes it different from others."""
MANY = 8
"""With more collections the figures of each are folded."""


def write_page(
    study: Study, path: str | os.PathLike[str], *, progress: Progress | None = None
) -> None:
    """Write the report of a study as one file, written atomically.

    Raises
    ------
    BadStudy
        A study without collections.
    BadOutput
        A path that cannot be written.
    """
    target = Path(path)
    check_target(target)
    collections = _collections(study)
    found = stored_results(study, [each["name"] for each in collections])
    count = _counter(progress, sum(map(len, found.values())))
    sections = Sections()
    for each in found.values():
        for stored in each:
            sections.add(stored, read_part(stored))
            count()
    text = render(study, collections, sections.in_order())
    write_file(target, text)


def write_pages(
    study: Study, folder: str | os.PathLike[str], *, progress: Progress | None = None
) -> None:
    """Write the report of a study as a summary page and a page for each collection.

    Only one collection is in memory at a time. All pages are written before the first of them moves into the folder, and pages of
    an earlier report that have no successor are removed.

    Raises
    ------
    BadStudy
        A study without collections, or a folder that contains other files.
    BadOutput
        A folder that cannot be written.
    """
    target = Path(folder).resolve()
    _check_folder(target)
    collections = _collections(study)
    with staged_files(target, remove="*.html") as write:
        _write_all(study, collections, write, progress)


def _check_folder(target: Path) -> None:
    """Refuse to replace anything that is not a report."""
    if not target.exists():
        return
    if not target.is_dir():
        raise BadStudy(
            f"{target} is a file; pages need a folder: use another {option('out')}, or omit {option('pages', True)}",
            option="out",
        )
    inside = sorted(path.name for path in target.iterdir())
    index = target / INDEX
    ours = (
        index.is_file() and GENERATOR in index.read_text(encoding="utf-8", errors="replace")[:2000]
    )
    foreign = [name for name in inside if not (ours and name.endswith(".html"))]
    if foreign:
        raise BadStudy(
            f"{target} contains other files than a report ({', '.join(foreign[:3])}); give a new folder, or a file that ends in .html"
        )


def _write_all(
    study: Study,
    collections: Sequence[Mapping[str, Any]],
    write: Callable[[str, str], None],
    progress: Progress | None,
) -> None:
    """Write the pages of all collections and then the summary."""
    links = page_names([each["name"] for each in collections])
    found = stored_results(study, list(links))
    count = _counter(progress, sum(map(len, found.values())))
    summary = Sections()
    for each in collections:
        sections, parts = Sections(), []
        for stored in found[each["name"]]:
            parts.append((stored, read_part(stored)))
            sections.add(*parts[-1])
            count()
        text = render(study, [each], sections.in_order(), up=INDEX)
        write(links[each["name"]], text)
        for stored, part in parts:
            part.curve = {}
            summary.add(stored, part)
    write(INDEX, render(study, collections, summary.in_order(), links=links))


def page_names(collections: Sequence[str]) -> dict[str, str]:
    """Return the file name of each collection's page, all different.

    Examples
    --------
    >>> page_names(["web 2010", "web/2010", "index"])
    {'web 2010': 'web-2010.html', 'web/2010': 'web-2010-2.html', 'index': 'index-2.html'}
    """
    names: dict[str, str] = {}
    taken = {INDEX}
    for collection in collections:
        plain = re.sub(r"[^\w.-]+", "-", collection).strip(".-")
        plain = plain.encode()[:LONGEST_NAME].decode(errors="ignore") or "collection"
        name, number = f"{plain}.html", 2
        while name.casefold() in taken:
            name, number = f"{plain}-{number}.html", number + 1
        taken.add(name.casefold())
        names[collection] = name
    return names


def _collections(study: Study) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = overview(study)["collections"]
    if not found:
        raise BadStudy(
            f"{study.path}: nothing to report yet; add a collection with scorecube evaluate or scorecube import"
        )
    return found


def _counter(progress: Progress | None, total: int) -> Callable[[], None]:
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    return count


def render(
    study: Study,
    collections: Sequence[Mapping[str, Any]],
    sections: Sequence[Section],
    *,
    links: Mapping[str, str] | None = None,
    up: str | None = None,
) -> str:
    """Return a page.

    Parameters
    ----------
    study
        The study.
    collections
        Facts of the collections on the page, as from `overview`.
    sections
        Their results.
    links
        File of each collection's own page: this one is the summary, without figures of single collections.
    up
        File of the summary, if this page is about one collection of several.
    """
    cautions = [caution for each in collections for caution in cautions_of_collection(each)]
    cautions += [
        caution for section in sections for part in section.parts for caution in part.cautions
    ]
    several = len(collections) > 1
    name = Path(study.path.rstrip("/")).name or study.path
    text = template().render(
        name=name,
        study=study.path,
        study_word=shlex.quote(study.path),
        version=version("scorecube"),
        collections=collections,
        several=several,
        many=len(collections) > MANY,
        title=name if up is None else f"{collections[0]['name']}, {name}",
        up=up,
        links=links or {},
        plans=[_plan(section) for section in sections],
        answers=answers(sections, collections, study.path),
        cautions=merge_cautions(cautions),
        columns=headline_columns(sections) if several else [],
        comparisons=comparisons(sections) if several else [],
        chapters=[
            section.chapter(curves=links is None, overview=several or links is None)
            for section in sections
        ],
        provenance=[
            _provenance(part)
            for section in sections
            for part in section.parts
            if "digest" in part.facts
        ],
        missing="none yet",
    )
    return str(text)


def _plan(section: Section) -> dict[str, Any]:
    """Return the plan of a section."""

    def values(name: str) -> str:
        found = sorted(
            {part.facts[name] for part in section.parts if part.facts.get(name) is not None}
        )
        return ", ".join(f"{int(value):,}" if name == "trials" else str(value) for value in found)

    resampled = any(part.facts.get("trials") for part in section.parts)
    return {
        "name": section.name,
        "title": section.title,
        "anchor": section.anchor,
        "collections": section.collections,
        "trials": values("trials") if resampled else "-",
        "seed": values("seed") if resampled else "-",
    }


def template() -> Any:
    """Return the page's template."""
    folder = files("scorecube").joinpath("report/page")
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Names may hold characters that turn the direction of the text behind them.
        finalize=lambda value: visible(value, keep="\n") if type(value) is str else value,
    )
    environment.globals["style"] = folder.joinpath("page.css").read_text(encoding="utf-8")
    return environment.from_string(folder.joinpath("page.html").read_text(encoding="utf-8"))


def _provenance(part: Part) -> dict[str, Any]:
    facts = part.facts
    plan = json.loads(facts["plan"])
    options = ", ".join(
        f"{key}={value}" for key, value in plan["options"].items() if value is not None
    )
    versions = ", ".join(
        f"{name} {number}" for name, number in json.loads(facts["versions"]).items()
    )
    facts_shown = {
        name: str(facts[name])
        for name in (
            COLLECTION,
            "analysis",
            "seed",
            "digest",
            "started",
            "finished",
            "python",
            "machine",
        )
    }
    return facts_shown | {
        "options": options,
        "trials": f"{plan['trials']:,}",
        "versions": versions,
        "scores": plan["cube"][:16],
        "samples": plan["samples"][:16],
    }
