"""Which columns of a table have room, and which are the same in all rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pandas as pd

from scorecube import names
from scorecube.analyses.frames import ANY_GAIN, IN_BRIEF, KEYS, trait
from scorecube.analyses.printed import AS_PRINTED
from scorecube.declare.numbers import NONE
from scorecube.report.readable import LEAST, Cells

LABEL = "label"
"""Column with the metric, and its gain setting where there are several."""
SAYS_NOTHING = (names.AUTO, ANY_GAIN, NONE, "", "True", "False")
"""Values that are not printed where all rows have them."""
IDENTITY = (
    *(*KEYS, LABEL, "rank", "run", "run_a", "run_b"),
    *("metric_a", "metric_b", "judge", "topic", "trials"),
)
"""Columns that tell rows apart, beside conditions, and the number of trials."""
MOST_IN_LATEX = 6
"""Columns where none are chosen."""


def constants(frame: pd.DataFrame) -> set[str]:
    """Return the names of keys and conditions that are the same in all rows."""
    roles = trait(frame, "role")
    conditions = [name for name in frame if roles.get(str(name)) in ("condition", "flag")]
    among = {*KEYS, *conditions, *(frame.attrs.get(AS_PRINTED) or ())} & {*frame.columns}
    return {str(name) for name in among if frame[name].nunique() < 2}


def without_constants(
    cells: Cells, frame: pd.DataFrame, layout: Mapping[str, Sequence[str]]
) -> tuple[str, Cells]:
    """Return a table without columns that are the same in all rows, and a line with these."""
    sizes = [name for name in map(str, frame) if name in IDENTITY or name.startswith("n_")]
    constant = constants(frame).union(name for name in sizes if frame[name].nunique() < 2)
    alike = [name for name, parts in layout.items() if len(parts) == 1 and parts[0] in constant]
    printed = [name for name in alike if cells.columns[name][0] not in SAYS_NOTHING]
    title = ", ".join(f"{name} {cells.columns[name][0]}" for name in printed)
    title += "\n\n" if title else ""
    return title, cells.only(cells.columns.keys() - {*alike, *needless(frame, layout, cells)})


def most_telling(
    headings: Sequence[str], frame: pd.DataFrame, layout: Mapping[str, Sequence[str]], cells: Cells
) -> list[str]:
    """Return as many columns as LaTeX has: first keys that differ and what terminals show."""
    roles = trait(frame, "role")
    in_brief = frame.attrs.get(IN_BRIEF, ())

    def place(heading: str) -> int:
        column = layout[heading][0]
        differs = len({*cells.columns[heading]}) > 1
        if differs and (column in KEYS or column in in_brief):
            return 0
        if roles.get(column) in ("estimate", "p_value"):
            return 1
        return 2 if differs else 3

    chosen = sorted(headings, key=place)[:MOST_IN_LATEX]
    return [heading for heading in headings if heading in chosen]


def needless(frame: pd.DataFrame, layout: Mapping[str, Sequence[str]], cells: Cells) -> set[str]:
    """Return headings of columns without a value, and of teams that are their runs."""
    dropped = {name for name, texts in cells.columns.items() if not {*texts} - {"", "-"}}
    if names.TEAM in frame and frame[names.TEAM].equals(frame[names.RUN]):
        dropped |= {name for name, parts in layout.items() if parts[0] == names.TEAM}
    return dropped


def left_out(headings: Sequence[str]) -> str:
    """Return a line that names columns without room; empty for none."""
    return f"left out: {', '.join(headings)}; --format csv and json have them" if headings else ""


def telling(frame: pd.DataFrame, layout: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the headings of what tells rows apart, and of estimates with limits."""
    roles = trait(frame, "role")
    keys = {name for name in frame if name in IDENTITY or roles.get(str(name)) == "condition"}
    varied = {name for name in (keys if roles else frame.columns) if frame[name].nunique() > 1}
    of_rows = [heading for heading, parts in layout.items() if parts[0] in varied]
    of_rows += [heading for heading, parts in layout.items() if len(parts) > 1]
    return list(dict.fromkeys([*of_rows, "verdict"]))


def fitted(cells: Cells, width: int, first: Collection[str]) -> tuple[Cells, list[str]]:
    """Return as many columns as have room, and the headings of the others.

    Others go before labels are cut to less than two fifths of the terminal.

    first: Headings that have room before all others.
    """
    kept = list[str]()
    room = width + 2

    def least(name: str, most_letters: int) -> int:
        longest = max(map(len, cells.columns[name]), default=0)
        return max(len(name), longest if name in cells.numeric else min(longest, most_letters)) + 2

    def place(name: str) -> tuple[bool, bool, bool]:
        return name not in first, len({*cells.columns[name]}) < 2, name not in cells.numeric

    most = max(LEAST, 2 * width // 5)
    while (
        most > LEAST and sum(least(name, most) for name in {*first} & {*cells.columns}) > width + 2
    ):
        most -= 1
    for name in sorted(cells.columns, key=place):
        taken = least(name, most)
        if taken <= room or not kept:
            kept.append(name)
            room -= taken
    return cells.only(kept), [name for name in cells.columns if name not in kept]
