"""Adjusted p-values against statsmodels, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from scorecube.statistics.paired_tests import adjusted


@pytest.mark.parametrize("length", [1, 2, 30, 1000])
@pytest.mark.parametrize("rounded", [False, True])
def test_holm_adjustments_are_those_of_statsmodels(length: int, rounded: bool) -> None:
    p = np.random.default_rng(length).beta(0.3, 2.0, length)
    p = np.ceil(p * 50) / 50 if rounded else p
    np.testing.assert_array_equal(adjusted(p, "holm"), multipletests(p, method="holm")[1])


@pytest.mark.parametrize("length", [1, 30, 1000])
def test_benjamini_hochberg_adjustments_are_those_of_statsmodels(length: int) -> None:
    p = np.random.default_rng(length).beta(0.3, 2.0, length)
    np.testing.assert_allclose(adjusted(p, "bh"), multipletests(p, method="fdr_bh")[1], rtol=1e-12)


@pytest.mark.parametrize("method", ["none", "holm", "bh"])
def test_missing_p_values_stay_missing_and_do_not_count(method: str) -> None:
    p = np.array([0.01, np.nan, 0.2, 0.03])
    found = adjusted(p, method)
    assert np.isnan(found[1])
    np.testing.assert_array_equal(found[[0, 2, 3]], adjusted(p[[0, 2, 3]], method))
    assert np.isnan(adjusted(np.full(3, np.nan), method)).all()
