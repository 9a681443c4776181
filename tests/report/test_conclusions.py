"""What sentences conclude, and under which conditions: each of these was said too boldly once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.base import Analysis
from scorecube.errors import BadPlan
from scorecube.report.results import headline
from scorecube.report.views import view_of
from scorecube.testing import simulate_cube


def said(cube: xr.Dataset, analysis: Analysis, trials: int = 200) -> str:
    return " ".join(headline(sc.analyse(cube, analysis, trials=trials, seed=1)))


def binary(n_topics: int) -> xr.Dataset:
    scores = np.random.default_rng(2).integers(0, 2, (6, n_topics)).astype(float)
    labels = [f"r{k}" for k in range(6)], [f"t{k}" for k in range(n_topics)]
    return sc.cube_from_scores({"Success@5": pd.DataFrame(scores, *labels)})


def test_all_pairs_together_is_said_of_each_metric() -> None:
    """Any of three metrics errs in .148."""
    cube = simulate_cube(n_runs=8, seed=1)
    assert "all pairs of a metric together" in said(cube, sc.MaxT())


def test_paired_leads_with_the_test_that_was_asked_first() -> None:
    cube = simulate_cube(n_runs=8, seed=1)
    for tests, first in ((("t", "wilcoxon", "sign"), "t test"), (("sign", "t"), "sign test")):
        sentences = headline(sc.analyse(cube, sc.Paired(tests=tests)))  # type: ignore[arg-type]
        assert first in sentences[0], sentences
        assert f"the first of {len(tests)} made" in " ".join(sentences), sentences


def test_the_power_of_a_design_is_that_of_the_estimated_variance() -> None:
    cube = simulate_cube(n_runs=8, seed=1)
    sizes = sc.topic_set_size(sc.variances(cube))
    assert "if the variance is the true one" in sizes["power"].attrs["long_name"]
    assert "or less in one design of 20" in view_of("design").about


@pytest.mark.parametrize(
    "analysis", [sc.MaxT(), sc.Ranks(), sc.Leaderboard(), sc.Bootstrap(), sc.Paired()]
)
def test_binary_scores_of_few_topics_are_refused_or_warned_of(analysis: Analysis) -> None:
    """Families of pairs of runs with equal means erred in .22 to .88 with 3 to 5 topics."""
    for n_topics in (3, 5):
        with pytest.raises(BadPlan, match="scores 0 and 1"):
            sc.analyse(binary(n_topics), analysis, trials=50)
    warnings = sc.analyse(binary(8), analysis, trials=50).attrs["warnings"]
    assert any("scores 0 and 1 of 8 topics" in each for each in warnings), warnings
    warnings = sc.analyse(binary(11), analysis, trials=50).attrs["warnings"]
    assert not any("scores 0 and 1" in each for each in warnings)


@pytest.mark.parametrize("n_topics", [12, 50])
def test_measured_error_rates_have_their_conditions(n_topics: int) -> None:
    """Rates are known of 50 topics: what is said of other numbers names them, and that 25 are the fewest."""
    cube = simulate_cube(n_runs=8, seed=1).isel(topic=slice(n_topics))
    result = sc.analyse(cube, sc.MaxT(), trials=200, seed=1)
    text = " ".join([*headline(result), *result.attrs["warnings"]])
    assert ("with 50 topics: 0.05 to 0.08" in text) == (n_topics >= 25)
    assert ("with fewer than 25 the family-wise error rate is not known" in text) == (n_topics < 25)


def test_no_difference_names_pairs_that_their_own_error_would_separate() -> None:
    """Five variants of a baseline, each .01 better with a paired standard deviation of .02, beside ten other systems: max-T finds none."""
    chance = np.random.default_rng(3)
    baseline = 0.3 + 0.2 * chance.standard_normal(50)
    variants = baseline + 0.01 + 0.02 * chance.standard_normal((5, 50))
    others = 0.3 + 0.2 * chance.standard_normal((10, 50))
    scores = np.concatenate([[baseline], variants, others])
    labels = [f"r{k:02d}" for k in range(16)], [f"t{k:02d}" for k in range(50)]
    cube = sc.cube_from_scores({"M": pd.DataFrame(scores, *labels)})
    for analysis in (sc.MaxT(), sc.Leaderboard()):
        text = said(cube, analysis, 1000)
        assert "by their own standard errors alone (t tests, Holm)" in text
        assert "more pairs would be separated" in text
