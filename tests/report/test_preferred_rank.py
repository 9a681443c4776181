"""The table of maximum preferred ranks (S1 Tables 7-9): against plain Python, on real runs, and what the printed tables add up to."""

from __future__ import annotations

import csv
import itertools
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import scorecube as sc
from scorecube.collection.rankings import rankings_dataset
from scorecube.errors import natural_key
from scorecube.testing import simulate_cube
from tests.analyses.test_correlation import ranked_apart
from tests.oracles.teams import preferred_ranks, read_qrels, read_run

Row = dict[str, Any]
GAINS = ("3:2:1", "1:1:1", "10:5:1")
TABLE_1 = {
    "NTCIR-3 Chinese": (42, "78.2", "21.0", "24.9", "32.3"),
    "NTCIR-3 Japanese": (42, "60.4", "7.9", "31.5", "21.0"),
    "NTCIR-5 Chinese": (50, "61.0", "7.0", "30.7", "23.3"),
    "NTCIR-5 Japanese": (47, "89.1", "3.2", "41.8", "44.2"),
}
"""S1 Table 1 as printed: topics, relevant documents per topic in all and of the levels S, A and B."""


def rows_of(rankings: xr.Dataset) -> list[Row]:
    return [
        # A label that is missing beside others is not a number to pandas.
        {str(key): None if value != value else value for key, value in row.items()}
        for row in sc.table(rankings, "preferred_rank").to_dict("records")
    ]


def expected_rows(
    levels: dict[str, dict[str, list[int]]], judged: dict[str, list[int]]
) -> list[Row]:
    """Return the rows that plain Python finds, of lists of levels by topic and run."""
    rows = []
    for topic in sorted(judged, key=natural_key):
        run, rank, found = preferred_ranks(
            {name: lists.get(topic, []) for name, lists in levels.items()}
        )
        row: Row = {"collection": "", "topic": topic, "run": run, "rank": rank}
        for level in range(len(judged[topic]) - 1, 0, -1):
            row |= {
                f"found_level_{level}": found.count(level),
                f"n_level_{level}": judged[topic][level],
            }
        rows.append(row)
    return rows


def rankings_of(levels: Any, retrieved: int, judged: Any, runs: Any, topics: Any) -> xr.Dataset:
    counts = np.full(levels.shape[:2], retrieved, np.int32)
    arrays = {"level_at_rank": levels, "n_retrieved": counts, "n_judged": judged}
    return rankings_dataset(arrays, runs, topics, runs, {})


@settings(max_examples=60)
@given(
    st.integers(1, 4).flatmap(
        lambda n_runs: st.lists(
            st.lists(st.lists(st.integers(-1, 3), min_size=6, max_size=6), min_size=n_runs, max_size=n_runs),
            min_size=1, max_size=4,
        )
    )
)  # fmt: skip
def test_any_lists(by_topic: list[list[list[int]]]) -> None:
    levels = np.array(by_topic, np.int8).transpose(1, 0, 2)
    n_runs, n_topics, _ = levels.shape
    runs, topics = [f"run{k}" for k in range(n_runs)], [f"t{k}" for k in range(n_topics)]
    judged = np.tile([9, 8, 7, 6], (n_topics, 1))
    rankings = rankings_of(levels, 6, judged, runs, topics)
    plain = {
        run: {topic: levels[k, j].tolist() for j, topic in enumerate(topics)}
        for k, run in enumerate(runs)
    }
    assert rows_of(rankings) == expected_rows(plain, {topic: [9, 8, 7, 6] for topic in topics})


@pytest.mark.data
@pytest.mark.parametrize(
    ("collection", "qrels", "order", "n_runs"),
    [("trec-covid-r5", "qrels.txt", "file", 126), ("trec8-adhoc", "qrels.txt.gz", "file", 129)],
)
def test_real_runs(data: Path, collection: str, qrels: str, order: str, n_runs: int) -> None:
    folder = data / collection
    rankings = sc.read_rankings(folder / "runs", folder / qrels, order=order)
    assert rankings.sizes["run"] == n_runs
    level_of = read_qrels(folder / qrels)
    highest = max(level for documents in level_of.values() for level in documents.values())
    lists: dict[str, dict[str, list[int]]] = {}
    for path in sorted((folder / "runs").iterdir()):
        name, ranked = read_run(path)
        lists[name] = {
            topic: [level_of[topic].get(document, -1) for document in documents]
            for topic, documents in ranked.items()
            if topic in level_of
        }
    judged = {
        topic: [list(documents.values()).count(level) for level in range(highest + 1)]
        for topic, documents in level_of.items()
    }
    found = rows_of(rankings)
    assert found == expected_rows(lists, judged)
    # The highest level found is at the preferred rank for the first time (so also in S1 Tables 7-9).
    for row in found:
        top = next(level for level in range(highest, 0, -1) if row[f"found_level_{level}"])
        assert row[f"found_level_{top}"] == 1


def printed_tables() -> dict[str, list[dict[str, int]]]:
    """Return the counts printed in S1 Tables 7-9, collection -> a record a topic."""
    text = package_files("scorecube").joinpath("data/ntcir_clir.csv").read_text(encoding="utf-8")
    found: dict[str, list[dict[str, int]]] = {}
    for row in csv.DictReader(text.splitlines()):
        numbers = {
            key: int(value) for key, value in row.items() if key not in ("collection", "topic")
        }
        found.setdefault(row["collection"], []).append(numbers)
    return found


