"""Read a sweep file (TOML): its collections, and its analyses with their options.

    study = "sweep.zarr"
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

Paths are relative to the folder of the file. Errors name the file and the line of the table.
"""

import itertools
import os
import string
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scorecube.analyses import registry
from scorecube.analyses.base import Analysis
from scorecube.analyses.options import TYPE_NAMES, Option, as_named, options_of, shown
from scorecube.analyses.plan import check_analysis
from scorecube.analyses.shared_options import SELECTION, SHARED
from scorecube.collection.arguments import labels, metric_names
from scorecube.errors import BadInput, BadPlan, ScorecubeError, nearest, option
from scorecube.execute.memory import parse_memory
from scorecube.ingest.options import EVALUATE, IMPORT
from scorecube.storage import below

Table = Mapping[str, Any]
STUDY, COLLECTION, ANALYSIS, GRID = "study", "collection", "analysis", "grid"
SWEEP_SETTINGS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys((STUDY, "memory", "cluster", "impossible"), (str,)),
    **dict.fromkeys(("trials", "seed", "workers"), (int,)),
    **dict.fromkeys(("metrics", "gains", COLLECTION, ANALYSIS), (list,)),
}
"""Top-level settings of a sweep file, with their types."""
SOURCE_OPTIONS = {"runs": EVALUATE, "scores": IMPORT, STUDY: {}}
SOURCE_SETTINGS: dict[str, dict[str, tuple[type, ...]]] = {
    "runs": {"runs": (str, list), "qrels": (str,)},
    "scores": {"scores": (str, list), "exclude": (str, list)},
    STUDY: {STUDY: (str,), "collections": (list,), "replace": (bool,)},
}
"""Declared options of a collection, and its other settings, by the kind of its source."""
COLLECTION_SETTINGS: dict[str, tuple[type, ...]] = {"name": (str,), "each": (str,)}
"""Settings of a collection of any kind."""
PATH_SETTINGS = ("runs", "qrels", "teams", "topic_groups", "scores", "study", "exclude")
"""Settings that are paths or globs, relative to the folder of the file."""
ENTRY_OPTIONS = ("trials", "seed")
"""Shared options of an entry in addition to its selection."""
ENTRY_SETTINGS: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "collections": (list,),
    GRID: (dict,),
}
"""Settings of an analysis that are not options."""
IMPOSSIBLE = ("skip", "stop")
DERIVED = ("design", "variance", "wcw")
"""Views computed from the scores when they are shown; a sweep has nothing to run for them."""
SETTING_TYPES = TYPE_NAMES | {list: "a list", dict: "a table"}


@dataclass(frozen=True)
class Source:
    """Source of one collection.

    name: Of the collection in the study.
    kind: ``runs``, ``scores`` or ``study``.
    settings: Settings of the table in the file, with absolute paths.
    location: File and line, for error messages.
    """

    name: str
    kind: str
    settings: Table
    location: tuple[str, int]


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
        Arguments of `scorecube.collection.selection.select`. Metrics, gain settings, runs and topics that a collection lacks are
        ignored; a collection that has none of them is skipped.

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
        if self.trials is None:
            object.__setattr__(self, "trials", self.analysis.default_trials)
        for name in ("trials", "seed"):
            object.__setattr__(self, name, SHARED[name].checked(getattr(self, name)))
        object.__setattr__(self, "collections", tuple(labels("collections", self.collections)))
        for name, value in self.selection.items():
            if name not in SELECTION:
                raise BadPlan(
                    f"{option('selection')}: unknown name {name!r}; known are {', '.join(SELECTION)}",
                    option="selection",
                )
            SHARED[name].checked(metric_names(name, value) if name == "metrics" else value)


@dataclass(frozen=True)
class SweepFile:
    """Content of a sweep file; see the module.

    path: The file.
    study: Study for the results.
    sources: Sources of the collections.
    entries: Analyses with their options and collections.
    cluster, workers, memory: As on the command line, whose options take precedence; None for its defaults.
    impossible: As of `plan_sweep`.
    """

    path: str
    study: str
    sources: tuple[Source, ...]
    entries: tuple[Entry, ...]
    cluster: str | None = None
    workers: int | None = None
    memory: str | None = None
    impossible: str = "skip"


