"""Tables as text: text, csv, json, markdown, latex.

Names come from files, and nothing in them acts where a table is read: control characters are
escaped (in JSON by its own escapes, in CSV not), as are marks of Markdown and LaTeX; in CSV an
apostrophe stands before what a spreadsheet would take for a formula.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import pandas as pd

from scorecube.errors import BadName
from scorecube.files import is_formula
from scorecube.report.contents import as_json
from scorecube.report.readable import (
    ANY_GAIN,
    KEYS,
    TO,
    Cells,
    check_columns,
    intervals_of,
    layout_of,
    merge_gains,
    readable,
)
from scorecube.report.tables import AS_PRINTED, trait

FORMATS = ("text", "csv", "json", "markdown", "latex")
ROWS_AT_ONCE = 2**16
"""Rows of csv and json that are made at a time, which bounds the memory."""
MOST_IN_LATEX = 6
"""Columns where none are chosen."""
LEAST = 14
"""Letters that a shortened label keeps."""
CUT = "…"
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
MARKDOWN = re.compile(r"[\\`*\[\]<>|~]|&(?=#?\w+;)|\$(?=.*\$)|(?<!\w)_|_(?!\w)")
"""Marks of Markdown: an ampersand begins a character's name, dollars come in pairs."""
MINUS = re.compile(r"(?<![\w.-])-(?=[\d.])")


def render(frame: pd.DataFrame, form: str, width: int | None = None, **how: Any) -> str:
    """Return a table as text, see `render_parts`."""
    return "\n".join(render_parts(frame, form, width, **how))


def render_parts(
    frame: pd.DataFrame,
    form: str,
    width: int | None = None,
    first: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    caption: str = "",
) -> Iterator[str]:
    """Yield the text of a table in parts without their last newline.

    csv and json have all rows and columns in full precision, the others rounded numbers.

    frame: The table.
    form: One of `FORMATS`.
    width: Columns of the terminal, for ``text``; None for no limit.
    first: Columns that a narrow terminal keeps: those by which rows are sorted.
    columns: Columns to show, limits by names such as ``mean_limits``; all by default.
    caption: Of a table in LaTeX or Markdown, in their marks.
    Raises BadName: An unknown format, or a column that the table does not have.
    """
    if form not in FORMATS:
        raise BadName(f"no format {form!r}; known: {', '.join(FORMATS)}")
    if form in ("csv", "json"):
        yield from _data_parts(data_columns(frame, columns), form)
        return
    frame = merge_gains(frame)
    if form == "text":
        yield text_table(readable(frame, layout_of(frame, columns)), width, [*KEYS, *first])
        return
    layout = layout_of(frame, columns, words=True)
    cells = readable(frame, layout, TO if form == "latex" else " to ")
    if columns is None and caption:
        constant = [name for name, parts in layout.items() if _is_constant(frame, parts)]
        cells = cells.only([name for name in layout if name not in constant])
        if form == "latex" and AS_PRINTED not in frame.attrs:
            cells = cells.only([*cells.columns][:MOST_IN_LATEX])
    yield (_latex if form == "latex" else _markdown)(cells, caption)


def _is_constant(frame: pd.DataFrame, parts: Sequence[str]) -> bool:
    """Return whether a caption says what a column holds: one collection, metric or condition."""
    said = parts[0] in (*KEYS, *frame.attrs.get(AS_PRINTED, ()))
    said |= trait(frame, "role").get(parts[0]) == "condition"
    return said and frame[parts[0]].nunique() < 2


def text_table(cells: Cells, width: int | None = None, keep: Sequence[str] = ()) -> str:
    """Return a table in columns; of one that is too wide, what all rows share stands above it.

    Columns that still have no room are named below; labels of rows are shortened at last.

    Examples
    --------
    >>> shown = {"gain": ["auto", "auto"], "metric": ["AP", "Q"], "share": ["10%", "8%"],
    ...          "required": ["0.05", "-"]}
    >>> print(text_table(Cells(shown, frozenset(["share", "required"])), 22, ["metric"]))
    gain: auto
    <BLANKLINE>
    metric  share
    ------  -----
    AP        10%
    Q          8%
    left out: required;
    csv and json have them
    """
    if width is None or _width(cells) <= width:
        return "\n".join(line.rstrip() for line in aligned(cells, rule="-"))
    cells = cells.without_constants()
    above = textwrap.wrap("; ".join(cells.shared), width, break_on_hyphens=False)
    cells, lost = fitted(cells, width, keep)
    below = textwrap.wrap(left_out(lost), width, break_on_hyphens=False)
    lines = [line.rstrip() for line in aligned(cells, width, rule="-")]
    return "\n".join([*above, *[""] * bool(above), *lines, *below])


