"""Compiling the kernels of an analysis before its first block, and knowing whether that is still to be done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from scorecube.analyses.base import Analysis

_LOADED: set[type] = set()
"""Analyses whose kernels ran in this process."""


def is_loaded(analysis: type) -> bool:
    """Whether the kernels that an analysis uses by default ran in this process."""
    return analysis in _LOADED


def rehearse(
    analysis: Analysis, inputs: Mapping[str, np.ndarray[Any, Any]], start: int = 0
) -> None:
    """Compute one unit and discard it, so that all kernels are compiled or loaded before blocks are timed.

    analysis: Record with its options.
    inputs: Of `Analysis.inputs`.
    start: The unit.
    """
    kind = type(analysis)
    if kind in _LOADED:
        return
    analysis.compute(analysis.rehearsal(dict(inputs)), start, start + 1)
    _LOADED.add(kind)
