"""Declared tables against loops, what columns keep of their quantities, and how they are read."""

from __future__ import annotations

import pickle
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.along_topics import join_collections
from scorecube.analyses.frames import TRAITS, Traits, frame_of, traits_of
from scorecube.collection.schema import CELL
from scorecube.declare import Column, Table, Variable, along, interval, limits_of, shown
from scorecube.declare.numbers import decimals_of
from scorecube.report.averages import averages
from scorecube.report.text_tables import brief_layout, render
from scorecube.testing import simulate_cube

KNOWN = along(
    (),
    Variable("mean", "estimate", "mean"),
    limits_of("mean", "limit"),
    Variable("p", "p_value", "p-value"),
    Variable("share", "share", "share", form=".0%"),
    Variable("alpha", "condition", "level", form=".2f"),
)


def described(rows: list[dict[str, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows)
    known = {variable.name: variable for variable in KNOWN}
    traits: Any = traits_of({name: Column(name) for name in map(str, frame)}, known)
    frame.attrs = traits
    return frame


def cells(frame: pd.DataFrame) -> list[list[str]]:
    lines = render(frame, "markdown").splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    cube = simulate_cube(n_runs=5, seed=3)
    swap = sc.analyse(cube, sc.Swap(size=(5, 10, 20)), trials=7, seed=1)
    return swap.assign_attrs(collection="made")


def test_rows_are_the_positions_along_the_dims(result: xr.Dataset) -> None:
    table = Table(
        (*CELL, "size", "bin"),
        ("metric", "size", "bin", Column("mean", of="tau"), "count", "sampling"),
    )
    expected = []
    for i, metric in enumerate(result["metric"].values):
        for j in range(result.sizes["gain"]):
            for k in range(3):
                at = result.isel(metric=i, gain=j, size=k)
                for place in range(result.sizes["bin"]):
                    values = float(at["tau"]), int(at["count"][place]), "disjoint"
                    expected.append(("made", str(metric), int(at["size"]), place, *values))
    frame = frame_of(table, result)
    assert [*frame.itertuples(index=False, name=None)] == expected
    assert len(frame) == table.n_rows(result)


@pytest.mark.parametrize(
    ("half", "decimals"),
    [(0.0354, 3), (0.0356, 2), (0.00949, 3), (0.0096, 3), (9.6, 0), (3.1, 1), (120.0, 0)],
)
def test_decimals_follow_the_rule_of_the_particle_data_group(half: float, decimals: int) -> None:
    assert decimals_of(half) == decimals


def test_estimates_and_limits_have_the_digits_that_these_allow() -> None:
    names = ("mean", "mean_low", "mean_high")
    frame = described(
        [
            dict(zip(names, (0.68912, 0.6141, 0.7639), strict=True)),
            dict(zip(names, (0.00012, -0.0204, 0.0206), strict=True)),
        ]
    )
    assert cells(frame) == [["0.69 (0.61 to 0.76)"], ["0.000 (-0.020 to 0.021)"]]
    assert "0.68912" in render(frame, "csv")
    assert "0.69 (0.61--0.76)" in render(frame, "latex")


def test_numbers_without_limits_have_the_form_of_their_quantity() -> None:
    rows = [{"alpha": 0.05, "p": 1e-7, "share": 0.0}, {"alpha": 0.005, "p": 0.25, "share": 0.256}]
    shown = [["0.05", r"\<0.0001", "0%"], ["0.005", "0.2500", "26%"]]
    assert cells(described(rows)) == shown


def test_limits_and_p_values_have_no_mean_over_collections() -> None:
    rows = [
        {"collection": name, "alpha": 0.05, "mean": mean, "mean_low": 0.1, "p": 0.5, "share": 0.5}
        for name, mean in (("a", 0.25), ("b", 0.75))
    ]
    means = averages(described(rows)).to_dict("records")
    assert means == [{"collection": "mean of 2", "alpha": 0.05, "mean": 0.5, "share": 0.5}]


def test_json_has_no_number_that_is_not_finite() -> None:
    frame = pd.DataFrame({"t": [float("inf"), float("nan"), 1.5]})
    assert render(frame, "json").count("null") == 2


@pytest.mark.parametrize("width", [20, 50])
def test_a_table_is_never_wider_than_the_terminal(width: int) -> None:
    columns = {"run": ["a" * 40, "b"], "gain": ["auto"] * 2, "mean": [0.5, 0.25]}
    frame = pd.DataFrame(columns | {f"further {k}": [1.5, 2.5] for k in range(9)})
    lines = render(frame, "text", width).splitlines()
    assert max(map(len, lines)) <= width
    assert any("left out" in line for line in lines)


def test_what_all_rows_have_stands_above_a_table_and_what_they_are_about_in_it() -> None:
    """At 80 columns a board had its constant gain and teams that are runs, and no means."""
    cubes = {name: simulate_cube(n_runs=3, seed=k, metrics=("AP",)) for k, name in enumerate("ab")}
    result = sc.analyse(join_collections(cubes), sc.Board(), trials=20)
    above, empty, headings, *_ = render(sc.table(result), "text", 60).splitlines()
    assert above.startswith("collection a and b, metric AP")
    assert empty == ""
    assert not {"collection", "metric", "gain"} & {*headings.split()}
    assert {"rank", "run", "mean"} <= {*headings.split()}


def test_columns_go_before_names_are_cut() -> None:
    """Two runs looked like one."""
    cube = simulate_cube(n_runs=2, metrics=("AP",))
    runs = ["elhuyar_prf_nof99p_tuned", "elhuyar_rrf_nof99p_tuned"]
    frame = sc.table(sc.analyse(cube.assign_coords(run=runs), sc.Leaderboard(), trials=20))
    text = render(frame, "text", 60)
    assert all(run in text for run in runs)
    assert "left out: team, groups;" in text


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed")
def test_a_table_for_a_paper_is_compiled(tmp_path: Path) -> None:
    result = sc.analyse(simulate_cube(n_runs=4, metrics=("AP",)), sc.Leaderboard(), trials=40)
    text = sc.latex(result)
    assert text.partition("\\toprule\n")[2].partition("\n")[0].count("&") < 6
    page = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n%s\n\\end{document}"
    (tmp_path / "x.tex").write_text(page % text)
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "x.tex"], cwd=tmp_path
    )
    assert done.returncode == 0


