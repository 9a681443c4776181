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
from scorecube.collection.schema import read_variables
from scorecube.kernels.ranks import concordance, tau_ap
from scorecube.statistics.corrected_means import corrected_mean
from scorecube.statistics.grid import EQUAL
from scorecube.statistics.intervals import difference_limits, guarded_estimates
from scorecube.statistics.label_agreement import label_coefficients
from scorecube.statistics.paired_tests import classical_p_values

Values = dict[str, Any]
PAIRS_AT_ONCE = 2**14  # pairs of runs whose differences are in memory
VARIABLES = read_variables("""
    [metric gain judge]
    tau | estimate | 1 | Kendall's tau-a of the runs under the truth and the judge
    tau_ap | estimate | 1 | AP correlation with the truth, mean over orders of ties
    tau | limits:tau | 1 | limit of the tau to be expected from as many other topics
    n_pairs | count | pairs | pairs of runs of both sets
    agree | count | pairs | pairs significant under both sets, for the same run
    only_truth | count | pairs | pairs significant under the truth only
    only_judge | count | pairs | pairs significant under the judge only
    opposite | count | pairs | pairs significant under both sets, for opposite runs
    neither | count | pairs | pairs significant under neither set
    bias | estimate | score | mean over runs of the bias of a run
    bias | limits:bias | score | limit of the bias over topics
    [metric gain judge run]
    run_bias | estimate | score | mean under the judge less mean under the truth
    run_bias | limits:run_bias | score | limit of the bias of a run over topics
    [metric gain judge n_labelled run]
    corrected | estimate | score | mean over infinitely many topics
    corrected | limits:corrected | score | limit of the mean over infinitely many topics
    slope | estimate | 1 | lambda, the weight of the judge; 0 for none
    [judge n_labelled]
    labelled_topics | condition/iu | topics | labelled topics
    [judge label_statistic]
    label | estimate | 1 | agreement of the labels of all common documents
    label | limits:label | 1 | limit over topics
    [judge]
    n_documents | count | documents | documents that both judged
    labelled_by_both | count | topics | topics with documents that both judged
    n_shared | count | topics | topics of both sets
    n_truth | count | topics | topics of the truth
    n_judged | count | topics | topics of the judge
    n_common_runs | count | runs | runs of both sets
""")


def rankings(judged: JudgedTable, confidence: float) -> Values:
    """Return tau with limits, tau-AP, and the number of pairs of runs, (cell,)."""
    truth, judge = judged.truth, judged.judge
    above = above_by_cell(truth), above_by_cell(judge)

    def tau(*ranks: Any) -> Any:
        cells = np.arange(len(ranks[0]))
        return concordance(np.concatenate(ranks)).tau_a()[cells, cells + len(cells)]

    # Of other topics both sides lose a group of their own at a time: their errors add up.
    left_out = zip(truth.tables_left_out, judge.tables_left_out, strict=False)
    replicates = [tau(*map(above_by_cell, pair)) for pair in left_out]
    low, high = jackknife.limits(tau(*above), np.array(replicates), "atanh", confidence)
    return {
        "tau": tau(*above),
        "tau_low": low,
        "tau_high": high,
        "tau_ap": np.array([tau_ap(*ranks) for ranks in zip(*above, strict=True)]),
        "n_pairs": np.full(len(low), len(truth.runs) * (len(truth.runs) - 1) // 2),
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
    of_means = np.full((3, len(truth.means)), np.nan)
    for cell, ends in enumerate(truth.ranges if judged.is_shared else ()):
        by_run = judge.scores[cell] - truth.scores[cell]
        width = None if ends is None else ends[1] - ends[0]
        binary = bool(truth.binary[cell] and judge.binary[cell])
        for rows, is_binary, found in (
            (by_run, binary, of_runs[:, cell]),
            (by_run.mean(axis=0, keepdims=True), False, of_means[:, cell, np.newaxis]),
        ):
            _, estimates = guarded_estimates(rows, truth.sizes, width, binary=is_binary)
            found[0] = np.average(rows, axis=1, weights=truth.sizes)
            found[1:] = difference_limits(estimates, width, confidence)
    names = [f"{name}{end}" for name in ("run_bias", "bias") for end in ("", "_low", "_high")]
    return dict(zip(names, (*of_runs, *of_means), strict=True))


def corrections(judged: JudgedTable, sizes: Sequence[int], confidence: float) -> Values:
    """Return corrected means by numbers of labelled topics, 0 for all shared ones.

    They are (cell, size, run), and NaN for as many topics as there are, or more.
    """
    truth, judge, n_units = judged.truth, judged.judge, judged.truth.sizes.size
    found = np.full((len(truth.scores), len(sizes), len(truth.runs), 4), np.nan)
    for k, size in enumerate(sizes if judged.is_shared else ()):
        if size >= n_units:
            continue  # all of them are a size of their own
        labelled, others = np.split(judged.order, [size or n_units])
        for cell, run in np.ndindex(found.shape[0], found.shape[2]):
            h, f = truth.values[cell, run], judge.values[cell, run]
            further = [] if judged.further is None else [judged.further.values[cell, run]]
            scores = h[labelled], f[labelled], np.concatenate([f[others], *further])
            found[cell, k, run] = corrected_mean(*scores, truth.ranges[cell], confidence)
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
