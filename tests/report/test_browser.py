"""The report in a real browser: nothing asked of a network, links that lead somewhere, a phone, print, names, and what the script does."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import scorecube as sc
from scorecube.declare.numbers import decimals_of
from scorecube.report.readable import TO
from scorecube.testing import simulate_cube
from tests.report.browser import Tab, browser, find_chromium
from tests.report.hostile import COLLECTIONS, hostile_study

if TYPE_CHECKING:
    from tests.conftest import Cli

pytestmark = pytest.mark.process
PHONE = 390
PATIENCE = 10.0
FIRST = "document.querySelector('.board table')"
MORE = "document.querySelector('.board .tools button').click()"
WORDS = """
(() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), words = [];
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (!node.parentElement.checkVisibility() || node.parentElement.closest('script, svg, .skip, .unseen')) continue;
    for (const word of node.data.matchAll(/\\S*[A-Za-z]\\S*/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const box = range.getBoundingClientRect();
      if (box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth) words.push(word[0]);
    }
  }
  return words.length;
})()
"""
"""Words, not numbers, whose boxes lie within the first screen."""
BROKEN = """
[...document.querySelectorAll('a[href^="#"], [*|href^="#"]')].map(each => (each.getAttribute('href') || each.getAttribute('xlink:href')))
  .filter(address => address && !document.getElementById(decodeURIComponent(address.slice(1))))
"""


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium is installed (Debian's package is called chromium)")
    with browser(program) as found:
        yield found


@pytest.fixture(scope="module")
def page(scorecube: Cli, analysed_study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "report.html"
    scorecube("report", analysed_study, "--out", out).succeeded()
    return out


@pytest.fixture(scope="module")
def hostile_page(scorecube: Cli, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    hostile_study(folder / "study.zarr", [sc.Correlation(), sc.Leaderboard()])
    scorecube("report", folder / "study.zarr", "--out", folder / "report.html").succeeded()
    return folder / "report.html"


@pytest.fixture(scope="module")
def cube() -> Any:
    return simulate_cube(n_runs=30, seed=3)


@pytest.fixture(scope="module")
def result(cube: Any) -> Any:
    return sc.analyse(cube, sc.Leaderboard(), trials=400, seed=1)


@pytest.fixture(scope="module")
def leaders(cube: Any, result: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with a leaderboard of 30 runs, and five cards."""
    others = [sc.analyse(cube, of, trials=40, seed=1) for of in (sc.Swap(), sc.MaxT())]
    results = [cube, result, *others, sc.analyse(cube, sc.Correlation())]
    return Path(sc.report(results, str(tmp_path_factory.mktemp("leaders") / "page.html")))


@pytest.fixture(autouse=True)
def plain(tab: Tab) -> None:
    """Begin every test on a light screen of a desk."""
    tab.resize(1280)
    tab.media()


def test_nothing_is_asked_for_and_nothing_is_wrong(tab: Tab, page: Path) -> None:
    tab.open(page)
    assert [address for address in tab.requests() if not address.startswith("data:")] == [
        page.as_uri()
    ]
    assert tab.complaints() == []
    assert tab.value("document.querySelectorAll('svg').length") > 10


def test_links_within_the_page_lead_somewhere(tab: Tab, page: Path) -> None:
    tab.open(page)
    assert tab.value("document.querySelectorAll('nav a, .card h3 a').length") > 7
    assert tab.value(BROKEN) == []
    ids = tab.value("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("width", "height", "rows"), [(PHONE, 844, 1), (1280, 720, 6), (1920, 1080, 6)]
)
def test_the_first_screen_has_all_answers_few_words_and_rows(
    tab: Tab, leaders: Path, width: int, height: int, rows: int
) -> None:
    """A phone has the cards, none of which is scrolled to, and the leader."""
    tab.resize(width, height, phone=width <= PHONE)
    tab.open(leaders)
    assert tab.value("document.querySelectorAll('.card').length") == 5
    assert tab.value(WORDS) <= 110
    row = f"document.querySelector('.board tbody').rows[{rows - 1}].getBoundingClientRect().bottom"
    assert tab.value(row) <= height
    assert tab.value(
        "[...document.querySelectorAll('.card')].every(each => each.getBoundingClientRect().right <= innerWidth)"
    )


