"""Output of the command ``ir_measures --by_query`` (``-q``): one file a run, lines of topic, measure and value.

Fields are separated by tabs or blanks, or lines are JSON (``--output_format jsonl``). The file is named after the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from scorecube.errors import BadInput, counted
from scorecube.ingest.delimited import is_score, lines_of, read_text
from scorecube.ingest.files import PathLike
from scorecube.ingest.formats import BUILT_IN, FileHead, Format
from scorecube.ingest.measure_names import IR_COUNTS, IR_SHAPE, from_ir_measures, is_measure
from scorecube.ingest.one_run import Record, ScoreReader
from scorecube.ingest.roles import RUN_HEADERS, header_word

LINE = "topic measure value"


def split_line(line: str) -> list[str]:
    r"""Return the fields of a line of the text or the JSON form; no field for a line of neither.

    Examples
    --------
    >>> split_line("1\tAP\t0.5"), split_line('{"query_id": "1", "measure": "AP", "value": 0.5}'), split_line("{")
    (['1', 'AP', '0.5'], ['1', 'AP', '0.5'], [])
    """
    if not line.startswith("{"):
        return [field.strip() for field in line.split("\t")] if "\t" in line else line.split()
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return []
    if any(header_word(key) in RUN_HEADERS for key in record):
        return []  # a long table
    return [str(record[key]) for key in ("query_id", "measure", "value") if key in record]


def _is_line(fields: list[str]) -> bool:
    """Return whether a line has the form of topic, measure and value, or that of a mean without ``-q``."""
    if len(fields) not in (2, 3) or not IR_SHAPE.fullmatch(fields[-2]):
        return False
    # A line of trec_eval begins with the measure, and may have a topic that is called P or R.
    return is_score(fields[-1]) and (len(fields) == 2 or not is_measure(fields[0]))


def _detect(head: FileHead) -> bool:
    return all(_is_line(split_line(line.strip())) for line in head.lines[:2])


def _records(path: PathLike) -> Iterator[Record]:
    for number, line in enumerate(lines_of(read_text(path)), 1):
        content = line.strip()
        if not content:
            continue
        fields = split_line(content)
        if len(fields) == 2 and _is_line(fields):
            raise BadInput(
                "only means over all topics; run ir_measures with --by_query (-q) to get scores of topics",
                path,
                number,
            )
        if len(fields) != 3:
            problem = counted(len(fields), "field") if fields else f"{content[:40]!r} is not JSON"
            raise BadInput(f"{problem}; a line of ir_measures -q has 3: {LINE}", path, number)
        topic, measure, value = fields
        if not IR_SHAPE.fullmatch(measure):
            raise BadInput(
                f"{measure!r} is not a measure of ir_measures; a line has {LINE}", path, number
            )
        yield number, "", topic, measure, value


IR_MEASURES = ScoreReader(
    parse=_records,
    label=from_ir_measures,
    extensions="txt|tsv|eval|out|jsonl",
    counts=IR_COUNTS,
    summary="all",
    only_means="only means over all topics; no topic of the run is judged",
)
FORMAT = Format("ir_measures", BUILT_IN["ir_measures"].about, _detect, IR_MEASURES.read)
