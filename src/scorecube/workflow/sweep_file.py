"""Read a sweep file (TOML): its collections, and its analyses with their options.

    study = "study"
    trials = 1000
    seed = 1

    [[collection]]
    name = "covid"
    runs = "covid/runs"
    qrels = "covid/qrels.txt"
    metrics = ["AP", "nDCG@20"]

    [[collection]]
    each = "matrices/*.csv"          # one collection per matching file
    name = "{stem}"
    scores = "{path}"

    [[analysis]]
    name = "swap"
    size = 25
    grid = { sampling = ["disjoint", "replacement"] }      # one plan per combination

Paths are relative to the folder of the file. Without collections, those of the study are analysed.
"""

import hashlib
import itertools
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from glob import glob
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import xarray as xr

from scorecube.analyses.plan import check_analysis
from scorecube.analyses.protocol import Analysis
from scorecube.analyses.shared_options import SELECTION, SHARED
from scorecube.collection.arguments import CubeLike
from scorecube.declare.options import Option, Record, options_of
from scorecube.errors import BadInput, BadPlan, ScorecubeError
from scorecube.ingest.input_files import expand, parts_of, read_text
from scorecube.ingest.options import EVALUATE, IMPORT
from scorecube.methods import index
from scorecube.storage import Study
from scorecube.workflow import inputs

Settings = Mapping[str, Any]
RUNS = "runs"
SCORES = "scores"
PATHS = (RUNS, SCORES, "qrels", "teams", "topic_groups", "study", "intents", "intent_probabilities")
TEXTS = {
    name: Option(name=name, type=str | tuple[str, ...] if name in (RUNS, SCORES) else str)
    for name in (*PATHS, "name")
}
SOURCE = "sweep_source"
"""Fact of a collection: digest of the settings and files that it was read from."""
SOURCES: Mapping[str, Mapping[str, Option]] = {
    RUNS: EVALUATE | {name: TEXTS[name] for name in TEXTS if name not in (SCORES, "study")},
    SCORES: IMPORT | {name: TEXTS[name] for name in TEXTS if name not in (RUNS, "qrels", "study")},
}
"""Settings of a collection by the kind of its source."""


Make = Callable[[], CubeLike]
"""Makes the cube of a collection, on the worker that analyses it."""
Source = Settings | xr.Dataset | Make | None
"""Settings of a sweep file, a cube, what makes one, or None for what is in the study."""
MADE: Final = "function"
"""What the fact `SOURCE` of a collection begins with that a function made; its version follows."""


@dataclass(frozen=True)
class Entry(Record):
    """One analysis with all its options, for all collections.

    Parameters
    ----------
    analysis
        Record with its options.
    trials, seed
        As of `scorecube.analyse`.
    selection
        Arguments of `scorecube.select`.

    Examples
    --------
    >>> from scorecube import Entry, Swap
    >>> Entry(Swap(size=25), trials=2000, selection={"top_runs": 30}).trials
    2000
    """

    analysis: Analysis
    trials: int | None = None
    seed: int = 1
    selection: Settings = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_analysis(self.analysis)
        trials = self.analysis.default_trials if self.trials is None else self.trials
        object.__setattr__(self, "trials", SHARED["trials"].checked(trials))
        object.__setattr__(self, "seed", SHARED["seed"].checked(self.seed))


class SweepFile(NamedTuple):
    """Content of a sweep file: address of the study, settings of collections, and entries."""

    study: str
    sources: Mapping[str, Settings]
    entries: tuple[Entry, ...]


def read_sweep(path: str | os.PathLike[str]) -> SweepFile:
    """Read a sweep file; BadInput with file and table for what it cannot have."""
    file = Path(path)
    text = read_text(file)
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"is not TOML: {error}", str(file)) from None
    folder = file.resolve().parent
    sources = dict[str, Settings]()
    entries = list[Entry]()
    collections, analyses = (_tables(content, key, file) for key in ("collection", "analysis"))
    options = {"study": TEXTS["study"], "trials": SHARED["trials"], "seed": SHARED["seed"]}
    settings = _values({"study": f"{file.stem}.zarr", **content}, options, str(file))
    for where, table in collections:
        for name, source in _sources(table, folder, where):
            if name in sources:
                raise BadInput(f"another collection before this is called {name!r}", where)
            sources[name] = source
    for where, table in analyses:
        entries += _entries(table, settings, where)
    if not entries:
        raise BadInput("no [[analysis]] in the file: nothing to do", str(file))
    return SweepFile(_absolute(settings, folder)["study"], sources, tuple(entries))


