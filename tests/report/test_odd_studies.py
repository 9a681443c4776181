"""Studies that are odd and valid: what is refused has a message, and all that is shown of the rest is shown."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.declare import View
from scorecube.errors import BadPlan, ScorecubeError
from scorecube.methods import index
from scorecube.report.contents import overview, overview_text
from scorecube.report.page import write_page
from scorecube.report.result_parts import answers
from scorecube.report.study_tables import collect_table, draw
from scorecube.report.text_tables import FORMATS, render
from scorecube.report.views import view_names, view_of
from scorecube.storage import Study
from scorecube.testing import simulate_cube
from scorecube.workflow import api
from tests.report.hostile import GAINS, METRICS, hostile_cube

Change = Callable[[xr.Dataset], xr.Dataset]


def scores(make: Callable[[xr.DataArray], xr.DataArray]) -> Change:
    """Return a change of the scores."""
    return lambda cube: cube.assign(score=make(cube["score"]).transpose(*cube["score"].dims))


EQUAL = scores(lambda score: xr.zeros_like(score) + score.isel(run=0, drop=True))
ODD: dict[str, Change] = {
    "one run": lambda cube: cube.isel(run=[0]),
    "two runs": lambda cube: cube.isel(run=[0, 1]),
    "one topic": lambda cube: cube.isel(topic=[0]),
    "two topics": lambda cube: cube.isel(topic=[0, 1]),
    "one metric, one gain setting": lambda cube: cube.isel(metric=[0], gain=[0]),
    "one of all": lambda cube: cube.isel(run=[0], topic=[0], metric=[0], gain=[0]),
    "equal runs": EQUAL,
    "two equal runs on one topic": lambda cube: EQUAL(cube).isel(run=[0, 1], topic=[0]),
    "all scores 0": scores(xr.zeros_like),
    "all scores equal": scores(lambda score: xr.full_like(score, 0.5)),
    "no score of a run": scores(lambda score: score.where(score["run"] != score["run"][0])),
    "no score of a metric": scores(lambda score: score.where(score["metric"] != "AP")),
    "odd names": lambda _: hostile_cube(["a", "_", "$"], METRICS[:1], GAINS[:1]),
    "no teams": lambda cube: cube.assign_coords(team=("run", np.array([""] * 5, object))),
}  # fmt: skip


QUICK = {"one run", "one of all", "two equal runs on one topic"}
"""Studies of few results; the others are slow."""


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in ODD],
)
def study(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """An odd study with the results of all analyses that do not refuse it."""
    path = tmp_path_factory.mktemp("odd") / "study.zarr"
    cube = simulate_cube(n_runs=5, seed=1, metrics=("AP", "Q"), gains=("3:2:1", "1:1:1"))
    opened = sc.open_study(path, mode="a")
    opened.add("odd", cube=ODD[request.param](cube.isel(topic=slice(12))))
    for entry in index.entries():
        with suppress(ScorecubeError):
            for task in api.plan_in_study(opened, index.load(entry.name)(), trials=4, seed=1):
                task.run()
    return sc.open_study(path)


def shown_views(study: Study) -> list[View]:
    """Return the views of which the study has results, or which are computed from scores."""
    views = [view_of(name) for name in view_names()]
    stored = study["odd"].contents()["results"]
    return [view for view in views if view.compute or view.name in {"scores", *stored}]


def test_information_and_tables_are_shown(study: Study) -> None:
    assert "\nodd: " in overview_text(overview(study))
    views = shown_views(study)
    assert len(views) >= 3
    refused: list[str] = []
    for view in views:
        for name, table in view.tables.items():
            if table.source != "rankings":
                try:
                    frame = collect_table(study, view.name, name).frame
                except BadPlan as error:  # no variance of one topic, or no topic
                    refused.append(str(error))
                    continue
                for form in FORMATS:
                    assert render(frame, form, 80)
        if view.compute is None and view.name != "scores":
            for answer in answers(study["odd"].result(view.name)):
                assert "nan" not in answer.sentence
    assert all(text.startswith(("no variance of ", "scores are missing on ")) for text in refused)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Glyph")
def test_figures_and_pages_are_drawn(study: Study, tmp_path: Path) -> None:
    for view in shown_views(study):
        if view.figure is not None:
            with suppress(BadPlan):  # no variance of one topic
                draw(study, view.name)  # the page renders it
    write_page(study, tmp_path / "page.html")
    assert "odd" in (tmp_path / "page.html").read_text()
