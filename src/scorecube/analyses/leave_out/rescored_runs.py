"""Scores of runs without the documents that only some teams contributed.

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
    Rules,
    Trials,
    Workspace,
    empty_outputs,
    leave_teams_out,
    make_run_arrays,
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
    known = [metric for metric in parsed.values() if isinstance(metric, Metric)]
    refused = {
        str(metric): "by intent"
        if metric.definition.by_intent
        else "of documents without judgements"
        for metric in known
        if metric.definition.by_intent or metric.definition.sees_unjudged
    }
    if refused:
        others = [str(metric) for metric in known if str(metric) not in refused]
        advice = (
            f"choose others: {option('metrics', others)}"
            if others
            else "evaluate other metrics as well"
        )
        kinds = " and ".join(dict.fromkeys(refused.values()))
        raise BadPlan(
            f"{', '.join(refused)}: metrics {kinds} cannot be computed without some of the documents; {advice}",
            option="metrics",
        )
    return known


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
    space = make_space(tables.entries, tables.cells, n_runs)
    return Workspace(
        space, make_run_arrays(n_runs, n_topics), np.empty((n_cells, n_topics, n_runs))
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
        kept=np.ones((1, n_topics), bool),
        order=np.empty((0, 0, 0), np.int32),
        sizes=np.array([n_topics]),
        min_topics=np.zeros(1, np.int64),
        all_zero=False,
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
