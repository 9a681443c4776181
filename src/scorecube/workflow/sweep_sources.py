"""Collections of a sweep: what they are read from, and adding them to the study."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.errors import BadInput, BadStudy, nearest, option
from scorecube.execute.executor import Executor
from scorecube.ingest.files import expand
from scorecube.ingest.options import IMPORT
from scorecube.storage import Study, open_study
from scorecube.workflow.inputs import arguments_of, evaluate_into, import_scores, read_rankings
from scorecube.workflow.sweep_file import STUDY, Source, SweepFile

SOURCE = "sweep_source"
"""Fact of a collection: digest of the settings and files, or of the scores, that it was read from."""
FILES = ("runs", "qrels", "teams", "topic_groups", "scores")
"""Settings that name files."""
Notify = Callable[[str], None]


def sources_of(sweep: SweepFile, *, replaced: bool = False) -> dict[str, Source | None]:
    """Return the sources of the collections of a sweep by name; None for those that its study has.

    sweep: As from `read_sweep`.
    replaced: Whether all replace what is stored.
    Raises BadInput: Two sources of one collection.
    Raises BadStudy: No study where collections come from, or none that a source takes.
    """
    if not sweep.sources:
        return dict.fromkeys(open_study(sweep.study))
    sources: dict[str, Source | None] = {}
    for source in sweep.sources:
        for single in _split(source):
            if single.name in sources:
                raise BadInput(
                    f"another source before this has a collection {single.name!r}, too: give one "
                    'of them another name, e.g. name = "{folder}-{stem}", or leave it out',
                    *source.location,
                )
            settings = {**single.settings, **({"replace": True} if replaced else {})}
            sources[single.name] = replace(single, settings=settings)
    return sources


def _split(source: Source) -> Iterable[Source]:
    """Return the source of each collection that is taken from another study, or the source."""
    if source.kind != STUDY:
        return [source]
    study, patterns = source.settings[STUDY], source.settings.get("collections", ["*"])
    there = list(open_study(study))
    chosen = matching(there, patterns)
    if not chosen:
        file, line = source.location
        known = nearest(str(patterns[0]) if patterns else "", there)
        raise BadStudy(
            f"{file}:{line}: no collection of {study} matches {', '.join(patterns)}; "
            f"it has {known or 'none'}"
        )
    return [replace(source, name=name) for name in chosen]


def matching(known: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the names that match any of the patterns, in the order of the names.

    Examples
    --------
    >>> matching(["covid", "trec5", "trec8"], ["trec*"])
    ['trec5', 'trec8']
    """
    return [name for name in known if any(fnmatchcase(name, pattern) for pattern in patterns)]


def add_source(study: Study, source: Source, executor: Executor, notify: Notify) -> None:
    """Add a collection to a study, unless what it is read from is what it was read from before.

    executor: Where run files are read.
    notify: Takes lines of text: notes on what is read.
    Raises BadInput, BadStudy: Files that cannot be read, or that contradict the stored collection.
    """
    digest = _digest(source)
    if source.name in study and study[source.name].facts.get(SOURCE) == digest:
        return

    def note(line: str) -> None:
        notify(f"{source.name}: note: {line}")

    settings = source.settings
    if source.kind == "runs":
        reading, scoring = arguments_of(settings)
        judged = read_rankings(
            settings["runs"],
            settings["qrels"],
            notify=note,
            workers=executor.workers,
            client=executor.client,
            **reading,
        )
        evaluate_into(study, source.name, judged, facts={SOURCE: digest}, **scoring)
    else:
        cube, rankings = _read(source, note)
        left = [] if settings.get("replace") else _left(study, source.name, cube)
        for line in left:
            note(f"{line} no longer in its source; {option('replace', True)} starts over")
        study.add(
            source.name,
            cube=cube,
            rankings=rankings,
            replace=settings.get("replace", False),
            facts={} if left else {SOURCE: digest},
        )


def _read(source: Source, note: Notify) -> tuple[xr.Dataset, xr.Dataset | None]:
    """Return the cube of scores, or of another study, and its rankings if there are any."""
    if source.kind == STUDY:
        other = open_study(source.settings[STUDY])[source.name]
        return other.cube, other.rankings if other.contents()["rankings"] else None
    chosen = {key: value for key, value in source.settings.items() if key in IMPORT}
    chosen.pop("replace", None)
    return import_scores(_files(source, "scores"), notify=note, **chosen), None


def _left(study: Study, name: str, cube: Any) -> list[str]:
    """Return what a collection keeps though it is no longer in what it is read from."""
    if name not in study:
        return []
    stored, lines = study[name].cube, []
    for dim in (names.RUN, names.METRIC):
        left = [label for label in labels_of(stored, dim) if label not in labels_of(cube, dim)]
        if left:
            lines.append(f"{dim} {', '.join(left)}")
    return lines


def _digest(source: Source) -> str:
    """Return the digest of settings, and of names and contents of files; of another study that of its scores."""
    if source.kind == STUDY:
        return open_study(source.settings[STUDY])[source.name].cube_version
    files = []
    for key in FILES:
        for path in _files(source, key):
            try:
                with path.open("rb") as file:
                    files.append((key, str(path), hashlib.file_digest(file, "sha256").hexdigest()))
            except OSError as error:
                raise BadInput(f"cannot be read: {error.strerror}", path) from None
    settings = {key: value for key, value in source.settings.items() if key != "replace"}
    return hashlib.sha256(json.dumps([settings, files], sort_keys=True).encode()).hexdigest()


def _files(source: Source, key: str) -> list[Path]:
    """Return the files of a setting without excluded ones."""
    if key not in source.settings:
        return []
    kind = {"runs": "run files", "scores": "score files"}.get(key, key)
    try:
        left_out = source.settings.get("exclude")
        excluded = expand(left_out, "files to exclude") if left_out else []
        return [path for path in expand(source.settings[key], kind) if path not in excluded]
    except BadInput as error:
        raise BadInput(
            f"{key} of collection {source.name!r}: {error.in_file()}", *source.location
        ) from None