def left_out(headings: Sequence[str]) -> str:
    """Return a line that names columns without room; empty for none."""
    return f"left out: {', '.join(headings)}; csv and json have them" if headings else ""


def fitted(cells: Cells, width: int, keep: Sequence[str] = ()) -> tuple[Cells, list[str]]:
    """Return as many columns as have room, and the headings of the others.

    Labels and the columns to keep come first, then the others in their order.
    """
    labels = [name for name in cells.columns if name not in cells.numeric or name in keep]
    kept = list[str]()
    room = width
    for name in [*labels, *(name for name in cells.columns if name not in labels)]:
        texts = cells.columns[name]
        longest = max(map(len, texts), default=0)
        least = max(len(name), longest if name in cells.numeric else min(longest, LEAST))
        if least <= room or not kept:
            kept.append(name)
            room -= least + 2
    return cells.only(kept), [name for name in cells.columns if name not in kept]


def _width(cells: Cells) -> int:
    """Return the width of a table."""
    longest = (max(map(len, [name, *texts])) for name, texts in cells.columns.items())
    return sum(longest) + 2 * (len(cells.columns) - 1)


def aligned(cells: Cells, width: int | None = None, rule: str = "", gap: str = "  ") -> list[str]:
    """Return the lines of a table, the headings first; labels are shortened to a width.

    rule: Ends the line below the heading of a number; empty for no such line.
    gap: Between columns.
    """
    widths = {name: max(map(len, [name, *texts])) for name, texts in cells.columns.items()}
    over = 0 if width is None else _width(cells) - width
    labels = [name for name in widths if name not in cells.numeric]
    for name in sorted(labels, key=lambda name: -widths[name]):
        cut = min(max(over, 0), max(0, widths[name] - max(len(name), LEAST)))
        widths[name] -= cut
        over -= cut
    ends = {name: rule if name in cells.numeric else "-" for name in widths}
    line = tuple("-" * (wide - 1) + ends[name] for name, wide in widths.items())
    return [
        gap.join(
            f"{shorten(cell, wide):{'>' if name in cells.numeric else '<'}{wide}}"
            for cell, (name, wide) in zip(row, widths.items(), strict=True)
        )
        for row in [tuple(cells.columns), *([line] if rule else []), *cells.rows]
    ]


def shorten(text: str, width: int) -> str:
    """Return the beginning and the end of a text, as labels differ in either.

    Examples
    --------
    >>> shorten("run_of_a_team_17", 10)
    'run_o…m_17'
    """
    if len(text) <= width:
        return text
    behind = (width - 1) // 2
    return text[: width - 1 - behind] + CUT + (text[-behind:] if behind else "")


def _markdown(cells: Cells, caption: str) -> str:
    """Return a table in Markdown, below its caption."""
    escaped = {name: marked(name, "markdown").ljust(3) for name in cells.columns}
    columns = {
        escaped[name]: [
            f"**{marked(cell, 'markdown')}**"
            if (name, k) in cells.bold
            else marked(cell, "markdown")
            for k, cell in enumerate(texts)
        ]
        for name, texts in cells.columns.items()
    }
    numeric = frozenset(escaped[name] for name in cells.columns if name in cells.numeric)
    lines = aligned(Cells(columns, numeric), rule=":", gap=" | ")
    return "\n".join([*([caption, ""] if caption else []), *(f"| {line} |" for line in lines)])


