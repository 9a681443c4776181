"""A judge and the truth, on topics that both judged if there are any, and how they compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses.differences import least_of, pair_differences, width_of
from scorecube.analyses.jackknife import CONFIDENCE, limits
from scorecube.analyses.pairs import above_by_cell, pairs_of
from scorecube.analyses.preparation import make_table
from scorecube.analyses.table import ScoreTable
from scorecube.analyses.topic_units import FloatArray, IntArray, groups_left_out
from scorecube.collection.schema import label_array, labels_of
from scorecube.collection.selection import DROPPED
from scorecube.errors import BadPlan, UnknownName
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.ranks import concordance, tau_ap
from scorecube.statistics.agreement import label_coefficients
from scorecube.statistics.intervals import (
    LEAST_LABELLED,
    corrected_mean,
    difference_limits,
    guarded_estimate,
    two_sided_p,
)

Values = dict[str, Any]
ALPHA = 0.05
"""Of decisions on pairs of runs."""
ALL_SHARED = 0
"""Number of labelled topics that stands for all that the truth and the judge share."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """A truth and a judge: scores of the runs of both, on shared topics if there are any.

    further: Of the judge on its other topics; None without any.
    is_shared: Whether scores are compared topic by topic: then both have the same units.
    order: int64 (unit,): units of `truth` in the random order in which their labels are used.
    counts: int64 (topic, level, level): documents by their levels under the truth and the judge.
    """

    name: str
    truth: ScoreTable
    judge: ScoreTable
    further: ScoreTable | None
    is_shared: bool
    order: IntArray
    counts: IntArray

    def rankings(self) -> Values:
        """Return tau with limits, and tau-AP, (cell,)."""
        ranks_of_truth = above_by_cell(self.truth)
        ranks_of_judge = above_by_cell(self.judge)
        tau = taus(ranks_of_truth, ranks_of_judge)
        # Of other topics both sides lose a group of their own at a time: their errors add up.
        left_out = zip(self.truth.tables_left_out, self.judge.tables_left_out, strict=False)
        without = [taus(above_by_cell(truth), above_by_cell(judge)) for truth, judge in left_out]
        low, high = limits(tau, without, "atanh")
        ranks = zip(ranks_of_truth, ranks_of_judge, strict=True)
        ap = np.array([tau_ap(truth, judge) for truth, judge in ranks])
        return {"tau": tau, "tau_low": low, "tau_high": high, "tau_ap": ap}

    def decisions(self) -> Values:
        """Return the numbers of pairs of runs by the decisions of paired t tests, (cell,)."""
        truth = significant(self.truth)
        judge = significant(self.judge)
        kinds = {
            "agree": truth * judge > 0,
            "opposite": truth * judge < 0,
            "only_truth": (truth != 0) & (judge == 0),
            "only_judge": (truth == 0) & (judge != 0),
            "neither": (truth == 0) & (judge == 0),
        }
        return {name: chosen.sum(axis=-1) for name, chosen in kinds.items()}

    def biases(self) -> Values:
        """Return means under the judge less those under the truth, with limits, if shared."""
        by_run = np.full_like(self.truth.scores, np.nan)
        sizes = self.truth.sizes
        if self.is_shared:
            by_run = self.judge.scores - self.truth.scores
        mean = by_run.mean(axis=1)
        limits_of_means = [self._limits(cell, mean[cell], False) for cell in range(len(mean))]
        ends = np.array(limits_of_means)
        return {
            "run_bias": np.average(by_run, axis=-1, weights=sizes),
            "bias": np.average(mean, axis=-1, weights=sizes),
            "bias_low": ends[:, 0],
            "bias_high": ends[:, 1],
        }

    def corrections(self, sizes: Sequence[int]) -> Values:
        """Return corrected means, (cell, size, run); NaN for as many topics as there are."""
        means = self._corrected(sizes, None)
        return dict(zip(("corrected", "corrected_low", "corrected_high"), means, strict=False))

    def differences(self, sizes: Sequence[int], baseline: str | None) -> Values:
        """Return corrected differences from a run, (cell, size, run), and the labels they need.

        Of each topic the difference of both runs' scores is corrected, so that what a topic or the
        judge does to both alike does not count.
        """
        if baseline is None:
            return {}
        if baseline not in self.truth.runs:
            text = f"no run {baseline!r} in the scores of {self.name} and of the truth"
            raise UnknownName(text, option="baseline")
        found = self._corrected(sizes, self.truth.runs.index(baseline))
        names_of = [f"corrected_difference{end}" for end in ("", "_low", "_high")]
        return dict(zip([*names_of, "labels_needed"], found, strict=True))

    def _corrected(self, sizes: Sequence[int], base: int | None) -> NDArray[np.float64]:
        """Return means, or differences from a run, their limits, and the labels they need."""
        truth = _less(self.truth.values, base)
        judge = _less(self.judge.values, base)
        further = judge[..., :0] if self.further is None else _less(self.further.values, base)
        n_units = self.truth.sizes.size
        found = np.full((4, len(truth), len(sizes), len(self.truth.runs)), np.nan)
        for k, size in enumerate(sizes if self.is_shared else ()):
            if size >= n_units:
                continue  # all of them are a size of their own
            labelled, others = np.split(self.order, [size or n_units])
            for cell, run in np.ndindex(truth.shape[:2]):
                h = truth[cell, run, labelled]
                f = judge[cell, run, labelled]
                rest = np.concatenate([judge[cell, run, others], further[cell, run]])
                ends = self.truth.ranges[cell]
                if base is not None and ends is not None:
                    ends = ends[0] - ends[1], ends[1] - ends[0]
                mean = corrected_mean(h, f, rest, ends, CONFIDENCE)
                if base is not None and not len(rest):  # of all topics the truth is known
                    binary = bool(self.truth.binary[cell])
                    mean = mean[0], *self._limits(cell, truth[cell, run], binary)
                found[:, cell, k, run] = *mean, labels_needed(h, f, rest, mean[0])
        if base is not None:
            found[..., base] = np.nan
        return found

    def _limits(self, cell: int, apart: FloatArray, binary: bool) -> tuple[float, float]:
        """Return limits of a mean difference of all units."""
        width = width_of(self.truth, cell)
        samples = self.truth.samples(apart)
        least = least_of(self.truth, cell)
        guarded = guarded_estimate(samples, width, binary=binary, least=least)
        low, high = difference_limits(guarded, width, CONFIDENCE)
        return float(low), float(high)


def _less(scores: FloatArray, base: int | None) -> FloatArray:
    """Return scores (cell, run, unit), less those of a run, if one is given."""
    return scores if base is None else scores - scores[:, base : base + 1]


def labels_needed(h: FloatArray, f: FloatArray, further: FloatArray, mean: float) -> float:
    """Return the least number of labels whose limits exclude 0, if variances stay as they are.

    That is the least m with |mean| > t(m - 2) sqrt(var(h - lambda f) / m + lambda^2 var(f) / n) of
    `corrected_mean`; NaN where not even labels of all n topics suffice, or of fewer than 4 labels.
    """
    every = np.concatenate([f, further])
    m = np.arange(LEAST_LABELLED, len(every) + 1)
    if len(h) < LEAST_LABELLED or not len(m):
        return np.nan
    slope = float(np.cov(h, f)[0, 1] / f.var(ddof=1)) if np.ptp(f) > 0 else 0.0
    residual = float((h - slope * f).var(ddof=2))
    variance = residual / m + slope**2 * float(every.var(ddof=1)) / len(every)
    found = np.abs(mean) > scipy.special.stdtrit(m - 2, (1 + CONFIDENCE) / 2) * np.sqrt(variance)
    return float(m[found.argmax()]) if found.any() else np.nan


def labels(counts: NDArray[Any]) -> Values:
    """Return the agreement of labels, counted as `Comparison.counts`, with limits over topics."""
    counts = counts[counts.any(axis=(1, 2))]
    group = groups_left_out([len(counts)])
    label = label_coefficients(counts.sum(axis=0))
    without = [label_coefficients(counts[group != k].sum(axis=0)) for k in np.unique(group)]
    low, high = limits(label, without, "atanh")
    low, high = np.where(low < high, (low, high), np.nan)  # other topics may not agree alike
    return {"label": label, "label_low": low, "label_high": high, "n_documents": counts.sum()}


def taus(truth: IntArray, judge: IntArray) -> NDArray[np.float64]:
    """Return tau of the ranks under both sets, (cell,), of ranks (cell, run)."""
    cells = np.arange(len(truth))
    return concordance(np.concatenate([truth, judge])).tau_a()[cells, cells + len(cells)]


def significant(table: ScoreTable) -> NDArray[np.float64]:
    """Return the signs of the differences that a paired t test finds, (cell, pair); else 0."""
    found = pair_differences(table, pairs_of(table.runs))
    return np.where(two_sided_p(found.guarded) < ALPHA, np.sign(found.mean), 0.0)


def comparison_of(cube: xr.Dataset, truth: str, judge: str, place: int) -> Comparison:
    """Return the tables of a truth and of a judge at a place; BadPlan for gaps, or too few."""
    of_gain = np.array(labels_of(cube, names.JUDGEMENTS), object)
    parts = [cube.isel(gain=of_gain == name) for name in (truth, judge)]
    # Of both sets, (set, metric, gain, run, topic).
    scored = np.stack([part[names.SCORE].notnull().values for part in parts])
    runs = scored.any(axis=(1, 2, 4)).all(axis=0)
    topics, complete = (of(scored[..., runs, :], axis=(1, 2, 3)) for of in (np.any, np.all))
    if (topics != complete).any():
        raise BadPlan(
            f"scores of {truth} or {judge} are missing; leave their topics out with {DROPPED}"
        )
    if min(runs.sum(), *topics.sum(axis=1)) < 2:
        raise BadPlan(f"{truth} and {judge} need 2 common runs, and 2 topics each")
    shared = topics.all(axis=0)
    further = topics[1] & ~topics[0]
    is_shared = int(shared.sum()) >= 2
    of_truth, of_judge = (part.isel(run=np.flatnonzero(runs)) for part in parts)
    table = _table(of_truth, shared if is_shared else topics[0])
    # The random word of a topic depends neither on the seed nor on what is shared.
    key = stream_key(0, names.Purpose.LABELLED_TOPICS)
    words = np.random.Philox(key=key).random_raw(len(shared))[shared]
    n_documents = cube.get(names.LABEL_COUNTS)
    nothing = np.zeros((len(shared), 1, 1), np.int64)
    return Comparison(
        name=judge,
        truth=table,
        judge=_table(of_judge, shared if is_shared else topics[1]),
        further=_table(of_judge, further) if is_shared and further.any() else None,
        is_shared=is_shared,
        order=np.argsort(words[: table.sizes.size], kind="stable"),
        counts=nothing if n_documents is None else n_documents.values[place],
    )


def _table(cube: xr.Dataset, topics: NDArray[np.bool_]) -> ScoreTable:
    """Return the table of one set on some topics."""
    part = cube.isel(topic=np.flatnonzero(topics)).assign_coords(
        {
            names.GAIN: label_array(labels_of(cube, names.SETTING)),
            names.USES_GAINS: (names.METRIC, cube[names.USES_SETTINGS].values),
        }
    )
    dropped = [names.JUDGEMENTS, names.SETTING, names.USES_SETTINGS]
    return make_table(part[[names.SCORE]].drop_vars(dropped), bags=False)
