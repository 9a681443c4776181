"""Run an analysis command: plan, print the estimate, run, print the headline of the result."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from scorecube.analyses.base import ALL_COLLECTIONS, Analysis
from scorecube.analyses.shared_options import SELECTION
from scorecube.cli.terminal import echo_results, notify, track_progress
from scorecube.errors import ScorecubeError, counted
from scorecube.execute.cluster_files import ClusterSpec, choose_cluster
from scorecube.execute.clusters import open_executor
from scorecube.execute.executor import Executor
from scorecube.execute.memory import parse_memory
from scorecube.storage import exists, open_study, pairs_as_labels
from scorecube.workflow.estimates import estimate_tasks
from scorecube.workflow.tasks import Task, plan_in_study

if TYPE_CHECKING:
    import xarray as xr


def run_analysis(analysis: Analysis, values: dict[str, Any]) -> None:
    """Plan, run and store an analysis of the chosen collections.

    analysis: Record with its options.
    values: Values of the shared options by name, and `study`.
    """
    study: str = values["study"]
    memory = None if values["memory"] is None else parse_memory(values["memory"])
    cluster = choose_cluster(values["cluster"], values["scheduler"], values["workers"])
    read_only = values["dry_run"] or not exists(study)
    opened = open_study(study, mode="r" if read_only else "a")
    selection = {key: values[key] for key in SELECTION}
    tasks = plan_in_study(
        opened,
        analysis,
        collections=values["collection"],
        trials=values["trials"],
        seed=values["seed"],
        **selection,
    )
    refuse_too_large(tasks, cluster, memory, values)
    if values["dry_run"]:
        return
    results = {task.collection.name: find_stored(task) for task in tasks}
    pending = [task for task in tasks if results[task.collection.name] is None]
    common = set.intersection(*(set(task.warnings) for task in pending)) if pending[1:] else set()
    for line in dict.fromkeys(line for task in pending for line in task.warnings if line in common):
        note(f"all {counted(len(pending), 'collection')}", line)
    with ExitStack() as stack:
        executor = stack.enter_context(open_executor(cluster)) if pending else None
        for task in pending:  # without any, no cluster is started
            assert executor is not None
            limited = dataclasses.replace(executor, memory=memory or executor.memory)
            results[task.collection.name] = run_task(task, limited, common)
    found = [result for result in results.values() if result is not None]
    echo_results(found, study, values["top"])


def refuse_too_large(
    tasks: Sequence[Task], cluster: ClusterSpec, memory: int | None, values: dict[str, Any]
) -> None:
    """Estimate all tasks that will run before any work; a dry run prints the estimates.

    Raises BadPlan: A task needs more memory than is allowed.
    """
    chosen = [task for task in tasks if values["dry_run"] or not task.is_stored()]
    count = cluster.threads
    estimates = estimate_tasks(
        chosen, count, memory or cluster.total_memory(), cluster.program_bytes()
    )
    if values["dry_run"]:
        for task, estimate in zip(chosen, estimates, strict=True):
            note_warnings(task)
            notify(f"{subject(task)}: {estimate.text(count)}")


def note(name: str, line: str) -> None:
    """Print a note about a collection."""
    notify(f"{name}: note: {ScorecubeError(line).message()}")


def subject(task: Task) -> str:
    """Return what messages of a task are about: its collection, or the analysis where it joins all."""
    joins = task.plan.analysis.n_collections == ALL_COLLECTIONS
    return task.plan.analysis.name if joins else task.collection.name


def note_warnings(task: Task, said: Collection[str] = ()) -> None:
    """Print what the check of the options found, without what was said of all collections."""
    for warning in task.warnings:
        if warning not in said:
            note(subject(task), warning)


def find_stored(task: Task) -> xr.Dataset | None:
    """Return the result of a task and say so, if it is stored."""
    result, name = task.stored(), subject(task)
    if result is not None:
        notify(f"{name}: the result is already there (plan {task.plan.digest}); nothing to do")
        note_findings(name, result)
        return pairs_as_labels(result)
    return None


def note_findings(name: str, result: xr.Dataset) -> None:
    """Print the notes of a result of a collection."""
    for line in result.attrs.get("notes", []):
        note(name, line)


def run_task(task: Task, executor: Executor, said: Collection[str] = ()) -> xr.Dataset:
    """Run one task with progress, and return its result; `said` are warnings that were printed."""
    plan, name = task.plan, subject(task)
    note_warnings(task, said)
    (estimate,) = estimate_tasks([task], executor.workers, executor.memory, executor.program)
    if recorded := task.recorded():
        notify(
            f"{name}: {recorded:,} {plan.analysis.unit} are recorded already; {task.prepared.n_units - recorded:,} to go"
        )
    unit = None if estimate.result_units else plan.analysis.unit
    with track_progress(f"{name}: {plan.analysis.name}", unit) as progress:
        result = task.run(executor, progress=progress)
    note_findings(name, result)
    return result
