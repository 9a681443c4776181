"""Reports of many collections: pages made only for what changed, distributions, and the script that searches, sorts and filters."""

from __future__ import annotations

import base64
import dataclasses
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
from scorecube.report import report, stored_tables
from scorecube.report.page import freshness, many
from scorecube.report.page import render as rendering
from scorecube.report.page import writing as pages
from scorecube.report.page.html import page_file
from scorecube.report.page.sections import part_sources, read_part
from scorecube.report.views import view_of
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


@pytest.mark.slow
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
    assert first["index.html"][0] == digest
    sc.sweep(study, [sc.Entry(sc.Tukey(), trials=30, seed=2, collections=("d1",))], workers=1)
    assert changed() == {"index.html", "d1.html"}
    assert first["index.html"][0] != digest
    study.add("e", cube=simulate_cube(n_runs=5, seed=9))
    assert changed() == {"index.html", "e.html"}
    with study.lock() as listing, study.lock("c2"):
        listing.change(remove=["c2"])
    assert changed() == {"index.html", "c2.html"}
    assert "c2.html" not in first
    (out / "c1.html").write_text("<html>of somebody else</html>")
    assert changed() <= {"index.html", "c1.html"}
    assert "c1" in (out / "c1.html").read_text()


def test_blocks_and_notes_change_no_page(study: Study) -> None:
    before = freshness.source_digest(study, ["c1"], "c1.html")
    assert re.fullmatch("[0-9a-f]{64}", before)
    assert freshness.source_digest(study, ["c1"], "other.html") != before
    with study.lock("c1") as writer:
        writer.note({"anything": 1})
    assert freshness.source_digest(study, ["c1"], "c1.html") == before


def test_the_overview_shows_distributions(study: Study, tmp_path: Path) -> None:
    pages.write_pages(study, tmp_path / "report")
    text = (tmp_path / "report/index.html").read_text()
    assert "4 collections · " in text
    rows = many.overview_rows(study, NAMES)
    assert [row["name"] for row in rows] == NAMES
    shares = [
        float(value)
        for name in NAMES
        for value in sc.table(study[name].result("swap"), "sensitivity").query(
            "metric == 'AP' and confidence == 0.95"
        )["share"]
    ]
    (swap,) = [each for each in many.distributions(rows) if each["heading"] == view_of("swap").heading]  # fmt: skip
    assert (swap["count"], swap["lacking"]) == (4, 0)
    (of_ap,) = [each for each in swap["distributions"] if each.label == "AP"]
    confidences = sc.table(study["c1"].result("swap"), "sensitivity")["confidence"]
    assert confidences.max() == 0.95
    np.testing.assert_allclose(sorted(of_ap.values), sorted(np.round(shares, 6)))
    quartiles = np.quantile(np.round(shares, 6), [0, 0.25, 0.5, 0.75, 1])
    assert of_ap.cells == ["4", *(f"{each:.3g}" for each in quartiles)]
    assert swap["column"] == "share of comparisons"
    for cell in of_ap.cells:
        assert f'<td class="number">{cell}</td>' in text
    heights = [float(each) for each in re.findall(r'height="([\d.]+)"', of_ap.picture)]
    assert len(heights) == many.BINS
    assert max(heights) == 30
    tukey = next(each for each in many.distributions(rows) if each["heading"] == view_of("tukey").heading)  # fmt: skip
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
    assert many.key_numbers(frame, order) == {"c": {"AP": 0.3}}
    other = frame.assign(collection="d", alpha=frame["alpha"] / 10)
    both = pd.concat([frame, other.assign(share=other["share"] + 1)], ignore_index=True)
    assert many.key_numbers(both, order) == {"c": {"AP": 0.3}, "d": {"AP": 1.3}}
    unknown = frame.assign(alpha=np.nan).iloc[[0, 1]]
    assert many.key_numbers(unknown, order) == {"c": {"AP": 0.1, "Q": 0.2}}
    assert many.key_numbers(pd.DataFrame(), order) == {}


@pytest.mark.slow
def test_few_collections_have_the_report_of_before(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "OVERVIEW", 4)
    pages.write_pages(study, tmp_path / "report")
    text = (tmp_path / "report/index.html").read_text()
    assert page_file("overview.js") not in text
    assert "Sizes of the collections" in text


@pytest.mark.slow
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
    assert all(len(cell.partition(".")[2]) == 3 for cell in row[5:] if "." in cell)
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


