"""Results of several collections as one dataset along ``collection``, and each of them again.

A `Template` says what all of them have: it is made of each, and of two in any grouping, so that
workers find it. Labels that differ between collections are joined, with gaps: NaN for numbers, ""
for texts. `part_of` undoes that, to the bit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.pair_index import with_pairs
from scorecube.collection.schema import label_array

MOST_LABELS: Final = 10_000  # of a dim that are joined where they differ between collections
MOST_GAPS: Final = 100  # values of a joined variable for each that it has in some collection
UNCHECKED: Final = 2**25  # values of a joined variable that may be gaps
# Coordinate along collection: JSON of what is of one collection alone, which `part_of` reads.
ATTRIBUTES: Final = "attributes"
BY_COLLECTION: Final = "by_collection"  # attribute: variables that have too many labels to join
OF_TYPE: Final = "of_type"  # attribute of variables with gaps: dtype in a collection

Labels = tuple[Hashable, ...]
Array = np.ndarray[Any, Any]


class CommonVariable(NamedTuple):
    """A variable, as far as collections agree on it.

    n_parts, n_values: Collections that have it, and their values together.
    same: Value of a coordinate by label, where all agree; None where they do not.
    is_odd: Whether its dims differ.
    """

    dims: tuple[str, ...]
    dtype: np.dtype[Any]
    attrs: Mapping[str, Any]
    is_coordinate: bool
    n_parts: int
    n_values: int
    same: Mapping[Hashable, Any] | None = None
    is_odd: bool = False

    def joined(self, other: CommonVariable) -> CommonVariable:
        """Return what it is in the collections of both."""
        return self._replace(
            dtype=_common(self.dtype, other.dtype),
            attrs=_agreed(self.attrs, other.attrs),
            n_parts=self.n_parts + other.n_parts,
            n_values=self.n_values + other.n_values,
            same=_same(self.same, other.same),
            is_odd=self.is_odd or other.is_odd or self.dims != other.dims,
        )


class JoinedVariable(NamedTuple):
    """A variable of the joined dataset; with a dim ``collection`` in front unless it is shared."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    attrs: dict[str, Any]

    @property
    def n_bytes(self) -> int:
        """Bytes in one collection; a text counts as 8."""
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True)
class Template:
    """What results have together.

    labels: Of each dim, in order; None of one whose labels differ and are more than `MOST_LABELS`.
    differing: Dims whose labels differ.
    unsorted: Dims whose labels are not sorted in some result, and stay in the order of the first.
    """

    n_parts: int
    labels: Mapping[str, Labels | None]
    variables: Mapping[str, CommonVariable]
    attrs: Mapping[str, Any]
    differing: frozenset[str] = frozenset()
    unsorted: frozenset[str] = frozenset()

    @classmethod
    def of(cls, result: xr.Dataset) -> Template:
        """Return that of one result."""
        labels = {str(dim): _labels(result, str(dim)) for dim in result.dims}
        variables = {}
        for key, variable in result.variables.items():
            dims = tuple(map(str, variable.dims))
            same = None
            if key in result.coords and len(dims) < 2:
                at = labels[dims[0]] if dims else ((),)
                same = dict(zip(at, variable.values.reshape(-1).tolist(), strict=True))
            variables[str(key)] = CommonVariable(
                dims,
                np.dtype(object) if variable.dtype.kind in "OUT" else variable.dtype,
                dict(variable.attrs),
                key in result.coords,
                1,
                variable.size,
                same,
            )
        unsorted = frozenset(dim for dim, of in labels.items() if not _is_sorted(of))
        return cls(1, labels, variables, _plain(result.attrs), frozenset(), unsorted)

    def joined(self, other: Template) -> Template:
        """Return that of the results of both, first those of this one."""
        labels = dict(other.labels) | dict(self.labels)
        differing = set(self.differing | other.differing)
        for dim in self.labels.keys() & other.labels.keys():
            if self.labels[dim] != other.labels[dim] or dim in differing:
                differing.add(dim)
                labels[dim] = _union(self.labels[dim], other.labels[dim])
        variables = dict(other.variables) | dict(self.variables)
        for name in self.variables.keys() & other.variables.keys():
            variables[name] = self.variables[name].joined(other.variables[name])
        lost = {dim for dim, of in labels.items() if of is None}
        for name, of in variables.items():
            if lost.intersection(of.dims):
                variables[name] = of._replace(same=None)
        return Template(
            self.n_parts + other.n_parts,
            labels,
            variables,
            _agreed(self.attrs, other.attrs),
            frozenset(differing),
            self.unsorted | other.unsorted,
        )

    def finished(self) -> Template:
        """Return it with joined labels in order, where they are so in all results."""
        labels = dict(self.labels)
        for dim in self.differing - self.unsorted:
            found = labels[dim]
            if found is not None:
                labels[dim] = tuple(sorted(found, key=_order))
        return replace(self, labels=labels)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the lengths of the dims of a variable, without collection."""
        return tuple(len(self.labels[dim] or ()) for dim in self.variables[name].dims)

    def n_bytes(self) -> int:
        """Return the bytes of one collection in the joined dataset."""
        return sum(of.n_bytes for of in self.own_variables().values())

    def left_out(self) -> list[str]:
        """Return the variables that are not joined."""
        return sorted(name for name, of in self.variables.items() if self._is_left_out(name, of))

    def _is_left_out(self, name: str, of: CommonVariable) -> bool:
        if of.is_odd or any(self.labels[dim] is None for dim in of.dims):
            return True
        n_values = self.n_parts * math.prod(self.shape(name))
        gaps = n_values > max(UNCHECKED, MOST_GAPS * of.n_values)
        return gaps and not self.differing.isdisjoint(of.dims)

    def _is_shared(self, name: str, of: CommonVariable) -> bool:
        return name in of.dims or (of.same is not None and of.n_parts == self.n_parts)

    def own_variables(self) -> dict[str, JoinedVariable]:
        """Return the variables with a dim ``collection``: `collection` and `ATTRIBUTES` first."""
        text = np.dtype(object)
        about = {"long_name": "what is of one collection alone, as JSON"}
        joined = {
            names.COLLECTION: JoinedVariable((), (), text, {"long_name": "collection"}),
            ATTRIBUTES: JoinedVariable((), (), text, about),
        }
        left_out = self.left_out()
        for name, of in self.variables.items():
            if name in left_out or self._is_shared(name, of):
                continue
            attrs = dict(of.attrs)
            dtype = of.dtype
            has_gaps = of.n_parts < self.n_parts or not self.differing.isdisjoint(of.dims)
            if has_gaps and dtype.kind in "iub":
                attrs[OF_TYPE] = dtype.name
                dtype = np.dtype(float)
            joined[name] = JoinedVariable(of.dims, self.shape(name), dtype, attrs)
        return joined

    def coordinates(self) -> list[str]:
        """Return the names of all coordinates with a dim ``collection``."""
        own = [name for name in self.own_variables() if name in self.variables]
        return [names.COLLECTION, ATTRIBUTES, *(k for k in own if self.variables[k].is_coordinate)]

    def shared(self) -> xr.Dataset:
        """Return what is the same for all collections: coordinates and attributes."""
        coords: dict[str, xr.Variable] = {}
        left_out = self.left_out()
        for name, of in self.variables.items():
            if name in left_out or not self._is_shared(name, of):
                continue
            labels: Any = self.labels[of.dims[0]] if of.dims else ((),)
            values = labels if name in of.dims else [(of.same or {})[label] for label in labels]
            coords[name] = xr.Variable(of.dims, _array(values, of), dict(of.attrs))
        attrs = dict(self.attrs)
        if left_out:
            attrs[BY_COLLECTION] = left_out
        return xr.Dataset(coords=coords, attrs=attrs)

    def fill(self, parts: Mapping[str, xr.Dataset]) -> dict[str, Array]:
        """Return the values of `own_variables` of some collections by name, (collection, ...)."""
        place = {dim: _places(self.labels[dim] or ()) for dim in self.differing}
        arrays = {name: _empty(of, len(parts)) for name, of in self.own_variables().items()}
        for row, (collection, part) in enumerate(parts.items()):
            at = dict[str, list[int]]()
            for dim in self.differing:
                if dim in part.dims and self.labels[dim] is not None:
                    at[dim] = [place[dim][label] for label in _labels(part, dim)]
            for name, array in arrays.items():
                if name in part.variables:
                    variable = part.variables[name]
                    array[(row, *_where(variable, at))] = variable.values
            own = {key: of for key, of in _plain(part.attrs).items() if key not in self.attrs}
            lacks = sorted(self.variables.keys() - {*map(str, part.variables)})
            record = {"attrs": own, "labels": at, "lacks": lacks}
            arrays[names.COLLECTION][row] = collection
            arrays[ATTRIBUTES][row] = json.dumps({k: of for k, of in record.items() if of})
        return arrays


def is_of_several(result: xr.Dataset) -> bool:
    """Whether a result is about several collections, and is none of those that are joined."""
    return names.COLLECTION in result.variables or names.COLLECTION in result.dims


def join(parts: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Return results by collection as one dataset along ``collection``, see `Template`."""
    template = template_of(parts.values())
    arrays = template.fill(parts)
    variables = {
        name: ((names.COLLECTION, *of.dims), arrays[name], of.attrs)
        for name, of in template.own_variables().items()
    }
    joined = template.shared().assign(variables).set_coords(template.coordinates())
    return with_pairs(joined)


