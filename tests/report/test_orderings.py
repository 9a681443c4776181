"""How consistently collections order the measures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scorecube as sc
from scorecube.errors import BadName
from scorecube.report.orderings import orderings
from scorecube.testing import simulate_cube
from tests.conftest import Cli


def frame_of(shares: dict[str, list[float | None]]) -> pd.DataFrame:
    rows = [
        {"collection": name, "metric": f"M{k}", "gain": "auto", "alpha": 0.05, "share": share}
        for name, values in shares.items()
        for k, share in enumerate(values)
    ]
    return pd.DataFrame(rows)


def kendall_w(ranks: list[list[float]]) -> float:
    """Kendall's W without ties, from its definition."""
    m, n = len(ranks), len(ranks[0])
    sums = [sum(row[k] for row in ranks) for k in range(n)]
    mean = sum(sums) / n
    return 12 * sum((each - mean) ** 2 for each in sums) / (m * m * (n**3 - n))


def test_ranks_and_concordance_by_hand() -> None:
    found = orderings(
        "bootstrap",
        frame_of({"x": [0.9, 0.5, 0.7, 0.1], "y": [0.8, 0.6, 0.4, 0.2], "z": [0.3, 0.9, 0.2, 0.1]}),
    )
    ranks = [[1.0, 3.0, 2.0, 4.0], [1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 3.0, 4.0]]
    by_metric = found.set_index("metric")
    for k in range(4):
        column = [row[k] for row in ranks]
        row = by_metric.loc[f"M{k}"]
        assert (row["mean_rank"], row["best_rank"], row["worst_rank"]) == (
            np.mean(column),
            min(column),
            max(column),
        )
    assert found["kendall_w"].to_numpy() == pytest.approx(kendall_w(ranks))
    assert found["mean_rank"].is_monotonic_increasing


def test_missing_values_come_last_and_other_measures_apart() -> None:
    frame = frame_of({"x": [0.9, None, 0.7], "y": [0.8, 0.6, 0.4], "z": [0.8, 0.6, 0.4, 0.3]})
    found = orderings("bootstrap", frame).set_index("metric")
    assert set(found["collections"]) == {"x, y"}
    assert found.loc["M1", "worst_rank"] == 3.0
    assert found.loc["M1", "mean"] == 0.6


def test_equal_measures_have_no_ordering() -> None:
    found = orderings("bootstrap", frame_of({"x": [0.5, 0.5, 0.5], "y": [0.4, 0.4, 0.4]}))
    assert found["kendall_w"].isna().all()
    assert (found["mean_rank"] == 2.0).all()


def test_what_cannot_be_ordered_is_told() -> None:
    with pytest.raises(BadName, match="does not order metrics"):
        orderings("correlate", pd.DataFrame())
    with pytest.raises(BadName, match="no two collections"):
        orderings("bootstrap", frame_of({"x": [0.9, 0.5, 0.7]}))


def test_on_the_command_line(scorecube: Cli, tmp_path: Path) -> None:
    study = sc.open_study(tmp_path / "s.zarr", mode="a")
    for seed, name in enumerate(("one", "two")):
        study.add(
            name, cube=simulate_cube(metrics=["AP", "P@10", "nDCG@10", "RR"], n_runs=8, seed=seed)
        )
    scorecube(
        "bootstrap", tmp_path / "s.zarr", "--trials", 200, "--seed", 1, "--alpha", "0.05"
    ).succeeded()
    lines = (
        scorecube("show", tmp_path / "s.zarr", "bootstrap", "--orderings", "--format", "csv")
        .succeeded()
        .stdout.splitlines()
    )
    assert (
        lines[0]
        == "alpha,metric,gain,mean_rank,best_rank,worst_rank,mean,collections,kendall_w,p_value"
    )
    assert len(lines) == 5
    designs = scorecube("show", tmp_path / "s.zarr", "design", "--orderings").succeeded().stdout
    assert "one, two" in designs
