"""Command demo: simulate a study, analyse it and write its report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses import Correlation, Leaderboard, MaxT, Reliability, Swap, Teams
from scorecube.analyses.base import Analysis
from scorecube.cli.terminal import echo_results, notify, track_progress
from scorecube.execute.executor import Executor, default_workers
from scorecube.ingest.published import ntcir_clir
from scorecube.report.page.options import PageOptions
from scorecube.report.page.writing import write_page
from scorecube.storage import Study
from scorecube.testing import simulate_rankings
from scorecube.workflow import api

NAME, LIKE = "demo", "NTCIR-5 Chinese"
"""The collection, and the published one whose numbers of relevant documents its topics have."""
TITLE = "Demo: 24 simulated systems"
METRICS = ("nDCG@10", "AP", "Q", "RR")
GAINS = ("3:2:1",)
TEAMS = ("alder", "birch", "cedar", "hazel", "larch", "maple", "rowan", "willow")
KINDS = ("dense", "rerank", "words")
"""Teams and systems, which nobody has; of a name nothing is to be concluded."""
SEED = 2007
TRIALS = 1000
ANALYSES: tuple[Analysis, ...] = (
    *(Leaderboard(), MaxT(), Swap(sampling="replacement")),
    *(Reliability(), Correlation(), Teams(pool_depth=20)),
)
"""They answer all questions of a page; in the whole depth of simulated judgements no team finds documents that others lack."""


def run_demo(out: Path) -> str:
    """Simulate a collection whose systems have names, run the analyses that answer the questions of a page, and write the page.

    The numbers of relevant documents per topic are those of a published collection (Sakai 2007); the runs are simulated (see
    `scorecube.testing`). Stored results are not computed again.

    out: Folder for ``study.zarr`` and ``report.html``.
    Returns text: The path of the page; the best systems are printed.
    """
    study = api.open_study(out / "study.zarr", mode="a")
    page = out / "report.html"
    _compute(study)
    with track_progress("drawing", "results") as progress:
        write_page(study, page, progress=progress, options=PageOptions(TITLE))
    echo_results(study[NAME].results("leaderboard"))
    return f"all answers, figures and tables: {page}"


def simulated() -> xr.Dataset:
    """Return the rankings of the demo: 3 systems of 8 teams each."""
    topics, judged = ntcir_clir()[LIKE]
    size = len(TEAMS) * len(KINDS)
    rankings = simulate_rankings(judged, topics=topics, n_runs=size, n_teams=len(TEAMS), seed=SEED)
    places = {team: k for k, team in enumerate(np.unique(rankings[names.TEAM].values).tolist())}
    teams = [TEAMS[places[team]] for team in rankings[names.TEAM].values.tolist()]
    runs = [f"{team}-{KINDS[teams[:k].count(team)]}" for k, team in enumerate(teams)]
    return rankings.assign_coords({names.RUN: runs, names.TEAM: (names.RUN, teams)})


def _compute(study: Study) -> None:
    """Simulate the collection and run the analyses, what is not stored of both."""
    if NAME not in study:
        notify(f"simulating {len(TEAMS) * len(KINDS)} systems of {len(TEAMS)} teams")
        api.evaluate_into(study, NAME, simulated(), METRICS, GAINS)
    for analysis in ANALYSES:
        tasks = api.plan_in_study(study, analysis, trials=TRIALS, seed=SEED)
        with track_progress(analysis.name, "collections") as progress:
            for k, task in enumerate(tasks):
                if not task.is_stored():
                    task.run(Executor(workers=default_workers()))
                progress(k + 1, len(tasks))
