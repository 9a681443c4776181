"""The numbers of docs/believe/ranks.md, from the rows of ranks.csv: its table, what fails, and its
figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from tests.validation.cases import GOALS, Row, read

PAGE = Path(__file__).parents[2] / "docs" / "believe" / "ranks.md"
CSV = PAGE.with_suffix(".csv")
FIGURE = PAGE.with_suffix(".svg")
WORST = ", worst"
LIMITS = ("means", "leader", "rank sets", "difference")
SHOWN: dict[tuple[str, tuple[str, ...]], str] = {
    ("means", ("means",)): "means",
    ("means", ("means, worst",)): "means, worst of 12 runs",
    ("leader", ("leader",)): "leader, equal runs",
    ("sets", ("leader",)): "leader, others",
    ("sets", ("rank sets",)): "rank sets",
    ("gate", ("difference",)): "differences",
    ("board", LIMITS): "board, all of these",
    ("bags", LIMITS): "bags, all of these",
    ("groups", ("means",)): "groups: means",
    ("maxt", ("max-T",)): "max-T",
    ("maxt", ("max-T, baseline",)): "max-T, baseline",
    ("groups", ("max-T",)): "groups: max-T",
    ("gate", ("false pass",)): "gate passes the margin",
    ("gate", ("false pass, all equal",)): "gate passes, all equal",
    ("gate", ("false fail",)): "gate fails equals",
    ("board", ("false pass", "false fail")): "board: gate errs",
    ("groups", ("false pass", "false fail")): "groups: gate errs",
    ("groups", ("false pass, all equal",)): "groups: gate passes, all equal",
    ("bags", ("false pass", "false fail")): "bags: gate errs",
    ("gate", ("equivalent",)): "equivalent at the margin",
}
"""Rows of the table by part and quantities."""
UNNAMED = "not named"
"""In the names of truths whose groups are not named: no method promises anything there."""


def chosen(rows: Sequence[Row], part: str, quantities: tuple[str, ...]) -> list[Row]:
    """Return the rows behind a row of the table."""
    found = [row for row in rows if row.part == part and row.quantity in quantities]
    return [row for row in found if UNNAMED not in row.truth]


def is_error(quantities: tuple[str, ...]) -> bool:
    """Return whether quantities should be small."""
    return GOALS[quantities[0].removesuffix(WORST)].error


def table(rows: Sequence[Row]) -> str:
    """Return the table: of each quantity the range over all truths, and how many miss the goal."""
    lines = [
        "| rates | lowest | highest | s.e. | samples | truths | outside |",
        "|---|---|---|---|---|---|---|",
    ]
    for (part, quantities), name in SHOWN.items():
        found = chosen(rows, part, quantities)
        if not found:
            continue
        rates = sorted(float(row.measured) for row in found)
        error, least = max(float(row.error) for row in found), min(row.samples for row in found)
        failed = sum(row.fails != "" for row in found)
        outside = f"**{failed}**" if failed else "0"
        numbers = (*(f"{x:.3f}" for x in (rates[0], rates[-1], error)), least)
        lines.append(
            "| "
            + " | ".join(
                map(str, (name, *numbers, len({(row.truth, row.units) for row in found}), outside))
            )
            + " |"
        )
    return "\n".join(lines)


def failures(rows: Sequence[Row]) -> str:
    """Return what fails, by quantity and truth: each rate with the number of its units."""
    lines = []
    for (part, quantities), name in SHOWN.items():
        failed = [row for row in chosen(rows, part, quantities) if row.fails]
        by_truth = groupby(sorted(failed, key=lambda row: row.truth), key=lambda row: row.truth)
        texts = [
            f"{truth} ({', '.join(f'{row.units}: {float(row.measured):.3f}' for row in of)})"
            for truth, of in by_truth
        ]
        if texts:
            lines.append(f"- **{name}**: {'; '.join(texts)}.")
    return "\n".join(lines) or "- Nothing."


PARTS: dict[str, Callable[[Sequence[Row]], str]] = {"table": table, "failures": failures}


def renewed(text: str, rows: Sequence[Row]) -> str:
    """Return the page with the table and the failures of some rows between its marks."""
    for name, make in PARTS.items():
        begin, end = f"<!-- {name} of ranks.csv -->\n", f"\n<!-- end of {name} -->"
        before, rest = text.split(begin)
        text = before + begin + make(rows) + end + rest.split(end)[1]
    return text


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw each rate with two standard errors: coverage on the left, error rates on the right."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams |= {"svg.hashsalt": "ranks", "svg.fonttype": "none", "font.size": 9}
    figure = Figure(figsize=(9.5, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_side(left, rows, errors=False)
    draw_side(right, rows, errors=True)
    figure.savefig(path, metadata={"Date": None})


def draw_side(axes: Any, rows: Sequence[Row], *, errors: bool) -> None:
    """Draw coverages, or error rates; those beyond the axis stand at its end as triangles."""
    low, high = (-0.01, 0.2) if errors else (0.8, 1.005)
    kinds = [key for key in SHOWN if is_error(key[1]) == errors and chosen(rows, *key)][::-1]
    for place, key in enumerate(kinds):
        found = chosen(rows, *key)
        y = place + 0.6 * ((np.arange(len(found)) + 0.5) / len(found) - 0.5)
        rate, error = np.array([(float(row.measured), float(row.error)) for row in found]).T
        colors = np.array(["#c0392b" if row.fails else "#2c6fad" for row in found])
        axes.hlines(y, rate - 2 * error, rate + 2 * error, colors, linewidth=0.7)
        axes.scatter(rate, y, 3, colors)
        beyond = rate > high
        axes.scatter(rate[beyond] * 0 + high, y[beyond], 20, colors[beyond], ">", clip_on=False)
    for x, style in ((0.05, "-"), (0.07, ":")) if errors else ((0.95, "-"), (0.92, ":")):
        axes.axvline(x, color="#777777", linewidth=0.8, linestyle=style)
    axes.set_yticks(range(len(kinds)), [SHOWN[key].replace("`", "") for key in kinds])
    axes.set_xlim(low, high)
    axes.set_xlabel("error rate" if errors else "coverage")


def renew() -> None:
    """Write the page's numbers and its figure."""
    rows = read(CSV)
    PAGE.write_text(renewed(PAGE.read_text(), rows))
    draw(rows, FIGURE)