def test_of_two_intervals_the_first_stands_beside_its_estimate() -> None:
    """Limits of tau over topics, not the papers', which may exceed 1."""
    result = sc.analyse(sc.testing.simulate_cube(n_runs=12, seed=1), sc.Correlation())
    (row,) = sc.table(result).to_dict("records")
    text = render(sc.table(result), "text", columns=["tau"], digits=4)
    assert f"({row['topics_low']:.4f} to {row['topics_high']:.4f})" in text
    assert row["tau_high"] > 1
    assert f"{row['tau_high']:.4f}" not in render(sc.table(result), "text", digits=4)


def test_the_caption_of_a_board_tells_that_it_is_about_several_collections() -> None:
    cubes = {name: simulate_cube(n_runs=3, seed=k, metrics=("AP",)) for k, name in enumerate("ab")}
    result = sc.analyse(join_collections(cubes), sc.Board(), trials=20)
    assert sc.markdown(result).startswith("Board, a and b: 3 runs, 100 topics")


@pytest.mark.parametrize(("low", "n_columns"), [(None, 1), (0.1, 3)])
def test_a_terminal_has_brackets_where_any_row_has_limits(
    low: float | None, n_columns: int
) -> None:
    rows = [{"mean": 0.5, "mean_low": None}, {"mean": 0.6, "mean_low": low}]
    frame = pd.DataFrame(rows).assign(mean_high=lambda of: of["mean_low"])
    layout = brief_layout(Table((), brief=[shown("mean", *interval("mean"))]), frame)
    assert len(layout["mean"]) == n_columns


@pytest.mark.parametrize(
    ("record", "told"),
    [(sc.Correlation(), ("metric a", "metric b")), (sc.Swap(), ("confidence", "share of"))],
)
def test_latex_has_the_columns_that_terminals_show(record: Any, told: tuple[str, str]) -> None:
    cube = simulate_cube(n_runs=5, metrics=("AP", "RR", "nDCG"), gains=("3:2:1", "1:1:1"))
    text = sc.latex(sc.analyse(cube, record, trials=20, seed=1, workers=1))
    heads = text.partition("toprule")[2].partition("midrule")[0]
    assert heads.count("&") == 5
    assert all(heading in heads for heading in told)


def test_rows_are_counted_after_equal_gain_settings_became_one() -> None:
    cube = simulate_cube(n_runs=5, metrics=("AP",), gains=("3:2:1", "1:1:1"))
    result = sc.analyse(cube, sc.Swap(), trials=20, seed=1, workers=1)
    rows = sc.latex(result, top=2).partition("midrule")[2].partition("bottomrule")[0].splitlines()
    confidences = [line.split(" & ")[0] for line in rows if "&" in line]
    assert len(confidences) == len({*confidences}) == 2


def test_columns_keep_traits_of_their_own(result: xr.Dataset) -> None:
    """A copy has the same texts without a copy of each, and a change of it does not reach the frame."""
    frame = sc.table(result, "rates")
    copy = pickle.loads(pickle.dumps(frame)).assign(more=1)
    assert copy.attrs == frame.attrs == pd.concat([frame, frame]).attrs
    assert {type(copy.attrs[trait]) for trait in TRAITS} == {Traits}
    copy.attrs["heading"]["more"] = "more"
    assert "more" not in frame.attrs["heading"]
