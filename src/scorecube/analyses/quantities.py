"""Quantities of results: the variables that are stored, and what follows from them when it is asked for.

They are declared in modules without kernels, so that a table needs no compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import xarray as xr

from scorecube.analyses import registry
from scorecube.collection.schema import Derived, Variable
from scorecube.errors import BadName


def quantity(result: xr.Dataset, name: str) -> xr.DataArray:
    """Return a variable or coordinate of a result, or a quantity that follows from it; BadName for one that it does not have."""
    if name in result.variables:
        return result[name]
    if name not in _derived(result):
        raise BadName(f"no quantity {name!r} of {result.attrs.get('analysis') or 'a result'}")
    return with_quantities(result, [name])[name]


def quantity_names(result: xr.Dataset) -> set[str]:
    """Return the names of the quantities that a result has: options differ in some."""
    return {*map(str, result.variables), *_derived(result)}


def with_quantities(result: xr.Dataset, wanted: Collection[str]) -> xr.Dataset:
    """Return a result with some of the quantities that follow from it, by name, and those that these need, each computed once."""
    found, wanted = _derived(result), {*wanted}
    for name, each in reversed(found.items()):
        wanted |= {*each.needs} if name in wanted else set()
    for name, each in found.items():
        if name in wanted and name not in result.variables:
            made = each.make(result).transpose(*each.variable.dims, missing_dims="ignore")
            # Coordinates that it has are not compared again, which takes longest.
            new = not {*made.dims} <= {*result.dims}
            result = result.assign({name: made if new else made.variable})
    return result


def declared_variables(analysis: str) -> Mapping[str, Variable]:
    """Return what is said of the quantities of an analysis, by name."""
    every = [*registry.variables(analysis), *(each.variable for each in registry.derived(analysis))]
    return {each.name: each for each in every}


def complete(result: xr.Dataset) -> xr.Dataset:
    """Return a result with everything that follows from it: adjusted p-values, limits, effect sizes, verdicts, fits.

    Parameters
    ----------
    result
        From `scorecube.analyse` or a study.

    Returns
    -------
    result
        With derived variables, and with the attributes ``role``, ``of``, ``heading`` and ``units`` of each variable that has them;
        variables that are stored keep their values. Nothing of it is written back.

    Examples
    --------
    >>> import scorecube as sc
    >>> from scorecube.testing import simulate_cube
    >>> result = sc.complete(sc.analyse(simulate_cube(n_runs=4), sc.Swap(), trials=20, seed=1))
    >>> result["share"].attrs["role"]
    'share'
    """
    whole = with_quantities(result, _derived(result))
    for name, variable in declared_variables(str(result.attrs.get("analysis", ""))).items():
        if name in whole.variables:
            heading = variable.heading or variable.name.replace("_", " ")
            facts = {"role": variable.role, "of": variable.of, "heading": heading}
            described = variable.attrs() | {k: v for k, v in facts.items() if v}
            stored = result[name].attrs if name in result.variables else {}
            whole[name].attrs = described | stored  # some analyses say more of their variables
    return whole


def elementwise(
    function: Callable[..., Any], *arrays: xr.DataArray, along: str = "", dtype: type = object
) -> xr.DataArray:
    """Return a function of single values, or of rows along a dim, at all positions."""
    core = [[along] if along else []] * len(arrays)
    with np.errstate(invalid="ignore"):
        found: xr.DataArray = xr.apply_ufunc(
            function, *arrays, input_core_dims=core, vectorize=True, output_dtypes=[dtype]
        )
    return found


def _derived(result: xr.Dataset) -> dict[str, Derived]:
    """Return what follows from a result, by name, in the order of declaration."""
    known, found = {*map(str, result.variables), *result.attrs}, dict[str, Derived]()
    for each in registry.derived(str(result.attrs.get("analysis", ""))):
        if (known | found.keys()).issuperset(each.needs) and known.isdisjoint(each.unless):
            found[each.variable.name] = each
    return found
