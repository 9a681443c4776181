"""Sweep files: their collections and entries, and messages on mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scorecube.analyses import Bootstrap, Swap
from scorecube.errors import BadInput, BadPlan, ScorecubeError
from scorecube.workflow.sweep_file import Entry, read_sweep

if TYPE_CHECKING:
    from tests.conftest import Cli

ANALYSIS = '[[analysis]]\nname = "swap"\n'


def write_sweep(folder: Path, text: str) -> Path:
    path = folder / "sweep.toml"
    path.write_text(text)
    return path


def test_a_grid_gives_one_plan_for_each_combination(tmp_path: Path) -> None:
    text = """
        study = "here.zarr"
        trials = 50
        [[analysis]]
        name = "swap"
        seed = 3
        top_runs = 30
        collections = ["trec*"]
        rule = "s1"
        grid = { sampling = ["disjoint", "replacement"], size = [5, "10..20:5"] }
        [[analysis]]
        name = "bootstrap"
        trials = 70
        alphas = [0.1]
    """
    sweep = read_sweep(write_sweep(tmp_path, text))
    assert sweep.study == str(tmp_path / "here.zarr")
    swaps, bootstrap = sweep.entries[:4], sweep.entries[4]
    assert [entry.analysis for entry in swaps] == [
        Swap(rule="s1", sampling=sampling, size=size)
        for sampling in ("disjoint", "replacement")
        for size in (5, (10, 15, 20))
    ]
    assert {(entry.trials, entry.seed, entry.collections) for entry in swaps} == {
        (50, 3, ("trec*",))
    }
    assert swaps[0].selection == {"top_runs": 30}
    assert (bootstrap.analysis, bootstrap.trials, bootstrap.seed) == (
        Bootstrap(alphas=(0.1,)),
        70,
        1,
    )


def test_each_match_is_a_collection(tmp_path: Path) -> None:
    for name in ("a/x.csv", "b/x.csv.gz"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("")
    text = f'[[collection]]\neach = "*/x.csv*"\nname = "{{folder}}-{{stem}}"\nscores = "{{path}}"\n{ANALYSIS}'
    sweep = read_sweep(write_sweep(tmp_path, text))
    assert [(source.name, source.settings["scores"]) for source in sweep.sources] == [
        ("a-x", str(tmp_path / "a/x.csv")),
        ("b-x", str(tmp_path / "b/x.csv.gz")),
    ]
    assert sweep.sources[0].location == (str(tmp_path / "sweep.toml"), 1)


MISTAKES = {
    "not TOML": ("study = ", "is not TOML"),
    "nothing to do": ("trials = 5", "no [[analysis]]"),
    "unknown setting": (
        "trails = 5\n" + ANALYSIS,
        "unknown setting 'trails' of a sweep; the nearest known ones are: trials",
    ),
    "wrong kind": (
        "trials = true\n" + ANALYSIS,
        "trials = True of a sweep; expected a whole number",
    ),
    "unknown analysis": (
        '[[analysis]]\nname = "swop"\n',
        "unknown analysis 'swop'; the nearest known ones are: swap",
    ),
    "unknown option": (
        ANALYSIS + "sise = 5\n",
        "unknown setting 'sise' of swap; the nearest known ones are: size",
    ),
    "wrong option": (
        ANALYSIS + "confidence = 0.95\n",
        "confidence = 0.95 of swap; expected a list, each a number",
    ),
    "no list in a grid": (
        ANALYSIS + "grid = { size = 5 }\n",
        "grid.size = 5 of swap; expected a list",
    ),
    "no name": ('[[collection]]\nscores = "x"\n' + ANALYSIS, "a [[collection]] needs a name"),
    "two sources": (
        '[[collection]]\nname = "x"\nscores = "x"\nruns = "y"\nqrels = "q"\n' + ANALYSIS,
        "has one of runs, scores, study; found runs and scores",
    ),
    "no judgements": (
        '[[collection]]\nname = "x"\nruns = "y"\n' + ANALYSIS,
        "needs judgements; add qrels = FILE",
    ),
    "no match": (
        '[[collection]]\neach = "none/*"\nscores = "{path}"\n' + ANALYSIS,
        "no file matches",
    ),
    "unknown place": (
        '[[collection]]\neach = "*.toml"\nscores = "{file}"\n' + ANALYSIS,
        "unknown field in braces; known are path",
    ),
    "one name twice": (
        '[[collection]]\nname = "x"\nscores = "a"\n[[collection]]\nname = "x"\nscores = "b"\n'
        + ANALYSIS,
        "two collections are called 'x'",
    ),
    "no number of a grid": (ANALYSIS + "grid = 0\n", "grid = 0 of swap; expected a table"),
    "no pattern": (
        '[[collection]]\neach = "**.csv"\nscores = "{path}"\n' + ANALYSIS,
        "sweep.toml:1: each = '**.csv' is no pattern of files",
    ),
    "an attribute of a field": (
        '[[collection]]\neach = "*.toml"\nname = "{stem.x}"\nscores = "{path}"\n' + ANALYSIS,
        "'{stem.x}': unknown field in braces; known are path",
    ),
    "a format of a field": (
        '[[collection]]\neach = "*.toml"\nname = "{stem:>999999999}"\nscores = "{path}"\n'
        + ANALYSIS,
        "unknown field in braces; known are path",
    ),
    "an open brace": (
        '[[collection]]\neach = "*.toml"\nname = "{stem"\nscores = "{path}"\n' + ANALYSIS,
        "unknown field in braces; known are path",
    ),
    "no texts": (
        '[[collection]]\nname = "x"\nruns = [5]\nqrels = "q"\n' + ANALYSIS,
        "runs of a collection of runs holds 5; expected a list of texts",
    ),
    "no texts of an analysis": (
        ANALYSIS + "collections = [5]\n",
        "collections of swap holds 5; expected a list of texts",
    ),
    "a negative seed": (
        "trials = 5\nseed = -5\n" + ANALYSIS,
        "sweep.toml:2: seed = -5: expected a whole number from 0 to 2**64 - 1",
    ),
    "a large seed of an analysis": (
        ANALYSIS + "seed = 9223372036854775808\nbins = 1\n",
        "sweep.toml:1: bins = 1 of swap",
    ),
    "no trials": (
        "trials = 0\n" + ANALYSIS,
        "sweep.toml:1: trials = 0: expected a whole number of at least 1",
    ),
    "no workers": (
        "workers = 0\n" + ANALYSIS,
        "sweep.toml:1: workers = 0: expected a whole number of at least 1",
    ),
    "no memory": ('memory = "much"\n' + ANALYSIS, "sweep.toml:1: "),
    "a negative seed of an analysis": (
        ANALYSIS + "seed = -5\n",
        "sweep.toml:1: seed = -5 of swap; expected",
    ),
    "a negative seed in a grid": (
        ANALYSIS + "grid = { seed = [1, -5] }\n",
        "sweep.toml:1: seed = -5 of swap; expected",
    ),
    "an impossible option": (
        ANALYSIS + "bins = 1\n",
        "sweep.toml:1: bins = 1 of swap; expected auto or a whole number from 2 to 1,000",
    ),
    "deep nesting": (
        ANALYSIS + "size = " + "[" * 100_000 + "]" * 100_000 + "\n",
        "nested too deeply",
    ),
    "nested values": (ANALYSIS + "size = [[[[5]]]]\n", "expected a whole number or a list"),
    "a long integer": ("seed = " + "1" * 5000 + "\n" + ANALYSIS, "is not TOML"),
    "no choice": (
        '[[collection]]\nname = "x"\nruns = "r"\nqrels = "q"\nunjudged = "drop"\n' + ANALYSIS,
        "sweep.toml:1: unjudged of a collection of runs: 'drop' is not one of nonrelevant, condense",
    ),
    "impossible": ('impossible = "ignore"\n' + ANALYSIS, "expected one of skip, stop"),
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes_are_reported_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    path = write_sweep(tmp_path, text)
    with pytest.raises(BadInput) as caught:
        read_sweep(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_errors_name_the_line_of_the_table(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, ANALYSIS + "\n\n" + ANALYSIS + "sise = 5\n")
    with pytest.raises(BadInput, match=r"sweep\.toml:5: unknown setting"):
        read_sweep(path)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(ScorecubeError, match=r"none\.toml: cannot be read"):
        read_sweep(tmp_path / "none.toml")


def test_values_that_an_analysis_refuses_at_once(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, ANALYSIS + 'size = "5..x"\n')
    with pytest.raises((BadInput, BadPlan), match=r"5\.\.x"):
        read_sweep(path)


def test_a_field_in_double_braces_is_text(tmp_path: Path) -> None:
    text = '[[collection]]\neach = "*.toml"\nname = "{{{stem}}}"\nscores = "{path}"\n' + ANALYSIS
    (source,) = read_sweep(write_sweep(tmp_path, text)).sources
    assert source.name == "{sweep}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"analysis": "swap"}, "analysis: expected an analysis with its options, such as Swap"),
        ({"analysis": Swap}, "found the class Swap"),
        ({"seed": -5}, "seed=-5: expected a whole number from 0"),
        ({"trials": 1.5}, "trials: expected a whole number of at least 1; found 1.5"),
        ({"collections": "trec*"}, "collections: expected a list, such as"),
        ({"selection": {"metrics": "AP"}}, "metrics: expected a list, such as"),
        (
            {"selection": {"top_runs": True}},
            "top_runs: expected a whole number of at least 2; found True",
        ),
        ({"selection": {"top": 5}}, "selection: unknown name 'top'; known are metrics"),
    ],
)
def test_an_entry_of_other_types_is_refused(arguments: dict[str, Any], message: str) -> None:
    called: dict[str, Any] = {"analysis": Swap()}
    with pytest.raises(BadPlan) as caught:
        Entry(**(called | arguments))
    assert message in str(caught.value)


def test_a_negative_seed_is_no_impossible_plan(scorecube: Cli, tmp_path: Path) -> None:
    path = write_sweep(tmp_path, "seed = -5\n" + ANALYSIS)
    outcome = scorecube("sweep", path)
    assert (outcome.status, outcome.stdout) == (1, "")
    assert outcome.stderr.startswith(f"error: {path}:1: ")
    assert len(outcome.stderr.splitlines()) == 1
    assert not (tmp_path / "sweep.zarr").exists()


@pytest.mark.parametrize("grid", ["0", '"a"', "[1]"])
def test_a_grid_that_is_no_table(tmp_path: Path, grid: str) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(f'[[analysis]]\nname = "swap"\ngrid = {grid}\n')
    with pytest.raises(BadInput, match=r"sweep\.toml:\d+: .*grid"):
        read_sweep(path)
