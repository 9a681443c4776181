"""The report of a study: HTML without network access, complete without its script; one file, or a summary and a page for each collection."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from markupsafe import Markup

from scorecube.errors import BadStudy, option
from scorecube.files import check_target, staged_files, write_file
from scorecube.report.page.answers import answers
from scorecube.report.page.cautions import cautions_of_collection, merge_cautions
from scorecube.report.page.comparisons import comparisons, headline_columns
from scorecube.report.page.freshness import is_current, sealed, source_digest
from scorecube.report.page.heat_maps import heat_maps
from scorecube.report.page.html import embedded_json
from scorecube.report.page.many import ROW, make_row, overview_page, read_row
from scorecube.report.page.methods import methods
from scorecube.report.page.script_data import within
from scorecube.report.page.sections import Part, Section, Sections, part_sources, read_part
from scorecube.report.page.templates import page_file, script_and_hash, template
from scorecube.report.study_contents import overview
from scorecube.report.tables.rows import COLLECTION
from scorecube.storage import Study

Progress = Callable[[int, int], None]
OrderedMap = Callable[..., Iterable[Any]]
"""Like `map` of one iterable."""
INDEX = "index.html"
GENERATOR = '<meta name="generator" content="scorecube'
"""Marks a page as a report of this package."""
LONGEST_NAME = 200
"""Bytes of a file name, without what makes it different from others."""
OVERVIEW = 50
"""With more collections the index shows distributions over them."""
MANY = 8
"""With more collections the figures of each are folded."""
ABREAST = 4
"""Columns of headline figures of a table across collections; more do not fit beside each other."""
MOST_LINES = 6
"""Lines of a headline, and tables, that are shown; those of further metrics are folded together."""
MOST_PLACES = 4
"""Collections that a warning names."""
MOST_VALUES = 34_000
"""Bytes of what the script reads the values of figures from; further figures have none."""


@dataclass(frozen=True)
class Heading:
    """What stands above a report.

    Parameters
    ----------
    title
        Instead of the name of the study; empty for that name.
    authors, date
        Below the title; empty for none.
    """

    title: str = ""
    authors: str = ""
    date: str = ""

    def words(self) -> list[str]:
        """Return what a page depends on; nothing for the usual heading."""
        chosen = [self.title, self.authors, self.date]
        return chosen if any(chosen) else []


def write_page(
    study: Study,
    path: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    ordered_map: OrderedMap = map,
    heading: Heading | None = None,
) -> bool:
    """Write the report of a study as one file, written atomically, unless it is up to date.

    Parameters
    ----------
    study
        The study.
    path
        The file.
    progress
        Called with (results drawn, results in total).
    ordered_map
        Function like `map`, which may call the function in other processes.
    heading
        Title, authors and date; the name of the study by default.

    Returns
    -------
    written
        Whether the file was written; not if it holds the report of the same results by the same programs already.

    Raises
    ------
    BadStudy
        A study without collections.
    BadOutput
        A path that cannot be written.
    """
    target = Path(path)
    check_target(target)
    heading = heading or Heading()
    digest = source_digest(study, study, *heading.words())
    if is_current(target, digest):
        return False
    collections = _collections(study)
    sources = [source for each in collections for source in part_sources(study[each["name"]])]
    count = _counter(progress, len(sources))
    sections = Sections()
    for part in ordered_map(partial(read_part, study), sources):
        if part is not None:
            sections.add(part)
        count()
    page = render(study, collections, sections.in_order(), heading=heading)
    write_file(target, sealed(page, digest))
    return True


def write_pages(
    study: Study,
    folder: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    ordered_map: OrderedMap = map,
    heading: Heading | None = None,
) -> int:
    """Write the report of a study as a summary page and a page for each collection, those that are not up to date.

    Only few collections are in memory at a time. All pages are written before the first of them moves into the folder, and pages of
    an earlier report that have no successor are removed.

    Parameters
    ----------
    study
        The study.
    folder
        The folder.
    progress
        Called with (collections drawn, collections in total).
    ordered_map
        Function like `map`, which may call the function in other processes.
    heading
        Title, authors and date of the summary; the name of the study by default.

    Returns
    -------
    written
        Number of pages that were written.

    Raises
    ------
    BadStudy
        A study without collections, or a folder that contains other files.
    BadOutput
        A folder that cannot be written.
    """
    target = Path(folder).resolve()
    _check_folder(target)
    links = page_names(list(study))
    heading = heading or Heading()
    digest = source_digest(study, study, INDEX, *heading.words())
    if is_current(target / INDEX, digest) and all(
        is_current(target / page, _page_digest(study, name, page)) for name, page in links.items()
    ):
        return 0
    collections = _collections(study)
    many = len(collections) > OVERVIEW
    count = _counter(progress, len(collections))
    summary, rows, current = Sections(), [], set[str]()
    page_of = partial(_collection_page, study, target, links, many)
    with staged_files(target, remove="*.html", keep=current) as write:
        made = ordered_map(page_of, collections)
        for facts, (page, row, parts) in zip(collections, made, strict=True):
            name = links[facts["name"]]
            if page is None:
                current.add(name)
            else:
                write(name, page)
            rows.append(row)
            for part in parts:
                summary.add(part)
            count()
        if many:
            index = overview_page(study, rows, links)
        else:
            index = render(study, collections, summary.in_order(), links=links, heading=heading)
        write(INDEX, sealed(index, digest))
    return len(collections) + 1 - len(current)


def _collection_page(
    study: Study, folder: Path, links: Mapping[str, str], many: bool, facts: Mapping[str, Any]
) -> tuple[str | None, dict[str, Any], list[Part]]:
    """Return the page of a collection, None if it is up to date, and what the index needs of it.

    Of many collections that is a row, which the page holds, too; of few it is the parts without figures.
    """
    name = str(facts["name"])
    digest = _page_digest(study, name, links[name])
    current = is_current(folder / links[name], digest)
    known = read_row(folder / links[name]) if current else None
    if many and known is not None:
        return None, known, []
    sections, parts = Sections(), []
    for source in part_sources(study[name]):
        part = read_part(study, source, draw=known is None)
        if part is not None:
            sections.add(part)
            parts.append(part)
    row, page = known or make_row(facts, sections.in_order()), None
    if known is None:
        marks = {ROW: json.dumps(row)}
        text = render(study, [facts], sections.in_order(), up=INDEX, marks=marks)
        page = sealed(text, digest)
    for part in parts:
        part.curve = {}
    return page, row, [] if many else parts


def _page_digest(study: Study, name: str, page: str) -> str:
    """Return the digest of what the page of a collection is made from."""
    return source_digest(study, [name], INDEX, page)


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
    marks: Mapping[str, str] | None = None,
    heading: Heading | None = None,
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
    marks
        Further metadata of the page, by name.
    heading
        Title, authors and date; the name of the study by default.
    """
    heading = heading or Heading()
    cautions = [caution for each in collections for caution in cautions_of_collection(each)]
    cautions += [
        caution for section in sections for part in section.parts for caution in part.cautions
    ]
    several = len(collections) > 1
    name = heading.title or Path(study.path.rstrip("/")).name or study.path
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
        marks=marks or {},
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
        heat_maps=heat_maps(study, collections) if links is None else [],
        provenance=_provenance(sections),
        teams_known=any(each["teams"] < each["runs"] for each in collections),
        gains_differ=len({tuple(each["gains"]) for each in collections}) > 1,
        columns_abreast=ABREAST,
        most_lines=MOST_LINES,
        most_places=MOST_PLACES,
        missing="none yet",
        authors=heading.authors,
        date=heading.date,
        methods=methods(collections, sections),
        data=_script_data(sections if links is None else ()),
        **script_and_hash(page_file("page.js")),
    )
    return without_values(str(text))


def _script_data(sections: Sequence[Section]) -> Markup:
    """Return what the script of a page computes with, by the anchors of chapters."""
    found: dict[str, list[dict[str, Any]]] = {}
    for section in sections:
        used = len(json.dumps(found))
        kept = within(section.live, used)
        if kept:
            found[section.anchor] = kept
    return Markup(embedded_json(found))  # noqa: S704 - escaped there


def without_values(page: str) -> str:
    """Return a page with the values of its figures, for the script, up to `MOST_VALUES` bytes."""
    used = 0

    def keep(found: re.Match[str]) -> str:
        nonlocal used
        used += len(found[0])
        return found[0] if used <= MOST_VALUES else ""

    return re.sub(r" data-values='p[0-9a-f]{8}- [^']*'", keep, page)


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


def _provenance(sections: Sequence[Section]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the plans of stored results, and by each what it was computed from, collection by collection."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for section in sections:
        for part in section.parts:
            if "digest" in part.facts:
                facts = _facts_of_result(part)
                plan = f"{facts['analysis']}, {facts['options']}".removesuffix(", ")
                groups.setdefault(plan, []).append(facts)
    return list(groups.items())


def _facts_of_result(part: Part) -> dict[str, Any]:
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
