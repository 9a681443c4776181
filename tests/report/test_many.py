"""Reports of many collections: pages made only for what changed, distributions, and the script that searches, sorts and filters."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scorecube as sc
from scorecube.report.page import freshness, many
from scorecube.report.page import render as pages
from scorecube.report.page.templates import page_file
from scorecube.report.views.registry import view_of
from scorecube.storage import Study
from scorecube.testing import simulate_cube
from tests.conftest import Cli, Tree
from tests.report.browser import Tab, browser, find_chromium
from tests.report.hostile import COLLECTIONS, GAINS, METRICS, hostile_cube
from tests.report.test_hostile_names import Elements
from tests.report.test_pages import without_pictures

NAMES = ["c1", "c2", "c10", "d1"]


def make_study(path: Path) -> Study:
    study = sc.open_study(path, mode="a")
    for place, name in enumerate(NAMES):
        study.add(name, cube=simulate_cube(n_runs=8 + 2 * place, seed=place))
    entries = [
        sc.Entry(sc.Swap(size=10), trials=20, seed=1),
        sc.Entry(sc.Tukey(), trials=20, seed=1, collections=("c*",)),
    ]
    sc.sweep(study, entries, workers=1)
    return study


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Four collections; not to be changed."""
    return make_study(tmp_path_factory.mktemp("many") / "study.zarr")


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "OVERVIEW", 3)
    without_pictures(monkeypatch)


def data_of(index: Path) -> dict[str, Any]:
    """Return what the script of an overview reads."""
    text = index.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_only_what_changed_is_written_again(
    tmp_path: Path, scorecube: Cli, tree: Callable[[Path], Tree]
) -> None:
    study, out = make_study(tmp_path / "study.zarr"), tmp_path / "report"
    scorecube("report", study.path, "--out", f"{out}/").succeeded()
    first = tree(out)
    assert set(first) == {"index.html", *(f"{name}.html" for name in NAMES)}

    def changed() -> set[str]:
        before = dict(first)
        scorecube("report", study.path, "--out", out).succeeded()
        now = tree(out)
        different = {name for name in {*before, *now} if before.get(name) != now.get(name)}
        first.clear()
        first.update(now)
        return different

    digest = first["index.html"][0]
    assert changed() == set()
    (out / "index.html").unlink()
    shutil.copy(out / "c1.html", out / "index.html")
    assert changed() == {"index.html"}
    assert first["index.html"][0] == digest  # the same text, made from the heads of pages
    sc.sweep(study, [sc.Entry(sc.Tukey(), trials=30, seed=2, collections=("d1",))], workers=1)
    assert changed() == {"index.html", "d1.html"}
    assert first["index.html"][0] != digest
    study.add("e", cube=simulate_cube(n_runs=5, seed=9))
    assert changed() == {"index.html", "e.html"}
    with study.lock(), study.lock("c2"):
        study.change_list(remove=["c2"])
    assert changed() == {"index.html", "c2.html"}
    assert "c2.html" not in first
    (out / "c1.html").write_text("<html>of somebody else</html>")
    assert changed() <= {"index.html", "c1.html"}
    assert "c1" in (out / "c1.html").read_text()


def test_blocks_and_notes_change_no_page(study: Study) -> None:
    collection = study["c1"]
    before = freshness.source_digest(study, ["c1"], "c1.html")
    assert re.fullmatch("[0-9a-f]{64}", before)
    assert freshness.source_digest(study, ["c1"], "other.html") != before
    collection.note({"anything": 1})
    assert freshness.source_digest(study, ["c1"], "c1.html") == before


