"""One declaration of an option serves its command, sweep files, help, tables, checks and Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
import typer

import scorecube as sc
from scorecube.analyses import registry
from scorecube.analyses.options import (
    SELECTION,
    SHARED,
    Option,
    doubts_of,
    option_field,
    options_of,
)
from scorecube.cli.program import app
from scorecube.collection.selection import select
from scorecube.errors import BadInput, BadPlan
from scorecube.testing import simulate_cube
from scorecube.workflow.sweep_file import read_sweep
from tests.reference_pages import option_table, options_page

EVERY = [
    pytest.param(name, option, id=f"{name}-{option.name}")
    for name in registry.names()
    for option in options_of(registry.load(name)).values()
]


def chosen(condition: Any) -> list[Any]:
    """Return the parameters of options that a condition holds for."""
    return [entry for entry in EVERY if condition(entry.values[1])]


@dataclass(frozen=True, kw_only=True)
class Graded(sc.Stability):
    """Stability method with grades."""

    name: ClassVar[str] = "graded"

    grade: Literal["fine", "coarse"] = option_field("fine", "How fine it is.", finalize=True)
    digits: tuple[int, ...] | None = option_field(
        None, "Decimal places.", aliases={"all": None}, flag="--digits-shown"
    )


@pytest.fixture
def graded(monkeypatch: pytest.MonkeyPatch) -> type[Graded]:
    """Return an analysis from outside the package that is registered during a test."""
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))
    monkeypatch.setattr(registry, "_CLASSES", {})
    registry.register(Graded)
    return Graded


def test_a_declared_option_is_everywhere(graded: type[Graded], tmp_path: Path) -> None:
    program: Any = typer.main.get_command(app)
    found = {parameter.name: parameter for parameter in program.build("graded").params}
    grade = found["grade"]
    assert (grade.opts, grade.default, grade.help) == (["--grade"], "fine", "How fine it is.")
    assert (found["digits"].opts, found["digits"].default) == (["--digits-shown"], "all")
    assert option_table(graded)[-2]["values"] == "fine, coarse"
    path, table = tmp_path / "sweep.toml", '[[analysis]]\nname = "graded"\n'
    path.write_text(f'{table}grade = "coarse"\ndigits = "3,1"\nsize = "5..15:5"\n')
    right = Graded(grade="coarse", digits=(3, 1), size=(5, 10, 15))
    assert read_sweep(path).entries[0].analysis == right
    path.write_text(f'{table}grade = "corse"\n')
    with pytest.raises(BadInput, match=r"\(graded\): grade = 'corse': expected one of fine, coar"):
        read_sweep(path)
    with pytest.raises(BadPlan, match="grade: expected one of fine, coarse; found 'co") as caught:
        Graded(grade="corse")  # type: ignore[arg-type]
    assert caught.value.option == "grade"


@pytest.mark.parametrize(("name", "option"), EVERY)
def test_defaults_are_right_and_are_the_texts_that_are_shown(name: str, option: Option) -> None:
    assert option.help.endswith(".")
    assert option.checked(option.default) == option.default
    if (text := option.default_text()) is not None and option.scalar is None:
        assert option.parse(text) == option.default


@pytest.mark.parametrize("name", registry.names())
def test_names_and_summaries_are_those_of_the_classes(name: str) -> None:
    kind = registry.load(name)
    (entry,) = [entry for entry in registry.entries() if entry.name == name]
    assert kind.name == name
    assert (kind.__doc__ or "").splitlines()[0] == entry.summary
    assert len(entry.summary) <= 81
    assert entry.class_name in sc.__all__
    assert getattr(sc, entry.class_name) is kind


def test_the_shared_selection_is_that_of_select() -> None:
    assert set(SELECTION) == set(select.__annotations__) - {"cube", "return"}
    assert SHARED["missing"].default == "refuse"


@pytest.mark.parametrize(
    ("line", "words", "analysis"),
    [
        ('alphas = "0.1,0.05"', "bootstrap --alpha 0.1,0.05", sc.Bootstrap(alphas=(0.1, 0.05))),
        ("plus_one = false", "bootstrap --no-plus-one", sc.Bootstrap(plus_one=False)),
        ("every_gain = true", "correlate --every-gain", sc.Correlation(every_gain=True)),
        ('leave = "all"', "teams --leave all", sc.Teams(leave=None)),
        ("leave = [1, 2]", "teams --leave 1,2", sc.Teams(leave=(1, 2))),
        ("topic_sizes = [5, 3]", "teams --topics 5,3", sc.Teams(topic_sizes=(5, 3))),
        ('size = "5..15:5"', "swap --size 5..15:5", sc.Swap(size=(5, 10, 15))),
        ('rule = "s1"', "swap --rule s1", sc.Swap(rule="s1")),
    ],
)
def test_commands_and_sweep_files_make_the_record(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str, words: str, analysis: Any
) -> None:
    made: list[Any] = []
    monkeypatch.setattr(
        "scorecube.cli.analysis_commands.run_analysis",
        lambda analysis, _study, given, _top: made.append((analysis, given)),
    )
    name, *options = words.split()
    program: Any = typer.main.get_command(app)
    chosen_metrics = ["--metrics", "AP,nERR(form=exp2,rel=2)@10"]
    program([name, "study.zarr", *options, *chosen_metrics], standalone_mode=False)
    assert made[0][0] == analysis
    assert made[0][1]["metrics"] == ("AP", "nERR(form=exp2,rel=2)@10")
    path = tmp_path / "sweep.toml"
    path.write_text(f'[[analysis]]\nname = "{name}"\n{line}\n')
    assert read_sweep(path).entries[0].analysis == analysis


def test_option_tables_name_every_flag() -> None:
    text = options_page()
    assert all(f"## {name}" in text for name in registry.names())
    assert "| `plus_one` `--no-plus-one` |" in text
    assert "| `topic_sizes` `--topics` |" in text
    assert "(s1, Sakai 2007). *s0, s1*; default `s0` |" in text
    rows = [line for line in text.replace("\\|", "").splitlines() if line.startswith("|")]
    assert all(row.count("|") == 3 for row in rows)


NAN = float("nan")
WRONG: dict[Any, tuple[Any, ...]] = {
    bool: (1, 0, 1.0, "yes", None, (True,)),
    float: (True, "half", None, (0.5,), 1j, NAN, Path("x")),
    float | None: (True, "half", (0.5,), NAN),
    int | None: (1.5, 2.0, True, "2.5", "1,2", "", (2,), NAN, b"2"),
    str | None: (1, True, b"t", ("t",), Path("t")),
    str: (1, None, True, b"t", ("t",), Path("t")),
    tuple[float, ...]: (5, "x", None, (True,), ("0.5",), (NAN,), {0.5}, ((0.5,),), (None,)),
    tuple[int, ...] | None: (2.5, "2.5", (1.5,), (True,), ("2",), (2.0,), {2}),
    tuple[int, ...]: (5.5, (True,), (2.5,), ("5",), None, {"n"}),
    tuple[str, ...]: (1, (1,), None, (None,), {"t"}),
    Literal["auto"] | int: (1.5, 2.0, True, "2.5", "Auto", None, (2,), NAN, b"2"),
    Literal["half"] | int | Sequence[int] | None: (
        "x",
        1.5,
        True,
        ("25",),
        (2.5,),
        (True,),
        b"25",
        {25},
    ),
}
"""Values of other types than a field's, by its type; truth values are no numbers."""
OF_CHOICES = (1, None, True, "none of them", ("none of them",), {"t"}, b"t")


