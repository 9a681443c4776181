"""Read a sweep file (TOML): its collections, and its analyses with their options.

    study = "study"
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
import re
import tomllib
from collections.abc import Iterator, Mapping
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
from scorecube.ingest.options import EVALUATE, IMPORT

Table = Mapping[str, Any]
Types = Mapping[str, type | tuple[type, ...]]
STUDY, COLLECTION, ANALYSIS, GRID = "study", "collection", "analysis", "grid"
SETTINGS: Types = {
    **dict.fromkeys((STUDY, "memory", "cluster"), str),
    **dict.fromkeys(("metrics", "gains", COLLECTION, ANALYSIS), list),
}
"""Settings of a file that are no options, with their types."""
TABLES: Types = {"teams": str, "topic_groups": str}
SOURCE_SETTINGS: dict[str, Types] = {
    "runs": {"runs": (str, list), "qrels": str, **TABLES},
    "scores": {"scores": (str, list), "exclude": (str, list), **TABLES},
    STUDY: {STUDY: str, "collections": list, "replace": bool},
}
"""Settings of a collection by the kind of its source, beside the options of its reader."""
READERS: dict[str, Mapping[str, Option]] = {"runs": EVALUATE, "scores": IMPORT, STUDY: {}}
"""Options of the reader of each kind of source."""

PATHS = ("runs", "qrels", "teams", "topic_groups", "scores", STUDY, "exclude")
"""Settings that are paths or globs, relative to the folder of the file."""
ENTRY_SETTINGS: Types = {"name": str, "collections": list}
"""Settings of an analysis that are no options."""
TYPE_WORDS = {**TYPE_NAMES, list: "a list", dict: "a table"}


@dataclass(frozen=True)
class Source:
    """Source of one collection, or of collections of another study.

    name: Of the collection; empty of another study.
    kind: ``runs``, ``scores`` or ``study``.
    settings: Of the table in the file, with absolute paths.
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

    path: The file.
    study: Path or URL of the study for the results.
    sources: Of the collections; without any, those that the study has.
    entries: Analyses with their options and collections.
    cluster, workers, memory: As on the command line, whose options take precedence.
    """

    path: str
    study: str
    sources: tuple[Source, ...]
    entries: tuple[Entry, ...]
    cluster: str | None = None
    workers: int | None = None
    memory: str | None = None


def read_sweep(path: str | os.PathLike[str]) -> SweepFile:
    """Read a sweep file.

    path: TOML file; see the module.
    Returns sweep: Content of the file, with absolute paths.
    Raises BadInput: With file and line: invalid TOML, unknown settings (with the nearest known
        ones), values of another type or out of range.
    Raises BadPlan: With file and line: options that an analysis refuses.
    """
    text, content = _read(path)
    reader = _Reader(str(path), text.splitlines(), content)
    shared = {key: SHARED[key] for key in ("trials", "seed", "workers")}
    reader.values(content, SETTINGS, shared, "a sweep")
    sources = [
        source
        for table, line in reader.tables(COLLECTION)
        for source in reader.sources(table, line)
    ]
    entries = [
        entry for table, line in reader.tables(ANALYSIS) for entry in reader.entries(table, line)
    ]
    if not entries:
        raise BadInput("no [[analysis]] in the file: nothing to do", str(path))
    cluster = content.get("cluster")
    return SweepFile(
        path=str(path),
        study=reader.absolute(content.get(STUDY, Path(path).with_suffix(".zarr").name)),
        sources=tuple(sources),
        entries=tuple(entries),
        cluster=None if cluster is None else reader.absolute(cluster),
        workers=content.get("workers"),
        memory=content.get("memory"),
    )


def _read(path: str | os.PathLike[str]) -> tuple[str, Table]:
    """Return the text of a file, and its content."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        return text, tomllib.loads(text)
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", str(path)) from None
    except ValueError as error:  # also bytes that are not UTF-8, integers of thousands of digits
        raise BadInput(f"is not TOML: {error}", str(path)) from None
    except RecursionError:
        raise BadInput("its values are nested too deeply", str(path)) from None


