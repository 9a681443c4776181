"""Add the collections of a sweep file to its study; unchanged files are not read again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from scorecube import names
from scorecube.collection.more_runs import new_runs
from scorecube.errors import BadInput, BadStudy, counted, nearest
from scorecube.ingest.files import expand
from scorecube.ingest.qrels import parse_level_map
from scorecube.storage import Study, open_study
from scorecube.workflow import api
from scorecube.workflow.sweep_file import Source

SOURCE = "sweep_source"
"""Attribute of a collection: digest of the settings and files it was read from."""
READING = ("order", "precision", "depth", "run_name", "duplicates", "intents")
SCORING = ("no_relevant", "missing_topic")


def add_collections(
    study: Study, sources: Sequence[Source], *, notify: Callable[[str], None], **options: Any
) -> list[str]:
    """Add collections to a study.

    Parameters
    ----------
    study
        Opened for writing.
    sources
        As from `read_sweep`.
    notify
        Called with a line of text for each collection that is read or copied.
    options
        `workers` and `client`, as of `scorecube.read_rankings`.

    Returns
    -------
    collections
        Names of all collections of the sources, in their order.

    Raises
    ------
    BadInput, BadStudy
        Files that cannot be read, or that changed and contradict the stored collection.
    """
    collections: list[str] = []
    for source in sources:
        if source.kind == "study":
            collections += _copy(study, source, notify)
            continue
        digest = source_digest(source)
        recorded = study[source.name].facts.get(SOURCE) if source.name in study else None
        if recorded != digest:
            cube = _read(study, source, notify=partial(_about, source.name, notify), **options)
            study[source.name].note({SOURCE: digest})
            sizes = cube.sizes
            notify(
                f"{source.name}: read {sizes['run']} runs x {sizes['topic']} topics, {counted(sizes['metric'], 'metric')}"
            )
        collections.append(source.name)
    return collections


def source_digest(source: Source) -> str:
    """Return the SHA-256 of a collection's settings and the names, sizes and modification times of its files."""
    files = []
    for key in ("runs", "qrels", "teams", "scores", "intents"):
        for path in _files(source, key):
            status = path.stat()
            files.append((key, str(path), status.st_size, status.st_mtime_ns))
    return hashlib.sha256(json.dumps([source.settings, files], sort_keys=True).encode()).hexdigest()


def _files(source: Source, key: str) -> list[Path]:
    """Return the files of a setting without excluded ones."""
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
        raise BadInput(f"{key} of collection {source.name!r}: {error}", *source.location) from None
    return [path for path in paths if path not in excluded]


def _about(name: str, notify: Callable[[str], None], line: str) -> None:
    notify(f"{name}: note: {line}")


def _read(study: Study, source: Source, *, notify: Callable[[str], None], **options: Any) -> Any:
    """Read and add a collection of runs or scores; return its cube."""
    settings = source.settings
    api.check_names(source.name, settings.get("metrics", []))
    if source.kind == "scores":
        importing = {
            key: settings[key]
            for key in ("metric", "gain", "layout", "transpose", "teams")
            if key in settings
        }
        cube = api.import_scores(_files(source, "scores"), notify=notify, **importing)
        study.add(source.name, cube=cube, replace=settings.get("replace", False))
        return cube
    reading = {key: settings[key] for key in READING if key in settings}
    levels = parse_level_map(settings["levels"]) if "levels" in settings else None
    rankings = api.read_rankings(
        settings["runs"],
        settings["qrels"],
        settings.get("teams"),
        dialect=settings.get("qrels_format", "auto"),
        level_map=levels,
        notify=notify,
        **reading,
        **options,
    )
    metrics = settings.get("metrics", list(names.DEFAULT_METRICS))
    if settings.get("unjudged") == "condense":
        metrics = api.condensed(metrics)
    scoring = {key: settings[key] for key in SCORING if key in settings}
    if settings.get("add_runs") and source.name in study:
        what = f"{study.path}: collection {source.name!r}"
        rankings = new_runs(study[source.name].rankings, rankings, what)
        scoring["add_runs"] = bool(rankings.sizes[names.RUN])
    if not rankings.sizes[names.RUN]:
        return study[source.name].cube
    return api.evaluate_into(
        study,
        source.name,
        rankings,
        metrics,
        settings.get("gains", ["auto"]),
        replace=settings.get("replace", False),
        **scoring,
    )


def _copy(study: Study, source: Source, notify: Callable[[str], None]) -> list[str]:
    """Copy the matching collections of another study unless they exist; return their names."""
    other = open_study(source.settings["study"])
    patterns = source.settings.get("collections", ["*"])
    chosen = matching(list(other), patterns)
    if not chosen:
        known = nearest(str(patterns[0]) if patterns else "", list(other))
        raise BadStudy(
            f"{source.location[0]}:{source.location[1]}: no collection of {other.path} matches {', '.join(patterns)}; it has {known}"
        )
    for name in chosen:
        if name not in study:
            rankings = other[name].rankings if other[name].contents()["rankings"] else None
            study.add(name, cube=other[name].cube, rankings=rankings)
            notify(f"{name}: copied from {other.path}")
    return chosen


def matching(known: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the names that match any of the patterns, in the order of the names.

    Examples
    --------
    >>> matching(["covid", "trec5", "trec8"], ["trec*"])
    ['trec5', 'trec8']
    """
    return [name for name in known if any(fnmatchcase(name, pattern) for pattern in patterns)]