def test_the_overview_shows_distributions(study: Study, tmp_path: Path) -> None:
    pages.write_pages(study, tmp_path / "report")
    text = (tmp_path / "report/index.html").read_text()
    assert "4 collections with " in text
    rows = [many.read_row(tmp_path / f"report/{name}.html") for name in NAMES]
    assert all(row is not None for row in rows)
    shares = [
        float(value)
        for name in NAMES
        for value in sc.table(study[name].result("swap"), "sensitivity").query(
            "metric == 'AP' and confidence == 0.95"
        )["share"]
    ]
    (swap,) = [each for each in many.distributions([row for row in rows if row]) if each["heading"] == view_of("swap").heading]  # fmt: skip
    assert (swap["count"], swap["lacking"]) == (4, 0)
    (of_ap,) = [each for each in swap["distributions"] if each.label == "AP"]
    confidences = sc.table(study["c1"].result("swap"), "sensitivity")["confidence"]
    assert confidences.max() == 0.95
    np.testing.assert_allclose(sorted(of_ap.values), sorted(np.round(shares, 6)))
    quartiles = np.quantile(np.round(shares, 6), [0, 0.25, 0.5, 0.75, 1])
    assert of_ap.cells == ["4", *(f"{each:.4f}" for each in quartiles)]
    assert swap["column"] == "share of comparisons"
    for cell in of_ap.cells:
        assert f'<td class="number">{cell}</td>' in text
    heights = [float(each) for each in re.findall(r'height="([\d.]+)"', of_ap.picture)]
    assert len(heights) == many.BINS
    assert max(heights) == 30
    tukey = next(each for each in many.distributions([row for row in rows if row]) if each["heading"] == view_of("tukey").heading)  # fmt: skip
    assert (tukey["count"], tukey["lacking"], tukey["column"]) == (3, 1, "share of pairs")
    assert many.Distribution("runs", [8.0, 10.0, 12.0, 14.0], 8, 14).cells == [
        "4",
        "8",
        "9.5",
        "11",
        "12.5",
        "14",
    ]
    data = data_of(tmp_path / "report/index.html")
    assert [row[0] for row in data["rows"]] == sorted(NAMES)
    assert data["columns"][:4] == ["runs", "topics", "results", "warnings"]
    by_name = {row[0]: row for row in data["rows"]}
    assert by_name["d1"][3][:2] == [14, 50]
    assert None in by_name["d1"][4]  # no Tukey's test
    assert "Fewer than 10 runs" in data["cautions"][by_name["c1"][2][0]]


def test_key_numbers_are_those_of_the_largest_conditions() -> None:
    order = view_of("bootstrap").order
    assert order is not None
    frame = pd.DataFrame(
        {
            "collection": "c",
            "metric": ["AP", "Q", "AP", "Q"],
            "gain": "auto",
            "alpha": [0.01, 0.01, 0.05, 0.05],
            "share": [0.1, 0.2, 0.3, np.nan],
        }
    )
    assert many.key_numbers(frame, order) == {"AP": 0.3}
    assert many.key_numbers(pd.DataFrame(), order) == {}


def test_few_collections_have_the_report_of_before(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "OVERVIEW", 4)
    pages.write_pages(study, tmp_path / "report")
    text = (tmp_path / "report/index.html").read_text()
    assert page_file("overview.js") not in text
    assert "Across collections" in text


def test_names_do_nothing_on_the_overview(tmp_path: Path) -> None:
    study = sc.open_study(tmp_path / "study.zarr", mode="a")
    names = [*COLLECTIONS, "<script>alert(1)<", "javascript:alert(1)", "a\u202eb"]
    for place, name in enumerate(names):
        runs = [f"<b>{k}" for k in range(4)]
        study.add(name, cube=hostile_cube(runs, seed=place))
    sc.sweep(study, [sc.Entry(sc.Tukey(), trials=20, seed=1)], workers=1, impossible="skip")
    pages.write_pages(study, tmp_path / "report")
    text = (tmp_path / "report/index.html").read_text()
    elements = Elements(text)
    scripts = [attributes for tag, attributes in elements.found if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "data"}, {}]
    assert not {"img", "iframe", "object", "embed", "base", "form", "b"} & {
        tag for tag, _ in elements.found
    }
    assert not any(key.startswith("on") for _, attributes in elements.found for key in attributes)
    assert "\u202e" not in text
    data = data_of(tmp_path / "report/index.html")
    assert {row[0] for row in data["rows"]} >= {"javascript:alert(1)", "a\\u202eb"}
    assert all(re.fullmatch(r"[\w.-]+\.html", row[1]) for row in data["rows"])
    assert any(METRICS[0] in column for column in data["columns"])
    assert GAINS


