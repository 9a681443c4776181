"""Means of runs by a model of runs and topics, with whole covariance matrices: restricted likelihood (Patterson and Thompson 1971)."""

from __future__ import annotations

from typing import Any

import numpy as np


def _parts(scores: Any, ratio: float) -> tuple[Any, Any, Any]:
    runs, topics = np.nonzero(~np.isnan(scores))
    design = (runs[:, np.newaxis] == np.arange(len(scores))).astype(float)
    covariance = np.eye(len(runs)) + ratio * (topics[:, np.newaxis] == topics)
    return scores[runs, topics], design, covariance


def restricted_loss(scores: Any, ratio: float) -> float:
    """Return -2 log of the restricted likelihood, its scale at the best, for a ratio of the variance of topics to that of rests."""
    y, design, covariance = _parts(scores, ratio)
    inverse = np.linalg.inv(covariance)
    normal = design.T @ inverse @ design
    rest = y - design @ np.linalg.solve(normal, design.T @ inverse @ y)
    free = len(y) - len(scores)
    logs = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(normal)[1]
    return float(logs + free * np.log(rest @ inverse @ rest / free))


def weighted_means(scores: Any, ratio: float) -> tuple[Any, Any]:
    """Return weighted least squares means of runs, and their standard errors."""
    y, design, covariance = _parts(scores, ratio)
    inverse = np.linalg.inv(covariance)
    normal = design.T @ inverse @ design
    means = np.linalg.solve(normal, design.T @ inverse @ y)
    rest = y - design @ means
    variance = rest @ inverse @ rest / (len(y) - len(scores))
    return means, np.sqrt(variance * np.diag(np.linalg.inv(normal)))
