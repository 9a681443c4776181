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
from scorecube.report.page.render import MOST_VALUES
from scorecube.report.page.script_data import (
    MOST_BYTES,
    design_data,
    leaderboard_data,
    numbers_of_topics,
    within,
)
from scorecube.report.page.templates import page_file
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

LEADERBOARD = "document.querySelectorAll('.panel')[0]"
DESIGN = "document.querySelectorAll('.panel')[1]"
ROWS = (
    "[...{table}.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent.trim()))"
)
FIRST = "document.querySelector('main .scroll > table')"


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


@pytest.mark.process
def test_leaderboard_at_the_studys_own_topics_is_that_of_the_table(tab: Tab) -> None:
    tab.value("[...document.querySelectorAll('.tools button')].find(each => each.textContent.startsWith('Show all')).click()")  # fmt: skip
    table = {row[1]: row for row in rows(tab)}
    live = rows(tab, f"{LEADERBOARD}.querySelector('table')")
    assert len(table) == len(live) == 30
    for run, _, _, best, worst, *means in live:
        # rank, run, (team,) mean, limits, rank set
        shown = [text for text in table[run] if re.fullmatch(r"\d+|-?\d\.\d+", text)]
        assert shown[1:6] == [*means, best, worst]


@pytest.mark.process
@pytest.mark.parametrize("topics", [20, OTHER])
def test_leaderboard_at_other_numbers_of_topics_is_what_python_computes(
    tab: Tab, cube: Any, result: Any, topics: int
) -> None:
    slide(tab, LEADERBOARD, topics)
    live = rows(tab, f"{LEADERBOARD}.querySelector('table')")
    expected = rank_sets(cube, result, topics)
    assert {row[0]: (int(row[3]), int(row[4])) for row in live} == expected
    assert expected != rank_sets(cube, result, N)
    factor = np.sqrt(N / topics) * stats.t.isf(0.025, topics - 1) / stats.t.isf(0.025, N - 1)
    frame = systems(result).query("metric == @METRIC").set_index("run")
    for run, *_, mean, low, high in live:
        at = frame.loc[run]
        ends = [at["mean"] + factor * (at[end] - at["mean"]) for end in ("mean_low", "mean_high")]
        places = decimals_of((ends[1] - ends[0]) / 2)
        for text, number in ((mean, at["mean"]), (low, ends[0]), (high, ends[1])):
            assert len(text.partition(".")[2]) == places
            assert float(text) == pytest.approx(number, abs=0.51 * 10.0**-places)


@pytest.mark.process
def test_widths_and_power_are_those_of_the_table_and_of_python(tab: Tab, cube: Any) -> None:
    static = "[...document.querySelectorAll('main .scroll > table')].find(each => /^Widths and power with the topics at hand/.test(each.parentElement.getAttribute('aria-label')))"
    live = f"{DESIGN}.querySelector('table')"
    assert [[row[0], *row[2:]] for row in rows(tab, live)] == rows(tab, static)
    design = design_of(cube, "simulated")
    assert design is not None
    slide(tab, DESIGN, OTHER)
    put(tab, f"{DESIGN}.querySelector('input[type=number]')", "0.05")
    found = rows(tab, live)
    for metric, _, power, width, paired in found:
        at = {"metric": metric, "gain": "3:2:1"}
        own, residual = (float(design[name].sel(at)) for name in ("variance", "residual_variance"))
        wanted = achieved_power(residual, 0.05, OTHER, method="t")["power"]
        assert power == f"{float(wanted):.4f}"
        assert width == f"{float(expected_width(own, OTHER)['width']):.4f}"
        assert paired == f"{float(expected_width(residual, OTHER)['width']):.4f}"
    assert len(found) == 2
    again = widths_and_power(design, OTHER)
    assert [row[3] for row in found] == [f"{each:.4f}" for each in again["width"].values.ravel()]


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
def test_tables_are_sorted_searched_and_filtered(tab: Tab) -> None:
    assert len(rows(tab)) == 10
    tools = f"{FIRST}.closest('.scroll').previousElementSibling"
    status = f"{tools}.querySelector('[role=status]').textContent"
    assert tab.value(status) == "10 of 30 rows, the first of 30"
    head = f"[...{FIRST}.tHead.querySelectorAll('button')]"
    names = tab.value(f"{head}.map(each => each.textContent)")
    mean = names.index("mean")
    # Of all rows, not of those that were shown.
    click = f"{head}[{mean}].click()"
    tab.value(click)
    assert tab.value(f"{FIRST}.querySelector('[aria-sort]').getAttribute('aria-sort')") == "descending"  # fmt: skip
    largest = [float(row[mean]) for row in rows(tab)]
    tab.value(click)
    smallest = [float(row[mean]) for row in rows(tab)]
    assert largest == sorted(largest, reverse=True)
    assert smallest == sorted(smallest)
    assert max(smallest) < min(largest)
    tab.value(click)
    assert [row[0] for row in rows(tab)][:2] == ["1", "2"]
    put(tab, f"{tools}.querySelector('input[type=search]')", "team03")
    assert {re.sub("-.*", "", row[1]) for row in rows(tab)} == {"team03"}
    tab.value(f"[...{tools}.querySelectorAll('button')].find(each => each.textContent === 'Clear').click()")  # fmt: skip
    put(tab, f"{tools}.querySelector('select')", str(mean))
    put(tab, f"{tools}.querySelectorAll('input[type=number]')[0]", str(largest[2]))
    assert [float(row[mean]) for row in rows(tab)] == largest[:3]
    assert tab.value(status) == "3 of 30 rows"


