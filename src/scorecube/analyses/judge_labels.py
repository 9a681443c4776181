"""Agreement of the labels of a judge and the truth, with limits over topics."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.analyses import jackknife
from scorecube.analyses.judged_tables import JudgedTable
from scorecube.analyses.units import GROUPS_LEFT_OUT, LEAST_LEFT_OUT, random_groups
from scorecube.statistics.label_agreement import COEFFICIENTS, label_coefficients

Values = dict[str, Any]


def labels(judged: JudgedTable, confidence: float) -> Values:
    """Return the agreement of labels with limits over topics, (coefficient,), and numbers of documents by their levels."""
    counts = judged.counts[judged.counts.any(axis=(1, 2))]
    group = random_groups(len(counts))
    n_groups = min(len(counts), GROUPS_LEFT_OUT) if len(counts) >= LEAST_LEFT_OUT else 0
    whole = counts.sum(axis=0)
    value = label_coefficients(whole)
    without = [label_coefficients(counts[group != k].sum(axis=0)) for k in range(n_groups)]
    low, high = jackknife.limits(
        value, np.array(without).reshape(-1, len(COEFFICIENTS)), "atanh", confidence
    )
    alike = ~(low < high)  # other topics may not agree alike
    levels, n = np.arange(len(whole)), whole.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "label": value,
            "label_low": np.where(alike, np.nan, low),
            "label_high": np.where(alike, np.nan, high),
            "confusion": whole,
            "share_of_level": whole / whole.sum(axis=1, keepdims=True),
            "mean_level_truth": whole.sum(axis=1) @ levels / n,
            "mean_level_judge": whole.sum(axis=0) @ levels / n,
            "n_documents": n,
            "labelled_by_both": len(counts),
        }
