"""One number in every channel: answers, tables, terminal, csv, JSON, LaTeX, Markdown, page, figure."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.collections import LineCollection

import scorecube as sc
from scorecube.analyses.frames import with_labels
from scorecube.declare import Answer, limited, with_limits
from scorecube.methods import index
from scorecube.report.readable import intervals_of
from scorecube.report.result_parts import answers, view_of_result
from scorecube.report.text_tables import lines_below, summaries
from tests.methods import own

if TYPE_CHECKING:
    from tests.conftest import Cli

MOST_LINES = 34
ALL = [entry.name for entry in index.entries()]
DRAWN = {
    "leaderboard": ("systems", "mean"), "board": ("systems", "mean"), "swap": ("rates", "swap_rate"),
    "stability": ("stability", "error_rate"),
    "reliability": ("coefficients", "erho2"), "judges": ("agreement", "tau"),
    "teams": ("variance", "variance_mean"),
}  # fmt: skip
"""Table and column whose numbers figures show, of tests of pairs their p-values."""


@pytest.fixture(scope="module")
def results(analysed_study: Path) -> dict[str, xr.Dataset]:
    """The latest result of each analysis of the first collection that has one."""
    study = sc.open_study(analysed_study)
    return {
        kind: study[name].result(kind).assign_attrs(collection=name)
        for kind in index.names()
        for name in reversed(list(study))
        if study[name].result_attributes(kind)
    }


@pytest.fixture(scope="module")
def page(analysed_study: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "page.html"
    sc.report(str(analysed_study), str(path), collections=["small"])
    return html.unescape(path.read_text())


def all_answers(result: xr.Dataset) -> list[Answer]:
    return [answer for of in view_of_result(result).answers.values() for answer in of(result)]


def place_of(result: xr.Dataset, answer: Answer) -> tuple[str, str, int]:
    """Return the table, the column and the row that hold the number of an answer."""
    ends = [end for end in (answer.value, answer.low, answer.high) if end is not None]
    for name in view_of_result(result).tables:
        frame = sc.table(result, name)
        numbers = frame.select_dtypes("number")
        for column in numbers:
            for row in np.flatnonzero(numbers[column] == answer.value):
                of_row = numbers.iloc[row].tolist()
                if all(np.isnan(end) or end in of_row for end in ends):
                    return name, str(column), int(row)
    raise AssertionError(f"no table has the numbers of {answer}")


def plain(text: str) -> str:
    """Return a number and its limits without what formats add."""
    text = re.sub(r"\\(%)|\$-\$", lambda found: found[1] or "-", text)
    return re.sub(r"--|\u2013", " to ", text).replace("%", "").replace("+", "")


@pytest.mark.parametrize("name", ALL)
def test_answers_are_numbers_of_tables_in_every_format(
    scorecube: Cli, analysed_study: Path, results: dict[str, xr.Dataset], name: str
) -> None:
    result, shown = results[name], dict[str, tuple[list[Any], list[Any]]]()
    known = [answer for answer in all_answers(result) if np.isfinite(answer.value)]
    assert known
    for answer in known:
        assert answer.what
        assert answer.sentence.startswith(f"{answer.label}: ")
        assert not re.search(r"\bnan\b", answer.sentence)
        number, limits = answer.number
        assert f"{number} ({limits})" if limits else number in answer.sentence
        table, column, row = place_of(result, answer)
        if table not in shown:
            of = ("--table", table, "--collection", result.attrs["collection"], "--format")
            texts = [
                scorecube("show", analysed_study, name, *of, form).succeeded().stdout
                for form in ("json", "csv")
            ]
            shown[table] = json.loads(texts[0]), [*csv.DictReader(io.StringIO(texts[1]))]
        for rows in shown[table]:
            assert float(rows[row][column]) == pytest.approx(answer.value, rel=1e-11)
    table, column, _ = place_of(result, known[0])
    number, limits = map(plain, known[0].number)
    if limits and column in sc.table(result, table) and known[0].form != ",.0f":
        whole = f"{number} ({limits})"
        for text in (sc.latex, sc.markdown):
            assert whole in plain(text(result, table, columns=[column]))


@pytest.mark.parametrize("name", ALL)
def test_every_quantity_has_one_interval_in_every_channel(
    scorecube: Cli, analysed_study: Path, results: dict[str, xr.Dataset], name: str
) -> None:
    """Limits of each row are the same in Python, csv, JSON, LaTeX and Markdown; those of an answer and of its card are those of the row."""
    result = results[name]
    for table in view_of_result(result).tables:
        frame = sc.table(result, table)
        intervals = intervals_of(frame)
        if not intervals or not len(frame):
            continue
        of = ("--table", table, "--collection", result.attrs["collection"], "--format")
        found = scorecube("show", analysed_study, name, *of, "json").succeeded().stdout
        as_json = pd.DataFrame(json.loads(found))
        as_csv = pd.read_csv(
            io.StringIO(scorecube("show", analysed_study, name, *of, "csv").stdout)
        )
        for estimate, *ends in intervals.values():
            for column in (estimate, *ends):
                now = pd.to_numeric(frame[column]).to_numpy(float)
                for other in (as_json, as_csv):
                    there = pd.to_numeric(other[column]).to_numpy(float)
                    np.testing.assert_allclose(there, now, rtol=1e-11, err_msg=f"{table} {column}")
                assert not np.isinf(now).any()
            low, high = (pd.to_numeric(frame[end]).to_numpy(float) for end in ends)
            assert (low <= high)[~np.isnan(low) & ~np.isnan(high)].all()
    first = next(iter(view_of_result(result).answers.values()))
    for answer in first(result):
        if answer.low is None or not np.isfinite(answer.value):
            continue
        table, column, row = place_of(result, answer)
        frame = sc.table(result, table)
        known = [of for estimate, *of in intervals_of(frame).values() if estimate == column]
        of_row = [frame.loc[row, pair].to_numpy(float) for pair in known]
        shown = np.array([answer.low, answer.high], float)
        assert any(np.array_equal(shown, of, equal_nan=True) for of in of_row)


def test_a_leader_has_its_own_limits_in_its_row_and_others_in_the_answer(
    results: dict[str, xr.Dataset], page: str
) -> None:
    for name in ("leaderboard", "board"):
        result = results[name]
        for answer in answers(result):
            rows = with_labels(sc.table(result, "systems"))
            row = rows[(rows["label"] == answer.label) & (rows["rank"] == 1)].iloc[0]
            assert (answer.low, answer.high) == (row["mean_low"], row["mean_high"])
            leaders = with_labels(sc.table(result, "leader"))
            leader = leaders[leaders["label"] == answer.label].iloc[0]
            assert (
                leader["leader_low"] <= row["mean_low"] < row["mean_high"] <= leader["leader_high"]
            )
            _, limits = limited(row["mean"], leader["leader_low"], leader["leader_high"])
            assert f" {result.sizes['run']}: {limits}" in answer.sentence
            assert " leads with " in answer.sentence or " lead with " in answer.sentence
            assert answer.number[1] in page.replace("\u2013", " to ")


@pytest.mark.parametrize("width", [60, 120])
@pytest.mark.parametrize("name", ALL)
def test_terminals_show_a_table_and_one_sentence(
    results: dict[str, xr.Dataset], name: str, width: int
) -> None:
    result = results[name]
    lines = [line for shown in summaries([result], width) for line in shown]
    assert 0 < len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= width
    assert not {"alpha", "confidence", "size"} & {*lines[min(2, len(lines) - 1)].split()}
    first = answers(result)[0]
    assert lines_below([result]) == [first.sentence]
    if width == 120 and name != "judges":  # the truth ranks first
        assert plain(first.number[0]) in plain("\n".join(lines))


@pytest.mark.parametrize("name", [n for n in ALL if n != "judges" and not own(n, "CUBE")])
def test_pages_show_the_answers(results: dict[str, xr.Dataset], page: str, name: str) -> None:
    for answer in all_answers(results[name])[:5]:
        assert answer.sentence in page


@pytest.mark.parametrize("name", [name for name in ALL if name != "correlate"])
def test_figures_draw_the_numbers_of_tables(results: dict[str, xr.Dataset], name: str) -> None:
    result = results[name]
    table, column = own(name, "DRAWN") or DRAWN.get(name, ("pairs", "p_value"))
    frame = sc.table(result, table)
    frame = frame[frame.get("metric", frame.get("metric_a")) == frame.iloc[0].get("metric", "AP")]
    if "test" in frame:
        frame = frame[frame["test"] == frame["test"].iloc[0]]
    if "gain" in frame:
        frame = frame[frame["gain"] == result["gain"].values[0]]
    drawn = list[float]()
    for axes in sc.figure(result).axes:
        drawn += [value for line in axes.lines for value in np.ravel(line.get_xydata())]
        lines = [each for each in axes.collections if isinstance(each, LineCollection)]
        drawn += [value for each in lines for line in each.get_segments() for value in line.ravel()]
    numbers = frame[column].dropna().to_numpy() * (100 if name == "stability" else 1)
    assert len(numbers)
    if name == "reliability":  # at the topics at hand, read off a curve
        numbers = numbers[frame["n_topics"] == result.attrs["n_topics"]]
    far = [min(abs(value - number) for value in drawn) for number in numbers]
    assert max(far) < (6e-4 if name == "reliability" else 1e-12)


def test_a_leader_by_itself_has_one_rank() -> None:
    scores = np.random.default_rng(1).normal(size=(3, 40)) * 0.01 + [[0.9], [0.5], [0.5]]
    cube = sc.cube_from_scores({"AP": pd.DataFrame(scores, ["a", "b", "c"])})
    (answer,) = answers(sc.analyse(cube, sc.Leaderboard(), trials=200))
    assert answer.sentence.endswith("; rank 1.")


def test_a_board_crosses_systems_and_collections(results: dict[str, xr.Dataset]) -> None:
    result = results["board"]
    single = with_labels(sc.table(result, "collections"))
    numbers = single.set_index(["label", "collection", "run"])[["mean", "mean_low", "mean_high"]]
    cells = {
        place: with_limits(*row)
        for place, row in zip(numbers.index, numbers.to_numpy(), strict=True)
    }
    systems = with_labels(sc.table(result, "systems"))
    matrix = sc.table(result, "matrix")
    assert matrix["run"].tolist() == systems["run"].tolist()
    for row in matrix.to_dict("records"):
        for name in result["collection"].values:
            assert row[name] == cells[row["metric"], name, row["run"]]
