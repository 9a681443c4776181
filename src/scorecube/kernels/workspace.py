"""Arrays that are reused from file to file.

Memory that is new to the process costs more to obtain than to fill.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Workspace:
    """Arrays by name: a second request for a name returns the same memory.

    Examples
    --------
    >>> workspace = Workspace()
    >>> first = workspace.array("scores", 3, "float64")
    >>> second = workspace.array("scores", (2, 1), "float64")
    >>> np.shares_memory(first, second), second.shape
    (True, (2, 1))
    """

    def __init__(self) -> None:
        self._kept: dict[str, NDArray[Any]] = {}

    def array(self, name: str, shape: int | tuple[int, ...], dtype: str) -> NDArray[Any]:
        """Return an uninitialised array, valid until `name` is requested again."""
        sizes = (shape,) if isinstance(shape, int) else shape
        needed = math.prod(sizes)
        kept = self._kept.get(name)
        if kept is None or len(kept) < needed or kept.dtype != np.dtype(dtype):
            # Files of a collection have similar lengths: a quarter more serves most of the longer ones.
            kept = self._kept[name] = np.empty(needed + needed // 4, dtype)
        return kept[:needed].reshape(sizes)
