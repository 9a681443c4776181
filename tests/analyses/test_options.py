"""One declaration of an option serves its command, sweep files, help, tables, checks and Python."""

from __future__ import annotations

import dataclasses
import inspect
import math
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import scorecube as sc
from scorecube.cli.program import app
from scorecube.declare.options import Option, options_of
from scorecube.errors import BadPlan
from scorecube.methods import index
from scorecube.workflow.sweep_file import read_sweep

EVERY = [
    pytest.param(name, option, id=f"{name}-{option.name}")
    for name in index.names()
    for option in options_of(index.load(name)).values()
]


@pytest.mark.parametrize(("name", "option"), EVERY)
def test_defaults_are_right_and_are_the_texts_that_are_shown(name: str, option: Option) -> None:
    assert option.checked(option.default) == option.default
    if (text := option.default_text()) is not None and option.scalar is None:
        assert option.checked(text) == option.default


@pytest.mark.parametrize(
    ("line", "words", "analysis"),
    [
        ('alphas = "0.1,0.05"', "bootstrap --alpha 0.1,0.05", sc.Bootstrap(alphas=(0.1, 0.05))),
        ("alphas = 0.1", "tukey --alpha 0.1", sc.Tukey(alphas=(0.1,))),
        ("plus_one = false", "bootstrap --no-plus-one", sc.Bootstrap(plus_one=False)),
        ("every_gain = true", "correlate --every-gain", sc.Correlation(every_gain=True)),
        ('leave = "all"', "teams --leave all", sc.Teams(leave=None)),
        ("leave = [1, 2]", "teams --leave 1,2", sc.Teams(leave=(1, 2))),
        ("topic_sizes = [5, 3]", "teams --topics 5,3", sc.Teams(topic_sizes=(5, 3))),
        ('size = "5,10"', "swap --size 5,10", sc.Swap(size=(5, 10))),
        ('size = "half"', "swap --size half", sc.Swap(size="half")),
        (
            'sampling = ["disjoint", "replacement"]',
            "swap --sampling disjoint,replacement",
            sc.Swap(sampling=("disjoint", "replacement")),
        ),
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


NAN = float("nan")
WRONG: dict[Any, tuple[Any, ...]] = {
    bool: (1, "yes", None, (True,)),
    float: (True, "half", None, (0.5,), 1j, NAN, float("inf"), Path("x")),
    int: (1.5, 2.0, True, "2.5", "1,2", "", (2,), NAN, b"2"),
    str: (1, True, b"t", ("t",), Path("t")),
}
"""Values that are not of a kind; truth values are no numbers."""
WRONG_ELEMENTS: dict[Any, tuple[Any, ...]] = {
    float: ("x", (True,), (NAN,), {0.5}, ((0.5,),), (None,)),
    int: (2.5, "2.5", (1.5,), (True,), (2.0,), {2}),
    str: (1, (1,), (None,), {"t"}),
}
OF_CHOICES = (1, None, True, "none of them", ("none of them",), {"t"}, b"t")


def wrong_values(option: Option) -> Iterator[Any]:
    """Yield values that an option refuses: of another type, and just outside of its limits."""
    kind, single, listed, optional = option.kind, option.single, option.listed, option.optional
    if option.choices:
        yield from OF_CHOICES
        return
    wrong = WRONG_ELEMENTS[kind] if listed else WRONG[kind]
    yield from (value for value in wrong if value is not None or not optional)
    outside = [number for number in (option.above, option.below) if number is not None]
    for limit, way in ((option.minimum, -1), (option.maximum, 1)):
        if limit is not None:
            outside.append(math.nextafter(limit, way * math.inf) if kind is float else limit + way)
    yield from outside if single else [(number,) for number in outside]
    if listed and option.default:
        yield ()


@pytest.mark.parametrize(("name", "option"), EVERY)
def test_other_values_are_refused(name: str, option: Option) -> None:
    for value in wrong_values(option):
        with pytest.raises(BadPlan, match=rf"^{option.name}\b") as caught:
            index.load(name)(**{option.name: value})
        assert caught.value.option in (option.name, None)
        assert "\n" not in str(caught.value)
    single = option.single
    for limit in (option.minimum, option.maximum):
        if limit is not None:
            index.load(name)(**{option.name: limit if single else (limit,)})


@pytest.mark.parametrize(
    ("record", "given", "near"),
    [
        *((index.load(name), "n", "trials and seed") for name in index.names()),
        (sc.Swap, "siz", "size"),
        (sc.Correlation, "trails", "trials"),
        (sc.Entry, "trails", "trials"),
    ],
)
def test_an_unknown_option_is_one_line_with_the_nearest(record: Any, given: str, near: str) -> None:
    for kind in (TypeError, BadPlan):
        with pytest.raises(kind, match=f"{given};.*{near}"):
            record(**{given: 10})


def test_records_are_copied_and_shown_as_before() -> None:
    record = sc.Swap(size=3)
    assert pickle.loads(pickle.dumps(record)) == record == dataclasses.replace(record)
    assert "size" in inspect.signature(sc.Swap).parameters
