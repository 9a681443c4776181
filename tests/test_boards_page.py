"""`docs/believe/boards.md` has a row for every truth and method of boards, and marks what misses its goal."""

from __future__ import annotations

from pathlib import Path

from tests.simulations import __main__ as simulations
from tests.simulations import boards

PAGE = (Path(__file__).parents[1] / "docs/believe/boards.md").read_text(encoding="utf-8")
METHODS = {
    "equal means": {"any pair separated"},
    "gate": {"difference in a collection", "difference of means over collections"},
    "mean rank (Borda)": {"percentiles", "reflected percentiles", "normal, bias corrected"},
    "": {"means", "means, t", "leader", "all rank sets"},
}


def test_every_truth_and_method_is_printed_and_failures_are_marked() -> None:
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.splitlines()
        if line.startswith("| ") and "collections, " in line
    ]
    known = dict(simulations.ROWS["boards"]())
    assert {row[0] for row in cells} == set(known)
    for label, expected in known.items():
        kind = next(each for each in METHODS if label.endswith(each))
        assert {row[1] for row in cells if row[0] == label} == METHODS[kind]
        low, high = expected.goal
        for row in cells:
            if row[0] == label:
                missed = not low <= float(row[2].strip("*")) <= high
                assert row[2].startswith("**") == missed, row
                assert int(row[4]) > 0


def test_sizes_are_those_of_the_page() -> None:
    assert [(min(each), max(each)) for each in map(boards.sizes, boards.NUMBERS)] == [
        (20, 1000)
    ] * 3
    assert "4, 10 and 40 collections of 20 to 1,000 topics" in PAGE
    assert f"{boards.N_RUNS} runs, {boards.TRIALS} trials" in PAGE
    samples = boards.samples_of(boards.binary_board(4, 0.1), 2, 1)
    assert [len(each) for each in samples] == [2] * 4
    found = boards.mean_ranks(boards.normal_board(4, 0.03), 1, 1)
    assert {name: values.shape for name, values in found.items()} == dict.fromkeys(
        METHODS["mean rank (Borda)"], (1,)
    )
