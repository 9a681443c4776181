"""The document with the id of its topic: noted, or left out as BEIR does, in each form of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import pytrec_eval

import scorecube as sc

if TYPE_CHECKING:
    from tests.conftest import Cli

QRELS = {"q1": {"d1": 1, "q1": 2, "d2": 0}, "q2": {"q1": 1, "d1": 2}, "d3": {"d1": 1}}
RUN = {"q1": {"q1": 3.0, "d2": 2.0, "d1": 1.0}, "q2": {"d1": 2.0, "q1": 1.0}, "d3": {"d3": 1.0}}
METRICS = {"nDCG@10": "ndcg_cut_10", "P@5": "P_5", "AP": "map"}


def of_beir() -> dict[str, dict[str, float]]:
    """Return the scores of BEIR 2.2.0: the identical ids leave the run, not the judgements."""
    left = {topic: {name: score for name, score in of.items() if name != topic} for topic, of in RUN.items()}  # fmt: skip
    asked = {"ndcg_cut.10", "P.5", "map"}
    return pytrec_eval.RelevanceEvaluator(QRELS, asked).evaluate(left)


def lines(comment: str = "") -> str:
    return comment + "".join(
        f"{t} Q0 {d} 1 {s} me\n" for t, of in RUN.items() for d, s in of.items()
    )


def as_file(folder: Path) -> Path:
    path = folder / "me.run"
    path.write_text(lines())
    return path


def as_odd_file(folder: Path) -> Path:
    path = folder / "me.run"
    path.write_text(lines("# a comment\n"))
    return path


FORMS: dict[str, Callable[[Path], Any]] = {
    "file": as_file,
    "file with a comment": as_odd_file,
    "memory": lambda _: {"me": RUN},
}


@pytest.mark.parametrize("form", FORMS)
def test_scores_are_those_of_beir(form: str, tmp_path: Path) -> None:
    said: list[str] = []
    runs = FORMS[form](tmp_path)
    rankings = sc.read_rankings(runs, QRELS, ignore_identical=True, notify=said.append)
    cube = sc.evaluate(rankings, list(METRICS))
    expected = of_beir()
    for metric, name in METRICS.items():
        here = cube["score"].sel(metric=metric, run="me").values[0]
        there = [expected.get(str(t), {}).get(name, 0.0) for t in cube["topic"].values]
        np.testing.assert_allclose(here, there, atol=1e-9)
    assert len([line for line in said if "2 of 3" in line]) == 1


@pytest.mark.parametrize("form", FORMS)
def test_without_the_option_one_line_names_it(form: str, tmp_path: Path) -> None:
    said: list[str] = []
    rankings = sc.read_rankings(FORMS[form](tmp_path), QRELS, notify=said.append)
    (line,) = [line for line in said if "2 of 3" in line]
    assert "ignore_identical=True" in line
    assert rankings["n_retrieved"].sel(run="me").values.tolist() == [1, 3, 2]
    assert "ignore_identical" not in rankings.attrs


def test_ids_that_do_not_coincide_say_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    runs = {"me": {"q1": {"d1": 1.0}, "q2": {"q1": 1.0}}}
    sc.read_rankings(runs, QRELS, notify=said.append)
    assert not [line for line in said if "id of" in line]


def test_another_option_is_another_evaluation(scorecube: Cli, tmp_path: Path) -> None:
    qrels = tmp_path / "qrels"
    qrels.write_text("".join(f"{t} 0 {d} {n}\n" for t, of in QRELS.items() for d, n in of.items()))
    files = ["--runs", as_file(tmp_path), "--qrels", qrels]
    words = ["evaluate", tmp_path / "s", "--name", "a", *files]
    scorecube(*words, "--metrics", "AP").succeeded()
    again = scorecube(*words, "--metrics", "P@5", "--ignore-identical")
    assert again.status == 1
    assert "--replace" in again.stderr
