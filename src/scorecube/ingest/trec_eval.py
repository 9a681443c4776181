"""Output of trec_eval -q: one file a run, lines of measure, topic and value."""

from __future__ import annotations

import re
from collections.abc import Iterable

from scorecube.errors import BadInput
from scorecube.ingest.delimited import fields_of, read_text, score
from scorecube.ingest.files import PathLike, bare_name
from scorecube.ingest.in_memory import NO_MEASURES, Matrices, from_trec_eval
from scorecube.ingest.one_run import Scores, gather
from scorecube.ingest.trec_eval_o import is_old, read_old

LINE = "measure topic value"
RUNID, ALL = "runid", "all"
BEFORE_9 = (
    (re.compile(r"(P|recall)([1-9]\d*)"), r"\1_\2"),
    (re.compile(r"ircl_prn\.(\d\.\d+)"), r"iprec_at_recall_\1"),
    (re.compile(r"R-prec"), "Rprec"),
)
"""Names of measures up to version 8 -> since."""


def read_trec_eval(paths: Iterable[PathLike], metric: str | None = None) -> Matrices:
    """Read what ``trec_eval -q`` printed, one file a run; also with ``-o``, see `read_old`.

    Parameters
    ----------
    paths
        A file for each run; the ``runid`` line names it, else the file name does (without .txt, .eval, .out, .trec_eval).
    metric
        The only measure to take, by our name or trec_eval's. Counts, gm_ measures and infAP are taken only so.

    Returns
    -------
    matrices
        Metric -> runs x topics, NaN for missing; measures have our names where they mean the same.

    Raises
    ------
    BadInput
        Naming file and line: a line that is not measure, topic and value, a value that is no number, a measure twice
        on a topic, two run names in a file; two files of one run, means without topics, no such measure.
    """
    return gather((path, *_read_one(path, metric)) for path in paths)


def _read_one(path: PathLike, metric: str | None) -> tuple[str, Scores]:
    text = read_text(path)
    if is_old(text):
        return _name_of(path), read_old(text, path, metric).complete(metric)
    run, scores = "", Scores(path)
    means = False
    for line, fields in fields_of(text):
        if fields[0] == RUNID and len(fields) >= 3:
            name = " ".join(fields[2:])
            if run not in ("", name):
                raise BadInput(f"a second run, {name!r} after {run!r}; one file holds one run", path, line)
            run = name
            continue
        if len(fields) != 3:
            raise BadInput(f"{len(fields)} fields; a line of trec_eval -q has 3: {LINE}", path, line)
        measure, topic, number = fields
        if topic == ALL:
            means = True
            if not measure.startswith("relstring"):
                score(number, path, line)
            continue
        label = from_trec_eval(_of_version_9(measure))
        if metric not in (measure, label) if metric is not None else NO_MEASURES.fullmatch(measure):
            scores.pass_over(label)
            continue
        scores.add(label, topic, score(number, path, line), line)
    if means and not scores.found and not scores.others:
        raise BadInput("only means over all topics; run trec_eval with -q to get scores of topics", path)
    return run or _name_of(path), scores.complete(metric)


def _of_version_9(measure: str) -> str:
    return next((shape.sub(new, measure) for shape, new in BEFORE_9 if shape.fullmatch(measure)), measure)


def _name_of(path: PathLike) -> str:
    return re.sub(r"\.(txt|eval|out|trec_eval)$", "", bare_name(path))