def test_the_policy_allows_the_page_s_own_script_only(study: Study, tmp_path: Path) -> None:
    pages.write_pages(study, tmp_path / "report")
    text = (tmp_path / "report/index.html").read_text()
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy.replace("&#39;", "'") == (
        f"default-src 'none'; script-src 'sha256-{digest}'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )
    assert "innerHTML" not in script
    assert "eval" not in script
    one = (tmp_path / "report/c1.html").read_text()
    (script,) = re.findall(r"<script>(.*?)</script>", one, re.DOTALL)
    assert script == page_file("page.js")
    for word in (
        "innerHTML",
        "insertAdjacentHTML",
        "outerHTML",
        "document.write",
        "eval(",
        "Function(",
    ):
        assert word not in script


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium is installed (Debian's package is called chromium)")
    with browser(program) as found:
        yield found


SHOWN = "[...document.querySelectorAll('#table tbody tr')].map(row => row.cells[0].textContent)"


def enter(tab: Tab, element: str, value: str) -> None:
    tab.value(
        f"(() => {{ const e = document.getElementById('{element}'); e.value = '{value}'; e.dispatchEvent(new Event('input')); }})()"
    )


@pytest.mark.process
def test_the_table_is_searched_sorted_and_filtered(tab: Tab, study: Study, tmp_path: Path) -> None:
    pages.write_pages(study, tmp_path / "report")
    tab.open(tmp_path / "report/index.html")
    assert tab.complaints() == []
    assert [each for each in tab.requests() if not each.startswith("data:")] == [
        (tmp_path / "report/index.html").as_uri()
    ]
    assert tab.value(SHOWN) == ["c1", "c2", "c10", "d1"]  # numbers in names count as numbers
    assert tab.value("document.getElementById('shown').textContent").startswith(
        "4 of 4 collections"
    )
    enter(tab, "search", "C1")
    assert tab.value(SHOWN) == ["c1", "c10"]
    tab.value("document.getElementById('clear').click()")
    head = "document.querySelectorAll('#table thead button')"
    tab.value(f"{head}[1].click()")  # runs
    assert tab.value(SHOWN) == ["d1", "c10", "c2", "c1"]
    assert tab.value("document.querySelector('[aria-sort]').textContent") == "runs"
    tab.value(f"{head}[1].click()")
    assert tab.value(SHOWN) == ["c1", "c2", "c10", "d1"]
    row = tab.value("[...document.querySelector('#table tbody tr').cells].map(c => c.textContent)")
    assert row[:3] == ["c1", "8", "50"]
    assert all(len(cell.partition(".")[2]) == 4 for cell in row[5:] if "." in cell)
    assert any("." in cell for cell in row[5:])
    enter(tab, "from", "10")
    enter(tab, "to", "12")
    assert tab.value(SHOWN) == ["c2", "c10"]
    tab.value("document.getElementById('clear').click()")
    few = tab.value(
        "[...document.querySelectorAll('#caution option')].find(o => o.textContent.includes('10 runs')).value"
    )
    enter(tab, "caution", few)
    assert tab.value(SHOWN) == ["c1"]
    tab.value("document.getElementById('clear').click()")
    columns = tab.value("[...document.querySelectorAll('#column option')].map(o => o.textContent)")
    tukey = next(place for place, text in enumerate(columns) if text.startswith(view_of("tukey").heading))  # fmt: skip
    tab.value(f"{head}[{tukey + 1}].click()")
    assert tab.value(SHOWN)[-1] == "d1"  # without a number: last in both directions
    tab.value(f"{head}[{tukey + 1}].click()")
    assert tab.value(SHOWN)[-1] == "d1"
    links = tab.value(
        "[...document.querySelectorAll('#table tbody a')].map(a => a.getAttribute('href'))"
    )
    assert sorted(links) == sorted(f"{name}.html" for name in NAMES)
