"""JSON as text for terminals and files."""

import json
import textwrap
from collections.abc import Collection, Sequence
from typing import Any

from scorecube.errors import CONTROL

GAP = 2
LEAST = 14
"""Columns that a shortened label keeps."""
CUT = "…"


def fit(
    table: Sequence[Sequence[str]],
    numeric: Sequence[bool],
    width: int,
    keys: Collection[str] = (),
    first: Sequence[str] = (),
) -> str:
    """Return a table as lines of at most `width` columns, if its narrowest column allows.

    table: Columns, each with its heading first.
    numeric: Whether a column has numbers: these are right-aligned and never shortened.
    width: Columns of the terminal.
    keys: Columns of numbers that are labels of rows, too.
    first: Columns that stand right behind the labels: those by which the rows are sorted.
    Returns text: A line for the values that all rows share, then the table, then the columns that are left out.

    Examples
    --------
    >>> print(fit([["gain", "auto", "auto"], ["metric", "AP", "Q"], ["share", "10%", "8%"], ["required", "0.05", "-"]], [False, False, True, True], 20))
    gain: auto
    <BLANKLINE>
    metric  share
    ------  -----
    AP        10%
    Q          8%
    left out: required;
    csv and json have
    them
    """
    columns = [heading for heading, *_ in table]
    body = len(table[0]) - 1 if table else 0
    shared = [k for k, (_, *cells) in enumerate(table) if body > 1 and len(set(cells)) == 1]
    if len(shared) == len(columns):
        shared = []
    lines = wrapped([f"{columns[k]}: {table[k][1]}" for k in shared], width)
    own = [k for k in range(len(columns)) if k not in shared]
    texts, conditions = ([k for k in own if numeric[k] == kind] for kind in (False, True))
    labels = naming([*texts, *(k for k in conditions if columns[k] in keys)], table) if body else []
    sorting = [k for k in own if k not in labels and columns[k] in first]
    if sorting:
        own = [*labels, *sorting, *(k for k in own if k not in labels and k not in sorting)]
        labels += sorting
    shown, *rest = within(own, labels, table, numeric, width)
    if lines:
        lines.append("")
    lines += block([table[k] for k in shown], [numeric[k] for k in shown], width)
    lines += left_out([columns[k] for part in rest for k in part if k not in labels], width)
    return "\n".join(lines)


def left_out(columns: Sequence[str], width: int) -> list[str]:
    """Return lines that say which columns are not shown; none where all are."""
    text = f"left out: {', '.join(columns)}; csv and json have them"
    return textwrap.wrap(text, width, break_on_hyphens=False) if columns else []


def naming(labels: Sequence[int], table: Sequence[Sequence[str]]) -> list[int]:
    """Return the labels that further parts repeat: without those, the last ones first, that are not needed to distinguish rows.

    labels: Positions of columns that may be labels.
    table: Columns, each with its heading first.
    """
    needed = list(labels)

    def n_rows(columns: Sequence[int]) -> int:
        return len(set(zip(*(table[k][1:] for k in columns), strict=True))) if columns else 0

    whole = n_rows(needed)
    for k in reversed(labels):
        others = [other for other in needed if other != k]
        if n_rows(others) == whole > 1:
            needed = others
    return needed


def wrapped(phrases: Sequence[str], width: int) -> list[str]:
    """Return phrases, joined by semicolons, as lines."""
    lines: list[str] = []
    for phrase in phrases:
        if lines and len(lines[-1]) + len(phrase) + 2 <= width:
            lines[-1] += "; " + phrase
        else:
            lines.append(phrase)
    return [shorten(line, width) for line in lines]


def narrowest(column: Sequence[str], numeric: bool) -> int:
    """Return the width that a column needs at least: headings are never broken."""
    return max(len(column[0]), least_cells(column, numeric))


def least_cells(column: Sequence[str], numeric: bool) -> int:
    """Return the width that the cells of a column need at least."""
    cells = max(map(len, column[1:]), default=0)
    return cells if numeric else min(cells, LEAST)


def within(
    columns: Sequence[int],
    labels: Sequence[int],
    table: Sequence[Sequence[str]],
    numeric: Sequence[bool],
    width: int,
) -> list[list[int]]:
    """Return the columns of each part of a table: all labels, and as many of the others, in their order, as have room."""
    least = {k: narrowest(table[k], numeric[k]) for k in columns}
    room = width - sum(least[k] + GAP for k in labels)
    found: list[list[int]] = [[]]
    taken = 0
    for k in (k for k in columns if k not in labels):
        if found[-1] and taken + least[k] > room:
            found.append([])
            taken = 0
        found[-1].append(k)
        taken += least[k] + GAP
    return [[k for k in columns if k in labels or k in part] for part in found]


def shorten(text: str, width: int) -> str:
    """Return a text of at most `width` letters: beginning and end, as labels differ in either.

    Examples
    --------
    >>> shorten("run_of_a_team_17", 10)
    'run_o…m_17'
    """
    if len(text) <= width:
        return text
    behind = (width - 1) // 2
    return text[: width - 1 - behind] + CUT + (text[-behind:] if behind else "")


def block(
    table: Sequence[Sequence[str]], numeric: Sequence[bool], width: int, *, rule: bool = True
) -> list[str]:
    """Return one part of a table, its labels as wide as there is room for; with a rule below its headings.

    Headings are shortened, the widest first, only where the labels and one number have no room otherwise, and have room then.
    """
    widths = [narrowest(column, right) for column, right in zip(table, numeric, strict=True)]
    least = [
        max(least_cells(column, right), min(len(column[0]), 8))  # a shortened heading
        for column, right in zip(table, numeric, strict=True)
    ]
    room = width - GAP * (len(widths) - 1)
    spare = room - sum(widths)
    for k in sorted(range(len(widths)), key=lambda k: least[k] - widths[k]):
        cut = max(0, min(-spare, widths[k] - least[k])) if sum(least) <= room else 0
        widths[k] -= cut
        spare += cut
    wanted = {k: max(map(len, table[k])) - widths[k] for k in range(len(table))}
    short = sorted((k for k in wanted if wanted[k]), key=wanted.__getitem__)
    for n, k in enumerate(short):
        extra = max(0, min(wanted[k], spare // (len(short) - n)))
        widths[k] += extra
        spare -= extra
    head, *body = zip(*table, strict=True)
    rows = [head, *([["-" * wide for wide in widths]] if rule else []), *body]
    return [
        (" " * GAP)
        .join(
            (str.rjust if right else str.ljust)(shorten(cell, wide), wide)
            for cell, wide, right in zip(row, widths, numeric, strict=True)
        )
        .rstrip()
        for row in rows
    ]


def as_json(value: Any) -> str:
    """Return JSON in which control characters stand as escapes, which readers turn back."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    return CONTROL.sub(
        lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text
    )