def _latex(cells: Cells, caption: str) -> str:
    """Return a table in LaTeX: a float with its caption, or, without one, what stands in it."""
    columns = {}
    for name, texts in cells.columns.items():
        made = [marked(text, "latex") for text in texts]
        if name in cells.numeric:
            made = [MINUS.sub("$-$", text) for text in made]
        columns[marked(name, "latex")] = [
            rf"\textbf{{{text}}}" if (name, k) in cells.bold else text
            for k, text in enumerate(made)
        ]
    spec = "".join("r" if name in cells.numeric else "l" for name in cells.columns)
    text = (
        pd.DataFrame(columns)
        .style.hide(axis="index")
        .to_latex(column_format=spec, hrules=True)
        .replace(f"{{{spec}}}", f"{{{spec}}} % \\usepackage{{booktabs}}", 1)
        .rstrip()
    )
    if not caption:
        return text
    above = [r"\begin{table}", r"\centering", rf"\caption{{{caption}}}"]
    return "\n".join([*above, text, r"\end{table}"])


def marked(text: str, form: str) -> str:
    """Return a text in which the marks of a format are escaped."""
    if form == "markdown":
        return MARKDOWN.sub(r"\\\g<0>", text)
    if form != "latex":
        return text
    # Two hyphens would become a dash.
    return "".join(LATEX.get(letter, letter) for letter in re.sub("-(?=-)", "-\0", text)).replace(
        "\0", "{}"
    )


def data_columns(frame: pd.DataFrame, columns: Sequence[str] | None) -> pd.DataFrame:
    """Return the columns that are asked for, of an interval both limits; all for None."""
    if columns is None:
        return frame
    check_columns(frame, columns)
    intervals = intervals_of(frame)
    return frame[
        [end for name in columns for end in (intervals[name][1:] if name in intervals else [name])]
    ]


def _data_parts(frame: pd.DataFrame, form: str) -> Iterator[str]:
    """Yield a table as csv or json some rows at a time."""
    for start in range(0, max(len(frame), 1), ROWS_AT_ONCE):
        part = frame.iloc[start : start + ROWS_AT_ONCE]
        if form == "csv":
            text = _csv(part)
            yield text.partition("\n")[2] if start else text
            continue
        text = as_json(as_records(part))
        more = start + ROWS_AT_ONCE < len(frame)
        yield text[2 if start else 0 : -2 if more else None] + "," * more


def as_records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows as plain values; None for numbers that are missing or infinite."""
    return [
        {
            str(name): _plain(value)
            if not isinstance(value, float) or math.isfinite(value)
            else None
            for name, value in row.items()
        }
        for row in frame.to_dict("records")
    ]


def formulas(frame: pd.DataFrame) -> list[str]:
    """Return the labels of a table that a spreadsheet would take for formulas."""
    texts = frame.select_dtypes(exclude=["number", "bool"])
    labels = {value for name in texts for value in texts[name].unique() if isinstance(value, str)}
    return sorted(filter(is_formula, labels))


def _csv(frame: pd.DataFrame) -> str:
    texts = list(frame.select_dtypes(exclude=["number", "bool"]).columns)
    quoted = {label: f"'{label}" for label in formulas(frame)}
    safe = frame.assign(
        **{name: frame[name].map(_plain) for name in frame.select_dtypes("float").columns},
        **{name: frame[name].map(lambda value: quoted.get(value, value)) for name in texts},
    )
    # Before Python 3.13 a carriage return gets no quotes, and is read as the end of a line.
    returns = any("\r" in str(value) for name in texts for value in safe[name].unique())
    quoting: Literal[0, 2] = 2 if returns else 0  # csv.QUOTE_NONNUMERIC, csv.QUOTE_MINIMAL
    text = safe.to_csv(index=False, quoting=quoting, float_format=float.__repr__)
    return str(text).removesuffix("\n")


def _plain(value: Any) -> Any:
    """Return a number without the rounding errors of a short decimal: 0.153676, not 0.15367599…"""
    if not isinstance(value, float):
        return value
    short = float(f"{value:.12g}")
    return short if short == float(f"{value:.15g}") else float(value)


def merge_note(frame: pd.DataFrame) -> list[str]:
    """Return a note on rows that text joins and csv does not."""
    if len(merge_gains(frame)) == len(frame):
        return []
    return [
        f"gain {ANY_GAIN}: the same at every gain setting; csv and json have all {len(frame)} rows"
    ]
