"""Variances of scores and designs of collections: the formula written out, analysis of variance by statsmodels, limits, gaps."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy
import statsmodels.api as sm
import xarray as xr
from statsmodels.formula.api import ols

import scorecube as sc
from scorecube.analyses.topic_units import groups_left_out
from scorecube.errors import BadPlan
from scorecube.methods.design.estimates import design_of_cube, page_design, widths_of_cube
from scorecube.methods.design.sizes import topic_set_size
from scorecube.statistics.variance import components, within_system_variance
from scorecube.testing import simulate_cube
from tests.conftest import Cli, matrices
from tests.oracles import design as oracle


def scores_of(n_runs: int = 4, n_topics: int = 9, seed: int = 1) -> Any:
    random = np.random.default_rng(seed)
    effects = random.random(n_topics) + 0.3 * random.random((n_runs, 1))
    return random.random((n_runs, n_topics)) + effects


def residual_variance(scores: Any) -> Any:
    return components(scores)[-1]


def test_variances_are_those_of_the_loops() -> None:
    scores = scores_of()
    within, residual = float(within_system_variance(scores)), float(residual_variance(scores))
    assert within == pytest.approx(oracle.within_variance(scores.tolist()), rel=1e-13)
    assert residual == pytest.approx(oracle.residual_variance(scores.tolist()), rel=1e-12)


def test_variances_are_the_mean_squares_of_statsmodels() -> None:
    scores = scores_of(seed=5)
    runs, topics = np.indices(scores.shape)
    columns = {"x": scores.ravel(), "run": runs.ravel(), "topic": topics.ravel()}
    for formula, ours in (
        ("x ~ C(run)", within_system_variance),
        ("x ~ C(run) + C(topic)", residual_variance),
    ):
        row = sm.stats.anova_lm(ols(formula, pd.DataFrame(columns)).fit()).loc["Residual"]
        assert float(ours(scores)) == pytest.approx(row["sum_sq"] / row["df"], rel=1e-10)


def test_missing_scores_are_refused_or_their_topics_dropped() -> None:
    cube = simulate_cube(n_runs=5, seed=2)
    cube["score"][0, 0, 1, 3] = np.nan
    for estimate in (sc.variances, design_of_cube, widths_of_cube):
        with pytest.raises(BadPlan, match="missing"):
            estimate(cube)
    found = sc.variances(cube, "drop")
    complete = sc.variances(cube.drop_isel(topic=3))
    np.testing.assert_array_equal(found["within_variance"], complete["within_variance"])
    assert "49 of 50" in found.attrs["notes"][0]


def test_limits_leave_out_each_group_of_topics() -> None:
    cube = simulate_cube(n_runs=8, seed=2).isel(metric=[0])
    group, scores = groups_left_out([cube.sizes["topic"]]), cube["score"].values[0, 0]
    found = sc.variances(cube).isel(metric=0, gain=0)
    for name, estimate in (("within_variance", within_system_variance), ("paired_variance", residual_variance)):  # fmt: skip
        logs = np.log([float(estimate(scores[:, group != k])) for k in range(10)])
        factor = math.exp(scipy.stats.t.ppf(0.975, 9) * math.sqrt(9 * logs.var()))
        value = float(estimate(scores))
        assert float(found[name]) == pytest.approx(value, rel=1e-12)
        limits = [float(found[f"{name}_{end}"]) for end in ("low", "high")]
        assert limits == pytest.approx([value / factor, value * factor], rel=1e-9)


def test_designs_of_collections_are_sizes_of_variances_and_of_their_limits() -> None:
    cube = simulate_cube(n_runs=8, seed=2)
    found, sizes = sc.variances(cube), design_of_cube(cube, min_diff=0.15, systems=5)
    for end in ("", "_low", "_high"):
        paired = topic_set_size(
            found[f"paired_variance{end}"], 0.15, systems=5, variance_of="paired"
        )
        np.testing.assert_array_equal(sizes[f"topics{end}"], paired["topics"])
    assert (sizes["topics_low"] <= sizes["topics"]).all()
    assert (sizes["topics"] <= sizes["topics_high"]).all()


def test_costs_have_a_design_for_a_stated_difference_only(scorecube: Cli, tmp_path: Path) -> None:
    """The default is about scores from 0 to 1; pages said so, the command printed numbers."""
    scores = {"perplexity": {f"s{k}": {f"q{n}": k + n % 7 for n in range(9)} for k in range(3)}}
    both = scores | {
        "AP": {f"s{k}": {f"q{n}": n % (k + 2) / 4 for n in range(9)} for k in range(3)}
    }
    study = sc.open_study(tmp_path / "s", mode="a")
    cube = sc.cube_from_scores(both)
    study.add("a", cube=cube)
    page = page_design(cube, "a")
    assert page is not None
    for design in (page, sc.analyse(cube, sc.Design())):
        assert design["metric"].values.tolist() == ["AP"]
        assert any("perplexity" in note and "min_diff" in note for note in design.attrs["notes"])
    assert page_design(cube.sel(metric=["perplexity"]), "a") is None
    refused = scorecube("design", study.path, "--metrics", "perplexity")
    assert refused.status == 1
    assert "--min-diff" in refused.stderr
    stated = sc.analyse(cube, sc.Design(min_diff=0.5))
    assert stated["metric"].size == 2


def test_equal_runs_and_few_topics_have_no_limits() -> None:
    cube = simulate_cube(n_runs=3, seed=3)
    few = design_of_cube(cube.isel(topic=slice(24)))
    assert few["topics_low"].isnull().all()
    assert (few["topics"] > 2).all()
    scores = np.repeat(cube["score"].values[..., :1, :], 3, axis=2)
    equal = design_of_cube(cube.assign(score=(cube["score"].dims, scores)))
    assert equal["topics"].isnull().all()


def test_paired_sizes_have_the_power_of_the_two_way_test() -> None:
    variance, systems, difference = 0.04, 5, 0.15
    n = int(topic_set_size(variance, difference, systems=systems, variance_of="paired")["topics"])
    random, rejected, repeats = np.random.default_rng(4), 0, 4000
    effects = np.array([difference / 2, 0, 0, 0, -difference / 2])[:, np.newaxis]
    for _ in range(repeats):
        noise = math.sqrt(variance) * random.standard_normal((systems, n))
        scores = effects + 0.3 * random.standard_normal(n) + noise
        between = n * float(((scores.mean(axis=1) - scores.mean()) ** 2).sum()) / (systems - 1)
        f = between / float(residual_variance(scores))
        rejected += scipy.stats.f.sf(f, systems - 1, (systems - 1) * (n - 1)) < 0.05
    assert abs(rejected / repeats - 0.8) < 4 * math.sqrt(0.16 / repeats) + 0.01


LEVELS = [0.05, 0.1, 0.15, 0.2]
"""Differences to detect and widths of intervals, of which Sakai's tool steps through thousandths."""


