"""A study: collections by name, in a directory or an object store; see `heads.py` for its files."""

from __future__ import annotations

import dataclasses
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from scorecube.errors import BadStudy, UnknownCollection, counted, visible
from scorecube.names import GAIN, METRIC, RUN, SCORE
from scorecube.storage import heads
from scorecube.storage.collection import Collection
from scorecube.storage.heads import CUBE, GROUPS, RANKINGS, Head
from scorecube.storage.place import Place

if TYPE_CHECKING:
    import xarray as xr

LOGGER = logging.getLogger("scorecube")


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
            f"{place.name}: no study there; make one with scorecube evaluate {place.name} "
            f"--name NAME --runs ... --qrels ..., or import {place.name} FILE"
        )
    if place.is_new and not all(_is_begun(place, folder) for folder in folders):
        raise BadStudy(f"{place.name} exists and is not a study; choose another path")
    return Study(place, writable=mode == "a")


def _is_begun(place: Place, folder: str) -> bool:
    """Whether a folder may be that of a collection that a killed process began."""
    inner = place.children(folder)
    return place.read(folder) is None and all(name.startswith(GROUPS) for name in inner)


class Addition(NamedTuple):
    """What is written when scores are added to a collection.

    base: Its head, or one without anything where all is replaced.
    groups: Cube and rankings that change.
    lines: What is said of them.
    extends: Whether all runs and scores that were there stay as they are.
    """

    base: Head
    groups: Mapping[str, xr.Dataset]
    lines: list[str]
    extends: bool = True