def wrong_values(option: Option) -> tuple[Any, ...]:
    """Return values that an option refuses."""
    return OF_CHOICES if option.choices else WRONG[option.type]


@pytest.mark.parametrize(("name", "option"), EVERY)
def test_a_value_of_another_type_is_refused(name: str, option: Option) -> None:
    for value in wrong_values(option):
        with pytest.raises(BadPlan, match=rf"^{option.name}\b") as caught:
            registry.load(name)(**{option.name: value})
        assert caught.value.option in (option.name, None)
        assert "\n" not in str(caught.value)


def test_every_type_is_tried() -> None:
    assert {entry.values[1].type for entry in chosen(lambda option: not option.choices)} == {*WRONG}


def in_its_type(option: Option, number: float) -> Any:
    """Return a number as the value of an option: alone, or as the element of a list."""
    listed = isinstance(option.default, tuple) or option.name in ("leave", "topic_sizes")
    return (number,) if listed else number


def beside_limits(option: Option) -> Iterator[float]:
    """Yield numbers just outside of the limits of an option."""
    step = 1e-9 if option.type in (float, tuple[float, ...]) else 1
    yield from (number for number in (option.above, option.below) if number is not None)
    if option.minimum is not None:
        yield option.minimum - step
    if option.maximum is not None:
        yield option.maximum + step
    yield from (float("inf"), float("-inf")) if step < 1 else ()


