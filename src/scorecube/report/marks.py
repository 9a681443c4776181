"""Marks of what papers print in boldface."""

from __future__ import annotations

import re

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
