"""The public collections: official scores are met, and resampling gives the same counts however it is run."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

if TYPE_CHECKING:
    from tests.conftest import Cli, Tree

pytestmark = pytest.mark.data

REPO = Path(__file__).parents[1]
HALF_A_UNIT = 5.1e-5
"""Largest distance from a number that was printed with four decimals."""
COVID = "--metrics AP,P@20,nDCG@20,Q@20,P+ --gains 2:1,1:1"
COLLECTIONS = {
    "trec-covid-r5": f"--qrels qrels.txt {COVID}",
    "trec8-adhoc": "--qrels qrels.txt.gz --metrics P@10,nDCG@10 ",
    "clef-ehealth-2015": "--qrels qrels.txt --metrics P@10,nDCG@10 --run-name file",
}
SWAP = [
    "--collection",
    "trec-covid-r5",
    "--sampling",
    "disjoint",
    "--size",
    "25",
    "--trials",
    "1000",
    "--seed",
    "1",
]


def evaluate(scorecube: Cli, study: Path, folder: Path, options: str) -> str:
    """Evaluate a collection under the name of its folder; return what was said."""
    words = [str(folder / word) if word.startswith("qrels") else word for word in options.split()]
    files = ["--runs", folder / "runs", "--teams", folder / "teams.csv", *words]
    return scorecube("evaluate", study, "--name", folder.name, *files).succeeded().stderr


def shown(scorecube: Cli, study: Path, *words: object) -> pd.DataFrame:
    text = scorecube("show", study, *words, "--format", "csv").succeeded().stdout
    return pd.read_csv(io.StringIO(text), dtype={"run": str, "topic": str})


def rates(scorecube: Cli, study: Path) -> str:
    return (
        scorecube("show", study, "swap", "--table", "rates", "--format", "csv").succeeded().stdout
    )


@pytest.fixture(scope="module")
def evaluated(data: Path, scorecube: Cli, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of three collections without results; not to be changed."""
    study = tmp_path_factory.mktemp("evaluated") / "study.zarr"
    for name, options in COLLECTIONS.items():
        evaluate(scorecube, study, data / name, options)
    return study


@pytest.fixture(scope="module")
def swapped(evaluated: Path, scorecube: Cli, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study with the result of `SWAP`; not to be changed."""
    study = Path(shutil.copytree(evaluated, tmp_path_factory.mktemp("swapped") / "study.zarr"))
    scorecube("swap", study, *SWAP, block_units=300).succeeded()
    return study


@pytest.fixture
def own(swapped: Path, tmp_path: Path) -> Path:
    """A copy of the study with the result, to be changed at will."""
    return Path(shutil.copytree(swapped, tmp_path / "own.zarr"))


def off_official_means(scorecube: Cli, study: Path, data: Path) -> set[str]:
    """Return the runs with a mean that is not the official one to four decimals; gains are 2:1."""
    official = pd.read_csv(data / "trec-covid-r5" / "runs.csv", dtype={"run": str}).set_index("run")
    means = shown(scorecube, study, "scores", "--collection", "trec-covid-r5")
    assert set(means["n_topics"]) == {50}
    off: set[str] = set()
    for metric, column in {"P@20": "official_P@20", "nDCG@20": "official_ndcg@20"}.items():
        ours = means[(means["metric"] == metric) & (means["gain"] == "2:1")].set_index("run")[
            "mean"
        ]
        assert sorted(ours.index) == sorted(official.index)
        distance = (ours - official[column]).abs()
        off |= set(distance[~(distance <= HALF_A_UNIT)].index)
    return off


def test_official_means_of_trec_covid_are_met(scorecube: Cli, evaluated: Path, data: Path) -> None:
    assert off_official_means(scorecube, evaluated, data) == set()
    statistics = shown(
        scorecube, evaluated, "scores", "--table", "statistics", "--collection", "trec-covid-r5"
    )
    (row,) = statistics.to_dict("records")
    assert (row["n_runs"], row["n_teams"], row["n_topics"], row["judged"]) == (126, 28, 50, 23149)
    assert [row[f"n_level_{level}"] * 50 for level in range(3)] == pytest.approx(
        [12239, 4233, 6677]
    )


def test_double_precision_orders_two_runs_of_trec_covid_otherwise(
    scorecube: Cli, data: Path, tmp_path: Path
) -> None:
    folder, study = data / "trec-covid-r5", tmp_path / "study.zarr"
    said = evaluate(
        scorecube, study, folder, f"{COLLECTIONS['trec-covid-r5']} --score-precision double"
    )
    assert "126 runs x 50 topics, 5 metrics x 2 gain settings" in said
    assert off_official_means(scorecube, study, data) == {
        "udel_fang_ltr_split",
        "udel_fang_ltr_uni",
    }


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
        assert sorted(ours.index) == sorted(official.index)
        assert ours.size == n_cells
        distance = (ours - official.loc[ours.index, ours.columns]).abs()
        off |= set(distance.columns[~(distance <= HALF_A_UNIT).all()])
    return off


@pytest.mark.parametrize(
    ("name", "n_cells"), [("trec8-adhoc", 129 * 50), ("clef-ehealth-2015", 68 * 66)]
)
def test_official_scores_are_met_in_every_cell(
    scorecube: Cli, evaluated: Path, data: Path, name: str, n_cells: int
) -> None:
    assert off_official_scores(scorecube, evaluated, data / name, n_cells) == set()


def test_single_precision_orders_one_run_of_trec_8_otherwise(
    scorecube: Cli, data: Path, tmp_path: Path
) -> None:
    # The official scores of this collection compare in double precision, as trec_eval 10 does.
    folder, study = data / "trec8-adhoc", tmp_path / "study.zarr"
    evaluate(scorecube, study, folder, COLLECTIONS[folder.name].replace("double", "single"))
    assert off_official_scores(scorecube, study, folder, 129 * 50) == {"uwmt8a0"}


def n_blocks(study: Path) -> int:
    """Return the number of blocks a study's one swap result was made of; 0 for work so short that none were recorded."""
    return len(list(study.glob("trec-covid-r5/blocks/swap/*/*.npz")))


@pytest.mark.parametrize(
    ("how", "block_units", "blocks"),
    [
        ("--workers 1", None, 0),
        ("--workers 2", None, 0),
        ("--workers 2", 7, 143),
        ("--workers 1", 1000, 1),
        ("--workers 2", 170, 6),
    ],
)
def test_counts_do_not_depend_on_the_way_of_running(
    scorecube: Cli,
    swapped: Path,
    evaluated: Path,
    tmp_path: Path,
    how: str,
    block_units: int | None,
    blocks: int,
) -> None:
    other = Path(shutil.copytree(evaluated, tmp_path / "other.zarr"))
    scorecube("swap", other, *SWAP, *how.split(), block_units=block_units).succeeded()
    assert n_blocks(other) == blocks != n_blocks(swapped)
    assert rates(scorecube, other) == rates(scorecube, swapped)


@pytest.mark.process
def test_counts_are_the_same_on_processes(
    scorecube: Cli, scorecube_process: Cli, swapped: Path, evaluated: Path, tmp_path: Path
) -> None:
    other = Path(shutil.copytree(evaluated, tmp_path / "other.zarr"))
    profile = ["--cluster", REPO / "cluster" / "processes.yaml", "--workers", 2]
    done = scorecube_process("swap", other, *SWAP, *profile, block_units=90).succeeded()
    assert "Traceback" not in done.stderr
    assert n_blocks(other) == 12
    assert rates(scorecube, other) == rates(scorecube, swapped)


def test_a_dry_run_changes_nothing(scorecube: Cli, own: Path, tree: Callable[[Path], Tree]) -> None:
    before = tree(own)
    done = scorecube("swap", own, *SWAP, "--seed", 2, "--dry-run").succeeded()
    assert "1000 trials" in done.stderr
    assert tree(own) == before


def test_more_trials_extend_a_result(
    scorecube: Cli, own: Path, evaluated: Path, tmp_path: Path, tree: Callable[[Path], Tree]
) -> None:
    before, blocks = tree(own), n_blocks(own)
    more = [word.replace("1000", "2000") for word in SWAP]
    scorecube("swap", own, *more, block_units=300).succeeded()
    after = tree(own)
    results = [path for path in before if "/results/" in path]
    chunks = [path for path in before if re.search(r"/blocks/swap/.*npz", path)]
    assert results
    assert chunks
    assert {path: after.get(path) for path in results + chunks} == {
        path: before[path] for path in results + chunks
    }
    assert n_blocks(own) > blocks
    fresh = Path(shutil.copytree(evaluated, tmp_path / "fresh.zarr"))
    scorecube("swap", fresh, *more).succeeded()
    assert rates(scorecube, own) == rates(scorecube, fresh)
    counts = (
        shown(scorecube, own, "swap", "--table", "rates").groupby(["metric", "gain"])["count"].sum()
    )
    assert set(counts) == {2000 * 126 * 125 // 2}
    every = shown(scorecube, own, "swap", "--all")
    assert set(every["trials"]) == {1000, 2000}


@pytest.mark.parametrize("seed", [["--seed", "1"], []], ids=["same seed", "no seed"])
def test_a_repeated_command_does_nothing(
    scorecube: Cli, own: Path, tree: Callable[[Path], Tree], seed: list[str]
) -> None:
    before = tree(own)
    words = [word for word in SWAP if word not in ("--seed", "1")]
    done = scorecube("swap", own, *words, *seed).succeeded()
    assert re.fullmatch(
        r"trec-covid-r5: the result is already there \(.*\); nothing to do\n", done.stderr
    )
    assert tree(own) == before


def test_overlap_of_halves_is_none(scorecube: Cli, swapped: Path) -> None:
    (row,) = shown(scorecube, swapped, "swap", "--table", "overlap").to_dict("records")
    assert row == {
        "collection": "trec-covid-r5",
        "size": 25,
        "sampling": "disjoint",
        "unique": 25.0,
        "common": 0.0,
    }


def test_largest_mean_of_halves_is_at_least_that_of_all_topics(
    scorecube: Cli, swapped: Path
) -> None:
    means = shown(scorecube, swapped, "scores", "--collection", "trec-covid-r5")
    found = shown(scorecube, swapped, "swap").groupby(["metric", "gain"])["max_performance"].first()
    best = means.groupby(["metric", "gain"])["mean"].max()
    assert np.all(found.to_numpy() >= best[found.index].to_numpy())
