"""What `import scorecube as sc` offers: names, errors that Python programmers catch, one name for an option, help, types that mypy checks."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mypy.api
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.shared_options import SHARED
from scorecube.declare.options import Option, options_of
from scorecube.errors import ScorecubeError, default_flag
from scorecube.ingest.options import EVALUATE, IMPORT
from scorecube.methods import index
from tests.conftest import Cli
from tests.test_docstrings import sections

REPO = Path(__file__).parents[1]
MISUSES = {
    "sc.analyse('cube.zarr', sc.Swap())": "arg-type",
    "sc.analyse(cube, sc.Swap(rule='s2'))": "arg-type",
    "sc.sweep(sc.Swap(), cube)": "arg-type",
    "sc.gate(cube, 'a', 'b', margin='0.1')": "arg-type",
    "sc.evaluate(cube, metrics=[10])": "list-item",
    "sc.select(cube, run=['a'])": "call-arg",
    "sc.table(cube, 'means', top='3')": "arg-type",
    "sc.figure(cube, kind='pie')": "call-overload",
    "sc.figure(cube).set_xlabel('mean')": "attr-defined",
    "sc.open_study('study').cube": "attr-defined",
    "sc.metric('First')": "call-arg",
    "sc.Analysis()": "abstract",
    "sc.cube_from_scores({}, run=['a'])": "call-overload",
}
"""Line of a user's script -> code of what mypy reports."""
HELPED = {
    "analyse": "Parameters, Returns, Raises, See Also, Examples",
    "sweep": "Parameters, Returns, Raises, See Also, Examples",
    "gate": "Parameters, Returns, Raises, See Also, Notes, Examples",
    "metric": "Parameters, Returns, Raises, See Also, Notes, Examples",
    "Study": "Attributes, Raises, See Also, Examples",
    "Analysis": "Attributes, Raises, See Also, Examples",
}
"""Name -> sections of its help."""