def test_the_overview_reads_no_results(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scorecube.storage.collection.Collection.find_result", None)
    monkeypatch.setattr("scorecube.storage.collection.Collection._read_result", None)
    monkeypatch.setattr(pages, "MOST_PAGES", 3)
    assert pages.write_pages(study, tmp_path / "report") == 1
    assert sum(len(row["results"]) for row in many.overview_rows(study, NAMES)) == 7


def test_cautions_of_the_index_are_those_of_the_results(study: Study) -> None:
    for row in many.overview_rows(study, NAMES):
        expected: list[str] = []
        for source in part_sources(study[row["name"]]):
            part = read_part(study, source, draw=False)
            if part is not None and source.facts is not None:
                expected += [each.text for each in part.cautions]
        own = [each for each in row["cautions"] if not each.startswith("Fewer than")]
        assert own == list(dict.fromkeys(expected))
        assert own


def test_results_that_the_index_lacks_are_read(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = many.overview_rows(study, NAMES)
    row = stored_tables.rows_with_facts(study)["c1"]
    facts = {
        digest: each | dict.fromkeys((stored_tables.TABLE, stored_tables.CAUTIONS))
        for digest, each in row.results("swap").items()
    }
    changed = dataclasses.replace(row, texts={**row.texts, "swap": json.dumps(facts)})
    rows = study.rows() | {"c1": changed}
    monkeypatch.setattr(Study, "rows", lambda *_: rows)
    assert many.overview_rows(study, NAMES) == known


@pytest.mark.slow
def test_of_very_many_collections_pages_are_made_where_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scorecube: Cli, tree: Callable[[Path], Tree]
) -> None:
    monkeypatch.setattr(pages, "MOST_PAGES", 2)
    study, out = make_study(tmp_path / "study.zarr"), tmp_path / "report"
    made = scorecube("report", study.path, "--out", f"{out}/").succeeded()
    assert "distributions over 4 collections" in made.stderr
    assert [path.name for path in out.iterdir()] == ["index.html"]
    assert {row[1] for row in data_of(out / "index.html")["rows"]} == {""}
    text = (out / "index.html").read_text()
    assert "--collection NAME --out NAME.html" in text
    made = scorecube("report", study.path, "--out", out).succeeded()
    assert "up to date" in made.stderr
    # A page that is there is kept up to date.
    pages.write_pages(study, out, every=True)
    (out / "c2.html").unlink()
    (out / "d1.html").unlink()
    assert pages.write_pages(study, out) == 1
    assert {row[0]: row[1] for row in data_of(out / "index.html")["rows"]} == {
        "c1": "c1.html",
        "c10": "c10.html",
        "c2": "",
        "d1": "",
    }
    before = tree(out)
    sc.sweep(study, [sc.Entry(sc.Tukey(), trials=30, seed=2, collections=("c1",))], workers=1)
    assert pages.write_pages(study, out) == 2
    after = tree(out)
    assert {name for name in after if after[name] != before[name]} == {"index.html", "c1.html"}
    # All at once give the same.
    monkeypatch.setattr(pages, "MOST_PAGES", 200)
    pages.write_pages(study, out)
    assert set(tree(out)) == {"index.html", *(f"{name}.html" for name in NAMES)}
    pages.write_pages(study, tmp_path / "fresh")
    fresh, kept = tree(tmp_path / "fresh"), tree(out)
    assert {name: fresh[name][0] for name in fresh} == {name: kept[name][0] for name in kept}


def test_an_interrupted_report_of_very_many_collections_goes_on(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MOST_PAGES", 2)
    drawn: list[str] = []
    plain = rendering.render

    def interrupted(study: Study, facts: list[dict[str, Any]], *rest: Any, **options: Any) -> str:
        drawn.append(facts[0]["name"])
        if len(drawn) == 4:
            raise KeyboardInterrupt
        return plain(study, facts, *rest, **options)

    monkeypatch.setattr(pages, "render", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pages.write_pages(study, tmp_path / "report", every=True)
    there = {path.name for path in (tmp_path / "report").iterdir()}
    assert there == {"index.html", *(f"{name}.html" for name in drawn[:2])}
    drawn.append("not interrupted")
    pages.write_pages(study, tmp_path / "report", every=True)
    assert drawn[5:] == drawn[2:4]
    assert {path.name for path in (tmp_path / "report").iterdir()} == {
        "index.html",
        *(f"{name}.html" for name in NAMES),
    }


def test_one_page_of_many_collections_is_their_overview(
    study: Study, tmp_path: Path, scorecube: Cli
) -> None:
    page = tmp_path / "report.html"
    how = ("--title", "A study", "--authors", "B and C", "--date", "2026")
    made = scorecube("report", study.path, "--out", page, *how).succeeded()
    assert "distributions over 4 collections" in made.stderr
    text = page.read_text()
    assert "<h1>A study</h1>" in text
    assert "<p>B and C, 2026</p>" in text
    assert len(data_of(page)["rows"]) == 4
    assert "up to date" in scorecube("report", study.path, "--out", page, *how).stderr
    made = scorecube("report", study.path, "--collection", "d1,c2", "--out", page).succeeded()
    assert "distributions" not in made.stderr
    text = page.read_text()
    assert "2 collections" in text
    words = set(re.findall(r"\w+", text))  # digests may contain c10
    assert "d1" in words
    assert "c10" not in words
    outcome = scorecube("report", study.path, "--collection", "c3", "--out", page)
    assert outcome.status == 1
    assert "c3" in outcome.stderr
    assert page.read_text() == text
    assert report(study, str(tmp_path / "c1.html"), collections=["c1"])
    assert "8 runs" in (tmp_path / "c1.html").read_text()
