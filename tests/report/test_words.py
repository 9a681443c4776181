"""What users call runs, topics, collections and repetitions, from import to answer."""

from __future__ import annotations

from pathlib import Path

import pytest

import scorecube as sc
from scorecube.errors import counted
from tests.conftest import Cli

TABLE = "model_name,benchmark,item_id,seed,accuracy\n" + "".join(
    f"{model},{benchmark},q{item},{seed},{(hash_of * 7 + item * seed) % 11 / 10}\n"
    for hash_of, model in enumerate("abc")
    for benchmark in ("fiqa", "nq")
    for item in range(12)
    for seed in (1, 2)
)
WORDS = ["model", "item", "benchmark", "seed"]


@pytest.fixture
def study(scorecube: Cli, tmp_path: Path) -> Path:
    (tmp_path / "scores.csv").write_text(TABLE)
    scorecube("import", tmp_path / "study", tmp_path / "scores.csv").succeeded()
    return tmp_path / "study"


def test_words_of_the_headings_are_stored_and_shown(scorecube: Cli, study: Path) -> None:
    assert sc.open_study(study)["nq"].cube.attrs["words"] == WORDS
    for analysis in ("leaderboard", "board"):
        shown = scorecube(analysis, study, "--trials", 100).succeeded().stdout
        assert "3 models" in shown
        assert "rank  model" in shown or "benchmark   rank  model" in shown
        assert "run" not in shown.partition("all rows")[0]
    assert "2 benchmarks" in " ".join(shown.split())
    assert "items" in scorecube("info", study).succeeded().stdout
    # Columns keep their names, on which scripts rely.
    header = scorecube("show", study, "leaderboard", "--format", "csv").succeeded().stdout
    assert header.startswith("collection,metric,gain,rank,run,")
    sc.report(sc.open_study(study), str(study.parent / "page.html"))
    page = (study.parent / "page.html").read_text()
    assert '<th scope="col">model</th>' in page


def test_words_can_be_stated(scorecube: Cli, tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text(TABLE)
    words = "system,prompt,suite,draw"
    scorecube("import", tmp_path / "s", tmp_path / "scores.csv", "--words", words).succeeded()
    assert sc.open_study(tmp_path / "s")["nq"].cube.attrs["words"] == words.split(",")
    refused = scorecube("import", tmp_path / "t", tmp_path / "scores.csv", "--words", "a,b")
    assert refused.status == 1
    assert not (tmp_path / "t").exists()


def test_nouns_of_headings_have_their_plurals() -> None:
    several = ["topics", "categories", "queries", "classes", "boxes", "batches", "days"]
    for noun, plural in zip(
        ["topic", "category", "query", "class", "box", "batch", "day"], several, strict=True
    ):
        assert (counted(1, noun), counted(2, noun)) == (f"1 {noun}", f"2 {plural}")
