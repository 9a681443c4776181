"""What a page tells first, what it warns of, and how pages and figures are written: whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses import registry
from scorecube.errors import BadStudy
from scorecube.report import results
from scorecube.report.cautions import cautions_of
from scorecube.report.page import cards as made_cards
from scorecube.report.page import sections as made_of
from scorecube.report.page import writing as pages
from scorecube.report.page.board import limited
from scorecube.report.page.cards import Card, cards, metrics_table
from scorecube.report.page.html import MOST_SHOWN, html_table
from scorecube.report.page.options import PageOptions
from scorecube.report.page.sections import Section, Sections, part_sources, read_part, without_large
from scorecube.report.study_overview import draw
from scorecube.report.tables import Table
from scorecube.report.view import DIFFERENCE, DISCRIMINATION, LEADERBOARD, TOPICS, Question
from scorecube.report.views import view_of
from scorecube.storage import Study
from scorecube.testing import simulate_cube
from scorecube.workflow import api

if TYPE_CHECKING:
    from tests.conftest import Cli, Tree

METRICS = ("AP", "RR", "nDCG@10")


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study of ten collections, more than have bars, with tests and swaps."""
    path = tmp_path_factory.mktemp("several") / "study.zarr"
    study = sc.open_study(path, mode="a")
    for k in range(10):
        study.add(f"c{k}", cube=simulate_cube(n_runs=6, seed=k, metrics=METRICS, gains=("3:2:1",)))
    for analysis in (sc.Bootstrap(), sc.Swap()):
        for task in api.plan_in_study(study, analysis, trials=40, seed=1):
            task.run()
    return sc.open_study(path)