@pytest.mark.process
def test_mypy_reports_each_misuse(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    head = ["import scorecube as sc", "cube = sc.testing.simulate_cube()"]
    script.write_text("\n".join([*head, *MISUSES]), "utf-8")
    said, problems, _ = mypy.api.run(
        ["--config-file", str(REPO / "pyproject.toml"), "--no-error-summary", str(script)]
    )
    assert not problems
    found = re.findall(r"script\.py:(\d+): error: .*\[([\w-]+)\]$", said, re.MULTILINE)
    expected = [(str(line), code) for line, code in enumerate(MISUSES.values(), len(head) + 1)]
    assert list(dict.fromkeys(found)) == expected, said


@pytest.mark.parametrize("name", HELPED)
def test_help_has_its_sections(name: str) -> None:
    parts = sections(getattr(sc, name).__doc__ or "")
    assert [title for title in parts if title] == HELPED[name].split(", ")


def test_no_public_signature_says_any() -> None:
    vague = []
    for name in sc.__all__:
        offered = getattr(sc, name)
        hints = inspect.get_annotations(offered) if inspect.isfunction(offered) else {}
        vague += [f"{name}: {argument}" for argument, hint in hints.items() if hint in ("Any", Any)]
    assert not vague


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    return sc.testing.simulate_cube(n_runs=4, seed=3)


UNKNOWN: dict[str, Callable[[xr.Dataset], object]] = {
    "metric": lambda cube: sc.select(cube, metrics=["nope"]),
    "run": lambda cube: sc.gate(cube, "nope", "team01-run1", margin=0.1),
    "table": lambda cube: sc.table(cube, "nope"),
    "column": lambda cube: sc.table(cube, columns=["nope"]),
    "sort": lambda cube: sc.table(cube, sort=["nope"]),
    "collection": lambda cube: sc.report(cube, collections=["nope"]),
    "spelling": lambda _: sc.evaluate(sc.testing.simulate_rankings(n_runs=2), ["nope"]),
}


@pytest.mark.parametrize("kind", UNKNOWN)
def test_unknown_names_are_key_errors_and_value_errors_of_ours(
    cube: xr.Dataset, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KeyError) as caught:
        UNKNOWN[kind](cube)
    assert isinstance(caught.value, sc.ScorecubeError)
    assert isinstance(caught.value, ValueError)
    assert str(caught.value)[0] not in "\"'"  # the words alone, where a KeyError has quotes


@pytest.mark.parametrize("name", [name for name in sc.__all__ if name[0].isupper()])
def test_errors_have_ours_before_those_of_python(name: str) -> None:
    kind = getattr(sc, name)
    if issubclass(kind, Exception):
        ours = [base.__module__.startswith("scorecube") for base in kind.__mro__]
        assert ours == sorted(ours, reverse=True)
        assert issubclass(kind, ScorecubeError)


def problem_of(name: str, option: Option) -> str | None:
    """Return an option whose main flag is not its name, or, of one that is on by default, `--no-` and its name."""
    expected = default_flag(f"no_{name}" if option.default is True else name)
    return None if option.flags[0] == expected else f"{name}: {option.flags[0]}"


def test_an_option_has_one_name() -> None:
    records: list[Any] = [index.find(entry.name) for entry in index.all_entries()]
    declared = [options_of(record) for record in records if hasattr(record, "__dataclass_fields__")]
    problems = {
        problem_of(name, option)
        for options in (*declared, SHARED, EVALUATE, IMPORT)
        for name, option in options.items()
        if option.help
    }
    assert problems <= {None}
    assert len(declared) >= len(index.names())


@pytest.mark.parametrize(
    ("declared", "functions"),
    [
        (EVALUATE, (sc.read_rankings, sc.evaluate, sc.Study.add)),
        (IMPORT, (sc.import_scores, sc.Study.add)),
        (SHARED, (sc.analyse, sc.select)),
    ],
)
def test_what_is_declared_for_commands_is_an_argument_of_the_same_name(
    declared: dict[str, Option], functions: tuple[Callable[..., object], ...]
) -> None:
    known = {"cluster", "scheduler", "dry_run", "collection"}  # of commands: a client, a study
    for function in functions:
        known |= set(inspect.signature(function).parameters)
    known |= {f"{role}_column" for role in ("run", "topic", "score", "collection", "seed", "group")}
    assert {*declared} <= known


def test_tables_take_what_the_command_takes(
    cube: xr.Dataset, tmp_path: Path, scorecube: Cli
) -> None:
    sc.open_study(tmp_path / "study", mode="a").add("one", cube=cube)
    words = ["--sort", "mean:desc", "--top", "2", "--columns", "metric,run,mean", "--metrics", "AP"]
    printed = scorecube("show", tmp_path / "study", "scores", *words, "--format", "csv").succeeded()
    frame = sc.table(
        cube, metrics=["AP"], sort=["mean:desc"], top=2, columns=["metric", "run", "mean"]
    )
    assert frame.to_csv(index=False) == printed.stdout
    result = sc.analyse(cube, sc.Leaderboard(), trials=20)
    limits = sc.table(result, columns=["run", "mean_limits"], top=1)
    assert limits.columns.tolist() == ["run", "mean_low", "mean_high"]
    several = sc.table(xr.DataTree.from_dict({"a": cube, "b": cube}), average=True)
    assert several["mean"].tolist() == sc.table(cube)["mean"].tolist()


def test_figures_take_what_the_command_takes(cube: xr.Dataset) -> None:
    swap = sc.Swap(size=20, sampling=("disjoint", "replacement"))
    result = sc.analyse(cube, swap, trials=20)
    (together,) = sc.figure(result, by="sampling", metrics=["AP"]).axes
    labels = {str(line.get_label()) for line in together.lines}
    assert {"AP (disjoint)", "AP (replacement)"} <= labels
    assert len(sc.figure(result, by="sampling", kind="bars").axes) == len(swap.confidence)
    titled = sc.figure(result, title="a title")
    assert "a title" in {titled.get_suptitle(), *(axes.get_title() for axes in titled.axes)}
    board = sc.analyse(cube, sc.Leaderboard(), trials=20)
    rows = [len(sc.figure(board, top=top).axes[0].get_yticks()) for top in (2, None)]
    assert rows[0] < rows[1]
    axes = titled.axes[0]
    several = sc.figure(xr.DataTree.from_dict({"a": result, "b": result}))
    assert several.axes
    for wrong in ({"kind": "bars"}, {"title": "a", "ax": axes}, {"by": "gain", "ax": axes}):
        with pytest.raises(sc.BadPlan):
            sc.figure(result, **wrong)
