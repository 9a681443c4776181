"""Tables of topics and the heat map: plain oracles, exhaustive search, and pictures that can be read."""

from __future__ import annotations

import itertools
import math
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr
from matplotlib.backends.backend_agg import FigureCanvasAgg

import scorecube as sc
from scorecube.analyses.score_facts import order
from scorecube.analyses.topic_samples.subsets import RANDOM_SUBSETS, topic_subsets
from scorecube.report.figures.canvas import drawn
from scorecube.report.scores import heat_map
from scorecube.testing import simulate_cube
from scorecube.workflow.api import cube_from_scores

if TYPE_CHECKING:
    from tests.conftest import Cli

Scores = list[list[float]]


def cube_of(scores: Any) -> xr.Dataset:
    labels = [f"r{k}" for k in range(len(scores))], [f"t{k}" for k in range(len(scores[0]))]
    return cube_from_scores({"AP": pd.DataFrame(scores, *labels)})


def small(n_runs: int = 6, n_topics: int = 7, seed: int = 1) -> Scores:
    """Scores on a grid of tenths, with zeros, ties, two runs of equal means, and a constant difference."""
    chance = np.random.default_rng(seed)
    scores = (chance.integers(0, 7, (n_runs, n_topics)) / 10).tolist()
    scores[1] = list(reversed(scores[0]))
    scores[3] = [round(value + 0.1, 1) for value in scores[2]]
    return [[float(value) for value in row] for row in scores]


def test_hardest_topics_stand_first() -> None:
    scores = small()
    scores[2][4] = math.nan
    for row, above in itertools.pairwise(sc.table(cube_of(scores), "topics").to_dict("records")):
        assert row["mean"] <= above["mean"]
    for row in sc.table(cube_of(scores), "topics").to_dict("records"):
        topic = int(row["topic"][1:])
        column = [run[topic] for run in scores if not math.isnan(run[topic])]
        assert row["mean"] == pytest.approx(statistics.fmean(column))
        assert row["sd"] == pytest.approx(statistics.stdev(column))
        assert row["zero_share"] == sum(value == 0 for value in column) / len(column)
        assert row["n_runs"] == len(column)
        assert row["best_score"] == max(column) == scores[int(row["best_run"][1:])][topic]


def contributions(scores: Scores) -> dict[int, tuple[float, int, int, int]]:
    """Return for each topic its contribution, and the pairs it favours, opposes, and all: pair by pair."""
    n = len(scores[0])
    total, favours, opposes, pairs = [0.0] * n, [0] * n, [0] * n, 0
    for x, y in itertools.combinations(scores, 2):
        z = [round(10 * (a - b)) for a, b in zip(x, y, strict=True)]
        if sum(z) == 0 or len(set(z)) == 1:
            continue
        z = z if sum(z) > 0 else [-value for value in z]
        pairs += 1
        for topic, value in enumerate(z):
            total[topic] += value / statistics.stdev(z)
            favours[topic] += value > 0
            opposes[topic] += value < 0
    return {k: (total[k] / pairs, favours[k], opposes[k], pairs) for k in range(n)}


@pytest.mark.parametrize("seed", range(4))
def test_separation_is_that_of_all_pairs(seed: int) -> None:
    scores = small(seed=seed)
    table, expected = sc.table(cube_of(scores), "separation"), contributions(scores)
    assert table["contribution"].is_monotonic_decreasing
    assert table["share"].sum() == pytest.approx(1)
    d_z = []
    for x, y in itertools.combinations(scores, 2):
        z = [a - b for a, b in zip(x, y, strict=True)]
        if abs(sum(z)) > 1e-9 and max(z) - min(z) > 1e-9:
            d_z.append(abs(statistics.fmean(z)) / statistics.stdev(z))
    assert table["contribution"].mean() == pytest.approx(statistics.fmean(d_z))
    for row in table.to_dict("records"):
        topic = int(row["topic"][1:])
        contribution, favours, opposes, pairs = expected[topic]
        assert row["contribution"] == pytest.approx(contribution)
        assert (row["favours"], row["opposes"], row["pairs"]) == (favours, opposes, pairs)
        here = [run[topic] for run in scores]
        rest = [math.fsum(run[:topic] + run[topic + 1 :]) for run in scores]
        tau = scipy.stats.kendalltau(here, np.round(rest, 9)).statistic
        assert row["tau_rest"] == pytest.approx(tau, abs=1e-9)


