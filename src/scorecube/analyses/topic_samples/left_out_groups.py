"""Groups of topics and teams that are left out in turn, for intervals about other topics and runs.

Each replicate leaves out one group; `scorecube.statistics.population_interval` and
`scorecube.statistics.replicate_limits` compute intervals from the replicates.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Array, Arrays, Inputs
from scorecube.collection.teams import units_of_runs
from scorecube.kernels.random.draws import Sampling, topic_samples
from scorecube.statistics.integer_grid import Grid

PER_SIZE = ("sizes", "tolerances", "scales")
GROUP_TRIAL = 2**40
"""Trial whose random words assign topics to groups, the next one runs; earlier trials draw samples of half of the runs."""


def n_replicates(topic_groups: int, run_groups: int) -> int:
    """Return the number of replicates: of inputs that `topics_left_out` and `runs_left_out` yield."""
    return 2 * topic_groups + run_groups


def n_groups(cube: xr.Dataset, most: int, kind: str) -> tuple[int, int]:
    """Return the numbers of groups of topics, and of teams or runs, if there are at most so many."""
    n_units = int(units_of_runs(cube, kind).max()) + 1
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
    >>> topics, runs = random_groups(stream_key(1, names.Purpose.SWAP_GROUPS), 6, np.arange(4), (3, 3))
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


def kept_size(sampling: str, size: int, n_topics: int, groups: int) -> int:
    """Return the sample size without a group of topics: at most `size`."""
    n_kept = n_topics - -(-n_topics // min(groups, n_topics))
    return {
        "disjoint": min(size, n_kept // 2),
        "independent": min(size, n_kept),
        "replacement": size,
    }[sampling]


def group_inputs(
    key: Array,
    cube: xr.Dataset,
    groups: tuple[int, int],
    sampling: str,
    grids: list[Grid],
    kind: str,
) -> Arrays:
    """Return the arrays that `topics_left_out` and `runs_left_out` read in addition to those of all topics and runs.

    key: Of the random words for groups, and for the samples of one half of the runs.
    groups: Numbers of groups of topics and of runs.
    sampling, grids: Sampling, and grid of each size.
    kind: What is left out: ``teams`` or ``runs``.
    """
    n_runs, n_topics = cube.sizes[names.RUN], cube.sizes[names.TOPIC]
    topic_groups, run_groups = random_groups(key, n_topics, units_of_runs(cube, kind), groups)
    sizes = [kept_size(sampling, grid.size, n_topics, groups[0]) for grid in grids]
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
            yield _part(inputs, inputs["topic_groups"] != group, halves == half, "kept_", key)


def runs_left_out(inputs: Inputs) -> Iterator[Arrays]:
    """Yield inputs without each group of runs."""
    every_topic = np.ones(len(inputs["topic_groups"]), bool)
    for group in range(int(inputs["run_groups"].max()) + 1):
        yield _part(inputs, every_topic, inputs["run_groups"] != group, "", inputs["key"])


def _part(inputs: Inputs, topics: Array, runs: Array, prefix: str, key: Array) -> Arrays:
    """Return the inputs of some topics and runs; sizes, tolerances and scales have the prefix."""
    n_cells, n_runs, n_topics = (int(length) for length in inputs["shape"])
    sizes, tolerances, scales_of_all = (inputs[prefix + name] for name in PER_SIZE)
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
