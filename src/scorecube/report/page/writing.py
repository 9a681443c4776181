"""The file of a report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from scorecube.errors import BadStudy
from scorecube.files import check_target, write_file
from scorecube.report.page.options import PageOptions
from scorecube.report.page.render import render
from scorecube.report.page.sections import Sections, part_sources, read_part
from scorecube.report.study_contents import overview
from scorecube.storage import Study

Progress = Callable[[int, int], None]
OrderedMap = Callable[..., Iterable[Any]]
"""Like `map` of one iterable."""


def write_page(
    study: Study,
    path: str | os.PathLike[str],
    *,
    collections: Sequence[str] | None = None,
    progress: Progress | None = None,
    ordered_map: OrderedMap = map,
    options: PageOptions | None = None,
) -> None:
    """Write the report of a study as one file, written atomically.

    path: The file.
    collections: Names of those that the report is about; all by default.
    progress: Called with (results drawn, results in total).
    ordered_map: Function like `map`, which may call the function in other processes.
    options: What is shown.
    Raises BadStudy: A study without collections, or without one of those.
    Raises BadOutput: A path that cannot be written.
    """
    target, options = Path(path), options or PageOptions()
    check_target(target)
    chosen = _chosen(study, collections)
    sections = Sections()
    sources = [source for name in chosen for source in part_sources(study[name])]
    parts = ordered_map(partial(read_part, study, options=options), sources)
    for done, part in enumerate(parts, 1):
        if part is not None:
            sections.add(part)
        if progress is not None:
            progress(done, len(sources))
    facts = [each for each in overview(study)["collections"] if each["name"] in chosen]
    made = render(study, facts, sections.in_order(), options=options, ordered_map=ordered_map)
    write_file(target, made)


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
