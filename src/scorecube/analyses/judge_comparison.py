"""What one judge is compared with the truth for: rankings, decisions on pairs, bias, corrected means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorecube.analyses import jackknife
from scorecube.analyses.correlation import above_by_cell
from scorecube.analyses.judged_tables import JudgedTable
from scorecube.analyses.table import Table
from scorecube.kernels.ranks import concordance, tau_ap
from scorecube.statistics.corrected_means import CorrectedMean, corrected_mean
from scorecube.statistics.grid import EQUAL
from scorecube.statistics.intervals import guarded_estimates
from scorecube.statistics.paired_tests import classical_p_values

Values = dict[str, Any]
TOP = 10
"""Number of best runs under the truth, for counts of false positives and negatives; ties stand in the order of run names."""
PAIRS_AT_ONCE = 2**14
"""Pairs of runs whose differences are in memory at a time."""


def rankings(judged: JudgedTable, confidence: float) -> Values:
    """Return the agreement of rankings with limits over topics, (cell,), and ranks of runs, (cell, run)."""
    tables = judged.truth, judged.judge
    above = [above_by_cell(table) for table in tables]
    cells = np.arange(len(above[0]))
    found = concordance(np.concatenate(above))
    at = cells, cells + len(cells)
    tau = found.tau_a()[at]
    # Of other topics both sides lose a group of their own at a time: their errors add up.
    left_out = zip(*(table.tables_left_out for table in tables), strict=False)
    replicates = [
        concordance(np.concatenate([above_by_cell(each) for each in pair])).tau_a()[at]
        for pair in left_out
    ]
    low, high = jackknife.limits(tau, np.array(replicates), "atanh", confidence)
    change = above[1] - above[0]
    return {
        "tau": tau,
        "tau_low": low,
        "tau_high": high,
        "tau_b": found.tau_b()[at],
        "tau_ap": np.array([tau_ap(*each) for each in zip(*above, strict=True)]),
        "tied_pairs": found.tied_in_either()[at],
        "n_pairs": np.full(len(cells), found.n_pairs),
        "mean_truth": judged.truth.means,
        "mean_judge": judged.judge.means,
        "rank_truth": above[0] + 1,
        "rank_judge": above[1] + 1,
        "rank_change": change,
        **_moves("drop", change, above[0], judged.truth.runs),
        **_moves("rise", -change, above[1], judged.truth.runs),
    }


def _moves(name: str, moved: Any, ranks: Any, runs: Sequence[str]) -> Values:
    """Return the largest move of each cell, and the run that makes it: of several the best by some ranks; none if no run moves."""
    first = [int(np.lexsort((of_cell, -by))[0]) for by, of_cell in zip(moved, ranks, strict=True)]
    most = moved.max(axis=-1)
    named = [runs[run] if by > 0 else "" for run, by in zip(first, most, strict=True)]
    return {name: np.maximum(most, 0), f"{name}_run": np.array(named, object)}


def decisions(judged: JudgedTable, alpha: float) -> Values:
    """Return the numbers of pairs of runs by the decisions of paired t tests under both sets, (cell,) each."""
    n_runs = len(judged.truth.runs)
    first, second = np.triu_indices(n_runs, 1)
    found: dict[str, list[int]] = {}
    for cell, above in enumerate(above_by_cell(judged.truth)):
        best = np.zeros(n_runs, bool)
        best[np.argsort(above, kind="stable")[:TOP]] = True
        top = best[first] & best[second]
        truth, judge = (
            significant(table, cell, (first, second), alpha)
            for table in (judged.truth, judged.judge)
        )
        kinds = {
            "agree": truth * judge > 0,
            "opposite": truth * judge < 0,
            "only_truth": (truth != 0) & (judge == 0),
            "only_judge": (truth == 0) & (judge != 0),
            "neither": (truth == 0) & (judge == 0),
            "top_pairs": top,
            "top_significant": top & (truth != 0),
            "top_judge": top & (judge != 0),
            "false_positives": top & (truth == 0) & (judge != 0),
            "false_negatives": top & (truth != 0) & (judge == 0),
        }
        for name, chosen in kinds.items():
            found.setdefault(name, []).append(int(chosen.sum()))
    return {name: np.array(counts) for name, counts in found.items()}


def significant(table: Table, cell: int, pairs: tuple[Any, Any], alpha: float) -> NDArray[np.int8]:
    """Return the signs of differences that a paired t test finds, int8 (pair,); 0 where it finds none."""
    values, ends = table.values[cell], table.ranges[cell]
    unit = EQUAL * (float(np.ptp(values)) or 1.0 if ends is None else ends[1] - ends[0])
    signs = np.zeros(len(pairs[0]), np.int8)
    for low in range(0, len(signs), PAIRS_AT_ONCE):
        part = slice(low, low + PAIRS_AT_ONCE)
        # What differs by less than 1e-9 of the range is tied, as of `Paired`.
        differences = np.rint((values[pairs[0][part]] - values[pairs[1][part]]) / unit) * unit
        p = classical_p_values("t", differences)
        signs[part] = np.where(p < alpha, np.sign(differences.sum(axis=1)), 0)
    return signs


def biases(judged: JudgedTable, confidence: float) -> Values:
    """Return means under the judge less those under the truth with limits over topics, of runs and of their mean; NaN without shared topics."""
    from scipy.special import stdtrit

    truth, judge = judged.truth, judged.judge
    shape = truth.means.shape
    found: Values = {
        name: np.full(shape, np.nan) for name in ("run_bias", "run_bias_low", "run_bias_high")
    }
    found |= {name: np.full(shape[0], np.nan) for name in ("bias", "bias_low", "bias_high")}
    if not judged.is_shared:
        return found
    for cell, ends in enumerate(truth.ranges):
        width, by_run = (
            None if ends is None else ends[1] - ends[0],
            judge.scores[cell] - truth.scores[cell],
        )
        binary = bool(truth.binary[cell] and judge.binary[cell])
        for name, rows, is_binary in (
            ("run_bias", by_run, binary),
            ("bias", by_run.mean(axis=0, keepdims=True), False),
        ):
            guarded = guarded_estimates(rows, truth.sizes, width, binary=is_binary)
            half = float(stdtrit(guarded.freedom, (1 + confidence) / 2)) * guarded.error
            most = np.inf if width is None else width
            found[name][cell] = np.squeeze(np.average(rows, axis=1, weights=truth.sizes))
            found[f"{name}_low"][cell] = np.squeeze(np.maximum(guarded.mean - half, -most))
            found[f"{name}_high"][cell] = np.squeeze(np.minimum(guarded.mean + half, most))
    return found


def corrections(judged: JudgedTable, sizes: Sequence[int], confidence: float) -> Values:
    """Return corrected means by numbers of labelled topics, 0 for all, (cell, size, run); NaN where a number has no meaning."""
    n_units = judged.truth.sizes.size
    shape = (len(judged.truth.scores), len(sizes), len(judged.truth.runs))
    found = np.full((*shape, len(CorrectedMean._fields)), np.nan)
    for k, size in enumerate(sizes if judged.is_shared else ()):
        if size >= n_units:
            continue  # all of them are a size of their own
        labelled, others = np.split(judged.order, [size or n_units])
        for cell, run in np.ndindex(shape[0], shape[2]):
            h, f = (table.values[cell, run] for table in (judged.truth, judged.judge))
            rest = f[others]
            if judged.further is not None:
                rest = np.concatenate([rest, judged.further.values[cell, run]])
            ends = judged.truth.ranges[cell]
            found[cell, k, run] = corrected_mean(h[labelled], f[labelled], rest, ends, confidence)
    names = ("corrected", "corrected_low", "corrected_high", "slope")
    return dict(zip(names, np.moveaxis(found, -1, 0), strict=True))
