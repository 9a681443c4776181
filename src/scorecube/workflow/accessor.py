"""``cube.scorecube``: the analyses as methods of a cube, tables and figures of a result.

The accessor is registered when a name of `scorecube` is first used and xarray is loaded, so that
``import scorecube`` loads neither xarray nor this module.
"""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scorecube import names
from scorecube.analyses import registry
from scorecube.errors import BadPlan, did_you_mean

if TYPE_CHECKING:
    import xarray as xr


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

        def method(**arguments: Any) -> xr.Dataset:
            return _analyse(self._dataset, name, arguments)

        (entry,) = (entry for entry in registry.entries() if entry.name == name)
        method.__name__, method.__doc__ = name, entry.summary
        return method

    def __dir__(self) -> list[str]:
        return sorted(["table", "figure", "by_pair", *registry.names()])

    def table(self, name: str | None = None) -> Any:
        """Return a table of the cube or the result, see `scorecube.table`."""
        from scorecube.workflow.api import table

        return table(self._dataset, name)

    def figure(self, **arguments: Any) -> Any:
        """Return the figure of the result; arguments as of `scorecube.figure`."""
        from scorecube.workflow.api import figure

        return figure(self._dataset, **arguments)

    def by_pair(self) -> xr.Dataset:
        """Return a result whose pairs are selected by labels: ``.sel(run_a="x", run_b="y")``."""
        known: Any = (
            (names.PAIR, [names.RUN_A, names.RUN_B]),
            ("comparison", ["metric_a", "gain_a", "metric_b", "gain_b"]),
        )
        for pair, labels in known:
            if pair in self._dataset.dims and all(name in self._dataset.coords for name in labels):
                return self._dataset.set_index({pair: labels})
        raise BadPlan("this dataset has no pairs of runs or comparisons of metrics")


def _analyse(cube: xr.Dataset, name: str, arguments: dict[str, Any]) -> xr.Dataset:
    """Run an analysis with options, and arguments of `scorecube.analyse`, by name."""
    from scorecube.workflow.api import analyse

    kind: Any = registry.load(name)
    fields = [field.name for field in dataclasses.fields(kind) if field.init]
    known = [*fields, *list(inspect.signature(analyse).parameters)[2:]]
    for argument in arguments:
        if argument not in known:
            raise BadPlan(
                f"{name} has no argument {argument!r}{did_you_mean(argument, known)}; "
                f"it has: {', '.join(known)}",
                option=argument,
            )
    options = {key: arguments.pop(key) for key in fields if key in arguments}
    return analyse(cube, kind(**options), **arguments)


def register() -> None:
    """Register the accessor; another of this name, as of a stale import, is replaced."""
    import xarray as xr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        decorate: Any = xr.register_dataset_accessor
        decorate("scorecube")(ScorecubeAccessor)
