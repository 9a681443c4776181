"""Sweeps: many analyses of many collections of a study.

Each task stores its own results (`sweep_run.py`), so that a sweep is resumed by running it again,
and its parts may run at once on several machines.
"""

from __future__ import annotations

import logging
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Literal

import xarray as xr

from scorecube.analyses.protocol import Analysis
from scorecube.collection.arguments import CubeLike, CubesLike, as_cube, cubes_of
from scorecube.errors import BadPlan, counted, in_python, option
from scorecube.execute.executor import executor_for
from scorecube.storage import Study, exists, open_study
from scorecube.storage.pack import PackedResult, Wanted
from scorecube.workflow.packs import Folder, gathered
from scorecube.workflow.sweep_file import Entry, Make, Source
from scorecube.workflow.sweep_run import EntryResult, SweepTask, grouped, run_sweep, stored_for

if TYPE_CHECKING:
    from distributed import Client

LOGGER = logging.getLogger("scorecube")


def sweep(
    entries: Iterable[Entry | Analysis],
    collections: CubesLike | Mapping[str, CubeLike | Make] | Study | str | os.PathLike[str],
    *,
    client: Client | Literal[False] | None = None,
    study: Study | str | os.PathLike[str] | None = None,
    version: str = "",
    workers: int | None = None,
) -> xr.Dataset | xr.DataTree:
    """Run many analyses of many collections.

    Parameters
    ----------
    entries
        Analyses, to run with their usual trials, or entries with settings, e.g.
        ``sc.Entry(sc.Swap(size=25), trials=10_000)``.
    collections
        Cubes by name, or functions that return one, which workers call; an `xarray.DataTree` of
        cubes, a cube with a dim ``collection``; or a study opened for writing, or its path, which
        keeps the results.
    client
        A `distributed.Client`, whose workers compute whole collections; they need not see the
        study. None takes the current one of dask, and says so, or else local threads, and
        processes where these take long: then a script needs ``if __name__ == "__main__":``; False
        takes these.
    study
        Study, or its path, that cubes and results are stored in; by default nothing is kept.
    version
        Of what functions make: a stored collection is made again only where that differs.
    workers
        Local threads or processes, by default one per core.

    Returns
    -------
    results
        Along a dim ``collection``, as of `analyse`; of several entries an `xarray.DataTree` of such
        datasets, ``results["swap"]``: of several with one analysis, the second is ``swap-2``. What
        is impossible for a collection is left out with a logged warning.

    Raises
    ------
    BadPlan
        No entries, or entries that are impossible for all collections.
    SweepFailed
        Analyses that failed; the others are in its attribute ``results``, and in the study.

    See Also
    --------
    analyse : One analysis, in memory.
    table : Rows of several collections: ``table(tree.match("*/swap"))``.

    Examples
    --------
    >>> import scorecube as sc
    >>> from scorecube.testing import simulate_cube
    >>> cubes = {"one": simulate_cube(n_runs=5, seed=1), "two": simulate_cube(n_runs=4, seed=2)}
    >>> tree = sc.sweep([sc.Entry(sc.Swap(), trials=50), sc.Entry(sc.Tukey(), trials=50)], cubes)
    >>> tree["tukey"].sizes["collection"], tree["swap"].attrs["trials"]
    (2, 50)
    """
    chosen = [entry if isinstance(entry, Entry) else Entry(entry) for entry in entries]
    folder = None
    sources: dict[str, Source] = {}
    if isinstance(collections, Study | str | os.PathLike):
        study = collections
    else:
        sources = sources_of(collections)
    if study is None:
        folder = Folder()
        study = folder.path
    opened = study if isinstance(study, Study) else open_study(study, mode="a")
    sources = sources or dict.fromkeys(opened)
    executor = executor_for(client, workers)
    outcome = run_sweep(opened, tasks_of(chosen, sources, version=version), executor)
    impossible = grouped(outcome.left_out)
    for line in impossible:
        LOGGER.warning("left out: %s", in_python(line))
    if not (outcome.stored or outcome.failed):
        raise BadPlan("; ".join(impossible) or "expected at least one entry, of a collection")
    wanted = _wanted(opened, chosen, outcome.stored)
    found = gathered(opened, wanted, executor, folder)
    is_one = len(chosen) == 1 and len(found) == 1
    results = next(iter(found.values())) if is_one else xr.DataTree.from_dict(found)
    if outcome.failed:
        failure = outcome.failure(len(sources))
        failure.results = results
        raise failure
    return results


