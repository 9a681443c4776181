"""Reports of users, beside the repository: what was wrong is right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.conftest import Cli

CASES = Path(__file__).parents[2] / "shared" / "cases"
pytestmark = pytest.mark.skipif(
    not CASES.exists(), reason="the cases are not beside the repository"
)


def rows(scorecube: Cli, *words: object) -> list[dict[str, Any]]:
    return json.loads(scorecube(*words, "--format", "json").stdout)  # type: ignore[no-any-return]


def evaluated(scorecube: Cli, study: Path, case: str, metrics: str) -> str:
    """Evaluate the runs of a case, and return what is said."""
    runs = [word for run in sorted((CASES / case).glob("*.run")) for word in ("--runs", run)]
    words = ["evaluate", study, "--name", "r", *runs, "--qrels", CASES / case / "q.qrels"]
    return scorecube(*words, "--metrics", metrics).succeeded().stderr


def test_recall_bounds(scorecube: Cli, tmp_path: Path) -> None:
    """Equal scores have equal limits, leaders and verdicts under every name of a metric."""
    study = tmp_path / "s"
    evaluated(scorecube, study, "recall-bounds", "Recall@10,AP")
    scorecube("leaderboard", study).succeeded()
    leaders = [row for row in rows(scorecube, "show", study, "leaderboard") if row["rank"] == 1]
    limits = [(row["run"], row["mean_low"], row["mean_high"]) for row in leaders]
    assert limits[0] == limits[1]
    assert limits[0][0] == "a"
    assert 0.7 < limits[0][1] < 27 / 28 < limits[0][2] <= 1
    words = ("gate", study, "--run", "a", "--baseline", "b", "--margin", 0.01)
    first, second = rows(scorecube, *words)
    assert scorecube(*words).status == 4
    assert first | {"metric": ""} == second | {"metric": ""}
    assert first["verdict"] == "no verdict"
    assert -1 < first["low"] < 0 < first["high"] < 1


def test_wilcoxon_ties(scorecube: Cli, tmp_path: Path) -> None:
    """The p-value of a pair does not depend on a third run with other digits; it is SciPy's, with ties."""
    study, found = tmp_path / "s", []
    for name in ("two", "three"):
        file = CASES / "wilcoxon-ties" / f"{name}.csv"
        scorecube("import", study, file, "--name", name, "--metric", "my_score").succeeded()
        scorecube("paired", study, "--collection", name, "--tests", "wilcoxon").succeeded()
        words = (study, "paired", "--collection", name, "--table", "pairs")
        for row in rows(scorecube, "show", *words):
            if (row["run_a"], row["run_b"]) == ("a", "b"):
                found.append(row.get("p_wilcoxon", row.get("p_value")))
    assert found[0] == found[1] == pytest.approx(0.2218, abs=5e-5)


def test_equal_metric_note(scorecube: Cli, tmp_path: Path) -> None:
    """Metrics that the command computed are no columns of a file."""
    said = evaluated(scorecube, tmp_path / "s", "equal-metric-note", "AP,nDCG@3,RR")
    assert "nDCG@3" not in said
    assert "number of the topic" not in said