def template_of(parts: Iterable[xr.Dataset]) -> Template:
    """Return the template of some results."""
    return reduce(Template.joined, map(Template.of, parts)).finished()


def part_of(joined: xr.Dataset, collection: str | None = None) -> xr.Dataset:
    """Return the result of a collection of a joined dataset, but for what is not joined.

    collection: None where it is chosen already, as by ``joined.sel(collection="covid")``.
    """
    part = joined
    if collection is not None:
        known = [str(name) for name in joined[names.COLLECTION].values]
        part = joined.isel({names.COLLECTION: known.index(collection)})
    record = json.loads(str(part[ATTRIBUTES].values))
    there = {*map(str, part.variables)}
    lacking = there.intersection([*record.get("lacks", ()), ATTRIBUTES, names.COLLECTION])
    part = part.drop_vars(sorted(lacking))
    at = {dim: places for dim, places in record.get("labels", {}).items() if dim in part.dims}
    part = part.isel({dim: np.array(places, np.intp) for dim, places in at.items()})
    for name in map(str, part.variables):
        if OF_TYPE in part.variables[name].attrs:
            attrs = dict(part.variables[name].attrs)
            part = part.assign({name: part[name].astype(attrs.pop(OF_TYPE))})
            part[name].attrs = attrs
    shared = {key: of for key, of in joined.attrs.items() if key != BY_COLLECTION}
    part.attrs = {**shared, **record.get("attrs", {})}
    return part


