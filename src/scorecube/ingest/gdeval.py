"""Output of TREC's gdeval and ndeval: CSV with the columns runid and topic and one for each measure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from scorecube.errors import BadInput
from scorecube.ingest.delimited import read_rows, score
from scorecube.ingest.files import PathLike
from scorecube.ingest.in_memory import NDEVAL, Matrices, from_gdeval, from_ndeval, matrices_of

GDEVAL_TOOL, NDEVAL_TOOL = "gdeval", "ndeval"
LABELS = ["runid", "topic"]
MEAN = "amean"
SHAPES = {GDEVAL_TOOL: re.compile(r"(ndcg|err)@[1-9]\d*"), NDEVAL_TOOL: NDEVAL}
NAMES = {GDEVAL_TOOL: from_gdeval, NDEVAL_TOOL: from_ndeval}
EXAMPLES = {GDEVAL_TOOL: "ndcg@20, err@20", NDEVAL_TOOL: "ERR-IA@20, alpha-nDCG@20, NRBP, strec@20"}
BASELINE = re.compile(r".* \(rel to\. .*\)")
"""What both tools, called with -baseline, print as the run's name; the numbers are then differences."""
Nested = dict[str, dict[str, dict[str, float]]]


def tool_of(header: list[str]) -> str | None:
    """Return the tool whose header this is, None for none of them.

    Examples
    --------
    >>> tool_of(["runid", "topic", "ndcg@20", "err@20"]), tool_of(["runid", "topic", "NRBP"]), tool_of(["runid", "topic", "AP"])
    ('gdeval', 'ndeval', None)
    """
    if header[:2] != LABELS or len(header) < 3:
        return None
    return next((tool for tool, shape in SHAPES.items() if all(map(shape.fullmatch, header[2:]))), None)


def read_gdeval(paths: Iterable[PathLike], metric: str | None = None, *, tool: str = GDEVAL_TOOL) -> Matrices:
    """Read what gdeval.pl or ndeval printed; several files are read as one.

    Parameters
    ----------
    paths
        Files of one or more runs; one run may have several files with other cut-offs. Means (``amean``) are passed over.
    metric
        The only measure to take, by our name or the tool's.
    tool
        ``gdeval`` or ``ndeval``.

    Returns
    -------
    matrices
        Metric -> runs x topics, NaN for missing.

    Raises
    ------
    BadInput
        Naming file and line: another header, a line of another length, an empty run or topic, a score that is no
        number, a second score of one run, topic and measure, differences to a baseline; means without topics.
    """
    nested: Nested = {}
    others: set[str] = set()
    first = ""
    for path in paths:
        first = first or str(path)
        _read_one(path, metric, tool, nested, others)
    if not nested:
        raise BadInput(f"no scores of {metric} in it; there are {', '.join(sorted(others))}", first)
    return matrices_of(nested)


def _read_one(path: PathLike, metric: str | None, tool: str, nested: Nested, others: set[str]) -> None:
    rows = read_rows(path)
    header = _header(rows[0][1], tool, path, rows[0][0])
    topics = 0
    for line, cells in rows[1:]:
        if cells[:2] == LABELS:  # the next run of a concatenation
            header = _header(cells, tool, path, line)
            continue
        # The name of a run that was compared with a baseline has commas in it, and no quotes around it.
        if BASELINE.fullmatch(",".join(cells[: len(cells) - len(header) + 1])):
            raise BadInput(
                f"differences to a baseline, not scores; run {tool} without -baseline and -riskAlpha", path, line
            )
        if len(cells) != len(header):
            raise BadInput(f"{len(cells)} cells, the header has {len(header)}", path, line)
        run, topic = cells[:2]
        if not run or not topic:
            raise BadInput(f"the {'run' if not run else 'topic'} is missing", path, line)
        topics += topic != MEAN
        for theirs, cell in zip(header[2:], cells[2:], strict=True):
            value, label = score(cell, path, line), NAMES[tool](theirs)
            if topic == MEAN:
                continue
            if metric not in (None, theirs, label):
                others.add(label)
                continue
            row = nested.setdefault(label, {}).setdefault(run, {})
            if topic in row:
                raise BadInput(f"a second score of {label} for run {run!r} on topic {topic!r}", path, line)
            row[topic] = value
    if not topics:
        raise BadInput(f"no scores of topics in it, only means ({MEAN}) or nothing; judge and run share no topic", path)


def _header(cells: list[str], tool: str, path: PathLike, line: int) -> list[str]:
    if cells[:2] != LABELS or len(cells) < 3:
        raise BadInput(f"the header of {tool} is runid,topic and measures; found {','.join(cells)[:60]}", path, line)
    for at, measure in enumerate(cells[2:], 3):
        if not SHAPES[tool].fullmatch(measure):
            raise BadInput(f"column {at} is {measure!r}, no measure of {tool}; it has {EXAMPLES[tool]}", path, line)
        if measure in cells[2 : at - 1]:
            raise BadInput(f"two columns are called {measure}", path, line)
    return cells
