"""One declaration of an option serves its command, sweep files, help, completion, option tables and checks."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
import typer

import scorecube as sc
from scorecube.analyses import registry
from scorecube.analyses.options import Option, option_field, options_of
from scorecube.analyses.shared_options import SELECTION, SHARED
from scorecube.cli.program import app
from scorecube.collection.selection import select
from scorecube.errors import BadInput, BadPlan
from scorecube.testing import simulate_cube
from scorecube.workflow.sweep_file import read_sweep
from tests.reference_pages import option_table, options_page

EVERY = [
    (name, option)
    for name in registry.names()
    for option in options_of(registry.load(name)).values()
]
IDS = [f"{name}-{option.name}" for name, option in EVERY]


@dataclass(frozen=True, kw_only=True)
class Graded(sc.Stability):
    """Stability method with grades.

    Parameters
    ----------
    sampling, size, fuzziness
        As of the stability method.
    grade
        Of the result.
    digits
        Decimal places.
    """

    name: ClassVar[str] = "graded"

    grade: str = option_field(
        "fine", "How fine the result is.", choices=("fine", "coarse"), finalize=True
    )
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
    assert program.commands["graded"].help == "Stability method with grades."
    found = {parameter.name: parameter for parameter in program.build("graded").params}
    assert (found["grade"].opts, found["grade"].default, found["grade"].help) == (
        ["--grade"], "fine", "How fine the result is.",
    )  # fmt: skip
    assert (found["digits"].opts, found["digits"].default) == (["--digits-shown"], "all")
    assert options_of(graded)["grade"].finalize
    assert option_table(graded)[-2]["values"] == "fine, coarse"
    path = tmp_path / "sweep.toml"
    path.write_text(
        '[[analysis]]\nname = "graded"\ngrade = "coarse"\ndigits = "3,1"\nsize = "5..15:5"\n'
    )
    assert read_sweep(path).entries[0].analysis == Graded(
        grade="coarse", digits=(3, 1), size=(5, 10, 15)
    )
    path.write_text('[[analysis]]\nname = "graded"\ngrade = "corse"\n')
    with pytest.raises(
        BadInput, match=r"\(graded\): grade = 'corse': grade 'corse' is not one of fine"
    ):
        read_sweep(path)
    with pytest.raises(BadPlan, match="grade 'corse' is not one of fine, coarse") as caught:
        sc.analyse(simulate_cube(n_runs=3), Graded(grade="corse"), trials=2)
    assert caught.value.option == "grade"


@pytest.mark.parametrize(("name", "option"), EVERY, ids=IDS)
def test_every_field_is_declared(name: str, option: Option) -> None:
    assert option.help.endswith(".")
    record: Any = registry.load(name)
    field = next(each for each in dataclasses.fields(record) if each.name == option.name)
    assert field.metadata
    option.check(option.default)


@pytest.mark.parametrize(("name", "option"), EVERY, ids=IDS)
def test_a_default_that_is_written_out_is_the_default(name: str, option: Option) -> None:
    text = option.default_text()
    if text is not None and option.scalar is None:
        assert option.parse(text) == option.default


@pytest.mark.parametrize("name", registry.names())
def test_names_and_summaries_are_those_of_the_classes(name: str) -> None:
    kind = registry.load(name)
    (entry,) = [each for each in registry.entries() if each.name == name]
    assert kind.name == name
    assert (kind.__doc__ or "").splitlines()[0] == entry.summary
    assert len(entry.summary) <= 81
    assert entry.class_name in sc.__all__
    assert getattr(sc, entry.class_name) is kind


def test_the_shared_selection_is_that_of_select() -> None:
    assert set(SELECTION) == set(select.__annotations__) - {"cube", "return"}
    assert SHARED["missing"].default == "refuse"


@pytest.mark.parametrize(
    ("analysis", "line"),
    [
        (sc.Bootstrap(alphas=(0.1, 0.05)), 'name = "bootstrap"\nalphas = "0.1,0.05"'),
        (sc.Bootstrap(plus_one=False), 'name = "bootstrap"\nplus_one = false'),
        (sc.Correlation(every_gain=True), 'name = "correlate"\nevery_gain = true'),
        (sc.Teams(leave=None), 'name = "teams"\nleave = "all"'),
        (
            sc.Teams(leave=(1, 2), keep_unpooled=False),
            'name = "teams"\nleave = [1, 2]\nkeep_unpooled = false',
        ),
    ],
)
def test_sweep_files_take_the_texts_of_the_command_line(
    tmp_path: Path, analysis: Any, line: str
) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(f"[[analysis]]\n{line}\n")
    assert read_sweep(path).entries[0].analysis == analysis


@pytest.mark.parametrize(
    ("words", "analysis"),
    [
        ("bootstrap --no-plus-one --alpha 0.1", sc.Bootstrap(plus_one=False, alphas=(0.1,))),
        ("correlate --every-gain --bold 0.9", sc.Correlation(every_gain=True, bold=0.9)),
        ("teams --drop-unpooled --topics 5,3", sc.Teams(keep_unpooled=False, topic_sizes=(5, 3))),
        ("teams --leave 2", sc.Teams(leave=(2,))),
        ("swap --size 5..15:5 --rule s1", sc.Swap(size=(5, 10, 15), rule="s1")),
    ],
)
def test_commands_make_the_record(
    monkeypatch: pytest.MonkeyPatch, words: str, analysis: Any
) -> None:
    made: list[Any] = []
    monkeypatch.setattr(
        "scorecube.cli.analysis_commands.run_analysis",
        lambda analysis, _study, given, _top: made.append((analysis, given)),
    )
    name, *options = words.split()
    program: Any = typer.main.get_command(app)
    program(
        [name, "study.zarr", *options, "--metrics", "AP,nERR(form=exp2,rel=2)@10"],
        standalone_mode=False,
    )
    assert made[0][0] == analysis
    assert made[0][1]["metrics"] == ("AP", "nERR(form=exp2,rel=2)@10")
    trials = type(analysis).default_trials if analysis.resamples else None
    assert made[0][1]["trials"] == trials


def test_option_tables_name_every_flag() -> None:
    text = options_page()
    for name in registry.names():
        assert f"## {name}" in text
    assert "| `plus_one` `--no-plus-one` |" in text
    assert "| `topic_sizes` `--topics` |" in text
    assert "(s1, Sakai 2007). *s0, s1*; default `s0` |" in text
    assert all(
        line.count("|") == 3
        for line in text.replace("\\|", "").splitlines()
        if line.startswith("|")
    )


def test_a_word_beside_numbers_is_parsed_and_shown() -> None:
    bins = options_of(sc.Swap)["bins"]
    assert (bins.parse("auto"), bins.parse("21"), bins.read("auto")) == ("auto", 21, "auto")
    assert bins.default_text() == "auto"
    for wrong in ("autos", "2.5", ""):
        with pytest.raises(BadPlan, match="auto or a whole number from 2 to 1,000"):
            bins.parse(wrong)


NAN = float("nan")
WRONG: dict[Any, tuple[Any, ...]] = {
    bool: (1, 0, 1.0, "yes", None, (True,)),
    float: (True, "0.5", None, (0.5,), 1j, NAN, Path("x")),
    float | None: (True, "0.5", (0.5,), NAN),
    int | None: (1.5, 2.0, True, "25", (2,), NAN, b"2"),
    str | None: (1, True, b"t", ("t",), Path("t")),
    str: (1, None, True, b"t", ("t",), Path("t")),
    tuple[float, ...]: (0.5, "0.5", None, (True,), ("0.5",), (NAN,), {0.5}, ((0.5,),), (None,)),
    tuple[int, ...] | None: (2, "2", (1.5,), (True,), ("2",), (2.0,), {2}),
    tuple[int, ...]: (5, (True,), (2.5,), ("5",), None, {"n"}),
    tuple[str, ...]: ("t", 1, (1,), None, (None,), {"t"}),
    Literal["auto"] | int: (1.5, 2.0, True, "25", "Auto", None, (2,), NAN, b"2"),
    int | Sequence[int] | None: ("25", 1.5, True, ("25",), (2.5,), (True,), b"25", {25}),
}
"""Values of other types than a field's, by its type; texts are no lists, truth values are no numbers."""
REFUSED = [(name, option, value) for name, option in EVERY for value in WRONG[option.type]]


