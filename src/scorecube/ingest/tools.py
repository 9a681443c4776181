"""Readers of the formats of this package: `File` -> scores in a tidy frame."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from scorecube.errors import BadInput, counted, option
from scorecube.ingest import logs
from scorecube.ingest.files import bare_name
from scorecube.ingest.long import read_long
from scorecube.ingest.matrix import is_headerless, is_matrix, read_matrix
from scorecube.ingest.measure_names import (
    GDEVAL,
    IR_COUNTS,
    IR_SHAPE,
    NDEVAL,
    NO_MEASURES,
    from_gdeval,
    from_ir_measures,
    from_ntcireval,
    from_trec_eval,
    is_measure,
)
from scorecube.ingest.objects import scores_of_nested
from scorecube.ingest.roles import LATER_TOPICS, PYTERRIER_RUN, ROLES, RUNS, SCORES, header_word
from scorecube.ingest.scores import SCORE, Scores, scores_of_rows
from scorecube.ingest.source import BUILT_IN, LONG, MATRIX, NUMBERS, File, Format
from scorecube.ingest.tables import is_json, is_score

Row = tuple[str, str, str]
"""Topic, measure and value."""
Read = Callable[[File, str | None], Scores]
RUNID, ALL, MEAN = "runid", "all", "amean"
BASELINE = " (rel to. "
"""In the name of a run that was compared with a baseline, whose numbers are differences."""


class OneRun(NamedTuple):
    """A format whose files hold one run, a score a line; lines of ``all`` topics are left out.

    parse: Line -> topic, measure and value, or None for a line without a score (ValueError for
        another line).
    label: Measure of the tool -> its name here, or the tool's own name where the names here mean
        something else.
    extensions: Regular expression of file name extensions that are not part of a run's name.
    counts: Measures that are read only on request.
    n_first: Number of scores from which the format is detected.
    """

    parse: Callable[[str], Row | None]
    label: Callable[[str], str]
    extensions: str
    counts: re.Pattern[str] | None = None
    n_first: int = 2

    def fits(self, file: File) -> bool:
        """Return whether the first lines are of this format."""
        n_scores = 0
        for line in file.lines:
            try:
                row = self.parse(line.strip())
            except ValueError:
                return False
            if row and row[1] != RUNID:
                n_scores += 1
                if not is_score(row[2]) or n_scores == self.n_first:
                    return is_score(row[2])
        return n_scores > 0

    def read(self, file: File, metric: str | None) -> Scores:
        """Return the scores of a file."""
        run, n_means = "", 0
        lines, rows = list[int](), list[Row]()
        for number, line in enumerate(file.text.split("\n"), 1):
            try:
                row = self.parse(line.strip()) if line.strip() else None
            except ValueError as error:
                raise BadInput(str(error), file.path, number) from None
            if row and row[:2] == (ALL, RUNID):
                if run not in ("", row[2]):
                    text = f"a second run, {row[2]!r} after {run!r}; one file holds one run"
                    raise BadInput(text, file.path, number)
                run = row[2]
            elif row and row[0] == ALL:
                n_means += 1
            elif row:
                lines.append(number)
                rows.append(row)
        if not rows:
            text = "only means over all topics; run the tool with -q to get scores of topics"
            raise BadInput(text if n_means else "no scores in the file", file.path)
        topics, measures, values = zip(*rows, strict=True)
        run = run or re.sub(rf"\.({self.extensions})$", "", bare_name(file.path))
        columns = {"run": run, "topic": topics, "metric": measures, SCORE: values}
        found = scores_of_rows(columns, metric, self.label, file.path, lines, counts=self.counts)
        if not len(found.frame):
            there = f"there are {', '.join(found.others)}"
            raise BadInput(f"no scores of {metric} in the file; {there}", file.path)
        return found


def _trec_eval_line(line: str) -> Row:
    fields = line.split()
    if fields[0] == RUNID and len(fields) >= 3:
        return ALL, RUNID, " ".join(fields[2:])
    if len(fields) != 3 or is_score(fields[0]) or header_word(fields[0]) in ROLES["topic"]:
        raise ValueError(
            f"{counted(len(fields), 'field')}; a line of trec_eval -q has 3: measure topic value"
        )
    return fields[1], fields[0], fields[2]


def _ir_measures_line(line: str) -> Row:
    fields = line.split("\t") if "\t" in line else line.split()
    if line.startswith("{"):
        record = json.loads(line) if line.endswith("}") else {}
        if any(header_word(name) in RUNS for name in record):
            raise ValueError("a table with a column of runs")
        fields = [str(record.get(name, "")) for name in ("query_id", "measure", "value")]
    fields = [field.strip() for field in ([ALL, *fields] if len(fields) == 2 else fields)]
    # A line of trec_eval begins with the measure, and may have a topic that is called P or R.
    if len(fields) != 3 or not IR_SHAPE.fullmatch(fields[1]) or is_measure(fields[0]):
        raise ValueError(f"{line[:40]!r}; a line of ir_measures -q has topic, measure and value")
    return fields[0], fields[1], fields[2]


def _nev_line(line: str) -> Row | None:
    fields = line.split()
    if any(field.startswith("#") for field in fields[:2]):  # syslen=..., perhaps after the topic
        return None
    if len(fields) != 3 or not re.fullmatch(r".+=", fields[1]):
        raise ValueError(f"{line[:60]!r} is not a line of NTCIREVAL; expected topic measure= value")
    return fields[0], fields[1].removesuffix("="), fields[2]


def _gdeval(label: Callable[[str], str]) -> Read:
    """Return the reader of gdeval or of ndeval: tables of run, topic and measures."""

    def read(file: File, metric: str | None) -> Scores:
        lines = file.text.split("\n")
        for number, line in enumerate(lines, 1):
            if BASELINE in line:
                text = "differences to a baseline, not scores; run it without -baseline, -riskAlpha"
                raise BadInput(text, file.path, number)
        # Means, and headers of further runs, become lines of nothing, so that line numbers stay.
        others = re.compile(rf"{re.escape(lines[0].strip())}|[^,]*,\s*{MEAN}\s*,.*")
        kept = [lines[0], *("" if others.fullmatch(line.strip()) else line for line in lines[1:])]
        table = File(file.path, "\n".join(kept)).table
        if [cell.strip() for cell in table.header[:2]] != [RUNID, "topic"] or len(table.header) < 3:
            header = ",".join(table.header)[:60]
            text = f"the header is runid, topic and measures; found {header}"
            raise BadInput(text, file.path, table.line)
        if not len(table.lines):
            raise BadInput(
                f"no scores of topics in the file, only means ({MEAN}) or nothing; judgements and "
                "run share no topic",
                file.path,
            )
        return read_long(table, metric, label=label)

    return read


def _has_header_of(measures: re.Pattern[str]) -> Callable[[File], bool]:
    def fits(file: File) -> bool:
        header = file.rows[0] if file.rows else []
        return (
            header[:2] == [RUNID, "topic"]
            and len(header) > 2
            and all(map(measures.fullmatch, header[2:]))
        )

    return fits


def _read_table(file: File, metric: str | None, chosen: Mapping[str, str] | None) -> Scores:
    return read_long(file.table, metric, chosen)


def _is_table(file: File) -> bool:
    if not file.text or is_json(file.text):
        return True
    words = [header_word(cell) for cell in file.rows[0]] if file.rows else []
    runs = [k for k, word in enumerate(words) if word in RUNS or word == PYTERRIER_RUN]
    topics = (ROLES["topic"] | ROLES["collection"]).union(*LATER_TOPICS)
    if not runs or not topics.intersection(words):
        return False
    body = [cells for cells in file.rows[1:] if len(cells) == len(words)]
    only_numbers = body and all(is_score(cells[runs[0]]) for cells in body)
    if only_numbers and not set(words) & (SCORES | ROLES["metric"]):
        raise BadInput(
            f"the column {file.rows[0][runs[0]]} has only numbers: if they are the scores of a run "
            f"of this name, use {option('layout', MATRIX)}; if they name runs, use "
            f"{option('layout', LONG)}",
            file.path,
            1,
        )
    return True


def _matrix(*, header: bool) -> Callable[..., Scores]:
    def read(file: File, metric: str | None, transpose: bool) -> Scores:
        return read_matrix(file.text, file.path, metric, transpose=transpose, header=header)

    return read


def _read_nested(file: File, metric: str | None) -> Scores:
    """Return the scores of a run, which the file is named after, or of runs by name."""
    document: Any = file.records[0][1] if len(file.records) == 1 else {}
    name = re.sub(r"\.[^.]*$", "", bare_name(file.path))
    inner = [value for part in document.values() for value in dict(part).values()]
    is_one = not any(isinstance(value, dict) for value in inner)
    try:
        return scores_of_nested({name: document} if is_one else document, metric, file.path)
    except BadInput as error:
        raise BadInput(str(error), file.path) from None


def _is_nested(file: File) -> bool:
    first = file.records[0][1] if len(file.records) == 1 else None
    return (
        bool(first)
        and isinstance(first, dict)
        and all(isinstance(part, dict) for part in first.values())
    )


TREC_EVAL = OneRun(_trec_eval_line, from_trec_eval, "txt|eval|out|trec_eval", NO_MEASURES)
IR_MEASURES = OneRun(_ir_measures_line, from_ir_measures, "txt|tsv|eval|out|jsonl", IR_COUNTS)
NEV = OneRun(_nev_line, from_ntcireval, "nev", n_first=1)
OF_A_RUN = ("trec_eval", "ir_measures", "nev")
FORMATS = {
    name: Format(name, BUILT_IN[name], fits, read, frozenset(options), name in OF_A_RUN)
    for name, fits, read, options in (
        (MATRIX, lambda file: is_matrix(file.rows), _matrix(header=True), ["transpose"]),
        (NUMBERS, lambda file: is_headerless(file.rows), _matrix(header=False), ["transpose"]),
        (LONG, _is_table, _read_table, ["chosen"]),
        ("ndeval", _has_header_of(NDEVAL), _gdeval(str), []),
        ("gdeval", _has_header_of(GDEVAL), _gdeval(from_gdeval), []),
        ("trec_eval", TREC_EVAL.fits, TREC_EVAL.read, []),
        ("ir_measures", IR_MEASURES.fits, IR_MEASURES.read, []),
        ("nev", NEV.fits, NEV.read, []),
        ("pytrec_eval", _is_nested, _read_nested, []),
        ("every_eval_ever", logs.is_every_eval_ever, logs.read_every_eval_ever, []),
        ("lm_eval", logs.is_lm_eval, logs.read_lm_eval, []),
        ("inspect", logs.is_inspect, logs.read_inspect, []),
        ("autojudge", logs.is_autojudge, logs.read_autojudge, []),
    )
}  # fmt: skip
"""Name -> format of this package."""
