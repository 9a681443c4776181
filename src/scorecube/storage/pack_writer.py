"""Writing packs: tasks that workers run, each with whole files that no other task writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from scorecube.analyses.joined import JoinedVariable, Template, is_of_several
from scorecube.names import COLLECTION
from scorecube.storage import heads
from scorecube.storage.archives import METADATA, digest_of, read_result
from scorecube.storage.codec import (
    MAX_CHUNK_BYTES,
    Array,
    chunk_key,
    chunk_shape,
    chunks,
    describe,
    describe_group,
    encode,
    encode_chunk,
    encode_variable,
)
from scorecube.storage.forms import FORMAT
from scorecube.storage.heads import CUBE, Head
from scorecube.storage.pack import ABOUT, SCORES, PackedResult, Wanted, digest_of_cubes, is_there
from scorecube.storage.place import Place
from scorecube.storage.study import Study, open_place

if TYPE_CHECKING:
    import xarray as xr

ROWS: Final = 256  # collections of a task, and the most of a chunk; a power of two
MOST_BYTES: Final = 2**28  # of the arrays of a task
# Calls a function with many items, here or on workers; returns results in their order.
Each = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


class PackedFile(NamedTuple):
    """What is noted of a file: the beginning of its digest; its content, if it is metadata."""

    digest: str
    metadata: bytes


PackedFiles = dict[str, PackedFile]
"""PackedFiles by their keys in a pack."""


class Group(NamedTuple):
    """Results with the same options, the latest of each collection.

    template: Of all; None of a single one that is about several collections.
    """

    results: list[PackedResult]
    template: Template | None

    def joined(self, other: Group) -> Group:
        """Return the results of both, first those of this one."""
        assert self.template is not None
        assert other.template is not None
        template = self.template.joined(other.template)
        return Group([*self.results, *other.results], template)


def write_pack(
    study: Study, target: Place, wanted: Sequence[Wanted], each: Each, *, scores: bool = False
) -> str:
    """Write a pack unless it is there; return its name.

    target: The study's place, or another one.
    scores: Whether the cubes are in it.
    """
    cubes = [one.head for one in study.collections()] if scores else []
    content = [[of.label, of.digest] for of in wanted] + [[SCORES, digest_of_cubes(cubes)]]
    pack = f"packed-{digest_of(json.dumps([FORMAT, content]).encode())[:16]}.zarr"
    if is_there(target, pack):
        return pack
    writer = Writer(study.path, target.name, pack)
    files = PackedFiles()
    if cubes:
        about = {"analysis": SCORES, "digest": digest_of_cubes(cubes)}
        files |= writer.write(SCORES, [(METADATA, describe_group({ABOUT: about}))])
        files |= _together(each(writer.copy_cubes, _batches(cubes, ROWS // 4)))
    for one in wanted:
        groups = _groups(writer.study, one, each)
        most_first = sorted(groups, key=lambda options: (-len(groups[options].results), options))
        for number, options in enumerate(most_first, 1):
            label = one.label if number == 1 else f"{one.label}-{number}"
            about = {"analysis": one.analysis, "digest": one.digest, "options": options}
            files |= _write_group(writer, label, groups[options], about, each)
    target.sync()
    target.write(f"{pack}/{METADATA}", _root(files))
    return pack


def _root(files: PackedFiles) -> bytes:
    """Return the metadata of a pack: digest of all its files, metadata of all its groups."""
    digests = {key: file.digest for key, file in files.items()}
    metadata = {
        key.removesuffix(f"/{METADATA}"): json.loads(file.metadata)
        for key, file in files.items()
        if file.metadata
    }
    consolidated = {"kind": "inline", "must_understand": False, "metadata": metadata}
    attributes = {"content": heads.version_of_digests(digests)}
    return describe_group(attributes, consolidated_metadata=consolidated)


def _groups(study: str, wanted: Wanted, each: Each) -> dict[str, Group]:
    """Return the groups of results, by their options as JSON."""
    of_collection = [list(of) for _, of in groupby(wanted.results, attrgetter("collection"))]
    batches = [list(chain.from_iterable(batch)) for batch in _batches(of_collection, ROWS)]
    groups = dict[str, Group]()
    for found in each(Survey(study), batches):
        for options, group in found.items():
            groups[options] = groups[options].joined(group) if options in groups else group
    return groups


@dataclass(frozen=True)
class Survey:
    """Finds what results have together, by their options."""

    study: str

    def __call__(self, results: Sequence[PackedResult]) -> dict[str, Group]:
        """Return the groups of some results, the latest of each collection."""
        place = open_place(self.study)
        latest = dict[str, dict[str, Group]]()
        for one in results:
            result = read_result(place, one.stored)
            plan = json.loads(result.attrs["plan"])
            plan.pop("cube", None)
            options = json.dumps(plan, sort_keys=True)
            template = None
            if is_of_several(result):
                options += f" {one.collection}"
            else:
                template = Template.of(result)
            latest.setdefault(options, {})[one.collection] = Group([one], template)
        return {options: reduce(Group.joined, of.values()) for options, of in latest.items()}


def _write_group(
    writer: Writer, label: str, group: Group, about: Mapping[str, Any], each: Each
) -> PackedFiles:
    """Write the results of a group; return its files.

    about: Its attribute `ABOUT`.
    """
    if group.template is None:
        result = read_result(open_place(writer.study), group.results[0].stored)
        return writer.write(label, encode(result.assign_attrs({ABOUT: about})))
    filler = Filler(writer, label, group.template.finished(), len(group.results))
    tasks = list(enumerate(_batches(group.results, filler.n_rows)))
    return _together(each(filler.write_rows, tasks)) | filler.write_shared(about)


def _together(parts: Iterable[PackedFiles]) -> PackedFiles:
    """Return what tasks have written."""
    return dict(chain.from_iterable(part.items() for part in parts))


def _rows(n_bytes: int, most: int) -> int:
    """Return how many collections, of so many bytes each, fit into the most: a power of two."""
    n_rows = ROWS
    while n_rows > 1 and n_rows * n_bytes > most:
        n_rows //= 2
    return n_rows


def _batches(items: Sequence[Any], length: int) -> list[Any]:
    return [items[low : low + length] for low in range(0, len(items), length)]


@dataclass(frozen=True)
class Writer:
    """Writes files of a pack, from any process that sees the study.

    study, target: Paths of the study, and of where the pack is.
    """

    study: str
    target: str
    pack: str

    def write(self, label: str, files: Iterable[tuple[str, bytes]]) -> PackedFiles:
        """Write files of a group by their keys in it; return them."""
        place = open_place(self.target)

        def put(file: tuple[str, bytes]) -> tuple[str, PackedFile]:
            name, content = file
            key = f"{label}/{name}"
            place.write(f"{self.pack}/{key}", content, synced=False)
            return key, PackedFile(digest_of(content)[:32], content if METADATA in name else b"")

        return dict(place.map(put, files))

    def copy_cubes(self, cubes: Sequence[Head]) -> PackedFiles:
        """Copy the cubes of heads as they are."""
        place = open_place(self.study)
        files = PackedFiles()
        for head in cubes:
            heads.check_group(place, head, CUBE)
            content = heads.files_of(place, head.group(CUBE))
            files |= self.write(f"{SCORES}/{heads.folder_of(head.name)}", content)
        return files


@dataclass(frozen=True)
class Filler:
    """Writes the arrays of a group, whose rows are collections.

    n: Number of all rows.
    """

    writer: Writer
    label: str
    template: Template
    n: int

    @property
    def n_rows(self) -> int:
        """Rows of a task."""
        return _rows(self.template.n_bytes(), MOST_BYTES)

    def _lengths(self, of: JoinedVariable) -> tuple[int, ...]:
        """Return the shape of the chunks of a variable: a task writes whole ones."""
        n_rows = min(_rows(of.n_bytes, MAX_CHUNK_BYTES), self.n_rows, self.n)
        return n_rows, *chunk_shape(of.shape, of.dtype)

    def write_rows(self, task: tuple[int, Sequence[PackedResult]]) -> PackedFiles:
        """Write the chunks of the results of a task, which has its number among all."""
        number, results = task
        place = open_place(self.writer.study)
        parts = {one.collection: read_result(place, one.stored) for one in results}
        return self.writer.write(self.label, self._chunks(number * self.n_rows, parts))

    def _chunks(self, start: int, parts: Mapping[str, xr.Dataset]) -> Iterator[tuple[str, bytes]]:
        arrays = self.template.fill(parts)
        for name, of in self.template.own_variables().items():
            lengths = self._lengths(of)
            rows_before = start // lengths[0]
            for position, place in chunks(arrays[name].shape, lengths):
                key = chunk_key(name, (rows_before + position[0], *position[1:]))
                yield key, encode_chunk(arrays[name][place], lengths)

    def write_shared(self, about: Mapping[str, Any]) -> PackedFiles:
        """Write metadata, and what all collections share."""
        shared = self.template.shared()
        others = [name for name in map(str, shared.coords) if name not in shared.dims]
        coordinates = [k for k in [*self.template.coordinates(), *others] if k != COLLECTION]
        attributes = {**shared.attrs, ABOUT: about, "coordinates": " ".join(coordinates)}
        files = [(METADATA, describe_group(attributes))]
        for name, variable in shared.variables.items():
            files += encode_variable(str(name), variable)
        for name, of in self.template.own_variables().items():
            dims = (COLLECTION, *of.dims)
            array = Array(dims, (self.n, *of.shape), of.dtype, self._lengths(of), of.attrs)
            files.append((f"{name}/{METADATA}", describe(array)))
        return self.writer.write(self.label, files)
