"""Output of NTCIREVAL: one .nev file a run, lines of topic, measure with an equals sign, and value."""

from __future__ import annotations

import re
from collections.abc import Iterable

from scorecube.errors import BadInput
from scorecube.ingest.delimited import read_fields, score
from scorecube.ingest.files import PathLike, bare_name
from scorecube.ingest.in_memory import Matrices
from scorecube.ingest.one_run import Scores, gather

LINE = "topic measure= value"
NAMES = {
    "Q-measure": "Q", "O-measure": "O", "P-plus": "P+",
    "QMeasure": "Q", "OMeasure": "O", "PMeasure": "P-measure", "PPlusMeasure": "P+",
}  # fmt: skip
"""Names of NTCIREVAL, then those of pyNTCIREVAL where they differ."""
CUT = {"MSnDCG": "nDCG", "nDCG": "nDCG(b=2)", "QMeasure": "Q", "Precision": "P"} | {
    name: name for name in ("AP", "Q", "P", "RBP", "ERR", "nERR", "Hit")
}
"""Measures with a cut-off; NTCIREVAL's own nDCG discounts by its -logb, 2 by default, its MSnDCG is our nDCG."""


def from_ntcireval(measure: str) -> str:
    """Return our name of a measure of NTCIREVAL, or its own where we have none.

    Examples
    --------
    >>> [from_ntcireval(name) for name in ("AP", "Q-measure", "P-plus", "MSnDCG@0010", "nDCG@1000", "nERR@0010", "GAP")]
    ['AP', 'Q', 'P+', 'nDCG@10', 'nDCG(b=2)@1000', 'nERR@10', 'GAP']
    """
    cut = re.fullmatch(r"(\w+)@0*([1-9]\d*)", measure)
    if cut and cut[1] in CUT:
        return f"{CUT[cut[1]]}@{cut[2]}"
    return NAMES.get(measure, measure)


def read_nev(paths: Iterable[PathLike], metric: str | None = None) -> Matrices:
    """Read what NTCIREVAL printed, one file a run.

    Parameters
    ----------
    paths
        A file for each run, called <run>.nev.
    metric
        The only measure to take, by our name or NTCIREVAL's.

    Returns
    -------
    matrices
        Metric -> runs x topics, NaN for missing; measures have our names where they mean the same.

    Raises
    ------
    BadInput
        Naming file and line: a line that is neither a comment nor topic, measure and value, a value that is no number,
        a measure twice on a topic; two files of one run, no such measure.
    """
    return gather((path, bare_name(path).removesuffix(".nev"), _read_one(path, metric)) for path in paths)


def is_comment(fields: list[str]) -> bool:
    """Whether a line is a comment: ``# syslen=...``, alone or behind the topic."""
    return any(field.startswith("#") for field in fields[:2])


def is_line(fields: list[str]) -> bool:
    """Whether a line has the form of topic, measure and value."""
    return len(fields) == 3 and fields[1].endswith("=") and len(fields[1]) > 1


def _read_one(path: PathLike, metric: str | None) -> Scores:
    scores = Scores(path)
    for line, fields in read_fields(path):
        if is_comment(fields):
            continue
        if not is_line(fields):
            raise BadInput(f"{' '.join(fields)[:60]!r} is no line of NTCIREVAL: {LINE}", path, line)
        topic, measure = fields[0], fields[1].removesuffix("=")
        label = from_ntcireval(measure)
        if metric is not None and metric not in (measure, label):
            scores.pass_over(label)
            continue
        scores.add(label, topic, score(fields[2], path, line), line)
    return scores.complete(metric)
