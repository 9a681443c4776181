"""Collections of a sweep: what they are read from, and adding them to the study."""

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.errors import BadInput, option
from scorecube.execute.executor import Executor
from scorecube.ingest.files import expand
from scorecube.ingest.options import IMPORT
from scorecube.storage import Study, open_study
from scorecube.workflow.inputs import arguments_of, evaluate_into, import_scores, read_rankings
from scorecube.workflow.sweep_file import PATHS, RUNS, SCORES, Source, SweepFile

SOURCE = "sweep_source"
"""Fact of a collection: digest of the settings and files that it was read from."""


def sources_of(sweep: SweepFile, *, replaced: bool = False) -> dict[str, Source | None]:
    """Return the sources of the collections of a sweep by name; None for those that its study has.

    replaced: Whether all replace what is stored.
    """
    if not sweep.sources:
        return dict.fromkeys(open_study(sweep.study))
    more = {"replace": True} if replaced else {}
    return {
        source.name: dataclasses.replace(source, settings={**source.settings, **more})
        for source in sweep.sources
    }


def add_source(
    study: Study, source: Source, executor: Executor, notify: Callable[[str], None]
) -> None:
    """Add a collection to a study, unless what it is read from is what it was read from before.

    executor: Where run files are read.
    notify: Takes lines of text: notes on what is read.
    Raises BadInput, BadStudy: Files that cannot be read, or that contradict the stored collection.
    """
    files = {key: _files(source, key) for key in PATHS if key in source.settings}
    digest = _digest(source, files)
    if source.name in study and study[source.name].facts.get(SOURCE) == digest:
        return

    def note(line: str) -> None:
        notify(f"{source.name}: note: {line}")

    if source.kind == RUNS:
        reading, scoring = arguments_of(source.settings)
        rankings = read_rankings(
            files[RUNS],
            source.settings["qrels"],
            notify=note,
            workers=executor.workers,
            client=executor.client,
            **reading,
        )
        evaluate_into(study, source.name, rankings, facts={SOURCE: digest}, **scoring)
        return
    options = {key: value for key, value in source.settings.items() if key in IMPORT}
    replace = options.pop("replace", False)
    cube = import_scores(files[SCORES], notify=note, **options)
    left = []
    if source.name in study and not replace:
        stored = study[source.name].cube
        for dim in (names.RUN, names.METRIC):
            there = set(labels_of(cube, dim))
            left += [f"{dim} {label}" for label in labels_of(stored, dim) if label not in there]
    for label in left:
        note(f"{label} no longer in its source; {option('replace', True)} starts over")
    facts = {} if left else {SOURCE: digest}
    study.add(source.name, cube=cube, replace=replace, facts=facts)


def _files(source: Source, key: str) -> list[Path]:
    """Return the files of a setting."""
    try:
        return expand(
            source.settings[key], {RUNS: "run files", SCORES: "score files"}.get(key, key)
        )
    except BadInput as error:
        raise BadInput(f"{key} of {source.name}: {error.in_file()}", source.where) from None


def _digest(source: Source, files: dict[str, list[Path]]) -> str:
    """Return the digest of settings, and of names and contents of files."""
    contents = []
    for paths in files.values():
        for path in paths:
            try:
                with path.open("rb") as file:
                    contents.append([str(path), hashlib.file_digest(file, "sha256").hexdigest()])
            except OSError as error:
                raise BadInput(f"cannot be read: {error.strerror}", path) from None
    settings = {key: value for key, value in source.settings.items() if key != "replace"}
    return hashlib.sha256(json.dumps([settings, contents], sort_keys=True).encode()).hexdigest()
