"""Sweep files: their collections and entries, and mistakes with file and line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scorecube import Bootstrap, Swap
from scorecube.errors import BadInput, BadPlan
from scorecube.workflow.sweep_file import Entry, read_sweep

ANALYSIS = '[[analysis]]\nname = "swap"\n'
RUNS = '[[collection]]\nname = "x"\nruns = "r"\nqrels = "q"\n'
EACH = '[[collection]]\neach = "*.toml"\nscores = "{path}"\n'


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
        grid = { sampling = ["disjoint", "replacement"], size = [5, "10,15,20"] }
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
    assert bootstrap == Entry(Bootstrap(alphas=(0.1,)), trials=70)


def test_each_match_is_a_collection(tmp_path: Path) -> None:
    for name in ("a/x.csv", "b/x.csv.gz"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("")
    text = '[[collection]]\neach = "*/x.csv*"\nname = "{folder}-{stem}"\nscores = "{path}"\n'
    sweep = read_sweep(write_sweep(tmp_path, text + ANALYSIS))
    assert [(source.name, source.settings["scores"]) for source in sweep.sources] == [
        ("a-x", str(tmp_path / "a/x.csv")),
        ("b-x", str(tmp_path / "b/x.csv.gz")),
    ]
    assert sweep.sources[0].where == f"{tmp_path / 'sweep.toml'}: [[collection]] 1"


def test_options_of_readers_and_paths(tmp_path: Path) -> None:
    text = f'{RUNS}teams = "t.csv"\nmetrics = ["AP"]\nlevels = "2:1"\ndepth = 5\n'
    (source,) = read_sweep(write_sweep(tmp_path, f'gains = ["1:1"]\n{text}{ANALYSIS}')).sources
    paths = {"runs": "r", "qrels": "q", "teams": "t.csv"}
    assert source.settings == {
        **{key: str(tmp_path / name) for key, name in paths.items()},
        "metrics": ("AP",),
        "gains": ("1:1",),
        "levels": "2:1",
        "depth": 5,
    }


MISTAKES = {
    "not TOML": ("study = ", "is not TOML"),
    "a long integer": ("seed = " + "1" * 5000 + "\n" + ANALYSIS, "is not TOML"),
    "deep": (f"{ANALYSIS}size = {'[' * 100_000}{']' * 100_000}\n", "nested too deeply"),
    "nothing to do": ("trials = 5", "no [[analysis]]"),
    "no tables": ("analysis = 5", "expected tables [[analysis]]"),
    "setting": ("trails = 5\n" + ANALYSIS, "unknown setting 'trails'; the nearest"),
    "type": ("trials = true\n" + ANALYSIS, "trials = True: expected a whole number"),
    "analysis": ('[[analysis]]\nname = "swop"\n', "[[analysis]] 1: unknown analysis 'swop'"),
    "option": (ANALYSIS * 2 + "sise = 5\n", "[[analysis]] 2 (swap): unknown setting 'sise'"),
    "option range": (ANALYSIS + "bins = 1\n", "[[analysis]] 1 (swap): bins = 1: expected one of"),
    "option value": (ANALYSIS + "size = [[[[5]]]]\n", "a whole number"),
    "collections": (ANALYSIS + "collections = [5]\n", "collections = [5]: expected text"),
    "grid": (ANALYSIS + "grid = 0\n", "grid = 0; expected lists of values"),
    "grid of no list": (ANALYSIS + "grid = { size = 5 }\n", "expected lists of values"),
    "no name": (
        '[[collection]]\nscores = "x"\n' + ANALYSIS,
        "[[collection]] 1: the collection needs",
    ),
    "one name twice": (RUNS + RUNS + ANALYSIS, "[[collection]] 2: another collection before this"),
    "two kinds": (RUNS + 'scores = "y"\n' + ANALYSIS, "found runs and scores"),
    "no judgements": ('[[collection]]\nname = "x"\nruns = "y"\n' + ANALYSIS, "add qrels = FILE"),
    "no match": (EACH.replace("*.toml", "none/*") + ANALYSIS, "no file matches"),
    "no pattern": (EACH.replace('"*.toml"', "5") + ANALYSIS, "is no pattern of files"),
    "field": (EACH.replace("path", "file") + ANALYSIS, "unknown field in braces; known are path"),
    "attribute": (EACH.replace("path", "path.x") + ANALYSIS, "'{path.x}': unknown field in braces"),
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes_are_reported_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    path = write_sweep(tmp_path, text)
    with pytest.raises(BadInput) as caught:
        read_sweep(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none\.toml: cannot be read"):
        read_sweep(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"analysis": "swap"}, "analysis: expected an analysis with its options, such as Swap"),
        ({"trials": 1.5}, "trials: expected a whole number of at least 1; found 1.5"),
        ({"selection": {"metrics": "AP"}}, "metrics: expected a list, such as"),
        ({"selection": {"top_runs": True}}, "top_runs: expected a whole number of at least 2"),
        ({"selection": {"top": 5}}, "selection: unknown name 'top'; known are metrics"),
    ],
)
def test_an_entry_of_other_types_is_refused(arguments: dict[str, Any], message: str) -> None:
    called: dict[str, Any] = {"analysis": Swap()}
    with pytest.raises(BadPlan) as caught:
        Entry(**(called | arguments))
    assert message in str(caught.value)
