"""Scores of runs without some documents: masks over what is known of the judged documents, never judgements written anew.

Metrics with a sparse form (`metrics.sparse`) are computed from the relevant documents of each list; all others from whole lists of levels in
which the documents that are gone are unjudged. Both give the scores that an evaluation with reduced judgements would, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Arrays
from scorecube.analyses.leave_out.kernel import Found, Rules, leave_teams_out, make_desk, nothing_found
from scorecube.collection import schema
from scorecube.collection.pools import Pools, build_pools, team_bits
from scorecube.collection.selection import cells, parse_known
from scorecube.errors import BadPlan
from scorecube.kernels.pools.contributing_teams import WORD, leave_out, remaining_levels, same_levels
from scorecube.metrics import Metric, gain_values, parse_metric
from scorecube.metrics.without_documents.rescore import make_space, sum_whole_lists
from scorecube.metrics.without_documents.tables import (
    Cells,
    Documents,
    Entries,
    has_sparse_form,
    sparse_cells,
    sparse_entries,
)

SAME = 1e-9
"""Scores that were stored and scores of the same rankings differ by no more."""
ENTRY, CELL, RELEVANT, POOLED = "entries_", "cells_", "relevant_", "pooled_"
"""Beginnings of the names of arrays that make up `Entries`, `Cells` and `Documents`, and of documents in pools."""


def check_metrics(cube: xr.Dataset) -> list[Metric]:
    """Return the metrics of a cube; refuse those that cannot be computed again from levels."""
    parsed = {label: parse_known(label) for label in schema.labels_of(cube, names.METRIC)}
    unknown = [label for label, metric in parsed.items() if not isinstance(metric, Metric)]
    if unknown:
        raise BadPlan(
            f"{', '.join(unknown)}: scores that were imported cannot be computed again; leave them out with --metrics"
        )
    known = [metric for metric in parsed.values() if isinstance(metric, Metric)]
    by_intent = [str(metric) for metric in known if metric.definition.by_intent]
    if by_intent:
        others = [str(metric) for metric in known if not metric.definition.by_intent]
        advice = f"choose others: --metrics {','.join(others)}" if others else "evaluate others, too"
        raise BadPlan(
            f"{', '.join(by_intent)}: metrics by intent are not computed without some of the documents; {advice}"
        )
    return known


def check_levels(cube: xr.Dataset) -> None:
    """Refuse levels at ranks that are not those of the documents there, as with classes of answers."""
    values = (cube[name].values for name in (schema.LEVEL_AT_RANK, names.DOCUMENT_AT_RANK, names.LEVEL_OF_DOCUMENT))
    levels, documents, known = (np.ascontiguousarray(array) for array in values)
    if not same_levels(levels, documents, known):
        raise BadPlan(
            "documents do not count at all their ranks with their own level (classes of answers?), so it is not defined what counts without some of them"
        )


def reduced_inputs(cube: xr.Dataset, pool_depth: int, keep_unpooled: bool) -> Arrays:
    """Return the arrays that `scores_without` needs.

    Parameters
    ----------
    cube
        With rankings, see `with_rankings`.
    pool_depth, keep_unpooled
        See `analyses.teams.Teams`.
    """
    pools, known = build_pools(cube, pool_depth), check_metrics(cube)
    check_levels(cube)
    scores, cell_of = cells(cube)
    places = [tuple(np.argwhere(cell_of == cell)[0].tolist()) for cell in range(len(scores))]
    gains = np.stack([gain_values(str(cube[names.GAIN].values[j]), pools.n_levels) for _, j in places])
    metrics = [known[i] for i, _ in places]
    sparse = np.array([has_sparse_form(metric) for metric in metrics])
    levels = np.ascontiguousarray(cube[schema.LEVEL_AT_RANK].values, np.int8)
    documents = np.ascontiguousarray(cube[names.DOCUMENT_AT_RANK].values, np.int32)
    inputs: Arrays = {
        "team_of": pools.team_of, "n_teams": np.array(len(pools.teams)), "gains": gains,
        "metrics": np.array([str(metric) for metric in metrics]), "sparse": sparse,
        "lacking": cube[names.N_RETRIEVED].values == 0 if cube.attrs.get("missing_topic") == "nan" else np.zeros((0, 0), bool),
        "never": np.zeros((len(metrics), cube.sizes[names.TOPIC]), bool),
    }  # fmt: skip
    deepest = max(levels.shape[2], int((pools.levels > 0).sum(axis=1).max(initial=0)))
    made: dict[str, Any] = {
        ENTRY: sparse_entries(levels, documents, pools.levels), RELEVANT: relevant_documents(pools, keep_unpooled),
        CELL: sparse_cells([metric for metric, yes in zip(metrics, sparse, strict=True) if yes], gains[sparse], deepest),
    }  # fmt: skip
    inputs |= {start + key: value for start, own in made.items() for key, value in own._asdict().items()}
    inputs["sums"] = sum_whole_lists(made[ENTRY], made[CELL], *levels.shape[1::-1])
    if not sparse.all():
        inputs |= {"level_at_rank": levels, "document_at_rank": documents}
        inputs |= {POOLED + key: value for key, value in pools.pooled().items()}
        for key, keep in (("kept", True), ("left", keep_unpooled)):
            inputs[f"gone_{key}"], inputs[f"judged_{key}"] = pools.others(keep)
    none = team_bits(np.zeros(len(pools.teams), bool))
    whole = scores_without(inputs, none)
    if cube.attrs.get("no_relevant") == "zero":
        inputs["never"] = np.isnan(whole).all(axis=2)
        whole = scores_without(inputs, none)
    same = np.isclose(whole.transpose(0, 2, 1), scores, rtol=0, atol=SAME, equal_nan=True).all(axis=(1, 2))
    if not same.all():
        label = metrics[int(np.argmax(~same))]
        raise BadPlan(f"scores of {label} are not those of the rankings; evaluate the runs again with --replace")
    return inputs | {"whole": whole}


def relevant_documents(pools: Pools, keep_unpooled: bool) -> Documents:
    """Return the relevant documents of all topics; those that no team contributed stay, or are gone whenever a team is left out."""
    topics, documents = np.nonzero(pools.levels > 0)
    words = pools.words[topics, documents]
    starts = np.concatenate([[0], np.cumsum(np.bincount(topics, minlength=len(pools.levels)))]).astype(np.int64)
    always = ~words.any(axis=-1) & np.full(len(words), keep_unpooled)
    return Documents(starts, words, pools.levels[topics, documents].astype(np.int64), always)


def kernel_arguments(inputs: Mapping[str, np.ndarray[Any, Any]]) -> tuple[Any, ...]:
    """Return the first arguments of `leave_teams_out`, from those of `reduced_inputs`."""
    parts = ((Entries, ENTRY), (Documents, RELEVANT), (Cells, CELL))
    made = (kind(*(inputs[start + key] for key in kind._fields)) for kind, start in parts)
    whole = inputs.get("whole", np.empty((0, 0, 0)))
    return (*made, np.flatnonzero(inputs["sparse"]), inputs["sums"], whole)


def run_kernel(known: tuple[Any, ...], trials: tuple[Any, ...], memory: tuple[Any, ...], found: Found) -> None:
    """Call `leave_teams_out` with the arguments of `kernel_arguments`, those from `rules` to `first`, and memory."""
    arguments = [*known, *trials, *memory, found]
    leave_teams_out(*arguments)


def memory_of(inputs: Mapping[str, np.ndarray[Any, Any]]) -> tuple[Any, ...]:
    """Return the memory of one thread, the last of it for scores, float64 (cell, topic, run)."""
    entries, _, cells, _, sums, _ = kernel_arguments(inputs)
    n_topics, n_runs = sums.shape[1:]
    return make_space(entries, cells, n_runs), make_desk(n_runs), np.empty((len(inputs["sparse"]), n_topics, n_runs))


def scores_without(
    inputs: Mapping[str, np.ndarray[Any, Any]], bits: np.ndarray[Any, Any], everyone: bool = True
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Score runs without the documents that only teams left out contributed.

    Parameters
    ----------
    inputs
        Of `reduced_inputs`.
    bits
        uint64 (word,), of `team_bits`: the teams that are left out. If none is, nothing is gone.
    everyone
        Whether the runs of these teams are scored, too.

    Returns
    -------
    scores
        float64 (cell, topic, scored run); NaN where a topic has no relevant document, or lost its last one.
    """
    team_of, memory = inputs["team_of"], memory_of(inputs)
    teams = np.arange(int(inputs["n_teams"])).astype(np.uint64)
    out = (bits[teams // np.uint64(WORD)] >> (teams % np.uint64(WORD)) & np.uint64(1)).astype(bool)
    runs = np.flatnonzero(~out[team_of] | everyone)
    fill_dense(inputs, bits, runs, memory[-1])
    n_cells, n_topics, n_runs = memory[-1].shape
    rules = Rules(
        np.ones((1, n_topics), bool), np.zeros(1, np.int64), False, np.empty((n_cells, n_runs)), np.empty((n_cells, n_runs), np.int64),
        inputs["lacking"], inputs["never"],
    )  # fmt: skip
    found = nothing_found(n_cells, 1, 1, n_runs, 0)
    trial = (rules, team_of, bits[np.newaxis, np.newaxis], everyone, -1, 0, 1, 0)
    run_kernel(kernel_arguments(inputs), trial, memory, found)
    return np.asarray(memory[-1][:, :, : len(runs)])


def fill_dense(
    inputs: Mapping[str, np.ndarray[Any, Any]], bits: np.ndarray[Any, Any], runs: np.ndarray[Any, Any], scores: np.ndarray[Any, Any]
) -> None:  # fmt: skip
    """Write the scores of metrics without a sparse form, float64 (cell, topic, kept run)."""
    dense = np.flatnonzero(~inputs["sparse"]).tolist()
    if not dense:
        return
    others = "left" if bits.any() else "kept"
    gone, judged = inputs[f"gone_{others}"].copy(), inputs[f"judged_{others}"].copy()
    words, topics, documents, known = (inputs[POOLED + key] for key in ("words", "topics", "documents", "levels"))
    leave_out(words, topics, documents, known, gone, judged, bits)
    levels = remaining_levels(inputs["level_at_rank"], inputs["document_at_rank"], gone, runs)
    for cell in dense:
        found = parse_metric(str(inputs["metrics"][cell])).score(levels, judged, inputs["gains"][cell])
        scores[cell, :, : len(runs)] = found.T
