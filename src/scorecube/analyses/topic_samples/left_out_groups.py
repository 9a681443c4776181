"""Groups of topics and of runs that are left out in turn, for intervals about the population of collections.

The interval is computed by `scorecube.statistics.population_interval` from the replicates that each leave out one group.
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
FIRST_OF_GROUPS = 2**40
"""Trial whose words assign topics to groups; earlier trials draw the samples of one half of the runs."""


def n_replicates(n_topics: int, n_runs: int, groups: int) -> int:
    """Return the number of inputs that `left_out` yields."""
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
    found = []
    for trial, n in enumerate((n_topics, n_runs), start=FIRST_OF_GROUPS):
        group = np.empty(n, np.int64)
        order = topic_samples(key, int(Sampling.INDEPENDENT), n, n, trial, trial + 1)[0, 0]
        group[order] = np.arange(n) % min(groups, n)
        found.append(group)
    return found[0], found[1]


def kept_size(sampling: str, size: int, n_topics: int, groups: int) -> int:
    """Return the sample size without a group of topics: `size`, or the largest possible."""
    left = n_topics - -(-n_topics // min(groups, n_topics))
    return {"disjoint": min(size, left // 2), "independent": min(size, left), "replacement": size}[sampling]


def group_inputs(inputs: Mapping[str, Array], seed: int, groups: int, sampling: str, grids: list[Grid]) -> Arrays:
    """Return the inputs of `left_out` in addition to those of all topics and runs."""
    _, n_runs, n_topics = (int(number) for number in inputs["shape"])
    topics, runs = random_groups(seed, n_topics, n_runs, groups)
    sizes = [kept_size(sampling, grid.size, n_topics, groups) for grid in grids]
    kept = [Grid(size, grid.width, grid.bits) for size, grid in zip(sizes, grids, strict=True)]
    return {
        "topic_groups": topics, "run_groups": runs, "kept_sizes": np.array(sizes),
        "other_key": stream_key(seed, names.Purpose.SWAP_GROUPS),
        "kept_tolerances": np.array([grid.tolerance for grid in kept]),
        "kept_scales": np.repeat([scales(grid) for grid in kept], n_runs, axis=1),
    }  # fmt: skip


def left_out(inputs: Mapping[str, Array]) -> Iterator[Arrays]:
    """Yield inputs without one group: of topics, for each half of the runs, then of runs.

    The halves have different trials, so that they have only topics in common.
    """
    n_cells, n_runs, n_topics = (int(number) for number in inputs["shape"])
    groups, halves = inputs["run_groups"], inputs["run_groups"] % 2
    whole, fewer = (
        (inputs["sizes"], inputs["tolerances"], inputs["scales"]),
        tuple(inputs[f"kept_{name}"] for name in PER_SIZE),
    )
    choices = [
        (inputs["topic_groups"] != group, halves == half, fewer, inputs["other_key" if half else "key"])
        for group in range(int(inputs["topic_groups"].max()) + 1)
        for half in range(2)
    ]
    choices += [
        (np.ones(n_topics, bool), groups != group, whole, inputs["key"]) for group in range(int(groups.max()) + 1)
    ]
    scores = inputs["scores"].reshape(n_topics, n_cells, n_runs)
    for topics, runs, (sizes, tolerances, units), key in choices:
        some, units = scores[topics][:, :, runs], units.reshape(-1, n_cells, n_runs)[:, :, runs]
        yield dict(inputs) | {
            "scores": np.ascontiguousarray(some.reshape(len(some), -1)), "scales": units.reshape(len(units), -1), "key": key,
            "shape": np.array([n_cells, int(runs.sum()), len(some)]), "sizes": sizes, "tolerances": tolerances,
        }  # fmt: skip