@pytest.mark.parametrize(
    ("name", "option", "value"),
    REFUSED,
    ids=[f"{name}-{option.name}-{value!r}" for name, option, value in REFUSED],
)
def test_a_value_of_another_type_is_refused(name: str, option: Option, value: Any) -> None:
    with pytest.raises(BadPlan, match=rf"^{option.name}\b") as caught:
        registry.load(name)(**{option.name: value})
    assert caught.value.option == option.name
    assert "\n" not in str(caught.value)


LIMITED = [
    (name, option)
    for name, option in EVERY
    if {option.minimum, option.maximum, option.above, option.below} != {None}
]


def in_its_type(option: Option, number: float) -> Any:
    """Return a number as the value of an option: alone, or as the element of a list."""
    listed = isinstance(option.default, tuple) or option.name in ("bounds", "leave", "topic_sizes")
    return (number,) if listed else number


@pytest.mark.parametrize(
    ("name", "option"), LIMITED, ids=[f"{name}-{option.name}" for name, option in LIMITED]
)
def test_limits_hold(name: str, option: Option) -> None:
    kind = registry.load(name)
    step = (
        1
        if isinstance(option.default, int) or option.type not in (float, tuple[float, ...])
        else 1e-9
    )
    outside = [option.above, option.below]
    outside += [
        None if option.minimum is None else option.minimum - max(step, 1e-9 * abs(option.minimum))
    ]
    outside += [
        None
        if option.maximum is None
        else option.maximum * (1 + 1e-9)
        if step < 1
        else option.maximum + 1
    ]
    outside += [float("inf"), float("-inf")] if step < 1 else []
    for number in outside:
        if number is not None:
            with pytest.raises(BadPlan, match=rf"^{option.name}=.*: expected ") as caught:
                kind(**{option.name: in_its_type(option, number)})
            assert caught.value.option == option.name
    for number in (option.minimum, option.maximum):
        if number is not None:
            kind(**{option.name: in_its_type(option, number)})


