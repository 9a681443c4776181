"""Files of a report: one page; or an index with a page for each collection, of which only those that are not up to date are made."""

from __future__ import annotations

import gc
import json
import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from scorecube.errors import BadStudy, option
from scorecube.files import check_target, staged_files, write_file
from scorecube.report.page.freshness import is_current, sealed, source_digest
from scorecube.report.page.many import overview_page, overview_rows
from scorecube.report.page.options import PageOptions
from scorecube.report.page.render import render
from scorecube.report.page.sections import Part, Sections, part_sources, read_part
from scorecube.report.study_contents import overview
from scorecube.report.vocabulary import page_in_words
from scorecube.storage import Study

Progress = Callable[[int, int], None]
OrderedMap = Callable[..., Iterable[Any]]
"""Like `map` of one iterable."""
INDEX = "index.html"
RESULTS_AT_ONCE = 16
"""After so many results their figures, which hold circles, are collected."""
OVERVIEW = 50
"""With more collections a report shows distributions over them."""
MOST_PAGES = 200
"""With more collections they have pages of their own only where these are asked for; and pages that move into the folder together."""


def write_page(
    study: Study,
    path: str | os.PathLike[str],
    *,
    collections: Sequence[str] | None = None,
    progress: Progress | None = None,
    ordered_map: OrderedMap = map,
    options: PageOptions | None = None,
) -> bool:
    """Write the report of a study as one file, written atomically, unless it is up to date.

    Of more than `OVERVIEW` collections it shows distributions over them.

    path: The file.
    collections: Names of those that the report is about; all by default.
    progress: Called with (results drawn, results in total).
    ordered_map: Function like `map`, which may call the function in other processes.
    options: What is shown.
    Returns written: Whether the file was written; not if it holds the report of the same results by the same programs
        already.
    Raises BadStudy: A study without collections, or without one of those.
    Raises BadOutput: A path that cannot be written.
    """
    target = Path(path)
    check_target(target)
    index = _Index(study, _chosen(study, collections), None, options or PageOptions(), ordered_map)
    if is_current(target, index.digest):
        return False
    with _without_collector():
        if not index.many:
            sources = [source for name in index.names for source in part_sources(study[name])]
            parts = ordered_map(partial(read_part, study, options=index.options), sources)
            for done, part in enumerate(parts, 1):
                if part is not None:
                    index.sections.add(part)
                if not done % RESULTS_AT_ONCE:
                    gc.collect()
                if progress is not None:
                    progress(done, len(sources))
        write_file(target, index.page())
    return True


