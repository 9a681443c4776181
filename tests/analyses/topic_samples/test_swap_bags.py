"""The swap method on more topics than are drawn one by one: whole bags, as plain NumPy counts them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import scorecube as sc

N_TOPICS, N_RUNS, TRIALS, WIDTH = 1500, 4, 60, 0.005


@pytest.mark.parametrize("sampling", ["disjoint", "replacement"])
def test_bags_are_drawn_whole_and_weighted_by_their_topics(sampling: str) -> None:
    chance = np.random.default_rng(3)
    scores = np.round(chance.beta(1.2, 2, (N_RUNS, N_TOPICS)), 4) * 0.9
    scores += 0.01 * np.arange(N_RUNS)[:, np.newaxis]
    runs = [f"r{k}" for k in range(N_RUNS)]
    topics = [f"{k:05d}" for k in range(N_TOPICS)]
    cube = sc.cube_from_scores({"AP": pd.DataFrame(scores, runs, topics)})
    swap = sc.Swap(size=600, bin_width=WIDTH, sampling=sampling)  # type: ignore[arg-type]
    result = sc.analyse(cube, swap, trials=TRIALS, seed=2)
    assert result["size"].values.tolist() == [600]

    samples = sc.samples(cube, swap, trials=TRIALS, seed=2)
    bag = samples["unit_of_topic"].values
    n_topics = np.bincount(bag)
    assert set(n_topics) == {1, 2}
    sums = np.zeros((N_RUNS, len(n_topics)))
    np.add.at(sums.T, bag, scores.T)
    mean = scores.mean(axis=1, keepdims=True)
    # The mean of draws of these values is the linear form of a ratio: topics weigh the same.
    values = mean + n_topics / n_topics.mean() * (sums / n_topics - mean)
    n_bins = result.sizes["bin"]
    count, swaps = np.zeros((2, n_bins), int)
    for halves in samples["topic_sample"].values:
        one, other = (values[:, half].mean(axis=1) for half in halves)
        for a, b in combinations(range(N_RUNS), 2):
            place = min(int(abs(one[a] - one[b]) / WIDTH), n_bins - 1)
            count[place] += 1
            swaps[place] += (one[a] - one[b]) * (other[a] - other[b]) < 0
    np.testing.assert_array_equal(result["count"].values.squeeze(), count)
    np.testing.assert_array_equal(result["swaps"].values.squeeze(), swaps)
