"""Sweeps from Python: many analyses of many collections, and their results as a tree."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import xarray as xr

from scorecube.analyses.protocol import Analysis
from scorecube.analyses.units import cubes_of
from scorecube.errors import BadPlan, kind_of, option
from scorecube.execute.executor import Executor, Progress, default_workers
from scorecube.storage import Study, open_study
from scorecube.workflow.sweep_file import Entry
from scorecube.workflow.sweep_tasks import LOGGER, Stored, run_sweep, tasks_of

if TYPE_CHECKING:
    from distributed import Client


def sweep(
    entries: Iterable[Entry | Analysis],
    collections: Any,
    *,
    client: Client | None = None,
    study: Study | str | os.PathLike[str] | None = None,
    workers: int | None = None,
    memory: int | None = None,
    progress: Progress | None = None,
) -> xr.DataTree:
    """Run many analyses of many collections.

    Parameters
    ----------
    entries
        Analyses, to run on all collections with their usual trials, or entries with settings, e.g.
        ``sc.Entry(sc.Swap(size=25), trials=10_000, collections=("trec*",))``.
    collections
        Cubes by name, an `xarray.DataTree` of them, a cube with a dim ``collection``; or a study
        opened for writing, or its path, which keeps the results.
    client
        A `distributed.Client`; None uses local threads, and processes where these take long: then
        a script needs ``if __name__ == "__main__":``.
    study
        Study, or its path, that cubes and results are stored in; by default nothing is kept.
    workers
        Local threads or processes, by default one per core.
    memory
        Limit in bytes of the memory of all work; by default four fifths of the machine's memory.
    progress
        Called with numbers of collections: (done, total).

    Returns
    -------
    results
        ``results["collection/analysis"]``; of several entries with one analysis, the second is
        ``analysis-2``. What is impossible for a collection is left out with a logged warning.

    Raises
    ------
    BadPlan
        No entries, or entries that are impossible for all collections.
    SweepFailed
        Analyses that failed; the results of others are in the study.

    Examples
    --------
    >>> import scorecube as sc
    >>> from scorecube.testing import simulate_cube
    >>> cubes = {"one": simulate_cube(n_runs=5, seed=1), "two": simulate_cube(n_runs=4, seed=2)}
    >>> tree = sc.sweep([sc.Entry(sc.Swap(), trials=50), sc.Entry(sc.Tukey(), trials=50)], cubes)
    >>> tree["two/swap"].attrs["trials"]
    50
    """
    if isinstance(entries, Entry | Analysis | str):
        raise BadPlan(f"{option('entries')}: expected a list; found {kind_of(entries)}")
    chosen = [entry if isinstance(entry, Entry) else Entry(entry) for entry in entries]
    if not chosen:
        raise BadPlan("a sweep needs at least one entry: found none")
    executor = Executor(client, workers or default_workers(), memory)
    with ExitStack() as stack:
        if isinstance(collections, Study | str | os.PathLike):
            study, cubes = collections, {}
        else:
            cubes = {name or "cube": cube for name, cube in cubes_of(collections).items()}
        keep = study is not None
        if study is None:
            study = stack.enter_context(tempfile.TemporaryDirectory(prefix="scorecube-"))
        opened = study if isinstance(study, Study) else open_study(study, mode="a")
        for name, cube in cubes.items():
            opened.add(name, cube=cube)
        sources = dict.fromkeys(cubes or opened)
        outcome = run_sweep(opened, tasks_of(chosen, sources), executor, progress=progress)
        for name, subject, text in outcome.left_out:
            LOGGER.warning("%s: %s left out: %s", name, subject, text)
        outcome.refuse_failures(len(sources))
        if not outcome.stored:
            raise BadPlan(
                "; ".join(f"{name}: {subject}: {text}" for name, subject, text in outcome.left_out)
            )
        tree = results_tree(opened, chosen, outcome.stored)
        return tree if keep else tree.load()


def results_tree(study: Study, entries: Sequence[Entry], stored: Iterable[Stored]) -> xr.DataTree:
    """Return results as a tree ``collection/analysis``, whose values are read on use."""
    labels = list[str]()
    for entry in entries:
        name = entry.analysis.name
        count = sum(label == name or label.startswith(f"{name}-") for label in labels)
        labels.append(f"{name}-{count + 1}" if count else name)
    results = {
        f"/{collection}/{labels[place]}": study[collection].open_result(
            entries[place].analysis.name, digest
        )
        for place, collection, digest, _ in sorted(stored)
    }
    return xr.DataTree.from_dict(results)
