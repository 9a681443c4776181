"""The order of pairs of runs in results."""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import Int32Array1


def label_order(n_runs: int) -> tuple[Int32Array1, Int32Array1]:
    """Return first and second run of all pairs in label order.

    That is (0, 1), (0, 2), ..., (1, 2), ...
    """
    runs = np.arange(n_runs, dtype=np.int32)
    return np.repeat(runs, n_runs - 1 - runs), np.concatenate([runs[k + 1 :] for k in runs])