def test_table_1_is_what_the_table_statistics_shows() -> None:
    for collection, rows in printed_tables().items():
        judged = np.array([[0, row["b"], row["a"], row["s"]] for row in rows])
        lists = np.zeros((1, len(rows), 1), np.int8)
        topics = [f"{k:03d}" for k in range(len(rows))]
        rankings = rankings_of(lists, 1, judged, ["a"], topics)
        (row,) = sc.table(rankings, "statistics").to_dict("records")
        _, _, *by_level = TABLE_1[collection]
        assert [f"{row[f'n_level_{level}']:.1f}" for level in (3, 2, 1)] == by_level


def test_p_measure_follows_from_every_printed_row() -> None:
    """BR at the preferred rank needs the rank and the counts only (S1 equation 6), whatever the order above it."""
    from scorecube.metrics import gain_values, parse_metric

    for rows in printed_tables().values():
        for row in rows:
            found, total = ([row[f"{level}{end}"] for level in "bas"] for end in ("_found", ""))
            top = max(level for level in (1, 2, 3) if found[level - 1])
            above = [level for level in (1, 2, 3) for _ in range(found[level - 1] - (level == top))]
            levels = [0] * (row["max_preferred_rank"] - 1 - len(above)) + above + [top]
            score = parse_metric("P-measure").score(
                np.array(levels, np.int8), np.array([0, *total]), gain_values("3:2:1", 3)
            )
            rank = row["max_preferred_rank"]
            gains = sum(level * count for level, count in zip((1, 2, 3), found, strict=True))
            ideal = sum(
                sorted(
                    (level for level in (1, 2, 3) for _ in range(total[level - 1])), reverse=True
                )[:rank]
            )
            assert float(score) == pytest.approx((gains + sum(found)) / (ideal + rank), rel=1e-12)


@pytest.mark.data
def test_the_stored_counts_are_those_of_the_paper(data: Path) -> None:
    """Every row of the package's file stands in the text of S1, with the counts in the way it prints them."""
    papers = list((data.parent / "papers").glob("001_*.txt"))
    if not papers:
        pytest.skip("the papers (../shared/papers) are not beside this repository")
    cells = [
        [cell.strip() for cell in line.split("\t")]
        for line in papers[0].read_text(encoding="utf-8").splitlines()
    ]
    printed = [
        row[start : start + 5]
        for row in cells
        if len(row) == 10
        for start in (0, 5)
        if row[start].isdigit()
    ]
    text = package_files("scorecube").joinpath("data/ntcir_clir.csv").read_text(encoding="utf-8")
    stored = [
        [
            row["topic"],
            row["max_preferred_rank"],
            *(f"{row[f'{level}_found']}({row[level]})" for level in "sab"),
        ]
        for row in csv.DictReader(text.splitlines())
    ]
    assert len(stored) == 181
    assert sorted(stored) == sorted(printed)


def test_tau_is_a_triangle_with_intervals_and_marks() -> None:
    """The first number of S3 Table 2: .854 [.649, 1.059], in bold."""
    result = sc.analyse(ranked_apart(44, round(946 * (1 - 0.854) / 2)), sc.Correlation(), seed=1)
    frame = sc.table(result, "triangle")
    assert [*frame.columns] == ["collection", "gain", "metric", str(result["metric"].values[0])]
    assert frame.iloc[0, -1] == "0.854 [0.649, 1.059]*"
    cube = simulate_cube(n_runs=20, metrics=("AP", "Q", "RR"), gains=GAINS)
    several = sc.analyse(cube, sc.Correlation(), trials=1, seed=1)
    wide = sc.table(several, "triangle")
    pairs = sc.table(several, "metrics")
    assert (wide.drop(columns=["collection", "gain", "metric"]) != "").to_numpy().sum() == len(
        pairs
    )
    for row in pairs.to_dict("records"):
        of_row = (wide["gain"] == row["gain"]) & (wide["metric"] == row["metric_b"])
        (cell,) = wide.loc[of_row, row["metric_a"]]
        assert cell.startswith(f"{row['tau']:.3f} [")
        assert cell.endswith("*") == row["exceeds_one"]


def test_every_gain_setting_is_compared_with_every_other() -> None:
    cube = simulate_cube(n_runs=12, metrics=("AP", "Q", "nDCG@10"), gains=GAINS)
    plan = sc.Correlation(every_gain=True)
    frame = sc.table(sc.analyse(cube, plan, trials=1, seed=1), "gains")
    labels = zip(frame["metric"], frame["default"], frame["gain"], strict=True)
    found = dict(zip(labels, frame["tau"], strict=True))
    pairs = list(itertools.combinations(GAINS, 2))
    assert [*found] == [(metric, *pair) for metric in ("Q", "nDCG@10") for pair in pairs]
    for (metric, first, other), tau in found.items():
        alone = cube.sel(gain=[first, other], metric=[metric])
        one = sc.analyse(alone, sc.Correlation(), trials=1, seed=1)
        assert sc.table(one, "gains")["tau"].tolist() == [tau]
