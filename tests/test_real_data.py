"""The public collections: official scores are met."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

if TYPE_CHECKING:
    from tests.conftest import Cli

pytestmark = pytest.mark.data

HALF_A_UNIT = 5.1e-5
"""Largest distance from a number that was printed with four decimals."""
COVID = "--metrics AP,P@20,nDCG@20,Q@20,P+ --gains 2:1,1:1"
COLLECTIONS = {
    "trec-covid-r5": f"--qrels qrels.txt {COVID}",
    "trec8-adhoc": "--qrels qrels.txt.gz --metrics P@10,nDCG@10 ",
    "clef-ehealth-2015": "--qrels qrels.txt --metrics P@10,nDCG@10 --run-name file",
}


def evaluate(scorecube: Cli, study: Path, folder: Path, options: str) -> str:
    """Evaluate a collection under the name of its folder; return what was said."""
    words = [str(folder / word) if word.startswith("qrels") else word for word in options.split()]
    files = ["--runs", folder / "runs", "--teams", folder / "teams.csv", *words]
    return scorecube("evaluate", study, "--name", folder.name, *files).succeeded().stderr


def shown(scorecube: Cli, study: Path, *words: object) -> pd.DataFrame:
    text = scorecube("show", study, *words, "--format", "csv").succeeded().stdout
    return pd.read_csv(io.StringIO(text), dtype={"run": str, "topic": str})


@pytest.fixture(scope="module")
def evaluated(data: Path, scorecube: Cli, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of three collections without results; not to be changed."""
    study = tmp_path_factory.mktemp("evaluated") / "study.zarr"
    for name, options in COLLECTIONS.items():
        evaluate(scorecube, study, data / name, options)
    return study


def test_statistics_of_trec_covid(scorecube: Cli, evaluated: Path) -> None:
    statistics = shown(
        scorecube, evaluated, "scores", "--table", "statistics", "--collection", "trec-covid-r5"
    )
    (row,) = statistics.to_dict("records")
    assert (row["n_runs"], row["n_teams"], row["n_topics"], row["judged"]) == (126, 28, 50, 23149)
    assert [row[f"n_level_{level}"] * 50 for level in range(3)] == pytest.approx(
        [12239, 4233, 6677]
    )


def off_official_scores(scorecube: Cli, study: Path, folder: Path, n_cells: int) -> set[str]:
    """Return the runs with a score that is not the official one to four decimals."""
    cells = shown(scorecube, study, "scores", "--table", "cells", "--collection", folder.name)
    off: set[str] = set()
    for metric, file in {"P@10": "P_10.csv", "nDCG@10": "ndcg_cut_10.csv"}.items():
        ours = cells[cells["metric"] == metric].pivot_table(
            index="topic", columns="run", values="score"
        )
        official = pd.read_csv(
            folder / "official-per-topic" / file, dtype={"topic": str}
        ).set_index("topic")
        # A topic without a relevant document has the official score 0.
        assert not official.drop(ours.index).to_numpy().any()
        assert ours.size == n_cells
        distance = (ours - official.loc[ours.index, ours.columns]).abs()
        off |= set(distance.columns[~(distance <= HALF_A_UNIT).all()])
    return off


@pytest.mark.parametrize(
    ("name", "n_cells", "off"),
    # The official scores of TREC-8 compare in double precision, as trec_eval 10 does.
    [("trec8-adhoc", 129 * 50, {"uwmt8a0"}), ("clef-ehealth-2015", 68 * 65, set())],
)
def test_official_scores_are_met_in_every_cell(
    scorecube: Cli, evaluated: Path, data: Path, name: str, n_cells: int, off: set[str]
) -> None:
    assert off_official_scores(scorecube, evaluated, data / name, n_cells) == off
