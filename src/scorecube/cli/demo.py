"""Command demo: simulate a study, analyse it and write its report."""

from __future__ import annotations

from pathlib import Path

from scorecube.analyses import Bootstrap, Swap
from scorecube.analyses.base import Analysis
from scorecube.cli.compilation import COMPILE_SECONDS, announced_compilation
from scorecube.cli.report_commands import drawing_processes
from scorecube.cli.terminal import notify, track_progress
from scorecube.execute.executor import Executor
from scorecube.execute.processes import default_workers
from scorecube.ingest.published import ntcir_clir
from scorecube.report.page.writing import write_page
from scorecube.report.study_overview import collect_table
from scorecube.report.text_formats import render
from scorecube.storage import Study
from scorecube.testing import simulate_rankings
from scorecube.workflow import api

METRICS = ("AP", "Q", "P+", "P-measure", "O", "NWRR", "RR", "nDCG@10", "nERR@10")
GAINS = ("3:2:1", "1:1:1", "10:5:1")
SEED = 2007
TRIALS = 1000
ANALYSES: tuple[Analysis, ...] = (
    Swap(sampling="disjoint"),
    Swap(sampling="replacement"),
    Bootstrap(),
)


def run_demo(out: Path) -> str:
    """Simulate four collections, run the swap method and the bootstrap test on them, write a report.

    The numbers of relevant documents per topic are those of S1 Tables 7-9; the 30 runs of 10 teams in each are
    simulated (see `scorecube.testing`), so the results resemble the paper's but do not equal them. Stored results are not
    computed again.

    Parameters
    ----------
    out
        Folder for ``study.zarr`` and ``report.html``.

    Returns
    -------
    text
        The sensitivity table and the path of the page.
    """
    study = api.open_study(out / "study.zarr", mode="a")
    page = out / "report.html"
    with drawing_processes(early=not page.exists()) as ordered_map:
        _compute(study)
        with track_progress("drawing", "results") as progress:
            write_page(study, page, progress=progress, ordered_map=ordered_map)
    frame = collect_table(study, "swap", "sensitivity")
    shown = frame[(frame["confidence"] == 0.95) & (frame["gain"] == GAINS[0])]
    columns = [
        "collection",
        "metric",
        "required_difference",
        "max_performance",
        "relative_difference",
        "share",
    ]
    return (
        f"Swap method, samples of all topics with replacement, {TRIALS:,} trials, gains {GAINS[0]}, simulated runs:\n"
        "required difference at 95% confidence, and the share of comparisons that reach it\n\n"
        f"{render(shown[columns].reset_index(drop=True), 'text')}\n\nThe report with all figures and tables: {page}"
    )


def _compute(study: Study) -> None:
    """Simulate the collections and run the analyses, what is not stored of both."""
    collections = ntcir_clir()
    with (
        announced_compilation("evaluate", COMPILE_SECONDS),
        track_progress("simulating", "collections") as progress,
    ):
        for k, (name, (topics, judged)) in enumerate(collections.items()):
            if name not in study:
                notify(f"simulating {name}: {len(topics)} topics, 30 runs of 10 teams")
                rankings = simulate_rankings(judged, topics=topics, seed=SEED + k)
                api.evaluate_into(study, name, rankings, METRICS, GAINS)
            progress(k + 1, len(collections))
    for analysis in ANALYSES:
        tasks = api.plan_in_study(study, analysis, trials=TRIALS, seed=SEED)
        with (
            announced_compilation(analysis.name, analysis.compile_seconds),
            track_progress(analysis.name, "collections") as progress,
        ):
            for k, task in enumerate(tasks):
                if not task.is_stored():
                    task.run(Executor(workers=default_workers()))
                progress(k + 1, len(tasks))