def agree(cube: xr.Dataset) -> list[tuple[float, float]]:
    """Check that widths and designs within systems are inverse; return widths by both routes at 25 to 200 topics.

    A design for a difference d asks for the first number of topics whose worst-case width is at most d.
    """
    found = sc.variances(cube)
    for route, method, wanted in (("anova-tool", "anova", "min_diff"), ("ci", "ci", "width")):
        for level in LEVELS:
            how: Any = {"method": method, wanted: level}
            design = design_of_cube(cube, mode="sakai", **how)
            assert design.attrs["variance_of"] == "within"
            for variance, topics in zip(found["within_variance"].values.flat, design["topics"].values.flat, strict=True):  # fmt: skip
                width = sc.wcw(float(variance), [int(topics), max(int(topics) - 1, 2)], route=route)
                at, below = width["width"].values
                assert at <= level + 1e-9
                assert below > level or topics == 2
    routes = sc.wcw(found, [25, 50, 100, 200], route=["anova-tool", "ci"])["width"]
    return [(float(tool), float(ci)) for tool, ci in routes.values.reshape(2, -1).T]


def test_designs_and_widths_agree_as_sakai_proves() -> None:
    """Sakai 2017, section 3: both widths are nearly one, as lambda is nearly 4 z^2 for ten systems."""
    for tool, ci in agree(simulate_cube(n_runs=6, seed=3)):
        assert tool == pytest.approx(ci, rel=0.03)
    paired = design_of_cube(simulate_cube(n_runs=6, seed=3), mode="sakai", variance_of="paired")
    within = design_of_cube(simulate_cube(n_runs=6, seed=3), mode="sakai")
    assert (paired["topics"] < within["topics"]).all()
    assert "equation 1" in within.attrs["notes"][0]
    assert not paired.attrs["notes"]


@pytest.mark.data
@pytest.mark.slow
def test_designs_and_widths_agree_on_every_matrix(data: Path) -> None:
    found = {name: agree(cube) for name, cube in matrices(data)}
    assert len(found) == 22
    assert [
        name for name, of in found.items() for tool, ci in of if abs(tool / ci - 1) > 0.03
    ] == []


def test_a_design_of_identical_runs_says_that_there_is_nothing_to_detect(scorecube: Cli, tmp_path: Path) -> None:  # fmt: skip
    """What is left of equal scores after systems and topics is rounding, and no variance of which two topics are enough."""
    scores = np.tile(np.random.default_rng(1).random(30), (3, 1))
    cube = sc.cube_from_scores({"AP": pd.DataFrame(scores, ["a", "b", "c"])})
    assert sc.variances(cube)["paired_variance"].item() == 0.0
    assert sc.variances(cube)["within_variance"].item() > 0.01
    study = sc.open_study(tmp_path / "s", mode="a")
    study.add("x", cube=cube)
    found = scorecube("design", tmp_path / "s").succeeded()
    assert "no variance" in found.stdout + found.stderr
    rows = json.loads(scorecube("design", tmp_path / "s", "--format", "json").succeeded().stdout)
    assert [row["topics"] for row in rows] == [None]
