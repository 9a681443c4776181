"""A user's mistake is one message that says where, exit status 1, and a study as it was."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import scorecube

if TYPE_CHECKING:
    from tests.conftest import Cli, Files, Outcome, Tree

Refused = Callable[..., str]


@pytest.fixture
def refused(scorecube: Cli, tree: Callable[[Path], Tree]) -> Refused:
    """Run a command that must be refused; return its message without the word error."""

    def content(study: Path) -> object:
        if study.is_file():
            return study.read_bytes()
        found = tree(study)
        return (
            {} if found.keys() == {"zarr.json"} else found
        )  # an empty study stands for none, but see below

    def run(study: Path, command: str, *words: object) -> str:
        before = content(study)
        outcome = scorecube(command, study, *words)
        assert outcome.status == 1, outcome
        assert outcome.stdout == ""
        assert outcome.stderr.startswith("error: ")
        assert len(outcome.stderr.splitlines()) == 1
        assert content(study) == before, "the study was changed"
        return outcome.stderr.removeprefix("error: ").rstrip("\n")

    return run


@pytest.fixture(params=["new", "existing"])
def target(request: pytest.FixtureRequest, tmp_path: Path, finished_study: Path) -> Path:
    """A study that is not there, or one with a collection and a result."""
    path = tmp_path / "target.zarr"
    if request.param == "existing":
        shutil.copytree(finished_study, path)
    return path


@pytest.fixture
def changed(files: Files, tmp_path: Path) -> Files:
    """A copy of the collection's files, to be spoilt."""
    shutil.copytree(files.runs.parent, tmp_path / "copy")
    folder = tmp_path / "copy"
    return type(files)(folder / "runs", folder / "qrels.txt", folder / "teams.csv")


def spoil(path: Path, line: int, text: str) -> None:
    lines = path.read_text().splitlines()
    lines[line - 1] = text
    path.write_text("\n".join(lines) + "\n")


def test_a_document_twice_in_a_topic(refused: Refused, target: Path, changed: Files) -> None:
    run = changed.runs / "run3.txt"
    lines = run.read_text().splitlines()
    document = lines[2].split()[2]
    spoil(run, 9, lines[2])
    said = refused(target, "evaluate", "--name", "other", *changed.options())
    assert (
        said
        == f"{run}:9: document '{document}' stands twice in topic 001, first in line 3; remove one of the lines"
    )


def test_qrels_without_any_topic_of_the_runs(
    refused: Refused, target: Path, changed: Files
) -> None:
    changed.qrels.write_text("901 0 d01 1\n902 0 d01 1\n")
    said = refused(target, "evaluate", "--name", "other", *changed.options())
    assert (
        said
        == f"{changed.qrels}: judges none of the topics of the 6 runs; it has topics such as 901, 902, and the runs have 001, 002, 003"
    )


def test_qrels_without_a_relevant_document(refused: Refused, target: Path, changed: Files) -> None:
    changed.qrels.write_text("001 0 d01 0\n002 0 d01 0\n")
    said = refused(target, "evaluate", "--name", "other", *changed.options())
    assert said == "no topic has a relevant document: nothing can be evaluated"


@pytest.mark.parametrize("option", ["--qrels", "--teams", "--runs"])
def test_a_missing_file(refused: Refused, target: Path, files: Files, option: str) -> None:
    absent = target.parent / "absent"
    given = [str(absent) if before == option else word for before, word in zip(["", *files.options()], files.options(), strict=False)]  # fmt: skip
    said = refused(target, "evaluate", "--name", "other", *given)
    assert said.startswith(f"{absent}: ")
    assert "no such file" in said.lower()


@pytest.mark.parametrize(
    ("metric", "suggested"), [("nDGC@10", "nDCG@10"), ("P+@x", "P+"), ("Rpec", "Rprec")]
)
def test_an_unknown_metric(
    refused: Refused, target: Path, files: Files, metric: str, suggested: str
) -> None:
    said = refused(
        target, "evaluate", "--name", "other", *files.options(), "--metrics", f"AP,{metric}"
    )
    found = re.fullmatch(
        f"unknown metric '{re.escape(metric)}'; (?:type one of|the nearest known ones are): (.*)",
        said,
    )
    assert found
    assert suggested in found[1].split(", ")