def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let results have no pictures, which take most of the time."""

    def curve(result: xr.Dataset) -> dict[str, Any]:
        return {
            "picture": "",
            "caption": "",
            "reading": [],
            "others": [],
            "collection": result.attrs["collection"],
        }

    monkeypatch.setattr(made_of, "curve", curve)


def sections_of(study: Study, *names: str) -> list[Section]:
    sections = Sections()
    for name in names or study:
        for source in part_sources(study[name]):
            part = read_part(study, source)
            if part is not None:
                sections.add(part)
    return sections.in_order()


def told(sections: list[Section], several: bool = False) -> dict[Question, Card]:
    return {each.question: each for each in cards(sections, several)}


@pytest.mark.slow
def test_cards_have_the_numbers_of_the_results(several: Study) -> None:
    sections = sections_of(several, "c0")
    found = told(sections)
    assert list(found) == [DISCRIMINATION, DIFFERENCE, TOPICS]
    at = several["c0"].result("swap").sel(confidence=0.95).isel(gain=0, size=0)
    (says,) = found[DISCRIMINATION].says
    shares = at["share"].to_series().dropna().sort_values(ascending=False, kind="stable")
    assert [(label, text) for label, _, text in says.bars] == [
        (label, f"{share:.0%}") for label, share in shares.items()
    ]
    for each in found[DIFFERENCE].says:
        required = at["required_difference"].sel(metric=each.label).item()
        if np.isnan(required):
            assert each.big == "none"
        else:
            assert float(each.big) == pytest.approx(required, abs=0.006)
            assert f"in {each.label}, confirmed by 25 other topics in 95% of cases" in each.clause  # fmt: skip
    assert [each.label for each in found[TOPICS].says] == list(METRICS)
    assert all("50 today" in each.clause for each in found[TOPICS].says)


def test_the_card_of_the_leader_has_the_limits_of_its_row(tmp_path: Path) -> None:
    study = sc.open_study(tmp_path / "study.zarr", mode="a")
    study.add("c", cube=simulate_cube(n_runs=9, seed=4, metrics=("AP",), gains=("3:2:1",)))
    for task in api.plan_in_study(study, sc.Leaderboard(), trials=400, seed=1):
        task.run()
    result = study["c"].result("leaderboard")
    first = int(result["mean"].values.argmax())
    low, high = (float(result[f"mean_{side}"].values.ravel()[first]) for side in ("low", "high"))
    (says,) = told(sections_of(study))[LEADERBOARD].says
    assert says.limits == " ".join(limited(float(result["mean"].max()), low, high))


@pytest.mark.slow
def test_metrics_stand_beside_each_other_the_primary_first(several: Study) -> None:
    sections = sections_of(several, "c0")
    headings, rows = metrics_table(sections, ["RR", "AP", "nDCG@10"])
    assert [label for label, _ in rows] == ["RR", "AP", "nDCG@10"]
    assert headings[:3] == ["share of comparisons confirmed", "required difference", "pairs of runs separated"]  # fmt: skip
    share = several["c0"].result("bootstrap")["share"].sel(alpha=0.05, metric="RR").item()
    assert rows[0][1][2] == (f"{100 * share:.0f}%", False)


def test_the_best_is_marked_where_it_is_separated() -> None:
    apart = {"AP": (0.9, 0.8, 0.95), "Q": (0.5, 0.4, 0.6)}
    assert made_cards._separated(apart, True) == "AP"
    assert made_cards._separated(apart, False) == ""
    assert made_cards._separated(apart | {"RR": (0.8, 0.7, 0.85)}, True) == ""
    assert made_cards._separated(apart | {"RR": (0.1, None, None)}, True) == ""


def test_a_final_page_says_nothing_of_what_is_possible(
    several: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    for final in (False, True):
        how = PageOptions(final=final, primary="nDCG@10", metrics=("RR", "nDCG@10"))
        pages.write_page(several, tmp_path / "page.html", collections=["c1"], options=how)
        text = (tmp_path / "page.html").read_text()
        assert ("Also possible" in text) != final
        assert re.findall(r"data-labels='([^']*)'", text) == ['["nDCG@10","RR"]']
        assert ">AP<" not in text


def test_too_few_trials_for_alpha() -> None:
    cube = simulate_cube(n_runs=4, seed=1)

    def texts(trials: int) -> str:
        result = sc.analyse(cube, sc.Bootstrap(alphas=(0.05,)), trials=trials, seed=1).assign_attrs(
            collection="c"
        )
        return " ".join(
            each.text for each in cautions_of("bootstrap", result, {"power": sc.table(result)})
        )

    # 1.96 standard errors of a share of 0.05 exceed it up to 1.96 ** 2 * 0.95 / 0.05 = 73 trials.
    assert "Too few trials for alpha 0.05" in texts(72)
    assert "73 trials or more are needed" in texts(72)
    assert "Too few trials for alpha" not in texts(73)


@pytest.mark.parametrize("kind", registry.names())
def test_rows_are_counted_without_the_table(analysed_study: Path, kind: str) -> None:
    study = sc.open_study(analysed_study)
    result = next(result for name in study for result in study[name].results(kind))
    for name, table in view_of(kind).tables.items():
        rows = len(table.make(result))
        assert table.rows(result) == 0 or rows <= table.rows(result) <= 3 * rows, name


def test_a_table_that_is_too_long_is_not_made(
    several: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: xr.Dataset) -> pd.DataFrame:
        raise AssertionError("made")

    tables = view_of("bootstrap").tables
    assert isinstance(tables, dict)
    monkeypatch.setitem(tables, "pairs", Table(refuse, tables["pairs"].rows))
    monkeypatch.setattr(results, "MOST_ROWS", 44)
    (source,) = [each for each in part_sources(several["c0"]) if each.kind == "bootstrap"]
    part = read_part(several, source)
    assert part is not None
    assert "pairs" not in part.frames
    assert part.rows["pairs"] == 45
    sections = Sections()
    sections.add(part)
    (section,) = sections.in_order()
    assert ("pairs", "45") in section.content()["too_long"]


def test_large_arrays_are_let_go_and_dims_stay(
    several: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = several["c0"].result("bootstrap")
    monkeypatch.setattr(made_of, "LARGE", 100)
    small = without_large(result)
    assert small.sizes == result.sizes
    assert "p_value" not in small
    pd.testing.assert_frame_equal(sc.table(small, "power"), sc.table(result, "power"))


def test_rows_beyond_what_is_shown_are_counted() -> None:
    table = html_table(pd.DataFrame({"x": range(MOST_SHOWN + 7)}))
    assert table.count("<tr>") == MOST_SHOWN + 1
    assert f"The first {MOST_SHOWN} of {MOST_SHOWN + 7} rows." in table


@pytest.mark.slow
def test_one_file_compares_collections_too(
    several: Study, scorecube: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    scorecube("report", several.path, "--out", tmp_path / "page.html").succeeded()
    text = (tmp_path / "page.html").read_text()
    order = [
        text.index(f'id="{name}"') for name in ("glance", "collections", "cautions", "methods")
    ]
    assert order == sorted(order)
    outside = [
        address
        for address in re.findall(r'(?:src|href)="([^"]*)"', text)
        if not address.startswith(("#", "data:"))
    ]
    assert outside == []
    assert text.count("<tr>") > 10
    assert "Means over the collections" in text
    # Its script stands in the page, and its policy lets nothing be loaded.
    assert len(re.findall(r"<script\b", text)) == 1
    assert "default-src 'none'" in text
    assert not re.search(r"@import|<script[^>]*\ssrc|<link|url\((?!#)", text)


@pytest.mark.slow
def test_a_report_that_fails_leaves_nothing_and_takes_nothing(
    several: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tree: Callable[[Path], Tree]
) -> None:
    without_pictures(monkeypatch)
    pages.write_page(several, tmp_path / "page.html")
    before = tree(tmp_path)

    def fail(*_: Any, **__: Any) -> str:
        raise BadStudy("no")

    monkeypatch.setattr(pages, "render", fail)
    with pytest.raises(BadStudy):
        pages.write_page(several, tmp_path / "page.html")
    assert tree(tmp_path) == before


@pytest.mark.parametrize("end", ["png", "svg", "pdf"])
def test_a_figure_is_written(
    scorecube: Cli, analysed_study: Path, tmp_path: Path, end: str
) -> None:
    out = tmp_path / f"picture.{end}"
    scorecube(
        "figure", analysed_study, "swap", "--collection", "small", "--gain", "1:1:1", "--out", out
    ).succeeded()
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    assert out.read_bytes().startswith(starts[end])


@pytest.mark.parametrize("kind", ["bootstrap", "swap"])
def test_several_collections_are_drawn_side_by_side(several: Study, kind: str) -> None:
    drawn = draw(several, kind)
    drawn.draw_without_rendering()
    labels = [label.get_text() for label in drawn.axes[0].get_yticklabels()]
    assert labels == [f"c{k}" for k in range(10)]


def test_dots_are_the_shares(several: Study) -> None:
    lines = {str(line.get_label()): line for line in draw(several, "bootstrap").axes[0].get_lines()}
    for metric in METRICS:
        expected = [
            100 * several[name].result("bootstrap")["share"].sel(metric=metric, alpha=0.05).item()
            for name in several
        ]
        np.testing.assert_allclose(np.asarray(lines[metric].get_xdata(), float), expected)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["swop", "--out", "x.png"], "no analysis 'swop'; known: "),
        (["tukey", "--out", "x.png"], "no result of tukey yet; run: scorecube tukey"),
        (["swap", "--collection", "c1", "--gain", "9", "--out", "x.png"], "no gain setting '9' in the result of swap; it has: 3:2:1"),
        (["swap", "--gain", "3:2:1", "--out", "x.png"], "--gain chooses within one collection; name one with --collection: c0, c1"),
        (["swap", "--collection", "c99", "--out", "x.png"], "no collection 'c99'"),
        (["swap", "--out", "x.gif"], "x.gif"),
    ],
)  # fmt: skip
def test_a_figure_that_cannot_be_drawn(
    several: Study,
    scorecube: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = scorecube("figure", several.path, *words)
    assert outcome.status == 1
    assert message in outcome.stderr
    assert list(tmp_path.iterdir()) == []
