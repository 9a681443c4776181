"""Output of trec_eval -q: one file a run, lines of measure, topic and value.

The line ``runid`` names the run; without one, the file name does. Measures have the names of this package where they
mean the same. Counts, gm_ measures and infAP are read only on request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from scorecube.errors import BadInput, counted
from scorecube.ingest.delimited import fields_of, is_score, read_text
from scorecube.ingest.files import PathLike
from scorecube.ingest.formats import BUILT_IN, FileHead, Format
from scorecube.ingest.measure_names import NO_MEASURES, from_trec_eval
from scorecube.ingest.one_run import Record, ScoreReader
from scorecube.ingest.roles import TOPIC_HEADERS

LINE = "measure topic value"
RUNID, ALL = "runid", "all"
BEFORE_9 = (
    (re.compile(r"(P|recall)([1-9]\d*)"), r"\1_\2"),
    (re.compile(r"ircl_prn\.(\d\.\d+)"), r"iprec_at_recall_\1"),
    (re.compile(r"R-prec"), "Rprec"),
)
"""Names of measures up to version 8 -> since version 9."""


def _detect(head: FileHead) -> bool:
    if any(fields[:2] == [RUNID, ALL] for fields in head.fields):
        return True
    word = head.fields[0][0].lower()
    return word not in TOPIC_HEADERS and all(_is_line(fields) for fields in head.fields[:2])


def _is_line(fields: list[str]) -> bool:
    return len(fields) == 3 and not is_score(fields[0]) and is_score(fields[2])


def _parse(path: PathLike) -> Iterator[Record]:
    text = read_text(path)
    run = ""
    for line, fields in fields_of(text):
        name = " ".join(fields[2:]) if _is_name(fields) else run
        if run not in ("", name):
            raise BadInput(
                f"a second run, {name!r} after {run!r}; one file holds one run", path, line
            )
        run = name
    for line, fields in fields_of(text):
        if _is_name(fields):
            continue
        if len(fields) != 3:
            raise BadInput(
                f"{counted(len(fields), 'field')}; a line of trec_eval -q has 3: {LINE}", path, line
            )
        measure, topic, value = fields
        yield line, run, topic, measure, value


def _is_name(fields: list[str]) -> bool:
    return fields[0] == RUNID and len(fields) >= 3


def _label(measure: str) -> str:
    renamed = (shape.sub(new, measure) for shape, new in BEFORE_9 if shape.fullmatch(measure))
    return from_trec_eval(next(renamed, measure))


TREC_EVAL = ScoreReader(
    parse=_parse,
    label=_label,
    extensions="txt|eval|out|trec_eval",
    counts=NO_MEASURES,
    summary=ALL,
    only_means="only means over all topics; run trec_eval with -q to get scores of topics",
)
FORMAT = Format("trec_eval", BUILT_IN["trec_eval"].about, _detect, TREC_EVAL.read)
