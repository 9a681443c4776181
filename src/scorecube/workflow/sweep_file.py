"""A sweep file (TOML) -> records: where collections come from, and which analyses with which options.

    study = "sweep.zarr"
    trials = 1000
    seed = 1

    [[collection]]
    each = "matrices/*.csv"          # one collection for each match
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
    grid = { sampling = ["disjoint", "replacement"] }      # one plan for each combination

Paths are relative to the folder of the file. Errors name the file and the line of the table they are in.
"""

from __future__ import annotations

import itertools
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scorecube.analyses import registry
from scorecube.analyses.base import Analysis
from scorecube.analyses.options import Option, options_of
from scorecube.analyses.shared_options import SELECTION, SHARED
from scorecube.errors import BadInput, BadPlan, ScorecubeError, nearest
from scorecube.storage.location import below
from scorecube.workflow.tasks import Until

Table = Mapping[str, Any]
STUDY, COLLECTION, ANALYSIS, GRID = "study", "collection", "analysis", "grid"
TOP: dict[str, tuple[type, ...]] = {
    STUDY: (str,), "trials": (int,), "seed": (int,), "workers": (int,), "memory": (str,), "cluster": (str,),
    "metrics": (list,), "gains": (list,), "impossible": (str,), COLLECTION: (list,), ANALYSIS: (list,),
}  # fmt: skip
"""Settings of a sweep, and what they may be."""
WORDS: dict[str, type] = {
    "order": str, "precision": str, "depth": int, "run_name": str, "duplicates": str, "qrels_format": str, "levels": str,
    "intents": str, "no_relevant": str, "missing_topic": str, "unjudged": str,
}  # fmt: skip
"""Options of the command evaluate, under the same names."""
KINDS: dict[str, dict[str, tuple[type, ...]]] = {
    "runs": {
        "runs": (str, list), "qrels": (str,), "teams": (str,), "metrics": (list,), "gains": (list,),
        **{key: (kind,) for key, kind in WORDS.items()},
    },
    "scores": {
        "scores": (str, list), "metric": (str,), "gain": (str,), "layout": (str,), "transpose": (bool,), "teams": (str,),
        "exclude": (str, list),
    },
    STUDY: {STUDY: (str,), "collections": (list,)},
}  # fmt: skip
"""Settings of a collection by the kind of its source; `name` and `each` go with all."""
ANY_KIND: dict[str, tuple[type, ...]] = {"name": (str,), "each": (str,)}
PATHS = ("runs", "qrels", "teams", "scores", "study", "intents", "exclude")
"""Settings that are paths or globs, relative to the file."""
OF_PLAN = ("trials", "seed", "until_width", "most_trials")
"""Shared options that a plan has beside its selection."""
OF_ENTRY: dict[str, tuple[type, ...]] = {"name": (str,), "collections": (list,), GRID: (dict,)}
"""Settings of an analysis that are no options."""
IMPOSSIBLE = ("skip", "stop")
DERIVED = ("design", "variance", "wcw")
"""Made from the scores whenever they are shown; nothing is to be run."""


@dataclass(frozen=True)
class Source:
    """Where one collection comes from.

    Parameters
    ----------
    name
        Of the collection in the study.
    kind
        ``runs``, ``scores`` or ``study``.
    settings
        As in the file; paths are whole.
    where
        File and line, for error texts.
    """

    name: str
    kind: str
    settings: Table
    where: tuple[str, int]


@dataclass(frozen=True)
class Entry:
    """One analysis with all its options, and the collections it is of.

    Parameters
    ----------
    analysis
        With its options.
    trials, seed
        As of `scorecube.analyse`; a seed of None is drawn.
    collections
        Names, or patterns such as ``trec*``; all by default.
    until
        Trials are doubled until the result is so precise.
    selection
        Arguments of `scorecube.collection.selection.select`. Metrics, gain settings and runs that a collection has not are passed over, and so is a
        collection that has none of them.

    Examples
    --------
    >>> from scorecube import Entry, Swap
    >>> Entry(Swap(size=25), trials=2000, seed=1, collections=("trec*",)).trials
    2000
    """

    analysis: Analysis
    trials: int = 1000
    seed: int | None = None
    collections: tuple[str, ...] = ("*",)
    until: Until | None = None
    selection: Table = field(default_factory=dict)


