"""Tables as text: text, csv, json, markdown, latex.

Names come from files, and what they hold must not act where a table is read: control characters are escaped (not in CSV, and in JSON
by its own escapes), as are marks of Markdown and LaTeX; in CSV what a spreadsheet would take for a formula begins with an apostrophe.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from scorecube import names
from scorecube.errors import BadName, BadPlan, option, visible
from scorecube.files import check_target, is_formula, write_file
from scorecube.report.columns import (
    UNKNOWN,
    Layout,
    all_decimals,
    data_columns,
    printed_columns,
    trait_of_columns,
    with_role,
    with_uncertainty,
)
from scorecube.report.tables import COLLECTION, as_records
from scorecube.report.text_layout import as_json, fit

FORMATS = ("text", "csv", "json", "markdown", "latex")
SUFFIXES = {".csv": "csv", ".json": "json", ".md": "markdown", ".tex": "latex", ".txt": "text"}
"""Endings of files and their formats."""
LEAST_P = 0.0001
"""Below it a p-value is shown as smaller; in csv and json it is exact."""
ROWS_AT_ONCE = 2**16
"""Rows that are made at a time."""
NONE = "-"
PLAIN = ".4f"
"""How numbers are written unless their quantity says otherwise."""
LATEX = {letter: "\\" + letter for letter in "_%&#${}"}
MARKDOWN = re.compile(r"[\\`*\[\]<>|~]|&(?=#?\w+;)|\$(?=.*\$)|(?<!\w)_|_(?!\w)")
"""Marks of Markdown: an ampersand begins a character's name, dollars come in pairs, and an underscore inside of a word is none."""
LATEX |= {
    "^": r"\^{}",
    "~": r"\~{}",
    "\\": r"\textbackslash{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "[": "{[}",
    "*": "{*}",
}
LATEX |= {"†": r"\textsuperscript{\dag}", "‡": r"\textsuperscript{\ddag}"}
BOLD = {"text": "{}", "markdown": "**{}**", "latex": r"\textbf{{{}}}"}
MINUS = re.compile(r"(?<![\w.])-(?=[\d.])")
"""Sign of a number, which is a hyphen outside of formulas."""
ANY_GAIN = "any"


class Marked(str):
    """A number with marks, aligned as numbers are."""

    __slots__ = ()


class Bold(Marked):
    """The same, in bold type where a format has it."""

    __slots__ = ()


def merge_gains(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with one row where all gain settings give the same numbers, as for metrics that use no gains."""
    if not {names.GAIN, COLLECTION} <= set(frame.columns) or frame[names.GAIN].nunique() < 2:
        return frame
    n_gains = frame.groupby(COLLECTION)[names.GAIN].transform("nunique")
    others = [column for column in frame.columns if column != names.GAIN]
    equal = frame.groupby(others, dropna=False)[names.GAIN].transform("nunique")
    merged = frame.assign(
        **{names.GAIN: frame[names.GAIN].where((equal < n_gains) | (n_gains < 2), ANY_GAIN)}
    )
    return merged.drop_duplicates(ignore_index=True)


def merge_note(frame: pd.DataFrame) -> list[str]:
    """Return a note on rows that text joins and csv does not."""
    if len(merge_gains(frame)) == len(frame):
        return []
    return [
        f"gain {ANY_GAIN}: the same at every gain setting; csv and json have all {len(frame)} rows"
    ]


def with_labels(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table as of `merge_gains` with the column ``label``: the metric, with its gain setting where there are several.

    Examples
    --------
    >>> rows = {"collection": ["c"] * 4, "metric": ["AP", "AP", "Q", "Q"], "gain": ["1:1", "2:1"] * 2, "mean": [0.3, 0.3, 0.4, 0.5]}
    >>> with_labels(pd.DataFrame(rows))["label"].tolist()
    ['AP', 'Q (1:1)', 'Q (2:1)']
    """
    merged = merge_gains(frame)
    if names.GAIN not in merged:
        return merged.assign(label=merged[names.METRIC])
    several = merged.groupby(COLLECTION)[names.GAIN].transform("nunique") > 1
    named = several & (merged[names.GAIN] != ANY_GAIN)
    label = merged[names.METRIC].where(
        ~named, merged[names.METRIC] + " (" + merged[names.GAIN] + ")"
    )
    return merged.assign(label=label)


def cell_text(value: Any, form: str = PLAIN, role: str = "") -> str:
    """Return one value rounded as text without control characters; a missing number is "-", as in the papers.

    value: Of a cell.
    form, role: Of its column, see `Variable`.

    Examples
    --------
    >>> [cell_text(0.25, ".0%"), cell_text(0.00001, role="p_value"), cell_text(0.01, ".1f"), cell_text(None)]
    ['25%', '<0.0001', '<0.1', '-']
    """
    if value is None:
        return NONE
    if not isinstance(value, float):
        return visible(str(value))
    if math.isnan(value):
        return NONE
    if form.endswith("%"):
        return format(value, form)
    if 0.0 <= value < LEAST_P and role == "p_value":
        return f"<{LEAST_P:g}" if value else "0"
    shown = format(value, form)
    if role == "condition" and float(shown) != value:
        return f"{value:g}"
    if float(shown) == 0.0 and (value or role == "share") and form[0] != "z":
        return _less_than_a_digit(value, int(form[1:-1]))
    return shown


def cell_texts(frame: pd.DataFrame) -> dict[str, list[str]]:
    """Return the cells of a table by column: an estimate with limits, or a standard error, has the digits that these allow."""
    forms, roles = (trait_of_columns(frame, trait) for trait in ("form", "role"))
    decimals: dict[str, np.ndarray[Any, Any]] = {}
    for estimate, low, high in with_uncertainty(frame):
        first, last = (pd.to_numeric(frame[end], errors="coerce") for end in (low, high))
        half = first if low == high else (last - first) / 2
        percent = 100.0 if forms.get(estimate, PLAIN).endswith("%") else 1.0
        found = all_decimals(percent * half.to_numpy(float))
        for name in {low, high}:
            decimals[name] = np.where(found == UNKNOWN, decimals.get(name, UNKNOWN), found)
        known = decimals.get(estimate, np.full(len(frame), UNKNOWN))
        decimals[estimate] = np.where(known == UNKNOWN, found, known)
    texts = {}
    for name in map(str, frame.columns):
        form, role = forms.get(name, PLAIN), roles.get(name, "")
        places = decimals[name].tolist() if name in decimals else repeat(UNKNOWN)
        made: dict[tuple[str, int], str] = {}  # of equal values once
        texts[name] = [
            made.get(key := (repr(value), own))
            or made.setdefault(
                # One whose digits follow from its uncertainty may be 0.00.
                key,
                cell_text(value, *((form, role) if own == UNKNOWN else (f"z.{own}{form[-1]}", ""))),
            )
            for value, own in zip(frame[name].tolist(), places, strict=False)
        ]
    return texts


def _less_than_a_digit(value: float, decimals: int) -> str:
    """Return a number that all decimals of its column would show as 0.

    Examples
    --------
    >>> [_less_than_a_digit(value, 4) for value in (0.00003, -0.00003, 0.0)]
    ['<0.0001', '>-0.0001', '0']
    """
    if value == 0.0:
        return "0"
    last = f"{10.0**-decimals:.{decimals}f}"
    return f"<{last}" if value > 0.0 else f">-{last}"


def render(frame: pd.DataFrame, form: str, width: int | None = None, **how: Any) -> str:
    """Return a table as text; csv and json have all rows in full precision, the others rounded numbers.

    Labels are exact in json. In csv those that a spreadsheet would take for formulas begin with an apostrophe, which `import` removes.

    frame, form, width, how: As of `render_parts`.
    Raises BadName: An unknown format, or a column that the table does not have.
    """
    return "\n".join(render_parts(frame, form, width, **how))


def render_parts(
    frame: pd.DataFrame,
    form: str,
    width: int | None = None,
    first: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    caption: str = "",
) -> Iterator[str]:
    """Yield the text of `render` in parts without their last newline, some rows at a time, which bounds the memory.

    frame: The table.
    form: One of `FORMATS`.
    width: Width of the terminal for ``text``; None for no limit.
    first: Columns that a table which is too wide shows first: those by which it is sorted.
    columns: Columns to show, see `printed_columns`; all by default.
    caption: Above a table in LaTeX and Markdown, in their marks.
    """
    if form not in FORMATS:
        raise BadName(f"no format {form!r}; known: {', '.join(FORMATS)}")
    if form in ("csv", "json"):
        yield from _data_parts(data_columns(frame, columns), form)
        return
    frame = merge_gains(frame)
    layout = printed_columns(frame, columns, joined=form != "text", without_common=bool(caption))
    shown = Columns(frame, layout, form)
    if form == "latex":
        yield from _latex_parts(frame, shown, caption)
    elif form == "markdown":
        yield from [f"{caption}\n"] if caption else []
        yield from (
            "\n".join(f"| {' | '.join(row)} |" for row in part)
            for part in _aligned_parts(frame, shown, ":")
        )
    else:
        yield from _text_parts(frame, shown, width, first)


def _data_parts(frame: pd.DataFrame, form: str) -> Iterator[str]:
    """Yield a table as csv or json some rows at a time."""
    for k, portion in enumerate(_portions(frame)):
        if form == "csv":
            text = _csv(portion)
            yield text.partition("\n")[2] if k else text
            continue
        records = as_records(portion)
        text = as_json([{name: _plain(value) for name, value in row.items()} for row in records])
        more = (k + 1) * ROWS_AT_ONCE < len(frame)
        yield text[2 if k else 0 : -2 if more else None] + "," * more


class Columns:
    """Makes the columns of a printed table as text.

    frame: The table.
    layout: Its columns, see `printed_columns`.
    form: ``text``, ``markdown`` or ``latex``, whose marks are escaped.
    """

    def __init__(self, frame: pd.DataFrame, layout: Layout, form: str) -> None:
        self._layout, self._form = layout, form
        words = trait_of_columns(frame, "heading")
        self.head = [
            name if form == "text" else marked(words.get(name, name.replace("_", " ")), form)
            for name, _ in layout
        ]
        self.numeric = [len(of) == 1 and _has_numbers(frame[of[0]]) for _, of in layout]

    def __call__(self, portion: pd.DataFrame) -> list[list[str]]:
        """Return the cells of some rows, column by column."""
        texts, columns = cell_texts(portion), []
        for number, (_, (first, *rest)) in zip(self.numeric, self._layout, strict=True):
            cells = texts[first]
            if rest:
                ends = zip(cells, *(texts[name] for name in rest), strict=True)
                cells = [NONE if NONE in each else f"[{', '.join(each)}]" for each in ends]
            if self._form != "text":
                made = {cell: marked(cell, self._form) for cell in cells}
                if self._form == "latex" and (number or rest):
                    made = {cell: MINUS.sub("$-$", text) for cell, text in made.items()}
                cells = [made[cell] for cell in cells]
            if portion[first].dtype.kind not in "biuf":
                bold = BOLD[self._form].format
                values = zip(cells, portion[first], strict=True)
                cells = [bold(cell) if isinstance(value, Bold) else cell for cell, value in values]
            columns.append(cells)
        return columns


def marked(text: str, form: str) -> str:
    """Return a text in which the marks of a format are escaped."""
    if form == "markdown":
        return MARKDOWN.sub(r"\\\g<0>", text)
    if form != "latex":
        return text
    # Two hyphens would become a dash.
    return re.sub("-(?=-)", "-{}", "".join(LATEX.get(letter, letter) for letter in text))


def _has_numbers(values: pd.Series[Any]) -> bool:
    """Return whether a column has numbers, which are aligned at their ends."""
    if values.dtype.kind in "biuf":
        return bool(values.notna().any())
    return any(isinstance(value, int | float | Marked) and value == value for value in values)


def _portions(frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Yield the rows of a table some at a time; a table without rows is one portion."""
    for start in range(0, max(len(frame), 1), ROWS_AT_ONCE):
        yield frame.iloc[start : start + ROWS_AT_ONCE]


def _aligned_parts(
    frame: pd.DataFrame, columns: Columns, right: str = "-"
) -> Iterator[list[tuple[str, ...]]]:
    """Yield the rows of a table some at a time, all columns as wide as their widest cell, below the heading and a rule."""
    widths, body = [len(column) for column in columns.head], list[list[str]]()
    for portion in _portions(frame):
        body = columns(portion)
        widths = [max([wide, *map(len, each)]) for wide, each in zip(widths, body, strict=True)]
    head = [
        [name, "-" * (wide - 1) + (right if number else "-")]
        for name, wide, number in zip(columns.head, widths, columns.numeric, strict=True)
    ]
    for portion in _portions(frame):
        if len(frame) > ROWS_AT_ONCE:  # the cells of a single portion are at hand
            body = columns(portion)
        aligned = [
            [cell.rjust(wide) if number else cell.ljust(wide) for cell in [*above, *cells]]
            for above, cells, wide, number in zip(head, body, widths, columns.numeric, strict=True)
        ]
        yield [*zip(*aligned, strict=True)]
        head = [[] for _ in head]


def _text_parts(
    frame: pd.DataFrame, columns: Columns, width: int | None, first: Sequence[str]
) -> Iterator[str]:
    """Yield a table as text some rows at a time; one that a terminal is too narrow for, which is read on the screen, at once."""
    for part in _aligned_parts(frame, columns):
        if width is not None and sum(map(len, part[0])) + 2 * (len(part[0]) - 1) > width:
            conditions = with_role(frame, ("condition",))
            table = [
                [name, *cells] for name, cells in zip(columns.head, columns(frame), strict=True)
            ]
            yield fit(table, columns.numeric, width, conditions, first)
            return
        yield "\n".join("  ".join(row).rstrip() for row in part)


def formulas(frame: pd.DataFrame) -> list[str]:
    """Return the different labels of a table that a spreadsheet would take for formulas."""
    found = {
        value
        for name in frame.select_dtypes(exclude=["number", "bool"]).columns
        for value in frame[name].unique()
        if isinstance(value, str) and is_formula(value)
    }
    return sorted(found)


def _csv(frame: pd.DataFrame) -> str:
    texts = list(frame.select_dtypes(exclude=["number", "bool"]).columns)
    quoted = {label: f"'{label}" for label in formulas(frame)}
    safe = frame.assign(
        **{name: frame[name].map(_plain) for name in frame.select_dtypes("float").columns},
        **{name: frame[name].map(lambda each: quoted.get(each, each)) for name in texts},
    )
    # Before Python 3.13 a carriage return gets no quotes, and is read as the end of a line.
    returns = any("\r" in str(value) for name in texts for value in safe[name].unique())
    quoting: Literal[0, 2] = 2 if returns else 0  # csv.QUOTE_NONNUMERIC, csv.QUOTE_MINIMAL
    text = safe.to_csv(index=False, quoting=quoting, float_format=float.__repr__)
    return str(text).removesuffix("\n")


def _plain(value: Any) -> Any:
    """Return a number without the rounding errors of a short decimal; other values as they are."""
    if not isinstance(value, float):
        return value
    # A number within rounding of a decimal of 12 digits is that decimal: 0.153676, not 0.15367599999999998.
    short = float(f"{value:.12g}")
    return short if short == float(f"{value:.15g}") else float(value)


def _latex_parts(frame: pd.DataFrame, columns: Columns, caption: str) -> Iterator[str]:
    """Yield a table in LaTeX some rows at a time: a float with its caption, or, without one, what stands in it."""
    spec = "".join("r" if right else "l" for right in columns.numeric)
    above = [r"\begin{table}", r"\centering", rf"\caption{{{caption}}}"] if caption else []
    head = [rf"\begin{{tabular}}{{{spec}}} % \usepackage{{booktabs}}", r"\toprule"]
    yield "\n".join([*above, *head, " & ".join(columns.head) + r" \\", r"\midrule"])
    for portion in _portions(frame):
        if len(portion):
            yield "\n".join(" & ".join(row) + r" \\" for row in zip(*columns(portion), strict=True))
    yield "\n".join([r"\bottomrule", r"\end{tabular}", *([r"\end{table}"] if caption else [])])


def format_of(path: Path, form: str | None) -> str:
    """Return the format of a table in a file: as stated, or by its ending; refuse a file that cannot be written."""
    check_target(path)
    if form is not None:
        return form
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise BadPlan(
            f"{path}: a table is written as {', '.join(SUFFIXES)}; found {suffix or 'no ending'}; or state its {option('format')}",
            option="out",
        )
    return SUFFIXES[suffix]


def write_table(frame: pd.DataFrame, form: str, path: Path, **how: Any) -> None:
    """Write a table, as of `render_parts`, into a file, which is replaced only when it is whole."""
    write_file(path, (f"{part}\n" for part in render_parts(frame, form, **how)))
