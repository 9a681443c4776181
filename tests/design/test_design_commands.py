"""The commands design and wcw, from variances and from a study; their tables and figure files."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import scorecube as sc
from scorecube.design import topic_set_size

if TYPE_CHECKING:
    from tests.conftest import Cli

COLUMNS = [
    "method",
    "mode",
    "variance",
    "min_diff",
    "width",
    "systems",
    "alpha",
    "beta",
    "topics",
    "topics_low",
    "topics_high",
    "power",
]
VARIANCE = ["--variance", "0.0441"]


def records(scorecube: Cli, *words: object) -> list[dict[str, Any]]:
    listed = json.loads(scorecube(*words, "--format", "json").succeeded().stdout)
    assert isinstance(listed, list)
    return listed


def test_sizes_of_a_variance(scorecube: Cli) -> None:
    (row,) = records(scorecube, "design", *VARIANCE)
    assert list(row) == COLUMNS
    power = row.pop("power")
    assert row == {
        "method": "anova", "mode": "exact", "variance": 0.0441, "min_diff": 0.1, "width": None, "systems": 10,
        "alpha": 0.05, "beta": 0.2, "topics": 139, "topics_low": None, "topics_high": None,
    }  # fmt: skip
    assert 0.8 <= power < 0.81


@pytest.mark.parametrize(
    ("words", "topics"),
    [
        ("--min-diff 0.15 --systems 10 --alpha 0.05 --beta 0.2 --method anova --mode sakai", 62),
        ("--min-diff 0.15 --method anova --mode exact", 63),
        ("--width 0.15 --method ci", 63),
        ("--width 0.15 --method ci --mode sakai", 63),
        ("--variance 0.0471 --min-diff 0.15 --method t", 35),
    ],
)
def test_every_method_and_mode(scorecube: Cli, words: str, topics: int) -> None:
    (row,) = records(scorecube, "design", *VARIANCE, *words.split())
    assert row["topics"] == topics


@pytest.mark.parametrize("form", ["text", "csv", "markdown", "latex"])
def test_every_format(scorecube: Cli, form: str) -> None:
    shown = scorecube("design", "--variance", "0.0441,0.08", "--format", form).succeeded().stdout
    assert all(word in shown for word in ("139", "252", "exact", "diff"))
    if form == "csv":
        assert pd.read_csv(io.StringIO(shown)).columns.tolist() == COLUMNS


def test_repeated_variances_have_rows_of_their_own(scorecube: Cli) -> None:
    rows = records(scorecube, "design", "--variance", "0.04,0.08,0.04")
    assert [row["variance"] for row in rows] == [0.04, 0.08, 0.04]
    assert rows[0]["topics"] == rows[2]["topics"] != rows[1]["topics"]


def test_sizes_of_a_study(scorecube: Cli, finished_study: Path) -> None:
    asked = ["--metrics", "Q,AP", "--min-diff", "0.2", "--mode", "sakai"]
    rows = records(scorecube, "design", finished_study, *asked)
    assert [list(row)[: len(COLUMNS)] for row in rows] == [COLUMNS] * 4
    variance = sc.variances(sc.open_study(finished_study)["small"].cube)["residual_variance"]
    expected = topic_set_size(variance, 0.2, mode="sakai", paired=True)["topics"]
    cells = [(row["metric"], row["gain"]) for row in rows]
    assert cells == [(m, g) for m in ("Q", "AP") for g in ("auto", "1:1:1")]
    for row in rows:
        assert row["topics"] == int(expected.sel(metric=row["metric"], gain=row["gain"]))
        assert row["topics_low"] is None  # of 8 topics
        assert row["collection"] == "small"
    fewer = ["--top-runs", "3", "--by", "Q", "--gains", "auto", "--collection", "small"]
    assert len(records(scorecube, "design", finished_study, *fewer)) == 3
    one = ["--top-runs", "1", "--metrics", "Q", "--gains", "auto", "--collections", "small"]
    assert len(records(scorecube, "design", finished_study, *one)) == 1
    papers = records(scorecube, "show", finished_study, "design", "--table", "one_way")
    assert [list(row)[: len(COLUMNS)] for row in papers] == [COLUMNS] * 6


def test_a_study_shows_its_sizes_and_widths(scorecube: Cli, finished_study: Path) -> None:
    shown = records(scorecube, "show", finished_study, "design")
    assert shown == records(scorecube, "design", finished_study)
    assert records(scorecube, "show", finished_study, "wcw") == records(
        scorecube, "wcw", finished_study
    )
    text = scorecube("design", finished_study, "--format", "markdown").succeeded().stdout
    assert text.count(" any ") == 1  # AP uses no gains


def test_widths_of_variances(scorecube: Cli) -> None:
    rows = records(scorecube, "wcw", "--variance", "0.0368,0.0824", "--topics", "10..200")
    assert list(rows[0]) == ["route", "variance", "systems", "alpha", "beta", "topics", "width"]
    assert [row["topics"] for row in rows] == [*range(10, 201)] * 2
    found = {(row["variance"], row["topics"]): round(row["width"], 4) for row in rows}
    assert (found[0.0368, 50], found[0.0824, 50]) == (0.1534, 0.2296)
    rows = records(
        scorecube,
        "wcw",
        "--variance",
        "0.1144",
        "--topics",
        "50",
        "--route",
        "ci,anova-tool,anova-exact",
    )
    assert [round(row["width"], 4) for row in rows] == [0.2705, 0.268, 0.2699]
    assert [row["systems"] for row in rows] == [None, 10, 10]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
@pytest.mark.parametrize("words", ["design", "wcw"])
def test_figures_are_written(
    scorecube: Cli, finished_study: Path, tmp_path: Path, words: str, ending: str
) -> None:
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    for start in (VARIANCE, [finished_study]):
        path = tmp_path / f"picture.{ending}"
        said = scorecube(*words.split(), *start, "--out", path).succeeded().stderr
        assert f"figure written to {path}" in said
        assert path.read_bytes().startswith(starts[ending])
        first = path.read_bytes()
        scorecube(*words.split(), *start, "--out", path).succeeded()
        assert path.read_bytes() == first


def test_a_figure_is_of_one_collection(scorecube: Cli, study: Path, tmp_path: Path) -> None:
    (tmp_path / "ap.csv").write_text("a,b\n0.5,1\n0.25,0.5\n1,0.1\n")
    scorecube("import", study, "--name", "other", tmp_path / "ap.csv").succeeded()
    for command in ("wcw", "design"):
        refused = scorecube(command, study, "--out", tmp_path / "x.svg")
        assert refused.status == 1
        assert "--collection" in refused.stderr
        scorecube(command, study, "--collection", "other", "--out", tmp_path / "x.svg").succeeded()
    assert {row["collection"] for row in records(scorecube, "wcw", study)} == {"small", "other"}


def test_equal_scores_need_two_topics(scorecube: Cli, tmp_path: Path) -> None:
    (tmp_path / "ap.csv").write_text("a,b\n0.5,1\n0.5,1\n")
    scorecube("import", tmp_path / "s", "--name", "x", tmp_path / "ap.csv").succeeded()
    (row,) = records(scorecube, "show", tmp_path / "s", "design")
    assert (row["variance"], row["topics"]) == (0.0, 2)
    scorecube("design", tmp_path / "s", "--out", tmp_path / "d.png").succeeded()


def test_remarks_are_said_once(scorecube: Cli) -> None:
    done = scorecube(
        "design", "--variance", "0,0.05", "--mode", "sakai", "--beta", "0.3"
    ).succeeded()
    assert done.stderr.count("note: a variance of 0 needs no topics at all") == 1
    assert done.stderr.count("note: Nagata's constants are for") == 1


@pytest.mark.parametrize("curves", [("noncentrality",), ("tools", "--variance", "0.0182,0.1145")])
def test_curves_of_sakai_2017_are_written(scorecube: Cli, tmp_path: Path, curves: Any) -> None:
    file = tmp_path / "curves.png"
    scorecube("design", "--curves", *curves, "--out", file).succeeded()
    assert file.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("design", "variances come from --variance V or from the scores of a STUDY; found neither"),
        ("design nowhere.zarr --variance 0.1", "variances come from --variance V or from the scores of a STUDY; found both"),
        ("design nowhere.zarr", "nowhere.zarr: no study there"),
        ("design --variance x", "--variance 'x' is not numbers like 0.1"),
        ("design --variance ,", "--variance ',' is not numbers like 0.1"),
        ("design --variance 0.1 --metrics AP", "--metrics selects from a STUDY; with --variance leave it out"),
        ("design --variance 0.1 --systems 2.5", "--systems '2.5' is not whole numbers like 50"),
        ("wcw --variance 0.1 --topics 1", "--topics 1: expected topics, a whole number"),
        ("design --curves tools", "--curves draws into --out FILE"),
        ("design --curves noncentrality --variance 0.1 --out a.png", "--curves draws into --out FILE"),
        ("design --variance 0.1 --out a.jpg", "a.jpg: a figure is written as .png, .svg, .pdf; found .jpg"),
        ("design --variance 0.1 --out no/where/a.png", "there is no folder no/where; create it first"),
        ("wcw --variance 0.1 --route z", "--route z: choose one of ci, anova-tool, anova-exact"),
        ("wcw --variance 0.1 --topics 9..2", "--topics '9..2' is not whole numbers like 50"),
    ],
)  # fmt: skip
def test_wrong_requests_are_one_message(scorecube: Cli, words: str, text: str) -> None:
    done = scorecube(*words.split())
    assert done.status == 1
    assert done.stdout == ""
    assert text in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", ["--method z", "--mode z", "--format z"])
def test_unknown_words_are_wrong_usage(scorecube: Cli, words: str) -> None:
    assert scorecube("design", *VARIANCE, *words.split()).status == 2


def test_an_empty_study_is_refused(scorecube: Cli, study: Path) -> None:
    assert "no collection 'x'" in scorecube("wcw", study, "--collection", "x").stderr


@pytest.mark.data
def test_variances_of_real_matrices_are_those_of_pandas(
    scorecube: Cli, data: Path, tmp_path: Path
) -> None:
    files = [data / "adhoc5" / f"{name}.csv" for name in ("ap", "p10", "rr")]
    scorecube("import", tmp_path / "s", "--name", "adhoc5", *files).succeeded()
    rows = records(scorecube, "show", tmp_path / "s", "design", "--table", "one_way")
    matrices = [pd.read_csv(file).select_dtypes("number") for file in files]
    matrices = [
        matrix.drop(columns=[c for c in matrix if str(c).lower() == "topic"]) for matrix in matrices
    ]
    expected = sorted(float(matrix.var(ddof=1).mean()) for matrix in matrices)
    assert sorted(row["variance"] for row in rows) == pytest.approx(expected, rel=1e-12)
