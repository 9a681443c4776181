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
    runs = ["--run", "a", "--baseline", "b", "--margin", 0.01]
    words = ["gate", study, *runs, "--metrics", "Recall@10,AP"]
    first, second = json.loads(scorecube(*words, "--format", "json").stdout)["rows"]
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
    """Runs that are equal in their first documents are not told apart by metrics of these."""
    said = evaluated(scorecube, tmp_path / "s", "equal-metric-note", "AP,nDCG@3,RR")
    (line,) = [line for line in said.splitlines() if "nDCG@3" in line]
    assert "nDCG@3, RR" in line
    assert "AP" not in line


def test_err_gdeval_max_grade(scorecube: Cli, tmp_path: Path) -> None:
    """gdeval's scale ends at 4, whether a document has that level or not."""
    case = CASES / "err-gdeval-max-grade"
    words = ["evaluate", tmp_path / "s", "--name", "w", "--runs", case / "a.run"]
    scorecube(*words, "--qrels", case / "max3.qrels", "--metrics", "ERR(form=exp2)@20").succeeded()
    (row,) = rows(scorecube, "show", tmp_path / "s", "scores")
    assert row["mean"] == pytest.approx(0.1862, abs=5e-5)


def test_self_retrieval(scorecube: Cli, tmp_path: Path) -> None:
    """A topic's own document in its run is noted, with the option of BEIR that leaves it out."""
    said = evaluated(scorecube, tmp_path / "s", "self-retrieval", "nDCG@10,RR")
    (line,) = [line for line in said.splitlines() if "3 of 3" in line]
    assert "--ignore-identical" in line
    case = CASES / "self-retrieval"
    words = ["--runs", case / "bm25.run", "--qrels", case / "q.qrels", "--metrics", "nDCG@10,RR"]
    done = scorecube("evaluate", tmp_path / "t", "--name", "r", *words, "--ignore-identical")
    assert "left out" in done.succeeded().stderr
    means = [row["mean"] for row in rows(scorecube, "show", tmp_path / "t", "scores")]
    assert means == pytest.approx([0.8770, 0.8333], abs=5e-5)
