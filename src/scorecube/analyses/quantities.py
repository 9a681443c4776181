"""Quantities of results: the variables that are stored, and what follows from them when it is asked for.

They are declared in modules without kernels, so that a table needs no compiler.
"""

from __future__ import annotations

import xarray as xr

from scorecube.analyses import registry
from scorecube.errors import BadName


def quantity(result: xr.Dataset, name: str) -> xr.DataArray:
    """Return a variable or coordinate of a result, or a quantity that follows from it; BadName for another name."""
    if name in result.variables:
        return result[name]
    analysis = str(result.attrs.get("analysis", ""))
    for each in registry.derived(analysis):
        if each.variable.name == name:
            return each.make(result).rename(name)
    raise BadName(f"no quantity {name!r} of {analysis or 'a result'}")