def _tables(content: dict[str, Any], key: str, file: Path) -> list[tuple[str, dict[str, Any]]]:
    """Take an array of tables from a file; return each with its place, for error messages."""
    tables = content.pop(key, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise BadInput(f"expected tables [[{key}]]", str(file))
    return [(f"{file}: [[{key}]] {number}", table) for number, table in enumerate(tables, 1)]


def _values(table: Settings, options: Mapping[str, Option], where: str) -> dict[str, Any]:
    """Return the settings of a table, converted to the types of their options."""
    values = {}
    for key, value in table.items():
        if key not in options:
            raise BadInput(f"unknown setting {key!r}; expected {', '.join(options)}", where)
        try:
            values[key] = options[key].checked(value)
        except BadPlan as error:
            raise BadInput(str(error), where) from None
    return values


def _absolute(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return settings whose paths are relative to a folder; URLs as they are."""

    def absolute(path: Any) -> Any:
        if isinstance(path, tuple):
            return tuple(map(absolute, path))
        return path if "://" in str(path) else str(folder / path)

    return values | {key: absolute(values[key]) for key in PATHS if key in values}


def _sources(table: Settings, folder: Path, where: str) -> Iterator[tuple[str, Settings]]:
    """Yield name and settings of a collection, or with `each` those of each matching file."""
    kinds = [kind for kind in SOURCES if kind in table]
    if len(kinds) != 1 or "name" not in table or (kinds == [RUNS] and "qrels" not in table):
        raise BadInput("expected a name, and either scores, or runs with qrels", where)
    single = dict(table)
    copies = [single]
    if pattern := single.pop("each", None):
        names = glob(str(pattern), root_dir=folder, recursive=True)
        matches = sorted(folder / name for name in names)
        if not matches:
            raise BadInput(f"each = {pattern!r}: no file matches", where)
        copies = [{key: _filled(text, file) for key, text in single.items()} for file in matches]
    for one in copies:
        values = _absolute(_values(one, SOURCES[kinds[0]], where), folder)
        yield values.pop("name"), values


def _filled(value: object, file: Path) -> Any:
    """Return a setting with the path of a file, its folder and its name filled in."""
    if isinstance(value, list):
        return [_filled(one, file) for one in value]
    stem = file.name.removesuffix(".gz").rpartition(".")[0] or file.name
    for key, text in {"path": str(file), "folder": file.parent.name, "stem": stem}.items():
        value = value.replace(f"{{{key}}}", text) if isinstance(value, str) else value
    return value


def _entries(table: Settings, shared: Settings, where: str) -> Iterator[Entry]:
    """Yield one entry per combination of the grid."""
    constant = dict(table)
    name = constant.pop("name", None)
    grid = constant.pop("grid", {})
    if name not in index.names():
        raise BadInput(f"no analysis {name!r}; there are {', '.join(index.names())}", where)
    if not (isinstance(grid, dict) and all(isinstance(value, list) for value in grid.values())):
        raise BadInput("grid: expected lists of values by setting", where)
    kind = index.load(name)
    where = f"{where} ({name})"
    own = options_of(kind)
    options = {key: SHARED[key] for key in ("trials", "seed", *SELECTION)} | dict(own)
    usual = {key: shared[key] for key in ("trials", "seed") if key in shared}
    for combination in itertools.product(*grid.values()):
        chosen = usual | constant | dict(zip(grid, combination, strict=True))
        values = _values(chosen, options, where)
        try:
            analysis = kind(**{key: values.pop(key) for key in own if key in values})
        except ScorecubeError as error:
            raise BadInput(str(error), where) from None
        yield Entry(analysis, values.pop("trials", None), values.pop("seed", 1), values)


def add_source(
    study: Study,
    name: str,
    settings: Settings,
    notify: inputs.Notify,
    *,
    replace: bool,
    workers: int,
) -> None:
    """Add a collection to a study, unless what it is read from is what it was read from before.

    settings: Runs with judgements, or scores, and options of reading; paths are absolute.
    notify: Called with notes.
    """
    digest = hashlib.sha256(repr(sorted(settings.items())).encode())
    files = {key: expand(settings[key], key) for key in settings.keys() & set(PATHS)}
    for path in chain.from_iterable(files[key] for key in sorted(files)):
        digest.update(f"{path}\n".encode())
        for part in parts_of(path):
            digest.update(part)
    facts = {SOURCE: digest.hexdigest()}
    if name in study and study[name].head.notes.get(SOURCE) == facts[SOURCE]:
        return

    if SCORES in settings:
        options = {key: value for key, value in settings.items() if key in IMPORT}
        cube = inputs.import_scores(files[SCORES], notify=notify, **options)
        study.add(name, cube=cube, replace=replace, grow=False, facts=facts, notify=notify)
        return
    reading, scoring = inputs.arguments_of({**settings, "replace": replace})
    reading |= {"workers": workers, "notify": notify}
    rankings = inputs.read_rankings(files[RUNS], settings["qrels"], **reading)
    inputs.evaluate_into(study, name, rankings, whole=True, facts=facts, notify=notify, **scoring)


def store_source(
    study: Study,
    name: str,
    source: Source,
    notify: inputs.Notify,
    *,
    version: str,
    replace: bool,
    workers: int,
) -> None:
    """Store a collection of a sweep, unless it is there already from the same source.

    version: Of functions; what another version made is replaced.
    """

    def note(line: str) -> None:
        notify(f"{name}: note: {line}")

    if isinstance(source, xr.Dataset):
        study.add(name, cube=source, replace=replace, notify=note)
    elif callable(source):
        made = f"{MADE} {version}"
        before = study[name].head.notes.get(SOURCE, "") if name in study else ""
        if before != made:
            how: dict[str, Any] = {"replace": before.startswith(MADE), "facts": {SOURCE: made}}
            study.add(name, cube=source(), grow=False, notify=note, **how)
    elif source is not None:
        add_source(study, name, source, note, replace=replace, workers=workers)


def bytes_of_source(source: Source) -> int:
    """Return the bytes of a cube or of files; 0 for what is not known."""
    if isinstance(source, xr.Dataset):
        return source.nbytes
    if source is None or callable(source):
        return 0
    with suppress(Exception):  # what cannot be read is named by the task
        lists = [expand(source[key], key) for key in source.keys() & set(PATHS)]
        return sum(Path(path).stat().st_size for path in chain.from_iterable(lists))
    return 0