def test_separation_of_runs_without_differences_is_missing() -> None:
    table = sc.table(cube_of([[0.5, 0.25], [0.5, 0.25]]), "separation")
    assert table["contribution"].isna().all()
    assert table["pairs"].tolist() == [0, 0]


@pytest.mark.parametrize("large", [2.0**33, 2.0**39])
def test_tables_of_topics_do_not_depend_on_what_all_runs_share(large: float) -> None:
    """Scores that all runs have more on a topic change no difference; on one grid with it, all would be equal."""
    scores = np.random.default_rng(3).integers(0, 2**7, (6, 40)) / 2**7
    shared = scores + large * (np.arange(40) == 5)
    for table in ("separation", "subsets"):
        found, expected = (sc.table(cube_of(each), table) for each in (shared, scores))
        pd.testing.assert_frame_equal(found, expected)
    found, expected = (
        sc.table(cube_of(np.where(scores == scores[0, 1], np.nan, each)), "separation")
        for each in (scores * 2.0**-30, scores)
    )
    pd.testing.assert_frame_equal(found, expected)


def test_topics_that_sums_cannot_hold_are_refused() -> None:
    scores = np.random.default_rng(3).random((6, 400))
    scores[0, 0] = 1e12
    for table in ("separation", "subsets"):
        with pytest.raises(sc.ScorecubeError, match="sums over 400 topics cannot hold both"):
            sc.table(cube_of(scores), table)


def tau_of(scores: Scores, topics: Any) -> float:
    """Return Kendall's tau of sums over some topics and over all."""
    found, pairs = 0, 0
    for x, y in itertools.combinations(scores, 2):
        part = sum(round(10 * x[t]) - round(10 * y[t]) for t in topics)
        whole = sum(round(10 * a) - round(10 * b) for a, b in zip(x, y, strict=True))
        found += int(np.sign(part) * np.sign(whole))
        pairs += 1
    return found / pairs


def greedy(scores: Scores, sign: int, *, add: bool) -> dict[int, tuple[float, list[int]]]:
    """Return the subsets of one greedy search, step by step."""
    n = len(scores[0])
    chosen: list[int] = [] if add else list(range(n))
    found = {} if add else {n: (tau_of(scores, chosen), chosen)}
    while len(chosen) < n if add else len(chosen) > 1:
        moves = [t for t in range(n) if (t not in chosen) == add]
        options = [sorted({*chosen} ^ {t}) for t in moves]
        chosen = max(options, key=lambda each: sign * tau_of(scores, each))
        found[len(chosen)] = (tau_of(scores, chosen), chosen)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_subsets_are_those_of_the_greedy_search_and_within_all_subsets(seed: int) -> None:
    scores = small(seed=seed)
    found, n = topic_subsets(np.array(scores)), 7
    for sign, values, topics in ((1, found["best"], found["best_topics"]), (-1, found["worst"], found["worst_topics"])):  # fmt: skip
        searches = [greedy(scores, sign, add=add) for add in (True, False)]
        for size in range(1, n + 1):
            expected = max((each[size] for each in searches), key=lambda each: sign * each[0])
            by_chance = sign * (sign * found["random"][:, size - 1]).max()
            if sign * by_chance > sign * expected[0] + 1e-12:
                assert values[size - 1] == pytest.approx(by_chance)
            else:
                assert values[size - 1] == pytest.approx(expected[0])
                assert topics[size - 1] == expected[1]
            assert tau_of(scores, topics[size - 1]) == pytest.approx(values[size - 1])
            every = [tau_of(scores, each) for each in itertools.combinations(range(n), size)]
            assert min(every) - 1e-12 <= values[size - 1] <= max(every) + 1e-12
    assert found["random"].shape == (RANDOM_SUBSETS, n)
    for size in range(1, n + 1):
        every = [tau_of(scores, each) for each in itertools.combinations(range(n), size)]
        margin = 4 * statistics.pstdev(every) / math.sqrt(RANDOM_SUBSETS) + 1e-12
        assert found["random"][:, size - 1].mean() == pytest.approx(statistics.fmean(every), abs=margin)  # fmt: skip
        assert set(np.round(found["random"][:, size - 1], 9)) <= set(np.round(every, 9))


