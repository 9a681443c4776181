"""Hostile and odd names in everything that the program writes: text, CSV, JSON, Markdown, LaTeX, pages, figures, file names."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

import scorecube as sc
from scorecube.errors import CONTROL, visible
from scorecube.files import is_formula, label_of_spreadsheet
from scorecube.report.drawing import LONGEST, figure_labels
from scorecube.report.page import asset, write_page
from scorecube.report.text_tables import render
from scorecube.workflow.api import import_scores
from tests.report.hostile import COLLECTIONS, GAINS, HOSTILE, METRICS, hostile_study
from tests.report.hostile import CONTROL as CONTROLS

NAMES = HOSTILE | CONTROLS
ROLES = ("collection", "metric", "gain", "run", "topic", "team")


def table_of(name: str) -> pd.DataFrame:
    """A table with the name in every column of labels, beside a plain row."""
    return pd.DataFrame([[name] * 6 + [0.25], ["plain"] * 6 + [-0.5]], columns=[*ROLES, "score"])


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return NAMES[request.param]


def test_json_is_exact_and_gives_no_orders_to_a_terminal(name: str) -> None:
    text = render(table_of(name), "json")
    assert [json.loads(text)[0][role] for role in ROLES] == [name] * 6
    assert not CONTROL.search(text.replace("\n", ""))


def test_no_cell_of_csv_is_a_formula_and_every_label_comes_back(name: str) -> None:
    text = render(table_of(name), "csv")
    first, plain = csv.DictReader(io.StringIO(text, newline=""))
    assert [
        first[role] for role in ROLES if is_formula(first[role]) and first[role][0] != "'"
    ] == []
    assert [label_of_spreadsheet(first[role]) for role in ROLES] == [name] * 6
    assert (first["score"], plain["score"]) == ("0.25", "-0.5")


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_text_has_one_line_a_row_and_gives_no_orders(name: str, form: str) -> None:
    text = render(table_of(name), form)
    assert len(text.splitlines()) == 4
    assert not CONTROL.search(text.replace("\n", ""))
    if form == "text":
        assert visible(name) in text


def test_markdown_shows_names_as_they_are(name: str) -> None:
    row = render(table_of(name), "markdown").splitlines()[2]
    cells = re.split(r"(?<!\\)(?:\\\\)*\|", row)[1:-1]
    assert len(cells) == 7
    for cell in cells[:6]:
        assert (
            re.sub(r"\\([^\w\s])", r"\1", cell.strip().replace(r"\_", "_")) == visible(name).strip()
        )
        assert not re.search(r"(?<!\\)(?:\\\\)*[<>*`\[\]]", cell)


def test_latex_has_no_command_of_a_name(name: str) -> None:
    row = render(table_of(name), "latex").splitlines()[4]
    known = r"\\(textbackslash|textless|textgreater|\^|~)\{\}|\\[_%&#${}]|\{\[\}|\{\*\}| & |-\{\}"
    assert not re.search(r"[\\{}$#%^~&_\[*]", re.sub(known, "", row.removesuffix(r" \\")))


def test_names_come_back_by_csv_and_import(tmp_path: Path) -> None:
    names = [*HOSTILE.values(), "'=1", "''-a", "'tis", "-0.5"]
    pairs = pd.MultiIndex.from_product([names, names], names=["run", "topic"])
    frame = pairs.to_frame(index=False).assign(metric="AP", score=0.5)
    (tmp_path / "cells.csv").write_text(render(frame, "csv"))
    cube = import_scores([tmp_path / "cells.csv"])
    assert set(cube["run"].values) == set(cube["topic"].values) == set(names)


class Elements(HTMLParser):
    """Every element of a page with its attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.scripts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.found and self.found[-1][0] == "script" and self.cdata_elem == "script":
            self.scripts[-1] += data
        else:
            self.text += data


def acts(elements: Elements) -> list[tuple[str, dict[str, str | None]]]:
    """Return elements that may run or load something: only pictures inside of figures, links to the page itself and tables in it may."""
    allowed = ("#", "data:image/png;base64,", "data:application/gzip;base64,")
    return [
        (tag, attributes)
        for tag, attributes in elements.found
        if tag in {"script", "img", "iframe", "object", "embed", "base", "form", "foreignobject", "animate", "set"}
        or any(key.startswith("on") for key in attributes)
        or any(
            not str(attributes[key]).lstrip().startswith(allowed)
            for key in ("href", "xlink:href", "src")
            if key in attributes
        )
    ]  # fmt: skip


def test_a_page_shows_names_and_nothing_in_them_acts(tmp_path: Path) -> None:
    hostile_study(tmp_path / "study.zarr", [sc.Stability()], [*CONTROLS.values()], GAINS[:1])
    write_page(sc.open_study(tmp_path / "study.zarr"), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    elements = Elements(page)
    # The page's own script, and nothing else.
    assert acts(elements) == [("script", {})]
    (script,) = elements.scripts
    assert script == asset("page.js")
    assert not CONTROL.search(page.replace("\n", ""))
    for shown in (*COLLECTIONS, *METRICS, *GAINS[:1]):
        assert visible(shown) in elements.text
    (policy,) = (
        attributes["content"]
        for tag, attributes in elements.found
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{digest}'; img-src data:; "
        "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )


def test_labels_of_figures_are_short_and_different() -> None:
    labels = ["x" * 100 + str(k) for k in range(30)] + [
        "a" * 50 + str(k) + "b" * 50 for k in range(20)
    ]
    shown = figure_labels([*labels, *NAMES.values()])
    assert len(set(shown.values())) == len(shown)
    assert max(map(len, shown.values())) <= LONGEST + len(" (20)")
    assert not [text for text in shown.values() if text.startswith("_") or CONTROL.search(text)]