def parts_of(result: xr.Dataset) -> dict[str, xr.Dataset] | None:
    """Return the results in a dataset of `join` by name; None of any other dataset."""
    if ATTRIBUTES not in result.coords:
        return None
    if names.COLLECTION not in result.dims:
        part = part_of(result)
        return {str(part.attrs.get(names.COLLECTION, "")): part}
    return {name: part_of(result, name) for name in map(str, result[names.COLLECTION].values)}


def _labels(result: xr.Dataset, dim: str) -> Labels:
    """Return the labels of a dim: pairs by their runs, positions where there are none."""
    if dim in result.coords:
        return tuple(result.variables[dim].values.tolist())
    pair = [result.variables[k] for k in (names.RUN_A, names.RUN_B) if k in result.coords]
    if dim == names.PAIR and len(pair) == 2:
        first, second = pair
        return tuple(zip(first.values.tolist(), second.values.tolist(), strict=True))
    return tuple(range(result.sizes[dim]))


def _places(labels: Labels) -> dict[Hashable, int]:
    return {label: place for place, label in enumerate(labels)}


def _union(first: Labels | None, second: Labels | None) -> Labels | None:
    if first is None or second is None:
        return None
    labels = tuple(dict.fromkeys(chain(first, second)))
    return labels if len(labels) <= MOST_LABELS else None


def _order(label: Hashable) -> Any:
    return label if isinstance(label, int | float | tuple) else str(label)


def _is_sorted(labels: Sequence[Hashable]) -> bool:
    try:
        return all(_order(a) <= _order(b) for a, b in pairwise(labels))
    except TypeError:
        return False


def _same(
    first: Mapping[Hashable, Any] | None, second: Mapping[Hashable, Any] | None
) -> Mapping[Hashable, Any] | None:
    """Return the values of two coordinates by label; None where they differ."""
    if first is None or second is None:
        return None
    if all(_equal(first[label], second[label]) for label in first.keys() & second.keys()):
        return {**first, **second}
    return None


def _equal(first: object, second: object) -> bool:
    return bool(first == second or (first != first and second != second))


def _agreed(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes that are equal in both."""
    return {k: v for k, v in first.items() if k in second and _equal(v, second[k])}


def _plain(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    """Return attributes as JSON has them."""
    text = json.dumps({str(key): value for key, value in attrs.items()}, default=_as_list)
    return dict(json.loads(text))


def _as_list(value: np.ndarray[Any, Any] | np.generic) -> Any:
    return value.tolist()


def _common(first: np.dtype[Any], second: np.dtype[Any]) -> np.dtype[Any]:
    return first if first == second else np.result_type(first, second)


def _array(values: Sequence[Any], of: CommonVariable) -> Array:
    """Return the values of a shared coordinate."""
    if of.dtype.kind == "O":
        array = label_array(values)
        return array if of.dims else array.reshape(())
    return np.asarray(values, of.dtype).reshape(-1 if of.dims else ())


def _empty(of: JoinedVariable, n: int) -> Array:
    fill: dict[str, Any] = {"O": "", "f": np.nan}
    return np.full((n, *of.shape), fill.get(of.dtype.kind, 0), of.dtype)


def _where(variable: xr.Variable, at: Mapping[str, list[int]]) -> tuple[Any, ...]:
    """Return the index of a variable among joined labels."""
    if not any(dim in at for dim in variable.dims):
        return ()
    sizes = zip(variable.dims, variable.shape, strict=True)
    return np.ix_(*(at.get(str(dim), range(size)) for dim, size in sizes))
