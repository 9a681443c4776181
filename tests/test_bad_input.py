"""A user's mistake is one message that says where, exit status 1 or 2, and a study as it was."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import scorecube

if TYPE_CHECKING:
    from tests.conftest import Cli, Files, Tree

Refused = Callable[..., str]
EVALUATE = "evaluate STUDY --name other --runs RUNS --qrels QRELS --teams TEAMS "
SAME = EVALUATE.replace("other", "small")


@pytest.fixture
def places(files: Files, study: Path, tmp_path: Path) -> dict[str, str]:
    """Words of commands -> paths: a study with a collection, and a copy of its files, to be spoilt."""
    shutil.copytree(files.runs.parent, tmp_path / "copy")
    folder = tmp_path / "copy"
    (tmp_path / "x.csv").write_text("topic,x,y\n001,1,0\n")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.tex").write_text("mine")
    return {
        "STUDY": str(study),
        "NEW": str(tmp_path / "new.zarr"),
        "RUNS": str(folder / "runs"),
        "QRELS": str(folder / "qrels.txt"),
        "TEAMS": str(folder / "teams.csv"),
        "TMP": str(tmp_path),
    }


@pytest.fixture
def refused(scorecube: Cli, places: dict[str, str], tree: Callable[[Path], Tree]) -> Refused:
    """Run a command that must be refused, and change nothing; return its one line."""

    def placed(text: str) -> str:
        for word, place in places.items():
            text = text.replace(word, place)
        return text

    def run(words: str, named: str, status: int = 1) -> str:
        before = tree(Path(places["TMP"]))
        outcome = scorecube(*(placed(word).replace("EMPTY", "") for word in words.split()))
        assert (outcome.status, outcome.stdout) == (status, "")
        *said, line = outcome.stderr.splitlines()
        assert line.startswith("error: ")
        # What a table was taken for is printed before anything is stored.
        assert all(other.startswith("runs: ") for other in said)
        assert placed(named) in line
        assert tree(Path(places["TMP"])) == before
        return line

    return run


IMPOSSIBLE = [
    # files
    (EVALUATE.replace("QRELS", "TMP/absent"), "TMP/absent: "),
    (EVALUATE.replace("RUNS", "TMP/absent"), "TMP/absent: "),
    (EVALUATE.replace("TEAMS", "TMP/absent"), "TMP/absent: "),
    ("swap STUDY --cluster TMP/none.yaml", "TMP/none.yaml: "),
    ("report STUDY --out TMP/absent/page.html", "TMP/absent/page.html: there is no folder"),
    # metrics and gain settings
    (EVALUATE + "--metrics AP,nDGC@10", "nDCG"),
    (EVALUATE + "--metrics P", "metric 'P': P needs a cut-off, for example P@10"),
    (EVALUATE + "--metrics AP,AP(rel=1)", "metric AP is repeated in --metrics"),
    (EVALUATE + "--metrics ,", "--metrics"),
    (EVALUATE + "--gains 3:2", "has 2 values, but the collection has 3 relevant levels"),
    (EVALUATE + "--gains 3:two:1", "'3:two:1'"),
    # names and places of studies
    (EVALUATE.replace("other", "EMPTY"), "''"),
    (EVALUATE.replace("other", "a\x7fb"), "cannot name a collection"),
    (EVALUATE.replace("STUDY", "NEW") + "--metrics MAPX", "'MAPX'"),
    (EVALUATE.replace("STUDY", "TMP/file"), "TMP/file"),
    (EVALUATE.replace("STUDY", "TMP/folder"), "TMP/folder exists and is not a study"),
    ("import TMP/file --name x TMP/x.csv", "TMP/file"),
    ("import STUDY --name small TMP/x.csv", "small"),
    *[
        (words.replace("STUDY", place), place)
        for place in ("NEW", "TMP/file")
        for words in (
            *("info STUDY", "show STUDY scores", "swap STUDY", "verify STUDY"),
            "report STUDY --out TMP/page.html",
        )
    ],
    # options and data of analyses
    ("swap STUDY --size 5", "use --size 4 or less"),
    ("swap STUDY --confidence 1.5", "--confidence: expected"),
    ("swap STUDY --seed 18446744073709551616", "--seed"),
    ("swap STUDY --collection smal", "STUDY: no collection 'smal'; it has: small"),
    ("swap STUDY --metrics AP,nDCG@20", "nearest: nDCG@10"),
    ("swap STUDY --runs run9", "nearest: run"),
    ("swap STUDY --runs run1", "1 run and 8 topics"),
    ("swap STUDY --scheduler nowhere", "nowhere"),
    # tables
    ("show STUDY maxt", "scorecube maxt STUDY"),
    ("show STUDY swap --table rate", "rates"),
    ("show STUDY swop", "no analysis 'swop'"),
    ("figure STUDY swap --kind bars", "--by"),
    ("fetch adhoc5", "--into"),
]


@pytest.mark.parametrize(("words", "named"), IMPOSSIBLE, ids=[words for words, _ in IMPOSSIBLE])
def test_what_cannot_be_done_is_one_message(refused: Refused, words: str, named: str) -> None:
    refused(words, named)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("swap STUDY --sise 3", "--size"),
        ("swap STUDY --trials 0", "--trials"),
        ("swap STUDY --workers 0", "--workers"),
        ("swap STUDY --sampling disjiont", "disjoint"),
        ("paired STUDY --tests t,anova", "anova"),
        ("swap", "Missing argument"),
        ("sawp STUDY", "swap"),
        ("show STUDY", "ANALYSIS"),
        ("show STUDY swap --format jsn", "json"),
        ("list everything", "metrics"),
        ("evaluate STUDY --name x --runs RUNS", "--qrels"),
        (EVALUATE + "--order best", "--order"),
        ("import STUDY --name x", "FILE"),
        ("import STUDY --name x TMP/x.csv --layout diagonal", "diagonal"),
    ],
)
def test_wrong_usage_exits_with_2(refused: Refused, words: str, named: str) -> None:
    refused(words, named, status=2)


def test_other_documents_or_judgements_for_an_existing_collection(
    refused: Refused, places: dict[str, str]
) -> None:
    path = Path(places["QRELS"])
    before = path.read_text()
    path.write_text(before.replace(" 3\n", " 2\n", 5))
    assert "level_of_document" in refused(SAME + "--metrics P@10", "collection 'small'")
    path.write_text(before)
    run = Path(places["RUNS"]) / "run5.txt"
    run.write_text("".join(run.read_text().splitlines(keepends=True)[1:]))
    assert "--replace" in refused(SAME, "collection 'small'")


def test_missing_scores_are_named_and_can_be_left_out(
    refused: Refused, scorecube: Cli, tmp_path: Path
) -> None:
    matrix, study = tmp_path / "ap.csv", tmp_path / "s"
    matrix.write_text("topic,a,b\n1,0.5,1\n2,,0.5\n3,1,0\n4,0.5,0.5\n5,0.25,0.5\n")
    scorecube("import", study, "--name", "x", matrix).succeeded()
    said = refused("swap TMP/s --size 1", "scores are missing on 1 of 5 topics, most of a (1)")
    assert "--missing drop" in said
    scorecube("swap", study, "--size", 2, "--trials", 5, "--missing", "drop").succeeded()


@pytest.mark.process
def test_a_process_ends_with_the_same_status(scorecube_process: Cli, tmp_path: Path) -> None:
    failed = scorecube_process("info", tmp_path / "absent")
    assert failed.status == 1
    assert failed.stderr.startswith("error: ")
    assert "Traceback" not in failed.stderr
    assert scorecube_process("info").status == 2
    assert scorecube_process("--version").succeeded().stdout.strip() == scorecube.__version__
