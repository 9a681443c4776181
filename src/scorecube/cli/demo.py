"""Command demo: simulate a study, analyse it and write its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from scorecube.cli.options import flag
from scorecube.cli.terminal import echo, echo_results, notify, track_progress

if TYPE_CHECKING:
    import xarray as xr

NAME = "demo"
"""The collection."""
LIKE = "NTCIR-5 Chinese"
"""Published collection whose numbers of relevant documents its topics have."""
METRICS = ("nDCG@10", "AP", "Q", "RR")
N_RUNS = 24
N_TEAMS = 8
SEED = 2007
TRIALS = 1000


def demo(
    out: Annotated[Path, flag("--out", "Folder for the simulated study and its report.")] = Path(
        "demo"
    ),
) -> None:
    """Build a simulated study, run analyses on it, write a report.

    Example: scorecube demo --out demo
    """
    from scorecube.execute.executor import Executor, default_workers
    from scorecube.methods import index
    from scorecube.report.page import write_page
    from scorecube.workflow import api, inputs

    study = api.open_study(out / "study.zarr", mode="a")
    if NAME not in study:
        notify(f"simulating {N_RUNS} systems of {N_TEAMS} teams")
        inputs.evaluate_into(study, NAME, simulated(), METRICS, ("3:2:1",))
    # Simulated judgements are so deep that no team finds documents that others lack.
    shown = [kind for kind in map(index.load, index.names()) if kind.in_demo is not None]
    for kind in shown:
        analysis = kind(**(kind.in_demo or {}))
        with track_progress(analysis.name, "collections") as progress:
            for task in api.plan_in_study(study, analysis, trials=TRIALS, seed=SEED):
                if not task.is_stored():
                    task.run(Executor(workers=default_workers()))
                progress(1, 1)
    page = out / "report.html"
    with track_progress("drawing", "results") as progress:
        write_page(study, page, title=f"Demo: {N_RUNS} simulated systems", progress=progress)
    echo_results(study[NAME].results(shown[0].name))
    echo(f"all answers, figures and tables: {page}")


def simulated() -> xr.Dataset:
    """Return rankings whose topics have as many relevant documents as Sakai's (2007) `LIKE`."""
    from scorecube.ingest.public import ntcir_clir
    from scorecube.testing import simulate_rankings

    topics, judged = ntcir_clir()[LIKE]
    return simulate_rankings(judged, topics=topics, n_runs=N_RUNS, n_teams=N_TEAMS, seed=SEED)
