"""One place writes nouns: an engineer's models, items and categories are called so in every channel, and never runs, topics and collections."""

from __future__ import annotations

import html
import re
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import scorecube as sc
from scorecube.methods import index
from scorecube.report.drawing import drawn_bytes, figure
from scorecube.report.papers import latex, markdown
from scorecube.report.result_parts import conditions, notes_of
from scorecube.report.text_tables import lines_below, summaries
from scorecube.report.views import view_of
from scorecube.storage import Study
from scorecube.workflow.api import plan_in_study

if TYPE_CHECKING:
    from tests.conftest import Cli

CATEGORIES = {"law": 24, "maths": 30, "code": 20}
MODELS = 6
STRANGE = re.compile(r"(?<![\w-])(?<!--)(?:runs?|topics?|collections?)(?![\w-])", re.IGNORECASE)
"""Nouns of retrieval, but not in options such as ``--only-topics``."""
ANOTHER_KIND = {
    "judges": "compares sets of judgements",
    "teams": "leaves teams out, which engineers have not",
    "battles": "takes battles of pairs",
}
OF_TWO = {"compare": ["model-5", "model-4"], "gate": ["--run", "model-5", "--baseline", "model-4", "--margin", "0.3"]}  # fmt: skip
CODE = re.compile(
    r"scorecube [^\n]*|^table \w+|Topic set size design|<(?:script|style|code|pre)\b.*?</(?:script|style|code|pre)>|<[^>]*>",
    re.DOTALL | re.MULTILINE,
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of models with three seeds, items in categories, and two scores."""
    chance = np.random.default_rng(7)
    rows = []
    for category, n in CATEGORIES.items():
        hard = chance.normal(0, 1, n)
        for model, seed in product(range(MODELS), "123"):
            right = chance.random(n) < 1 / (1 + np.exp(hard - 0.4 * model))
            graded = np.clip(right * 0.6 + chance.random(n) * 0.4, 0, 1).round(3)
            rows += [(f"model-{model}", category, f"{category}{k}", seed, int(right[k]), graded[k]) for k in range(n)]  # fmt: skip
    file = tmp_path_factory.mktemp("engineer") / "evals.csv"
    names = ["model", "category", "item", "seed", "accuracy", "f1"]
    pd.DataFrame(rows, columns=names).to_csv(file, index=False)
    return file


@pytest.fixture(scope="module")
def study(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Study:
    opened = sc.open_study(tmp_path_factory.mktemp("study") / "evals", mode="a")
    cubes = sc.import_scores([table], notify=lambda _: None, collections=True)
    for name, cube in cubes.items():
        opened.add(name, cube=cube)
    for kind in map(index.load, index.names()):
        if kind.name in ANOTHER_KIND:
            continue
        for task in plan_in_study(opened, kind(), trials=20 if kind.resamples else None):
            task.run()
    return opened


def strange_in(text: str) -> list[str]:
    """Return the words around each noun of retrieval."""
    # The name of a command, of a table for --table, and of a method.
    plain = html.unescape(CODE.sub(" ", text))
    return [" ".join(plain[max(0, found.start() - 30) : found.end() + 30].split()) for found in STRANGE.finditer(plain)]  # fmt: skip


def test_the_pattern_finds_nouns() -> None:
    assert strange_in("24 runs of 8 models") == ["24 runs of 8 models"]
    assert strange_in("--runs a; team-run; <p class='run'>x</p>") == []


def results_of(study: Study, name: str) -> list[Any]:
    """Return the results of a method: one of all categories, or one of each."""
    kind = index.load(name)
    places = ["code"] if kind.joins else [*study]
    return [study[place].result(name).assign_attrs(collection=place) for place in places]


@pytest.mark.parametrize("name", [name for name in index.names() if name not in ANOTHER_KIND])
def test_results_are_told_in_the_words_of_users(study: Study, name: str) -> None:
    for result in results_of(study, name):
        found = [*lines_below([result]), *notes_of(result.attrs), conditions(result.attrs)]
        found += chain.from_iterable(summaries([result], 200))
        view = view_of(name)
        for table in view.tables:
            found += [latex(result, table), markdown(result, table)]
        if view.figure is not None:
            found.append(drawn_bytes(figure(result), "svg").decode())
        assert not strange_in("\n".join(found))


@pytest.mark.parametrize("name", [name for name in index.all_names() if name not in ANOTHER_KIND])
@pytest.mark.parametrize("form", ["text", "markdown"])
def test_commands_speak_the_words_of_users(
    study: Study, scorecube: Cli, name: str, form: str
) -> None:
    if name in index.names():
        if form == "text":
            pytest.skip("show prints the names that --columns takes")
        done = scorecube("show", study.path, name, "--format", form)
    else:
        done = scorecube(name, study.path, *OF_TWO.get(name, []), "--format", form)
    assert done.status in (0, 3, 4)
    assert not strange_in(done.stdout + done.stderr)


def test_the_page_speaks_the_words_of_users(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    sc.report(study, str(path))
    assert not strange_in(path.read_text())
