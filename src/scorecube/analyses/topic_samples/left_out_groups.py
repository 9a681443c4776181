"""Groups of topics and runs that are left out in turn, for population intervals.

Each replicate leaves out one group; `scorecube.statistics.population_interval` computes the interval from the replicates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from scorecube import names
from scorecube.analyses.base import Arrays
from scorecube.analyses.topic_samples.base import scales
from scorecube.kernels.random.draws import Sampling, topic_samples
from scorecube.kernels.random.philox import stream_key
from scorecube.statistics.integer_grid import Grid

Array = np.ndarray[Any, Any]
PER_SIZE = ("sizes", "tolerances", "scales")
GROUP_TRIAL = 2**40
"""Trial whose random words assign topics to groups, the next one runs; earlier trials draw samples of half of the runs."""


def n_replicates(n_topics: int, n_runs: int, groups: int) -> int:
    """Return the number of replicates, that is of inputs that `left_out` yields."""
    return 2 * min(groups, n_topics) + min(groups, n_runs)


def random_groups(seed: int, n_topics: int, n_runs: int, groups: int) -> tuple[Array, Array]:
    """Return the group of each topic and of each run; their sizes differ by at most 1.

    Examples
    --------
    >>> topics, runs = random_groups(1, 6, 4, groups=3)
    >>> np.bincount(topics).tolist(), np.bincount(runs).tolist()
    ([2, 2, 2], [2, 1, 1])
    """
    key = stream_key(seed, names.Purpose.SWAP_GROUPS)
    topic_groups, run_groups = np.empty(n_topics, np.int64), np.empty(n_runs, np.int64)
    for trial, group_of in enumerate((topic_groups, run_groups), start=GROUP_TRIAL):
        n = len(group_of)
        order = topic_samples(key, int(Sampling.INDEPENDENT), n, n, trial, trial + 1)[0, 0]
        group_of[order] = np.arange(n) % min(groups, n)
    return topic_groups, run_groups


def kept_size(sampling: str, size: int, n_topics: int, groups: int) -> int:
    """Return the sample size without a group of topics: at most `size`."""
    n_kept = n_topics - -(-n_topics // min(groups, n_topics))
    return {
        "disjoint": min(size, n_kept // 2),
        "independent": min(size, n_kept),
        "replacement": size,
    }[sampling]


def group_inputs(
    inputs: Mapping[str, Array], seed: int, groups: int, sampling: str, grids: list[Grid]
) -> Arrays:
    """Return the arrays that `left_out` reads in addition to those of all topics and runs."""
    _, n_runs, n_topics = (int(length) for length in inputs["shape"])
    topic_groups, run_groups = random_groups(seed, n_topics, n_runs, groups)
    sizes = [kept_size(sampling, grid.size, n_topics, groups) for grid in grids]
    kept = [Grid(size, grid.width, grid.bits) for size, grid in zip(sizes, grids, strict=True)]
    return {
        "topic_groups": topic_groups,
        "run_groups": run_groups,
        "kept_sizes": np.array(sizes),
        "other_key": stream_key(seed, names.Purpose.SWAP_GROUPS),
        "kept_tolerances": np.array([grid.tolerance for grid in kept]),
        "kept_scales": np.repeat([scales(grid) for grid in kept], n_runs, axis=1),
    }


def left_out(inputs: Mapping[str, Array]) -> Iterator[Arrays]:
    """Yield inputs without one group: of topics, for each half of the runs, then of runs.

    The halves of the runs have different trials, so that only the topics are common to them.
    """
    n_cells, n_runs, n_topics = (int(length) for length in inputs["shape"])
    groups, halves = inputs["run_groups"], inputs["run_groups"] % 2
    replicates = [
        (
            inputs["topic_groups"] != group,
            halves == half,
            "kept_",
            inputs["other_key" if half else "key"],
        )
        for group in range(int(inputs["topic_groups"].max()) + 1)
        for half in range(2)
    ]
    replicates += [
        (np.ones(n_topics, bool), groups != group, "", inputs["key"])
        for group in range(int(groups.max()) + 1)
    ]
    all_scores = inputs["scores"].reshape(n_topics, n_cells, n_runs)
    for topics, runs, prefix, key in replicates:
        sizes, tolerances, scales_of_all = (inputs[prefix + name] for name in PER_SIZE)
        scores = all_scores[topics][:, :, runs]
        kept_scales = scales_of_all.reshape(-1, n_cells, n_runs)[:, :, runs]
        yield dict(inputs) | {
            "scores": np.ascontiguousarray(scores.reshape(len(scores), -1)),
            "scales": kept_scales.reshape(len(kept_scales), -1),
            "key": key,
            "shape": np.array([n_cells, int(runs.sum()), len(scores)]),
            "sizes": sizes,
            "tolerances": tolerances,
        }
