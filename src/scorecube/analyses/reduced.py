"""Scores of runs without some documents: masks over what is known of the judged documents, never judgements written anew.

Metrics with a sparse form (`metrics.sparse`) are computed from the relevant documents of each list; all others from whole lists of levels in
which the documents that are gone are unjudged. Both give the scores that an evaluation with reduced judgements would, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names, schema
from scorecube.analyses.analysis import Arrays
from scorecube.cube import cells, parse_known
from scorecube.errors import BadPlan
from scorecube.kernels.pools import leave_out, remaining_levels
from scorecube.metrics import Metric, gain_values, parse_metric
from scorecube.metrics.sparse import (
    Cells,
    Entries,
    has_sparse_form,
    score_remaining,
    share_tables,
    sparse_cells,
    sparse_entries,
)
from scorecube.pools import build_pools, team_bits

SAME = 1e-9
"""Scores that were stored and scores of the same rankings differ by no more."""
ENTRY, CELL, POOLED = "entries_", "cells_", "pooled_"
"""Beginnings of the names of arrays that make up `Entries` and `Cells`, and of documents in pools."""


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
    documents, levels = cube[names.DOCUMENT_AT_RANK].values, cube[names.LEVEL_OF_DOCUMENT].values
    expected = np.take_along_axis(levels[np.newaxis], np.maximum(documents, 0).astype(np.int64), axis=2)
    if not np.array_equal(np.where(documents >= 0, expected, -1), cube[schema.LEVEL_AT_RANK].values):
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
    inputs |= {POOLED + key: value for key, value in pools.pooled().items()}
    for key, keep in (("kept", True), ("left", keep_unpooled)):
        inputs[f"gone_{key}"], inputs[f"judged_{key}"] = pools.others(keep)
    if sparse.any():
        deepest = max(levels.shape[2], int((pools.levels > 0).sum(axis=1).max(initial=0)))
        made = sparse_cells(
            [metric for metric, yes in zip(metrics, sparse, strict=True) if yes], gains[sparse], deepest
        )
        inputs |= {ENTRY + key: value for key, value in sparse_entries(levels, documents)._asdict().items()}
        inputs |= {CELL + key: value for key, value in made._asdict().items()}
        inputs["table_of"], inputs["n_tables"] = share_tables(made)
    if not sparse.all():
        inputs |= {"level_at_rank": levels, "document_at_rank": documents}
    none = team_bits(np.zeros(len(pools.teams), bool))
    whole = scores_without(inputs, none)
    if cube.attrs.get("no_relevant") == "zero":
        inputs["never"] = np.isnan(whole).all(axis=1)
        whole = scores_without(inputs, none)
    if not np.allclose(whole, scores, rtol=0, atol=SAME, equal_nan=True):
        label = metrics[int(np.argmax(~np.isclose(whole, scores, rtol=0, atol=SAME, equal_nan=True).all(axis=(1, 2))))]
        raise BadPlan(f"scores of {label} are not those of the rankings; evaluate the runs again with --replace")
    return inputs | {"whole": whole}


def scores_without(
    inputs: Mapping[str, np.ndarray[Any, Any]], bits: np.ndarray[Any, Any], runs: np.ndarray[Any, Any] | None = None
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Score runs without the documents that only teams left out contributed.

    Parameters
    ----------
    inputs
        Of `reduced_inputs`.
    bits
        uint64 (word,), of `team_bits`: the teams that are left out. If none is, nothing is gone.
    runs
        int64 (kept run,): runs to be scored; all if None.

    Returns
    -------
    scores
        float64 (cell, kept run, topic); NaN where a topic has no relevant document, or lost its last one.
    """
    kept = np.arange(len(inputs["team_of"])) if runs is None else runs
    others = "left" if bits.any() else "kept"
    gone, judged = inputs[f"gone_{others}"].copy(), inputs[f"judged_{others}"].copy()
    words, topics, documents, levels = (inputs[POOLED + key] for key in ("words", "topics", "documents", "levels"))
    leave_out(words, topics, documents, levels, gone, judged, bits)
    sparse = inputs["sparse"]
    scores = np.empty((len(sparse), len(kept), len(judged)))
    if sparse.any():
        entries = Entries(*(inputs[ENTRY + key] for key in Entries._fields))
        numbers = Cells(*(inputs[CELL + key] for key in Cells._fields))
        found = scores if sparse.all() else np.empty((int(sparse.sum()), *scores.shape[1:]))
        score_remaining(
            entries,
            numbers,
            inputs["table_of"],
            int(inputs["n_tables"]),
            len(inputs["team_of"]),
            kept,
            gone,
            judged,
            found,
        )
        if not sparse.all():
            scores[sparse] = found
    if not sparse.all():
        levels = remaining_levels(inputs["level_at_rank"], inputs["document_at_rank"], gone, kept)
        for cell in np.flatnonzero(~sparse).tolist():
            scores[cell] = parse_metric(str(inputs["metrics"][cell])).score(levels, judged, inputs["gains"][cell])
    if inputs["never"].any():
        scores[np.broadcast_to(inputs["never"][:, np.newaxis], scores.shape)] = 0.0
    if inputs["lacking"].size:
        scores[:, inputs["lacking"][kept]] = np.nan
    return scores
