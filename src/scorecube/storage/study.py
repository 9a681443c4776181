"""A study: collections by name, in a directory or an object store; see `heads.py` for its files."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator, Mapping
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from scorecube.errors import BadStudy, visible
from scorecube.storage import heads
from scorecube.storage.collection import Collection
from scorecube.storage.heads import CUBE, GROUPS, RANKINGS, Head
from scorecube.storage.place import Place

if TYPE_CHECKING:
    import xarray as xr


def open_place(path: str | os.PathLike[str]) -> Place:
    """Return the place of a path or URL (BadStudy for a URL that cannot be opened)."""
    text = os.fspath(path)
    scheme = re.match("([A-Za-z][A-Za-z0-9+.-]*)://", text)
    if scheme is None:
        return Place(text)
    if scheme[1] not in ("s3", "gs", "az"):  # with conditional writes
        raise BadStudy(f"{text}: studies are directories, or at s3://, gs:// or az://")
    try:
        from scorecube.storage.object_place import ObjectPrefix
    except ModuleNotFoundError:
        raise BadStudy(f"{text}: object stores need obstore: pip install obstore") from None
    return ObjectPrefix(text)


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether there is any file or object at a path or URL."""
    return bool(open_place(path).children(""))


def open_study(path: str | os.PathLike[str], mode: str = "r") -> Study:
    """Open a study.

    Parameters
    ----------
    path
        Directory, or URL: ``s3://bucket/prefix``, with credentials from the environment.
    mode
        ``r`` to read; ``a`` to add to it, and to create it if it does not exist.

    Returns
    -------
    study
        Its collections by name: ``study["covid"].cube``.

    Raises
    ------
    BadStudy
        No study there, or other content.

    Examples
    --------
    >>> import tempfile
    >>> from scorecube.testing import simulate_cube
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     open_study(folder + "/study", mode="a").add("demo", cube=simulate_cube(n_runs=4))
    ...     list(open_study(folder + "/study"))
    ['demo']
    """
    place = open_place(path)
    folders = place.children("")
    place.is_new = not any(heads.head_numbers(place, folder) for folder in folders)
    if place.is_new and mode != "a":
        raise BadStudy(
            f"{place.name}: no study there; make one with: scorecube evaluate {place.name} "
            "--name NAME --runs ... --qrels ..."
        )
    if place.is_new and not all(_is_begun(place, folder) for folder in folders):
        raise BadStudy(f"{place.name} exists and is not a study; choose another path")
    return Study(place, writable=mode == "a")


def _is_begun(place: Place, folder: str) -> bool:
    """Whether a folder may be that of a collection that a killed process began."""
    inner = place.children(folder)
    return place.read(folder) is None and all(name.startswith(GROUPS) for name in inner)


class Study:
    """Collections by name, in one store; see `open_study`."""

    def __init__(self, place: Place, *, writable: bool = False) -> None:
        self.place, self.path, self.writable = place, place.name, writable

    def __repr__(self) -> str:
        """Return its path, and the names of its collections."""
        return visible(f"{self.path}: {', '.join(self) or 'no collection'}")

    def collections(self) -> list[Collection]:
        """Return all collections as they are now, sorted by name (CorruptStudy for damage)."""
        read = partial(heads.latest_head, self.place)
        newest = filter(None, self.place.map(read, self.place.children("")))
        return [
            Collection(self, head.name, head) for head in sorted(newest, key=attrgetter("name"))
        ]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of collections, sorted."""
        return iter([collection.name for collection in self.collections()])

    def __contains__(self, name: object) -> bool:
        try:
            heads.check_collection_name(str(name))
        except BadStudy:
            return False
        head = heads.latest_head(self.place, heads.folder_of(str(name)))
        return head is not None and head.name == name

    def __getitem__(self, name: str) -> Collection:
        if name not in self:
            known = ", ".join(self) or "none yet"
            raise BadStudy(f"{self.path}: no collection {name!r}; it has: {known}")
        return Collection(self, name)

    def add(
        self,
        name: str,
        *,
        cube: xr.Dataset | xr.DataArray,
        rankings: xr.Dataset | None = None,
        replace: bool = False,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a collection, or further metrics and gain settings of one that exists.

        cube: Scores; large ones that are made on use are made and written part by part.
        rankings: Levels in rank order, if known.
        replace: Replace what is stored under the name; results of other scores are outdated.
        facts: JSON values to note.
        Raises BadStudy: The collection exists with other runs, topics or scores.
        """
        from scorecube.collection import schema
        from scorecube.collection.arguments import as_cube
        from scorecube.storage.cubes import merge_cubes

        scores = as_cube(cube)
        schema.check(scores, schema.CUBE, "the cube")
        heads.check_collection_name(name)
        if not self.writable:
            raise BadStudy(f"{self.path} was opened for reading; add to it with mode='a'")
        if scores.nbytes <= schema.MAX_LOADED_BYTES:
            scores = scores.compute()
        written: dict[str, xr.Dataset] = {}

        def change(head: Head) -> Head:
            base = Head(name, head.number, id=head.id) if replace else head
            written.clear()
            if base.cube:
                there = heads.read_group(self.place, base, CUBE)
                merged = merge_cubes(there, scores, f"{self.path}: collection {name!r}")
                if not merged.identical(there):
                    written[CUBE] = merged
            else:
                written[CUBE] = scores
            if rankings is not None and not base.rankings:
                written[RANKINGS] = rankings
            after = dataclasses.replace(base, notes={**base.notes, **(facts or {})})
            for kind, dataset in written.items():
                after = heads.write_group(self.place, after, kind, dataset)
            if after.cube == head.cube:  # so earlier versions are in it, too
                after = dataclasses.replace(after, contains=head.contains)
            return after

        head = heads.commit(self.place, name, change)
        for kind, dataset in written.items():
            n_files = len(heads.keys_of(self.place, head.group(kind)))
            if n_files != head.facts[kind]["files"]:  # they were cleaned before it named them
                heads.write_group(self.place, head, kind, dataset)
