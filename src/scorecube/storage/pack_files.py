"""Writing packs: tasks that workers run, each with whole files that no other task writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from scorecube.analyses.joined import Joined, Template
from scorecube.names import COLLECTION
from scorecube.storage import heads
from scorecube.storage.archives import METADATA, digest_of, read_result
from scorecube.storage.codec import (
    MAX_CHUNK_BYTES,
    Array,
    chunk_shape,
    chunks,
    describe,
    describe_group,
    encode,
    encode_chunk,
    encode_variable,
)
from scorecube.storage.heads import CUBE, Head
from scorecube.storage.pack import ABOUT, FORMAT, SCORES, Source, Wanted, digest_of_cubes, is_there
from scorecube.storage.place import Place
from scorecube.storage.study import Study, open_place

if TYPE_CHECKING:
    import numpy as np

ROWS: Final = 256  # collections of a task, and the most of a chunk; a power of two
MOST_BYTES: Final = 2**28  # of the arrays of a task
Files = dict[str, str]  # digests of files by key
Metadata = dict[str, dict[str, Any]]  # what `zarr.json` of groups and arrays hold, by path
# Calls a function with many items, here or on workers; returns results in their order.
Each = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


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
    files = Files()
    metadata = Metadata()
    writer = Writer(study.path, target.name, pack)
    if cubes:
        about = {"analysis": SCORES, "digest": digest_of_cubes(cubes)}
        writer.write_described(f"{SCORES}", {ABOUT: about}, files, metadata)
        note(each(writer.copy_cubes, _batches(cubes, ROWS // 4)), files, metadata)
    for one in wanted:
        for group in _groups(writer, one, each):
            _write_group(writer, group, each, files, metadata)
    target.sync()
    root = {"format": FORMAT, "content": heads.version_of_digests(files)}
    consolidated = {"kind": "inline", "must_understand": False, "metadata": metadata}
    whole = describe_group(root, consolidated_metadata=consolidated)
    target.write(f"{pack}/{METADATA}", whole)
    return pack


class Part(NamedTuple):
    """What a task has written."""

    files: Files
    metadata: Metadata


def note(parts: Iterable[Part], files: Files, metadata: Metadata) -> None:
    """Note what tasks have written."""
    for part in parts:
        files |= part.files
        metadata |= part.metadata


class Group(NamedTuple):
    """Results of one group, in their order.

    template: Of all; None of a single one that is about several collections.
    about: Its attribute `ABOUT`.
    """

    label: str
    sources: list[Source]
    template: Template | None
    about: dict[str, Any]


class Kind(NamedTuple):
    """Results of a batch with the same options."""

    sources: list[Source]
    template: Template | None


def _groups(writer: Writer, wanted: Wanted, each: Each) -> Iterator[Group]:
    """Yield the groups of results, those with most collections first."""
    of_collection = dict[str, list[Source]]()
    for source in wanted.sources:
        of_collection.setdefault(source.collection, []).append(source)
    batches = _batches(list(of_collection.values()), ROWS)
    survey = Survey(writer.study, as_one=wanted.as_one)
    kinds = dict[str, list[Kind]]()
    for batch in each(survey, [list(chain.from_iterable(batch)) for batch in batches]):
        for options, kind in batch.items():
            kinds.setdefault(options, []).append(kind)
    order = sorted(kinds, key=lambda key: (-sum(len(k.sources) for k in kinds[key]), key))
    for number, options in enumerate(order, 1):
        sources = list(chain.from_iterable(kind.sources for kind in kinds[options]))
        templates = [kind.template for kind in kinds[options] if kind.template is not None]
        template = reduce(Template.joined, templates).finished() if templates else None
        analysis = sources[0].stored.folder.rpartition("/")[2]
        about = {"analysis": analysis, "digest": wanted.digest, "options": options}
        label = wanted.label if number == 1 else f"{wanted.label}-{number}"
        yield Group(label, sources, template, about)


@dataclass(frozen=True)
class Survey:
    """Finds what results have together, by their options."""

    study: str
    as_one: bool

    def __call__(self, sources: Sequence[Source]) -> dict[str, Kind]:
        """Return those of a batch, the latest of each collection."""
        place = open_place(self.study)
        kinds = dict[str, dict[str, tuple[Source, Template | None]]]()
        for source in sources:
            result = read_result(place, source.stored)
            plan = dict(json.loads(result.attrs["plan"]))
            plan.pop("cube", None)
            options = "" if self.as_one else json.dumps(plan, sort_keys=True)
            template = None
            if COLLECTION in result.variables or COLLECTION in result.dims:
                options += f" {source.collection}"
            else:
                template = Template.of(result)
            kinds.setdefault(options, {})[source.collection] = (source, template)
        found = {}
        for options, by_collection in kinds.items():
            templates = [of for _, of in by_collection.values() if of is not None]
            whole = reduce(Template.joined, templates) if templates else None
            found[options] = Kind([source for source, _ in by_collection.values()], whole)
        return found


def _write_group(
    writer: Writer, group: Group, each: Each, files: Files, metadata: Metadata
) -> None:
    """Write the results of a group, and note its files."""
    template = group.template
    if template is None:
        note(each(writer.copy_result, [group]), files, metadata)
        return
    n_rows = _rows(template.n_bytes(), MOST_BYTES)
    tasks = [
        (start, group.sources[start : start + n_rows])
        for start in range(0, len(group.sources), n_rows)
    ]
    fill = Fill(writer, group.label, template, len(group.sources))
    note(each(fill, tasks), files, metadata)
    fill.write_rest(group.about, files, metadata)


def _rows(n_bytes: int, most: int) -> int:
    """Return of how many collections so many bytes each are worked on at a time."""
    n_rows = ROWS
    while n_rows > 1 and n_rows * n_bytes > most:
        n_rows //= 2
    return n_rows


def _lengths(of: Joined, n: int) -> tuple[int, ...]:
    """Return the shape of the chunks of a variable of n collections."""
    return min(_rows(of.n_bytes, MAX_CHUNK_BYTES), n), *chunk_shape(of.shape, of.dtype)


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

    def write(self, files: Iterable[tuple[str, bytes]]) -> Part:
        """Write files, by their keys in the pack; return their digests and metadata."""
        place = open_place(self.target)
        digests = Files()
        metadata = Metadata()

        def put(file: tuple[str, bytes]) -> tuple[str, bytes]:
            place.write(f"{self.pack}/{file[0]}", file[1], synced=False)
            return file

        for key, content in place.map(put, files):
            digests[key] = digest_of(content)[:32]
            path, _, name = key.rpartition("/")
            if name == METADATA:
                metadata[path] = json.loads(content)
        return Part(digests, metadata)

    def write_described(
        self, label: str, attributes: Mapping[str, Any], files: Files, metadata: Metadata
    ) -> None:
        """Write a group without arrays, and note its file."""
        note([self.write([(f"{label}/{METADATA}", describe_group(attributes))])], files, metadata)

    def copy_cubes(self, cubes: Sequence[Head]) -> Part:
        """Copy the cubes of heads as they are."""
        place = open_place(self.study)
        part = Part(Files(), Metadata())
        for head in cubes:
            folder = f"{SCORES}/{heads.folder_of(head.name)}"
            heads.check_group(place, head, CUBE)
            found = heads.files_of(place, head.group(CUBE))
            written = self.write((f"{folder}/{key}", content) for key, content in found)
            part.files.update(written.files)
            part.metadata.update(written.metadata)
        return part

    def copy_result(self, group: Group) -> Part:
        """Write the one result of a group as it is."""
        result = read_result(open_place(self.study), group.sources[0].stored)
        files = encode(result.assign_attrs({ABOUT: group.about}))
        return self.write((f"{group.label}/{key}", content) for key, content in files)


@dataclass(frozen=True)
class Fill:
    """Writes the chunks of some collections of a group: whole ones, so that tasks share none."""

    writer: Writer
    label: str
    template: Template
    n: int

    def __call__(self, task: tuple[int, Sequence[Source]]) -> Part:
        """Write those from a start on."""
        start, sources = task
        place = open_place(self.writer.study)
        parts = {one.collection: read_result(place, one.stored) for one in sources}
        return self.writer.write(self._chunks(start, self.template.fill(parts)))

    def _chunks(
        self, start: int, arrays: Mapping[str, np.ndarray[Any, Any]]
    ) -> Iterator[tuple[str, bytes]]:
        for name, of in self.template.of_each().items():
            array = arrays[name]
            lengths = _lengths(of, self.n)
            first = start // lengths[0]
            for key, place in chunks(name, array.shape, lengths):
                head, *rest = key.removeprefix(f"{name}/c.").split(".")
                whole = ".".join(["c", str(first + int(head)), *rest])
                yield f"{self.label}/{name}/{whole}", encode_chunk(array[place], lengths)

    def write_rest(self, about: Mapping[str, Any], files: Files, metadata: Metadata) -> None:
        """Write metadata, and what all collections share; note the files."""
        shared = self.template.shared()
        others = [name for name in map(str, shared.coords) if name not in shared.dims]
        coordinates = [k for k in [*self.template.coordinates(), *others] if k != COLLECTION]
        attributes = {**shared.attrs, ABOUT: dict(about), "coordinates": " ".join(coordinates)}
        self.writer.write_described(self.label, attributes, files, metadata)
        written = [encode_variable(str(name), of) for name, of in shared.variables.items()]
        for name, of in self.template.of_each().items():
            dims = (COLLECTION, *of.dims)
            array = Array(dims, (self.n, *of.shape), of.dtype, _lengths(of, self.n), of.attrs)
            written.append(iter([(f"{name}/{METADATA}", describe(array))]))
        part = self.writer.write(
            (f"{self.label}/{key}", content) for key, content in chain.from_iterable(written)
        )
        note([part], files, metadata)
