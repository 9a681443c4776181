"""Views: the registry, what they import, analyses with a view from outside the package and without any."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses import registry as analyses
from scorecube.report.formats import summaries
from scorecube.report.page import write_page
from scorecube.report.results import answers
from scorecube.report.tables import Table
from scorecube.report.views import DIFFERENCE, Answer, View
from scorecube.testing import simulate_cube
from scorecube.workflow import api

if TYPE_CHECKING:
    from tests.conftest import Cli


@dataclass(frozen=True)
class Toy(sc.Stability):
    """An analysis that the package does not know."""

    name: ClassVar[str] = "toy"


@pytest.fixture
def toy_study(tmp_path: Path) -> Path:
    """A study of two collections with results of the toy analysis."""
    study = sc.open_study(tmp_path / "study.zarr", mode="a")
    for k, name in enumerate(("one", "two")):
        study.add(
            name, cube=simulate_cube(n_runs=4, seed=k, metrics=("AP", "RR"), gains=("3:2:1",))
        )
    for task in api.plan_in_study(study, Toy(), trials=10, seed=1):
        task.run()
    return tmp_path / "study.zarr"


@pytest.fixture
def toy_view(monkeypatch: pytest.MonkeyPatch) -> None:
    """A view with little more than what it must have."""

    def errors(result: xr.Dataset) -> pd.DataFrame:
        collection = result.attrs["collection"]
        return pd.DataFrame(
            {"collection": collection, "metric": result["metric"].values, "error_rate": 0.25}
        )

    view = View(
        name="toy",
        heading="Toy method",
        tables={"errors": Table("metric", "", make=errors)},
        about="What a toy is.",
        answers={DIFFERENCE: lambda _: [Answer("AP", 0.25, what="error rate", clause="of a toy")]},
    )
    monkeypatch.setattr(analyses, "_ENTRIES", dict(analyses._ENTRIES))
    monkeypatch.setattr(sys.modules[__name__], "VIEW", view, raising=False)
    analyses.register(Toy)


@pytest.mark.usefixtures("toy_view")
def test_a_view_from_outside_is_shown_and_reported(
    toy_study: Path, scorecube: Cli, tmp_path: Path
) -> None:
    study = sc.open_study(toy_study)
    (answer,) = answers(study["one"].result("toy"))
    assert answer.sentence == "AP: error rate 0.250, of a toy."
    (lines,) = summaries([study["one"].result("toy")], 80)
    assert ["metric", "error", "rate"] in map(str.split, lines)
    shown = scorecube("show", toy_study, "toy", "--format", "csv").succeeded().stdout.splitlines()
    assert shown[:2] == ["collection,metric,error_rate", "one,AP,0.25"]
    write_page(study, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    chapter = page[page.index("<h3>Toy method ") : page.index('<h2 id="methods"')].partition("<h2")[
        0
    ]
    assert "median of 2 collections (0.250)" in chapter
    assert "What a toy is." in chapter
    assert "<svg" not in chapter
    refused = scorecube(
        "figure", toy_study, "toy", "--collection", "one", "--out", tmp_path / "x.png"
    )
    assert refused.status == 1
    assert "toy has no figure; its tables: errors" in refused.stderr
