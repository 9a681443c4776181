"""Topic groups: scores of groups against plain cluster-robust formulas; inputs, refusals and what results say."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr

import scorecube as sc
from tests.conftest import Cli

SIZES = (3, 1, 6, 2, 5, 4, 4, 1, 2)


def grouped(sizes: tuple[int, ...] = SIZES, n_runs: int = 5) -> xr.Dataset:
    """Return scores of two metrics on topics in groups of the sizes, in mixed order."""
    chance = np.random.default_rng(3)
    groups = chance.permutation(np.repeat(np.arange(len(sizes)), sizes))
    topics = [f"t{k:02d}" for k in range(len(groups))]
    frames = {
        metric: pd.DataFrame(
            chance.random((n_runs, len(sizes)))[:, groups] + chance.random((n_runs, len(groups))),
            [f"r{j}" for j in range(n_runs)],
            topics,
        )
        for metric in ("x", "y")
    }
    labels = dict(zip(topics, (f"g{k}" for k in groups), strict=True))
    return sc.cube_from_scores(frames, topic_groups=labels)


def cluster_robust(scores: list[float], groups: list[str]) -> tuple[float, float]:
    """Return the mean over topics and its cluster-robust standard error, in plain Python (Liang and Zeger 1986 with the factor G / (G - 1))."""
    n, names = len(scores), sorted(set(groups))
    mean = math.fsum(scores) / n
    sums = [
        math.fsum(score - mean for score, own in zip(scores, groups, strict=True) if own == name)
        for name in names
    ]
    return mean, math.sqrt(len(names) / (len(names) - 1) * math.fsum(each**2 for each in sums)) / n


def group_scores(scores: Any, groups: list[str]) -> Any:
    """Return scores of groups whose mean is that of the topics, and whose standard error is cluster-robust."""
    names, mean = sorted(set(groups)), scores.mean()
    sums = [scores[np.array(groups) == name].sum() for name in names]
    sizes = [groups.count(name) for name in names]
    return mean + len(names) / len(groups) * (np.array(sums) - np.array(sizes) * mean)


def test_p_values_are_those_of_the_cluster_robust_t_test() -> None:
    cube = grouped()
    found = sc.analyse(cube, sc.Paired(tests=("t",)))["p_value"].isel(metric=0, gain=0, test=0)
    labels = list(map(str, cube["topic_group"].values))
    scores = cube["score"].values[0, 0]
    runs = cube["run"].values.tolist()
    freedom = len(SIZES) - 1
    for k, (a, b) in enumerate(zip(found["run_a"].values, found["run_b"].values, strict=True)):
        difference = scores[runs.index(a)] - scores[runs.index(b)]
        mean, error = cluster_robust(difference.tolist(), labels)
        p = 2 * scipy.stats.t.sf(abs(mean) / error, freedom)
        assert found.values[k] == pytest.approx(p, rel=1e-6)


def test_equal_groups_are_analysed_as_their_means() -> None:
    cube = grouped((4,) * 6)
    means = cube.drop_vars("topic_group").groupby(cube["topic_group"]).mean("topic")
    labels = [f"g{k}" for k in range(6)]
    plain = sc.cube_from_scores(
        {
            str(metric): pd.DataFrame(values[0], cube["run"].values, labels)
            for metric, values in zip(
                cube["metric"].values,
                means["score"].transpose("metric", "gain", "run", ...).values,
                strict=True,
            )
        }
    )
    for analysis in (sc.MaxT(), sc.Bootstrap(), sc.Randomisation(), sc.Swap(), sc.Reliability()):
        ours, theirs = (sc.analyse(each, analysis, trials=100, seed=2) for each in (cube, plain))
        for name, array in ours.data_vars.items():
            if array.dtype.kind in "fiu":
                np.testing.assert_allclose(array.values, theirs[name].values, rtol=1e-9, atol=1e-12)


def test_design_and_variances_count_groups() -> None:
    cube = grouped()
    assert sc.variances(cube).attrs["n_topics"] == len(SIZES)
    labels = list(map(str, cube["topic_group"].values))
    of_runs = [group_scores(scores, labels) for scores in cube["score"].values[0, 0]]
    expected = np.var(of_runs, axis=-1, ddof=1).mean()
    assert float(sc.variances(cube)["within_variance"][0, 0]) == pytest.approx(expected, rel=1e-12)


LONG = "model,item,accuracy\n" + "".join(
    f"{model},{talk}_{turn},{(7 * talk + 3 * turn + place * talk) % 11 / 10}\n"
    for place, model in enumerate("abc", 1)
    for talk in range(1, 7)
    for turn in range(1, 4)
)
GROUPS = "topic,topic_group\n" + "".join(
    f"{talk}_{turn},talk {talk}\n" for talk in range(1, 7) for turn in range(1, 4)
)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, str]:
    scores, groups = tmp_path / "long.csv", tmp_path / "groups.csv"
    scores.write_text(LONG)
    groups.write_text(GROUPS)
    return str(scores), str(groups), str(tmp_path / "study.zarr")


def test_groups_from_a_file_are_kept_in_the_study(
    files: tuple[str, str, str], scorecube: Cli
) -> None:
    scores, groups, study = files
    result = scorecube("import", study, "--name", "x", scores, "--topic-groups", groups)
    assert result.stderr.count("note: ") == 0
    cube = sc.open_study(study)["x"].cube
    assert cube["topic_group"].sel(topic="3_2").item() == "talk 3"
    options = (study, "--seed", "1", "--trials", "200")
    assert re.search(r"\b18 \w+ in 6\b", scorecube("leaderboard", *options).stderr)
