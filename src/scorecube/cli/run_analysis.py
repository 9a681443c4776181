"""What the analysis commands do: plan, say what will be done, run, say what came out."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scorecube.analyses.base import Analysis
from scorecube.analyses.monte_carlo_error import monte_carlo_width
from scorecube.analyses.shared_options import SELECTION
from scorecube.cli.terminal import say, tracking
from scorecube.errors import BadPlan
from scorecube.execute.clusters import choose_profile, open_executor
from scorecube.execute.executor import Executor
from scorecube.execute.memory import parse_memory
from scorecube.report.results import headline
from scorecube.storage import exists
from scorecube.storage.samples import read_samples, write_samples
from scorecube.workflow import api
from scorecube.workflow.tasks import Task, Until


def run_analysis(analysis: Analysis, given: dict[str, Any]) -> None:
    """Plan, run and store an analysis of the chosen collections.

    Parameters
    ----------
    analysis
        With its own options.
    given
        Values of the options that all analyses take, by name, and `study`.
    """
    study: str = given["study"]

    memory = None if given["memory"] is None else parse_memory(given["memory"])
    profile = choose_profile(given["cluster"], given["scheduler"], given["workers"])
    reading_only = given["dry_run"] or given["out"] or not exists(study)
    opened = api.open_study(study, mode="r" if reading_only else "a")
    samples = None if given["replay"] is None else read_samples(given["replay"])
    selection = {key: given[key] for key in SELECTION}
    tasks = api.plan_in_study(
        opened, analysis, collections=given["collection"], trials=given["trials"], seed=given["seed"], samples=samples,
        **selection,
    )  # fmt: skip
    if given["save_samples"] is not None and len(tasks) > 1:
        raise BadPlan("--save-samples writes the samples of one collection; name it with --collection")
    if given["dry_run"]:
        count, total = profile.threads, memory or profile.total_memory()
        for task in tasks:
            say(f"{task.collection.name}: {task.estimate(count, total).text(count)}")
        return
    if given["out"]:
        tasks = [copied(task, given["out"]) for task in tasks]
    if given["save_samples"] is not None:
        drawn = samples if samples is not None else analysis.samples(tasks[0].cube, tasks[0].plan.seed, given["trials"])
        write_samples(drawn, given["save_samples"])
        say(f"samples written to {given['save_samples']}")
    if given["until_width"] is not None:
        until = Until(given["until_width"], given["most_trials"])
        tasks = [dataclasses.replace(task, until=until) for task in tasks]
    open_tasks = [task for task in tasks if not already(task)]
    if not open_tasks:  # then no cluster is started
        return
    with open_executor(profile) as executor:
        for task in open_tasks:
            run_task(task, dataclasses.replace(executor, memory=memory or executor.memory), given["block_units"])


def evaluate_two_sets(
    study: str, labels: Sequence[str], runs: Sequence[str], qrels: Sequence[Path], metrics: Sequence[str], gains: Sequence[str],
    *, run_name: str, workers: int | None,
) -> None:  # fmt: skip
    """Evaluate the same runs with two files of judgements into two collections.

    Parameters
    ----------
    labels
        Names of both collections.
    runs, qrels
        Run files, and both files of judgements.
    metrics, gains, run_name, workers
        As of the command evaluate.
    """
    if len(labels) != len(qrels) or len(set(labels)) != len(labels):
        raise BadPlan(
            f"two collections are made of two files of judgements, called {', '.join(labels)}: name both with --collections A,B"
        )
    opened = api.open_study(study, mode="a")
    for label in labels:
        api.check_names(label, metrics)
    for label, path in zip(labels, qrels, strict=True):
        with tracking(f"{label}: reading runs", "files") as progress:
            rankings = api.read_rankings(runs, path, run_name=run_name, workers=workers, progress=progress)
        cube = api.evaluate_into(opened, label, rankings, metrics, gains)
        say(f"{study}: {label}: {cube.sizes['run']} runs x {cube.sizes['topic']} topics, judged by {path}")


def already(task: Task) -> bool:
    """Say so if a task's result is there."""
    if not task.is_stored():
        return False
    say(f"{task.collection.name}: the result is already there (plan {task.plan.digest}); nothing to do")
    return True


def copied(task: Task, out: str) -> Task:
    """Return a task that stores into another study, which gets a copy of the scores."""
    target = api.open_study(out, mode="a")
    name = task.collection.name
    if name not in target:
        target.add(name, cube=task.collection.cube)
    return dataclasses.replace(task, collection=target[name])


def run_task(task: Task, executor: Executor, block_units: int | None) -> None:
    """Run one task with progress, and say what came out."""
    plan, name = task.plan, task.collection.name
    for warning in task.warnings:
        say(f"{name}: note: {warning}")
    seed = "" if not plan.analysis.resamples else ", replayed samples" if plan.samples_digest else f", seed {plan.seed}"
    say(
        f"{name}: {plan.analysis.name}{seed}: {task.estimate(executor.workers, executor.memory).text(executor.workers)}"
    )
    if recorded := task.recorded():
        say(
            f"{name}: {recorded:,} {plan.analysis.unit} are recorded already; {task.prepared.n_units - recorded:,} to go"
        )
    with tracking(f"{name}: {plan.analysis.name}", plan.analysis.unit) as progress:
        result = task.run(executor, block_units=block_units, progress=progress)
    if task.until is not None:
        width, wanted = monte_carlo_width(result), task.until.width
        told = "reached" if width <= wanted else f"NOT reached with --most-trials {task.until.most_trials}"
        say(
            f"{name}: {result.attrs['trials']:,} trials: the widest Monte Carlo interval is {width:.4f}, {wanted:g} is {told}"
        )
    for line in headline(result):
        say(f"{name}: {line}")
