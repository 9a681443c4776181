"""``cube.scorecube``: the analyses as methods of a cube, once xarray is loaded."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import xarray as xr

from scorecube.methods import index

decorate: Any = xr.register_dataset_accessor


@decorate("scorecube")
class ScorecubeAccessor:
    """Analyses as methods of a cube: ``cube.scorecube.swap(size=25, trials=1000, seed=1)``.

    They take the options of the analysis, and arguments of `scorecube.analyse`, by name.
    """

    def __init__(self, dataset: xr.Dataset) -> None:
        self._dataset = dataset

    def __getattr__(self, name: str) -> Callable[..., xr.Dataset]:
        if name not in index.names():
            raise AttributeError(f"no analysis {name!r}; there are {', '.join(index.names())}")
        kind: Any = index.load(name)

        def method(**arguments: Any) -> xr.Dataset:
            from scorecube.workflow.api import analyse

            taken = signature(analyse).parameters.keys() - {"cube", "analysis", "preset"}
            options = {k: arguments.pop(k) for k in arguments.keys() - taken}
            return analyse(self._dataset, kind(**options), **arguments)

        method.__name__ = name
        method.__doc__ = kind.__doc__
        return method

    def __repr__(self) -> str:
        if "analysis" in self._dataset.attrs:
            return f"A result of {self._dataset.attrs['analysis']}: see scorecube.table(result)"
        return f"Analyses of this cube, such as cube.scorecube.swap(): {', '.join(index.names())}"

    def __dir__(self) -> list[str]:
        return list(index.names())
