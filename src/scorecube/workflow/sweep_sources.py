"""Add the collections of a sweep file to its study; unchanged files are not read again."""

import hashlib
import json
import time
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import nullcontext
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.errors import BadInput, BadStudy, counted, nearest, option
from scorecube.execute.processes import run_portions
from scorecube.ingest.files import expand
from scorecube.ingest.options import IMPORT
from scorecube.storage import Row, Study, open_study
from scorecube.workflow import api
from scorecube.workflow.sweep_file import Source
from scorecube.workflow.sweep_journal import READING as UNREAD
from scorecube.workflow.sweep_journal import Ending, Journal, failures_noted, noted

SOURCE = "sweep_source"
"""Attribute of a collection: digest of the settings and files, or of the scores of another study, that it was read from."""
FEWEST, AT_ONCE, LISTED_AT_ONCE = 32, 16, 512
"""Imports from which on processes are worth their start, imports that one gets at a time, and collections that are listed together."""
LINE_SECONDS = 3.0
"""Time between two lines of progress."""


def add_collections(
    study: Study,
    sources: Sequence[Source],
    *,
    notify: Callable[[str], None],
    journal: Journal | None = None,
    **options: Any,
) -> list[str]:
    """Add collections to a study.

    study: Opened for writing.
    sources: As from `read_sweep`.
    notify: Called with a line of text for each collection that is read or copied; of many small ones with their number
        now and then.
    journal: Takes the collections that cannot be read, while the others are; None raises the first error.
    options: `workers` and `client`, as of `scorecube.read_rankings`.
    Returns collections: Names of all collections of the sources, in their order.
    Raises BadInput, BadStudy: Files that cannot be read, or that changed and contradict the stored collection.
    """
    collections: dict[str, None] = {}
    rows = study.rows()
    digests = {source.name: source_digest(source) for source in sources if source.kind != "study"}
    new = [source for source in sources if source.kind == "scores" and source.name not in rows]
    workers = options.get("workers") or 1
    if len(new) >= FEWEST and workers > 1:
        _import_in_processes(study, new, digests, notify, workers, journal)
        rows = study.rows()
    unread = set() if journal is None else journal.unread
    for source in sources:
        if source.kind == "study":
            _copy(study, source, notify, journal, collections)
            continue
        claim(source.name, source, collections)
        collections[source.name] = None
        if source.name in unread:
            continue
        with noted(journal, source.name):
            _add(study, source, digests[source.name], rows.get(source.name), notify, **options)
    return list(collections)


def _add(
    study: Study,
    source: Source,
    digest: str,
    row: Row | None,
    notify: Callable[[str], None],
    **options: Any,
) -> None:
    """Read and add a collection of runs or scores, unless its files are those that were read before."""
    recorded = None if row is None else row.facts["facts"].get(SOURCE)
    if recorded == digest:
        return
    cube = _read(study, source, notify=partial(_about, source.name, notify), **options)
    sizes = cube.sizes
    notify(
        f"{source.name}: read {sizes['run']} runs x {sizes['topic']} topics, {counted(sizes['metric'], 'metric')}"
    )
    left = _left(study, source.name, cube) if source.kind == "scores" else []
    _note_source(study, source.name, digest, left, notify)


def _import_in_processes(
    study: Study,
    sources: Sequence[Source],
    digests: Mapping[str, str],
    notify: Callable[[str], None],
    workers: int,
    journal: Journal | None,
) -> None:
    """Import many new collections of scores on all cores; they are listed together after each group of portions."""
    parts = [sources[start : start + AT_ONCE] for start in range(0, len(sources), AT_ONCE)]
    portions = [
        (study.path, part, {each.name: digests[each.name] for each in part}, journal is not None)
        for part in parts
    ]
    written, count, said = list[str](), 0, time.monotonic()
    with study.lock() as listing:
        listing.change()
        try:
            for names, lines, failures in run_portions(_import, portions, workers):
                written += names
                count += len(names)
                if count == len(sources) or time.monotonic() > said + LINE_SECONDS:
                    notify(f"{study.path}: read {count:,} of {len(sources):,} new collections")
                    said = time.monotonic()
                for line in lines:
                    notify(line)
                for failure in failures:
                    assert journal is not None
                    journal.fail(failure)
                if len(written) >= LISTED_AT_ONCE:
                    listing.change(add=written)
                    written = []
        finally:
            listing.change(add=written)


def _import(
    path: str, sources: Sequence[Source], digests: Mapping[str, str], go_on: bool
) -> tuple[list[str], list[str], list[Ending]]:
    """Import collections of scores in a worker process.

    Returns names, lines, failures: Collections that were written, lines of text about them, and those that cannot be
        read, which raise an error unless others are to go on.
    """
    study, names, lines = open_study(path, mode="a"), list[str](), list[str]()
    failures = list[Ending]()
    with study.batch():
        for source in sources:
            note = failures_noted(source.name, [UNREAD], failures.append)
            with note if go_on else nullcontext():
                api.check_names(source.name, [])
                cube = _import_scores(source, partial(_about, source.name, lines.append))
                with study.lock(
                    source.name
                ) as writer:  # listed by the process that holds the lock of the list
                    writer.add(cube, facts={SOURCE: digests[source.name]})
                names.append(source.name)
    return names, lines, failures


