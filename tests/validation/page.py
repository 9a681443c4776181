"""The numbers of docs/believe/ranks.md, from the rows of ranks.csv: its table, and what fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby, product
from pathlib import Path

from tests.validation.cases import Row, read

PAGE = Path(__file__).parents[2] / "docs" / "believe" / "ranks.md"
CSV = PAGE.with_suffix(".csv")
LIMITS = ("means", "leader", "rank sets", "difference")
VERDICTS = ("false pass", "false fail", "fail at half")
SHOWN: dict[tuple[str, tuple[str, ...]], str] = {
    ("means", ("means",)): "means",
    ("means", ("means, worst",)): "means, worst of 12 runs",
    ("means", ("bias (without limits)",)): "means without limits",
    ("leader", ("leader",)): "leader, equal runs",
    ("leader", ("means",)): "leaders by themselves, and other runs",
    ("sets", ("leader",)): "leader, others",
    ("sets", ("rank sets",)): "rank sets",
    ("gate", ("difference",)): "differences",
    ("retrained", ("retrained",)): "differences, other training runs",
    ("effects", ("effect sizes",)): "effect sizes",
    ("effects", ("effect sizes, worst",)): "effect sizes, worst pair",
    ("board", LIMITS): "board, all of these",
    ("bags", LIMITS): "bags, all of these",
    ("groups", ("means",)): "groups: means",
    ("maxt", ("max-T",)): "max-T",
    ("groups", ("max-T",)): "groups: max-T",
    ("friedman", ("Friedman",)): "Friedman",
    ("friedman", ("Nemenyi",)): "Nemenyi",
    ("friedman", ("mean ranks, Holm",)): "mean ranks, Holm",
    ("gate", ("false pass",)): "gate passes the margin",
    ("gate", ("fail at half",)): "gate fails half the margin",
    ("gate", ("false fail",)): "gate fails equals",
    ("board", VERDICTS): "board: gate errs",
    ("groups", VERDICTS): "groups: gate errs",
    ("bags", VERDICTS): "bags: gate errs",
    (
        "many",
        ("any fail of equals", "any fail of equals, the mean"),
    ): "gate of 25 rows fails equals",
    ("many", ("any fail at half the margin",)): "gate of 25 rows fails half the margin",
    ("many", ("all pass at the margin",)): "gate of 25 rows passes the margin",
    ("pairs", ("paired t: p against limits", "compare: p against limits")): "p against limits",
    ("pairs", ("t with Holm",)): "t with Holm, near the end of the range",
    ("pairs", ("Tukey limits",)): "Tukey's limits, near the end of the range",
    ("battles", ("strengths",)): "battles: strengths",
    ("battles", ("strengths, worst",)): "battles: strengths, worst system",
    ("battles", ("battles: rank sets",)): "battles: rank sets",
    ("battles", ("share without strengths",)): "battles: share without some strength",
    ("gate", ("equivalent",)): "equivalent at the margin",
}
"""Rows of the table by part and quantities."""


def chosen(rows: Sequence[Row], part: str, quantities: tuple[str, ...]) -> list[Row]:
    """Return the rows behind a row of the table."""
    return [row for row in rows if row.part == part and row.quantity in quantities]


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


def of_seeds(rows: Sequence[Row]) -> str:
    """Return the table of training runs: coverage by seeds and collections, with and without shifts."""
    lines = [
        "| seeds | collections | no shifts | shifts | shifts, limits over items alone |",
        "|---|---|---|---|---|",
    ]
    for seeds, many in product((2, 3, 5), ("1 collection", "4 collections")):
        cells = []
        for shifts, quantity in (
            ("no shifts", "retrained"),
            ("shifts", "retrained"),
            ("shifts", "limits over items alone"),
        ):
            end = f", {shifts}, {seeds} seeds, {many}"
            found = chosen(rows, "retrained", (quantity,))
            rates = sorted(float(row.measured) for row in found if row.truth.endswith(end))
            cells.append(f"{rates[0]:.3f} to {rates[-1]:.3f}" if rates else "")
        lines.append(f"| {seeds} | {many[0]} | {' | '.join(cells)} |")
    return "\n".join(lines)


PARTS: dict[str, Callable[[Sequence[Row]], str]] = {
    "table": table,
    "failures": failures,
    "seeds": of_seeds,
}


def renewed(text: str, rows: Sequence[Row]) -> str:
    """Return the page with the table and the failures of some rows between its marks."""
    for name, make in PARTS.items():
        begin, end = f"<!-- {name} of ranks.csv -->\n", f"\n<!-- end of {name} -->"
        before, rest = text.split(begin)
        text = before + begin + make(rows) + end + rest.split(end)[1]
    return text


def renew() -> None:
    """Write the page's numbers."""
    PAGE.write_text(renewed(PAGE.read_text(), read(CSV)))