LIMITED = chosen(lambda option: option.limits)


@pytest.mark.parametrize(("name", "option"), LIMITED)
def test_limits_hold(name: str, option: Option) -> None:
    for number in beside_limits(option):
        with pytest.raises(BadPlan, match=rf"^{option.name}: expected .*; found ") as caught:
            registry.load(name)(**{option.name: in_its_type(option, number)})
        assert caught.value.option == option.name
    for limit in (option.minimum, option.maximum):
        if limit is not None:
            registry.load(name)(**{option.name: in_its_type(option, limit)})


LEVELS = chosen(lambda option: option.level)


@pytest.mark.parametrize(("name", "option"), LEVELS)
def test_levels_on_the_wrong_side_are_doubted(name: str, option: Option) -> None:
    kind, usual = registry.load(name), 0.05 if option.level == "alpha" else 0.95
    assert option.name.startswith(option.level)
    assert doubts_of(kind(**{option.name: in_its_type(option, usual)})) == []
    for percentage in (5, 95):
        with pytest.raises(BadPlan, match=rf"; did you mean {usual}\?$"):
            kind(**{option.name: in_its_type(option, percentage)})
    (doubt,) = doubts_of(kind(**{option.name: in_its_type(option, 1 - usual)}))
    assert doubt.startswith(f"{option.level} {1 - usual:g} is ")
    assert doubt.endswith(f"; did you mean {usual}?")


def test_many_options_have_limits_and_levels() -> None:
    assert len(LIMITED) >= 24
    assert len(LEVELS) >= 12


@pytest.mark.parametrize(
    ("name", "option"),
    chosen(lambda option: not option.may_be_empty and isinstance(option.default, tuple)),
)
def test_a_list_without_elements_is_refused(name: str, option: Option) -> None:
    with pytest.raises(BadPlan, match=rf"^{option.name}: expected a list that is not empty"):
        registry.load(name)(**{option.name: ()})


def test_a_value_is_not_written_out_at_any_length() -> None:
    with pytest.raises(BadPlan, match=r"^bins: .* 1,000; found a number of more than 4,300 digit"):
        sc.Swap(bins=10**5000)
    with pytest.raises(BadPlan, match=r"^rule: .{,120}$"):
        sc.Swap(rule=["x" * 10_000])  # type: ignore[arg-type]


def test_levels_have_either_name(tmp_path: Path) -> None:
    """Tests take several levels, which files and methods may call alpha; one is a list of one."""
    cube: Any = simulate_cube(n_runs=4)
    result = cube.scorecube.bootstrap(alpha=0.1, trials=20, seed=1)
    assert result["alpha"].values.tolist() == [0.1]
    file = tmp_path / "sweep.toml"
    file.write_text('[[analysis]]\nname = "bootstrap"\ngrid = { alpha = [0.1, [0.2, 0.3]] }\n')
    found = [entry.analysis for entry in read_sweep(file).entries]
    assert found == [sc.Bootstrap(alphas=(0.1,)), sc.Bootstrap(alphas=(0.2, 0.3))]