LEVELS = [each for each in EVERY if each[1].name in ("alpha", "alphas", "confidence")]


@pytest.mark.parametrize(("name", "option"), LEVELS, ids=[name for name, _ in LEVELS])
def test_levels_on_the_wrong_side_are_doubted(name: str, option: Option) -> None:
    kind, usual = registry.load(name), 0.05 if option.level == "alpha" else 0.95
    assert option.name.startswith(option.level)
    assert kind(**{option.name: in_its_type(option, usual)}).doubts(simulate_cube()) == []
    for percentage in (5, 95):
        with pytest.raises(BadPlan, match=rf"; did you mean {usual}\?$"):
            kind(**{option.name: in_its_type(option, percentage)})
    if option.maximum is None:
        wrong = kind(**{option.name: in_its_type(option, 1 - usual)})
        (doubt,) = wrong.doubts(simulate_cube())
        assert doubt.startswith(f"{option.level} {1 - usual:g} is ")
        assert doubt.endswith(f"; did you mean {usual}?")


def test_every_analysis_with_levels_has_them_doubted() -> None:
    assert len(LEVELS) >= 12


def test_some_options_of_every_kind_have_limits() -> None:
    assert len(LIMITED) >= 24
    assert {option.type for _, option in EVERY} == set(WRONG)


@pytest.mark.parametrize(
    ("name", "option"),
    [each for each in EVERY if not each[1].may_be_empty and isinstance(each[1].default, tuple)],
)
def test_a_list_without_elements_is_refused(name: str, option: Option) -> None:
    with pytest.raises(BadPlan, match=rf"^{option.name}=\(\): expected a list that is not empty"):
        registry.load(name)(**{option.name: ()})


def test_a_value_is_not_written_out_at_any_length() -> None:
    with pytest.raises(BadPlan, match=r"^bins: expected auto or a whole number from 2 to 1,000$"):
        sc.Swap(bins=10**5000)
    with pytest.raises(BadPlan, match=r"^rule: expected text; found a list$|^rule: .{,120}$"):
        sc.Swap(rule=["x" * 10_000])  # type: ignore[arg-type]


def test_levels_have_either_name(tmp_path: Path) -> None:
    """Tests take several levels, rank sets one; files and methods take either name."""
    cube: Any = simulate_cube(n_runs=4)
    result = cube.scorecube.bootstrap(alpha=0.1, trials=20, seed=1)
    assert result["alpha"].values.tolist() == [0.1]
    file = tmp_path / "sweep.toml"
    file.write_text('[[analysis]]\nname = "bootstrap"\ngrid = { alpha = [0.1, [0.2, 0.3]] }\n')
    found = [entry.analysis for entry in read_sweep(file).entries]
    assert found == [sc.Bootstrap(alphas=(0.1,)), sc.Bootstrap(alphas=(0.2, 0.3))]
