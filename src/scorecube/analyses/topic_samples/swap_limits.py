"""Confidence limits of required differences and sensitivities over topics and runs: counts without groups, limits.

The replicates have topic samples of their own, the same for every seed. Only every fourth trial has samples for the replicates of runs, and every tenth for those of topics.

Groups of topics and teams are left out in turn, one for each replicate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Array, Arrays, Combine, Inputs, Output
from scorecube.analyses.topic_samples.base import counts_of, sample_sums, units_of
from scorecube.collection.selection import cells, n_cells
from scorecube.collection.teams import units_of_runs
from scorecube.kernels.random.draws import Sampling, topic_samples
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.swap.by_group import count_by_group, n_places
from scorecube.kernels.swap.dispatch import trials_at_once
from scorecube.statistics.integer_scores import Grid
from scorecube.statistics.replicate_limits import Replicates, behind_best
from scorecube.statistics.required_difference import crossing, isotonic_bins, share_beyond

PER_SIZE = ("sizes", "tolerances", "scales")
GROUP_TRIAL = 2**40
"""Trial whose random words assign topics to groups, the next one runs; earlier trials draw samples of half of the runs."""


def n_groups(cube: xr.Dataset, most: int) -> tuple[int, int]:
    """Return the numbers of groups of topics and of teams, if there are at most so many."""
    n_units = int(units_of_runs(cube).max()) + 1
    return min(most, cube.sizes[names.TOPIC]), min(most, n_units)


def random_groups(
    key: Array, n_topics: int, teams: Array, groups: tuple[int, int]
) -> tuple[Array, Array]:
    """Return the group of each topic and of each run.

    The numbers of topics, and of teams, in groups differ by at most 1; the runs of a team are in the same group.

    key: Of the random words.
    teams: int64 (run,): of `units_of_runs`.
    groups: Numbers of groups of topics and of runs; fewer if there are fewer topics or teams.

    Examples
    --------
    >>> from scorecube.kernels.random.philox import stream_key
    >>> topics, runs = random_groups(stream_key(1, names.Purpose.SWAP_LIMITS), 6, np.arange(4), (3, 3))
    >>> np.bincount(topics).tolist(), np.bincount(runs).tolist()
    ([2, 2, 2], [2, 1, 1])
    """
    n_teams = int(teams.max()) + 1
    topic_groups, team_groups = np.empty(n_topics, np.int64), np.empty(n_teams, np.int64)
    parts = zip((topic_groups, team_groups), groups, strict=True)
    for trial, (group_of, most) in enumerate(parts, start=GROUP_TRIAL):
        n = len(group_of)
        order = topic_samples(key, int(Sampling.INDEPENDENT), n, n, trial, trial + 1)[0, 0]
        group_of[order] = np.arange(n) % min(most, n)
    return topic_groups, team_groups[teams]


def group_inputs(
    key: Array, cube: xr.Dataset, groups: tuple[int, int], sampling: str, grids: list[Grid]
) -> Arrays:
    """Return the arrays that `count_groups` and `topics_left_out` read in addition to those of all topics and runs.

    key: Of the random words for groups, and for the samples of one half of the runs.
    groups: Numbers of groups of topics and of runs.
    sampling, grids: Sampling, and grid of each size.
    """
    n_runs, n_topics = cube.sizes[names.RUN], cube.sizes[names.TOPIC]
    topic_groups, run_groups = random_groups(key, n_topics, units_of_runs(cube), groups)
    n_kept = n_topics - -(-n_topics // min(groups[0], n_topics))
    most = {"disjoint": n_kept // 2, "independent": n_kept}
    sizes = [min(grid.size, most.get(sampling, grid.size)) for grid in grids]
    kept = [Grid(size, grid.width, grid.bits) for size, grid in zip(sizes, grids, strict=True)]
    return {
        "topic_groups": topic_groups,
        "run_groups": run_groups,
        "kept_sizes": np.array(sizes),
        "other_key": key,
        "kept_tolerances": np.array([grid.tolerance for grid in kept]),
        "kept_scales": np.repeat([grid.scales for grid in kept], n_runs, axis=1),
    }


def topics_left_out(inputs: Inputs) -> Iterator[Arrays]:
    """Yield inputs without each group of topics, for each half of the runs in turn.

    The halves of the runs have different trials, so that only the topics are common to them.
    """
    halves = inputs["run_groups"] % 2
    for group in range(int(inputs["topic_groups"].max()) + 1):
        for half in range(2):
            key = inputs["other_key" if half else "key"]
            yield _part(inputs, inputs["topic_groups"] != group, halves == half, key)


def _part(inputs: Inputs, topics: Array, runs: Array, key: Array) -> Arrays:
    """Return the inputs of some topics and runs."""
    n_cells, n_runs, n_topics = (int(length) for length in inputs["shape"])
    sizes, tolerances, scales_of_all = (inputs["kept_" + name] for name in PER_SIZE)
    scores = inputs["scores"].reshape(n_topics, n_cells, n_runs)[topics][:, :, runs]
    kept_scales = scales_of_all.reshape(-1, n_cells, n_runs)[:, :, runs]
    return dict(inputs) | {
        "scores": np.ascontiguousarray(scores.reshape(len(scores), -1)),
        "scales": kept_scales.reshape(len(kept_scales), -1),
        "key": key,
        "shape": np.array([n_cells, int(runs.sum()), len(scores)]),
        "sizes": sizes,
        "tolerances": tolerances,
    }


RUN_GROUPS, TOPIC_GROUPS = 20, 10
"""Largest numbers of groups that are left out."""
FEWEST = 4
"""Teams and topics without which there are no limits: each half of the teams has two."""
TRIALS_PER_RUN_SAMPLE, TRIALS_PER_TOPIC_SAMPLE = 4, 10
"""Trials for one sample of the replicates: their number has a small part in the width of the limits."""
SHARE_FLOOR = 0.002
"""Added to a share and to its rest before the logarithm of their ratio, so that a replicate without a required
difference, whose share is 0, has one."""


def has_limits(cube: xr.Dataset) -> bool:
    """Return whether a cube has enough topics and teams for limits."""
    return min(n_groups(cube, FEWEST)) >= FEWEST


def limit_inputs(cube: xr.Dataset, sampling: str, grids: list[Grid]) -> Arrays:
    """Return the arrays that `count_groups` reads, by names that begin with ``limit_``."""
    key = stream_key(0, names.Purpose.SWAP_LIMITS)
    own = group_inputs(key, cube, (TOPIC_GROUPS, RUN_GROUPS), sampling, grids)
    own |= {"key": stream_key(2, names.Purpose.SWAP_LIMITS)}
    return {f"limit_{name}": array for name, array in own.items()}


def limit_outputs(cube: xr.Dataset, n_sizes: int, n_bins: int) -> tuple[Output, ...]:
    """Return the outputs of `count_groups`."""
    topics, runs = n_groups(cube, TOPIC_GROUPS)[0], n_groups(cube, RUN_GROUPS)[1]
    shape = (n_sizes, n_cells(cube))
    return (
        Output("by_run_group", (*shape, 1 + runs, n_places(n_bins)), Combine.ADD, least=0),
        Output("by_topic_group", (topics, 2, *shape, n_places(n_bins)), Combine.ADD, least=0),
    )


def count_groups(inputs: Inputs, start: int, stop: int) -> Arrays:
    """Return the counts of `limit_outputs` for the trials start .. stop-1."""
    own = {
        name.removeprefix("limit_"): array
        for name, array in inputs.items()
        if name.startswith("limit_")
    }
    plain = {**inputs, **own}
    groups = own["run_groups"].astype(np.int64)
    by_run = [
        _count(plain, step, *_interval(start, stop, TRIALS_PER_RUN_SAMPLE), groups)
        for step in range(len(plain["sizes"]))
    ]
    by_topic = []
    for part in topics_left_out(plain):
        one_group = np.zeros(int(part["shape"][1]), np.int64)
        trials = _interval(start, stop, TRIALS_PER_TOPIC_SAMPLE)
        by_topic.append(
            [_count(part, step, *trials, one_group)[:, 0] for step in range(len(part["sizes"]))]
        )
    counted: Array = np.array(by_topic)
    return {
        "by_run_group": np.array(by_run),
        "by_topic_group": counted.reshape(-1, 2, *counted.shape[1:]),
    }


def _interval(start: int, stop: int, every: int) -> tuple[int, int]:
    """Return the samples that belong to the trials start .. stop-1: one for every so many trials."""
    return -(-start // every), -(-stop // every)


def _count(inputs: Inputs, step: int, start: int, stop: int, groups: Array) -> Array:
    """Return the counts of `count_by_group` (cell, 1 + group, place) for the samples start .. stop-1."""
    n_cells, n_runs, n_topics = (int(length) for length in inputs["shape"])
    size, units = int(inputs["sizes"][step]), units_of(inputs, step)
    counted = np.zeros((n_cells, 2 + int(groups.max()), n_places(int(inputs["n_bins"]))), np.int64)
    chunk = trials_at_once(max(n_cells * n_runs, n_topics))
    for low in range(start, stop, chunk):
        counts = counts_of(inputs, size, low, min(low + chunk, stop))
        sums = sample_sums(inputs, step, units, counts)
        tolerance = float(inputs["tolerances"][step])
        count_by_group(sums, groups, inputs["units_per_bin"], tolerance, counted)
    return counted


def counts_and_swaps(counted: Array, rule: str) -> tuple[Array, Array]:
    """Return comparisons and swaps (..., bin) of the counts of `count_by_group` (..., place)."""
    by_class = counted[..., :-1].reshape(*counted.shape[:-1], 3, -1)
    count, swaps = by_class.sum(axis=-2), by_class[..., 1:, :].sum(axis=-2)
    count[..., 0] += counted[..., -1]
    if rule == "s1":
        swaps[..., 0] += counted[..., -1]
    return count, swaps


def tie_shares(counted: Array) -> Array:
    """Return the share of comparisons with an exact tie on either sample (..., bin), NaN for empty bins."""
    by_class = counted[..., :-1].reshape(*counted.shape[:-1], 3, -1)
    ties, count = by_class[..., 2, :].copy(), counts_and_swaps(counted, "s0")[0]
    ties[..., 0] += counted[..., -1]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(count > 0, ties / count, np.nan))


@dataclass(frozen=True)
class Functionals:
    """What limits are about, of many curves: required difference in bin widths (logarithm), and share.

    log_required: float64 (..., confidence); without a required difference one beyond the largest difference.
    share: float64 (..., confidence): share of comparisons with the required difference, 0 without.
    known: bool (..., confidence): whether there is a required difference.
    """

    log_required: Array
    share: Array
    known: Array

    @classmethod
    def of(
        cls, count: Array, swaps: Array, confidence: Sequence[float], n_closed: int
    ) -> Functionals:
        """Return the functionals of swap counts (..., bin), of which the first `n_closed` bins are closed."""
        bins = isotonic_bins(count, swaps, confidence)
        bins = np.where(bins < n_closed, bins, -1)
        width = crossing(count, swaps, bins, confidence)
        beyond = count.shape[-1] + 1.0 - np.argmax(count[..., ::-1] > 0, axis=-1)[..., np.newaxis]
        known = bins >= 0
        required = np.where(known, width, beyond)
        return cls(np.log(np.maximum(required, 0.5)), share_beyond(count, width), known)


def limits(
    point: Functionals,
    by_run: tuple[Array, Array],
    by_topic: tuple[Array, Array],
    cell_of: Array,
    settings: Mapping[str, Any],
) -> dict[str, Array]:
    """Return confidence limits, by the names of variables.

    point: Functionals of all comparisons, (metric, gain, size, confidence).
    by_run, by_topic: Comparisons and swaps without each group: int64 (group, metric, gain, size, bin) and (group, half,
        ...).
    cell_of: int64 (metric, gain): number of the cell.
    settings: Of `Functionals.of`: confidence, n_closed; and the width of a bin.
    """
    width = settings["width"]
    rules = {name: settings[name] for name in ("confidence", "n_closed")}
    runs, topics = (Functionals.of(*each, **rules) for each in (by_run, by_topic))
    always = point.known & runs.known.all(axis=0)
    low, high = Replicates(runs.log_required, topics.log_required).limits(point.log_required)
    values = {
        "required_low": np.exp(low) * width,
        "required_high": np.where(always, np.exp(high) * width, np.nan),
    }
    low, high = (
        _share(end)
        for end in Replicates(_logit(runs.share), _logit(topics.share)).limits(_logit(point.share))
    )
    values |= {"share_low": np.where(always, low, 0.0), "share_high": high}
    return values | _compared(point.share, runs.share, topics.share, point.known, cell_of)


def _compared(
    share: Array, runs: Array, topics: Array, known: Array, cell_of: Array
) -> dict[str, Array]:
    """Return the limits of how far shares are below the largest.

    share, runs, topics: float64 (metric, gain, size, confidence), with groups in front for the replicates.
    known: bool (metric, gain, size, confidence): whether there is a required difference; without any nothing is
        compared.
    cell_of: int64 (metric, gain): number of the cell, so that metrics without gains count once.
    """
    first_of = np.unique(cell_of, return_index=True)[1]
    joint = np.full((2, len(first_of), *share.shape[2:]), np.nan)
    for size, level in np.ndindex(*share.shape[2:]):
        if not known[:, :, size, level].any():
            continue
        parts = [
            each[..., size, level].reshape(*each.shape[:-4], -1)[..., first_of]
            for each in (share, runs, topics)
        ]
        # The same multipliers for every size and confidence.
        random = np.random.Generator(np.random.Philox(key=stream_key(1, names.Purpose.SWAP_LIMITS)))
        # Of the shares, as errors of logits are long-tailed near a share of 0.
        joint[:, :, size, level] = behind_best(parts[0], Replicates(*parts[1:]), random)
    names_of = ("share_behind_low", "share_behind_high")
    return {name: each[cell_of] for name, each in zip(names_of, joint, strict=True)}


def _logit(share: Array) -> Array:
    return np.asarray(np.log((share + SHARE_FLOOR) / (1 - share + SHARE_FLOOR)))


def _share(logit: Array) -> Array:
    odds = np.exp(logit)
    return np.asarray(np.clip((odds * (1 + SHARE_FLOOR) - SHARE_FLOOR) / (1 + odds), 0.0, 1.0))


def by_group(totals: Inputs, cube: xr.Dataset) -> tuple[Array, Array]:
    """Return the counts (group, metric, gain, size, place), those of all runs first, and (group, half, ...)."""
    cell_of = cells(cube)[1]
    of_runs = np.moveaxis(totals["by_run_group"], (2, 1), (0, 1))[:, cell_of]
    of_topics = np.moveaxis(totals["by_topic_group"], 3, 2)[:, :, cell_of]
    return of_runs, of_topics
