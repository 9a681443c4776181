"""Tables of topics: how hard they are, which runs they separate, and which of them would have sufficed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.pair_tests.score_differences import comparable
from scorecube.analyses.topic_samples.subsets import topic_subsets
from scorecube.collection.schema import labels_of
from scorecube.report.tables.rows import parts, where
from scorecube.statistics.integer_scores import single_scores


def topics(cube: xr.Dataset) -> pd.DataFrame:
    """Every topic, hardest first: mean and standard deviation over runs, share of runs with a score of 0, best run and its score."""
    runs, frames = labels_of(cube, names.RUN), []
    for cell, data in parts(cube):
        scores = data[names.SCORE].values
        known = ~np.isnan(scores)
        counts = known.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(known, scores, 0.0).sum(axis=0) / counts
            squares = np.where(known, scores - mean, 0.0) ** 2
            deviation = np.sqrt(squares.sum(axis=0) / (counts - 1))
            zero = (scores == 0).sum(axis=0) / counts
        filled = np.where(known, scores, -np.inf)
        best = filled.argmax(axis=0)
        frame = pd.DataFrame(
            where(cube)
            | cell
            | {
                names.TOPIC: labels_of(cube, names.TOPIC),
                "mean": mean,
                "sd": deviation,
                "zero_share": zero,
                "best_run": [
                    runs[run] if count else "" for run, count in zip(best, counts, strict=True)
                ],
                "best_score": np.where(counts > 0, filled.max(axis=0), np.nan),
                "n_runs": counts,
            }
        )
        frames.append(frame.sort_values("mean", kind="stable"))
    return pd.concat(frames, ignore_index=True)


def separation(cube: xr.Dataset) -> pd.DataFrame:
    """How much every topic separates the runs in the order of their means, most first; for these runs and topics.

    Of two runs the better one by mean stands first in every difference. ``contribution`` is the mean over all pairs of the difference on
    this topic, divided by the standard deviation of the pair's differences over topics: what the topic adds to the pairs' effect sizes d_z,
    whose mean over pairs is the mean of this column. ``share`` is its share of the sum over topics; 1 / n if all topics did the same, and
    negative for a topic that speaks against the order on the whole. ``favours`` and ``opposes`` count the pairs in the order of their means
    on this topic and those in the other one. ``tau_rest`` is Kendall's tau-b of the runs on this topic and by their means on the other topics.
    Pairs with equal means or with the same difference on all topics are left out; a topic without the score of a run counts for none of its pairs.
    """
    from scipy.stats import kendalltau  # takes long to import

    frames = []
    for cell, data in parts(cube):
        found = pair_contributions(data[names.SCORE].values)
        known = ~np.isnan(data[names.SCORE].values)
        # Sums are equal where means are.
        scores = comparable(data[names.SCORE].values, paired=bool(known.all()))[0]
        sums, counts = np.where(known, scores, 0.0).sum(axis=1), known.sum(axis=1)
        rest = []
        for k in range(scores.shape[1]):
            with np.errstate(invalid="ignore", divide="ignore"):
                others = (sums - np.where(known[:, k], scores[:, k], 0.0)) / (counts - known[:, k])
            both = known[:, k] & ~np.isnan(others)
            few = both.sum() < 2
            tau = math.nan if few else kendalltau(scores[both, k], others[both]).statistic
            rest.append(float(tau))
        frame = pd.DataFrame(
            where(cube)
            | cell
            | {names.TOPIC: labels_of(cube, names.TOPIC)}
            | found
            | {"tau_rest": rest}
        )
        frames.append(frame.sort_values("contribution", ascending=False, kind="stable"))
    return pd.concat(frames, ignore_index=True)


def pair_contributions(scores: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return the columns of `separation` that are sums over pairs of runs, one row of pairs at a time.

    Parameters
    ----------
    scores
        float64 (run, topic), NaN for missing.
    """
    whole, _, rounded = single_scores(scores)
    snap = 1.0 if rounded else 0.0
    n_runs, n = whole.shape
    total, favours, opposes = np.zeros((3, n))
    pairs = 0
    for run in range(n_runs - 1):
        z = whole[run] - whole[run + 1 :]
        z[np.abs(z) <= snap] = 0.0
        known = ~np.isnan(z)
        count, filled = known.sum(axis=1), np.where(known, z, 0.0)
        sums = filled.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            centred = np.where(known, z - (sums / count)[:, np.newaxis], 0.0)
            spread = np.sqrt((centred**2).sum(axis=1) / (count - 1))
        usable = (np.abs(sums) > snap * count) & (spread > snap)
        ordered = filled[usable] * np.sign(sums[usable])[:, np.newaxis]
        total += (ordered / spread[usable, np.newaxis]).sum(axis=0)
        favours += (ordered > 0).sum(axis=0)
        opposes += (ordered < 0).sum(axis=0)
        pairs += int(usable.sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "contribution": total / pairs if pairs else np.full(n, np.nan),
            "share": total / total.sum() if pairs else np.full(n, np.nan),
            "favours": favours.astype(int),
            "opposes": opposes.astype(int),
            "pairs": pairs,
        }


def subsets(cube: xr.Dataset) -> pd.DataFrame:
    """The subsets of topics of each size that rank the runs most and least like all topics, beside random ones (Guiver et al. 2009).

    tau is Kendall's, of the means over the subset and over all topics. ``best`` and ``worst`` are what a greedy search finds (by adding or by
    taking away one topic at a time, or a random subset where that is better); a better or worse subset may exist. ``random_mean``, ``random_low`` and ``random_high`` are
    mean, 2.5 % and 97.5 % quantile of 200 random subsets. The best subset is chosen after the fact: that its topics would do so well for
    other runs does not follow.
    """
    labels, rows = labels_of(cube, names.TOPIC), []
    for cell, data in parts(cube):
        found = topic_subsets(data[names.SCORE].values)
        low, high = np.quantile(found.random, [0.025, 0.975], axis=0)
        for k in range(len(labels)):
            rows.append(
                where(cube)
                | cell
                | {
                    "size": k + 1,
                    "best": found.best[k],
                    "random_mean": found.random[:, k].mean(),
                    "random_low": low[k],
                    "random_high": high[k],
                    "worst": found.worst[k],
                    "best_topics": " ".join(labels[topic] for topic in found.best_topics[k]),
                    "worst_topics": " ".join(labels[topic] for topic in found.worst_topics[k]),
                }
            )
    return pd.DataFrame(rows)
