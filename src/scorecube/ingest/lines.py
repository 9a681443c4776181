"""Lines of run files and judgements: their fields, and the numbers and labels in these."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from scorecube.collection.judgements import LONG, SPARE, Texts
from scorecube.errors import BadInput
from scorecube.ingest.files import PathLike, read_bytes, refuse_unprintable

NEWLINE = 10
IS_BLANK = np.zeros(256, bool)
IS_BLANK[[9, 10, 11, 12, 13, 32]] = True


def field_lines(path: PathLike, *, may_be_empty: bool = False) -> Iterator[tuple[int, list[bytes]]]:
    """Yield line numbers and fields between blanks; comments (#, <SYSDESC>) are left out."""
    content = content_of(path, may_be_empty=may_be_empty)
    for number, line in enumerate(content.split(b"\n"), 1):
        fields = line.split()
        if fields and not fields[0].startswith((b"#", b"<SYSDESC>")):
            yield number, fields


def content_of(path: PathLike, *, may_be_empty: bool = False) -> bytes:
    """Return the content of a file of lines (BadInput for one that is no text)."""
    content = read_bytes(path, may_be_empty=may_be_empty)
    return content if b"\n" in content else content.replace(b"\r", b"\n")


def split_lines(content: bytes, width: int) -> list[Texts] | None:
    """Return the fields of lines by column; None unless all have as many fields."""
    text = np.frombuffer(content, np.uint8)
    edges = np.flatnonzero(np.diff(IS_BLANK[text], prepend=True, append=True))
    starts, stops = edges[0::2], edges[1::2]
    lines = np.flatnonzero(text == NEWLINE)
    n_lines, rest = divmod(len(starts), width)
    if rest or not n_lines or len(lines) not in (n_lines, n_lines - 1):
        return None
    starts, stops = starts.reshape(n_lines, width), stops.reshape(n_lines, width)
    first, last = (np.searchsorted(lines, starts[:, k]) for k in (0, -1))
    if (first != np.arange(n_lines)).any() or (last != first).any():
        return None
    whole = content + bytes(SPARE)
    return [Texts(whole, starts[:, k].copy(), stops[:, k].copy()) for k in range(width)]


def decimals(fields: Texts, what: str, path: PathLike) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the numbers in fields, a line each (BadInput for what is none); see `finish`."""
    longest = int((fields.stops - fields.starts).max())
    if longest <= LONG:
        texts = np.stack([fields.words(k) for k in range(-(-longest // 8))], axis=1).view(np.uint8)
        with suppress(ValueError):
            values = texts.view(f"S{texts.shape[1]}").ravel().astype(np.float64)
            # Python reads 1_0, and trec_eval does not.
            if np.isfinite(values).all() and not (texts == ord("_")).any():
                return values
    numbers = range(1, len(fields) + 1)
    return finish([*fields], what, path, numbers, is_finite=what == "rank")


def numbered_topics(
    topics: Sequence[bytes], path: PathLike, numbers: Sequence[int]
) -> tuple[list[str], np.ndarray[Any, np.dtype[np.int32]]]:
    """Return topics in order of first appearance, and the index of each line's topic."""
    first = dict(zip(reversed(topics), reversed(numbers), strict=True))
    number_of = {topic: k for k, topic in enumerate(dict.fromkeys(topics))}
    labels = [label_text(topic, "topic", path, first[topic]) for topic in number_of]
    return labels, np.fromiter(map(number_of.__getitem__, topics), np.int32, len(topics))


def finish(
    values: Sequence[Any],
    what: str,
    path: PathLike,
    numbers: Sequence[int],
    *,
    is_finite: bool = False,
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return numbers as trec_eval reads them (BadInput for others and NaN)."""
    result = np.empty(len(values))
    for k, (value, line) in enumerate(zip(values, numbers, strict=True)):
        number = number_in(value)
        if number is None or (is_finite and math.isinf(number)):
            raise BadInput(f"{what} {shown(value)!r} is not a number", path, line)
        result[k] = number
    return result


def number_in(value: Any) -> float | None:
    """Return the number in a field or an object; None for other content."""
    text = shown(value) if isinstance(value, bytes | str) else value
    if isinstance(text, str) and (not text.isascii() or "_" in text):
        return None
    try:
        number = float(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number


def shown(value: Any) -> str:
    """Return a field as text, for messages."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def label_text(label: bytes, what: str, path: PathLike, line: int | None = None) -> str:
    """Decode the name of a run or a topic (BadInput for what is no text)."""
    try:
        text = label.decode("utf-8")
    except UnicodeDecodeError:
        problem = f"the {what} {label.decode('latin-1')!r} is not in UTF-8; save the file as UTF-8"
        raise BadInput(problem, path, line) from None
    refuse_unprintable(text, what, path, line)
    return text
