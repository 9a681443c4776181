"""Output of the command ir_measures: one file a run, lines of topic, measure and value without a header."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from scorecube.errors import BadInput
from scorecube.ingest.delimited import is_score, read_text, score
from scorecube.ingest.files import PathLike, bare_name
from scorecube.ingest.in_memory import IR_COUNTS, IR_SHAPE, Matrices, from_ir_measures, is_measure
from scorecube.ingest.one_run import Scores, gather

LINE = "topic measure value"
SUMMARY = "all"


def read_ir_measures(paths: Iterable[PathLike], metric: str | None = None) -> Matrices:
    """Read what ``ir_measures --by_query`` (``-q``) printed, one file a run.

    Parameters
    ----------
    paths
        A file for each run, named after it (.txt, .tsv, .eval, .out, .jsonl left out); lines of topic, measure and
        value between tabs or blanks, or JSON (``--output_format jsonl``). Summary lines (``all``) are passed over.
    metric
        The only measure to take, by our name or ir_measures'. Counts (NumRel, ...) are taken only so.

    Returns
    -------
    matrices
        Metric -> runs x topics, NaN for missing; measures have our names where they mean the same.

    Raises
    ------
    BadInput
        Naming file and line: a line that is not topic, measure and value, a measure that ir_measures does not have, a
        value that is no number, a measure twice on a topic; two files of one run, means without topics, no such measure.
    """
    return gather((path, _run_of(path), _read_one(path, metric)) for path in paths)


def fields_of(line: str) -> list[str]:
    r"""Return the fields of a line of the text or the JSON form; no field for what is neither.

    Examples
    --------
    >>> fields_of("1\tAP\t0.5"), fields_of('{"query_id": "1", "measure": "AP", "value": 0.5}'), fields_of("{")
    (['1', 'AP', '0.5'], ['1', 'AP', '0.5'], [])
    """
    if not line.startswith("{"):
        return [field.strip() for field in line.split("\t")] if "\t" in line else line.split()
    try:
        record = json.loads(line)
    except ValueError:
        return []
    return [str(record[key]) for key in ("query_id", "measure", "value") if key in record]


def is_line(fields: list[str]) -> bool:
    """Whether a line has the form of topic, measure and value, or that of a mean without ``-q``."""
    if len(fields) not in (2, 3) or not IR_SHAPE.fullmatch(fields[-2]):
        return False
    # trec_eval's lines begin with the measure; its topics may be called P or R.
    return is_score(fields[-1]) and (len(fields) == 2 or not is_measure(fields[0]))


def _run_of(path: PathLike) -> str:
    return re.sub(r"\.(txt|tsv|eval|out|jsonl)$", "", bare_name(path))


def _read_one(path: PathLike, metric: str | None) -> Scores:
    scores, means = Scores(path), False
    for number, line in enumerate(read_text(path).split("\n"), 1):
        fields = fields_of(line.strip())
        if not line.strip():
            continue
        if len(fields) == 2 and is_line(fields):
            raise BadInput(
                "only means over all topics; run ir_measures with --by_query (-q) to get scores of topics", path, number
            )
        if len(fields) != 3:
            problem = f"{len(fields)} fields" if fields else f"{line.strip()[:40]!r} is no JSON"
            raise BadInput(f"{problem}; a line of ir_measures -q has 3: {LINE}", path, number)
        topic, measure, text = fields
        if not IR_SHAPE.fullmatch(measure):
            raise BadInput(f"{measure!r} is no measure of ir_measures; a line has {LINE}", path, number)
        value = score(text, path, number)
        if topic == SUMMARY:
            means = True
            continue
        label = from_ir_measures(measure)
        if metric not in (measure, label) if metric is not None else IR_COUNTS.fullmatch(measure):
            scores.pass_over(label)
            continue
        scores.add(label, topic, value, number)
    if means and not scores.found and not scores.others:
        raise BadInput("only means over all topics; no topic of the run is judged", path)
    return scores.complete(metric)
