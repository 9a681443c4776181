"""A study: a zarr store of collections with their cubes, blocks and results.

    study.zarr/<collection>/rankings                  levels in rank order
                           /cube                      score[metric, gain, run, topic]
                           /blocks/<analysis>/<work>  recorded blocks, see `blocks.py`
                           /results/<analysis>/<plan> finished results, never changed
              /.index/<segment>                       what the manifests say, for listings, see `index.py`

The store is a directory or a prefix of an object store (see `location.py`). Every group can be read with
``xarray.open_datatree(path, engine="zarr", consolidated=False)``; small results at an object store are one array, see `small_groups.py`. The attributes of the study and of each collection are manifests that say
where each group lies and what its metadata must be (see `manifest.py`): a replaced cube lies under ``cube.2`` or the like.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace as replaced
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.errors import BadStudy, CorruptStudy, nearest, option
from scorecube.storage import version_1
from scorecube.storage.catalogue import Catalogue, Describe, no_study
from scorecube.storage.collection import Collection
from scorecube.storage.datasets import MAX_BUFFERED_BYTES, is_made_on_use
from scorecube.storage.html import html_of_collections
from scorecube.storage.index import INDEX, Row, row_of, write_rows
from scorecube.storage.layout import FORMAT_VERSION, METADATA, VERSION
from scorecube.storage.location import STAGED, Location, open_location
from scorecube.storage.lock import (
    LockLost,
    check_held,
    hold_lock,
    is_held,
    is_left,
    is_lock,
    keep,
    lock_suffix,
)
from scorecube.storage.manifest import (
    BLOCKS,
    CUBE,
    EMPTY,
    OUTDATED,
    RANKINGS,
    RESULTS,
    Manifest,
    digest_of,
    sealed,
)
from scorecube.storage.nodes import open_group

if TYPE_CHECKING:
    import zarr

FORBIDDEN_CHARACTERS = set("/\\\0")
_HELD_MANIFESTS: dict[tuple[int, str, str], tuple[Manifest, bytes]] = {}
"""By process, study and collection: manifests of collections that this process has locked."""
_CHANGES: Counter[tuple[int, str, str]] = Counter()
"""By the same: how often what is held changed."""
_CHANGING = threading.Lock()
"""Held while one of them changes, as several threads read and write."""
BATCH_SECONDS, BATCH_ROWS = 2.0, 64
"""Longest time, and most rows, until the rows of a batch are written."""
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
                raise BadStudy(no_study(location))
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

    def __init__(self, location: Location | Catalogue, *, writable: bool = False) -> None:
        self.catalogue = location if isinstance(location, Catalogue) else Catalogue(location)
        self.location = self.catalogue.location
        self.path = self.location.name
        self.writable = writable
        self._guard = threading.RLock()
        self._writers: Counter[str] = Counter()
        self._unindexed: dict[str, tuple[Manifest, bytes] | None] = {}
        """Collections whose rows in the index are to be written, with their manifests; None if they must be read."""
        self._kept: dict[str, ExitStack] | None = None
        """Locks that are held until the rows of a batch are written; None without a batch."""
        self._written = 0.0

    def _repr_html_(self) -> str:
        """Return the collections as a table, for notebooks."""
        contents = {
            name: {**row.facts.get("cube", {}), **row.contents()}
            for name, row in self.rows().items()
        }
        return html_of_collections(self.path, contents)

    @property
    def version(self) -> int:
        """Format of the store."""
        return self.catalogue.version

    def __reduce__(self) -> tuple[Callable[..., Study], tuple[str]]:
        """Another process opens the study, for reading."""
        return open_study, (self.path,)

    @property
    def root(self) -> zarr.Group:
        """The zarr group, for reading."""
        return open_group(self.location)

    def refresh(self) -> bytes | None:
        """Read the list of collections again and return the metadata file that holds it."""
        return self.catalogue.refresh()

    def path_of(self, name: str) -> str:
        """Return the path of a collection's group, for one that is new the path that it will have."""
        return self.catalogue.paths.get(name, name)

    def rows(self, describe: Describe | None = None) -> dict[str, Row]:
        """Return what the index says of all collections; see `Catalogue.rows`."""
        return self.catalogue.rows(describe)

    def with_facts(self, name: str, manifest: Manifest, describe: Describe | None) -> Manifest:
        """Return a manifest with the facts that an earlier version did not note; see `Collection.with_facts`."""
        return Collection(self, name).with_facts(manifest, describe)

    def held_manifest(self, name: str) -> tuple[Manifest, bytes] | None:
        """Return the manifest of a collection whose lock this process holds, if it is known.

        Other processes cannot change it, and all writers of this process share what is known.
        """
        known = _HELD_MANIFESTS.get((os.getpid(), self.path, name))
        return known if known is not None and is_held(self.location.lock_file(name)) else None

    def hold_manifest(
        self, name: str, known: tuple[Manifest, bytes] | None, *, changes: int | None = None
    ) -> None:
        """Keep a manifest while this process holds the lock of its collection; None forgets it.

        One that was read after a number of `changes` is not kept if a writer of this process changed it meanwhile.
        """
        key = os.getpid(), self.path, name
        kept = known if is_held(self.location.lock_file(name)) else None
        with _CHANGING:
            if changes is not None and changes != _CHANGES[key]:
                return
            _CHANGES[key] += 1
            if kept is not None:
                _HELD_MANIFESTS[key] = kept
            else:
                _HELD_MANIFESTS.pop(key, None)

    def changes_of(self, name: str) -> int:
        """Return how often the manifest that is held of a collection changed."""
        return _CHANGES[os.getpid(), self.path, name]

    def note_change(self, name: str, written: tuple[Manifest, bytes] | None) -> None:
        """Note that a manifest is about to change, and then how: its row is written before its lock is released."""
        with self._guard:
            self._unindexed[name] = written

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Write the rows of changed collections together, and keep the locks of these collections until then."""
        self._kept, self._written = {}, time.monotonic()
        try:
            yield
        finally:
            kept, self._kept = self._kept, None
            try:
                self._write_rows()
            finally:
                for name, held in kept.items():
                    held.close()
                    self.hold_manifest(name, None)

    def _is_due(self) -> bool:
        late = time.monotonic() > self._written + BATCH_SECONDS
        return self._kept is None or late or len(self._unindexed) >= BATCH_ROWS

    def _keep_lock(self, name: str) -> None:
        """Hold a lock until the rows of the batch are written."""
        with self._guard:
            if self._kept is not None and name and name not in self._kept:
                self._kept[name] = ExitStack()
                self._kept[name].enter_context(hold_lock(self.location.lock_file(name)))

    def _write_rows(self) -> None:
        """Write the rows of changed collections that no thread of this process writes now."""
        with self._guard:
            settled = [name for name in self._unindexed if not self._writers[name]]
            if not settled or not self._is_due():
                return
            try:
                with self.location.failures():
                    rows = [row for name in settled if (row := self._row(name)) is not None]
                    write_rows(self.location, {row.collection: row for row in rows})
            except BaseException:
                for name in settled:
                    self._keep_lock_file(name)
                raise
            self._written = time.monotonic()
            for name in settled:
                del self._unindexed[name]
                if self._kept is not None and name in self._kept:
                    self._kept.pop(name).close()
                    self.hold_manifest(name, None)

    def _keep_lock_file(self, name: str) -> None:
        """Leave the lock file where it says that the row of a collection is old."""
        if not self.location.has_stamps:
            keep(self.location.lock_file(name))

    def _row(self, name: str) -> Row | None:
        """Return the row of a collection; None for one that is damaged or was not completed."""
        key, known = f"{self.path_of(name)}/{METADATA}", self._unindexed[name]
        stamp, held = self.location.stamp(key), self.held_manifest(name)
        if held is not None and not stamp:  # no file that may have been replaced by hand
            return row_of(held[0], digest_of(held[1]), stamp)
        content = self.location.read(key)  # after its stamp
        if content is None:
            return None
        if known is None or known[1] != content:
            try:
                known = self.catalogue.manifest_of(name, content), content
            except CorruptStudy:
                self._keep_lock_file(name)
                return None
        return row_of(known[0], digest_of(content), stamp)

    @contextmanager
    def lock(self, collection: str = "", *, needed: bool = True) -> Iterator[None]:
        """Hold the lock of one collection, or of the list of collections without a name.

        Several processes may write different collections. BadStudy if another process holds the lock, or none can be held and it is
        `needed`. What a killed process left behind is removed.
        """
        with self.location.failures():
            held = hold_lock(self.location.lock_file(collection), needed=needed)
            taken_over = held.__enter__()
        if not self._writers[collection] and collection not in (self._kept or {}):
            self.hold_manifest(collection, None)
        self._keep_lock(collection)
        with self._guard:
            self._writers[collection] += 1
        failed = True
        try:
            if taken_over:
                self._remove_rest(collection)
            yield
            failed = False
        finally:
            with self._guard:
                self._writers[collection] -= 1
            if not self._writers[collection] and collection not in (self._kept or {}):
                self.hold_manifest(collection, None)
            try:
                with suppress(*[Exception] if failed else []):  # raise the first failure
                    self._write_rows()
            finally:
                held.__exit__(None, None, None)

    def _remove_rest(self, collection: str) -> None:
        """Remove what a killed process left of a collection, or of collections that it did not complete."""
        if self.version != FORMAT_VERSION or self.refresh() is None:
            return
        if collection in self:
            self.note_change(collection, None)
            self[collection].remove_rest()
        elif not collection:
            kept = {METADATA, INDEX, *self.catalogue.paths.values()}
            kept |= {lock_suffix(each) for each in ["", *self.catalogue.paths]}
            for name in self.location.children(""):
                if name not in kept and not (is_lock(name) and not is_left(Path(self.path, name))):
                    self.location.remove(name)

    def check_lock(self, collection: str = "") -> None:
        """Refuse to go on if this process held a lock and lost it; see `scorecube.storage.lock.check_held`."""
        try:
            check_held(self.location.lock_file(collection))
        except LockLost:
            self.location.check_there()
            raise

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of collections, sorted."""
        self.refresh()
        return iter(sorted(self.catalogue.paths))

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or _reserved(name):
            return False
        if name not in self.catalogue.paths:
            self.refresh()
        return name in self.catalogue.paths

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
        facts: Mapping[str, Any] | None = None,
        base: Manifest | None = None,
    ) -> None:
        """Write a collection, or further metrics and gain settings of one that exists.

        Parameters
        ----------
        name
            Name of the collection: no slashes.
        cube
            Scores; merged with the stored cube if runs and topics are equal. Those that are made on use, as `simulated` makes them, are
            made and written part by part.
        rankings
            Levels in rank order, if known.
        replace
            Replace the scores and rankings that are stored under the name. Results of other scores are kept as outdated until they are
            computed again.
        facts
            JSON values to note in the manifest.
        base
            Manifest of the scores and rankings that those which replace them were made from.

        Raises
        ------
        BadStudy
            The collection exists with other runs, topics or scores, or another process has changed what these were made from.
        """
        schema.check(cube, schema.CUBE, "the cube")
        check_collection_name(name)
        if not self.writable:
            raise BadStudy(
                f"{self.path} was opened for reading; open it with mode='a' to add to it"
            )
        if cube.nbytes <= MAX_BUFFERED_BYTES:
            cube = cube.compute()
        parts = is_made_on_use(cube, names.SCORE)
        with self.lock(), self.lock(name), self.location.failures():
            self.prepare()
            if name in self and not replace:
                if parts:
                    raise BadStudy(
                        f"{self.path}: collection {name!r} exists, and scores that are written part by part cannot be merged; "
                        f"use {option('replace', True)} to start over, or another {option('name')}"
                    )
                collection = self[name]
                base, before = collection.manifest, collection.cube
                merged = merge_cubes(before, cube, f"{self.path}: collection {name!r}")
                if not merged.identical(before):
                    collection.write(
                        {CUBE: merged}, lambda manifest: _noting(manifest, facts), base=base
                    )
                elif facts:
                    collection.note(facts)
                return
            same = name in self and not parts and _same_scores(self[name], cube)
            self._write_new(name, cube, rankings, facts, same=same, base=base)
            self.list_collections([name])

    def _write_new(
        self,
        name: str,
        cube: xr.Dataset,
        rankings: xr.Dataset | None,
        facts: Mapping[str, Any] | None,
        *,
        same: bool,
        base: Manifest | None = None,
    ) -> None:
        parts = {CUBE: cube} | ({} if rankings is None else {RANKINGS: rankings})
        Collection(self, name).write(
            parts,
            lambda manifest: _noting(_started_over(manifest, set(parts), keep=same), facts),
            base=base,
        )

    def write_unlisted(self, name: str, cube: xr.Dataset, facts: Mapping[str, Any]) -> None:
        """Write a new collection, which `list_collections` adds; another process holds the lock of the study."""
        schema.check(cube, schema.CUBE, "the cube")
        check_collection_name(name)
        with self.lock(name), self.location.failures():
            self._write_new(name, cube, None, facts, same=False)

    def upgrade(self) -> None:
        """Give a study of format 1 its manifests; without effect on others."""
        if self.version == FORMAT_VERSION and self.catalogue.paths:
            return  # for good
        if self.refresh() is not None and self.version == version_1.FORMAT:
            with self.lock():
                paths = self.catalogue.paths
                for name, path in paths.items():
                    with self.lock(name):
                        if not self[name].has_manifest():
                            version_1.upgrade(self.location, path, name)
                            self.hold_manifest(name, None)
                self._write_list(dict)

    def prepare(self) -> None:
        """Create the study if it is new, or upgrade it."""
        if self.refresh() is None:
            self._write_list(dict)
        self.upgrade()

    def list_collections(self, names: Iterable[str]) -> None:
        """Add written collections to the list; the caller holds the lock of the study."""
        self._write_list(lambda paths: {name: name for name in names} | paths)

    def change_list(
        self,
        *,
        add: Iterable[str] = (),
        remove: Iterable[str] = (),
        parts: Mapping[str, int] = EMPTY,
    ) -> None:
        """Add collections that are written to the list, and take others off it, in one step; the caller holds the lock.

        `parts` are numbers of parts of the sweeps that the new ones come from.
        """
        with self.location.failures():
            self.prepare()
            gone, new = set(remove), {name: name for name in add}
            self._write_list(
                lambda paths: (
                    new | {name: path for name, path in paths.items() if name not in gone}
                ),
                parts,
            )

    def _write_list(
        self, change: Callable[[dict[str, str]], dict[str, str]], parts: Mapping[str, int] = EMPTY
    ) -> None:
        """Change the list of collections, unless it stays as it is."""
        while True:
            content = self.refresh()
            before, noted = self.catalogue.paths, self.catalogue.parts
            paths, numbers = change(before), {**noted, **parts}
            same = paths == before and numbers == noted
            if content is not None and same and self.version == FORMAT_VERSION:
                return
            self.check_lock()
            manifest: dict[str, Any] = {"collections": dict(sorted(paths.items()))}
            manifest |= {"parts": numbers} if numbers else {}
            new = sealed(manifest, {VERSION: FORMAT_VERSION})
            if self.location.exchange(METADATA, content, new):
                self.refresh()
                return


def _same_scores(collection: Collection, cube: xr.Dataset) -> bool:
    try:
        return bool(collection.cube.equals(cube))
    except CorruptStudy:
        return False


def _noting(manifest: Manifest, facts: Mapping[str, Any] | None) -> Manifest:
    return replaced(manifest, facts={**manifest.facts, **(facts or {})})


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
            f"{what} holds other scores, teams or groups for the same runs and topics; use {option('replace', True)} to start over"
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
    merged = merged.assign_attrs({**new.attrs, **old.attrs})
    return schema.annotate(merged.transpose(*schema.CUBE[0].dims, ...), schema.CUBE)
