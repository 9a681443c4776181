"""Scores of runs without some documents: masks over what is known of the judged documents, never judgements written anew.

Metrics with an entry form (`metrics.without_documents`) are computed from the relevant documents of each list; all others from whole lists of levels in
which the documents that are gone are unjudged. Both give the scores that an evaluation with reduced judgements would, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Arrays
from scorecube.analyses.leave_out.kernel import Memory, Rules, Trials, leave_teams_out, make_desk, nothing_found
from scorecube.collection import schema
from scorecube.collection.pools import Pools, team_bits
from scorecube.collection.selection import cells, parse_known
from scorecube.errors import BadPlan, option
from scorecube.kernels.pools.contributing_teams import WORD, leave_out, remaining_levels, same_levels
from scorecube.metrics import Metric, gain_values, parse_metric
from scorecube.metrics.without_documents.rescore import make_space, sum_whole_lists
from scorecube.metrics.without_documents.tables import (
    Cells,
    Documents,
    Entries,
    Inputs,
    metric_cells,
    relevant_entries,
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
            f"{', '.join(unknown)}: scores that were imported cannot be computed again; leave them out of {option('metrics')}",
            option="metrics",
        )
    known = [metric for metric in parsed.values() if isinstance(metric, Metric)]
    by_intent = [str(metric) for metric in known if metric.definition.by_intent]
    if by_intent:
        others = [str(metric) for metric in known if not metric.definition.by_intent]
        advice = f"choose others: {option('metrics', others)}" if others else "evaluate others, too"
        raise BadPlan(
            f"{', '.join(by_intent)}: metrics by intent are not computed without some of the documents; {advice}",
            option="metrics",
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


def reduced_inputs(cube: xr.Dataset, pools: Pools, known: Sequence[Metric], keep_unpooled: bool) -> Arrays:
    """Return the arrays that `scores_without` needs.

    Parameters
    ----------
    cube
        With rankings, see `with_rankings`.
    pools
        Of the cube, see `build_pools`.
    known
        Metrics of the cube, see `check_metrics`.
    keep_unpooled
        See `analyses.teams.Teams`.
    """
    check_levels(cube)
    scores, cell_of = cells(cube)
    places = [tuple(np.argwhere(cell_of == cell)[0].tolist()) for cell in range(len(scores))]
    gains = np.stack([gain_values(str(cube[names.GAIN].values[j]), pools.n_levels) for _, j in places])
    metrics = [known[i] for i, _ in places]
    sparse = np.array([metric.entry_form is not None for metric in metrics])
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
        ENTRY: relevant_entries(levels, documents, pools.levels), RELEVANT: relevant_documents(pools, keep_unpooled),
        CELL: metric_cells([metric for metric, yes in zip(metrics, sparse, strict=True) if yes], gains[sparse], deepest),
    }  # fmt: skip
    inputs |= {start + key: value for start, own in made.items() for key, value in own._asdict().items()}
    inputs["sums"] = sum_whole_lists(made[ENTRY], made[CELL], *levels.shape[1::-1])
    if not sparse.all():
        inputs |= {"level_at_rank": levels, "document_at_rank": documents}
        inputs |= {POOLED + key: value for key, value in pools.pooled().items()}
        for key, keep in (("kept", True), ("left", keep_unpooled)):
            inputs[f"gone_{key}"], inputs[f"judged_{key}"] = pools.without_pools(keep)
    none = team_bits(np.zeros(len(pools.teams), bool))
    whole = scores_without(inputs, none)
    if cube.attrs.get("no_relevant") == "zero":
        inputs["never"] = np.isnan(whole).all(axis=2)
        whole = scores_without(inputs, none)
    same = np.isclose(whole.transpose(0, 2, 1), scores, rtol=0, atol=SAME, equal_nan=True).all(axis=(1, 2))
    if not same.all():
        label = metrics[int(np.argmax(~same))]
        raise BadPlan(
            f"scores of {label} are not those of the rankings; evaluate the runs again with {option('replace', True)}"
        )
    return inputs | {"whole": whole}


def relevant_documents(pools: Pools, keep_unpooled: bool) -> Documents:
    """Return the relevant documents of all topics; those that no team contributed stay, or are gone whenever a team is left out."""
    topics, documents = np.nonzero(pools.levels > 0)
    words = pools.words[topics, documents]
    starts = np.concatenate([[0], np.cumsum(np.bincount(topics, minlength=len(pools.levels)))]).astype(np.int64)
    always = ~words.any(axis=-1) & np.full(len(words), keep_unpooled)
    return Documents(starts, words, pools.levels[topics, documents].astype(np.int64), always)


def tables_of(inputs: Mapping[str, np.ndarray[Any, Any]]) -> Inputs:
    """Return the arrays of `reduced_inputs` as the kernel takes them."""

    def part(kind: Any, start: str) -> Any:
        return kind(*(inputs[start + key] for key in kind._fields))

    return Inputs(
        part(Entries, ENTRY),
        part(Documents, RELEVANT),
        part(Cells, CELL),
        np.flatnonzero(inputs["sparse"]),
        inputs["sums"],
        inputs.get("whole", np.empty((0, 0, 0))),
    )


def memory_of(tables: Inputs, n_cells: int) -> Memory:
    """Return the memory of one thread for the scores of so many cells."""
    n_topics, n_runs = tables.sums.shape[1:]
    space = make_space(tables.entries, tables.cells, n_runs)
    return Memory(space, make_desk(n_runs), np.empty((n_cells, n_topics, n_runs)))


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
    team_of, tables = inputs["team_of"], tables_of(inputs)
    memory = memory_of(tables, len(inputs["sparse"]))
    teams = np.arange(int(inputs["n_teams"])).astype(np.uint64)
    out = (bits[teams // np.uint64(WORD)] >> (teams % np.uint64(WORD)) & np.uint64(1)).astype(bool)
    runs = np.flatnonzero(~out[team_of] | everyone)
    fill_dense(inputs, bits, runs, memory.scores)
    n_cells, n_topics, n_runs = memory.scores.shape
    rules = Rules(
        np.ones((1, n_topics), bool), np.zeros(1, np.int64), False, np.empty((n_cells, n_runs)), np.empty((n_cells, n_runs), np.int64),
        inputs["lacking"], inputs["never"],
    )  # fmt: skip
    found = nothing_found(n_cells, 1, 1, n_runs, 0)
    trials = Trials(bits[np.newaxis, np.newaxis], everyone, -1, 0, 1, 0)
    leave_teams_out(tables, rules, team_of, trials, memory, found)
    return np.asarray(memory.scores[:, :, : len(runs)])


def fill_dense(
    inputs: Mapping[str, np.ndarray[Any, Any]], bits: np.ndarray[Any, Any], runs: np.ndarray[Any, Any], scores: np.ndarray[Any, Any]
) -> None:  # fmt: skip
    """Write the scores of metrics without an entry form, float64 (cell, topic, kept run)."""
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