def read_sweep(path: str | os.PathLike[str]) -> SweepFile:
    """Read a sweep file.

    path: TOML file; see the module.
    Returns sweep: Content of the file, with absolute paths.
    Raises BadInput: With file and line: invalid TOML, unknown settings (with the nearest known ones), values of another
        type, missing files.
    Raises BadPlan: With file and line: options that an analysis refuses.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
        content = tomllib.loads(text)
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", str(path)) from None
    except ValueError as error:  # also bytes that are not UTF-8, integers of thousands of digits
        raise BadInput(f"is not TOML: {error}", str(path)) from None
    except RecursionError:
        raise BadInput("is not a sweep: its values are nested too deeply", str(path)) from None
    lines = text.splitlines()
    _check_table(content, SWEEP_SETTINGS, "a sweep", (str(path), 1))
    _check_shared(content, lines, str(path))
    if content.get("impossible", "skip") not in IMPOSSIBLE:
        raise BadInput(
            f"impossible = {content['impossible']!r}; expected one of {', '.join(IMPOSSIBLE)}",
            str(path),
        )
    folder = file.resolve().parent
    sources = [
        source
        for table, line in _tables(content, COLLECTION, lines)
        for source in _read_sources(table, content, folder, (str(path), line))
    ]
    counts = Counter(source.name for source in sources)
    for source in sources:
        if counts[source.name] > 1 and source.kind != STUDY:  # which may have several collections
            raise BadInput(
                f'two collections are called {source.name!r}; give them names, e.g. name = "{{folder}}-{{stem}}"',
                *source.location,
            )
    entries = [
        entry
        for table, line in _tables(content, ANALYSIS, lines)
        for entry in _read_entries(table, content, (str(path), line))
    ]
    if not content.get(ANALYSIS):
        raise BadInput("no [[analysis]] in the file: nothing to do", str(path))
    return SweepFile(
        path=str(path),
        study=below(folder, content.get(STUDY, file.with_suffix(".zarr").name)),
        sources=tuple(sources),
        entries=tuple(entries),
        cluster=None if "cluster" not in content else str(folder / content["cluster"]),
        workers=content.get("workers"),
        memory=content.get("memory"),
        impossible=content.get("impossible", "skip"),
    )


def _check_shared(content: Table, lines: Sequence[str], path: str) -> None:
    """Refuse shared options at the top of a file that are out of range."""
    for key in ("trials", "seed", "workers", "memory"):
        if key not in content:
            continue
        line = next((k for k, text in enumerate(lines, 1) if text.split("=")[0].strip() == key), 1)
        try:
            SHARED[key].check(content[key])
            if key == "memory":
                parse_memory(content[key])
        except BadPlan as error:
            raise BadInput(error.in_file(), path, line) from None


def _tables(content: Table, key: str, lines: Sequence[str]) -> Iterator[tuple[Table, int]]:
    """Yield the tables of an array of tables with the line numbers of their headers."""
    headers = [
        number
        for number, line in enumerate(lines, 1)
        if line.strip().replace(" ", "").startswith(f"[[{key}]]")
    ]
    tables = content.get(key, [])
    for k, table in enumerate(tables):
        yield table, headers[k] if len(headers) == len(tables) else 1


def _check_table(
    table: Any, known: Mapping[str, tuple[type, ...]], what: str, location: tuple[str, int]
) -> None:
    """Refuse unknown settings, and values of another type than expected."""
    if not isinstance(table, dict):
        raise BadInput(f"{what} is {table!r}, expected a table", *location)
    for key, value in table.items():
        if key not in known:
            raise BadInput(
                f"unknown setting {key!r} of {what}; the nearest known ones are: {nearest(key, list(known))}",
                *location,
            )
        if not isinstance(value, known[key]) or (
            isinstance(value, bool) and bool not in known[key]
        ):
            expected = " or ".join(SETTING_TYPES[kind] for kind in known[key])
            raise BadInput(f"{key} = {shown(value)} of {what}; expected {expected}", *location)
        if key not in (COLLECTION, ANALYSIS) and isinstance(value, list):
            for element in value:
                if not isinstance(element, str):
                    raise BadInput(
                        f"{key} of {what} holds {shown(element)}; expected a list of texts",
                        *location,
                    )


def _read_sources(
    table: Any, content: Table, folder: Path, location: tuple[str, int]
) -> Iterator[Source]:
    """Yield the source of a collection, or with `each` one source per match."""
    kinds = [kind for kind in SOURCE_SETTINGS if isinstance(table, dict) and kind in table]
    if len(kinds) != 1:
        raise BadInput(
            f"a [[collection]] has one of {', '.join(SOURCE_SETTINGS)}; found {' and '.join(kinds) or 'none of them'}",
            *location,
        )
    kind = kinds[0]
    declared, what = SOURCE_OPTIONS[kind], f"a collection of {kind}"
    of_scalar = {Path: str, None: list}
    known = {name: (of_scalar.get(each.scalar, each.scalar),) for name, each in declared.items()}
    _check_table(table, SOURCE_SETTINGS[kind] | known | COLLECTION_SETTINGS, what, location)
    for name in table.keys() & declared.keys():
        if problem := declared[name].problem(table[name]):
            raise BadInput(f"{name} of {what}: {problem}", *location)
    if kind == "runs" and "qrels" not in table:
        raise BadInput("a collection of runs needs judgements; add qrels = FILE", *location)
    defaults = {
        key: content[key] for key in ("metrics", "gains") if kind == "runs" and key in content
    }
    settings = defaults | {
        key: value for key, value in table.items() if key not in COLLECTION_SETTINGS
    }
    if "each" not in table:
        if "name" not in table and kind != STUDY:
            raise BadInput("a [[collection]] needs a name", *location)
        yield Source(table.get("name", ""), kind, _absolute(settings, folder), location)
        return
    matches = _matches(table["each"], folder, location)
    if not matches:
        raise BadInput(f"each = {table['each']!r}: no file matches", *location)
    for match in matches:
        stem = match.name.removesuffix(".gz").rpartition(".")[0] or match.name
        fields = {
            "path": str(match),
            "folder": match.parent.name,
            "parent": str(match.parent),
            "stem": stem,
        }
        filled = {key: _fill(value, fields, location) for key, value in settings.items()}
        yield Source(
            _fill(table.get("name", "{stem}"), fields, location),
            kind,
            _absolute(filled, folder),
            location,
        )


def _matches(pattern: str, folder: Path, location: tuple[str, int]) -> list[Path]:
    """Return the files that match a pattern, sorted."""
    absolute = Path(pattern).is_absolute()
    try:
        if any("**" in part and part != "**" for part in Path(pattern).parts):
            raise ValueError("'**' can only be an entire path component")  # as Python 3.11 says
        return sorted((Path("/") if absolute else folder).glob(pattern.lstrip("/")))
    except (ValueError, OSError) as error:  # bad syntax; names longer than the file system allows
        raise BadInput(
            f"each = {pattern!r} is no pattern of files: {error}; use a pattern such as 'matrices/*.csv' or '**/*.csv'",
            *location,
        ) from None


def _fill(value: Any, fields: Mapping[str, str], location: tuple[str, int]) -> Any:
    if isinstance(value, list):
        return [_fill(element, fields, location) for element in value]
    if not isinstance(value, str):
        return value
    try:
        # Not `str.format`, whose fields may have attributes and formats.
        parts = list(string.Formatter().parse(value))
        if any(spec or conversion for _, _, spec, conversion in parts):
            raise ValueError(value)
        return "".join(text + ("" if name is None else fields[name]) for text, name, _, _ in parts)
    except (KeyError, ValueError):
        raise BadInput(
            f"{value!r}: unknown field in braces; known are {', '.join(fields)}", *location
        ) from None


def _absolute(settings: Table, folder: Path) -> Table:
    def absolute(value: Any) -> Any:
        return (
            [absolute(element) for element in value]
            if isinstance(value, list)
            else below(folder, value)
        )

    return {
        key: absolute(value) if key in PATH_SETTINGS else value for key, value in settings.items()
    }


def _read_entries(table: Any, content: Table, location: tuple[str, int]) -> Iterator[Entry]:
    """Yield one entry per combination of the grid."""
    if isinstance(table, dict) and table.get("name") in DERIVED:
        _check_table(
            table,
            {"name": (str,)},
            f"{table['name']}, which is computed when it is shown",
            location,
        )
        return
    if not isinstance(table, dict) or table.get("name") not in registry.names():
        name = table.get("name") if isinstance(table, dict) else table
        raise BadInput(
            f"unknown analysis {name!r}; the nearest known ones are: {nearest(str(name), list(registry.names()))}",
            *location,
        )
    kind = registry.load(table["name"])
    own = options_of(kind)
    shared = {key: SHARED[key] for key in (*ENTRY_OPTIONS, *SELECTION) if key not in own}
    grid = table.get(GRID, {})
    _check_table(
        {key: value for key, value in table.items() if key in ENTRY_SETTINGS},
        ENTRY_SETTINGS,
        kind.name,
        location,
    )
    for key in as_named(kind, {**table, **grid}):
        if key not in ENTRY_SETTINGS and key not in own and key not in shared:
            known = [*own, *ENTRY_SETTINGS, *shared]
            raise BadInput(
                f"unknown setting {key!r} of {kind.name}; the nearest known ones are: {nearest(key, known)}",
                *location,
            )
    for key, values in grid.items():
        if not isinstance(values, list) or not values:
            raise BadInput(
                f"grid.{key} = {values!r} of {kind.name}; expected a list of values", *location
            )
    for combination in itertools.product(*grid.values()):
        values = {key: value for key, value in table.items() if key != GRID} | dict(
            zip(grid, combination, strict=True)
        )
        yield _read_entry(kind, own, shared, as_named(kind, values), content, location)


def _read_entry(
    kind: type[Analysis],
    own: Mapping[str, Option],
    shared: Mapping[str, Option],
    values: Table,
    content: Table,
    location: tuple[str, int],
) -> Entry:
    """Return the entry of an analysis with one combination of values."""
    _check_table(
        {key: value for key, value in values.items() if key in ENTRY_SETTINGS},
        ENTRY_SETTINGS,
        kind.name,
        location,
    )
    options = _read_options(kind.name, own, values, location)
    settings = _read_options(kind.name, shared, values, location)
    try:
        analysis = kind(**options)
    except (ScorecubeError, TypeError, ValueError) as error:
        said = error.in_file() if isinstance(error, ScorecubeError) else error
        raise BadPlan(f"{location[0]}:{location[1]}: {kind.name}: {said}") from None
    return Entry(
        analysis,
        trials=settings.get("trials", content.get("trials")),
        seed=settings["seed"]
        if "seed" in settings
        else content.get("seed", SHARED["seed"].default),
        collections=tuple(values.get("collections", ("*",))),
        selection={key: settings[key] for key in SELECTION if key in settings},
    )


def _read_options(
    analysis: str, options: Mapping[str, Option], settings: Table, location: tuple[str, int]
) -> dict[str, Any]:
    """Return the values of the options that a table sets, converted to their declared types."""
    values = {}
    for key, declared in options.items():
        if key in settings:
            try:
                values[key] = declared.read(settings[key])
            except ScorecubeError as error:
                given = f"{key} = {shown(settings[key])}"
                said = error.in_file().removeprefix(f"{given}: ")
                raise BadInput(f"{given} of {analysis}; {said}", *location) from None
    return values