def sources_of(collections: CubesLike | Mapping[str, CubeLike | Make]) -> dict[str, Source]:
    """Return cubes, and functions that make one, by name; a single cube is called ``cube``."""
    if isinstance(collections, xr.Dataset | xr.DataArray | xr.DataTree):
        return {name or "cube": cube for name, cube in cubes_of(collections).items()}
    return {str(k): of if callable(of) else as_cube(of) for k, of in collections.items()}


def _wanted(study: Study, entries: Sequence[Entry], found: Iterable[EntryResult]) -> list[Wanted]:
    """Return the results of each entry: of several with one analysis, the second is ``swap-2``."""
    names = [entry.analysis.name for entry in entries]
    of_entry = defaultdict[int, list[PackedResult]](list)
    for place, collection, digest, _ in sorted(found):
        stored = study[collection].latest(names[place], digest)
        of_entry[place].append(PackedResult(collection, stored))
    wanted = list[Wanted]()
    for place, results in of_entry.items():
        count = names[: place + 1].count(names[place])
        label = names[place] if count == 1 else f"{names[place]}-{count}"
        wanted.append(Wanted(label, tuple(results)))
    return wanted


def tasks_of(
    entries: Sequence[Entry],
    sources: Mapping[str, Source],
    part: str | None = None,
    *,
    replace: bool = False,
    version: str = "",
) -> list[SweepTask]:
    """Return the tasks of single collections, and behind them those that compare several.

    sources: Of all collections by name; None for those that are in the study.
    part: Share of the collections, such as ``3/100``, which leaves out what compares several.
    replace: Whether scores whose source has changed replace those that are stored.
    """
    single = dict[int, Entry]()
    several = list[SweepTask]()
    for place, entry in enumerate(entries):
        if entry.analysis.joins and len(sources) > 1:
            several.append(SweepTask(tuple(sources), {place: entry}))
        else:
            single[place] = entry
    shared = list(sources) if part is None else share(sources, part)
    tasks = [SweepTask((name,), single, sources[name], replace, version) for name in shared]
    return tasks if part else tasks + several


def share(collections: Iterable[str], part: str) -> list[str]:
    """Return every N-th of sorted names from the K-th on, for a part ``K/N``."""
    numbers = re.fullmatch(r"([1-9][0-9]*)/([1-9][0-9]*)", part, re.ASCII)
    if numbers is None or int(numbers[1]) > int(numbers[2]):
        raise BadPlan(
            f"{option('part', part)}: expected K/N such as 3/100, with K from 1 to N", option="part"
        )
    return sorted(collections)[int(numbers[1]) - 1 :: int(numbers[2])]


def status_of(path: str, tasks: Sequence[SweepTask]) -> str:
    """Return how many collections and results of tasks are in the study at a path."""
    swept = {*chain.from_iterable(task.collections for task in tasks)}
    wanted = sum(len(task.entries) for task in tasks)
    there = set[str]()
    results = 0
    if exists(path):
        study = open_study(path)
        there = swept.intersection(study)
        for task in tasks:
            if there.issuperset(task.collections):
                found = (stored_for(study, task.collections, one) for one in task.entries.values())
                results += sum(bool(digest) for _, digest in found)
    read = f"{len(there):,} of {counted(len(swept), 'collection')} read"
    return f"{read}, {results:,} of {counted(wanted, 'result')} stored"
