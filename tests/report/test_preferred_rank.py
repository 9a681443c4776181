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


def test_tau_is_a_triangle_with_intervals_and_marks() -> None:
    """The first number of S3 Table 2: .854 [.649, 1.059], in bold."""
    result = sc.analyse(ranked_apart(44, round(946 * (1 - 0.854) / 2)), sc.Correlation(), seed=1)
    assert sc.table(result, "triangle").iloc[0, -1] == ".854 [.649, 1.059]*"
    cube = simulate_cube(n_runs=20, metrics=("AP", "Q", "RR"), gains=GAINS)
    several = sc.analyse(cube, sc.Correlation(), trials=1, seed=1)
    wide = sc.table(several, "triangle")
    pairs = sc.table(several, "metrics")
    filled = wide.drop(columns=["collection", "gain", "metric"]) != ""
    assert filled.to_numpy().sum() == len(pairs)
    for row in pairs.to_dict("records"):
        of_row = (wide["gain"] == row["gain"]) & (wide["metric"] == row["metric_b"])
        (cell,) = wide.loc[of_row, row["metric_a"]]
        assert cell.startswith(f"{row['tau']:.3f} [".replace("0.", ".", 1))
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
