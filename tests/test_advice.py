"""Advice of messages can be followed in the channel where it appears: what they name exists there, and mends what was wrong."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.errors import BadPlan, ScorecubeError
from scorecube.methods import index
from scorecube.storage import Study
from scorecube.testing import simulate_cube

if TYPE_CHECKING:
    from tests.conftest import Cli

SOURCE = Path(sc.__file__).parent
ROOMS = ("analyses", "methods", "collection", "workflow", "ingest", "report")
OF_COMMANDS = {"replace", "name", "collections", "items", "part", "runs", "mark", "where"}
"""Arguments that messages of commands and of sweep files name, and no function of Python."""
OF_PYTHON = {"ax", "preset", "analysis"}
CALL = re.compile(r"sc\.\w+\([^)]*\)")


def named_options() -> Iterator[tuple[str, str]]:
    """Yield the file and the argument of each literal ``option(...)`` in a message."""
    for room in ROOMS:
        for path in sorted((SOURCE / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                if is_call and node.func.id == "option" and node.args:  # type: ignore[attr-defined]
                    (name, *_) = node.args  # type: ignore[attr-defined]
                    if isinstance(name, ast.Constant):
                        yield path.relative_to(SOURCE).as_posix(), str(name.value)


def python_arguments() -> set[str]:
    """Return the arguments of all public functions and records."""
    functions = [getattr(sc, name) for name in sc.__all__]
    functions += [Study.add, *map(index.load, index.names())]
    of_columns = {f"{role}_column" for role in ("run", "topic", "collection", "seed")}
    found = set(of_columns)
    for function in functions:
        if callable(function):
            found |= set(inspect.signature(function).parameters)
    return found


def test_arguments_that_messages_name_exist_in_python() -> None:
    known = python_arguments() | OF_COMMANDS
    named = list(named_options())
    assert len(named) >= 25
    assert [one for one in named if one[1] not in known | OF_PYTHON] == []


def test_arguments_that_messages_name_exist_on_the_command_line(scorecube: Cli) -> None:
    named = "evaluate import design show figure sweep board teams judges gate swap paired"
    commands = f"{named} leaderboard correlate bootstrap wcw friedman".split()
    helps = "".join(scorecube(command, "--help").stdout for command in commands)
    flags = set(re.findall(r"--[a-z][a-z-]*", helps))
    spelled = {"collections": "--collection"}
    absent = {
        (file, name)
        for file, name in named_options()
        if name not in OF_PYTHON and spelled.get(name, "--" + name.replace("_", "-")) not in flags
    }
    assert not absent


def with_a_gap() -> xr.Dataset:
    cube = simulate_cube(n_runs=4, seed=3).copy(deep=True)
    cube["score"].values[0, 0, 1, 2] = np.nan
    return cube


def with_imported() -> xr.Dataset:
    rankings = sc.testing.simulate_rankings(n_runs=6, seed=1)
    cube = sc.with_rankings(sc.evaluate(rankings, ["AP", "P@5"]), rankings)
    return cube.assign_coords(metric=["AP", "mine"])


def judged() -> dict[str, xr.Dataset]:
    return {"truth": with_a_gap(), "judge": simulate_cube(n_runs=4, seed=4)}


PYTHON: dict[str, tuple[Callable[[], Any], sc.Analysis]] = {
    "correlate": (with_a_gap, sc.Correlation()),
    "swap": (with_a_gap, sc.Swap(size=10)),
    "judges": (judged, sc.Judges()),
    "teams": (with_imported, sc.Teams(leave=(1,))),
}
"""What is wrong, and the analysis that says so with a call that mends it."""


@pytest.mark.parametrize("name", PYTHON)
def test_a_call_that_python_is_told_mends(name: str) -> None:
    make, analysis = PYTHON[name]
    data = make()
    with pytest.raises(BadPlan) as caught:
        sc.analyse(data, analysis, trials=2)
    (call,) = CALL.findall(str(caught.value))
    assert "--" not in str(caught.value)

    def mended(cube: xr.Dataset) -> xr.Dataset:
        told = call.replace("metrics=...", "metrics=['AP']")
        return eval(told, {"sc": sc, "cube": cube})  # type: ignore[no-any-return]

    each = {key: mended(cube) for key, cube in data.items()} if isinstance(data, dict) else mended(data)  # fmt: skip
    assert sc.analyse(each, analysis, trials=2).attrs["analysis"] == analysis.name


def test_a_gap_names_the_call() -> None:
    with pytest.raises(BadPlan, match=re.escape('sc.select(cube, missing="drop")')):
        sc.analyse(with_a_gap(), sc.Correlation())


def test_flags_that_a_command_is_told_mend(scorecube: Cli, tmp_path: Path) -> None:
    """The flags of a message are options of the command that printed it, and mend what was wrong."""
    study = sc.open_study(tmp_path / "s", mode="a")
    study.add("a", cube=with_a_gap())
    study.add("b", cube=simulate_cube(n_runs=4, seed=4))
    commands: list[list[Any]] = [
        ["correlate", study.path, "--collection", "a"],
        ["paired", study.path, "--collection", "a"],
        ["swap", study.path, "--collection", "a", "--size", 10, "--trials", 2],
        ["swap", study.path, "--collection", "b", "--size", 40, "--trials", 2],
        ["judges", study.path, "--truth", "a", "--judges", "b"],
    ]
    for command in commands:
        said = scorecube(*command)
        assert said.status == 1
        flags = re.findall(r"(--[a-z-]+) (\w+)", said.stderr)
        assert flags, said.stderr
        assert "sc." not in said.stderr
        flag, value = flags[-1]
        at = command.index(flag) if flag in command else len(command)
        assert scorecube(*command[:at], flag, value, *command[at + 2 :]).succeeded()


def test_several_collections_are_refused_with_a_way_out(scorecube: Cli, tmp_path: Path) -> None:
    rows = "model,item,benchmark,f1\na,1,x,.5\nb,1,x,.25\na,1,y,.5\nb,1,y,.75\n"
    file = tmp_path / "scores.csv"
    file.write_text(rows)
    with pytest.raises(ScorecubeError, match="collections=True") as caught:
        sc.import_scores(file)
    assert "--" not in str(caught.value)
    assert len(sc.import_scores(file, collections=True)) == 2
    study = tmp_path / "s"
    said = scorecube("import", study, file, "--name", "both")
    assert said.status == 1
    assert "leave --name out" in said.stderr
    assert scorecube("import", study, file).succeeded()


def test_warnings_in_python_have_no_marks() -> None:
    rankings = sc.testing.simulate_rankings(n_runs=6, seed=1)
    cube = sc.with_rankings(sc.evaluate(rankings, ["AP"]), rankings)
    result = sc.analyse(cube, sc.Teams(leave=(1,)), trials=2)
    assert any("pool_depth" in line for line in result.attrs["warnings"])
    assert not any(re.search("[\x02-\x04]", line) for line in result.attrs["warnings"])