@contextmanager
def _without_collector() -> Iterator[None]:
    """Collect cyclic garbage only where it is asked for: Python looks for it so often that it takes a tenth of the time of a page."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Index:
    """The page that is the whole report or the index of its pages; of many collections it is made from the index of the study.

    study, names, options: The study, the collections that it is about, and what is asked for.
    links: Files of the collections' pages; None where there are none as the report is one page.
    ordered_map: See `write_page`.
    """

    def __init__(
        self,
        study: Study,
        names: Sequence[str],
        links: Mapping[str, str] | None,
        options: PageOptions,
        ordered_map: OrderedMap,
    ) -> None:
        self.study, self.names, self.links, self.options = study, names, links, options
        self.many, self.ordered_map = len(names) > OVERVIEW, ordered_map
        self.sections = Sections()
        """Results of few collections, which are added one by one."""
        if self.many:
            self._rows = overview_rows(study, names)
            made_from = json.dumps([self._rows, links or {}, options.words()])
            self.digest = source_digest(study, (), made_from)
        else:
            kind = [] if links is None else [INDEX]
            self.digest = source_digest(study, names, *kind, *options.words())

    def page(self) -> str:
        """Return the page."""
        study, options, links = self.study, self.options, self.links
        if self.many:
            made = overview_page(study, self._rows, links or {}, options)
        else:
            sections, facts = self.sections.in_order(), _facts(study, self.names)
            made = render(
                study, facts, sections, links=links, options=options, ordered_map=self.ordered_map
            )
        return sealed(page_in_words(made, options.vocabulary), self.digest)


def write_pages(
    study: Study,
    folder: str | os.PathLike[str],
    *,
    collections: Sequence[str] | None = None,
    every: bool = False,
    progress: Progress | None = None,
    ordered_map: OrderedMap = map,
    options: PageOptions | None = None,
) -> int:
    """Write the report of a study as an index and a page for each collection, those that are not up to date.

    With more than `MOST_PAGES` collections pages that are there are kept up to date, and others are made only if they are asked for. Few
    collections are in memory at a time. Up to `MOST_PAGES` pages are written before the first of them moves into the folder, and pages of
    an earlier report that have no successor are removed.

    collections: Names of those that the report is about; all by default.
    every: Make the pages of all of them, however many.
    progress: Called with (collections drawn, collections to draw).
    ordered_map: Function like `map`, which may call the function in other processes.
    options: What is shown; title, authors and date stand above the index.
    Returns written: Number of pages that were written.
    Raises BadStudy: A study without collections, or without one of those, or a folder that contains other files.
    Raises BadOutput: A folder that cannot be written.
    """
    target = Path(folder).resolve()
    _check_folder(target)
    names = _chosen(study, collections)
    links = page_names(names)
    if not every and len(names) > MOST_PAGES:
        links = {name: page for name, page in links.items() if (target / page).exists()}
    index = _Index(study, names, links, options or PageOptions(), ordered_map)
    current = {
        page
        for name, page in links.items()
        if is_current(target / page, _page_digest(study, name, page, index.options))
    }
    there = {path.name for path in target.glob("*.html")}
    if there == {INDEX, *links.values()} == {INDEX, *current} and is_current(
        target / INDEX, index.digest
    ):
        return 0
    # The index of few collections is made from the results of all of them.
    drawn = [
        each for each in _facts(study, links) if not (index.many and links[each["name"]] in current)
    ]
    make = partial(_collection_page, study, links, current, index.many, index.options)
    made = enumerate(zip(drawn, ordered_map(make, drawn), strict=True), 1)
    for start in range(0, max(1, len(drawn)), MOST_PAGES):
        removed = "*.html" if start + MOST_PAGES >= len(drawn) else None
        with staged_files(target, remove=removed, keep={INDEX, *links.values()}) as write:
            for done, (each, (page, parts)) in islice(made, MOST_PAGES):
                if page is not None:
                    write(links[each["name"]], page)
                for part in parts:
                    index.sections.add(part)
                if progress is not None:
                    progress(done, len(drawn))
            if start == 0:
                write(INDEX, index.page())
    return len(links) + 1 - len(current)


def _collection_page(
    study: Study,
    links: Mapping[str, str],
    current: Container[str],
    many: bool,
    options: PageOptions,
    facts: Mapping[str, Any],
) -> tuple[str | None, list[Part]]:
    """Return the page of a collection, None if it is up to date, and what the index of few needs of it, its parts without figures."""
    name = str(facts["name"])
    page = links[name]
    draw = page not in current
    sections, parts = Sections(), []
    for source in part_sources(study[name]):
        part = read_part(study, source, draw=draw, options=options)
        if part is not None:
            sections.add(part)
            parts.append(part)
    text = None
    if draw:
        made = render(study, [facts], sections.in_order(), up=INDEX, options=options)
        digest = _page_digest(study, name, page, options)
        text = sealed(page_in_words(made, options.vocabulary), digest)
    for part in parts:
        part.curve = {}
    return text, [] if many else parts


def _page_digest(study: Study, name: str, page: str, options: PageOptions) -> str:
    return source_digest(study, [name], INDEX, page, *options.words())


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
    mark = '<meta name="generator" content="scorecube'
    ours = index.is_file() and mark in index.read_text("utf-8", errors="replace")[:2000]
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
        # Bytes of a name that leave room for what makes it different from others.
        plain = plain.encode()[:200].decode(errors="ignore") or "collection"
        name, number = f"{plain}.html", 2
        while name.casefold() in taken:
            name, number = f"{plain}-{number}.html", number + 1
        taken.add(name.casefold())
        names[collection] = name
    return names


def _chosen(study: Study, collections: Sequence[str] | None) -> list[str]:
    """Return the names of collections that a report is about, in the order of the study."""
    names = list(study)
    if collections is None:
        if not names:
            raise BadStudy(
                f"{study.path}: nothing to report yet; add a collection with scorecube evaluate or scorecube import"
            )
        return names
    for name in collections:
        study[name]  # raises that there is none
    return [name for name in names if name in collections]


def _facts(study: Study, names: Container[str]) -> list[dict[str, Any]]:
    return [each for each in overview(study)["collections"] if each["name"] in names]
