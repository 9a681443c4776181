"""Read a sweep file (TOML): its collections, and its analyses with their options.

    study = "study.zarr"
    trials = 1000
    seed = 1

    [[collection]]
    each = "matrices/*.csv"          # one collection per matching file
    name = "{stem}"
    scores = "{path}"

    [[collection]]
    name = "covid"
    runs = "covid/runs"
    qrels = "covid/qrels.txt"
    metrics = ["AP", "nDCG@20"]

    [[analysis]]
    name = "swap"
    size = 25
    grid = { sampling = ["disjoint", "replacement"] }      # one plan per combination

Paths are relative to the folder of the file. Without collections, those of the study are analysed.
"""

import itertools
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from reprlib import repr as shown
from typing import Any

from scorecube.analyses import registry
from scorecube.analyses.options import SELECTION, SHARED, Option, options_of
from scorecube.analyses.plan import check_analysis
from scorecube.analyses.protocol import Analysis
from scorecube.collection.arguments import labels, metric_names
from scorecube.errors import BadInput, BadPlan, ScorecubeError, nearest, option
from scorecube.ingest.options import EVALUATE, IMPORT

Table = Mapping[str, Any]
TEXTS = tuple[str, ...]
RUNS, SCORES = "runs", "scores"
PATHS = (RUNS, SCORES, "qrels", "teams", "topic_groups", "study", "cluster")


def _declared(kind: Any, *names: str) -> dict[str, Option]:
    """Return declarations of settings of a type."""
    return {name: Option("", name=name, type=kind) for name in names}


SETTINGS = {
    **_declared(str, "study", "cluster"),
    **{key: SHARED[key] for key in ("trials", "seed", "workers")},
    **{key: EVALUATE[key] for key in ("metrics", "gains")},
}
"""Settings at the top of a file."""
TABLES = _declared(str, "name", "teams", "topic_groups", "qrels")
SOURCES: Mapping[str, Mapping[str, Option]] = {
    RUNS: {**EVALUATE, **TABLES, **_declared(str | TEXTS, RUNS)},
    SCORES: {**IMPORT, **TABLES, **_declared(str | TEXTS, SCORES)},
}
"""Settings of a collection by the kind of its source."""
ENTRY = _declared(TEXTS, "collections")
"""Settings of an analysis beside its options."""


@dataclass(frozen=True)
class Source:
    """Source of one collection.

    name: Of the collection.
    kind: ``runs`` or ``scores``.
    settings: Of the table in the file, with absolute paths.
    where: File and table, for error messages.
    """

    name: str
    kind: str
    settings: Table
    where: str


@dataclass(frozen=True)
class Entry:
    """One analysis with all its options, and the collections to analyse.

    Parameters
    ----------
    analysis
        Record with its options.
    trials, seed
        As of `scorecube.analyse`.
    collections
        Names, or patterns such as ``trec*``; all by default.
    selection
        Arguments of `scorecube.select`. Metrics, gain settings, runs and topics that a collection
        lacks are ignored; a collection that has none of them is left out.

    Examples
    --------
    >>> from scorecube import Entry, Swap
    >>> Entry(Swap(size=25), trials=2000, seed=1, collections=("trec*",)).trials
    2000
    """

    analysis: Analysis
    trials: int | None = None
    seed: int = 1
    collections: tuple[str, ...] = ("*",)
    selection: Table = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_analysis(self.analysis)
        trials = self.analysis.default_trials if self.trials is None else self.trials
        object.__setattr__(self, "trials", SHARED["trials"].checked(trials))
        object.__setattr__(self, "seed", SHARED["seed"].checked(self.seed))
        object.__setattr__(self, "collections", tuple(labels("collections", self.collections)))
        for name, value in self.selection.items():
            if name not in SELECTION:
                raise BadPlan(
                    f"{option('selection')}: unknown name {name!r}; known are "
                    f"{', '.join(SELECTION)}",
                    option="selection",
                )
            SHARED[name].checked(metric_names(name, value) if name == "metrics" else value)


@dataclass(frozen=True)
class SweepFile:
    """Content of a sweep file; see the module.

    study: Path or URL of the study.
    sources: Of the collections.
    entries: Analyses with their options and collections.
    settings: Others at the top of the file: cluster, workers.
    """

    study: str
    sources: tuple[Source, ...]
    entries: tuple[Entry, ...]
    settings: Table


def read_sweep(path: str | os.PathLike[str]) -> SweepFile:
    """Read a sweep file.

    path: TOML file; see the module.
    Returns sweep: Content of the file, with absolute paths.
    Raises BadInput: With file and table: invalid TOML, unknown settings (with the nearest known
        ones), values of another type or out of range, two collections of one name.
    """
    file, content = Path(path), _content(Path(path))
    folder = file.resolve().parent
    collections, analyses = (_tables(content, key, file) for key in ("collection", "analysis"))
    content.setdefault("study", file.with_suffix(".zarr").name)
    settings = _absolute(_values(content, SETTINGS, str(file)), folder)
    sources: dict[str, Source] = {}
    for where, table in collections:
        for source in _sources(table, settings, folder, where):
            if source.name in sources:
                raise BadInput(
                    f"another collection before this is called {source.name!r}; give them names, "
                    'e.g. name = "{folder}-{stem}"',
                    where,
                )
            sources[source.name] = source
    entries = [entry for where, table in analyses for entry in _entries(table, settings, where)]
    if not entries:
        raise BadInput("no [[analysis]] in the file: nothing to do", str(file))
    return SweepFile(settings.pop("study"), tuple(sources.values()), tuple(entries), settings)


