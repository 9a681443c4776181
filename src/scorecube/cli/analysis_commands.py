"""Commands of the analyses, made from the options that their records declare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from typer import Context

from scorecube.analyses.shared_options import SELECTION, SHARED
from scorecube.cli.options import (
    As,
    StudyPath,
    Top,
    keyword,
    with_options,
    with_parameters,
    with_preset,
)
from scorecube.cli.terminal import echo_results, notify, print_notes, span, track_progress
from scorecube.declare.options import options_of
from scorecube.errors import ScorecubeError, StoreFailed, counted, default_flag, in_python
from scorecube.methods import index

if TYPE_CHECKING:
    import xarray as xr

    from scorecube.analyses.protocol import Analysis
    from scorecube.execute.executor import Executor
    from scorecube.workflow.tasks import Task

TRIALS = "trials"
PRESET = "preset"


def analysis_command(name: str) -> Callable[..., None]:
    """Return the function of an analysis command, with a signature of declared options."""
    kind = index.load(name)
    options = {key: option for key, option in options_of(kind).items() if option.help}
    shared = {key: option for key, option in SHARED.items() if kind.resamples or key != TRIALS}
    if kind.resamples:
        shared[TRIALS] = replace(shared[TRIALS], default=kind.default_trials)
    if any("--topics" in option.flags for option in options.values()):  # numbers of topics
        shared["topics"] = replace(shared["topics"], flag="--only-topics")

    def command(context: Context, study: StudyPath, top: Top = None, **values: Any) -> None:
        preset = values.pop(PRESET, None)
        values = with_preset(context, preset, name, values)
        chosen = {key: values.pop(key) for key in options}
        run_analysis(kind(**chosen), study, {TRIALS: None, PRESET: preset} | values, top)

    summary = next(entry.summary for entry in index.entries() if entry.name == name)
    examples = [f"Example: scorecube {name} study {example}" for example in kind.examples]
    command.__doc__ = "\n\n".join([summary, *examples])
    if kind.presets:
        with_parameters(command, command, keyword(PRESET, As, None))
    return with_options(options | shared, hidden=kind.unused_options())(command)


def run_analysis(
    analysis: Analysis, study: str, values: Mapping[str, Any], top: int | None
) -> None:
    """Plan an analysis of the chosen collections, run and store it, and print the answers.

    analysis: Record with its options.
    study: Path or address.
    values: Values of the shared options by name.
    top: Rows to show.
    """
    from scorecube.execute.clusters import open_executor
    from scorecube.execute.executor import default_workers
    from scorecube.storage import exists, open_study
    from scorecube.workflow.tasks import plan_in_study

    read_only = values["dry_run"] or not exists(study)
    tasks = plan_in_study(
        open_study(study, mode="r" if read_only else "a"),
        analysis,
        collections=values["collection"],
        **{key: values[key] for key in (*SELECTION, TRIALS, "seed", PRESET)},
    )
    for key in analysis.unused:
        if values[key] != SHARED[key].default:
            notify(f"note: {analysis.name} makes no use of {default_flag(key)}")
    pending = [task for task in tasks if values["dry_run"] or not task.is_stored()]
    print_notes({subject(task): task.plan.warnings for task in pending})
    if values["dry_run"]:
        for task in pending:
            notify(f"{subject(task)}: {predicted(task, values['workers'] or default_workers())}")
        return
    there = ["the result is already there; nothing to do"]
    print_notes({subject(task): there for task in tasks if task not in pending})
    results: dict[str, xr.Dataset] = {}
    with ExitStack() as stack:
        executor = None
        if pending:
            where = {key: values[key] for key in ("cluster", "scheduler", "workers")}
            executor = stack.enter_context(open_executor(**where))
        for task in tasks:
            name = subject(task)
            if task in pending and executor is not None:
                results[name] = run_task(task, executor)
            else:
                results[name] = task.stored()
                try:
                    task.make_latest(results[name])  # what was asked for last is shown
                except StoreFailed:
                    notify(f"{name}: note: show and report take another result, as none is written")
    said = set[str]()
    for task in pending:
        said.update(map(in_python, task.plan.warnings))
    notes = {}
    for name, result in results.items():
        notes[name] = [line for line in result.attrs.get("notes", []) if line not in said]
    print_notes(notes)
    echo_results(list(results.values()), study, top)
    if len(results) > 1:
        run_joined(analysis, study, values, top, len(results))


def predicted(task: Task, workers: int) -> str:
    """Return what a task will take on some cores of this machine, after a trial of it."""
    from scorecube.execute.forecast import forecast
    from scorecube.execute.run import bytes_needed
    from scorecube.storage.bounds import memory_limits

    plan = task.plan
    if task.is_stored():
        return "the result is there"
    needed = bytes_needed(plan, workers)
    there = min(memory_limits())
    memory = f"about {needed / 1e9:,.2g} GB of memory"
    trials = f"{counted(plan.trials, 'trial')}, " if plan.analysis.resamples else ""
    if needed > there:
        return f"{trials}{memory}, more than the {there / 1e9:,.2g} GB here: refused"
    of = forecast(plan, units_left=plan.n_units - task.recorded(), workers=workers)
    seconds = span(*of.limits)
    files = f"{counted(of.n_blocks, 'block')}, {counted(of.n_files, 'file')} in the end"
    timed = f" ({counted(of.timed, 'trial')} timed)" if of.timed else ""
    return f"{trials}{seconds} of one core{timed}, {memory}, {files}"


def run_joined(
    analysis: Analysis, study: str, values: Mapping[str, Any], top: int | None, n_results: int
) -> None:
    """Print one result of all collections, where a method makes one; of two say which.

    n_results: Number of collections.
    """
    from scorecube.report.views import view_of

    name = view_of(analysis.name).joined_by
    if not name:
        return
    if n_results == 2:
        notify(f"one ranking of both: scorecube {name} {study}")
        return
    joined = index.load(name)(**analysis.options())
    try:
        run_analysis(joined, study, values, top)
    except ScorecubeError as error:
        notify(f"note: no {name} of all: {error.message()}")


def subject(task: Task) -> str:
    """Return what messages of a task are about: its collection, or an analysis of all."""
    analysis = task.plan.analysis
    return analysis.name if analysis.joins else task.collection.name


def run_task(task: Task, executor: Executor) -> xr.Dataset:
    """Run one task with progress and return its result."""
    name = subject(task)
    unit = task.plan.analysis.unit
    if recorded := task.recorded():
        notify(f"{name}: {recorded:,} of {task.plan.n_units:,} {unit} are recorded already")
    with track_progress(f"{name}: {task.plan.analysis.name}", unit) as progress:
        return task.run(executor, progress=progress)
