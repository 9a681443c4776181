"""What a sweep file names as collections -> collections of the study; what is there already is not read again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from scorecube import names
from scorecube.errors import BadInput, BadStudy, nearest
from scorecube.ingest.files import expand
from scorecube.ingest.qrels import parse_level_map
from scorecube.storage import Study, open_study
from scorecube.workflow import api
from scorecube.workflow.sweep_file import Source

SOURCE = "sweep_source"
"""Attribute of a collection: digest of the settings and files it was made from."""
READING = ("order", "precision", "depth", "run_name", "duplicates", "intents")
SCORING = ("no_relevant", "missing_topic")


def bring_in(study: Study, sources: Sequence[Source], *, say: Callable[[str], None], **how: Any) -> list[str]:
    """Put collections into a study.

    Parameters
    ----------
    study
        Opened for writing.
    sources
        As from `read_sweep`.
    say
        Called with a line for each collection that was read.
    how
        `workers` and `client`, as of `scorecube.read_rankings`.

    Returns
    -------
    collections
        Names of all collections that the sources stand for, in their order.

    Raises
    ------
    BadInput, BadStudy
        As the commands evaluate and import; files that changed since they were read.
    """
    found: list[str] = []
    for source in sources:
        if source.kind == "study":
            found += _copy(study, source, say)
            continue
        digest = source_digest(source)
        recorded = study[source.name].group.attrs.get(SOURCE) if source.name in study else None
        if recorded != digest:
            cube = _read(study, source, **how)
            study[source.name].group.attrs[SOURCE] = digest
            say(
                f"{source.name}: {cube.sizes['run']} runs x {cube.sizes['topic']} topics, {cube.sizes['metric']} metrics read"
            )
        found.append(source.name)
    return found


def source_digest(source: Source) -> str:
    """Return the SHA-256 of a collection's settings and of the names, sizes and times of change of its files."""
    facts = []
    for key in ("runs", "qrels", "teams", "scores", "intents"):
        for path in _files(source, key):
            state = path.stat()
            facts.append((key, str(path), state.st_size, state.st_mtime_ns))
    return hashlib.sha256(json.dumps([source.settings, facts], sort_keys=True).encode()).hexdigest()


def _files(source: Source, key: str) -> list[Path]:
    """Return the files of a setting, without those excluded."""
    if key not in source.settings:
        return []
    try:
        found = expand(source.settings[key], {"runs": "run files", "scores": "score files"}.get(key, key))
        excluded = (
            set(expand(source.settings["exclude"], "files to exclude")) if "exclude" in source.settings else set()
        )
    except BadInput as error:
        raise BadInput(f"{key} of collection {source.name!r}: {error}", *source.where) from None
    return [path for path in found if path not in excluded]


def _read(study: Study, source: Source, **how: Any) -> Any:
    """Read and add a collection of runs or scores; return its cube."""
    given = source.settings
    api.check_names(source.name, given.get("metrics", []))
    if source.kind == "scores":
        words = {key: given[key] for key in ("metric", "gain", "layout", "transpose", "teams") if key in given}
        cube = api.import_scores(_files(source, "scores"), **words)
        study.add(source.name, cube=cube)
        return cube
    reading = {key: given[key] for key in READING if key in given}
    levels = parse_level_map(given["levels"]) if "levels" in given else None
    rankings = api.read_rankings(
        given["runs"],
        given["qrels"],
        given.get("teams"),
        dialect=given.get("qrels_format", "auto"),
        level_map=levels,
        **reading,
        **how,
    )
    metrics = given.get("metrics", list(names.DEFAULT_METRICS))
    if given.get("unjudged") == "condense":
        metrics = api.condensed(metrics)
    scoring = {key: given[key] for key in SCORING if key in given}
    return api.evaluate_into(study, source.name, rankings, metrics, given.get("gains", ["auto"]), **scoring)


def _copy(study: Study, source: Source, say: Callable[[str], None]) -> list[str]:
    """Copy collections of another study that are not there yet; return their names."""
    other = open_study(source.settings["study"])
    patterns = source.settings.get("collections", ["*"])
    chosen = matching(list(other), patterns)
    if not chosen:
        known = nearest(str(patterns[0]) if patterns else "", list(other))
        raise BadStudy(
            f"{source.where[0]}:{source.where[1]}: no collection of {other.path} matches {', '.join(patterns)}; it has {known}"
        )
    for name in chosen:
        if name not in study:
            rankings = other[name].rankings if other[name].contents()["rankings"] else None
            study.add(name, cube=other[name].cube, rankings=rankings)
            say(f"{name}: copied from {other.path}")
    return chosen


def matching(known: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the names that match any of the patterns, in their order.

    Examples
    --------
    >>> matching(["covid", "trec5", "trec8"], ["trec*"])
    ['trec5', 'trec8']
    """
    return [name for name in known if any(fnmatchcase(name, pattern) for pattern in patterns)]
