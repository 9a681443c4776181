"""One number in every channel: answers, tables, terminal, JSON, LaTeX, page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses import registry
from scorecube.report.readable import limited
from scorecube.report.results import answers, median_of, view_of_result
from scorecube.report.terminal import brief_layout, sentence, summaries
from scorecube.report.views import Answer

if TYPE_CHECKING:
    from tests.conftest import Cli

MOST_LINES = 34


@pytest.fixture(scope="module")
def results(analysed_study: Path) -> dict[str, xr.Dataset]:
    """The latest result of each analysis of the first collection that has one."""
    study = sc.open_study(analysed_study)
    return {
        kind: study[name].result(kind)
        for kind in registry.names()
        for name in reversed(list(study))
        if study[name].result_attributes(kind)
    }


@pytest.fixture(scope="module")
def page(analysed_study: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "page.html"
    sc.report(str(analysed_study), str(path), collections=["small"])
    return path.read_text()


@pytest.mark.parametrize("name", [entry.name for entry in registry.BUILT_IN])
def test_answers_have_the_numbers_of_tables(results: dict[str, xr.Dataset], name: str) -> None:
    result = results[name]
    view = view_of_result(result)
    numbers = {
        float(value)
        for table in view.tables
        for column in sc.table(result, table).select_dtypes("number")
        for value in sc.table(result, table)[column].dropna()
    }
    found = [answer for of in view.answers.values() for answer in of(result)]
    assert found
    for answer in found:
        ends = (answer.value, answer.low, answer.high)
        assert {end for end in ends if end is not None and not np.isnan(end)} <= numbers
        assert answer.what
        assert answer.sentence.startswith(f"{answer.label}: ")
        assert not re.search(r"\bnan\b", answer.sentence)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", [entry.name for entry in registry.BUILT_IN])
def test_terminals_show_a_table_and_one_sentence(
    results: dict[str, xr.Dataset], name: str, width: int
) -> None:
    result = results[name]
    tables, view = summaries([result], width, bars=True), view_of_result(result)
    lines = [line for shown in tables for line in (*shown.head, *shown.table, *shown.below)]
    assert 0 < len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= width
    for shown, table in zip(tables, view.shown, strict=True):
        known = brief_layout(
            view.tables[table], sc.table(result, table).assign(label="", n_topics=1)
        )
        assert {*re.split(r"  +", shown.table[0].strip())} <= {*known}  # none is broken
    assert sentence([result]) == answers(result)[0].sentence


def test_the_leader_is_the_same_everywhere(
    scorecube: Cli, analysed_study: Path, results: dict[str, xr.Dataset], page: str
) -> None:
    result = results["leaderboard"]
    (first, *_) = answers(result)
    row = sc.table(result).iloc[0]
    number, limits = limited(row["mean"], row["mean_low"], row["mean_high"])
    assert (first.name, first.number) == (row["run"], (number, limits))
    (shown,) = summaries([result], 120)
    assert re.split(r"  +", shown.table[1].strip())[1::2][-1].startswith(number)
    assert f"{number} ({limits})" in shown.table[1]
    assert f"{number} ({limits.replace(' to ', '--')})" in sc.latex(result, columns=["run", "mean"])
    assert f"{number} ({limits})" in sc.markdown(result, columns=["run", "mean"])
    told = scorecube("show", analysed_study, "leaderboard", "--format", "json").succeeded().stdout
    (record, *_) = json.loads(told)
    assert [record[key] for key in ("run", "mean")] == [row["run"], pytest.approx(row["mean"])]
    card = page[page.index('<p class="big">') :].partition("</div>")[0]
    assert f"{first.name} <small>{number} ({limits})</small>" in card
    assert first.clause.replace("<", "&lt;") in card


def test_answers_of_collections_are_medians() -> None:
    several = [[Answer("AP", value, form=".2f", what="tau")] for value in (0.25, 0.5, 1.0)]
    (answer,) = median_of(several)
    assert (answer.value, answer.number) == (0.5, ("0.50", ""))
    assert "3 collections (0.25 to 1.00)" in answer.clause


def test_quiet_prints_nothing(scorecube: Cli, study: Path) -> None:
    words = ("leaderboard", study, "--trials", 50, "--seed", 1)
    done = scorecube(*words).succeeded()
    assert "could be rank" in done.stdout
    assert f"scorecube show {study} leaderboard" in done.stdout
    assert "\x1b" not in done.stdout
    quiet = scorecube(*words, "--quiet").succeeded()
    assert (quiet.stdout, quiet.stderr) == ("", "")