@pytest.mark.parametrize("options", ["--metrics MAPX", "--gains 2:1", "--name .hidden"])
def test_a_refused_evaluation_leaves_no_empty_study(
    scorecube: Cli, tmp_path: Path, files: Files, options: str
) -> None:
    assert (
        scorecube(
            "evaluate", tmp_path / "s", "--name", "x", *files.options(), *options.split()
        ).status
        == 1
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ("P", "metric 'P': P needs a cut-off, for example P@10"),
        ("Rprec@5", "metric 'Rprec@5': Rprec takes no cut-off @5"),
        ("AP(b=2)", "metric 'AP(b=2)': 'b=2' is not a setting of AP; known: rel"),
        ("nERR(form=odd)@5", "metric 'nERR(form=odd)@5': form='odd'; expected one of "),
        ("AP,AP(rel=1)", "metric AP is repeated in --metrics"),
        (",", "no metric: --metrics is empty"),
    ],
)
def test_a_metric_that_does_not_parse(
    refused: Refused, target: Path, files: Files, metrics: str, message: str
) -> None:
    assert refused(
        target, "evaluate", "--name", "other", *files.options(), "--metrics", metrics
    ).startswith(message)


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        ("3:2", "gain setting '3:2' has 2 values, but the collection has 3 relevant levels"),
        (
            "auto,4:3:2:1",
            "gain setting '4:3:2:1' has 4 values, but the collection has 3 relevant levels",
        ),
        ("3:two:1", "gain setting '3:two:1' is not 'auto' or numbers joined by colons"),
        ("0:0:0", "gain setting '0:0:0': all gains are 0"),
        ("3:2:-1", "gain setting '3:2:-1': gains must be finite and not negative"),
    ],
)
def test_a_gain_setting_that_does_not_fit(
    refused: Refused, target: Path, files: Files, gains: str, message: str
) -> None:
    assert refused(
        target, "evaluate", "--name", "other", *files.options(), "--gains", gains
    ).startswith(message)


def test_other_runs_for_an_existing_collection(
    refused: Refused, study: Path, changed: Files
) -> None:
    (changed.runs / "run5.txt").unlink()
    said = refused(study, "evaluate", "--name", "small", *changed.options())
    assert said.startswith(
        f"{study}: collection 'small' exists with 6 runs, and the new scores have 5 or other ones"
    )
    assert "--replace" in said


def test_other_judgements_for_an_existing_collection(
    refused: Refused, study: Path, changed: Files
) -> None:
    changed.qrels.write_text(changed.qrels.read_text().replace(" 3\n", " 2\n", 5))
    said = refused(study, "evaluate", "--name", "small", *changed.options(), "--metrics", "P@10")
    assert said.startswith(
        f"{study}: collection 'small' was evaluated with other judgements or levels (they differ in level_of_document, n_judged)"
    )


def test_imported_scores_of_other_runs(refused: Refused, study: Path, tmp_path: Path) -> None:
    (tmp_path / "rr.csv").write_text("topic,x,y\n001,1,0.5\n")
    said = refused(study, "import", "--name", "small", tmp_path / "rr.csv")
    assert said.startswith(f"{study}: collection 'small' exists with 6 runs")