def _content(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", str(file)) from None
    except ValueError as error:  # also bytes that are not UTF-8, integers of thousands of digits
        raise BadInput(f"is not TOML: {error}", str(file)) from None
    except RecursionError:
        raise BadInput("its values are nested too deeply", str(file)) from None


def _tables(content: dict[str, Any], key: str, file: Path) -> list[tuple[str, dict[str, Any]]]:
    """Take an array of tables from a file; return each with its place, for error messages."""
    tables = content.pop(key, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise BadInput(f"{key} is {shown(tables)}; expected tables [[{key}]]", str(file))
    return [(f"{file}: [[{key}]] {number}", table) for number, table in enumerate(tables, 1)]


def _values(table: Table, options: Mapping[str, Option], where: str) -> dict[str, Any]:
    """Return the settings of a table, converted to the types of their options."""
    values = {}
    for key, value in table.items():
        if key not in options:
            near = nearest(key, list(options))
            raise BadInput(f"unknown setting {key!r}; the nearest known ones are: {near}", where)
        try:
            values[key] = options[key].checked(value)
        except ScorecubeError as error:
            problem = error.in_file().removeprefix(f"{key}: ")
            raise BadInput(f"{key} = {shown(value)}: {problem}", where) from None
    return values


def _absolute(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return settings whose paths are relative to a folder; URLs as they are."""

    def absolute(path: Any) -> Any:
        if isinstance(path, tuple):
            return tuple(map(absolute, path))
        return path if "://" in path else str(folder / path)

    return values | {key: absolute(values[key]) for key in PATHS if key in values}


def _sources(table: Table, shared: Table, folder: Path, where: str) -> Iterator[Source]:
    """Yield the source of a collection, or with `each` one source per matching file."""
    kinds = [kind for kind in SOURCES if kind in table]
    if len(kinds) != 1:
        raise BadInput(
            f"expected either runs or scores; found {' and '.join(kinds) or 'none'}", where
        )
    (kind,) = kinds
    if kind == RUNS and "qrels" not in table:
        raise BadInput("runs need judgements; add qrels = FILE", where)
    if "each" not in table and "name" not in table:
        raise BadInput('the collection needs a name; add name = "NAME"', where)
    copies = [dict(table)]
    if "each" in table:
        named = {"name": "{stem}", **table}
        copies = [
            _filled(named, match, where) for match in _matches(named.pop("each"), folder, where)
        ]
    for single in copies:
        values = _absolute(_values(single, SOURCES[kind], where), folder)
        if kind == RUNS:
            values = {key: shared[key] for key in ("metrics", "gains") if key in shared} | values
        yield Source(values.pop("name"), kind, values, where)


def _matches(pattern: Any, folder: Path, where: str) -> list[Path]:
    """Return the files that match a pattern, sorted."""
    try:
        root = Path("/") if Path(pattern).is_absolute() else folder
        matches = sorted(root.glob(pattern.lstrip("/")))
    except (TypeError, ValueError, OSError) as error:
        raise BadInput(
            f"each = {shown(pattern)} is no pattern of files: {error}; use a pattern such as "
            "'matrices/*.csv' or '**/*.csv'",
            where,
        ) from None
    if not matches:
        raise BadInput(f"each = {pattern!r}: no file matches", where)
    return matches


def _filled(value: Any, match: Path, where: str) -> Any:
    """Return a value whose texts have fields such as ``{stem}`` of a matching file filled in."""
    if isinstance(value, dict):
        return {key: _filled(inner, match, where) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, match, where) for inner in value]
    if not isinstance(value, str):
        return value
    fields = {
        "path": str(match),
        "folder": match.parent.name,
        "parent": str(match.parent),
        "stem": match.name.removesuffix(".gz").rpartition(".")[0] or match.name,
    }
    if set(re.findall(r"\{([^{}]*)\}", value)) - set(fields):
        known = ", ".join(fields)
        raise BadInput(f"{value!r}: unknown field in braces; known are {known}", where)
    return re.sub(r"\{(\w+)\}", lambda name: fields[name[1]], value)


def _entries(table: Table, shared: Table, where: str) -> Iterator[Entry]:
    """Yield one entry per combination of the grid."""
    constant = dict(table)
    name, grid = constant.pop("name", None), constant.pop("grid", {})
    if name not in registry.names():
        near = nearest(str(name), list(registry.names()))
        raise BadInput(f"unknown analysis {name!r}; the nearest known ones are: {near}", where)
    if not (isinstance(grid, dict) and all(isinstance(value, list) for value in grid.values())):
        raise BadInput(f"grid = {shown(grid)}; expected lists of values by setting", where)
    kind, where = registry.load(name), f"{where} ({name})"
    own = {key: value for key, value in options_of(kind).items() if key not in ENTRY}
    options = {**{key: SHARED[key] for key in ("trials", "seed", *SELECTION)}, **own, **ENTRY}
    for combination in itertools.product(*grid.values()):
        chosen = {**constant, **dict(zip(grid, combination, strict=True))}
        values = _values(chosen, options, where)
        try:
            analysis = kind(**{key: values.pop(key) for key in own if key in values})
        except ScorecubeError as error:
            raise BadInput(error.in_file(), where) from None
        yield Entry(
            analysis,
            trials=values.pop("trials", shared.get("trials")),
            seed=values.pop("seed", shared.get("seed", 1)),
            collections=values.pop("collections", ("*",)),
            selection=values,
        )
