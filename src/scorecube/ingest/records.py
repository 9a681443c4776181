"""Tables with a row for each score, or for the scores of one run on one topic -> matrices of runs x topics by collection."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from scorecube.collection.teams import listed
from scorecube.errors import BadInput, option
from scorecube.ingest.cells import (
    JOIN,
    SHOWN,
    Cells,
    Chunk,
    Floats,
    Labels,
    Problems,
    Table,
    label_text,
    score_problem,
)
from scorecube.ingest.files import PathLike
from scorecube.ingest.measure_names import from_pyterrier, from_trec_eval, metric_of_file
from scorecube.ingest.reading import Integers, Matrices, Reading, axis, by_gain, collection_name
from scorecube.ingest.repetitions import named_runs, rows_of_systems
from scorecube.ingest.roles import (
    PYTERRIER_RUN,
    SCORE_HEADERS,
    TAKEN,
    Taken,
    header_word,
    take_columns,
)
from scorecube.names import SCORE

LABELS = ("collection", "gain", "run", "inner", "topic")
"""Labels of a row, in the order in which rows are sorted; ``inner`` is its seed or system."""
GROUP = "topic_group"
ROLE_ORDER = ("run", "system", "topic", GROUP, "collection", "seed", "metric", "gain", SCORE)
KEPT = ("collection", "topic")
"""Labels that are needed when the keys of rows are known: a topic may have a group."""
LARGEST_KEY = 2**62


@dataclass
class _Rows:
    """Rows of a table: numbers of their labels, and their scores by header."""

    path: PathLike | None
    taken: Taken
    lines: Integers
    labels: dict[str, Any]
    values: dict[str, Floats]
    unread: Sequence[str]
    are_known: bool
    """Whether measures have their names here."""

    def name_of(self, measure: str) -> str:
        """Return the name here of a measure of another tool."""
        if self.are_known:
            return measure
        # PyTerrier calls its measures as trec_eval or as ir_measures does.
        run = header_word(self.taken.named("run"))
        return (from_pyterrier if self.path is None or run == PYTERRIER_RUN else from_trec_eval)(
            measure
        )


Scores = dict[str, tuple[Integers, Floats]]
"""Metric -> sorted keys of rows, and their scores."""


class Records:
    """Reads tables, and makes matrices of their rows.

    metric: The only metric to read. Where no column names metrics, that of the column of this name, or of the column
        score.
    chosen: Role -> column, see `scorecube.ingest.roles.take_columns`.
    """

    def __init__(self, metric: str | None = None, chosen: Mapping[str, str] | None = None) -> None:
        self._metric, self._chosen = metric, dict(chosen or {})
        self._problems = Problems()
        self._labels = {role: Labels() for role in (*LABELS, "metric", GROUP)}
        self._cells: dict[str, Cells] = {}
        self._tables: list[_Rows] = []
        self._notes: list[str] = []
        self._advice = ""
        self._ordered: tuple[list[int], Any, Any] = [], None, None

    def read(self, tables: Iterable[Table | BadInput]) -> Reading:
        """Read tables as one.

        tables: Files or frames, or what is wrong with one.
        Raises BadInput: All that is wrong with the tables: the first problems by file and line, others by number.
        """
        for table in tables:
            try:
                if isinstance(table, BadInput):
                    raise table
                self._tables.append(self._rows(table))
            except BadInput as error:
                self._problems.add("unreadable file", error)
        for what, kinds in (
            ("systems", {rows.taken.inner == "system" for rows in self._tables}),
            ("collections", {"collection" in rows.taken.at for rows in self._tables}),
        ):
            if len(kinds) > 1:
                self._problems.add(
                    "mixture",
                    f"one file has a column of {what} and another none; give all files the same columns",
                    self._tables[0].path,
                )
        if not self._tables:
            self._problems.refuse()
            raise BadInput("no scores in the files")
        metrics = [self._metrics_of(rows) for rows in self._tables]
        self._problems.refuse()
        scores = self._scores(metrics)
        taken = self._described(metrics)
        groups = self._groups()
        self._problems.refuse("".join(f"\n  {note}" for note in self._notes))
        return Reading(self._collections(scores), taken, self._notes, groups)

    def _rows(self, table: Table) -> _Rows:
        """Return the rows of a table."""
        path = table.path
        taken = take_columns(
            table.header,
            self._metric,
            {**table.roles, **self._chosen},
            (path, table.line if path is not None else None),
            is_known=bool(table.roles),
        )
        places = taken.at.get("score", []) or taken.values
        headers = [table.header[k] for k in places]
        if repeated := [name for name, count in Counter(headers).items() if count > 1]:
            raise BadInput(f"several columns are called {listed(repeated)}", path, table.line)
        columns = {
            role: taken.at[name]
            for role in self._labels
            if (name := taken.inner if role == "inner" else role) in taken.at
        }
        parts: dict[Any, list[Any]] = {name: [] for name in (*columns, *places)}
        lines: list[Integers] = []
        for chunk in table.chunks:
            if isinstance(chunk, BadInput):
                self._problems.add("unreadable line", chunk)
                continue
            lines.append(np.asarray(chunk.lines, np.int64))
            for role, at in columns.items():
                parts[role].append(self._numbered(role, at, taken, chunk, path))
            for k, header in zip(places, headers, strict=True):
                found = self._cells.setdefault(header, Cells())
                parts[k].append(found.read(chunk.columns[k], path, chunk.lines))
        if not lines:
            raise BadInput("a header without scores", path)
        joined = {name: _joined(parts.pop(name)) for name in list(parts)}
        labels = {
            role: joined[role]
            if role in columns
            else np.broadcast_to(known.numbered([""]), sum(map(len, lines)))
            for role, known in self._labels.items()
        }
        values = {header: joined[k] for k, header in zip(places, headers, strict=True)}
        self._notes += table.notes
        self._advice = self._advice or table.advice
        return _Rows(
            path, taken, _joined(lines), labels, values, table.unread, "metric" in table.roles
        )

    def _numbered(
        self, role: str, at: Sequence[int], taken: Taken, chunk: Chunk, path: PathLike | None
    ) -> Any:
        """Return the numbers of the labels of a role; note missing ones."""
        name = taken.inner if role == "inner" else role
        columns = [chunk.columns[k] for k in at]
        cells = columns[0]
        if len(columns) > 1:
            cells = [JOIN.join(map(label_text, row)) for row in zip(*columns, strict=True)]
        numbers = self._labels[role].numbered(cells)
        lacking = self._labels[role].lacking
        if lacking and name not in ("gain", "seed", GROUP):
            for k in np.flatnonzero(np.isin(numbers, lacking)).tolist():
                self._problems.add(
                    f"missing {name}", f"the {name} is missing", path, chunk.lines[k]
                )
        return numbers

    def _metrics_of(self, rows: _Rows) -> dict[str, str]:
        """Return the metrics of a table's columns; for a column with scores of several metrics, ''."""
        found: dict[str, str] = {}
        is_one = "score" in rows.taken.at
        for header in rows.values:
            cells = self._cells[header]
            if not (is_one or header_word(header) in SCORE_HEADERS) and cells.kind:
                continue
            found[header] = header
            self._check_cells(header, cells)
        for header in found:
            is_score = header_word(header) in SCORE_HEADERS
            if "metric" in rows.taken.at:
                found[header] = ""
            elif is_one and self._metric is not None:
                found[header] = self._metric
            elif is_score and len(found) == 1:
                found[header] = SCORE if rows.path is None else metric_of_file(rows.path)
            else:
                found[header] = rows.name_of(header)
        if not found:
            self._problems.add(
                "file without scores",
                f"no column of numbers beside {', '.join(rows.taken.named(role) for role in rows.taken.at)}; found {', '.join(rows.taken.header)[:200]}",
                rows.path,
                1,
            )
        for name, count in Counter(found.values()).items():
            if count > 1:
                alike = [header for header in found if found[header] == name]
                self._problems.add(
                    "repeated metric",
                    f"{count} columns are the metric {name}: {', '.join(alike)}; choose one with {option('metric')}",
                    rows.path,
                )
        return found

    def _check_cells(self, header: str, cells: Cells) -> None:
        """Note the cells of a metric's column that are no numbers, and a mixture of numbers with true and false."""
        for path, line, cell in cells.others:
            where = "" if header == SCORE else f" (column {header})"
            self._problems.add("non-numeric score", score_problem(cell) + where, path, line)
        self._problems.count("non-numeric score", cells.n_others - len(cells.others))
        cells.others, cells.n_others = [], 0
        if cells.flag and cells.number:
            path, line = cells.number
            self._problems.add(
                "mixture",
                f"a number in the column {header}, which has true or false {_place(*cells.flag, path)}; write one kind",
                path,
                line,
            )
            cells.flag = None

    def _scores(self, metrics: list[dict[str, str]]) -> Scores:
        """Return the scores of each metric, sorted by the labels of their rows; note repeated ones."""
        sizes = [len(self._labels[role].numbers) or 1 for role in LABELS]
        if math.prod(sizes) > LARGEST_KEY:
            raise BadInput(
                f"too many different labels: {', '.join(map(str, sizes))}; divide the scores"
            )
        found: dict[str, list[tuple[_Rows, Integers, Floats, Integers]]] = {}
        others: set[str] = set()
        for rows, names in zip(self._tables, metrics, strict=True):
            keys = np.zeros(len(rows.lines), np.int64)
            for role, size in zip(LABELS, sizes, strict=True):
                keys *= size
                keys += rows.labels[role] if role in KEPT else rows.labels.pop(role)
            for header, name in names.items():
                if name:
                    part = keys, rows.values.pop(header), rows.lines
                    found.setdefault(name, []).append((rows, *part))
                    continue
                measures: dict[str, list[tuple[str, int]]] = {}
                for measure, number in self._labels["metric"].numbers.items():
                    measures.setdefault(rows.name_of(measure), []).append((measure, number))
                for label, spellings in measures.items():
                    here = np.isin(rows.labels["metric"], [number for _, number in spellings])
                    if self._metric in (None, label, *(measure for measure, _ in spellings)):
                        part = keys[here], rows.values[header][here], rows.lines[here]
                        found.setdefault(label, []).append((rows, *part))
                    elif here.any():
                        others.add(label)
        found = {
            name: parts for name, parts in found.items() if any(len(part[1]) for part in parts)
        }
        if not found:
            known = f"no score of {self._metric}; there are {', '.join(sorted(others))}"
            raise BadInput(known if others else "a header without scores", self._tables[0].path)
        if others:
            self._notes.append(f"not read: scores of {listed(sorted(others))}")
        return {name: self._sorted(name, found.pop(name), sizes) for name in list(found)}

    def _sorted(
        self, name: str, parts: list[tuple[_Rows, Integers, Floats, Integers]], sizes: list[int]
    ) -> tuple[Integers, Floats]:
        """Return the keys and scores of a metric in order of the keys; note repeated keys."""
        which = [id(part[1]) for part in parts]
        if self._ordered[0] != which:  # metrics in columns have the same keys
            keys = _joined([part[1] for part in parts])
            order = np.argsort(keys, kind="stable")
            self._ordered = which, order, keys[order]
        _, order, keys = self._ordered
        again = np.flatnonzero(keys[1:] == keys[:-1]) + 1
        starts = np.cumsum([0, *(len(part[1]) for part in parts)])
        for place in again[np.argsort(order[again])][:SHOWN]:
            first = int(np.searchsorted(keys, keys[place]))
            (path, line), before = (
                (parts[k][0].path, int(parts[k][3][at - starts[k]]))
                for at in (order[place], order[first])
                for k in [int(np.searchsorted(starts, at, side="right")) - 1]
            )
            of = self._row(int(keys[place]), sizes, parts[0][0].taken.inner)
            first_is = f"; the first is {_place(*before, path)}" if line else ""
            text = f"a second score of {name} for {of}{first_is}"
            self._problems.add("repeated score", text, path, line)
        self._problems.count("repeated score", max(0, len(again) - SHOWN))
        return keys, _joined([part[2] for part in parts])[order]

    def _row(self, key: int, sizes: list[int], inner: str) -> str:
        """Return the labels of a row as text."""
        labels = {}
        for role, size in zip(reversed(LABELS), reversed(sizes), strict=True):
            key, number = divmod(key, size)
            labels[role] = list(self._labels[role].numbers)[number]
        text = f"run {labels['run']!r} on topic {labels['topic']!r}"
        if inner == "seed" and labels["inner"]:
            text += f" with seed {labels['inner']!r}"
        if labels["gain"]:
            text += f" at gain setting {labels['gain']}"
        return text + (
            f" in {collection_name(labels['collection'])}" if labels["collection"] else ""
        )

    def _collections(self, scores: Scores) -> dict[str, dict[str, Matrices]]:
        """Return the matrices of each collection."""
        gains = list(self._labels["gain"].numbers)
        n_topics = len(self._labels["topic"].numbers)
        n_pairs = len(self._labels["run"].numbers) * len(self._labels["inner"].numbers)
        runs = self._runs(scores, n_topics, n_pairs)
        topics = dict(enumerate(self._labels["topic"].numbers))
        found: dict[str, dict[str, Matrices]] = {}
        start = 0
        for label in self._labels["collection"].numbers:
            parts: dict[tuple[str, str], tuple[Integers, Integers, Floats]] = {}
            for gain in gains:
                stop = start + n_pairs * n_topics
                for metric, (keys, values) in scores.items():
                    part = slice(*np.searchsorted(keys, [start, stop]))
                    if part.stop > part.start:
                        pair, topic = np.divmod(keys[part] - start, n_topics)
                        parts[gain, metric] = pair, topic, values[part]
                start = stop
            name = collection_name(label)
            if name in found:
                raise BadInput(f"two collections would be called {name!r}; rename one of them")
            if parts:
                found[name] = by_gain(
                    self._matrices(parts, runs, topics, name), self._tables[0].path
                )
        return found

    def _groups(self) -> dict[str, dict[str, str]]:
        """Return the group of each topic by collection; note topics of two groups."""
        if not any(GROUP in rows.taken.at for rows in self._tables):
            return {}
        names = {role: list(self._labels[role].numbers) for role in ("collection", "topic", GROUP)}
        found: dict[str, dict[str, str]] = {}
        for rows in self._tables:
            sizes = [len(labels) for labels in names.values()]
            keys = np.ravel_multi_index([rows.labels[role] for role in names], sizes)
            different, first = np.unique(keys, return_index=True)
            numbers = zip(*np.unravel_index(different, sizes), strict=True)
            for (collection, topic, group), at in zip(numbers, first, strict=True):
                label = names[GROUP][group]
                known = found.setdefault(collection_name(names["collection"][collection]), {})
                name = names["topic"][topic]
                if label and known.setdefault(name, label) != label:
                    text = f"topic {name!r} is of the topic groups {known[name]!r} and {label!r}"
                    self._problems.add("topic of two groups", text, rows.path, int(rows.lines[at]))
        return found

    def _runs(self, scores: Scores, n_topics: int, n_pairs: int) -> dict[int, tuple[str, str]]:
        """Return the name and the system of the run of each pair of run and seed, or of run and system."""
        inner = list(self._labels["inner"].numbers)
        outer = list(self._labels["run"].numbers)
        used = [np.unique(keys // n_topics % n_pairs) for keys, _ in scores.values()]
        pairs = {
            pair: (outer[pair // len(inner)], inner[pair % len(inner)])
            for pair in np.unique(np.concatenate(used)).tolist()
        }
        if self._tables[0].taken.inner != "system":
            names = named_runs(pairs.values())
            return {pair: (names[pairs[pair]], pairs[pair][0]) for pair in pairs}
        systems: dict[str, str] = {}
        for run, system in pairs.values():
            if systems.setdefault(run, system) != system:
                taken = self._tables[0].taken
                raise BadInput(
                    f"run {run!r} has two systems: {systems[run]!r} and {system!r}; if it is a repetition of both, say so: "
                    f"{option('run_column', taken.named('system'))} {option('seed_column', taken.named('run'))}",
                    self._tables[0].path,
                )
        return pairs

    def _matrices(
        self,
        parts: Mapping[tuple[str, str], tuple[Integers, Integers, Floats]],
        runs: Mapping[int, tuple[str, str]],
        topics: Mapping[int, str],
        collection: str,
    ) -> dict[tuple[str, str], pd.DataFrame]:
        """Return a matrix for each gain setting and metric of a collection, all with all its runs and topics."""
        names = {pair: name for pair, (name, _) in runs.items()}
        rows, index = axis([pair for pair, _, _ in parts.values()], names)
        columns, labels = axis([topic for _, topic, _ in parts.values()], topics)
        systems = dict(runs.values()) if any(name != of for name, of in runs.values()) else {}
        found = {}
        for key, (pair, topic, scores) in parts.items():
            values = np.full((len(index), len(labels)), np.nan)
            values[rows(pair), columns(topic)] = scores
            found[key] = rows_of_systems(pd.DataFrame(values, index, labels), systems)
        known = {metric for (_, metric), part in parts.items() if not np.isnan(part[2]).all()}
        where = f" in {collection}" if collection else ""
        for (_, metric), part in parts.items():
            if self._advice and metric in known and not np.nan_to_num(part[2]).any():
                self._notes.append(f"all scores of {metric}{where} are 0: {self._advice}")
        if lacking := [metric for _, metric in parts if known and metric not in known]:
            self._notes.append(f"no score of {listed(list(dict.fromkeys(lacking)))}{where}")
        return {key: frame for key, frame in found.items() if not known or key[1] in known}

    def _described(self, metrics: list[dict[str, str]]) -> list[str]:
        """Return what columns were taken for; note those that were not read."""
        taken: dict[str, list[_Rows]] = {}
        notes: dict[str, list[_Rows]] = {}
        for rows, names in zip(self._tables, metrics, strict=True):
            of = rows.taken
            roles = [
                f"{role} = {of.named(role)}"
                for role in ROLE_ORDER
                if role in of.at and (role != "score" or "metric" in of.at)
            ]
            if "metric" not in of.at:
                each = [
                    name if name == header else f"{name} ({header})"
                    for header, name in names.items()
                ]
                roles.append(f"{'metric' if len(each) == 1 else 'metrics'} = {', '.join(each)}")
            taken.setdefault(", ".join(roles), []).append(rows)
            for header, name in names.items():
                if name == self._metric and header_word(header) != header_word(name):
                    text = f"no column {name}: the column {header} is read as {name}"
                    if "score" not in self._chosen:
                        notes.setdefault(text, []).append(rows)
            unread = dict(of.unread)
            unread |= {
                k: self._cells[of.header[k]].kind for k in of.values if of.header[k] not in names
            }
            if unread or rows.unread:
                columns = [
                    (of.header[k] or f"column {k + 1} (without a name)")
                    + (f" ({why})" if why else "")
                    for k, why in sorted(unread.items())
                ]
                columns += rows.unread
                notes.setdefault(f"not read: {', '.join(columns)}", []).append(rows)
        self._notes += self._with_files("", notes)
        return self._with_files(TAKEN, taken)

    def _with_files(self, start: str, lines: Mapping[str, list[_Rows]]) -> list[str]:
        """Return lines, each with the files that it is about unless these are all."""
        found = []
        for text, about in lines.items():
            paths = [str(rows.path) for rows in about] if len(about) < len(self._tables) else []
            head = " of ".join(filter(None, [start, listed(paths)]))
            found.append(f"{head}: {text}" if head else text)
        return found


def _joined(parts: Sequence[Any]) -> Any:
    """Return arrays as one; a single one is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _place(path: PathLike | None, line: int, beside: PathLike | None) -> str:
    """Return where something is, beside a place in a file."""
    if path is None:
        return f"in row {line}"
    return f"in line {line}" if path == beside else f"{path}:{line}"
