"""Tables in Markdown and LaTeX, in which marks of these languages are escaped."""

from __future__ import annotations

import re
from typing import Literal

import pandas as pd

from scorecube.report.readable import TO, Cells, aligned

Fit = Literal["column", "page"]
LETTERS = {"column": 50, "page": 108}
"""Of small type in a column of 8.4 cm, and in the width of the page."""
BESIDE = 2.6
"""Letters that the space beside a column would hold."""
LATEX = {letter: "\\" + letter for letter in "_%&#${}"} | {
    "^": r"\^{}",
    "~": r"\~{}",
    "\\": r"\textbackslash{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "[": "{[}",
    "*": "{*}",
    "†": r"\textsuperscript{\dag}",
    "‡": r"\textsuperscript{\ddag}",
    TO: "--",
}
SYMBOLS = {
    "tau": r"$\tau$",
    "tau b": r"$\tau_b$",
    "tau_AP": r"$\tau_{AP}$",
    "E rho²": r"$E\rho^2$",
    "Phi": r"$\Phi$",
}
"""Headings in LaTeX as papers print them."""
LONGEST_HEADING = 16
"""Letters of a heading in LaTeX that has one line."""
MARKDOWN = re.compile(r"[\\`*\[\]<>|~]|&(?=#?\w+;)|\$(?=.*\$)|(?<!\w)_|_(?!\w)")
"""Marks of Markdown: an ampersand begins a character's name, dollars come in pairs."""
MINUS = re.compile(r"(?<![\w.-])-(?=[\d.])")


def _escaped(cells: Cells, form: str) -> Cells:
    """Return a table in which marks of a format are escaped."""
    columns = dict[str, list[str]]()
    numeric = set[str]()
    for name, texts in cells.columns.items():
        made = [marked(text, form) for text in texts]
        heading = _in_latex(name) if form == "latex" else marked(name, form).ljust(3)
        if name in cells.numeric:
            numeric.add(heading)
            made = [MINUS.sub("$-$", text) for text in made] if form == "latex" else made
        columns[heading] = made
    return Cells(columns, frozenset(numeric))


def _in_latex(heading: str) -> str:
    """Return a heading as papers print it, a long one in two lines."""
    if heading in SYMBOLS:
        return SYMBOLS[heading]
    return r" \\ ".join(marked(line, "latex") for line in _lines(heading))


def _lines(heading: str) -> list[str]:
    """Return a heading in one line, or cut at the space that is nearest to its middle.

    >>> _lines("share of comparisons")
    ['share of', 'comparisons']
    """
    spaces = [found.start() for found in re.finditer(" ", heading)]
    if len(heading) <= LONGEST_HEADING or not spaces:
        return [heading]
    middle = min(spaces, key=lambda at: abs(at - len(heading) / 2))
    return [heading[:middle], heading[middle + 1 :]]


def in_markdown(cells: Cells, caption: str) -> str:
    """Return a table in Markdown, below its caption."""
    lines = aligned(_escaped(cells, "markdown"), rule=":", gap=" | ")
    wide = max(map(len, lines))
    return "\n".join(
        [*([caption, ""] if caption else []), *(f"| {line:{wide}} |" for line in lines)]
    )


def in_latex(cells: Cells, caption: str, fit: Fit | None) -> str:
    """Return a table in LaTeX: a float with its caption, or, without one, what stands in it.

    A table that is wider than its place is made smaller, by the package graphicx.
    """
    spec = "".join("r" if name in cells.numeric else "l" for name in cells.columns)
    escaped = _escaped(cells, "latex")
    stacked = {
        name: rf"\shortstack[{place}]{{{name}}}"
        for name, place in zip(escaped.columns, spec, strict=True)
        if r"\\" in name
    }
    text = (
        pd.DataFrame(escaped.columns)
        .rename(columns=stacked)
        .style.hide(axis="index")
        .to_latex(column_format=spec, hrules=True)
        .replace(f"{{{spec}}}", f"{{{spec}}} % \\usepackage{{booktabs}}", 1)
        .rstrip()
    )
    longest = [max(map(len, [*_lines(name), *texts])) for name, texts in cells.columns.items()]
    if fit is not None and sum(longest) + BESIDE * len(longest) > LETTERS[fit]:
        text = text.replace("{booktabs}", "{booktabs,graphicx}", 1)
        text = f"\\resizebox{{\\linewidth}}{{!}}{{%\n{text}}}"
    if not caption:
        return text
    float_of = "table*" if fit == "page" else "table"
    size = [] if fit is None else [r"\small"]
    above = [rf"\begin{{{float_of}}}", r"\centering", *size, rf"\caption{{{caption}}}"]
    return "\n".join([*above, text, rf"\end{{{float_of}}}"])


def marked(text: str, form: str) -> str:
    """Return a text in which the marks of a format are escaped."""
    if form == "markdown":
        return MARKDOWN.sub(r"\\\g<0>", text)
    # Two hyphens would become a dash.
    apart = re.sub("-(?=-)", "-\0", text)
    return "".join(LATEX.get(letter, letter) for letter in apart).replace("\0", "{}")
