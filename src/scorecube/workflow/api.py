"""Functions for programs; `import scorecube` re-exports them and the command line calls them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.calculation import Calculation, calculate
from scorecube.analyses.joined import BY_COLLECTION, join
from scorecube.analyses.plan import check_analysis, make_plan
from scorecube.analyses.protocol import Analysis
from scorecube.analyses.shared_options import SHARED
from scorecube.analyses.topic_units import units_of
from scorecube.collection.arguments import CubeLike, CubesLike, as_cube, cubes_of
from scorecube.collection.evaluation import evaluate
from scorecube.collection.schema import MAX_LOADED_BYTES
from scorecube.collection.selection import select
from scorecube.declare import Preset
from scorecube.errors import BadPlan, in_python, option
from scorecube.execute.executor import (
    Executor,
    Progress,
    TooLong,
    executor_for,
    on_worker,
    run_items,
)
from scorecube.execute.run import check_reading, run
from scorecube.ingest.objects import cube_from_scores
from scorecube.methods import index
from scorecube.metrics import DEFINITIONS
from scorecube.storage import open_study
from scorecube.workflow.inputs import import_scores, read_rankings
from scorecube.workflow.presets import preset_of, selection_of
from scorecube.workflow.tasks import ADAPTED, PRESET, plan_in_study

if TYPE_CHECKING:
    from distributed import Client

LOGGER = logging.getLogger("scorecube")


def analyse(
    cube: CubesLike,
    analysis: Analysis | Calculation | None = None,
    *,
    preset: str | None = None,
    trials: int | None = None,
    seed: int = 1,
    client: Client | Literal[False] | None = None,
    workers: int | None = None,
    block_units: int | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Run an analysis of a cube, or of several, without a study.

    Parameters
    ----------
    cube
        ``score[metric, gain, run, topic]``, e.g. from `evaluate` or `cube_from_scores`; may be
        dask-backed. Or several by name: a dictionary, an `xarray.DataTree`, a cube with a dim
        ``collection``. Of `Judges` a dictionary by set of judgements, the truth first; those that
        hold their rankings (`with_rankings`) have labels to compare.
    analysis
        E.g. ``Swap(sampling="replacement", size=50)``; or a calculation, such as ``Design()``,
        which has no trials.
    preset
        Instead, an analysis as in a paper, with its trials and gain settings: ``sakai-2005 swap``.
        The result names it.
    trials, seed
        Number of resampling trials, by default 10,000 of tests, leaderboards and boards, 10 of
        teams, 1,000 of others; 0 .. 2**64 - 1.
    client, workers
        A `distributed.Client`. None takes the current one of dask, and says so, or else local
        threads, by default one per core; False takes these.
    block_units
        Trials, or pairs of runs, per block; does not change the result.
    progress
        Called with (trials done, trials in total); on a client with (collections done, of all).

    Returns
    -------
    result
        Variables of the analysis over its dims; the attributes hold the provenance: plan, digests,
        versions, times. Of several cubes along a dim ``collection``: labels that differ are joined
        with gaps, up to 10,000; variables with more are left out, and named in ``by_collection``.

    Raises
    ------
    BadPlan
        Options that are invalid or impossible for the cube.

    See Also
    --------
    sweep : Many analyses of many collections.
    table, figure, report : Show a result.
    samples : What the trials drew.

    Examples
    --------
    >>> from scorecube import Swap
    >>> from scorecube.testing import simulate_cube
    >>> result = analyse(simulate_cube(n_runs=6, seed=3), Swap(size=20), trials=100, seed=1)
    >>> result.attrs["analysis"], result.attrs["trials"]
    ('swap', 100)
    """
    of_paper: Preset | None = None
    if preset is not None:
        of_paper, analysis, trials = _as_in_paper(analysis, preset, trials)
    if isinstance(analysis, Calculation):
        return _calculated(cube, analysis)
    analysis = check_analysis(analysis)
    executor = executor_for(client, SHARED["workers"].checked(workers))

    cubes = cubes_of(cube)
    if list(cubes) != [""] and analysis.joins:
        analysis, groups = analysis.grouped(list(cubes))
        if len(groups) == 1:
            cubes = {"": analysis.join({name: cubes[name] for name in groups[0]}, {}, {})}

    def analysed(
        one: CubeLike,
        executor: Executor,
        progress: Progress | None = None,
        notify: Callable[[str], None] = LOGGER.warning,
    ) -> xr.Dataset:
        chosen = as_cube(one)
        if chosen.nbytes <= MAX_LOADED_BYTES:
            chosen = chosen.compute()
        check_reading(chosen, executor)
        said = list[str]()
        record = analysis
        if of_paper is not None:
            part, said = selection_of(of_paper, chosen, {})
            chosen = select(chosen, **part)
            record, remarks = record.fitted(of_paper, chosen.sizes[names.TOPIC])
            said += remarks
        plan = make_plan(chosen, record, trials=trials, seed=seed, said=said)
        for warning in plan.warnings:
            notify(in_python(warning))
        result = run(plan, executor, block_units=block_units, progress=progress)
        if preset is None:
            return result
        return result.assign_attrs({PRESET: preset.split()[0], ADAPTED: said})

    if list(cubes) == [""]:
        return analysed(cubes[""], executor, progress)
    if executor.client is not None:
        return _joined(_side_by_side(analysed, cubes, executor, progress))
    return _joined({k: analysed(one, executor, progress) for k, one in cubes.items()})


