"""Files of public reports, beside the repository: each whole kind is read, or refused plainly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.errors import BadInput

CASES = Path(__file__).parents[3] / "shared" / "cases"
pytestmark = pytest.mark.skipif(
    not CASES.exists(), reason="the cases are not beside the repository"
)
MEANS: dict[str, tuple[list[str], dict[str, Any], dict[str, float]]] = {
    # Files, options, mean of "metric run".
    "autojudge-tot": (["judge.eval.txt"], {}, {"SCORE berry": 0.5, "HAS_KEYWORDS leaf": 1.0}),
    "datasets-down-matrix": (["dataset.csv"], {}, {"dataset rf": 2.65 / 3, "dataset svm": 0.85}),
    "inspect-small-log": (
        ["insp_red_a.json", "insp_red_b.json"], {}, {"match m/a": 0.6, "match m/b": 0.4},
    ),
    "lm-eval-before-0.4.7": (
        ["*/*.jsonl"], {}, {"acc org__old": 0.5, "acc_norm org__old": 0.5},
    ),
    "lm-eval-loglikelihood": (
        ["*/*.jsonl"], {}, {"loglikelihood org__good": -1.35, "loglikelihood org__bad": -3.35},
    ),
    "ranx-spellings": (["ranx.json"], {}, {"nDCG@10 bm25": 0.6, "RR@10 dense": 1.0, "AP bm25": 0.25}),
}  # fmt: skip


@pytest.mark.parametrize("name", MEANS)
def test_scores_of_reports_are_read(name: str) -> None:
    patterns, options, expected = MEANS[name]
    files = [str(CASES / name / pattern) for pattern in patterns]
    cube = sc.import_scores(files, notify=lambda _: None, **options)
    means = cube["score"].mean("topic").isel(gain=0)
    for label, value in expected.items():
        metric, run = label.split(" ")
        assert means.sel(metric=metric, run=run).item() == pytest.approx(value)


def test_columns_of_words_beside_data_sets_are_named() -> None:
    said: list[str] = []
    file = CASES / "datasets-down-matrix" / "opencompass.csv"
    cube = sc.import_scores(file, metric="accuracy", notify=said.append)
    assert cube.sizes["run"] == 2
    assert "not read: version, metric, mode (text)" in said


def test_saved_runs_and_judgements_of_ranx_are_read() -> None:
    folder = CASES / "ranx-saved-files"
    cube = sc.evaluate(sc.read_rankings(folder / "run.json", folder / "qrels.json"), ["AP"])
    assert cube["score"].mean().item() == 0.75


def test_named_dims_say_all_that_is_needed() -> None:
    scores = np.random.default_rng(0).random((2, 4, 30))
    labels = {"metric": ["AP", "RR"], "run": list("abcd"), "topic": [str(k) for k in range(30)]}
    array = xr.DataArray(scores, labels, ("metric", "run", "topic"), name="score")
    cube = sc.cube_from_scores(array.transpose("topic", "metric", "run"))
    assert cube.identical(sc.cube_from_scores(array.to_dataset()))
    found = cube["score"].isel(gain=0).sel(labels).transpose("metric", "run", "topic")
    np.testing.assert_array_equal(found.values, scores)


def test_scores_of_1e30_are_named_by_line(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("run,topic,score\na,1,0.5\na,2,1e30\n")
    with pytest.raises(BadInput, match=r":3: .*1e30"):
        sc.import_scores(tmp_path / "s.csv")


def test_paths_that_are_not_utf_8_are_read(tmp_path: Path) -> None:
    path = tmp_path / "ap\udce9.csv"
    path.write_text("topic,a\n1,0.5\n")
    cube = sc.import_scores(path, metric="AP")
    assert cube["score"].item() == 0.5
