"""The numbers of docs/believe/ranks.md, from the rows of ranks.csv: its table, what fails, and its
figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.validation.cases import GOALS, Row, read

PAGE = Path(__file__).parents[2] / "docs" / "believe" / "ranks.md"
CSV = PAGE.with_suffix(".csv")
FIGURE = PAGE.with_suffix(".svg")
WORST = ", worst"
SHOWN = {
    ("means", "means"): "means",
    ("means", "means, worst"): "means, worst of 12 runs",
    ("leader", "leader"): "leader, equal runs",
    ("sets", "leader"): "leader, others",
    ("sets", "rank sets"): "rank sets",
    ("maxt", "max-T"): "max-T",
    ("maxt", "max-T, baseline"): "max-T, baseline",
    ("board", "means"): "board: means",
    ("board", "leader"): "board: leader",
    ("board", "rank sets"): "board: rank sets",
    ("board", "difference"): "board: difference",
    ("gate", "difference"): "differences",
    ("gate", "false pass"): "gate passes the margin",
    ("gate", "false pass, all equal"): "gate passes, all equal",
    ("gate", "false fail"): "gate fails equals",
    ("gate", "equivalent"): "equivalent at the margin",
    ("groups", "means"): "groups: means",
    ("groups", "max-T"): "groups: max-T",
    ("groups", "false pass"): "groups: gate passes the margin",
    ("bags", "means"): "bags: means",
    ("bags", "leader"): "bags: leader",
    ("bags", "rank sets"): "bags: rank sets",
    ("bags", "difference"): "bags: differences",
    ("bags", "false pass"): "bags: gate passes the margin",
}
"""Rows of the table by part and quantity."""
UNNAMED = "not named"
"""In the names of truths whose groups are not named: no method promises anything there."""


def chosen(rows: Sequence[Row], part: str, quantity: str) -> list[Row]:
    """Return the rows behind a row of the table."""
    found = [row for row in rows if (row.part, row.quantity) == (part, quantity)]
    return [row for row in found if UNNAMED not in row.truth]


def is_error(quantity: str) -> bool:
    """Return whether a quantity should be small."""
    return GOALS[quantity.removesuffix(WORST)].error


def table(rows: Sequence[Row]) -> str:
    """Return the table: of each quantity the range over all truths, and how many miss the goal."""
    lines = [
        "| quantity | nominal | lowest | highest | s.e. | samples | truths | outside |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (part, quantity), name in SHOWN.items():
        found = chosen(rows, part, quantity)
        if not found:
            continue
        rates = sorted(float(row.measured) for row in found)
        error, least = max(float(row.error) for row in found), min(row.samples for row in found)
        failed = sum(row.fails != "" for row in found)
        outside = f"**{failed}**" if failed else "0"
        numbers = (found[0].nominal, *(f"{x:.3f}" for x in (rates[0], rates[-1], error)), least)
        lines.append("| " + " | ".join(map(str, (name, *numbers, len(found), outside))) + " |")
    return "\n".join(lines)


def failures(rows: Sequence[Row]) -> str:
    """Return what fails, by quantity and truth: each rate with the number of its units."""
    lines = []
    for (part, quantity), name in SHOWN.items():
        failed = [row for row in chosen(rows, part, quantity) if row.fails]
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
        for k, row in enumerate(found):
            y = place + 0.6 * ((k + 0.5) / len(found) - 0.5)
            rate, spread = float(row.measured), 2 * float(row.error)
            color = "#c0392b" if row.fails else "#2c6fad"
            axes.plot([rate - spread, rate + spread], [y, y], color=color, linewidth=0.7)
            if rate > high:
                axes.plot([high], [y], ">", color=color, markersize=5, clip_on=False)
            axes.plot([rate], [y], ".", color=color, markersize=3.5)
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