@dataclass(frozen=True)
class _Reader:
    """The tables of a file, with the lines at which they begin."""

    path: str
    lines: list[str]
    content: Table

    @property
    def folder(self) -> Path:
        return Path(self.path).resolve().parent

    def error(self, message: str, line: int) -> BadInput:
        return BadInput(message, self.path, line)

    def tables(self, key: str) -> Iterator[tuple[Any, int]]:
        """Yield the tables of an array with the line numbers of their headers."""
        headers = [
            number
            for number, line in enumerate(self.lines, 1)
            if line.strip().replace(" ", "").startswith(f"[[{key}]]")
        ]
        tables = self.content.get(key, [])
        if len(headers) != len(tables):
            headers = [1] * len(tables)
        yield from zip(tables, headers, strict=True)

    def values(
        self,
        table: Any,
        types: Types,
        options: Mapping[str, Option],
        subject: str,
        table_line: int = 0,
    ) -> dict[str, Any]:
        """Return the settings of a table: options converted to their types, others as they are.

        Raises BadInput: Unknown settings, and values of another type or out of range.
        """
        if not isinstance(table, dict):
            raise self.error(f"{subject} is {shown(table)}, expected a table", table_line)
        values = {}
        for key, value in table.items():
            line = table_line or self.line_of(key)
            if key in types:
                allowed = types[key] if isinstance(types[key], tuple) else (types[key],)
                self.check(key, value, allowed, f"of {subject}", line)
                values[key] = self.absolute(value) if key in PATHS else value
            elif key in options:
                values[key] = self.option(options[key], value, f"of {subject}", line)
            else:
                raise self.error(
                    f"unknown setting {key!r} of {subject}; the nearest known ones are: "
                    f"{nearest(key, [*options, *types])}",
                    line,
                )
        return values

    def line_of(self, key: str) -> int:
        """Return the line of a setting at the top of the file."""
        starts = [line.split("=")[0].strip() for line in self.lines]
        return starts.index(key) + 1 if key in starts else 1

    def check(self, key: str, value: Any, allowed: Any, subject: str, line: int) -> None:
        """Refuse a value of another type than allowed, and lists of anything but texts."""
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            expected = " or ".join(TYPE_WORDS[kind] for kind in allowed)
            raise self.error(f"{key} = {shown(value)} {subject}; expected {expected}", line)
        if isinstance(value, list) and key not in (COLLECTION, ANALYSIS):
            for element in value:
                if not isinstance(element, str):
                    raise self.error(
                        f"{key} {subject} holds {shown(element)}; expected a list of texts", line
                    )

    def option(self, declared: Option, value: Any, subject: str, line: int) -> Any:
        """Return the value of an option, converted to its declared type."""
        try:
            return declared.read(value)
        except ScorecubeError as error:
            setting = f"{declared.name} = {shown(value)}"
            problem = error.in_file().removeprefix(f"{setting}: ")
            raise self.error(f"{setting} {subject}; {problem}", line) from None

    def absolute(self, value: Any) -> Any:
        """Return a path, or several, relative to the folder of the file; URLs as they are."""
        if isinstance(value, list):
            return [self.absolute(element) for element in value]
        return value if "://" in value else str(self.folder / value)

    # Collections

    def sources(self, table: Any, line: int) -> Iterator[Source]:
        """Yield the source of a collection, or with `each` one source per matching file."""
        kinds = [kind for kind in SOURCE_SETTINGS if isinstance(table, dict) and kind in table]
        if len(kinds) != 1:
            raise self.error(
                f"a [[collection]] has one of {', '.join(SOURCE_SETTINGS)}; "
                f"found {' and '.join(kinds) or 'none of them'}",
                line,
            )
        (kind,) = kinds
        if kind == "runs" and "qrels" not in table:
            raise self.error("a collection of runs needs judgements; add qrels = FILE", line)
        if not ({"name", "each"} & set(table)) and kind != STUDY:
            raise self.error("a [[collection]] needs a name", line)
        if "each" not in table:
            yield self.source(kind, table, line)
            return
        pattern = table["each"]
        self.check("each", pattern, (str,), "of a collection", line)
        for match in self.matches(pattern, line):
            fields = {
                "path": str(match),
                "folder": match.parent.name,
                "parent": str(match.parent),
                "stem": match.name.removesuffix(".gz").rpartition(".")[0] or match.name,
            }
            named = {"name": "{stem}"} | {key: table[key] for key in table if key != "each"}
            yield self.source(kind, self.filled(named, fields, line), line)

    def source(self, kind: str, table: Table, line: int) -> Source:
        """Return the source of one collection."""
        types = {**SOURCE_SETTINGS[kind], "name": str}
        values = self.values(table, types, READERS[kind], f"a collection of {kind}", line)
        if kind == "runs":
            shared = {key: self.content[key] for key in ("metrics", "gains") if key in self.content}
            values = shared | values
        return Source(values.pop("name", ""), kind, values, (self.path, line))

    def matches(self, pattern: str, line: int) -> list[Path]:
        """Return the files that match a pattern, sorted."""
        try:
            if any("**" in part and part != "**" for part in Path(pattern).parts):
                raise ValueError("'**' can only be an entire path component")  # as of Python 3.11
            start = Path("/") if Path(pattern).is_absolute() else self.folder
            matches = sorted(start.glob(pattern.lstrip("/")))
        except (ValueError, OSError) as error:  # names longer than the file system allows
            raise self.error(
                f"each = {pattern!r} is no pattern of files: {error}; use a pattern such as "
                "'matrices/*.csv' or '**/*.csv'",
                line,
            ) from None
        if not matches:
            raise self.error(f"each = {pattern!r}: no file matches", line)
        return matches

    def filled(self, value: Any, fields: Mapping[str, str], line: int) -> Any:
        """Return a value whose texts have fields such as ``{stem}`` filled in."""
        if isinstance(value, dict):
            return {key: self.filled(inner, fields, line) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.filled(inner, fields, line) for inner in value]
        if not isinstance(value, str):
            return value
        for name in re.findall(r"\{([^{}]*)\}", value):
            if name not in fields:
                raise self.error(
                    f"{value!r}: unknown field in braces; known are {', '.join(fields)}", line
                )
        return re.sub(r"\{(\w+)\}", lambda field: fields[field[1]], value)

    # Analyses

    def entries(self, table: Any, line: int) -> Iterator[Entry]:
        """Yield one entry per combination of the grid."""
        name = table.get("name") if isinstance(table, dict) else table
        if name not in registry.names():
            raise self.error(
                f"unknown analysis {name!r}; the nearest known ones are: "
                f"{nearest(str(name), list(registry.names()))}",
                line,
            )
        kind, grid = registry.load(name), table.get(GRID, {})
        self.check(GRID, grid, (dict,), f"of {name}", line)
        for key, choices in grid.items():
            if not isinstance(choices, list) or not choices:
                raise self.error(
                    f"grid.{key} = {shown(choices)} of {name}; expected a list of values", line
                )
        constant = {key: value for key, value in table.items() if key != GRID}
        for combination in itertools.product(*grid.values()):
            values = {**constant, **dict(zip(grid, combination, strict=True))}
            yield self.entry(kind, as_named(kind, values), line)

    def entry(self, kind: type[Analysis], table: Table, line: int) -> Entry:
        """Return the entry of an analysis with one combination of values."""
        shared = {key: SHARED[key] for key in ("trials", "seed", *SELECTION)}
        options = {key: own for key, own in options_of(kind).items() if key not in ENTRY_SETTINGS}
        values = self.values(table, ENTRY_SETTINGS, {**shared, **options}, kind.name, line)
        try:
            analysis = kind(**{key: value for key, value in values.items() if key in options})
        except (ScorecubeError, TypeError, ValueError) as error:
            problem = error.in_file() if isinstance(error, ScorecubeError) else error
            raise BadPlan(f"{self.path}:{line}: {kind.name}: {problem}") from None
        usual = {"trials": self.content.get("trials"), "seed": self.content.get("seed", 1)}
        used = usual | {key: value for key, value in values.items() if key not in options}
        return Entry(
            analysis,
            trials=used["trials"],
            seed=used["seed"],
            collections=tuple(used.get("collections", ("*",))),
            selection={key: used[key] for key in SELECTION if key in used},
        )
