"""Scores of runs without the documents that only some teams contributed, and statistics of trials: variance, rank correlation, changes.

Metrics with an entry form (`metrics.without_documents`) are computed from the relevant documents of each list; other metrics from whole
lists of levels in which the removed documents are unjudged. Both equal, bit for bit, the scores of an evaluation with reduced judgements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Array, Arrays, Inputs
from scorecube.analyses.leave_out.kernel import (
    TIE,
    UNITS,
    Outputs,
    Rules,
    Trials,
    Workspace,
    empty_outputs,
    leave_teams_out,
)
from scorecube.collection import schema
from scorecube.collection.pools import Pools, team_bits
from scorecube.collection.selection import cells, parse_known
from scorecube.errors import BadPlan, option
from scorecube.kernels.pools.contributing_teams import (
    WORD,
    leave_out,
    remaining_levels,
    same_levels,
)
from scorecube.kernels.pools.variance import run_means
from scorecube.kernels.rank.rank_change import ranks_above
from scorecube.metrics import Metric, gain_values, parse_metric
from scorecube.metrics.without_documents.rescore import make_space
from scorecube.metrics.without_documents.tables import (
    Cells,
    Documents,
    Entries,
    Tables,
    metric_cells,
    relevant_entries,
)
from scorecube.statistics.quantiles import defined_mean

TOLERANCE = 1e-9
"""Largest difference between stored scores and scores of the same rankings: both are computed in double precision, in
another order of additions, and other rankings, judgements or gains change scores by far more."""
ENTRY, CELL, RELEVANT, POOLED = "entries_", "cells_", "relevant_", "pooled_"
"""Prefixes of the names of the arrays of `Entries`, `Cells` and `Documents`, and of pooled documents."""


def check_metrics(cube: xr.Dataset) -> list[Metric]:
    """Return the metrics of a cube; raise BadPlan for metrics not computed from levels."""
    parsed = {label: parse_known(label) for label in schema.labels_of(cube, names.METRIC)}
    unknown = [label for label, metric in parsed.items() if not isinstance(metric, Metric)]
    if unknown:
        raise BadPlan(
            f"{', '.join(unknown)}: imported scores cannot be computed again; leave them out of {option('metrics')}",
            option="metrics",
        )
    return [metric for metric in parsed.values() if isinstance(metric, Metric)]


def check_levels(cube: xr.Dataset) -> None:
    """Raise BadPlan for levels at ranks that differ from those of the documents."""
    values = (
        cube[name].values
        for name in (schema.LEVEL_AT_RANK, names.DOCUMENT_AT_RANK, names.LEVEL_OF_DOCUMENT)
    )
    levels, documents, levels_of_documents = (np.ascontiguousarray(array) for array in values)
    if not same_levels(levels, documents, levels_of_documents):
        raise BadPlan(
            "levels at ranks differ from the levels of the documents there (classes of answers?): "
            "scores without some of the documents are not defined"
        )


def rescoring_inputs(
    cube: xr.Dataset, pools: Pools, cube_metrics: Sequence[Metric], keep_unpooled: bool
) -> Arrays:
    """Return the arrays that `scores_without` reads.

    cube: Cube with rankings, see `collection.rankings.with_rankings`.
    pools: Pools of the cube, see `collection.pools.build_pools`.
    cube_metrics: Metrics of the cube, see `check_metrics`.
    keep_unpooled: See `Teams`.
    """
    check_levels(cube)
    scores, cell_of = cells(cube)
    positions = [tuple(np.argwhere(cell_of == cell)[0].tolist()) for cell in range(len(scores))]
    gains = np.stack(
        [gain_values(str(cube[names.GAIN].values[j]), pools.n_levels) for _, j in positions]
    )
    metrics = [cube_metrics[i] for i, _ in positions]
    sparse = np.array([metric.entry_form is not None for metric in metrics])
    n_retrieved = cube[names.N_RETRIEVED].values
    levels = np.ascontiguousarray(cube[schema.LEVEL_AT_RANK].values, np.int8)
    documents = np.ascontiguousarray(cube[names.DOCUMENT_AT_RANK].values, np.int32)
    inputs: Arrays = {
        "team_of": pools.team_of,
        "n_teams": np.array(len(pools.teams)),
        "gains": gains,
        "metrics": np.array([str(metric) for metric in metrics]),
        "sparse": sparse,
        "always_missing": n_retrieved == 0
        if cube.attrs.get("missing_topic") == "nan"
        else np.zeros((0, 0), bool),
        "always_zero": np.zeros((len(metrics), cube.sizes[names.TOPIC]), bool),
    }
    deepest = max(levels.shape[2], int((pools.levels > 0).sum(axis=1).max(initial=0)))
    with_entry_form = [metric for metric in metrics if metric.entry_form is not None]
    tables: dict[str, Any] = {
        ENTRY: relevant_entries(levels, documents, pools.levels),
        RELEVANT: relevant_documents(pools, keep_unpooled),
        CELL: metric_cells(with_entry_form, gains[sparse], deepest),
    }
    inputs |= {
        prefix + name: array
        for prefix, table in tables.items()
        for name, array in table._asdict().items()
    }
    inputs["sums"] = np.empty((0, *levels.shape[1::-1]))
    inputs["sums"] = _sum_whole_lists(inputs)
    if not sparse.all():
        inputs |= {"level_at_rank": levels, "document_at_rank": documents}
        inputs |= {POOLED + name: array for name, array in pools.pooled().items()}
        for suffix, keep in (("whole", True), ("left_out", keep_unpooled)):
            inputs[f"removed_{suffix}"], inputs[f"judged_{suffix}"] = pools.without_pools(keep)
    no_teams = team_bits(np.zeros(len(pools.teams), bool))
    whole = scores_without(inputs, no_teams)
    if cube.attrs.get("no_relevant") == "zero":
        inputs["always_zero"] = np.isnan(whole).all(axis=2)
        whole = scores_without(inputs, no_teams)
    equal = np.isclose(
        whole.transpose(0, 2, 1), scores, rtol=0, atol=TOLERANCE, equal_nan=True
    ).all(axis=(1, 2))
    if not equal.all():
        label = metrics[int(np.argmax(~equal))]
        raise BadPlan(
            f"scores of {label} differ from scores of the rankings; evaluate the runs again with {option('replace', True)}"
        )
    return inputs | {"whole": whole}


def relevant_documents(pools: Pools, keep_unpooled: bool) -> Documents:
    """Return the relevant documents of all topics; see `keep_unpooled` of `Teams`."""
    topics, documents = np.nonzero(pools.levels > 0)
    words = pools.words[topics, documents]
    starts = np.concatenate(
        [[0], np.cumsum(np.bincount(topics, minlength=len(pools.levels)))]
    ).astype(np.int64)
    always = ~words.any(axis=-1) & np.full(len(words), keep_unpooled)
    return Documents(starts, words, pools.levels[topics, documents].astype(np.int64), always)


def make_tables(inputs: Inputs) -> Tables:
    """Return the arrays of `rescoring_inputs` as the kernel takes them."""

    def table(kind: Any, prefix: str) -> Any:
        return kind(*(inputs[prefix + name] for name in kind._fields))

    return Tables(
        table(Entries, ENTRY),
        table(Documents, RELEVANT),
        table(Cells, CELL),
        np.flatnonzero(inputs["sparse"]),
        inputs["sums"],
        inputs.get("whole", np.empty((0, 0, 0))),
    )


def make_workspace(tables: Tables, n_cells: int) -> Workspace:
    """Return the working memory of one thread for the scores of a number of cells."""
    n_topics, n_runs = tables.sums.shape[1:]
    return Workspace(
        make_space(tables.entries, tables.cells, n_runs),
        scores=np.empty((n_cells, n_topics, n_runs)),
        chosen=np.empty(n_topics, bool),
        runs=np.empty(n_runs, np.int64),
        reals=np.empty((6, n_runs)),
        order=np.empty(n_runs + 1, np.int64),
        above=np.empty((3, n_runs), np.int32),
    )


def scores_without(
    inputs: Inputs, bits: Array, keep_all_runs: bool = True
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Score runs without the documents that only teams left out contributed.

    inputs: Arrays of `rescoring_inputs`.
    bits: uint64 (word,), from `team_bits`: teams that are left out. Without any, all documents stay judged.
    keep_all_runs: Whether to score the runs of these teams as well.
    Returns scores: float64 (cell, topic, scored run); NaN where a topic has no relevant document, or lost its last one.
    """
    team_of, tables = inputs["team_of"], make_tables(inputs)
    workspace = make_workspace(tables, len(inputs["sparse"]))
    teams = np.arange(int(inputs["n_teams"])).astype(np.uint64)
    left_out = (bits[teams // np.uint64(WORD)] >> (teams % np.uint64(WORD)) & np.uint64(1)).astype(
        bool
    )
    runs = np.flatnonzero(~left_out[team_of] | keep_all_runs)
    score_whole_lists(inputs, bits, runs, workspace.scores)
    _score_entries(inputs, tables, bits, keep_all_runs, workspace)
    return np.asarray(workspace.scores[:, :, : len(runs)])


def _sum_whole_lists(inputs: Inputs) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return `Tables.sums` from inputs without them."""
    tables = make_tables(inputs)
    workspace = make_workspace(tables, len(inputs["sparse"]))
    _score_entries(
        inputs, tables, team_bits(np.zeros(int(inputs["n_teams"]), bool)), True, workspace
    )
    return np.asarray(workspace.scores[tables.rows])


def _score_entries(
    inputs: Inputs, tables: Tables, bits: Array, keep_all_runs: bool, workspace: Workspace
) -> None:
    """Write the scores of metrics with an entry form, see `scores_without`.

    The kernel is that of all trials, without outputs: another one would have to be compiled as well.
    """
    n_cells, n_topics, n_runs = workspace.scores.shape
    rules = Rules(
        order=np.empty((0, 0, 0), np.int32),
        sizes=np.array([n_topics]),
        min_topics=np.zeros(1, np.int64),
        units=np.empty((n_cells, n_runs)),
        descending=np.empty((n_cells, n_runs), np.int64),
        always_missing=inputs["always_missing"],
        always_zero=inputs["always_zero"],
    )
    outputs = empty_outputs(n_cells, 1, 1, n_runs, 0)
    trials = Trials(bits[np.newaxis, np.newaxis], keep_all_runs, -1, 0, 1, 0)
    leave_teams_out(tables, rules, inputs["team_of"], trials, workspace, outputs)


def score_whole_lists(inputs: Inputs, bits: Array, runs: Array, scores: Array) -> None:
    """Write the scores of metrics without an entry form, float64 (cell, topic, kept run)."""
    dense = np.flatnonzero(~inputs["sparse"]).tolist()
    if not dense:
        return
    suffix = "left_out" if bits.any() else "whole"
    removed, judged = inputs[f"removed_{suffix}"].copy(), inputs[f"judged_{suffix}"].copy()
    words, topics, documents, levels_of_documents = (
        inputs[POOLED + name] for name in ("words", "topics", "documents", "levels")
    )
    leave_out(words, topics, documents, levels_of_documents, removed, judged, bits)
    levels = remaining_levels(inputs["level_at_rank"], inputs["document_at_rank"], removed, runs)
    for cell in dense:
        metric = parse_metric(str(inputs["metrics"][cell]))
        scores[cell, :, : len(runs)] = metric.score(levels, judged, inputs["gains"][cell]).T


MISSED = 1e-12
"""Relative tolerance of comparisons, so that an interval of width 0, whose limits are sums of its own value, holds it."""


def make_rules(inputs: Inputs, order: Array) -> Rules:
    """Return the rules of all trials from the inputs of `Teams`, with their orders of topics."""
    units = np.rint(run_means(inputs["whole"]) * UNITS)
    descending = np.argsort(np.where(np.isfinite(units), -units, np.inf), axis=1, kind="stable")
    sizes = inputs["sizes"]
    min_topics = np.where(np.arange(len(sizes)), sizes, 0)
    order = np.ascontiguousarray(order, np.int32)
    constant = inputs["always_missing"], inputs["always_zero"]
    return Rules(order, sizes, min_topics, units, descending, *constant)


def compute_trials(inputs: Inputs, start: int, stop: int) -> Outputs:
    """Compute the trials start .. stop - 1 of all numbers of teams."""
    n_cells, _, n_runs = inputs["whole"].shape
    bits, team_of, tables = inputs["bits"], inputs["team_of"], make_tables(inputs)
    workspace, rules = make_workspace(tables, n_cells), make_rules(inputs, inputs["order"][1:])
    outputs = empty_outputs(n_cells, len(bits), len(inputs["sizes"]), n_runs, stop - start)
    if inputs["sparse"].all():
        leave_teams_out(
            tables, rules, team_of, Trials(bits, False, -1, start, stop, start), workspace, outputs
        )
        return outputs
    for row, position in np.ndindex(len(bits), stop - start):
        trial = start + position
        runs = np.flatnonzero(~inputs["left_out"][row, trial][team_of])
        score_whole_lists(inputs, bits[row, trial], runs, workspace.scores)
        leave_teams_out(
            tables,
            rules,
            team_of,
            Trials(bits, False, row, trial, trial + 1, start),
            workspace,
            outputs,
        )
    return outputs


def compute_whole(inputs: Inputs) -> Outputs:
    """Compute the outputs of the whole collection as one trial."""
    n_cells, _, n_runs = inputs["whole"].shape
    outputs, tables = (
        empty_outputs(n_cells, 1, len(inputs["sizes"]), n_runs, 1),
        make_tables(inputs),
    )
    workspace = make_workspace(tables, n_cells)
    no_teams = team_bits(np.zeros((1, 1, int(inputs["n_teams"])), bool))
    workspace.scores[:] = inputs["whole"]
    trials = Trials(no_teams, True, -1, 0, 1, 0)
    leave_teams_out(
        tables,
        make_rules(inputs, inputs["order"][:1]),
        inputs["team_of"],
        trials,
        workspace,
        outputs,
    )
    return outputs


def mean_changes(totals: Inputs, trials: int) -> Arrays:
    """Return changes of the means of runs, (cell, leave, run), the whole first."""
    stayed, rise, fall = totals["stayed"], totals["rise"], totals["fall"]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(stayed > 0, totals["change"] / stayed / UNITS, np.nan)
    largest = np.where(stayed > 0, np.where(rise >= fall, rise, -fall) / UNITS, np.nan)
    first = np.zeros((len(mean), 1, mean.shape[-1]))
    return {
        "mean_change": np.concatenate([first, mean], axis=1),
        "mean_change_largest": np.concatenate([first, largest], axis=1),
        "stayed": np.concatenate([np.full(first.shape, trials, np.int64), stayed], axis=1),
    }


def trial_measures(inputs: Inputs, totals: Inputs, trials: int) -> Arrays:
    """Return variance, rank correlation and rank changes of trials, the whole first."""
    whole = compute_whole(inputs).by_name()
    measures = {
        name: np.concatenate([np.repeat(whole[name], trials, axis=-1), totals[name]], axis=1)
        for name in ("variance", "n_topics", "agreeing", "pairs", "rank_drop")
    }
    # With tied means, tau-a of the whole with itself is below 1, as it is in trials.
    agreeing, pairs, drop = (measures[name] for name in ("agreeing", "pairs", "rank_drop"))
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = np.where(pairs > 0, agreeing / pairs, np.nan)
    lowest = np.where(np.isfinite(tau), tau, np.inf).min(axis=-1)
    return {
        "variance": measures["variance"],
        "n_topics": measures["n_topics"],
        "tau": tau,
        "rank_drop": drop,
        "tau_mean": defined_mean(tau),
        "tau_lowest": np.where(np.isfinite(lowest), lowest, np.nan),
        "rank_drop_largest": drop.max(axis=-1),
    }


def first_misses(whole: Array, low: Array, high: Array) -> Array:
    """Return the first position along leave with an interval off the whole; -1 for none.

    whole: float64 (cell, step): values of the whole collection.
    low, high: float64 (cell, leave, step): limits of the intervals.
    """
    value = whole[:, np.newaxis]
    missed = (low > value + MISSED * np.abs(value)) | (high < value - MISSED * np.abs(value))
    return np.where(missed.any(axis=1), missed.argmax(axis=1), -1)


def own_contributions(inputs: Inputs) -> Arrays:
    """Return means and ranks of runs with and without own contributions, (cell, run)."""
    n_cells, _, n_runs = inputs["whole"].shape

    def means_and_ranks(scores: Array) -> tuple[Array, Array]:
        means = run_means(scores)
        units = np.where(np.isfinite(means), np.rint(means * UNITS), -UNITS)[np.newaxis]
        return means, 1 + ranks_above(units, np.full(n_cells, TIE))[0].astype(np.int64)

    mean, rank = means_and_ranks(inputs["whole"])
    mean_without, rank_without = np.empty((n_cells, n_runs)), np.empty((n_cells, n_runs), np.int64)
    bits = team_bits(np.eye(int(inputs["n_teams"]), dtype=bool))
    for team in range(len(bits)):
        own = inputs["team_of"] == team
        means, ranks = means_and_ranks(scores_without(inputs, bits[team]))
        mean_without[:, own], rank_without[:, own] = means[:, own], ranks[:, own]
    return {
        "own_mean": mean,
        "own_mean_without": mean_without,
        "own_rank": rank,
        "own_rank_without": rank_without,
    }
