"""Readers of the formats of this package: `File` -> scores in a tidy frame."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from scorecube.errors import BadInput, counted, option
from scorecube.ingest.files import bare_name
from scorecube.ingest.logs import KEYS as AUTOJUDGE
from scorecube.ingest.logs import (
    is_inspect_log,
    is_lm_eval,
    read_autojudge,
    read_every_eval_ever,
    read_inspect,
    read_lm_eval,
)
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
from scorecube.ingest.scores import Scores, scores_of, wanted_measures
from scorecube.ingest.source import BUILT_IN, LONG, MATRIX, NUMBERS, File, Format
from scorecube.ingest.tables import is_json, is_score

Row = tuple[int, str, str, str, str]
"""Line, run ('' for that of the file's name), topic, measure and value."""
RUNID, ALL, MEAN = "runid", "all", "amean"
BASELINE = " (rel to. "
"""In the name of a run that was compared with a baseline, whose numbers are differences."""


def _one_run(
    file: File,
    rows: Iterable[Row],
    metric: str | None,
    label: Callable[[str], str],
    *,
    extensions: str,
    counts: re.Pattern[str] | None = None,
    advice: str = "",
) -> Scores:
    """Return the scores of a file of one run.

    rows: With the means over all topics, which are left out.
    label: Measure of the tool -> its name here, or the tool's own name where the names here mean
        something else.
    extensions: Regular expression of file name extensions that are not part of a run's name.
    counts: Measures that are read only on request.
    advice: What to do about a file that has nothing but means.
    """
    own = re.sub(rf"\.({extensions})$", "", bare_name(file.path))
    every = list(rows)
    scored = [row for row in every if row[2] != ALL]
    if every and not scored:
        raise BadInput(f"only means over all topics; {advice}", file.path)
    measures = dict.fromkeys(row[3] for row in scored)
    if metric is None and counts is not None:
        measures = {measure: None for measure in measures if not counts.fullmatch(measure)}
    names, others = wanted_measures(measures, metric, label)
    if not names and metric is None:
        others = sorted({row[3] for row in scored})
    kept = [row for row in scored if row[3] in names]
    if not kept:
        there = f"; there are {', '.join(others)}" if others else ""
        raise BadInput(f"no scores of {metric or 'topics'} in the file{there}", file.path)
    lines, runs, topics, of, values = zip(*kept, strict=True)
    labels = {
        "run": [run or own for run in runs],
        "topic": topics,
        "metric": [names[measure] for measure in of],
    }
    return scores_of(labels, {"": values}, file.path, lines, others=others if metric else ())


def _lines(file: File) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that are not empty, with their numbers."""
    for number, line in enumerate(file.text.split("\n"), 1):
        if content := line.strip():
            yield number, content


def read_trec_eval(file: File, metric: str | None) -> Scores:
    """Return the output of ``trec_eval -q``; the line ``runid`` names the run, or the file."""
    run, rows = "", list[Row]()
    for number, line in _lines(file):
        fields = line.split()
        if fields[0] == RUNID and len(fields) >= 3:
            name = " ".join(fields[2:])
            if run not in ("", name):
                raise BadInput(
                    f"a second run, {name!r} after {run!r}; one file holds one run",
                    file.path,
                    number,
                )
            run = name
        elif len(fields) != 3:
            raise BadInput(
                f"{counted(len(fields), 'field')}; a line of trec_eval -q has 3: measure topic "
                "value",
                file.path,
                number,
            )
        else:
            rows.append((number, "", fields[1], fields[0], fields[2]))
    named = ((line, run, topic, measure, value) for line, _, topic, measure, value in rows)
    return _one_run(
        file,
        named,
        metric,
        from_trec_eval,
        extensions="txt|eval|out|trec_eval",
        counts=NO_MEASURES,
        advice="run trec_eval with -q to get scores of topics",
    )


def _is_trec_eval(file: File) -> bool:
    if any(fields[:2] == [RUNID, ALL] for fields in file.fields):
        return True
    word = header_word(file.fields[0][0])
    return word not in ROLES["topic"] and all(
        len(fields) == 3 and not is_score(fields[0]) and is_score(fields[2])
        for fields in file.fields[:2]
    )


def split_ir_measures(line: str) -> list[str]:
    """Return the fields of a line of text or JSON of ir_measures; none for a line of neither."""
    if not line.startswith("{"):
        return [field.strip() for field in line.split("\t")] if "\t" in line else line.split()
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return []
    if any(header_word(key) in RUNS for key in record):
        return []  # a long table
    return [str(record[key]) for key in ("query_id", "measure", "value") if key in record]


def _is_ir_line(fields: list[str]) -> bool:
    """Return whether a line has topic, measure and value, or measure and value of a mean."""
    if len(fields) not in (2, 3) or not IR_SHAPE.fullmatch(fields[-2]):
        return False
    # A line of trec_eval begins with the measure, and may have a topic that is called P or R.
    return is_score(fields[-1]) and (len(fields) == 2 or not is_measure(fields[0]))


def read_ir_measures(file: File, metric: str | None) -> Scores:
    """Return the output of ``ir_measures -q``, which is named after the run."""

    def rows() -> Iterator[Row]:
        for number, line in _lines(file):
            fields = split_ir_measures(line)
            if len(fields) == 2 and _is_ir_line(fields):
                text = "only means over all topics; run ir_measures with --by_query (-q)"
                raise BadInput(text, file.path, number)
            if len(fields) != 3 or not IR_SHAPE.fullmatch(fields[1]):
                what = f"{fields[1]!r} is not a measure" if len(fields) == 3 else repr(line[:40])
                raise BadInput(
                    f"{what}; a line of ir_measures -q has topic, measure and value",
                    file.path,
                    number,
                )
            yield number, "", fields[0], fields[1], fields[2]

    return _one_run(
        file,
        rows(),
        metric,
        from_ir_measures,
        extensions="txt|tsv|eval|out|jsonl",
        counts=IR_COUNTS,
        advice="no topic of the run is judged",
    )


def _is_nev_line(fields: list[str]) -> bool:
    return len(fields) == 3 and fields[1].endswith("=") and len(fields[1]) > 1


def read_nev(file: File, metric: str | None) -> Scores:
    """Return the output of NTCIREVAL, which is named after the run."""

    def rows() -> Iterator[Row]:
        for number, line in _lines(file):
            fields = line.split()
            if any(
                field.startswith("#") for field in fields[:2]
            ):  # syslen=..., perhaps after the topic
                continue
            if not _is_nev_line(fields):
                raise BadInput(
                    f"{line[:60]!r} is not a line of NTCIREVAL; expected topic measure= value",
                    file.path,
                    number,
                )
            yield number, "", fields[0], fields[1].removesuffix("="), fields[2]

    return _one_run(file, rows(), metric, from_ntcireval, extensions="nev")


def _is_nev(file: File) -> bool:
    lines = (fields for fields in file.fields if not any(f.startswith("#") for f in fields[:2]))
    return _is_nev_line(next(lines, []))


def _gdeval(label: Callable[[str], str]) -> Callable[[File, str | None], Scores]:
    """Return the reader of gdeval or of ndeval: tables of run, topic and measures."""

    def read(file: File, metric: str | None) -> Scores:
        lines = file.text.split("\n")
        for number, line in enumerate(lines, 1):
            if BASELINE in line:
                text = "differences to a baseline, not scores; run it without -baseline, -riskAlpha"
                raise BadInput(text, file.path, number)
        header = lines[0].strip()
        # The header of a further run becomes a line of nothing, so that numbers of lines stay.
        text = "\n".join(
            [lines[0], *("" if line.strip() == header else line for line in lines[1:])]
        )
        table = File(file.path, text).table
        if [cell.strip() for cell in table.header[:2]] != [RUNID, "topic"] or len(table.header) < 3:
            raise BadInput(
                f"the header is runid, topic and measures; found {','.join(table.header)[:60]}",
                file.path,
                table.line,
            )
        if set(table.columns[1]) <= {MEAN}:
            raise BadInput(
                f"no scores of topics in the file, only means ({MEAN}) or nothing; judgements "
                "and run share no topic",
                file.path,
            )
        found = read_long(table, metric, label=label, summary=MEAN)
        return Scores(**{**vars(found), "taken": ""})

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


def read_table(file: File, metric: str | None, chosen: Mapping[str, str] | None) -> Scores:
    """Return the scores of a table with named columns."""
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
        name = file.rows[0][runs[0]]
        raise BadInput(
            f"the column {name} has only numbers: if they are the scores of a run of this name, "
            f"use {option('layout', MATRIX)}; if they name runs, use "
            f"{option('layout', LONG)}",
            file.path,
            1,
        )
    return True


def _matrix(*, header: bool) -> Callable[..., Scores]:
    def read(file: File, metric: str | None, transpose: bool) -> Scores:
        return read_matrix(file.text, file.path, metric, transpose=transpose, header=header)

    return read


def read_nested(file: File, metric: str | None) -> Scores:
    """Return the scores of dictionaries of pytrec_eval or ranx.

    They are those of a run, which the file is named after, or of runs by name.
    """
    document: Any = file.json[0] or (file.json[1][0][1] if len(file.json[1]) == 1 else {})
    name = re.sub(r"\.[^.]*$", "", bare_name(file.path))
    inner = [
        value for part in document.values() if isinstance(part, dict) for value in part.values()
    ]
    is_one = not any(isinstance(value, dict) for value in inner)
    try:
        return scores_of_nested({name: document} if is_one else document, metric, file.path)
    except BadInput as error:
        raise BadInput(str(error), file.path) from None


def _is_nested(file: File) -> bool:
    document, records = file.json
    first = document or (records[0][1] if len(records) == 1 else None)
    return (
        isinstance(first, Mapping)
        and bool(first)
        and all(isinstance(part, Mapping) for part in first.values())
    )


def _is_autojudge(file: File) -> bool:
    if is_json(file.text):
        return file.names >= set(AUTOJUDGE)
    return (
        all(
            len(fields) == 4 and is_score(fields[3]) and not is_score(fields[1])
            for fields in file.fields[:2]
        )
        and "," not in file.lines[0]
    )


def _is_ir_measures(file: File) -> bool:
    return all(_is_ir_line(split_ir_measures(line.strip())) for line in file.lines[:2])


def _is_inspect(file: File) -> bool:
    return is_inspect_log(file.names) or file.names >= {"eval_id", "sample_id", "id", "epoch"}


SHARED = {"evaluation_id", "evaluation_name", "sample_id", "evaluation"}
"""Fields of samples of Every Eval Ever."""
OF_A_RUN = ("trec_eval", "ir_measures", "nev")
"""Formats whose files hold one run."""
FORMATS = {
    name: Format(name, BUILT_IN[name], fits, read, frozenset(options), name in OF_A_RUN)
    for name, fits, read, options in (
        (MATRIX, lambda file: is_matrix(file.rows), _matrix(header=True), ["transpose"]),
        (NUMBERS, lambda file: is_headerless(file.rows), _matrix(header=False), ["transpose"]),
        (LONG, _is_table, read_table, ["chosen"]),
        ("ndeval", _has_header_of(NDEVAL), _gdeval(str), []),
        ("gdeval", _has_header_of(GDEVAL), _gdeval(from_gdeval), []),
        ("trec_eval", _is_trec_eval, read_trec_eval, []),
        ("ir_measures", _is_ir_measures, read_ir_measures, []),
        ("nev", _is_nev, read_nev, []),
        ("pytrec_eval", _is_nested, read_nested, []),
        ("every_eval_ever", lambda file: file.names >= SHARED, read_every_eval_ever, []),
        ("lm_eval", lambda file: is_lm_eval(file.names), read_lm_eval, []),
        ("inspect", _is_inspect, read_inspect, []),
        ("autojudge", _is_autojudge, read_autojudge, []),
    )
}  # fmt: skip
"""Name -> format of this package."""
