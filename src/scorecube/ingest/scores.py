"""Scores in one tidy frame, a row a score, and the collector that refuses what is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from scorecube import names
from scorecube.collection.teams import listed
from scorecube.errors import BadInput, option
from scorecube.files import label_of_spreadsheet
from scorecube.ingest.files import PathLike
from scorecube.ingest.roles import TAKEN
from scorecube.ingest.tables import column_of, label_of, numbers_of, problem_of, refuse

GROUP = "topic_group"
KEYS = ("collection", "metric", "gain", "run", "seed", "system", "topic")
"""Labels of which no two scores have the same."""
LABELS = (*KEYS, GROUP)
SCORE = names.SCORE
NEEDED = ("run", "system", "topic", "collection", "metric")
"""Labels that may not be empty where a column has them."""
BETWEEN = "\x1f"
"""Between the labels of several columns that name collections."""


@dataclass(frozen=True)
class Scores:
    """Scores of one file or object.

    frame: Columns `LABELS`, categories of text, '' for none, and ``score``, float64; several
        metrics of one row of the file stand one after the other.
    path: The file; None for an object.
    lines: Line of each row of the file; those of the frame repeat them for each metric. Empty where
        rows have no lines.
    bad: Row of the frame -> cell that is no number.
    taken: What the columns were taken for; '' where there was nothing to tell.
    notes: What is not read, and other things that a user should know.
    others: Metrics that are not wanted.
    roles: Labels that the file has.
    """

    frame: pd.DataFrame
    path: PathLike | None
    lines: Sequence[int]
    bad: Mapping[int, Any]
    taken: str
    notes: Sequence[str]
    others: Sequence[str]
    roles: frozenset[str]

    def problem(self, row: int, text: str) -> BadInput:
        """Return the error about a row of the frame."""
        line = self.lines[row % len(self.lines)] if len(self.lines) else None
        where = f"row {line}: " if self.path is None and line else ""
        return BadInput(where + text, self.path, line)


def scores_of(
    labels: Mapping[str, Any],
    values: Mapping[str, Any],
    path: PathLike | None = None,
    lines: Sequence[int] = (),
    *,
    taken: str = "",
    notes: Sequence[str] = (),
    others: Sequence[str] = (),
) -> Scores:
    """Return scores as a tidy frame.

    labels: Role, of `LABELS` -> its cells.
    values: Metric -> its cells; of several metrics in one column, '' -> the cells, and the label
        ``metric``.
    path, lines, taken, notes, others: As of `Scores`.
    """
    n_rows, n_metrics = len(next(iter(values.values()))), len(values)
    columns: dict[str, Any] = {}
    for role in LABELS:
        own = categories(labels[role]) if role in labels else _constant("", n_rows)
        codes = np.tile(own.codes, n_metrics) if n_metrics > 1 else own.codes
        columns[role] = coded(codes, own.categories)
    if "" not in values:
        codes = np.repeat(np.arange(n_metrics), n_rows)
        columns["metric"] = coded(codes, list(values))
    parts: list[Any] = []
    bad: dict[int, Any] = {}
    for k, cells in enumerate(values.values()):
        numbers, wrong = numbers_of(cells)
        parts.append(numbers)
        bad |= {k * n_rows + row: cell for row, cell in wrong.items()}
    frame = pd.DataFrame({**columns, SCORE: np.concatenate(parts)})
    roles = frozenset(labels) | {"metric"}
    return Scores(frame, path, lines, bad, taken, notes, others, roles)


def coded(codes: Any, labels: Sequence[Any]) -> Any:
    """Return a column of categories."""
    return pd.Categorical.from_codes(codes, pd.Index(labels, dtype=object))


def categories(cells: Any) -> Any:
    """Return the labels in cells as categories, in order of appearance."""
    if isinstance(cells, pd.Categorical):
        return cells
    cells = column_of(cells)
    cells = cells if cells.dtype == object else cells.astype(object)
    codes, different = pd.factorize(cells, use_na_sentinel=False)
    labels = [label_of_spreadsheet(label_of(cell)) for cell in different]
    numbers, unique = pd.factorize(np.array(labels, object), use_na_sentinel=False)
    return coded(numbers[codes] if len(codes) else codes, list(unique))


def _constant(label: str, n_rows: int) -> Any:
    return coded(np.zeros(n_rows, np.int8), [label])


def collections_of(columns: Sequence[Any]) -> Any:
    """Return the names of collections that stand in one column or in several."""
    parts = [categories(cells) for cells in columns]
    texts = [np.asarray(part.categories, object)[part.codes] for part in parts]
    joined = categories([BETWEEN.join(row) for row in zip(*texts, strict=True)])
    named = [
        label.replace(BETWEEN, "-").replace("/", "-").replace("\\", "-")
        if all(label.split(BETWEEN))
        else ""
        for label in joined.categories
    ]
    for name in named:
        if name and named.count(name) > 1:
            raise BadInput(f"two collections would be called {name!r}; rename one of them")
    codes = pd.factorize(np.array(named, object), use_na_sentinel=False)[0]
    return coded(codes[joined.codes], list(dict.fromkeys(named)))


def wanted_measures(
    measures: Iterable[str], metric: str | None, label: Callable[[str], str]
) -> tuple[dict[str, str], list[str]]:
    """Return the name here of each measure that is wanted, and the names of the others.

    metric: The only one, by its name here or in the tool; None for all.
    """
    named = {measure: label(measure) for measure in measures}
    kept = {measure: name for measure, name in named.items() if metric in (None, measure, name)}
    return kept, sorted({named[measure] for measure in named if measure not in kept})


def refuse_several(collections: Sequence[str]) -> None:
    """Refuse scores of several collections where those of one are expected (BadInput)."""
    if len(collections) > 1:
        raise BadInput(
            f"scores of {len(collections)} collections ({listed(collections)}), which are not "
            "pooled: collections=True reads each by itself, as the "
            f"command import does without {option('name')}; or choose the column that names "
            f"collections: {option('collection_column')}"
        )


@dataclass(frozen=True)
class Reading:
    """Scores that were read.

    frame: As of `Scores`; runs are named.
    taken: What the columns were taken for.
    notes: What is not read, and other things that a user should know.
    """

    frame: pd.DataFrame
    taken: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def collections(self) -> list[str]:
        """Names of the collections, '' where no column names one, in order of appearance."""
        return list(self.frame["collection"].unique())

    def only(self) -> None:
        """Refuse scores of several collections where those of one are expected (BadInput)."""
        refuse_several(self.collections)


def collect(
    parts: Sequence[Scores], problems: Sequence[BadInput] = (), metric: str | None = None
) -> Reading:
    """Return the scores of files and objects as one.

    problems: What is wrong with other files.
    metric: The only one that was wanted, for messages.
    Raises BadInput: All problems: a label that is missing, a score that is no number, a second
        score of a run on a topic, a topic of two groups,
        a run of two systems; no scores.
    """
    problems = [*problems, *(problem for part in parts for problem in _bad_cells(part))]
    n_problems = len(problems)
    taken, notes = _said(parts)
    end = "".join(f"\n  {note}" for note in notes)
    if parts and not problems:
        others = sorted({name for part in parts for name in part.others})
        for role, what in (("system", "systems"), ("collection", "collections")):
            if len({role in part.roles for part in parts}) > 1:
                text = f"one file has a column of {what} and another none; give all the same"
                raise BadInput(text, parts[0].path)
        frame = pd.concat(
            {role: pd.Series(_union([part.frame[role] for part in parts])) for role in LABELS}
            | {SCORE: pd.Series(np.concatenate([part.frame[SCORE] for part in parts]))},
            axis=1,
        )
        if not len(frame):
            known = f"; there are {', '.join(others)}" if others else ""
            raise BadInput(f"no score of {metric or 'a topic'}{known}", parts[0].path)
        repeated = frame.duplicated(list(KEYS)).to_numpy().nonzero()[0]
        problems = [_repeated(parts, frame, row) for row in repeated[:20].tolist()]
        problems += _of_two_groups(parts, frame)
        n_problems = len(problems) + max(0, len(repeated) - 20)
        refuse(problems, n_problems, end)
        if others:
            notes.append(f"not read: scores of {listed(others)}")
        return Reading(_with_runs(frame, parts), taken, notes)
    refuse(problems, n_problems, end)
    raise BadInput("no scores in the files")


def refuse_other_axes(frames: Mapping[str, pd.DataFrame]) -> None:
    """Refuse matrices that differ in their runs or topics (BadInput).

    frames: Metric -> scores, as of `Scores`.
    """
    first: dict[str, set[str]] = {}
    for metric, frame in frames.items():
        axes = {dim: set(frame[dim].unique()) for dim in ("run", "topic")}
        start = next(iter(frames))
        only = [
            f"{dim} {listed(sorted(some - rest))} only in {where}"
            for dim, labels in first.items()
            for some, rest, where in ((labels, axes[dim], start), (axes[dim], labels, metric))
            if some - rest
        ]
        if only:
            raise BadInput(
                f"the matrices of {metric} and {start} have different runs or topics: "
                f"{', '.join(only)}; give those that all have, or one "
                "collection for each"
            )
        first = axes


def _union(columns: list[Any]) -> Any:
    """Return columns of categories as one."""
    return columns[0].array if len(columns) == 1 else union_categoricals(columns)


def _bad_cells(part: Scores) -> list[BadInput]:
    """Return what is wrong with single rows of a file, in their order."""
    problems: dict[int, str] = {}
    for role in NEEDED:
        column = part.frame[role].array
        if role in part.roles and "" in column.categories:
            empty = np.flatnonzero(column.codes == column.categories.get_loc(""))
            problems |= dict.fromkeys(empty.tolist(), f"the {role} is missing")
    for row, cell in part.bad.items():
        header = part.frame["metric"].iloc[row]
        problems.setdefault(row, problem_of(cell) + (f" ({header})" if header else ""))
    n_lines = max(1, len(part.lines))
    first = {row % n_lines: row for row in sorted(problems, reverse=True)}  # one for each line
    return [part.problem(first[line], problems[first[line]]) for line in sorted(first)]


def _place(parts: Sequence[Scores], row: int) -> tuple[Scores, int]:
    """Return the file that a row of the joined frame is from, and its row there."""
    for part in parts:
        if row < len(part.frame):
            return part, row
        row -= len(part.frame)
    raise IndexError(row)


def _repeated(parts: Sequence[Scores], frame: pd.DataFrame, row: int) -> BadInput:
    """Return the error about a row whose labels an earlier row has, too."""
    labels = frame.iloc[row]
    same = np.ones(len(frame), bool)
    for role in KEYS:
        same &= (frame[role] == labels[role]).to_numpy()
    part, at = _place(parts, row)
    before, first = _place(parts, int(same.argmax()))
    metric, run, topic = labels["metric"], labels["run"], labels["topic"]
    text = f"a second score of {metric} for run {run!r} on topic {topic!r}"
    if labels["seed"]:
        text += f" with seed {labels['seed']!r}"
    if labels["gain"]:
        text += f" at gain setting {labels['gain']}"
    if labels["collection"]:
        text += f" in {labels['collection']}"
    if len(before.lines):
        line = before.lines[first % len(before.lines)]
        where = f"in line {line}" if before.path == part.path else f"{before.path}:{line}"
        text += f"; the first is {where if before.path is not None else f'in row {line}'}"
    return part.problem(at, text)


def _of_two_groups(parts: Sequence[Scores], frame: pd.DataFrame) -> list[BadInput]:
    """Return the errors about topics of two groups."""
    grouped = frame.loc[frame[GROUP] != "", ["collection", "topic", GROUP]].drop_duplicates()
    again = grouped.duplicated(["collection", "topic"])
    problems = []
    for row in grouped.index[again]:
        part, at = _place(parts, int(row))
        topic, group = grouped.loc[row, "topic"], grouped.loc[row, GROUP]
        first = grouped.loc[grouped["topic"] == topic, GROUP].iloc[0]
        problems.append(
            part.problem(at, f"topic {topic!r} is of the topic groups {first!r} and {group!r}")
        )
    return problems


def _with_runs(frame: pd.DataFrame, parts: Sequence[Scores]) -> pd.DataFrame:
    """Return scores with runs named by system and seed, ``a#1``, where these are repetitions."""
    pairs = frame[["run", "seed", "system"]].drop_duplicates().astype(str)
    if "system" in parts[0].roles:
        for run, same in pairs.groupby("run")["system"]:
            if len(same) > 1:
                raise BadInput(
                    f"run {run!r} has two systems: {same.iloc[0]!r} and {same.iloc[1]!r}; if it "
                    "is a repetition of both, choose the column of the "
                    f"systems as {option('run_column')} and that of the runs as "
                    f"{option('seed_column')}",
                    parts[0].path,
                )
        return frame
    if pairs["run"].is_unique:
        return frame.assign(system=_constant("", len(frame)))
    for run, seeds in pairs.groupby("run")["seed"]:
        if len(seeds) > 1 and "" in set(seeds):
            raise BadInput(f"run {run!r} has rows with a seed and rows without one", parts[0].path)
    runs, seeds = frame["run"].array, frame["seed"].array
    keys, order = pd.factorize(runs.codes.astype(np.int64) * len(seeds.categories) + seeds.codes)
    named = []
    for key in order.tolist():
        run, seed = divmod(key, len(seeds.categories))
        end = f"#{seeds.categories[seed]}" if seeds.categories[seed] else ""
        named.append(f"{runs.categories[run]}{end}")
    return frame.assign(run=coded(keys, named), system=runs)


def _said(parts: Sequence[Scores]) -> tuple[list[str], list[str]]:
    """Return what columns were taken for and the notes, with files unless these are all."""

    def lines(of: Callable[[Scores], Sequence[str]], start: str) -> list[str]:
        about: dict[str, list[str]] = {}
        for part in parts:
            for text in filter(None, of(part)):
                about.setdefault(text, []).append(str(part.path))
        heads = {
            text: " of ".join(
                filter(None, [start, listed(paths) if len(paths) < len(parts) else ""])
            )
            for text, paths in about.items()
        }
        return [f"{heads[text]}: {text}" if heads[text] else text for text in about]

    return lines(lambda part: [part.taken], TAKEN), lines(lambda part: part.notes, "")
