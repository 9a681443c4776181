"""What the script of a report does, in a real browser: tables, picks, values of figures, sliders; and the page without it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import scorecube as sc
from scorecube.analyses.base import Prepared
from scorecube.analyses.designs import design_of, widths_and_power
from scorecube.analyses.pair_tests.family import family
from scorecube.analyses.rank_sets.other_numbers import critical_value, moderated_t, needed_t
from scorecube.design import achieved_power, expected_width
from scorecube.report.columns import decimals_of
from scorecube.report.leaderboard import systems
from scorecube.report.page.board import TO
from scorecube.report.page.html import page_file
from scorecube.report.page.render import MOST_VALUES
from scorecube.report.page.script_data import (
    MOST_BYTES,
    design_data,
    leaderboard_data,
    numbers_of_topics,
    within,
)
from scorecube.report.page.writing import write_page
from scorecube.testing import simulate_cube
from scorecube.workflow import api
from tests.report.browser import Tab, browser, find_chromium

N, OTHER = 50, 120
METRIC = "AP"
MOST_MORE = 150_000
"""Bytes that the script and its data may add to a page."""
AXE = [
    Path(each) / "axe-core" / "axe.min.js"
    for each in ("node_modules", *os.environ.get("NODE_PATH", "").split(":"))
    if each
]
"""Where axe-core is looked for: it is no part of this repository."""

LEADERBOARD = "document.querySelector('[data-slider]')"
DESIGN = "document.querySelector('[data-panel]')"
ROWS = (
    "[...{table}.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent.trim()))"
)
FIRST = "document.querySelector('.board table')"
OPEN = "new Promise(done => { document.querySelectorAll('details').forEach(each => each.open = true); setTimeout(done, 100); })"
MORE = "[...document.querySelectorAll('.board .tools button')].find(each => each.textContent === 'show all').click()"


@pytest.fixture(scope="module")
def cube() -> Any:
    return simulate_cube(n_runs=30, seed=3)


@pytest.fixture(scope="module")
def result(cube: Any) -> Any:
    return sc.analyse(cube, sc.Leaderboard(), trials=400, seed=1)


@pytest.fixture(scope="module")
def page(cube: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("interactive")
    study = sc.open_study(folder / "study.zarr", mode="a")
    study.add("simulated", cube=cube)
    for analysis, trials in ((sc.Leaderboard(), 400), (sc.Swap(), 20)):
        for task in api.plan_in_study(study, analysis, trials=trials, seed=1):
            task.run()
    write_page(study, folder / "page.html")
    return folder / "page.html"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Tab]:
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium is installed (Debian's package is called chromium)")
    with browser(program) as found:
        yield found


@pytest.fixture
def tab(chromium: Tab, page: Path) -> Iterator[Tab]:
    chromium.resize(1280)
    chromium.media()
    chromium.open(page)
    yield chromium
    assert chromium.complaints() == []


def rows(tab: Tab, table: str = FIRST) -> list[list[str]]:
    found: list[list[str]] = tab.value(ROWS.format(table=table))
    return found


def slide(tab: Tab, panel: str, topics: int) -> None:
    """Move the slider of a panel to a number of topics."""
    place = numbers_of_topics(N).index(topics)
    tab.value(f"(() => {{ const slider = {panel}.querySelector('input[type=range]'); slider.value = {place}; slider.dispatchEvent(new Event('input')); }})()")  # fmt: skip
    assert f"{topics} topics" in tab.value(f"{panel}.querySelector('output').textContent")


def put(tab: Tab, control: str, value: str) -> None:
    """Type a value into a control, or choose it."""
    tab.value(f"(() => {{ const control = {control}; control.value = {json.dumps(value)}; control.dispatchEvent(new Event('input')); }})()")  # fmt: skip


def press(tab: Tab, key: str, code: int, shift: bool = False) -> None:
    for kind in ("keyDown", "keyUp"):
        tab.call(
            "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, modifiers=8 * shift,
            **({"text": "\r"} if key == "Enter" and kind == "keyDown" else {}),
        )  # fmt: skip


def rank_sets(cube: Any, result: Any, topics: int) -> dict[str, tuple[int, int]]:
    """Return rank sets at a number of topics pair by pair, with the statistic of the analysis itself."""
    (moderated,) = sc.Leaderboard().statistics(Prepared(cube.sel(metric=[METRIC])))
    pairs = family(cube, None)
    totals, squares = moderated.sums(pairs)
    t = moderated.t_of(moderated.statistic(pairs, totals, squares))
    at = result.sel(metric=METRIC).isel(gain=0)
    critical = critical_value(t, int((at["rank_low"] - 1).sum()), N, 0.05)
    moved = stats.t.isf(stats.t.sf(critical, N - 1), topics - 1)
    low, high = np.ones(len(at["run"]), int), np.full(len(at["run"]), len(at["run"]))
    for a, b, total, each in zip(*pairs, totals, t, strict=True):
        if each * np.sqrt(topics / N) >= moved:
            better, worse = (a, b) if total > 0 else (b, a)
            low[worse] += 1
            high[better] -= 1
    limits = zip(low.tolist(), high.tolist(), strict=True)
    return dict(zip(at["run"].values.tolist(), limits, strict=True))


def test_the_statistic_is_that_of_the_analysis(cube: Any) -> None:
    scores = cube["score"].sel(metric=METRIC).isel(gain=0).values
    scores = np.vstack([scores, scores[:1], scores[1:2] + 0.1])
    (moderated,) = sc.Leaderboard().statistics(Prepared(cube.sel(metric=[METRIC])))
    pairs = family(cube, None)
    expected = moderated.t_of(moderated.statistic(pairs, *moderated.sums(pairs)))
    np.testing.assert_allclose(moderated_t(scores[:-2], 4.0)[pairs], expected, rtol=1e-9)
    with_copies = moderated_t(scores, 4.0)
    assert with_copies[0, len(scores) - 2] == 0
    assert np.isinf(with_copies[1, len(scores) - 1])


def test_rank_sets_are_found_again_or_left_out(cube: Any, result: Any) -> None:
    data = leaderboard_data(cube, result)
    assert data is not None
    assert [cell["label"] for cell in data["cells"]] == ["AP", "nDCG@10"]
    assert data["factors"][data["numbers"].index(N)] == 1
    other = result.assign(rank_low=result["rank_low"].roll(run=1, roll_coords=False))
    assert leaderboard_data(cube, other) is None
    assert leaderboard_data(cube.isel(topic=slice(40)), result) is None
    assert leaderboard_data(cube.isel(run=slice(20)), result) is None


def test_more_topics_need_a_smaller_t() -> None:
    numbers = numbers_of_topics(N)
    needed = needed_t(numbers, N, 3.5)
    assert (np.diff(needed) < 0).all()
    assert needed[numbers.index(N)] == 3.5
    assert critical_value(np.array([1.0, 2.0]), 0, N, 0.05) > 2
    assert critical_value(np.array([1.0, 2.0]), 2, N, 0.05) <= 1


def test_data_of_a_page_have_a_limit(cube: Any, result: Any) -> None:
    data = leaderboard_data(cube, result)
    assert data is not None
    assert within([data]) == [data]
    many = within([data] * 200)
    assert 1 < len(many) < 200
    assert len(json.dumps(many)) <= MOST_BYTES + 1000


def test_the_script_and_its_data_are_small(page: Path) -> None:
    text = page.read_text()
    values = sum(map(len, re.findall(r" data-values='[^']*'", text)))
    assert values > 500
    # The style of what the script adds and the further table take less than 4,000 bytes.
    assert len(page_file("page.js")) + MOST_BYTES + MOST_VALUES + 4000 <= MOST_MORE
    assert values <= MOST_VALUES


def board(tab: Tab) -> dict[str, tuple[str, ...]]:
    """Return mean, its limits and the rank set of each run of the leaderboard that is shown, as texts."""
    found: list[list[str]] = tab.value(
        f"[...{FIRST}.tBodies[0].rows].map(row => [row.cells[1].firstChild.data, ...[...row.querySelectorAll('td b, td span')].map(each => each.textContent)])"
    )
    return {run: tuple(texts) for run, *texts in found}


@pytest.mark.process
def test_the_leaderboard_has_the_numbers_of_the_table(tab: Tab, result: Any) -> None:
    assert len(board(tab)) == 10
    tab.value(MORE)
    shown = board(tab)
    frame = systems(result).query("metric == @METRIC").set_index("run")
    assert list(shown) == list(frame.index)
    by_run = frame.to_dict("index")
    for run, (mean, limits, ranks) in shown.items():
        row = by_run[run]
        places = decimals_of((row["mean_high"] - row["mean_low"]) / 2)
        ends = f"{row['mean_low']:.{places}f}{TO}{row['mean_high']:.{places}f}"
        assert (mean, limits) == (f"{row['mean']:.{places}f}", ends)
        assert ranks == f"{row['rank_low']}{TO}{row['rank_high']}"


@pytest.mark.process
@pytest.mark.parametrize("topics", [20, OTHER])
def test_leaderboard_at_other_numbers_of_topics_is_what_python_computes(
    tab: Tab, cube: Any, result: Any, topics: int
) -> None:
    tab.value(OPEN)
    tab.value(MORE)
    before = board(tab)
    slide(tab, LEADERBOARD, topics)
    live = board(tab)
    expected = rank_sets(cube, result, topics)
    assert {run: ranks for run, (_, _, ranks) in live.items()} == {
        run: f"{low}{TO}{high}" for run, (low, high) in expected.items()
    }
    assert expected != rank_sets(cube, result, N)
    factor = np.sqrt(N / topics) * stats.t.isf(0.025, topics - 1) / stats.t.isf(0.025, N - 1)
    frame = systems(result).query("metric == @METRIC").set_index("run")
    for run, (mean, limits, _) in live.items():
        at = frame.loc[run]
        ends = [at["mean"] + factor * (at[end] - at["mean"]) for end in ("mean_low", "mean_high")]
        places = decimals_of((ends[1] - ends[0]) / 2)
        for text, number in zip((mean, *limits.split(TO)), (at["mean"], *ends), strict=True):
            assert len(text.partition(".")[2]) == places
            assert float(text) == pytest.approx(number, abs=0.51 * 10.0**-places)
    tab.value(
        f"[...{LEADERBOARD}.querySelectorAll('button')].find(each => each.textContent === 'As in the study').click()"
    )
    assert board(tab) == before


@pytest.mark.process
def test_widths_and_power_are_those_of_the_table_and_of_python(tab: Tab, cube: Any) -> None:
    tab.value(OPEN)
    static = "[...document.querySelectorAll('main .scroll > table')].find(each => /^Widths and power with the topics at hand/.test(each.parentElement.getAttribute('aria-label')))"
    live = f"{DESIGN}.querySelector('table')"
    assert rows(tab, live) == rows(tab, static)
    design = design_of(cube, "simulated")
    assert design is not None
    slide(tab, DESIGN, OTHER)
    put(tab, f"{DESIGN}.querySelector('input[type=number]')", "0.05")
    found = rows(tab, live)
    for metric, power, width, paired in found:
        at = {"metric": metric, "gain": "3:2:1"}
        own, residual = (float(design[name].sel(at)) for name in ("variance", "residual_variance"))
        wanted = achieved_power(residual, 0.05, OTHER, method="t")["power"]
        assert power == f"{float(wanted):.4f}"
        assert width == f"{float(expected_width(own, OTHER)['width']):.4f}"
        assert paired == f"{float(expected_width(residual, OTHER)['width']):.4f}"
    assert len(found) == 2
    again = widths_and_power(design, OTHER)
    assert [row[2] for row in found] == [f"{each:.4f}" for each in again["width"].values.ravel()]


def test_a_single_run_has_no_width_on_the_same_topics(cube: Any) -> None:
    design = design_of(cube.isel(run=[0]), "one")
    assert design is not None
    table, data = design_data(design)
    assert table is not None
    assert data is not None
    assert table["width"].notna().all()
    assert table[["paired_width", "power"]].isna().all(axis=None)
    # JSON has no NaN, and a page with one would stop its script.
    json.dumps(data, allow_nan=False)
    assert [cell["residual"] for cell in data["cells"]] == [None, None]
    nothing = design.assign(variance=design["variance"] * np.nan)
    assert design_data(nothing) == (None, None)


@pytest.mark.process
def test_the_leaderboard_is_sorted_and_searched(tab: Tab) -> None:
    status = "document.querySelector('.board [role=status]').textContent"
    assert tab.value(status) == "10 of 30"
    head = f"[...{FIRST}.tHead.querySelectorAll('button')]"
    click = f"{head}[2].click()"
    first = list(board(tab))
    tab.value(click)
    assert tab.value(f"{FIRST}.querySelector('[aria-sort]').getAttribute('aria-sort')") == "descending"  # fmt: skip
    largest = [float(mean) for mean, *_ in board(tab).values()]
    tab.value(click)
    smallest = [float(mean) for mean, *_ in board(tab).values()]
    assert largest == sorted(largest, reverse=True)
    assert smallest == sorted(smallest)
    assert max(smallest) < min(largest)
    tab.value(click)
    assert list(board(tab)) == first
    put(tab, "document.querySelector('.board input[type=search]')", "team03")
    assert {re.sub("-.*", "", run) for run in board(tab)} == {"team03"}
    assert tab.value(status) == f"{len(board(tab))} of {len(board(tab))}"


@pytest.mark.process
def test_a_metric_is_switched_on_the_whole_page(tab: Tab) -> None:
    shown = "[...document.querySelectorAll('[data-metric]')].filter(each => each.checkVisibility()).map(each => each.dataset.metric)"
    marked = "[...document.querySelectorAll('.on')].map(each => each.dataset.mark)"
    dim = "[...document.querySelectorAll('svg[data-values] .dim')].length"
    button = "[...document.querySelectorAll('.seg button')].find(each => each.textContent === '{}')"
    assert set(tab.value(shown)) == {"AP"}
    assert len(tab.value(shown)) > 3
    assert tab.value(dim) > 0
    tab.value(button.format("nDCG@10") + ".click()")
    assert set(tab.value(shown)) == {"nDCG@10"}
    assert set(tab.value(marked)) == {"nDCG@10"}
    assert tab.value(button.format("nDCG@10") + ".getAttribute('aria-pressed')") == "true"
    assert tab.value(button.format("AP") + ".getAttribute('aria-pressed')") == "false"


@pytest.mark.process
def test_definitions_are_shown_beside_their_mark(tab: Tab) -> None:
    mark = "document.querySelector('a.q')"
    tab.value(f"{mark}.focus()")
    tip = "document.querySelector('.tip')"
    assert tab.value(f"{tip}.checkVisibility()")
    assert tab.value(f"{tip}.textContent") == tab.value("document.getElementById('d-mean').textContent")  # fmt: skip
    press(tab, "Escape", 27)
    assert not tab.value(f"{tip}.checkVisibility()")
    tab.value(f"{mark}.click()")
    assert tab.value("scrollY") == 0
    assert tab.value(f"{tip}.checkVisibility()")


@pytest.mark.process
def test_figures_tell_their_values(tab: Tab) -> None:
    """With the arrow keys; the pointer finds the same points."""
    value = "document.querySelector('.values').textContent"
    tab.value("document.querySelectorAll('details').forEach(each => each.open = true)")
    tab.value("document.querySelector('svg[data-values]').closest('.drawing').focus()")
    told = []
    for _ in range(3):
        press(tab, "ArrowRight", 39)
        told.append(tab.value(value))
    assert all(re.match(r"(AP|nDCG@10); ", each) for each in told)
    assert len(set(told)) == 3
    mark = tab.value("(() => { const box = document.querySelector('.mark').getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()")  # fmt: skip
    press(tab, "Escape", 27)
    assert tab.value("document.querySelector('.values').hidden")
    tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=mark[0] + 1, y=mark[1] + 1)
    assert tab.value(value) == told[-1]


@pytest.mark.process
def test_the_keyboard_sorts_slides_and_shows_where_it_is(tab: Tab) -> None:
    tab.value(f"{FIRST}.tHead.querySelector('button').focus()")
    press(tab, "Enter", 13)
    assert tab.value(f"{FIRST}.querySelector('[aria-sort]') !== null")
    tab.value(OPEN)
    tab.value(f"{LEADERBOARD}.querySelector('input[type=range]').focus()")
    press(tab, "ArrowRight", 39)
    assert tab.value(f"{LEADERBOARD}.querySelector('output').textContent") == f"{N + 1} topics"
    assert tab.value("document.activeElement.getAttribute('aria-valuetext')") == f"{N + 1} topics"
    for _ in range(3):
        press(tab, "Tab", 9)
        assert tab.value("getComputedStyle(document.activeElement).outlineStyle") != "none"


GEOMETRY = """
(() => {
  const inside = each => { const box = each.getBoundingClientRect(); return each.checkVisibility() && box.top >= 0 && box.bottom <= innerHeight && box.left >= 0 && box.right <= innerWidth; };
  const all = selector => [...document.querySelectorAll(selector)].filter(each => each.checkVisibility());
  const words = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const parent = texts.currentNode.parentElement;
    if (parent.closest('script, style, .unseen, .skip') || !parent.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(texts.currentNode);
    const box = range.getBoundingClientRect();
    if (box.width && box.top < innerHeight && box.left < innerWidth) words.push(...texts.currentNode.data.split(/\\s+/).filter(Boolean));
  }
  return {rows: all('.board tbody tr').filter(inside).length, cards: all('.card').filter(inside).length, of: all('.card').length,
          words: words.length, width: document.documentElement.scrollWidth};
})()
"""
"""What is on the first screen."""


@pytest.mark.process
@pytest.mark.parametrize(("width", "height", "rows_shown"), [(1280, 720, 6), (390, 844, 1), (768, 1024, 6), (1024, 768, 4), (1440, 900, 8)])  # fmt: skip
def test_the_first_screen_answers(chromium: Tab, page: Path, width: int, height: int, rows_shown: int) -> None:  # fmt: skip
    chromium.resize(width, height, phone=width < 500)
    chromium.open(page)
    found = chromium.value(GEOMETRY)
    assert found["cards"] == found["of"] >= 3
    assert found["rows"] >= rows_shown
    if (width, height) in ((1280, 720), (390, 844)):
        assert found["words"] <= 220
    assert found["width"] <= width


@pytest.mark.process
def test_no_bar_is_lost_on_a_phone(tab: Tab) -> None:
    tab.resize(400, phone=True)
    assert tab.value("document.documentElement.scrollWidth") <= 400
    bars = "[...document.querySelectorAll('.board .b')].filter(each => each.checkVisibility()).map(each => each.getBoundingClientRect())"
    assert tab.value(f"{bars}.length") == 20
    assert tab.value(f"{bars}.filter(each => each.width < 40 || each.left < 0 || each.right > 400).length") == 0  # fmt: skip


@pytest.mark.process
def test_paper_has_whole_tables_of_the_metric_that_is_shown(tab: Tab) -> None:
    tab.call("Page.printToPDF")  # what a browser does before and after printing
    assert len(board(tab)) == 10
    counted = "new Promise(done => { addEventListener('beforeprint', () => setTimeout(() => done(document.querySelectorAll('.board')[0].querySelectorAll('tbody tr').length)), {once: true}); dispatchEvent(new Event('beforeprint')); })"
    assert tab.value(counted) == 30
    tab.value("dispatchEvent(new Event('afterprint'))")
    assert len(board(tab)) == 10


class Static(HTMLParser):
    """Texts and elements of a page as it is written."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: set[str] = set()
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self._inside = tag if tag in ("script", "style", "title") else self._inside

    def handle_endtag(self, tag: str) -> None:
        self._inside = "" if tag == self._inside else self._inside

    def handle_data(self, data: str) -> None:
        if not self._inside and data.strip():
            self.texts.append(" ".join(data.split()))


