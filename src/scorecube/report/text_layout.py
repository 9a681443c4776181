"""Tables that fit a terminal: equal columns become one line, headings are broken, labels shortened, columns moved into further parts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

GAP = 2
LEAST = 8
"""Columns that a shortened label keeps."""
CUT = "…"


def fit(
    columns: Sequence[str],
    body: Sequence[Sequence[str]],
    numeric: Sequence[bool],
    width: int,
    keys: Collection[str] = (),
    first: Sequence[str] = (),
) -> str:
    """Return a table as lines of at most `width` columns, if its narrowest column allows.

    Parameters
    ----------
    columns
        Headings.
    body
        Cells, by row.
    numeric
        Whether a column has numbers: these are right-aligned and never shortened.
    width
        Columns of the terminal.
    keys
        Columns of numbers that are labels of rows, too.
    first
        Columns that stand right behind the labels, in each part: those by which the rows are sorted.

    Returns
    -------
    text
        A line for the values that all rows share, then the table; where it is too wide still, in parts that repeat the labels that distinguish rows.

    Examples
    --------
    >>> print(fit(["gain", "metric", "required_difference"], [["auto", "AP", "0.05"], ["auto", "Q", "-"]], [False, False, True], 20))
    gain: auto
    <BLANKLINE>
    metric   required_
            difference
    ------  ----------
    AP            0.05
    Q                -
    """
    table = [[str(column), *(row[k] for row in body)] for k, column in enumerate(columns)]
    shared = (
        [] if len(body) < 2 else [k for k in range(len(columns)) if len(set(table[k][1:])) == 1]
    )
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
    for part in parts(own, labels, {k: narrowest(table[k], numeric[k]) for k in own}, width):
        if lines:
            lines.append("")
        lines += block([table[k] for k in part], [numeric[k] for k in part], width)
    return "\n".join(lines)


def naming(labels: Sequence[int], table: Sequence[Sequence[str]]) -> list[int]:
    """Return the labels that further parts repeat: without those, the last ones first, that are not needed to distinguish rows.

    Parameters
    ----------
    labels
        Positions of columns that may be labels.
    table
        Columns, each with its heading first.
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


def heading(text: str, width: int) -> list[str]:
    """Return a heading in lines, broken behind underscores where it is wider than the column."""
    lines = [""]
    for piece in text.replace("_", "_\0").split("\0"):
        if lines[-1] and len(lines[-1]) + len(piece) > width:
            lines.append("")
        lines[-1] += piece
    return lines


def widest_piece(text: str) -> int:
    """Return the width that a heading needs at least."""
    return max(map(len, heading(text, 1)))


def narrowest(column: Sequence[str], numeric: bool) -> int:
    """Return the width that a column needs at least."""
    cells = max(map(len, column[1:]), default=0)
    return max(widest_piece(column[0]), cells if numeric else min(cells, LEAST))


def parts(
    columns: Sequence[int], labels: Sequence[int], least: dict[int, int], width: int
) -> list[list[int]]:
    """Return the columns of each part of a table: all labels, and as many numbers as find room."""
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


def block(table: Sequence[Sequence[str]], numeric: Sequence[bool], width: int) -> list[str]:
    """Return one part of a table, its columns as wide as there is room for."""
    most = [max(map(len, column)) for column in table]
    widths = [narrowest(column, right) for column, right in zip(table, numeric, strict=True)]
    spare = width - sum(widths) - GAP * (len(widths) - 1)
    # Labels first: they lose letters, while headings only need one more line.
    for k in sorted(range(len(table)), key=lambda k: (numeric[k], most[k])):
        cells = max(map(len, table[k][1:]), default=0)
        wanted = most[k] if numeric[k] else max(cells, widths[k])
        extra = max(0, min(spare, wanted - widths[k]))
        if numeric[k] and extra < wanted - widths[k]:
            continue  # a heading of two lines needs no wider column
        widths[k] += extra
        spare -= extra
    heads = [heading(column[0], wide) for column, wide in zip(table, widths, strict=True)]
    deepest = max(map(len, heads))
    rows = [[head[k] if k < len(head) else "" for head in heads] for k in range(deepest)]
    rows.append(["-" * wide for wide in widths])
    rows += [
        [shorten(cell, wide) for cell, wide in zip(row, widths, strict=True)]
        for row in zip(*(column[1:] for column in table), strict=True)
    ]
    return [
        (" " * GAP)
        .join(
            cell.rjust(wide) if right else cell.ljust(wide)
            for cell, wide, right in zip(row, widths, numeric, strict=True)
        )
        .rstrip()
        for row in rows
    ]
