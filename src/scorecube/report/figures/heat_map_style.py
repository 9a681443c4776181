"""Colours of heat maps, and axes without a grid."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from matplotlib import colormaps, rc_context


def sequential_colours(missing: str) -> Any:
    """Return colours from dark to light, and the colour of missing values."""
    return colormaps["cividis"].with_extremes(bad=missing)


def without_grid() -> AbstractContextManager[None]:
    """Return a context in which new axes have no grid."""
    return rc_context({"axes.grid": False})
