"""Tables as text: text, csv, json, markdown, latex."""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd

from scorecube import names
from scorecube.errors import BadName
from scorecube.report.tables.rows import COLLECTION, CONDITIONS, as_records
from scorecube.report.text_layout import fit

FORMATS = ("text", "csv", "json", "markdown", "latex")
PERCENT = {"relative_difference": 0, "share": 1, "share_same_best": 1}
"""Columns shown in percent, with the decimals of the papers' tables."""
DECIMALS = {
    "estimated_difference": 2,
    "alpha": 2,
    "required_difference": 2,
    "required_difference_first": 2,
    "support": 2,
    "fuzziness": 2,
    "lower": 2,
    "confidence": 2,
    "swap_rate": 4,
    "unique": 1,
    "common": 1,
    "settled_at": 0,
    "drop_low": 0,
    "drop_high": 0,
    "rank_change_median": 1,
    "tied_pairs": 1,
}
NONE = "-"
LATEX = {letter: "\\" + letter for letter in "_%&#${}"}
LATEX |= {
    "^": r"\^{}",
    "~": r"\~{}",
    "\\": r"\textbackslash{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}
ANY_GAIN = "any"


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


def cell_text(column: str, value: Any) -> str:
    """Return one value rounded as text; a missing number is "-", as in the papers."""
    if value is None:
        return NONE
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return NONE
    if column in PERCENT:
        return f"{100 * value:.{PERCENT[column]}f}%"
    shown = f"{value:.{DECIMALS.get(column, 4)}f}"
    return f"{value:g}" if column == "alpha" and float(shown) != value else shown


def render(frame: pd.DataFrame, form: str, width: int | None = None) -> str:
    """Return a table as text; csv and json have all rows in full precision, the others rounded numbers.

    Parameters
    ----------
    frame
        The table.
    form
        One of `FORMATS`.
    width
        Width of the terminal for ``text``; None for no limit.

    Raises
    ------
    BadName
        An unknown format.
    """
    if form not in FORMATS:
        raise BadName(f"no format {form!r}; known: {', '.join(FORMATS)}")
    if form == "json":
        return json.dumps(as_records(frame), indent=1, ensure_ascii=False)
    if form == "csv":
        return str(frame.to_csv(index=False)).rstrip("\n")
    frame = merge_gains(frame)
    records = as_records(frame)
    columns = [str(column) for column in frame.columns]
    body = [[cell_text(column, record[column]) for column in columns] for record in records]
    if form == "markdown":
        body = [[cell.replace("|", "\\|") for cell in row] for row in body]
    numeric = [
        any(isinstance(record[column], int | float) for record in records) for column in columns
    ]
    if form == "latex":
        return _latex(columns, body, numeric)
    widths = [max(len(row[k]) for row in [columns, *body]) for k in range(len(columns))]
    if form == "text" and width is not None and sum(widths) + 2 * (len(widths) - 1) > width:
        return fit(columns, body, numeric, width, CONDITIONS)

    def line(cells: list[str]) -> list[str]:
        return [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, numeric, strict=True)
        ]

    if form == "markdown":
        rule = [
            "-" * (width - 1) + ":" if right else "-" * width
            for width, right in zip(widths, numeric, strict=True)
        ]
        return "\n".join(
            "| " + " | ".join(cells) + " |" for cells in [line(columns), rule, *map(line, body)]
        )
    return "\n".join(
        "  ".join(line(cells)).rstrip()
        for cells in [columns, ["-" * width for width in widths], *body]
    )


def _latex(columns: list[str], body: list[list[str]], numeric: list[bool]) -> str:
    def escaped(text: str) -> str:
        return "".join(LATEX.get(letter, letter) for letter in text)

    spec = "".join("r" if right else "l" for right in numeric)
    rows = [" & ".join(map(escaped, row)) + r" \\" for row in [columns, *body]]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{spec}}} % \usepackage{{booktabs}}",
            r"\toprule",
            rows[0],
            r"\midrule",
            *rows[1:],
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )
