"""Command demo: its table, its report, repeated runs, and agreement with the simulated quality."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import scorecube as sc

if TYPE_CHECKING:
    from tests.conftest import Cli, Outcome, Tree

pytestmark = pytest.mark.slow
JUDGED = {
    "NTCIR-3 Chinese": (42, 21.00, 24.90, 32.29),
    "NTCIR-3 Japanese": (42, 7.86, 31.52, 21.05),
    "NTCIR-5 Chinese": (50, 7.00, 30.70, 23.34),
    "NTCIR-5 Japanese": (47, 3.17, 41.77, 44.21),
}
"""Topics, and relevant documents per topic at S, A and B (Sakai 2007, Table 1)."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "new" / "folder"


@pytest.fixture(scope="module")
def first(scorecube: Cli, folder: Path) -> Outcome:
    """The outcome of the first run."""
    return scorecube("demo", "--out", folder).succeeded()


def test_demo_prints_a_sensitivity_table_and_the_place_of_the_page(
    first: Outcome, folder: Path
) -> None:
    lines = first.stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("collection "))
    header = re.split(r"  +", lines[start])
    assert {
        "metric",
        "required_difference",
        "max_performance",
        "relative_difference",
        "share",
    } <= set(header)
    rows = [
        dict(zip(header, re.split(r"  +", line), strict=True))
        for line in lines
        if line.startswith("NTCIR-")
    ]
    assert sorted({row["collection"] for row in rows}) == list(JUDGED)
    assert {"AP", "Q", "P+", "NWRR", "nDCG@10"} <= {row["metric"] for row in rows}
    assert all(0 < float(row["max_performance"]) <= 1 for row in rows)
    assert str(folder / "report.html") in lines[-1]
    assert (folder / "report.html").is_file()


def without_times(page: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.+]+", "TIME", page)


def test_demo_is_repeatable(
    scorecube: Cli, first: Outcome, folder: Path, tree: Callable[[Path], Tree]
) -> None:
    before, page = tree(folder / "study.zarr"), (folder / "report.html").read_text()
    again = scorecube("demo", "--out", folder).succeeded()
    assert again.stdout == first.stdout
    assert tree(folder / "study.zarr") == before
    assert without_times((folder / "report.html").read_text()) == without_times(page)


@pytest.mark.usefixtures("first")
def test_collections_have_the_published_sizes(folder: Path) -> None:
    study = sc.open_study(folder / "study.zarr")
    assert list(study) == list(JUDGED)
    for name, (n_topics, *per_level) in JUDGED.items():
        (facts,) = sc.table(study[name].rankings, "statistics").to_dict("records")
        assert (facts["n_runs"], facts["n_teams"], facts["n_topics"]) == (30, 10, n_topics)
        assert [round(facts[f"n_level_{level}"], 2) for level in (3, 2, 1)] == per_level


@pytest.mark.usefixtures("first")
@pytest.mark.parametrize("name", JUDGED)
def test_mean_scores_rank_runs_by_their_simulated_quality(folder: Path, name: str) -> None:
    collection = sc.open_study(folder / "study.zarr")[name]
    quality = collection.rankings["quality"].to_series()
    means = collection.cube["score"].sel(metric="AP").isel(gain=0).mean("topic").to_series()
    assert means.index.equals(quality.index)
    assert len(means) == 30
    assert means.corr(quality, method="kendall") > 0.6


@pytest.mark.usefixtures("first")
def test_every_collection_has_every_analysis(folder: Path) -> None:
    study = sc.open_study(folder / "study.zarr")
    for name in JUDGED:
        samplings = {str(result.attrs["sampling"]) for result in study[name].results("swap")}
        assert samplings == {"disjoint", "replacement"}