@pytest.mark.process
def test_metrics_and_runs_are_picked(tab: Tab) -> None:
    tab.value("document.querySelector('.pick summary').click()")
    tab.value("new Promise(done => setTimeout(done, 50))")
    box = "[...document.querySelectorAll('.pick .choice')].find(each => each.textContent.trim() === '{}').querySelector('input').click()"
    shown = "[...document.querySelectorAll('main h3, main summary')].filter(each => each.checkVisibility() && /^Leaderboard by/.test(each.textContent)).map(each => each.textContent.trim())"
    curves = "[...document.querySelectorAll('svg[data-values] [hidden]')].length"
    assert tab.value(shown) == ["Leaderboard by AP", "Leaderboard by nDCG@10"]
    assert tab.value(curves) == 0
    tab.value(box.format("nDCG@10"))
    assert tab.value(shown) == ["Leaderboard by AP"]
    assert [row[0] for row in rows(tab, f"{DESIGN}.querySelector('table')")] == ["AP"]
    assert tab.value(curves) > 0
    run = rows(tab)[0][1]
    tab.value(box.format(run))
    assert run not in [row[1] for row in rows(tab)]
    live = [row[0] for row in rows(tab, f"{LEADERBOARD}.querySelector('table')")]
    assert len(live) == 29
    assert run not in live


@pytest.mark.process
def test_figures_tell_their_values(tab: Tab, result: Any) -> None:
    """With the arrow keys; the pointer finds the same points."""
    value = "document.querySelector('.values').textContent"
    tab.value("document.querySelectorAll('details').forEach(each => each.open = true)")
    tab.value("document.querySelector('svg[data-values]').closest('.drawing').focus()")
    frame = systems(result).query("metric == @METRIC")
    told = []
    for _ in range(3):
        press(tab, "ArrowRight", 39)
        told.append(tab.value(value))
    expected = zip(frame["run"][:3], frame["mean"][:3], strict=True)
    assert told == [f"{run}; mean score {round(mean, 4):g}" for run, mean in expected]
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
    tab.value(f"{LEADERBOARD}.querySelector('input[type=range]').focus()")
    press(tab, "ArrowRight", 39)
    assert tab.value(f"{LEADERBOARD}.querySelector('output').textContent") == f"{N + 1} topics"
    assert tab.value("document.activeElement.getAttribute('aria-valuetext')") == f"{N + 1} topics"
    for _ in range(3):
        press(tab, "Tab", 9)
        assert tab.value("getComputedStyle(document.activeElement).outlineStyle") != "none"


@pytest.mark.process
def test_no_bar_is_lost_on_a_phone(tab: Tab) -> None:
    tab.resize(400, phone=True)
    assert tab.value("document.documentElement.scrollWidth") <= 400
    bars = "[...document.querySelectorAll('svg.bar')].map(each => each.getBoundingClientRect()).filter(each => each.width < 40 || each.left < 0 || each.right > 400).length"
    assert tab.value("document.querySelectorAll('svg.bar').length") == 62
    assert tab.value(bars) == 0
    hidden = (
        "[...document.querySelectorAll('.panel th')].filter(each => !each.checkVisibility()).length"
    )
    assert tab.value(hidden) == 0


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
    cells = {text for text in lost if re.fullmatch(r"All \d+ rows|[\d.]+|[a-z]+|team\d+(-run\d+)?", text)}  # fmt: skip
    assert lost == cells


@pytest.mark.process
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_axe_finds_nothing(tab: Tab, width: int, scheme: str) -> None:
    axe = next((path for path in AXE if path.is_file()), None)
    if axe is None:
        pytest.skip("no axe-core here: npm install axe-core, or its folder in NODE_PATH")
    tab.resize(width, phone=width == 400)
    tab.media(scheme=scheme)
    tab.value("document.querySelectorAll('details').forEach(each => each.open = true)")
    tab.call("Runtime.evaluate", expression=axe.read_text())
    found = tab.value("axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.map(each => [each.id, each.nodes[0].html]))")  # fmt: skip
    assert found == []


@pytest.mark.process
def test_controls_have_names_and_no_id_is_there_twice(tab: Tab) -> None:
    """A part of what axe checks, for machines without it."""
    tab.value("document.querySelectorAll('details').forEach(each => each.open = true)")
    tab.value("new Promise(done => setTimeout(done, 50))")
    unnamed = "[...document.querySelectorAll('input, select, button')].filter(each => !(each.textContent.trim() && each.tagName === 'BUTTON') && !each.closest('label')?.textContent.trim()).length"
    assert tab.value("document.querySelectorAll('input, select, button').length") > 50
    assert tab.value(unnamed) == 0
    labels = tab.value("[...document.querySelectorAll('[role=region], [role=group]')].map(each => each.getAttribute('aria-label'))")  # fmt: skip
    assert all(labels)
    assert len(labels) == len(set(labels))
