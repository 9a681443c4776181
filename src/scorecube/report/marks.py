"""Marks of what papers print in boldface."""

from __future__ import annotations

import re

import pandas as pd

from scorecube.analyses.printed import MARKS
from scorecube.errors import BadPlan, option
from scorecube.report.readable import Cells

FIRST = "\N{MATHEMATICAL LEFT WHITE SQUARE BRACKET}"
LAST = "\N{MATHEMATICAL RIGHT WHITE SQUARE BRACKET}"
STAR = "\N{SIX POINTED BLACK STAR}"
SIGNS = {
    "latex": {FIRST: r"\textbf{", LAST: "}", STAR: r"\textsuperscript{*}"},
    "markdown": {FIRST: "**", LAST: "**", STAR: r"\*"},
}
"""Signs of marks while other letters are escaped, and the commands in their place."""
NUMBER = re.compile(r"-?\d*\.\d+")


def check_marks(frame: pd.DataFrame, mark: str) -> None:
    """Refuse marks of a table without any (BadPlan)."""
    if MARKS not in frame.attrs:
        raise BadPlan(
            f"{option('mark', mark)}: tables with boldface in a paper have marks: those of "
            "correlate that papers have, and its triangle",
            option="mark",
        )


def written(text: str, form: str) -> str:
    """Return a table in LaTeX or Markdown with the commands of marks in place of their signs."""
    for sign, command in SIGNS[form].items():
        text = text.replace(sign, command)
    return text


def with_marks(cells: Cells, above: float, form: str, mark: str) -> Cells:
    """Return cells with marks at numbers above one, and in place of stars behind texts."""
    first, last = (FIRST, LAST) if form in SIGNS else ("**", "**")

    def marked_cell(text: str) -> str:
        plain = text.removesuffix("*")
        is_marked = plain != text or (NUMBER.fullmatch(text) is not None and float(text) > above)
        if not is_marked:
            return text
        if mark == "bold":
            return f"{first}{plain}{last}"
        return f"{plain}{STAR if form in SIGNS else '*'}"

    columns = {name: list(map(marked_cell, texts)) for name, texts in cells.columns.items()}
    return cells._replace(columns=columns)
