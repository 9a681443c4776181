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