@pytest.mark.parametrize("name", ["", "a/b", ".hidden"])
def test_a_name_that_is_no_name(refused: Refused, target: Path, files: Files, name: str) -> None:
    said = refused(target, "evaluate", "--name", name, *files.options())
    assert said.startswith(f"{name!r} cannot name a collection")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "--size 5",
            "two disjoint samples of 5 topics need 10 topics, but there are only 8; use --size 4 or less",
        ),
        (
            "--size 9 --sampling independent",
            "a sample of 9 topics without replacement needs 9 topics",
        ),
        (
            "--size 0",
            "--size 0: expected a whole number or a list, each a whole number of at least 1",
        ),
        (
            "--confidence 1.5",
            "--confidence 1.5: expected a list, each a number above 0 and below 1",
        ),
        ("--confidence high", "--confidence 'high' is not numbers separated by commas"),
        ("--collection smal", "{study}: no collection 'smal'; it has: small"),
        ("--metrics AP,nDCG@20", "no metric 'nDCG@20' in the cube; nearest: nDCG@10"),
        ("--gains 1:1", "no gain '1:1' in the cube; nearest: 1:1:1"),
        ("--runs run9", "no run 'run9' in the cube; nearest: run"),
        ("--topics 1", "no topic '1' in the cube; nearest: 001"),
        ("--runs run1", "swap needs 2 runs and 2 topics, found 1 run and 8 topics"),
        ("--metrics ,", "no metric"),
        ("--by P@5 --top-runs 2", "no metric 'P@5' in the cube"),
        (
            "--cluster {tmp}/none.yaml",
            "{tmp}/none.yaml: cannot read the cluster file: No such file or directory",
        ),
        ("--scheduler nowhere", "nowhere"),
    ],
)
def test_an_analysis_that_cannot_be_done(
    refused: Refused, study: Path, tmp_path: Path, options: str, message: str
) -> None:
    (tmp_path / "file").write_text("mine")
    words = options.format(study=study, tmp=tmp_path).split()
    assert message.format(study=study, tmp=tmp_path) in refused(
        study, "swap", *words, "--trials", 5
    )
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["swap", "--table", "rate"],
            "no table 'rate' of swap; it has: sensitivity, rates, halves, overlap. Did you mean 'rates'?",
        ),
        (
            ["scores", "--table", "sensitivity"],
            "no table 'sensitivity' of scores; it has: means, cells",
        ),
        (["swop"], "no analysis 'swop'; known: "),
        (["swap", "--collection", "big"], "{study}: no collection 'big'; it has: small"),
    ],
)
def test_a_table_that_is_not_there(
    refused: Refused, study: Path, words: list[str], message: str
) -> None:
    assert refused(study, "show", *words).startswith(message.format(study=study))


def test_a_result_that_is_not_there(
    refused: Refused, tmp_path: Path, files: Files, scorecube: Cli
) -> None:
    study = tmp_path / "s"
    scorecube("evaluate", study, "--name", "x", *files.options(), "--metrics", "AP").succeeded()
    assert (
        refused(study, "show", "swap")
        == f"{study}: no result of swap yet; run: scorecube swap {study}"
    )


READING = [
    ["info"],
    ["show", "scores"],
    ["swap"],
    ["verify"],
    ["report", "--out", "{tmp}/page.html"],
]


@pytest.mark.parametrize("words", READING, ids=lambda words: words[0])
def test_a_study_that_is_not_there(refused: Refused, tmp_path: Path, words: list[str]) -> None:
    absent = tmp_path / "absent.zarr"
    said = refused(absent, words[0], *(word.format(tmp=tmp_path) for word in words[1:]))
    assert said.startswith(
        f"{absent}: no study there, no such folder; make one with: scorecube evaluate"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [*READING, ["evaluate"], ["import"]], ids=lambda words: words[0])
def test_a_study_path_that_is_a_file(
    refused: Refused, tmp_path: Path, files: Files, words: list[str]
) -> None:
    path, matrix = tmp_path / "file", tmp_path / "ap.csv"
    path.write_text("mine")
    matrix.write_text("topic,x,y\n001,1,0.5\n")
    more = {"evaluate": ["--name", "x", *files.options()], "import": ["--name", "x", str(matrix)]}
    given = [word.format(tmp=tmp_path) for word in words[1:]] + more.get(words[0], [])
    assert str(path) in refused(path, words[0], *given)


@pytest.mark.parametrize("command", ["evaluate", "info"])
def test_a_study_path_below_a_file(
    scorecube: Cli, tmp_path: Path, files: Files, command: str
) -> None:
    (tmp_path / "file").write_text("mine")
    more = ["--name", "x", *files.options()] if command == "evaluate" else []
    outcome: Outcome = scorecube(command, tmp_path / "file" / "study.zarr", *more)
    assert outcome.status == 1
    assert outcome.stderr.startswith("error: ")


