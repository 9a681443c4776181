"""Sweep files: their collections and entries, and mistakes with file and table."""

from __future__ import annotations

from pathlib import Path

import pytest

from scorecube import Bootstrap, Swap
from scorecube.errors import BadInput, BadPlan
from scorecube.workflow.sweep_file import Entry, read_sweep

ANALYSIS = '[[analysis]]\nname = "swap"\n'
RUNS = '[[collection]]\nname = "x"\nruns = "r"\nqrels = "q"\n'
EACH = '[[collection]]\neach = "*.toml"\nname = "{stem}"\nscores = "{path}"\n'


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
        rule = "s1"
        grid = { sampling = ["disjoint", "replacement"], size = [5, [10, 15]] }
        [[analysis]]
        name = "bootstrap"
        trials = 70
        alphas = [0.1]
    """
    sweep = read_sweep(write_sweep(tmp_path, text))
    assert sweep.study == str(tmp_path / "here.zarr")
    assert list(sweep.entries) == [
        *(
            Entry(Swap(rule="s1", sampling=sampling, size=size), 50, 3, {"top_runs": 30})
            for sampling in ("disjoint", "replacement")
            for size in (5, (10, 15))
        ),
        Entry(Bootstrap(alphas=(0.1,)), trials=70),
    ]


def test_each_match_is_a_collection(tmp_path: Path) -> None:
    for name in ("a/x.csv", "b/x.csv.gz"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("")
    text = '[[collection]]\neach = "*/x.csv*"\nname = "{folder}-{stem}"\nscores = ["{path}"]\n'
    sources = read_sweep(write_sweep(tmp_path, text + ANALYSIS)).sources
    assert {name: source["scores"] for name, source in sources.items()} == {
        "a-x": (str(tmp_path / "a/x.csv"),),
        "b-x": (str(tmp_path / "b/x.csv.gz"),),
    }


def test_options_of_readers_and_paths(tmp_path: Path) -> None:
    text = f'{RUNS}teams = "t.csv"\nmetrics = ["AP"]\ndepth = 5\n'
    source = read_sweep(write_sweep(tmp_path, f"{text}{ANALYSIS}")).sources["x"]
    paths = {key: str(tmp_path / file) for key, file in zip(("runs", "qrels"), "rq", strict=True)}
    others = {"teams": str(tmp_path / "t.csv"), "metrics": ("AP",), "depth": 5}
    assert source == paths | others


MISTAKES = {
    "not TOML": ("study = ", ": is not TOML"),
    "deep": (f"{ANALYSIS}size = {'[' * 100_000}{']' * 100_000}\n", ": is not TOML"),
    "nothing to do": ("trials = 5", ": no [[analysis]]"),
    "no tables": ("analysis = 5", ": expected tables [[analysis]]"),
    "setting": ("trails = 5\n" + ANALYSIS, ": unknown setting 'trails'"),
    "type": ("trials = true\n" + ANALYSIS, ": trials: expected a whole number"),
    "analysis": ('[[analysis]]\nname = "swop"\n', ": [[analysis]] 1: no analysis 'swop'"),
    "option": (ANALYSIS * 2 + "sise = 5\n", ": [[analysis]] 2 (swap): unknown setting 'sise'"),
    "option range": (ANALYSIS + "bins = 1\n", ": [[analysis]] 1 (swap): bins: expected"),
    "grid": (ANALYSIS + "grid = { size = 5 }\n", ": [[analysis]] 1: grid: expected lists"),
    "no name": ('[[collection]]\nscores = "x"\n' + ANALYSIS, ": [[collection]] 1: expected a name"),
    "one name twice": (RUNS + RUNS + ANALYSIS, ": [[collection]] 2: another collection"),
    "two kinds": (RUNS + 'scores = "y"\n' + ANALYSIS, ": [[collection]] 1: expected a name"),
    "no judgements": ('[[collection]]\nname = "x"\nruns = "y"\n' + ANALYSIS, ": [[collection]] 1:"),
    "no match": (EACH.replace("*.toml", "none/*") + ANALYSIS, ": [[collection]] 1: each = 'none"),
    "no pattern": (EACH.replace('"*.toml"', "5") + ANALYSIS, ": [[collection]] 1: each = 5: no"),
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes_are_reported_with_file_and_table(tmp_path: Path, text: str, message: str) -> None:
    path = write_sweep(tmp_path, text)
    with pytest.raises(BadInput) as caught:
        read_sweep(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_no_such_file_and_no_such_entry(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none\.toml: "):
        read_sweep(tmp_path / "none.toml")
    with pytest.raises(BadPlan, match="trials: "):
        Entry(Swap(), trials=1.5)  # type: ignore[arg-type]