def _import_scores(source: Source, notify: Callable[[str], None]) -> Any:
    settings = source.settings
    importing = {key: settings[key] for key in IMPORT if key in settings and key != "replace"}
    return api.import_scores(files_of(source, "scores"), notify=notify, **importing)


def source_digest(source: Source) -> str:
    """Return the SHA-256 of a collection's settings, without what is asked for once, and of the names and contents of its files."""
    files = []
    for key in ("runs", "qrels", "teams", "topic_groups", "scores"):
        for path in files_of(source, key):
            try:
                with path.open("rb") as file:
                    files.append((key, str(path), hashlib.file_digest(file, "sha256").hexdigest()))
            except OSError as error:
                raise BadInput(f"cannot be read: {error.strerror}", path) from None
    settings = {key: value for key, value in source.settings.items() if key != "replace"}
    return hashlib.sha256(json.dumps([settings, files], sort_keys=True).encode()).hexdigest()


def files_of(source: Source, key: str) -> list[Path]:
    """Return the files of a setting without excluded ones (BadInput if there are none)."""
    if key not in source.settings:
        return []
    try:
        paths = expand(
            source.settings[key], {"runs": "run files", "scores": "score files"}.get(key, key)
        )
        excluded = (
            set(expand(source.settings["exclude"], "files to exclude"))
            if "exclude" in source.settings
            else set()
        )
    except BadInput as error:
        raise BadInput(
            f"{key} of collection {source.name!r}: {error.in_file()}", *source.location
        ) from None
    return [path for path in paths if path not in excluded]


def _about(name: str, notify: Callable[[str], None], line: str) -> None:
    notify(f"{name}: note: {line}")


def _read(study: Study, source: Source, *, notify: Callable[[str], None], **options: Any) -> Any:
    """Read and add a collection of runs or scores; return its cube."""
    settings = source.settings
    api.check_names(source.name, settings.get("metrics", []))
    if source.kind == "scores":
        cube = _import_scores(source, notify)
        study.add(source.name, cube=cube, replace=settings.get("replace", False))
        return cube
    reading, scoring = api.arguments_of(settings)
    rankings = api.read_rankings(
        settings["runs"], settings["qrels"], notify=notify, **reading, **options
    )
    return api.evaluate_into(study, source.name, rankings, **scoring)


def _copy(
    study: Study,
    source: Source,
    notify: Callable[[str], None],
    journal: Journal | None,
    collections: dict[str, None],
) -> None:
    """Copy the matching collections of another study unless their scores are those that were copied before; add their names."""
    other, replace = open_study(source.settings["study"]), source.settings.get("replace", False)
    for name in taken_from(source, other):
        claim(name, source, collections)
        collections[name] = None
        with noted(journal, name):
            taken = other[name]
            if name in study and study[name].facts.get(SOURCE) == taken.cube_version:
                continue
            copied = "copied again" if name in study else "copied"
            rankings = taken.rankings if taken.contents()["rankings"] else None
            study.add(name, cube=taken.cube, rankings=rankings, replace=replace)
            notify(f"{name}: {copied} from {other.path}")
            left = _left(study, name, taken.cube)
            _note_source(study, name, taken.cube_version, left, notify)


def _note_source(
    study: Study, name: str, digest: str, left: Sequence[str], notify: Callable[[str], None]
) -> None:
    """Note what a collection was read from, unless it holds more, which is said each time."""
    for line in left:
        notify(line)
    if not left:
        with study.lock(name) as writer:
            writer.note({SOURCE: digest})


def claim(name: str, source: Source, collections: Container[str]) -> None:
    """Refuse the name of a collection that another source has (BadInput)."""
    if name in collections:
        raise BadInput(
            f"another source before this has a collection {name!r}, too: give one of them another name, or leave it out",
            *source.location,
        )


def taken_from(source: Source, other: Study) -> list[str]:
    """Return the names of the collections of another study that a source takes (BadStudy if there are none)."""
    patterns = source.settings.get("collections", ["*"])
    chosen = matching(list(other), patterns)
    if not chosen:
        known = nearest(str(patterns[0]) if patterns else "", list(other))
        raise BadStudy(
            f"{source.location[0]}:{source.location[1]}: no collection of {other.path} matches {', '.join(patterns)}; it has {known or 'none'}"
        )
    return chosen


def _left(study: Study, name: str, cube: Any) -> list[str]:
    """Return notes on runs and metrics that a collection keeps, though they are no longer in what it is read from."""
    stored = study[name].cube
    return [
        f"{name}: note: {dim} {', '.join(left)} no longer in its source, but still in {study.path}; {option('replace', True)} starts over"
        for dim in (names.RUN, names.METRIC)
        if (left := [each for each in labels_of(stored, dim) if each not in labels_of(cube, dim)])
    ]


def matching(known: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the names that match any of the patterns, in the order of the names.

    Examples
    --------
    >>> matching(["covid", "trec5", "trec8"], ["trec*"])
    ['trec5', 'trec8']
    """
    return [name for name in known if any(fnmatchcase(name, pattern) for pattern in patterns)]
