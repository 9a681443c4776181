"""What the analysis commands do: plan, say what will be done, run, say what came out."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from scorecube import api
from scorecube.analyses import Analysis
from scorecube.api import Task
from scorecube.console import say, split, tracking
from scorecube.errors import BadPlan
from scorecube.execute.clients import open_client, read_profile
from scorecube.execute.estimate import default_workers
from scorecube.execute.memory import parse_memory
from scorecube.report.reading import headline
from scorecube.storage.samples import read_samples, write_samples


def run_analysis(analysis: Analysis, given: dict[str, Any]) -> None:
    """Plan, run and store an analysis of the chosen collections.

    Parameters
    ----------
    analysis
        With its own options.
    given
        The options that all analyses take, by name; lists are still comma-separated texts.
    """
    study: str = given["study"]

    memory = None if given["memory"] is None else parse_memory(given["memory"])
    profile = None if given["cluster"] is None else read_profile(given["cluster"])
    count = given["workers"] or (profile or {}).get("workers") or default_workers()
    reading_only = given["dry_run"] or given["out"] or not Path(study).exists()
    opened = api.open_study(study, mode="r" if reading_only else "a")
    samples = None if given["replay"] is None else read_samples(given["replay"])
    tasks = api.plan_in_study(
        opened, analysis, collections=split(given["collection"]), trials=given["trials"], seed=given["seed"], samples=samples,
        **{key: split(given[key]) for key in ("metrics", "gains", "runs", "topics")},
        **{key: given[key] for key in ("top_runs", "by", "drop_missing")},
    )  # fmt: skip
    if given["save_samples"] is not None and len(tasks) > 1:
        raise BadPlan("--save-samples writes the samples of one collection; name it with --collection")
    if given["dry_run"]:
        for task in tasks:
            say(f"{task.collection.name}: {task.estimate(count, memory).text(count)}")
        return
    if given["out"]:
        tasks = [copied(task, given["out"]) for task in tasks]
    if given["save_samples"] is not None:
        drawn = samples if samples is not None else analysis.samples(tasks[0].cube, tasks[0].plan.seed, given["trials"])
        write_samples(drawn, given["save_samples"])
        say(f"samples written to {given['save_samples']}")
    open_tasks = [task for task in tasks if not already(task)]
    with ExitStack() as stack:
        # A cluster is started only if there is something to compute.
        client = stack.enter_context(open_client(profile, given["scheduler"], count)) if open_tasks else None
        for task in open_tasks:
            run_task(task, client=client, workers=count, block_units=given["block_units"], memory=memory)


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


def run_task(task: Task, **how: Any) -> None:
    """Run one task with progress, and say what came out."""
    plan, name = task.plan, task.collection.name
    for warning in task.warnings:
        say(f"{name}: note: {warning}")
    seed = "" if not plan.analysis.resamples else ", replayed samples" if plan.samples_digest else f", seed {plan.seed}"
    say(f"{name}: {plan.analysis.name}{seed}: {task.estimate(how['workers'], how['memory']).text(how['workers'])}")
    if recorded := task.recorded():
        say(
            f"{name}: {recorded:,} {plan.analysis.unit} are recorded already; {plan.analysis.units(task.cube, plan.trials) - recorded:,} to go"
        )
    with tracking(f"{name}: {plan.analysis.name}", plan.analysis.unit) as progress:
        result = task.run(progress=progress, **how)
    for line in headline(result):
        say(f"{name}: {line}")