@pytest.mark.parametrize("width", [PHONE, 768, 1280, 1920])
def test_a_page_is_no_wider_than_its_screen(tab: Tab, page: Path, width: int) -> None:
    tab.resize(width, phone=width <= PHONE)
    tab.open(page)
    tab.value("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert tab.value("document.documentElement.scrollWidth") <= width
    assert tab.value("innerWidth") == width


def test_a_page_is_printed_whole(tab: Tab, page: Path) -> None:
    tab.open(page)
    shown = "[...document.querySelectorAll('details > :not(summary)')].filter(each => !each.closest('.screen, .files') && !each.hidden && !each.checkVisibility({contentVisibilityAuto: true})).length"
    assert tab.value(shown) > 10
    tab.media("print", "dark")
    until = time.monotonic() + PATIENCE
    while tab.value(shown) and time.monotonic() < until:  # a busy machine may put off drawing
        time.sleep(0.1)
    assert tab.value(shown) == 0
    assert not tab.value("[...document.querySelectorAll('nav, .tools, .screen')].some(each => each.checkVisibility())")  # fmt: skip
    assert (
        tab.value(
            "[...document.querySelectorAll('*')].filter(each => ['sticky', 'fixed'].includes(getComputedStyle(each).position)).length"
        )
        == 0
    )
    assert tab.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert (
        tab.value(
            "[...document.querySelectorAll('.scroll')].filter(each => each.scrollHeight > each.clientHeight + 1).length"
        )
        == 0
    )
    printed = tab.call("Page.printToPDF", printBackground=True)
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")


def test_no_name_acts_on_a_page(tab: Tab, hostile_page: Path) -> None:
    tab.open(hostile_page)
    assert tab.complaints() == []
    assert tab.value("document.title") == "study"
    assert tab.value("document.scripts.length") == 1  # the page's own
    assert tab.value("document.images.length + document.forms.length") == 0
    # All that the script adds is text, too.
    tab.value("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert tab.value("document.querySelectorAll('#switch option, #switch button').length") > 1
    assert tab.value("document.scripts.length") == 1
    assert tab.value("document.images.length") == 0
    assert tab.complaints() == []
    assert all(address.startswith(("file://", "data:image/png")) for address in tab.requests())
    shown = tab.value("document.body.innerText")
    assert all(name in shown for name in COLLECTIONS)


def test_the_policy_of_a_page_stops_scripts_that_were_put_into_it(
    tab: Tab, hostile_page: Path
) -> None:
    """A second wall behind the escapes: here a script is in the page."""
    changed = hostile_page.with_name("changed.html")
    script = "<body><script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\">"
    changed.write_text(hostile_page.read_text().replace("<body>", script, 1))
    tab.open(changed)
    assert tab.value("document.title") == "study"
    assert any("Content Security Policy" in text for text in tab.complaints())


def board(tab: Tab) -> dict[str, tuple[str, ...]]:
    """Return mean, its limits and the rank set of each run of the leaderboard that is shown, as texts."""
    found: list[list[str]] = tab.value(
        f"[...{FIRST}.tBodies[0].rows].map(row => [row.cells[1].firstChild.data, ...[...row.querySelectorAll('td b, td span')].map(each => each.textContent)])"
    )
    return {run: tuple(texts) for run, *texts in found}


def test_the_leaderboard_has_the_numbers_of_the_table(tab: Tab, leaders: Path, result: Any) -> None:
    tab.open(leaders)
    assert len(board(tab)) == 20
    tab.value(MORE)
    shown = board(tab)
    frame = sc.table(result).query("metric == 'AP'").set_index("run")
    assert list(shown) == list(frame.index)
    by_run = frame.to_dict("index")
    for run, (mean, limits, ranks) in shown.items():
        row = by_run[run]
        places = decimals_of((row["mean_high"] - row["mean_low"]) / 2)
        ends = f"{row['mean_low']:.{places}f}{TO}{row['mean_high']:.{places}f}"
        assert (mean, limits) == (f"{row['mean']:.{places}f}", ends)
        assert ranks == f"{row['rank_low']}{TO}{row['rank_high']}"


def test_the_leaderboard_is_sorted(tab: Tab, leaders: Path) -> None:
    tab.open(leaders)
    click = f"[...{FIRST}.tHead.querySelectorAll('button')][2].click()"
    first = list(board(tab))
    tab.value(click)
    assert tab.value(f"{FIRST}.querySelector('[aria-sort]').getAttribute('aria-sort')") == "descending"  # fmt: skip
    largest = [float(mean) for mean, *_ in board(tab).values()]
    tab.value(click)
    smallest = [float(mean) for mean, *_ in board(tab).values()]
    assert largest == sorted(largest, reverse=True)
    assert smallest == sorted(smallest)
    assert max(smallest) < max(largest)
    tab.value(click)
    assert list(board(tab)) == first
    assert tab.complaints() == []


def test_a_metric_is_switched_on_the_whole_page(tab: Tab, leaders: Path) -> None:
    tab.open(leaders)
    shown = "[...document.querySelectorAll('[data-metric]')].filter(each => each.checkVisibility()).map(each => each.dataset.metric)"
    button = "[...document.querySelectorAll('.seg button')].find(each => each.textContent === '{}')"
    assert set(tab.value(shown)) == {"AP"}
    tab.value(button.format("nDCG@10") + ".click()")
    assert set(tab.value(shown)) == {"nDCG@10"}
    assert tab.value(button.format("nDCG@10") + ".getAttribute('aria-pressed')") == "true"
    assert tab.value(button.format("AP") + ".getAttribute('aria-pressed')") == "false"