def test_the_table_of_subsets_names_topics_and_repeats() -> None:
    cube = simulate_cube(n_runs=8, seed=3, metrics=("AP",)).isel(topic=slice(12))
    table = sc.table(cube, "subsets")
    assert table["size"].tolist() == list(range(1, 13))
    assert (table["worst"] <= table["random_low"]).all()
    assert (table["best"] >= table["random_high"]).all()
    assert [len(str(each).split()) for each in table["best_topics"]] == table["size"].tolist()
    pd.testing.assert_frame_equal(table, sc.table(cube, "subsets"))


def test_a_search_of_too_many_runs_or_with_missing_scores_is_refused() -> None:
    with pytest.raises(sc.ScorecubeError, match=r"5000 runs and 50 topics are too many"):
        topic_subsets(np.zeros((5000, 50)))
    with pytest.raises(sc.ScorecubeError, match="1 are missing"):
        topic_subsets(np.array([[0.1, np.nan], [0.2, 0.3]]))


def test_the_heat_map_is_sorted_both_ways_and_labels_do_not_overlap() -> None:
    scores = np.array(small())
    runs, topics = order(scores)
    assert (np.diff(scores.mean(axis=1)[runs]) <= 0).all()
    assert (np.diff(scores.mean(axis=0)[topics]) <= 0).all()
    for n_runs, n_topics in ((2, 2), (126, 50), (600, 250)):
        figure = drawn(
            heat_map, cube_of(np.random.default_rng(1).random((n_runs, n_topics)).tolist())
        )
        canvas = FigureCanvasAgg(figure)
        canvas.draw()  # type: ignore[no-untyped-call]
        axes, renderer = figure.axes[0], canvas.get_renderer()  # type: ignore[no-untyped-call]
        boxes = [label.get_window_extent(renderer) for label in axes.get_yticklabels()]
        assert all(below.y1 <= above.y0 + 0.5 for above, below in itertools.pairwise(boxes))
        boxes = [label.get_window_extent(renderer) for label in axes.get_xticklabels()]
        assert all(left.x1 <= right.x0 + 0.5 for left, right in itertools.pairwise(boxes))
        if n_runs == 126:
            assert len(axes.get_yticklabels()) == 126
            assert len(axes.get_xticklabels()) == 50


def test_topics_stand_in_natural_order() -> None:
    cube = sc.cube_from_scores(
        np.arange(6.0).reshape(2, 3), runs=["a", "b"], topics=["10", "2", "t1"]
    )
    cells = sc.table(cube, "cells")
    assert cells["topic"].tolist() == ["2", "10", "t1"] * 2
    assert cells["score"].tolist() == [1, 0, 2, 4, 3, 5]


def test_commands_show_and_draw(scorecube: Cli, study: Path, tmp_path: Path) -> None:
    for table in ("topics", "separation", "subsets"):
        done = scorecube("show", study, "scores", "--table", table, "--metrics", "AP").succeeded()
        assert ("chosen after the fact" in done.stderr) == (table == "subsets")
        assert "AP" in done.stdout
        assert "nDCG" not in done.stdout
    out = tmp_path / "map.svg"
    scorecube("figure", study, "scores", "--metrics", "AP", "--out", out).succeeded()
    text = out.read_text()
    assert "AP: runs by mean" in text
    assert "nDCG@10: runs" not in text
    refused = scorecube("figure", study, "scores", "--metrics", "XYZ", "--out", out)
    assert refused.status == 1
    assert "no metric 'XYZ'" in refused.stderr


@pytest.mark.data
def test_few_good_topics_of_trec_8(data: Path) -> None:
    """As Guiver et al. 2009 found: a few good topics rank like many random ones, and as many bad ones do not."""
    scores = pd.read_csv(data / "adhoc8/ap.csv").to_numpy(float).T
    found = topic_subsets(scores)
    print([f"{k}: {found['best'][k - 1]:.3f} {found['random'][:, k - 1].mean():.3f} {found['worst'][k - 1]:.3f}" for k in (5, 10, 20, 30)])  # fmt: skip
    assert found["best"][9] > found["random"][:, 19].mean()
    assert found["worst"][9] < 0.55
