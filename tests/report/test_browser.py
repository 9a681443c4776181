"""The report in a real browser: nothing asked of a network, links that lead somewhere, a phone, the dark, print, the keyboard."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import scorecube as sc
from tests.report.browser import Tab, browser, find_chromium
from tests.report.hostile import COLLECTIONS, hostile_study

if TYPE_CHECKING:
    from tests.conftest import Cli

pytestmark = pytest.mark.process
PHONE = 390
PATIENCE = 10.0
MOST_PAGES = 26
"""Of the print of one collection, with all tables and definitions."""
LEAST_CONTRAST = 4.5
"""Of text, by the Web Content Accessibility Guidelines, level AA."""

TEXTS = """
(() => {
  const light = ([r, g, b]) => { const f = c => (c /= 255) <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4; return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
  const numbers = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const behind = node => { for (; node; node = node.parentElement) { const c = numbers(getComputedStyle(node).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  const found = [];
  for (const node of document.querySelectorAll('body *')) {
    if (node.closest('svg') || ![...node.childNodes].some(each => each.nodeType === 3 && each.data.trim())) continue;
    const a = light(numbers(getComputedStyle(node).color)), b = light(behind(node));
    found.push([(Math.max(a, b) + .05) / (Math.min(a, b) + .05), node.tagName, node.textContent.slice(0, 40)]);
  }
  return found;
})()
"""
"""Contrast of every piece of text with what is behind it."""
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
def folder(scorecube: Cli, analysed_study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pages") / "report"
    scorecube("report", analysed_study, "--out", f"{out}/").succeeded()
    return out


@pytest.fixture(scope="module")
def hostile_page(scorecube: Cli, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    hostile_study(folder / "study.zarr", [sc.Correlation(), sc.Leaderboard()])
    scorecube("report", folder / "study.zarr", "--out", folder / "report.html").succeeded()
    return folder / "report.html"


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


def test_the_test_sees_requests_and_complaints(tab: Tab, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text(
        '<!doctype html><a href="#nowhere">x</a><img src="absent.png"><script>console.error("no")</script>'
    )
    tab.open(bad)
    assert (tmp_path / "absent.png").as_uri() in tab.requests()
    assert len(tab.complaints()) >= 1
    assert tab.value(BROKEN) == ["#nowhere"]


def test_links_within_the_page_lead_somewhere(tab: Tab, page: Path) -> None:
    tab.open(page)
    assert tab.value("document.querySelectorAll('nav a').length") > 10
    assert tab.value(BROKEN) == []
    ids = tab.value("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(ids) == len(set(ids))


def test_links_between_pages_lead_somewhere(tab: Tab, folder: Path) -> None:
    pages = sorted(path.name for path in folder.iterdir())
    assert pages == ["index.html", "small.html", "stricter.html"]
    for name in pages:
        tab.open(folder / name)
        assert tab.value(BROKEN) == []
        assert tab.complaints() == []
        files = tab.value(
            "[...document.querySelectorAll('a:not([href^=\"#\"]):not([download])')].map(each => each.getAttribute('href'))"
        )
        assert set(files) == (
            set(pages) - {"index.html"} if name == "index.html" else {"index.html"}
        )
        assert tab.value("document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("width", [320, PHONE, 768, 1024, 1440])
def test_a_page_is_no_wider_than_its_screen(tab: Tab, page: Path, width: int) -> None:
    tab.resize(width, phone=width <= PHONE)
    tab.open(page)
    tab.value("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert tab.value("document.documentElement.scrollWidth") <= width
    assert tab.value("innerWidth") == width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(tab: Tab, page: Path, scheme: str) -> None:
    tab.media(scheme=scheme)
    tab.open(page)
    dark = tab.value("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")
    # Figures have a palette of their own in the dark; those with images, whose colours are numbers, are turned over.
    inks = "new Set([...document.querySelectorAll('figure svg.own text')].map(each => getComputedStyle(each).fill))"
    assert tab.value(f"{inks}.has('rgb(28, 32, 36)')") == (scheme == "light")
    assert tab.value(f"{inks}.has('rgb(228, 231, 234)')") == (scheme == "dark")
    turned = "[...document.querySelectorAll('figure svg')].every(each => each.matches('.own') === (getComputedStyle(each).filter === 'none'))"
    if scheme == "dark":
        assert tab.value(turned)
    texts = tab.value(TEXTS)
    assert len(texts) > 100
    assert [text for text in texts if text[0] < LEAST_CONTRAST] == []


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


def test_one_collection_takes_few_pages(tab: Tab, page: Path) -> None:
    """The fixture has two collections, with a result of every analysis of one of them."""
    tab.open(page)
    printed = tab.call("Page.printToPDF", preferCSSPageSize=True)
    content = base64.b64decode(printed["data"])
    assert 0 < len(re.findall(rb"/Type\s*/Page\b", content)) <= 2 * MOST_PAGES


def test_the_style_sheet_is_in_force(tab: Tab, page: Path) -> None:
    """Quotes and signs of the style sheet are not escaped: rules with them apply."""
    text = page.read_text()
    style = text[text.index("<style>") : text.index("</style>")]
    assert "&#34;" not in style
    assert "&gt;" not in style
    tab.open(page)
    assert "Segoe UI" in tab.value("getComputedStyle(document.body).fontFamily")
    assert "system-ui" in tab.value("getComputedStyle(document.body).fontFamily")
    family = "getComputedStyle(document.querySelector('figure svg text')).fontFamily"
    assert tab.value(family) == tab.value("getComputedStyle(document.body).fontFamily")


def test_tables_fit_on_paper(tab: Tab, page: Path) -> None:
    tab.resize(718)  # A4 without margins of a centimetre
    tab.media("print")
    tab.open(page)
    wide = "[...document.querySelectorAll('.scroll table')].map(each => [each.getBoundingClientRect().right, each.closest('.scroll').getAttribute('aria-label')])"
    assert [label for right, label in tab.value(wide) if right > 718] == []


def test_the_keyboard_reaches_tables_and_shows_where_it_is(tab: Tab, page: Path) -> None:
    tab.open(page)

    def press_tab() -> None:
        for kind in ("keyDown", "keyUp"):
            tab.call(
                "Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9
            )

    press_tab()
    assert tab.value("document.activeElement.textContent") == "Skip to the answers"
    assert tab.value("document.activeElement.getBoundingClientRect().left") >= 0
    seen = set()
    for _ in range(80):
        press_tab()
        seen.add(tab.value("document.activeElement.className || document.activeElement.tagName"))
        assert tab.value("getComputedStyle(document.activeElement).outlineStyle") != "none"
    assert {"A", "scroll", "q", "BUTTON", "SUMMARY"} <= seen
    beyond = "[...document.querySelectorAll('.scroll, .drawing')].filter(each => each.tabIndex !== 0 || !each.getAttribute('aria-label')).length"
    assert tab.value(beyond) == 0


def test_no_name_acts_on_a_page(tab: Tab, hostile_page: Path) -> None:
    tab.open(hostile_page)
    assert tab.complaints() == []
    assert tab.value("document.title") == "study"
    assert tab.value("document.scripts.length") == 2  # the page's own, and its data
    assert tab.value("document.images.length + document.forms.length") == 0
    # All that the script adds is text, too.
    tab.value("document.querySelectorAll('details').forEach(each => each.open = true)")
    tab.value(
        "document.querySelectorAll('svg[data-values]').forEach(each => each.closest('.drawing').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight'})))"
    )
    assert tab.value("document.querySelectorAll('#switch option, #switch button').length") > 1
    assert tab.value("document.scripts.length") == 2
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
