"""A judge against the truth: rankings, decisions on pairs, bias, corrected means, labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorecube.analyses import jackknife
from scorecube.analyses.correlation import above_by_cell
from scorecube.analyses.judged_tables import JudgedTable
from scorecube.analyses.table import Table
from scorecube.analyses.units import GROUPS_LEFT_OUT, LEAST_LEFT_OUT, random_groups
from scorecube.kernels.ranks import concordance, tau_ap
from scorecube.statistics.corrected_means import CorrectedMean, corrected_mean
from scorecube.statistics.grid import EQUAL
from scorecube.statistics.intervals import difference_limits, guarded_estimates
from scorecube.statistics.label_agreement import label_coefficients
from scorecube.statistics.paired_tests import classical_p_values

Values = dict[str, Any]
PAIRS_AT_ONCE = 2**14
"""Pairs of runs whose differences are in memory at a time."""


def rankings(judged: JudgedTable, confidence: float) -> Values:
    """Return tau with limits and tau-AP, (cell,), and means and ranks of runs, (cell, run)."""
    truth, judge = judged.truth, judged.judge
    above = above_by_cell(truth), above_by_cell(judge)

    def tau(*ranks: Any) -> Any:
        cells = np.arange(len(ranks[0]))
        return concordance(np.concatenate(ranks)).tau_a()[cells, cells + len(cells)]

    # Of other topics both sides lose a group of their own at a time: their errors add up.
    left_out = zip(truth.tables_left_out, judge.tables_left_out, strict=False)
    replicates = [tau(*map(above_by_cell, pair)) for pair in left_out]
    low, high = jackknife.limits(tau(*above), np.array(replicates), "atanh", confidence)
    n_runs = len(truth.runs)
    return {
        "tau": tau(*above),
        "tau_low": low,
        "tau_high": high,
        "tau_ap": np.array([tau_ap(*ranks) for ranks in zip(*above, strict=True)]),
        "n_pairs": np.full(len(low), n_runs * (n_runs - 1) // 2),
        "mean_truth": truth.means,
        "mean_judge": judge.means,
        "rank_truth": above[0] + 1,
        "rank_judge": above[1] + 1,
    }


def decisions(judged: JudgedTable, alpha: float) -> Values:
    """Return the numbers of pairs of runs by the decisions of paired t tests under both sets."""
    truth, judge = (significant(table, alpha) for table in (judged.truth, judged.judge))
    kinds = {
        "agree": truth * judge > 0,
        "opposite": truth * judge < 0,
        "only_truth": (truth != 0) & (judge == 0),
        "only_judge": (truth == 0) & (judge != 0),
        "neither": (truth == 0) & (judge == 0),
    }
    return {name: chosen.sum(axis=-1) for name, chosen in kinds.items()}


def significant(table: Table, alpha: float) -> NDArray[np.int8]:
    """Return the signs of the differences that a paired t test finds, int8 (cell, pair); else 0."""
    first, second = np.triu_indices(len(table.runs), 1)
    signs = np.zeros((len(table.values), len(first)), np.int8)
    for cell, (values, ends) in enumerate(zip(table.values, table.ranges, strict=True)):
        unit = EQUAL * (float(np.ptp(values)) or 1.0 if ends is None else ends[1] - ends[0])
        for low in range(0, len(first), PAIRS_AT_ONCE):
            part = slice(low, low + PAIRS_AT_ONCE)
            # What differs by less than 1e-9 of the range is tied, as of `Paired`.
            differences = np.rint((values[first[part]] - values[second[part]]) / unit) * unit
            p = classical_p_values("t", differences)
            signs[cell, part] = np.where(p < alpha, np.sign(differences.sum(axis=1)), 0)
    return signs


def biases(judged: JudgedTable, confidence: float) -> Values:
    """Return means under the judge less those under the truth, with limits over topics.

    Those of runs are (cell, run), that of their mean (cell,); NaN without shared topics.
    """
    truth, judge = judged.truth, judged.judge
    of_runs = np.full((3, *truth.means.shape), np.nan)
    of_means = np.full((3, len(of_runs[0])), np.nan)
    for cell in range(len(truth.ranges) if judged.is_shared else 0):
        by_run = judge.scores[cell] - truth.scores[cell]
        binary = bool(truth.binary[cell] and judge.binary[cell])
        of_runs[:, cell] = bias_limits(by_run, truth, cell, binary, confidence)
        mean = by_run.mean(axis=0, keepdims=True)
        of_means[:, cell] = bias_limits(mean, truth, cell, False, confidence)[:, 0]
    ends = ("", "_low", "_high")
    return {
        f"{name}{end}": array
        for name, arrays in (("run_bias", of_runs), ("bias", of_means))
        for end, array in zip(ends, arrays, strict=True)
    }


def bias_limits(rows: Any, truth: Table, cell: int, binary: bool, confidence: float) -> Any:
    """Return means of differences with limits, (mean and limits, row).

    rows: float64 (row, unit): differences of scores.
    """
    ends = truth.ranges[cell]
    width = None if ends is None else ends[1] - ends[0]
    found = guarded_estimates(rows, truth.sizes, width, binary=binary)
    mean = np.average(rows, axis=1, weights=truth.sizes)
    return np.array([mean, *difference_limits(found, width, confidence)])


def corrections(judged: JudgedTable, sizes: Sequence[int], confidence: float) -> Values:
    """Return corrected means by numbers of labelled topics, (cell, size, run).

    They are NaN for more topics than there are.

    sizes: Numbers of labelled topics, 0 for all shared ones.
    """
    truth, judge, n_units = judged.truth, judged.judge, judged.truth.sizes.size
    shape = (len(truth.scores), len(sizes), len(truth.runs))
    found = np.full((*shape, len(CorrectedMean._fields)), np.nan)
    for k, size in enumerate(sizes if judged.is_shared else ()):
        if size >= n_units:
            continue  # all of them are a size of their own
        labelled, others = np.split(judged.order, [size or n_units])
        for cell, run in np.ndindex(shape[0], shape[2]):
            h, f = truth.values[cell, run], judge.values[cell, run]
            further = [] if judged.further is None else [judged.further.values[cell, run]]
            rest = np.concatenate([f[others], *further])
            ends = truth.ranges[cell]
            found[cell, k, run] = corrected_mean(h[labelled], f[labelled], rest, ends, confidence)
    names = ("corrected", "corrected_low", "corrected_high", "slope")
    return dict(zip(names, np.moveaxis(found, -1, 0), strict=True))


def labels(counts: NDArray[Any], confidence: float) -> Values:
    """Return the agreement of labels with limits over topics, (coefficient,).

    counts: int64 (topic, level, level): documents by their levels under the truth and the judge.
    """
    counts = counts[counts.any(axis=(1, 2))]
    group = random_groups(len(counts))
    n_groups = min(len(counts), GROUPS_LEFT_OUT) if len(counts) >= LEAST_LEFT_OUT else 0
    value = label_coefficients(counts.sum(axis=0))
    without = [label_coefficients(counts[group != k].sum(axis=0)) for k in range(n_groups)]
    low, high = jackknife.limits(value, np.array(without), "atanh", confidence)
    alike = ~(low < high)  # other topics may not agree alike
    return {
        "label": value,
        "label_low": np.where(alike, np.nan, low),
        "label_high": np.where(alike, np.nan, high),
        "n_documents": counts.sum(),
        "labelled_by_both": len(counts),
    }
