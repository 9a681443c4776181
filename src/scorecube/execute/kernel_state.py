"""Compiling the kernels of an analysis before its first block, and knowing whether that is still to be done."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from scorecube.analyses.base import Analysis

_LOADED: set[type] = set()
"""Analyses whose kernels ran in this process."""


class KernelState(StrEnum):
    """What the first use of kernels has to do."""

    LOADED = "loaded"
    CACHED = "load machine code"
    UNCOMPILED = "compile"


def kernel_state(analysis: type) -> KernelState:
    """Return the state of the kernels that an analysis uses by default.

    Options may need others, which are compiled when they are met.

    analysis: Class of the analysis.
    """
    if analysis in _LOADED:
        return KernelState.LOADED
    from scorecube.kernels.code_cache import is_marked

    return KernelState.CACHED if is_marked(_name(analysis)) else KernelState.UNCOMPILED


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
    analysis.block(analysis.rehearsal(dict(inputs)), start, start + 1)
    _LOADED.add(kind)
    from scorecube.kernels.code_cache import mark

    mark(_name(kind))


def _name(analysis: type) -> str:
    return f"{analysis.__module__}.{analysis.__qualname__}".replace(os.sep, "_")
