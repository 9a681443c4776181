"""``cube.scorecube``: the analyses as methods of a cube, tables and figures of a result.

The accessor is registered when a name of `scorecube` is first used and xarray is loaded, so that ``import scorecube`` loads neither
xarray nor this module. Its methods import what they need.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from scorecube import names
from scorecube.analyses import registry
from scorecube.analyses.options import as_named
from scorecube.analyses.quantities import complete
from scorecube.errors import BadPlan, did_you_mean

if TYPE_CHECKING:
    import xarray as xr

NAME = "scorecube"
RUN_ARGUMENTS = (*("trials", "seed", "client"), *("workers", "block_units", "memory", "progress"))
"""Arguments of `scorecube.analyse` that methods take beside the options of their analysis."""


class ScorecubeAccessor:
    """Analyses of a cube, and tables and figures of cubes and results.

    Every analysis is a method: ``cube.scorecube.swap(size=25, trials=1000, seed=1)``.

    dataset: A cube or a result.
    """

    def __init__(self, dataset: xr.Dataset) -> None:
        self._dataset = dataset

    def __getattr__(self, name: str) -> Callable[..., xr.Dataset]:
        if name.startswith("_") or name not in registry.names():
            raise AttributeError(f"the accessor has no {name!r}{did_you_mean(name, dir(self))}")
        return _method(self._dataset, name)

    def __dir__(self) -> list[str]:
        return sorted(
            {*(name for name in vars(type(self)) if not name.startswith("_")), *registry.names()}
        )

    def analyse(self, analysis: Any, **arguments: Any) -> xr.Dataset:
        """Run an analysis of the cube; arguments as of `scorecube.analyse`."""
        result: xr.Dataset = _api().analyse(self._dataset, analysis, **arguments)
        return result

    def select(self, **arguments: Any) -> xr.Dataset:
        """Return a part of the cube; arguments as of `scorecube.select`."""
        part: xr.Dataset = _api().select(self._dataset, **arguments)
        return part

    def table(self, name: str | None = None) -> Any:
        """Return a table of the cube or the result, see `scorecube.table`."""
        return _api().table(self._dataset, name)

    def complete(self) -> xr.Dataset:
        """Return the result with everything that follows from it, see `scorecube.complete`."""
        return complete(self._dataset)

    def figure(self, **arguments: Any) -> Any:
        """Return the figure of the result; arguments as of `scorecube.figure`."""
        return _api().figure(self._dataset, **arguments)

    def by_pair(self) -> xr.Dataset:
        """Return a result whose pairs are selected by labels: ``result.scorecube.by_pair().sel(run_a="x", run_b="y")``."""
        for pair, labels in (
            (names.PAIR, (names.RUN_A, names.RUN_B)),
            ("comparison", ("metric_a", "gain_a", "metric_b", "gain_b")),
        ):
            if pair in self._dataset.dims and all(name in self._dataset.coords for name in labels):
                axes: Any = {pair: list(labels)}
                return self._dataset.set_index(axes)
        raise BadPlan("this dataset has no pairs of runs or comparisons of metrics")


def _api() -> Any:
    return import_module("scorecube.workflow.api")


def _method(cube: xr.Dataset, name: str) -> Callable[..., xr.Dataset]:
    """Return the method of an analysis."""
    entry = next(entry for entry in registry.entries() if entry.name == name)

    def method(**arguments: Any) -> xr.Dataset:
        kind: Any = registry.load_class(entry.class_name)
        fields = [field.name for field in dataclasses.fields(kind) if field.init]
        known = [*fields, *RUN_ARGUMENTS]
        arguments = as_named(kind, arguments)
        for argument in arguments:
            if argument not in known:
                raise BadPlan(
                    f"{name} has no argument {argument!r}{did_you_mean(argument, known)}; it has: {', '.join(known)}",
                    option=argument,
                )
        options = {key: value for key, value in arguments.items() if key in fields}
        rest = {key: value for key, value in arguments.items() if key not in fields}
        result: xr.Dataset = _api().analyse(cube, kind(**options), **rest)
        return result

    method.__name__ = method.__qualname__ = name
    method.__doc__ = entry.summary
    return method


def register() -> None:
    """Register the accessor of datasets; another of this name, as of a stale import, is replaced without a warning."""
    import warnings

    import xarray as xr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        decorate: Any = xr.register_dataset_accessor
        decorate(NAME)(ScorecubeAccessor)
