"""`docs/believe/ranks.md` has a row for every simulated population, and marks what misses its level."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.simulations import families, ranks, repetitions

PAGE = (Path(__file__).parents[1] / "docs/believe/ranks.md").read_text(encoding="utf-8")


def table(first: str) -> list[list[str]]:
    """Return the cells of the table whose first heading is given."""
    lines = PAGE.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith(f"| {first} |"))
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def test_the_script_draws_a_leaderboard_of_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = np.random.default_rng(1)
    easy = chance.uniform(0, 1, 30)
    rows = [
        (f"model {m}", seed, f"q{item}", int(chance.uniform() < 0.3 + 0.2 * m + 0.3 * easy[item]))
        for m in range(3)
        for seed in range(1, 2 + 2 * m)
        for item in range(30)
    ]
    frame = pd.DataFrame(rows, columns=["model", "seed", "item", "score"])
    frame.to_csv(tmp_path / "scores.csv", index=False)
    monkeypatch.chdir(tmp_path)
    (script,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert len(script.splitlines()) <= 10
    exec(script, {})
    printed = capsys.readouterr().out
    assert [f"model {m}" in printed for m in range(3)] == [True] * 3
    assert (tmp_path / "leaderboard.png").stat().st_size > 10_000


def name_of(source: str) -> str:
    return source.removesuffix(".csv").replace("/", " ")


def test_every_population_is_printed() -> None:
    expected = ["one erratic run of 30", *map(name_of, families.COLLECTIONS)]
    assert [row[0] for row in table("topics of")] == expected
    assert [row[0] for row in table("other samples of")] == expected
    assert {row[0] for row in table("population")} == set(map(name_of, ranks.COLLECTIONS))
    for first in ("systems of", "pairs of systems of"):
        assert [tuple(row[:3]) for row in table(first)] == [
            (name_of(source), str(n), runs)
            for source in repetitions.COLLECTIONS
            for n in repetitions.SYSTEMS
            for runs in repetitions.RUNS
        ]


@pytest.mark.parametrize(
    ("first", "columns", "is_marked"),
    [
        ("topics of", slice(3, 7), lambda value: value > families.MARKED),
        ("other samples of", slice(1, 2), lambda value: value > families.MARKED),
        ("pairs of systems of", slice(3, 8), lambda value: value > repetitions.MARKED),
        ("population", slice(3, 9), lambda value: value < ranks.MARKED),
        ("systems of", slice(3, 10), lambda value: value > repetitions.MARKED),
        ("systems of", slice(10, 11), lambda value: value < repetitions.MARKED_COVERAGE),
    ],
)
def test_what_misses_its_level_is_marked(first: str, columns: slice, is_marked: object) -> None:
    assert callable(is_marked)
    for row in table(first):
        for cell in filter(None, row[columns]):
            value = float(re.sub(r"\*", "", cell))
            assert cell.startswith("**") == is_marked(value), row