class Study:
    """Collections by name, in a directory or an object store, as `open_study` returns it.

    Iterating over a study gives the names of its collections, sorted.

    Attributes
    ----------
    path
        Directory or URL.
    writable
        Whether it was opened with ``mode="a"``.

    Raises
    ------
    UnknownCollection
        ``study[name]`` of a collection that it does not hold; also a `KeyError`.

    See Also
    --------
    open_study : Opens or creates one.
    scorecube.storage.Collection : What ``study[name]`` returns: cube, rankings, results.
    sweep : Analyses of all collections, stored in a study.

    Examples
    --------
    >>> import tempfile
    >>> from scorecube.testing import simulate_cube
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = open_study(folder + "/study", mode="a")
    ...     study.add("week1", cube=simulate_cube(n_runs=4))
    ...     "week1" in study, study["week1"].cube.sizes["run"]
    (True, 4)
    """

    def __init__(self, place: Place, *, writable: bool = False) -> None:
        self.place = place
        self.path = place.name
        self.writable = writable

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
            raise UnknownCollection(f"{self.path}: no collection {name!r}; it has: {known}")
        return Collection(self, name)

    def write_files(self, files: Mapping[str, bytes]) -> None:
        """Write files of `Collection.files` of another study."""
        for key, content in files.items():
            self.place.write(key, content, synced=False)

    def add(
        self,
        name: str,
        *,
        cube: xr.Dataset | xr.DataArray,
        rankings: xr.Dataset | None = None,
        replace: bool | Literal["cells"] = False,
        grow: bool = True,
        facts: Mapping[str, Any] | None = None,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        """Write a collection, or further runs, metrics and gain settings of one that exists.

        Runs are added where the topics, and the judgements, are the same; they need all metrics and
        gain settings that are there, and results of before are outdated. Cells that are given may
        be replaced, or all where topics or judgements differ.

        Parameters
        ----------
        name
            Of the collection.
        cube
            Scores, as of `evaluate`; large ones that are made on use are written part by part.
        rankings
            Levels in rank order of its runs, as of `read_rankings`, if known.
        replace
            True for all that is stored under the name, ``"cells"`` for what is given.
        grow
            Whether runs may be added.
        facts
            JSON values to note.
        notify
            Called with lines on what is outdated or replaced as a whole; logged by default.

        Raises
        ------
        BadStudy
            The collection exists with other topics or scores, or would have gaps; or the study was
            opened for reading.
        """
        from scorecube.collection import schema
        from scorecube.collection.arguments import as_cube
        from scorecube.collection.growth import OtherCollection

        scores = as_cube(cube)
        schema.check(scores, schema.CUBE, "the cube")
        heads.check_collection_name(name)
        if not self.writable:
            raise BadStudy(f"{self.path} was opened for reading; add to it with mode='a'")
        if scores.nbytes <= schema.MAX_LOADED_BYTES:
            scores = scores.compute()
        given = {CUBE: scores} if rankings is None else {CUBE: scores, RANKINGS: rankings}
        before = Head(name)
        added = Addition(before, {}, [])

        def change(head: Head) -> Head:
            nonlocal before, added
            before = head
            empty = Head(name, head.number, id=head.id)
            base = empty if replace is True else head
            try:
                added = self._addition(base, given, replace=bool(replace), grow=grow)
            except OtherCollection as error:
                if replace != "cells":
                    raise
                why = str(error).partition("; use")[0]
                added = Addition(empty, given, [f"{name}: replaced as a whole: {why}"])
            after = dataclasses.replace(
                added.base,
                notes={**added.base.notes, **(facts or {})},
                contains=added.base.contains if added.extends else (),
            )
            for kind, dataset in added.groups.items():
                after = heads.write_group(self.place, after, kind, dataset)
            if after.cube == head.cube:  # so earlier versions are in it, too
                after = dataclasses.replace(after, contains=head.contains)
            return after

        head = heads.commit(self.place, name, change)
        self._write_cleaned(head, added.groups)
        outdated = before.cube and before.cube not in head.contains
        for line in [*added.lines, *(self._outdated(head) if outdated else ())]:
            (notify or LOGGER.warning)(line)

    def _write_cleaned(self, head: Head, written: Mapping[str, xr.Dataset]) -> None:
        """Write groups again that were cleaned before a head named them."""
        for kind, dataset in written.items():
            n_files = len(heads.keys_of(self.place, head.group(kind)))
            if n_files != head.facts[kind]["files"]:
                heads.write_group(self.place, head, kind, dataset)

    def _addition(
        self, base: Head, given: Mapping[str, xr.Dataset], *, replace: bool, grow: bool
    ) -> Addition:
        """Return what is written when scores, and perhaps rankings, are added to a head."""
        from scorecube.collection.growth import OtherCollection, merge_cubes, merge_rankings
        from scorecube.collection.ranges import changed_ranges

        if not base.cube:
            return Addition(base, given, [])
        what = f"{self.path}: collection {base.name!r}"
        there = {
            kind: heads.read_group(self.place, base, kind)
            for kind in GROUPS
            if kind == CUBE or (kind in given and base.rankings)
        }
        merged = {
            **given,
            CUBE: merge_cubes(there[CUBE], given[CUBE], what, grow=grow, replace=replace),
        }
        extends = _extends(there[CUBE], merged[CUBE])
        if RANKINGS in there:
            merged[RANKINGS] = merge_rankings(
                there[RANKINGS], given[RANKINGS], what, replace=replace
            )
        elif base.rankings and not extends:
            raise OtherCollection(
                f"{what} was evaluated from run files, and these are scores alone; use scorecube "
                "evaluate to add runs to it"
            )
        changed = {
            kind: dataset
            for kind, dataset in merged.items()
            if kind not in there or not dataset.identical(there[kind])
        }
        ranges = changed_ranges(there[CUBE], merged[CUBE])
        return Addition(base, changed, [f"{base.name}: {line}" for line in ranges], extends)

    def _outdated(self, head: Head) -> list[str]:
        """Return a line on results that are not of the scores of a head, if there are any."""
        outdated = Collection(self, head.name, head).contents()["outdated"]
        if not outdated:
            return []
        which = ", ".join(f"{analysis} ({count})" for analysis, count in outdated.items())
        total = counted(sum(outdated.values()), "result")
        return [f"{head.name}: {total} of earlier scores outdated: {which}; kept until rerun"]


def _extends(old: xr.Dataset, new: xr.Dataset) -> bool:
    """Whether a cube has no other runs than an earlier one, and all of its scores."""
    from scorecube.collection.schema import labels_of

    if labels_of(old, RUN) != labels_of(new, RUN):
        return False
    part = new[SCORE].sel({dim: labels_of(old, dim) for dim in (METRIC, GAIN)})
    return bool(part.equals(old[SCORE]))
