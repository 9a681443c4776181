"""Output of trec_eval -o -q, the form of early versions: one file a run, a block of lines for each topic."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from scorecube.errors import BadInput
from scorecube.ingest.delimited import lines_of
from scorecube.ingest.files import PathLike
from scorecube.ingest.one_run import Record
from scorecube.metrics.registry import whole_number

BEGINNING = "Queryid (Num):"
ALL = "all"
COUNTS = {"Retrieved:": "num_ret", "Relevant:": "num_rel", "Rel_ret:": "num_rel_ret"}
SECTIONS = {
    "Total number of documents": ("num", re.compile(r"(Retrieved:|Relevant:|Rel_ret:)\s*(\S+)")),
    "Interpolated Recall": ("iprec_at_recall", re.compile(r"at\s+(\d\.\d+)\s+(\S+)")),
    "Average precision": ("map", re.compile(r"()(\S+)")),
    "Precision:": ("P", AT_RANK := re.compile(r"At\s+(\d+)\s+docs:\s*(\S+)")),
    "Recall:": ("recall", AT_RANK),
    "R-Precision": ("Rprec", re.compile(r"(Exact:)\s*(\S+)")),
}
"""First words of a line above numbers -> kind of these numbers, and the shape of a line with one."""
Section = tuple[str, re.Pattern[str]]


@dataclass
class Block:
    """Numbers of one topic, or of all topics in the last block: measure -> (text, line)."""

    topic: str
    line: int
    values: dict[str, tuple[str, int]] = field(default_factory=dict)


def is_old(lines: Iterable[str]) -> bool:
    """Return whether lines are of this form."""
    return any(line.startswith(BEGINNING) for line in lines)


def old_records(text: str, path: PathLike) -> Iterator[Record]:
    """Yield the records of one run; measures have the names of later versions of trec_eval.

    Raises BadInput: Naming file and line: a line of another form, a topic twice, a block without average precision; a
        single block, which may be of a topic or of all topics.
    """
    for block in _without_summary(_blocks(text, path), path):
        if "map" not in block.values:
            raise BadInput(
                f"the block of topic {block.topic!r} has no average precision; it is cut off",
                path,
                block.line,
            )
        for measure, (value, line) in block.values.items():
            yield line, "", block.topic, measure, value


def _blocks(text: str, path: PathLike) -> list[Block]:
    blocks: list[Block] = []
    section: Section | None = None
    for number, line in enumerate(lines_of(text), 1):
        content = line.strip()
        if content.startswith(BEGINNING):
            topic = content.removeprefix(BEGINNING).strip()
            if not topic:
                raise BadInput("the topic is missing", path, number)
            blocks.append(Block(topic, number))
            section = None
            continue
        heading = next(
            (found for words, found in SECTIONS.items() if content.startswith(words)), None
        )
        if heading is not None:
            section = heading
        elif content:
            found = _measure(*section, content) if blocks and section else None
            if found is None:
                raise BadInput(f"{content[:60]!r} is not a line of trec_eval -o", path, number)
            measure, value = found
            if measure in blocks[-1].values:
                raise BadInput(
                    f"a second value of {measure} on topic {blocks[-1].topic!r}", path, number
                )
            blocks[-1].values[measure] = (value, number)
    return blocks


def _measure(kind: str, shape: re.Pattern[str], content: str) -> tuple[str, str] | None:
    """Return the measure, by its name in later versions, and the value in a line."""
    found = shape.fullmatch(content)
    if found is None:
        return None
    if kind == "num":
        return COUNTS[found[1]], found[2]
    return (kind if kind in ("map", "Rprec") else f"{kind}_{found[1]}"), found[2]


def _without_summary(blocks: list[Block], path: PathLike) -> list[Block]:
    """Leave out the block of all topics, whose label is All or, before version 7, the number of topics."""
    topics = [block for block in blocks if block.topic.lower() != ALL]
    if not topics:
        raise BadInput(
            "only means over all topics; run trec_eval with -q to get scores of topics", path
        )
    if len(topics) < len(blocks):
        return topics
    if len(blocks) == 1:
        raise BadInput(
            f"only one block, called {blocks[0].topic!r}: scores of this topic, or means over this number of topics; "
            "run trec_eval with -q",
            path,
            blocks[0].line,
        )
    *before, last = topics
    is_sum = all(
        _count(last, name) == sum(_count(block, name) for block in before)
        for name in COUNTS.values()
    )
    return before if is_sum and last.topic == str(len(before)) else topics


def _count(block: Block, name: str) -> int:
    text = block.values.get(name, ("", 0))[0]
    number = whole_number(text, 10**12)
    return -1 if number is None else number