def test_a_folder_that_is_no_study(refused: Refused, tmp_path: Path, files: Files) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "thesis.tex").write_text("mine")
    said = refused(folder, "evaluate", "--name", "x", *files.options())
    assert said == f"{folder} exists and is not a study; choose another path"


def test_a_report_without_a_place(refused: Refused, study: Path, tmp_path: Path) -> None:
    page = tmp_path / "absent" / "page.html"
    said = refused(study, "report", "--out", page)
    assert said == (
        f"{page}: there is no folder {page.parent}; create it first, or choose another folder"
    )


def test_missing_scores_are_named_and_can_be_left_out(
    refused: Refused, scorecube: Cli, tmp_path: Path
) -> None:
    matrix, study = tmp_path / "ap.csv", tmp_path / "s"
    matrix.write_text("topic,a,b\n1,0.5,1\n2,,0.5\n3,1,0\n4,0.5,0.5\n5,0.25,0.5\n")
    scorecube("import", study, "--name", "x", matrix).succeeded()
    said = refused(study, "swap", "--size", 1)
    assert (
        "scores are missing on 1 of 5 topics, most of a (1); compute them, or leave their topics out "
        "with --missing drop" in said
    )
    scorecube("swap", study, "--size", 2, "--trials", 5, "--missing", "drop").succeeded()


def flip(chunk: Path) -> None:
    content = bytearray(chunk.read_bytes())
    content[len(content) // 2] ^= 1
    chunk.write_bytes(content)


@pytest.mark.parametrize(
    "array",
    ["cube/score", "rankings/level_at_rank", "results/swap/*/count", "blocks/swap/*/counts"],
)
@pytest.mark.parametrize("damage", [flip, Path.unlink], ids=["flipped bit", "missing chunk"])
def test_damage_is_found(
    scorecube: Cli, study: Path, array: str, damage: Callable[[Path], None]
) -> None:
    scorecube("verify", study).succeeded()
    (folder,) = study.glob(f"small/{array}/c")
    damage(next(path for path in sorted(folder.rglob("*")) if path.is_file()))
    outcome = scorecube("verify", study)
    assert outcome.status == 1
    assert outcome.stderr.startswith(f"error: {study}: 1 of ")
    assert f"small/{array.partition('*')[0]}" in outcome.stderr


@pytest.mark.parametrize(
    "words",
    [
        "swap {study} --sise 3",
        "swap {study} --trials 0",
        "swap {study} --seed 18446744073709551616",
        "swap {study} --groups 2",
        "swap {study} --trials many",
        "swap {study} --workers 0",
        "swap {study} --sampling some",
        "swap {study} --rule s9",
        "swap",
        "sawp {study}",
        "show {study}",
        "show {study} swap --format yaml",
        "info {study} --format yaml",
        "info {study} more",
        "list everything",
        "evaluate {study} --name x --runs r",
        "evaluate {study} --name x --runs r --qrels q --order best",
        "evaluate {study} --name x --runs r --qrels q --depth 0",
        "evaluate {study} --name x --runs r --qrels q --run-name line",
        "evaluate {study} --name x --runs r --qrels q --score-precision half",
        "evaluate {study} --name x --runs r --qrels q --no-relevant skip",
        "evaluate {study} --name x --runs r --qrels q --missing-topic skip",
        "import {study} --name x",
        "import {study} --name x f --layout diagonal",
    ],
)
def test_wrong_usage_exits_with_2(
    scorecube: Cli, study: Path, tree: Callable[[Path], Tree], words: str
) -> None:
    before = tree(study)
    outcome = scorecube(*words.format(study=study).split())
    assert outcome.status == 2, outcome
    assert outcome.stderr.startswith("Usage: scorecube")
    assert outcome.stdout == ""
    assert tree(study) == before


@pytest.mark.process
def test_a_process_ends_with_the_same_status(scorecube_process: Cli, tmp_path: Path) -> None:
    failed = scorecube_process("info", tmp_path / "absent")
    assert failed.status == 1
    assert failed.stderr.startswith("error: ")
    assert "Traceback" not in failed.stderr
    assert scorecube_process("info").status == 2
    assert scorecube_process("--version").succeeded().stdout.strip() == scorecube.__version__
