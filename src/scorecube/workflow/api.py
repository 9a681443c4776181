"""Functions for programs; `import scorecube` re-exports them and the command line calls them."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, cast, overload

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.calculation import Calculation, calculate
from scorecube.analyses.joined import BY_COLLECTION, join, parts_of
from scorecube.analyses.plan import check_analysis, make_plan
from scorecube.analyses.protocol import Analysis
from scorecube.analyses.shared_options import SHARED
from scorecube.analyses.units import units_of
from scorecube.collection.arguments import (
    CubeLike,
    CubesLike,
    MetricLike,
    as_cube,
    cubes_of,
    labels,
)
from scorecube.collection.evaluation import evaluate
from scorecube.collection.selection import select
from scorecube.declare import Preset
from scorecube.errors import BadName, BadPlan, ScorecubeError, in_python, option
from scorecube.execute.executor import Progress, executor_for
from scorecube.execute.run import run
from scorecube.ingest.objects import cube_from_scores
from scorecube.methods import index
from scorecube.metrics import DEFINITIONS
from scorecube.report.formats import data_columns
from scorecube.report.results import of_metrics, select_rows
from scorecube.report.results import table as table_of
from scorecube.report.tables import averages
from scorecube.storage import open_study
from scorecube.workflow.inputs import import_scores, read_rankings
from scorecube.workflow.presets import preset_of, selection_of
from scorecube.workflow.tasks import ADAPTED, PRESET, plan_in_study

if TYPE_CHECKING:
    from distributed import Client
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOGGER = logging.getLogger("scorecube")
ResultsLike = xr.Dataset | xr.DataArray | xr.DataTree
"""A result, a cube or rankings; or those of several collections."""


class FigureOptions(TypedDict, total=False):
    """Options of `figure` beside the axes, which decide what it returns."""

    metrics: Sequence[MetricLike] | None
    by: Literal["sampling", "gain"] | None
    kind: Literal["curves", "bars"]
    top: int | None
    title: str
    size: tuple[float, float] | None


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
        Called with (trials done, trials in total).

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

    def analysed(one: CubeLike, record: Analysis) -> xr.Dataset:
        chosen = as_cube(one).compute()
        said = list[str]()
        if of_paper is not None:
            part, said = selection_of(of_paper, chosen, {})
            chosen = select(chosen, **part)
            record, remarks = record.fitted(of_paper, chosen.sizes[names.TOPIC])
            said += remarks
        plan = make_plan(chosen, record, trials=trials, seed=seed, said=said)
        for warning in plan.warnings:
            LOGGER.warning(in_python(warning))
        result = run(plan, executor, block_units=block_units, progress=progress)
        if preset is None:
            return result
        return result.assign_attrs({PRESET: preset.split()[0], ADAPTED: said})

    cubes = cubes_of(cube)
    if list(cubes) == [""]:
        return analysed(cubes[""], analysis)
    if analysis.joins:
        record, groups = analysis.grouped(list(cubes))
        if len(groups) == 1:
            one = record.join({name: cubes[name] for name in groups[0]}, {}, {})
            return analysed(one, record)
        analysis = record
    return _joined({name: analysed(one, analysis) for name, one in cubes.items()})


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


def table(
    result: ResultsLike,
    name: str | None = None,
    *,
    metrics: Sequence[MetricLike] | None = None,
    columns: Sequence[str] | None = None,
    sort: Sequence[str] | None = None,
    top: int | None = None,
    average: bool = False,
) -> pd.DataFrame:
    """Return a table of a result, or of results of several collections.

    Parameters
    ----------
    result
        A result of an analysis, a cube or rankings. Or results of one analysis: along a dim
        ``collection``, as of `sweep`, or an `xarray.DataTree` by collection.
    name
        E.g. ``sensitivity``; None is the first table of the analysis; of paired, the pairs where
        they are few.
    metrics
        Metrics to show, in this order; all by default.
    columns
        Columns to keep, in this order, intervals by names such as ``mean_limits``; all by default.
    sort
        Columns to sort by, the most important first; with ``:desc`` the largest values come first.
    top
        First rows to keep: of each metric, gain setting and collection in tables of runs or topics,
        else of each collection.
    average
        Means over the collections, of the rows that all have.

    Returns
    -------
    frame
        Tidy: one row an observation, labels in columns.

    Raises
    ------
    BadName
        A table of several collections whose labels are too many to be joined.
    UnknownName
        A table, a column or a metric that does not exist.

    See Also
    --------
    latex, markdown : The same with a caption, in digits that the limits allow.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> best = table(simulate_cube(n_runs=4), "means", sort=["mean:desc"], top=1)
    >>> best.columns.tolist(), len(best)
    (['collection', 'metric', 'gain', 'run', 'team', 'mean', 'n_topics'], 4)
    """
    frames = []
    for part in _by_collection(result):
        try:
            frames.append(table_of(of_metrics(part, metrics), name))
        except ScorecubeError:
            raise
        except KeyError as error:
            if BY_COLLECTION not in result.attrs:
                raise
            lacking = ", ".join(result.attrs[BY_COLLECTION])
            raise BadName(
                f"a table needs {error}; too many labels differ for {lacking} to be joined: read "
                "the collections one by one: study[name].result(analysis)"
            ) from None
    frame = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
    if average:
        frame = averages(frame)
    frame = select_rows(frame, sort=_listed("sort", sort), top=top)
    return data_columns(frame, _listed("columns", columns))


def _listed(argument: str, texts: Sequence[str] | None) -> list[str] | None:
    return None if texts is None else labels(argument, texts)


def _by_collection(result: ResultsLike) -> list[xr.Dataset]:
    """Return the results of each collection, which know its name, or the one result."""
    if isinstance(result, xr.DataArray):
        return [as_cube(result)]
    if isinstance(result, xr.DataTree) and result.is_leaf:
        result = result.to_dataset()
    if isinstance(result, xr.DataTree):
        kind = rf"(?<=.)/({'|'.join(index.names())})(-\d+)?$"  # of a sweep
        held = [node for node in result.subtree if node.data_vars]
        parts = {re.sub(kind, "", k.path).strip("/"): k.to_dataset() for k in held}
    elif (found := parts_of(result)) is not None:
        parts = found
    elif _is_of_several(result):
        parts = {str(k): result.sel(collection=k, drop=True) for k in result.collection.values}
    else:
        return [result]
    return [part.assign_attrs(collection=label) for label, part in parts.items()]


def _is_of_several(result: object) -> bool:
    """Whether a dim ``collection`` joins scores, or results of an analysis of one collection."""
    if not isinstance(result, xr.Dataset) or names.COLLECTION not in result.dims:
        return False
    name = result.attrs.get("analysis")
    return names.SCORE in result or (name in index.names() and not index.load(name).joins)


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
    plan = make_plan(as_cube(cube).compute(), analysis, trials=trials, seed=seed)
    unit, _ = units_of(plan.cube, [])
    drawn = analysis.drawn(plan.table)
    return drawn.assign(unit_of_topic=(names.TOPIC, unit), topic=plan.cube[names.TOPIC])


@overload
def figure(result: ResultsLike, *, ax: Axes, **options: Unpack[FigureOptions]) -> Axes: ...
@overload
def figure(result: ResultsLike, *, ax: None = None, **options: Unpack[FigureOptions]) -> Figure: ...
def figure(
    result: ResultsLike,
    *,
    metrics: Sequence[MetricLike] | None = None,
    by: Literal["sampling", "gain"] | None = None,
    kind: Literal["curves", "bars"] = "curves",
    top: int | None = None,
    title: str = "",
    size: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Figure | Axes:
    """Return the figure of a result at its first gain setting, drawn as in the papers.

    Parameters
    ----------
    result
        Result of an analysis, e.g. from `analyse`; or of several collections, as of `table`, which
        are drawn side by side.
    metrics
        By default the first of a figure about one, such as the leaderboard, else all.
    by
        Draw the values of ``sampling`` or ``gain`` in one result together.
    kind
        With `by`: ``curves`` in one panel, or ``bars`` of shares.
    top
        Rows with names, as of runs; by default as many as a page has room for.
    title, size
        Of a new figure: text above it instead of its own; width and height in inches.
    ax
        Axes of matplotlib to draw into, for a figure of one panel. Drawn into the same axes,
        several results have different colours and labels.

    Returns
    -------
    figure
        Save it with ``figure.savefig("swap.svg")``; with `ax`, these axes.

    Raises
    ------
    BadName, BadPlan
        An analysis without a figure, or a metric that the result does not have; `ax` for a figure
        of several panels, or together with `size` or `title`; bars without `by`.

    Examples
    --------
    >>> from scorecube import Swap
    >>> from scorecube.testing import simulate_cube
    >>> result = analyse(simulate_cube(n_runs=4, seed=3), Swap(size=20), trials=20, seed=1)
    >>> len(figure(result, size=(5, 3)).axes) > 0
    True
    """
    from scorecube.report import drawing

    if ax is not None and (size is not None or title):
        text = f"{option('size')} and {option('title')} are of a new figure"
        raise BadPlan(f"{text}; leave them out, or {option('ax')}", option="ax")
    parts = _by_collection(result)
    drawn = drawing.figure(*parts, metrics=metrics, by=by, kind=kind, top=top, axes=ax)
    if ax is not None:
        return ax
    drawing.set_title(drawn, title)
    if size is not None:
        drawn.set_size_inches(*size)
    return drawn


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
        One row per analysis: `name`, as on the command line, and `about`, the question it answers.

    Examples
    --------
    >>> "swap" in list_analyses()["name"].tolist()
    True
    """
    return pd.DataFrame([{"name": of.name, "about": of.summary} for of in index.all_entries()])


__all__ = [
    "cube_from_scores",
    "evaluate",
    "import_scores",
    "open_study",
    "plan_in_study",
    "read_rankings",
]
