"""Arguments of users: lists of labels, metrics as names or as objects, datasets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.names_of_tools import IR_MEASURES, from_ir_measures
from scorecube.collection.ranges import ranged
from scorecube.collection.schema import labels_of
from scorecube.errors import BadInput, BadPlan, kind_of, option
from scorecube.metrics import Metric

DIMS = (names.METRIC, names.GAIN, names.RUN, names.TOPIC)
"""Dims of scores, in the order of all arrays."""


class Measure(Protocol):
    """A measure of ir_measures, such as ``ir_measures.nDCG @ 10``."""

    def validate_params(self) -> object:
        """Check its settings."""


MetricLike = str | Metric | Measure
"""A metric by its name, see `scorecube.list_metrics`, or as an object."""
CubeLike = xr.Dataset | xr.DataArray
"""Scores with the dims run and topic, perhaps metric and gain."""
CubesLike = CubeLike | xr.DataTree | Mapping[str, xr.Dataset | xr.DataArray]
"""Scores of one or several collections: by name, or along a dim ``collection``."""


def labels(name: str, values: object) -> list[str]:
    """Return labels, any iterable of texts, as a list of texts.

    name: Name of the argument in messages.
    Raises BadPlan: A single text, or elements that are no texts.
    """
    listed = _listed(name, values)
    if others := [value for value in listed if not isinstance(value, str)]:
        raise BadPlan(f"{option(name)}: expected texts; found {others[0]!r:.60}", option=name)
    return [str(value) for value in listed]


def metric_names(name: str, values: object) -> list[str]:
    """Return metrics, any iterable of texts, metrics or measures of ir_measures, as names.

    name: Name of the argument in messages.
    Raises BadPlan: Something else.
    """
    listed = _listed(name, values)
    return labels(name, [_name_of(value) for value in listed])


def _name_of(value: object) -> Any:
    """Return the name here of a metric or a measure of ir_measures; other values as they are."""
    if _is_measure(value):
        return from_ir_measures(str(value))
    return str(value) if isinstance(value, Metric) else value


def _is_measure(value: object) -> bool:
    return type(value).__module__.partition(".")[0] == IR_MEASURES


def _listed(name: str, values: object) -> list[Any]:
    is_one = isinstance(values, str | bytes | Mapping | Metric) or _is_measure(values)
    if is_one or not isinstance(values, Iterable):
        found = f"{values!r:.60}"
        raise BadPlan(f"{option(name)}: expected a list; found {found}", option=name)
    return list(values)


def check_dataset(value: object, subject: str, advice: str) -> None:
    """Refuse what is no xarray Dataset (BadInput).

    value: Argument of a user.
    subject: Name of the dataset in the message, e.g. "the cube".
    advice: Functions that return such a dataset.
    """
    if not isinstance(value, xr.Dataset):
        found = kind_of(value)
        raise BadInput(f"{subject}: expected an xarray Dataset, as from {advice}; found {found}")


def as_cube(value: Any) -> xr.Dataset:
    """Return scores as analyses have them: dims in their order, runs and topics sorted by label.

    value: A cube, or its array of scores, with dims and labels in any order; a metric or gain
        setting may be a scalar, or absent. Ranges that it does not know are decided by what is in
        memory, before anything is selected.
    Raises BadInput: What is no dataset, such as a DataFrame; other dims; labels that are repeated.
    """
    if isinstance(value, xr.DataArray):
        value = value.to_dataset(name=names.SCORE)
    check_dataset(value, "the cube", "evaluate or cube_from_scores")
    cube: xr.Dataset = value
    if names.SCORE not in cube:  # rankings are selected from, too
        return cube
    cube = _with_cells(cube)
    for dim in DIMS[2:]:
        texts = labels_of(cube, dim)  # positions where there are no labels
        repeated = [label for label, count in Counter(texts).items() if count > 1]
        if repeated:
            raise BadInput(f"the {dim} {repeated[0]!r} is repeated in the cube")
        if dim not in cube.coords or not all(type(of) is str for of in cube[dim].values.tolist()):
            cube = cube.assign_coords({dim: (dim, np.array(texts, object))})
        if texts != sorted(texts):
            cube = cube.isel({dim: np.argsort(np.array(texts, object), kind="stable")})
    cube = cube if cube.variables[names.SCORE].dims == DIMS else cube.transpose(*DIMS, ...)
    return ranged(cube) if cube.variables[names.SCORE]._in_memory else cube


def cubes_of(data: CubesLike) -> dict[str, xr.Dataset]:
    """Return the cubes of one or several collections by name; the name of a single cube is empty.

    data: A cube; a mapping or DataTree of cubes; a cube with a dim ``collection``.
    """
    if isinstance(data, xr.DataArray):
        data = data.to_dataset(name=names.SCORE)
    if isinstance(data, xr.DataTree):
        nodes = {node.path.strip("/"): node.to_dataset() for node in data.subtree}
        data = {name: cube for name, cube in nodes.items() if names.SCORE in cube}
    elif isinstance(data, xr.Dataset) and names.COLLECTION in data.dims:
        parts = {name: data.sel(collection=name, drop=True) for name in data.collection.values}
        for dim in (names.TOPIC, names.RUN):
            parts = {k: of.dropna(dim, how="all", subset=[names.SCORE]) for k, of in parts.items()}
        data = parts
    is_several = isinstance(data, Mapping) and not isinstance(data, xr.Dataset)
    return {str(name): as_cube(cube) for name, cube in (data if is_several else {"": data}).items()}


def _with_cells(cube: xr.Dataset) -> xr.Dataset:
    """Return a cube with the dims metric and gain, where they are scalars or absent."""
    dims = cube.variables[names.SCORE].dims
    bare = [dim for dim in DIMS[:2] if dim in dims and dim not in cube.coords]
    if bare:
        cube = cube.assign_coords({dim: labels_of(cube, dim) for dim in bare})
    absent = [dim for dim in DIMS if dim not in dims]
    if {names.RUN, names.TOPIC} & set(absent) or len(dims) + len(absent) > len(DIMS):
        raise BadInput(f"scores need the dims {', '.join(DIMS)}; found {', '.join(map(str, dims))}")
    if not absent:
        return cube
    named = {names.METRIC: names.SCORE, names.GAIN: names.AUTO}
    whole = cube.assign_coords({dim: named[dim] for dim in absent if dim not in cube.coords})
    of_metric = {names.USES_GAINS, *names.ABOUT_METRICS} & {*cube.coords}
    values = {name: (names.METRIC, np.atleast_1d(cube[name].values)) for name in of_metric}
    return whole.expand_dims(absent).assign_coords(values)