@pytest.mark.process
def test_a_page_without_its_script_has_the_same_text_and_no_controls(
    chromium: Tab, page: Path, result: Any
) -> None:
    static = Static(page.read_text())
    assert not static.tags & {"button", "input", "select", "form", "noscript"}
    frame = systems(result)
    halves = (frame["mean_high"] - frame["mean_low"]) / 2
    means = zip(frame["mean"], map(decimals_of, halves), strict=True)
    needed = {*frame["run"], *(f"{mean:.{places}f}" for mean, places in means)}
    assert needed <= set(static.texts)
    chromium.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        chromium.open(page)
        words = "document.body.textContent.split(/\\s+/).join(' ')"
        without = chromium.value(words)
    finally:
        chromium.call("Emulation.setScriptExecutionDisabled", value=False)
    assert [text for text in static.texts if text not in without] == []
    chromium.open(page)
    with_script = chromium.value(words)
    lost = {text for text in static.texts if text not in with_script}
    # Rows that are not shown yet are in no document; nothing else is missing.
    cells = {text for text in lost if re.fullmatch(rf"[\d.{TO}-]+|[a-z]+|team\d+(-run\d+)?", text)}
    assert lost == cells


@pytest.mark.process
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_axe_finds_nothing(tab: Tab, width: int, scheme: str) -> None:
    axe = next((path for path in AXE if path.is_file()), None)
    if axe is None:
        pytest.skip("no axe-core here: npm install axe-core, or its folder in NODE_PATH")
    tab.resize(width, phone=width == 400)
    tab.media(scheme=scheme)
    tab.value(OPEN)
    tab.call("Runtime.evaluate", expression=axe.read_text())
    found = tab.value("axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.map(each => [each.id, each.nodes[0].html]))")  # fmt: skip
    assert found == []


@pytest.mark.process
def test_controls_have_names_and_no_id_is_there_twice(tab: Tab) -> None:
    """A part of what axe checks, for machines without it."""
    tab.value("document.querySelectorAll('details').forEach(each => each.open = true)")
    tab.value("new Promise(done => setTimeout(done, 50))")
    unnamed = "[...document.querySelectorAll('input, select, button')].filter(each => !(each.textContent.trim() && each.tagName === 'BUTTON') && !each.getAttribute('aria-label') && !each.closest('label')?.textContent.trim()).length"
    assert tab.value("document.querySelectorAll('input, select, button').length") > 15
    assert tab.value(unnamed) == 0
    labels = tab.value("[...document.querySelectorAll('[role=region], [role=group]')].map(each => each.getAttribute('aria-label'))")  # fmt: skip
    assert all(labels)
    assert len(labels) == len(set(labels))
