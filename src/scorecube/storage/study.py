"""A study: a zarr store of collections with their cubes, blocks and results.

    study.zarr/<collection>/rankings                  levels in rank order
                           /cube                      score[metric, gain, run, topic]
                           /blocks/<analysis>/<work>  recorded blocks, see `blocks.py`
                           /results/<analysis>/<plan> finished results, never changed

The store is a directory or a prefix of an object store (see `location.py`). Every group can be read with
``xarray.open_datatree(path, engine="zarr", consolidated=False)``. The attributes of the study and of each collection are manifests that say
where each group lies and what its metadata must be (see `manifest.py`): a replaced cube lies under ``cube.2`` or the like.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace as replaced
from typing import Final

import xarray as xr
import zarr

from scorecube import names
from scorecube.collection import schema
from scorecube.errors import BadStudy, CorruptStudy, nearest, option
from scorecube.storage import version_1
from scorecube.storage.collection import Collection
from scorecube.storage.encoding import FORMAT_VERSION, METADATA, ZARR_FORMAT
from scorecube.storage.location import STAGED, Location, open_location
from scorecube.storage.lock import check_held, hold_lock
from scorecube.storage.manifest import (
    BLOCKS,
    CUBE,
    DIGEST,
    MANIFEST,
    OUTDATED,
    RANKINGS,
    RESULTS,
    Manifest,
    sealed,
    unsealed,
)

VERSION = "scorecube_format"
FORBIDDEN_CHARACTERS = set("/\\\0")
MAX_NAME_BYTES: Final = 150
"""Of a collection: its lock file has a longer name, and file systems allow 255 bytes."""


def open_study(path: str | os.PathLike[str], mode: str = "r") -> Study:
    """Open a study.

    Parameters
    ----------
    path
        Directory of the zarr store, or a URL: ``s3://bucket/prefix`` (also ``gs://`` and ``az://``) with credentials from the
        environment; URLs need the extra ``scorecube[s3]``.
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
    CorruptStudy
        A study whose list of collections is damaged.
    StoreFailed
        A file system or object store that refuses the request or cannot be reached.

    Examples
    --------
    >>> import tempfile
    >>> from scorecube.testing import simulate_cube
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     open_study(folder + "/study.zarr", mode="a").add("demo", cube=simulate_cube(n_runs=4))
    ...     list(open_study(folder + "/study.zarr"))
    ['demo']
    """
    if mode not in ("r", "a"):
        raise BadStudy(f"mode {mode!r} is not 'r' or 'a'")
    location = open_location(path)
    with location.failures():
        if not location.holds_zarr():
            if mode == "r":
                raise BadStudy(
                    f"{location.name}: no study there; make one with: scorecube evaluate {location.name} --name NAME --runs ... --qrels ..."
                )
            location.refuse_occupied()
        study = Study(location, writable=mode == "a")
        study.refresh()
    return study


def check_collection_name(name: str) -> None:
    """Refuse names that cannot be groups of a store."""
    if _reserved(name):
        raise BadStudy(
            f"{name!r} cannot name a collection: it must not be empty, start with a dot, contain a slash, end in "
            f"{version_1.NEW}, {version_1.OLD}, {STAGED} or {METADATA}, be longer than {MAX_NAME_BYTES} bytes, or hold control "
            "characters or bytes that are not UTF-8"
        )


def _reserved(name: str) -> bool:
    try:
        length = len(name.encode())
    except UnicodeEncodeError:  # of bytes of the command line that are not UTF-8
        return True
    return (
        not name
        or length > MAX_NAME_BYTES
        or name.startswith(".")
        or name.endswith((version_1.NEW, version_1.OLD, STAGED, METADATA))
        or bool(FORBIDDEN_CHARACTERS & set(name))
        or any(ord(character) < 32 or ord(character) == 127 for character in name)
    )


class Study:
    """Collections by name, in one store; see `open_study`.

    Examples
    --------
    >>> import tempfile
    >>> from scorecube.testing import simulate_cube
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = open_study(folder + "/study.zarr", mode="a")
    ...     study.add("demo", cube=simulate_cube(n_runs=4))
    ...     list(study), study["demo"].cube.sizes["topic"]
    (['demo'], 50)
    """

    def __init__(self, location: Location, *, writable: bool) -> None:
        self.location = location
        self.path = location.name
        self.writable = writable
        self.version = FORMAT_VERSION
        """Format of the store."""
        self._paths: dict[str, str] = {}

    @property
    def root(self) -> zarr.Group:
        """The zarr group, for reading."""
        return zarr.open_group(self.location.store, mode="r", zarr_format=ZARR_FORMAT)

    def refresh(self) -> bytes | None:
        """Read the list of collections again and return the metadata file that holds it."""
        with self.location.failures():
            content = self.location.read(METADATA)
        if content is None:
            self._paths = {}
            return None
        try:
            attributes = json.loads(content).get("attributes", {})
            version = attributes.get(VERSION)
        except (ValueError, AttributeError, RecursionError):
            raise CorruptStudy(
                f"{self.path}: no study can be read there: its {METADATA} is damaged; restore it from a copy"
            ) from None
        if MANIFEST in attributes or DIGEST in attributes:
            self._paths = dict(unsealed(content, self.path)[MANIFEST]["collections"])
        elif version == version_1.FORMAT:
            with self.location.failures():
                self._paths = version_1.collection_paths(self.location)
        if version not in (version_1.FORMAT, FORMAT_VERSION):
            raise BadStudy(
                f"{self.path}: a zarr store, but not a study of format {FORMAT_VERSION} (found {version})"
            )
        if version == FORMAT_VERSION and MANIFEST not in attributes:
            raise CorruptStudy(f"{self.path}: its {METADATA} lacks the list of collections")
        self.version = version
        return content

    def path_of(self, name: str) -> str:
        """Return the path of a collection's group, for one that is new the path that it will have."""
        return self._paths.get(name, name)

    @contextmanager
    def lock(self, collection: str = "") -> Iterator[None]:
        """Hold the lock of one collection, or of the list of collections without a name.

        Several processes may write different collections. BadStudy if another process holds the lock. What a killed process left behind
        is removed.
        """
        with self.location.failures():
            held = hold_lock(self.location.lock_file(collection))
            taken_over = held.__enter__()
        try:
            if taken_over:
                self._remove_rest(collection)
            yield
        finally:
            held.__exit__(None, None, None)

    def _remove_rest(self, collection: str) -> None:
        """Remove what a killed process left of a collection, or of collections that it did not complete."""
        if self.version != FORMAT_VERSION or self.refresh() is None:
            return
        if collection in self:
            self[collection].remove_rest()
        elif not collection:
            for name in self.location.children(""):
                if name != METADATA and name not in self._paths.values():
                    self.location.remove(name)

    def check_lock(self, collection: str = "") -> None:
        """Refuse to go on if this process held a lock and lost it; see `scorecube.storage.lock.check_held`."""
        check_held(self.location.lock_file(collection))

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of collections, sorted."""
        self.refresh()
        return iter(sorted(self._paths))

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or _reserved(name):
            return False
        if name not in self._paths:
            self.refresh()
        return name in self._paths

    def __getitem__(self, name: str) -> Collection:
        if name not in self:
            known = list(self)
            raise BadStudy(
                f"{self.path}: no collection {name!r}; it has: {nearest(name, known) or 'none yet'}"
            )
        return Collection(self, name)

    def add(
        self,
        name: str,
        *,
        cube: xr.Dataset,
        rankings: xr.Dataset | None = None,
        replace: bool = False,
    ) -> None:
        """Write a collection, or further metrics and gain settings of one that exists.

        Parameters
        ----------
        name
            Name of the collection: no slashes.
        cube
            Scores; merged with the stored cube if runs and topics are equal.
        rankings
            Levels in rank order, if known.
        replace
            Replace the scores and rankings that are stored under the name. Results of other scores are kept as outdated until they are
            computed again.

        Raises
        ------
        BadStudy
            The collection exists with other runs, topics or scores.
        """
        schema.check(cube, schema.CUBE, "the cube")
        check_collection_name(name)
        if not self.writable:
            raise BadStudy(
                f"{self.path} was opened for reading; open it with mode='a' to add to it"
            )
        with self.lock(), self.lock(name), self.location.failures():
            self._prepare()
            if name in self and not replace:
                collection = self[name]
                before = collection.cube
                merged = merge_cubes(before, cube, f"{self.path}: collection {name!r}")
                if not merged.identical(before):
                    collection.write({CUBE: merged}, lambda manifest: manifest)
                return
            same = name in self and _same_scores(self[name], cube)
            parts = {CUBE: cube} | ({} if rankings is None else {RANKINGS: rankings})

            Collection(self, name).write(
                parts, lambda manifest: _started_over(manifest, set(parts), keep=same)
            )
            self._list(name)

    def upgrade(self) -> None:
        """Give a study of format 1 its manifests; without effect on others."""
        if self.refresh() is not None and self.version == version_1.FORMAT:
            with self.lock():
                paths = self._paths
                for name, path in paths.items():
                    with self.lock(name):
                        if not self[name].has_manifest():
                            version_1.upgrade(self.location, path, name)
                self._write_list(paths)

    def _prepare(self) -> None:
        """Create the study if it is new, or upgrade it."""
        if self.refresh() is None:
            self._write_list({})
        self.upgrade()

    def _list(self, name: str) -> None:
        """Add a collection to the list."""
        self.refresh()
        if name not in self._paths:
            self._write_list({**self._paths, name: name})

    def _write_list(self, paths: Mapping[str, str]) -> None:
        content = self.location.read(METADATA)
        self.check_lock()
        new = sealed({"collections": dict(sorted(paths.items()))}, {VERSION: FORMAT_VERSION})
        if not self.location.exchange(METADATA, content, new):
            raise BadStudy(
                f"{self.path}: another process changed the list of collections; run the same command again"
            )
        self.refresh()


def _same_scores(collection: Collection, cube: xr.Dataset) -> bool:
    try:
        return bool(collection.cube.equals(cube))
    except CorruptStudy:
        return False


def _started_over(manifest: Manifest, parts: set[str], *, keep: bool) -> Manifest:
    """Return a manifest without rankings and blocks; its results are outdated, unless they are kept."""
    manifest = replaced(manifest, facts={})
    if keep:
        return manifest if RANKINGS in parts else manifest.without({RANKINGS})
    entries = {
        name: replaced(entry, facts={**entry.facts, OUTDATED: True})
        if name.startswith(f"{RESULTS}/")
        else entry
        for name, entry in manifest.entries.items()
        if name != RANKINGS and not name.startswith(f"{BLOCKS}/")
    }
    return replaced(manifest, entries=entries)


def merge_cubes(old: xr.Dataset, new: xr.Dataset, what: str) -> xr.Dataset:
    """Add metrics and gain settings to a cube with the same runs and topics."""
    for dim in (names.RUN, names.TOPIC):
        if schema.labels_of(old, dim) != schema.labels_of(new, dim):
            raise BadStudy(
                f"{what} exists with {old.sizes[dim]} {dim}s, and the new scores have {new.sizes[dim]} or other ones; "
                f"use {option('replace', True)} to start over, or another {option('name')}"
            )
    try:
        merged = xr.merge([old, new], join="outer", compat="no_conflicts", combine_attrs="override")
    except (xr.MergeError, ValueError):
        raise BadStudy(
            f"{what} holds other scores or teams for the same runs and topics; use {option('replace', True)} to start over"
        ) from None
    if (
        merged[names.SCORE].isnull().sum()
        > old[names.SCORE].isnull().sum() + new[names.SCORE].isnull().sum()
    ):
        raise BadStudy(
            f"{what} has gain settings {', '.join(schema.labels_of(old, names.GAIN))} for its metrics; "
            f"give new metrics the same gain settings, or new gain settings all its metrics, or use {option('replace', True)}"
        )
    for dim in (names.METRIC, names.GAIN):
        before = schema.labels_of(old, dim)
        merged = merged.sel(
            {dim: before + [label for label in schema.labels_of(new, dim) if label not in before]}
        )
    return schema.annotate(merged.transpose(*schema.CUBE[0].dims, ...), schema.CUBE)