def _side_by_side(
    analysed: Callable[..., xr.Dataset],
    cubes: Mapping[str, xr.Dataset],
    executor: Executor,
    progress: Progress | None,
) -> dict[str, xr.Dataset]:
    """Return results by name: cubes are tasks of a client, the largest first; long ones blocks."""
    ordered = sorted(cubes, key=lambda name: -cubes[name].nbytes)
    results = dict[str, xr.Dataset]()

    def take(position: int, result: xr.Dataset | None) -> None:
        if result is not None:
            for line in result.attrs["warnings"]:
                LOGGER.warning(line)
            results[ordered[position]] = result
            if progress is not None:
                progress(len(results), len(cubes))

    labels = iter(ordered)
    sent = [cubes[name] for name in ordered]
    named: dict[str, Any] = {"name": "analyse", "label": lambda _: next(labels)}
    run_items(executor.client, partial(_there, analysed), sent, take, **named)
    for position, name in enumerate(ordered):
        if name not in results:
            take(position, analysed(cubes[name], executor, notify=LOGGER.debug))
    return {name: results[name] for name in cubes}


def _there(analysed: Callable[..., xr.Dataset], one: xr.Dataset) -> xr.Dataset | None:
    """Return the result of a cube, computed by one worker; None for what all share."""
    try:
        return analysed(one, on_worker(), notify=LOGGER.debug)
    except (MemoryError, TooLong):
        return None


def _joined(results: dict[str, xr.Dataset]) -> xr.Dataset:
    """Return results along a dim ``collection``, and say what is not joined."""
    joined = join(results)
    if left_out := joined.attrs.get(BY_COLLECTION):
        LOGGER.warning("not joined, analyse single cubes for them: %s", ", ".join(left_out))
    return joined


def _calculated(cube: CubesLike, record: Calculation) -> xr.Dataset:
    """Return the result of a calculation, of several cubes along a dim ``collection``."""
    cubes = {name: as_cube(one).compute() for name, one in cubes_of(cube).items()}
    if record.joins or list(cubes) == [""]:
        return calculate(record, cubes)
    return _joined({name: calculate(record, {name: one}) for name, one in cubes.items()})


def _as_in_paper(
    analysis: Analysis | Calculation | None, preset: str, trials: int | None
) -> tuple[Preset, Analysis | Calculation, int | None]:
    """Return the settings of a paper, its analysis, and its trials unless they are given."""
    paper, _, name = preset.partition(" ")
    chosen = preset_of(paper, name)
    if analysis is not None:
        text = f"{option('preset')}: expected an analysis of cubes, alone; found {preset!r}"
        raise BadPlan(text, option="preset")
    options = dict(chosen.values)
    of_paper = options.pop("trials", None)
    kind = cast("type[Analysis | Calculation]", index.find(name))
    return chosen, kind(**options), of_paper if trials is None else trials


def samples(cube: CubeLike, analysis: Analysis, *, trials: int = 1000, seed: int = 1) -> xr.Dataset:
    """Return what the trials of an analysis draw, so that its result can be checked by hand.

    Parameters
    ----------
    cube
        As of `analyse`.
    analysis
        A record such as ``Swap()``.
    trials, seed
        As of `analyse`.

    Returns
    -------
    samples
        Positions of topics, ``topic_sample[trial, half, draw]``, or signs, permutations or teams
        left out; where topics are drawn in groups or bags, `unit_of_topic` is the position of the
        one that a topic belongs to.

    Raises
    ------
    BadPlan
        Options that are impossible for the cube, or an analysis that draws nothing.

    Examples
    --------
    >>> from scorecube import Swap
    >>> from scorecube.testing import simulate_cube
    >>> dict(samples(simulate_cube(n_runs=2), Swap(size=20), trials=10)["topic_sample"].sizes)
    {'trial': 10, 'half': 2, 'draw': 20}
    """
    plan = make_plan(as_cube(cube), analysis, trials=trials, seed=seed)
    unit, _ = units_of(plan.cube, [])
    drawn = analysis.drawn(plan.table)
    return drawn.assign(unit_of_topic=(names.TOPIC, unit), topic=plan.cube[names.TOPIC])


def list_metrics() -> pd.DataFrame:
    """Return all metrics, one per row, with their parameters and sources.

    Returns
    -------
    metrics
        `name`, `cutoff` (whether ``@k`` is required, optional or not available), `uses_gains`,
        `parameters`, `user` (what the user looks for, as Sakai 2007, Figure 1, groups metrics;
        empty for others), `source`.

    Examples
    --------
    >>> list_metrics().set_index("name").loc["AP", "parameters"]
    'rel, judged_only'
    """
    return pd.DataFrame(
        {
            "name": one.name,
            "cutoff": one.cutoff,
            "uses_gains": one.uses_gains,
            "parameters": ", ".join(["rel", "judged_only", *one.parameters]),
            "user": one.user,
            "source": one.source,
        }
        for one in DEFINITIONS.values()
    )


def list_analyses() -> pd.DataFrame:
    """Return all analyses with the question each answers.

    Returns
    -------
    analyses
        One row per analysis: `name`, as on the command line, `about`, the question it answers, and
        `also`, other names that people look for.

    Examples
    --------
    >>> "swap" in list_analyses()["name"].tolist()
    True
    """
    return pd.DataFrame(
        [{"name": of.name, "about": of.summary, "also": of.also} for of in index.all_entries()]
    )


__all__ = [
    "cube_from_scores",
    "evaluate",
    "import_scores",
    "open_study",
    "plan_in_study",
    "read_rankings",
]
