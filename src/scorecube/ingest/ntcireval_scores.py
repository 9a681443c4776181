"""Output of NTCIREVAL: one .nev file a run, lines of topic, measure with an equals sign, and value."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scorecube.errors import BadInput
from scorecube.ingest.delimited import fields_of, read_text
from scorecube.ingest.files import PathLike
from scorecube.ingest.formats import BUILT_IN, FileHead, Format
from scorecube.ingest.one_run import Record, ScoreReader

LINE = "topic measure= value"
NAMES = {
    "Q-measure": "Q",
    "O-measure": "O",
    "P-plus": "P+",
    "QMeasure": "Q",
    "OMeasure": "O",
    "PMeasure": "P-measure",
    "PPlusMeasure": "P+",
}
"""Measures of NTCIREVAL, then those of pyNTCIREVAL where they differ -> names here."""
CUT = {"MSnDCG": "nDCG", "nDCG": "nDCG(b=2)", "QMeasure": "Q", "Precision": "P"} | {
    name: name for name in ("AP", "Q", "P", "RBP", "ERR", "nERR", "Hit")
}
"""Measures with a cut-off. NTCIREVAL's nDCG discounts by its option -logb, 2 by default; its MSnDCG is nDCG here."""


def from_ntcireval(measure: str) -> str:
    """Return the name here of a measure of NTCIREVAL, or the measure itself if there is none.

    Examples
    --------
    >>> [from_ntcireval(name) for name in ("AP", "Q-measure", "P-plus", "MSnDCG@0010", "nDCG@1000", "nERR@0010", "GAP")]
    ['AP', 'Q', 'P+', 'nDCG@10', 'nDCG(b=2)@1000', 'nERR@10', 'GAP']
    """
    cut = re.fullmatch(r"(\w+)@0*([1-9]\d*)", measure)
    if cut and cut[1] in CUT:
        return f"{CUT[cut[1]]}@{cut[2]}"
    return NAMES.get(measure, measure)


def _is_comment(fields: list[str]) -> bool:
    """Return whether a line is a comment: ``# syslen=...``, alone or after the topic."""
    return any(field.startswith("#") for field in fields[:2])


def _is_line(fields: list[str]) -> bool:
    return len(fields) == 3 and fields[1].endswith("=") and len(fields[1]) > 1


def _detect(head: FileHead) -> bool:
    first = next((fields for fields in head.fields if not _is_comment(fields)), [])
    return _is_line(first)


def _records(path: PathLike) -> Iterator[Record]:
    for line, fields in fields_of(read_text(path)):
        if _is_comment(fields):
            continue
        if not _is_line(fields):
            raise BadInput(
                f"{' '.join(fields)[:60]!r} is not a line of NTCIREVAL; expected {LINE}", path, line
            )
        yield line, "", fields[0], fields[1].removesuffix("="), fields[2]


NEV = ScoreReader(_records, from_ntcireval, "nev")
FORMAT = Format("nev", BUILT_IN["nev"].about, _detect, NEV.read)
