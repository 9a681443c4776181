"""Memory that is used again for file after file: getting fresh memory from the system costs more than filling it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


class Workspace:
    """Arrays by name; asking for a name again gives the same memory, with what was in it.

    Examples
    --------
    >>> workspace = Workspace()
    >>> first = workspace.array("scores", 3, "float64")
    >>> second = workspace.array("scores", (2, 1), "float64")
    >>> np.shares_memory(first, second), second.shape
    (True, (2, 1))
    """

    def __init__(self) -> None:
        self._kept: dict[str, np.ndarray[Any, Any]] = {}

    def array(self, name: str, shape: int | tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
        """Return an array that is not initialised; it is valid until `name` is asked for again."""
        sizes = (shape,) if isinstance(shape, int) else shape
        needed = math.prod(sizes)
        kept = self._kept.get(name)
        if kept is None or len(kept) < needed or kept.dtype != np.dtype(dtype):
            # Some room to grow, as files of a collection are of similar length.
            kept = self._kept[name] = np.empty(needed + needed // 4, dtype)
        return kept[:needed].reshape(sizes)