@dataclass(frozen=True)
class SweepFile:
    """What a sweep file says; see the module.

    Parameters
    ----------
    path
        The file.
    study
        Study that takes the results.
    sources
        Where collections come from.
    entries
        Analyses with their options and the collections they are of.
    cluster, workers, memory
        As of the command line; None leaves it to its options.
    impossible
        As of `plan_sweep`.
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

    Parameters
    ----------
    path
        TOML file, see the module.

    Returns
    -------
    sweep
        What it asks for; paths are relative to the file.

    Raises
    ------
    BadInput, BadPlan
        With file and line: not TOML, unknown settings (and the nearest known ones), values of another kind, no such files.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
        content = tomllib.loads(text)
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", str(path)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"is not TOML: {error}", str(path)) from None
    lines = text.splitlines()
    _check(content, TOP, "a sweep", (str(path), 1))
    if content.get("impossible", "skip") not in IMPOSSIBLE:
        raise BadInput(f"impossible = {content['impossible']!r}; expected one of {', '.join(IMPOSSIBLE)}", str(path))
    folder = file.resolve().parent
    sources = [
        source
        for table, line in _tables(content, COLLECTION, lines)
        for source in _sources(table, content, folder, (str(path), line))
    ]
    names = [source.name for source in sources]
    for source in sources:
        if names.count(source.name) > 1:
            raise BadInput(
                f'two collections are called {source.name!r}; give them names, e.g. name = "{{folder}}-{{stem}}"',
                *source.where,
            )
    entries = [
        entry
        for table, line in _tables(content, ANALYSIS, lines)
        for entry in _entries(table, content, (str(path), line))
    ]
    if not content.get(ANALYSIS):
        raise BadInput("no [[analysis]] in the file: nothing to do", str(path))
    return SweepFile(
        str(path), below(folder, content.get(STUDY, file.with_suffix(".zarr").name)), tuple(sources), tuple(entries),
        None if "cluster" not in content else str(folder / content["cluster"]), content.get("workers"), content.get("memory"),
        content.get("impossible", "skip"),
    )  # fmt: skip


def _tables(content: Table, key: str, lines: Sequence[str]) -> Iterator[tuple[Table, int]]:
    """Yield the tables of an array of tables, each with the line of its header."""
    found = [number for number, line in enumerate(lines, 1) if line.strip().replace(" ", "").startswith(f"[[{key}]]")]
    tables = content.get(key, [])
    for k, table in enumerate(tables):
        yield table, found[k] if len(found) == len(tables) else 1


def _check(table: Any, known: Mapping[str, tuple[type, ...]], what: str, where: tuple[str, int]) -> None:
    """Refuse settings that are not known, or not of the kind they should be."""
    if not isinstance(table, dict):
        raise BadInput(f"{what} is {table!r}, expected a table", *where)
    for key, value in table.items():
        if key not in known:
            raise BadInput(
                f"unknown setting {key!r} of {what}; the nearest known ones are: {nearest(key, list(known))}", *where
            )
        if not isinstance(value, known[key]) or (isinstance(value, bool) and bool not in known[key]):
            expected = " or ".join(
                {
                    "str": "text",
                    "int": "a whole number",
                    "list": "a list",
                    "bool": "true or false",
                    "dict": "a table",
                }.get(kind.__name__, kind.__name__)
                for kind in known[key]
            )
            raise BadInput(f"{key} = {value!r} of {what}; expected {expected}", *where)


def _sources(table: Any, content: Table, folder: Path, where: tuple[str, int]) -> Iterator[Source]:
    """Yield the collections that one table names: several with `each`."""
    kinds = [kind for kind in KINDS if isinstance(table, dict) and kind in table]
    if len(kinds) != 1:
        raise BadInput(
            f"a [[collection]] has one of {', '.join(KINDS)}; found {' and '.join(kinds) or 'none of them'}", *where
        )
    kind = kinds[0]
    _check(table, KINDS[kind] | ANY_KIND, f"a collection of {kind}", where)
    if kind == "runs" and "qrels" not in table:
        raise BadInput("a collection of runs needs qrels = the file of judgements", *where)
    defaults = {key: content[key] for key in ("metrics", "gains") if kind == "runs" and key in content}
    settings = defaults | {key: value for key, value in table.items() if key not in ANY_KIND}
    if "each" not in table:
        if "name" not in table and kind != STUDY:
            raise BadInput("a [[collection]] needs a name", *where)
        yield Source(table.get("name", ""), kind, _absolute(settings, folder), where)
        return
    matches = (
        sorted(folder.glob(table["each"]))
        if not Path(table["each"]).is_absolute()
        else sorted(Path("/").glob(table["each"].lstrip("/")))
    )
    if not matches:
        raise BadInput(f"each = {table['each']!r}: nothing there matches", *where)
    for match in matches:
        stem = match.name.removesuffix(".gz").rpartition(".")[0] or match.name
        words = {"path": str(match), "folder": match.parent.name, "parent": str(match.parent), "stem": stem}
        filled = {key: _fill(value, words, where) for key, value in settings.items()}
        yield Source(_fill(table.get("name", "{stem}"), words, where), kind, _absolute(filled, folder), where)


def _fill(value: Any, words: Mapping[str, str], where: tuple[str, int]) -> Any:
    if isinstance(value, list):
        return [_fill(each, words, where) for each in value]
    if not isinstance(value, str):
        return value
    try:
        return value.format(**words)
    except (KeyError, IndexError, ValueError):
        raise BadInput(f"{value!r}: known between braces are {', '.join(words)}", *where) from None


def _absolute(settings: Table, folder: Path) -> Table:
    def whole(value: Any) -> Any:
        return [whole(each) for each in value] if isinstance(value, list) else below(folder, value)

    return {key: whole(value) if key in PATHS else value for key, value in settings.items()}


def _entries(table: Any, content: Table, where: tuple[str, int]) -> Iterator[Entry]:
    """Yield one entry for each combination of the grid."""
    if isinstance(table, dict) and table.get("name") in DERIVED:
        _check(table, {"name": (str,)}, f"{table['name']}, which is made from the scores when it is shown", where)
        return
    if not isinstance(table, dict) or table.get("name") not in registry.names():
        name = table.get("name") if isinstance(table, dict) else table
        raise BadInput(
            f"unknown analysis {name!r}; the nearest known ones are: {nearest(str(name), list(registry.names()))}",
            *where,
        )
    kind = registry.load(table["name"])
    own = options_of(kind)
    shared = {key: SHARED[key] for key in (*OF_PLAN, *SELECTION) if key not in own}
    for key in (*table, *table.get(GRID, {})):
        if key not in OF_ENTRY and key not in own and key not in shared:
            known = [*own, *OF_ENTRY, *shared]
            raise BadInput(
                f"unknown setting {key!r} of {kind.name}; the nearest known ones are: {nearest(key, known)}", *where
            )
    grid = table.get(GRID, {})
    _check({key: value for key, value in table.items() if key in OF_ENTRY}, OF_ENTRY, kind.name, where)
    for key, values in grid.items():
        if not isinstance(values, list) or not values:
            raise BadInput(f"grid.{key} = {values!r} of {kind.name}; expected a list of the values to try", *where)
    for chosen in itertools.product(*grid.values()):
        given = {key: value for key, value in table.items() if key != GRID} | dict(zip(grid, chosen, strict=True))
        _check({key: value for key, value in given.items() if key in OF_ENTRY}, OF_ENTRY, kind.name, where)
        made = _read(kind.name, own, given, where)
        settings = _read(kind.name, shared, given, where)
        try:
            analysis = kind(**made)
        except (ScorecubeError, TypeError, ValueError) as error:
            raise BadPlan(f"{where[0]}, line {where[1]}: {kind.name}: {error}") from None
        width = settings.get("until_width")
        yield Entry(
            analysis,
            trials=settings.get("trials") or content.get("trials", SHARED["trials"].default),
            seed=settings.get("seed", content.get("seed")),
            collections=tuple(given.get("collections", ("*",))),
            until=None if width is None else Until(width, settings.get("most_trials", SHARED["most_trials"].default)),
            selection={key: settings[key] for key in SELECTION if key in settings},
        )


def _read(analysis: str, options: Mapping[str, Option], given: Table, where: tuple[str, int]) -> dict[str, Any]:
    """Return the values of those options that are given, as records and functions take them."""
    values = {}
    for key, each in options.items():
        if key in given:
            try:
                values[key] = each.read(given[key])
            except ScorecubeError as error:
                raise BadInput(f"{key} = {given[key]!r} of {analysis}; {error}", *where) from None
    return values
