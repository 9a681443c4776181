"""A study: a zarr store of collections with their cubes, blocks and results.

    study.zarr/<collection>/rankings                  levels in rank order
                           /cube                      score[metric, gain, run, topic]
                           /blocks/<analysis>/<work>  recorded blocks, see `blocks.py`
                           /results/<analysis>/<plan> finished results, never changed
              /.index/<segment>                       what the manifests say, for listings, see `index.py`

The store is a directory or a prefix of an object store (see `location.py`). Every group can be read with
``xarray.open_datatree(path, engine="zarr", consolidated=False)``; small results at an object store are one array, see `small_groups.py`. The attributes of the study and of each collection are manifests that say
where each group lies and what its metadata must be (see `manifest.py`): a replaced cube lies under ``cube.2`` or the like, to which ``cube`` is a link in a directory.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, overload

import xarray as xr

from scorecube.collection import schema
from scorecube.collection.arguments import as_cube
from scorecube.errors import BadStudy, nearest
from scorecube.storage.catalogue import Catalogue, check_collection_name, no_study
from scorecube.storage.collection import Collection
from scorecube.storage.contents import contents_html, contents_text
from scorecube.storage.datasets import MAX_BUFFERED_BYTES
from scorecube.storage.index import INDEX, write_rows
from scorecube.storage.layout import METADATA
from scorecube.storage.location import Location, open_location
from scorecube.storage.lock import hold_lock, is_left, is_lock, lock_suffix
from scorecube.storage.manifest import EMPTY
from scorecube.storage.writer import ListWriter, Session, Writer

LIST_SECONDS = 60.0
"""Longest wait for other processes that add collections."""
BATCH_SECONDS, BATCH_ROWS = 2.0, 64
"""Longest time, and most rows, until the rows of a batch are written."""


def open_study(path: str | os.PathLike[str], mode: str = "r") -> Study:
    """Open a study.

    Parameters
    ----------
    path
        Directory of the zarr store, or a URL: ``s3://bucket/prefix`` (also ``gs://`` and ``az://``) with credentials from the
        environment; URLs need obstore.
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


class Study(Catalogue):
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

    def __init__(self, location: Location, *, writable: bool = False) -> None:
        super().__init__(location)
        self.writable = writable
        self._guard = threading.RLock()
        self._sessions: dict[str, tuple[Session, ExitStack]] = {}
        """Open sessions by collection, and those of a batch whose rows are to be written, each with its lock."""
        self._in_batch, self._written = False, 0.0

    def __repr__(self) -> str:
        """Return its path, and sizes, metrics and results of its collections."""
        return contents_text(self.path, self.rows)

    def _repr_html_(self) -> str:
        """Return the same as a table, for notebooks."""
        return contents_html(self.path, self.rows())

    def __reduce__(self) -> tuple[Callable[..., Study], tuple[str]]:
        """Another process opens the study, for reading."""
        return open_study, (self.path,)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of collections, sorted."""
        self.refresh()
        return iter(sorted(self.paths))

    def __getitem__(self, name: str) -> Collection:
        if name not in self:
            known = list(self)
            raise BadStudy(
                f"{self.path}: no collection {name!r}; it has: {nearest(name, known) or 'none yet'}"
            )
        writer, _ = self._sessions.get(name, (None, None))
        return writer if isinstance(writer, Writer) and writer.users else Collection(self, name)

    def add(
        self,
        name: str,
        *,
        cube: xr.Dataset,
        rankings: xr.Dataset | None = None,
        replace: bool = False,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a collection, or further metrics and gain settings of one that exists.

        name: Name of the collection: no slashes.
        cube: Scores; merged with the stored cube if runs and topics are equal. Those that are made on use, as
            `simulated` makes them, are made and written part by part.
        rankings: Levels in rank order, if known.
        replace: Replace the scores and rankings that are stored under the name. Results of other scores are kept as
            outdated until they are computed again.
        facts: JSON values to note in the manifest.
        Raises BadStudy: The collection exists with other runs, topics or scores, or another process has changed what
            these were made from.
        """
        cube = as_cube(cube)
        schema.check(cube, schema.CUBE, "the cube")
        check_collection_name(name)
        if not self.writable:
            raise BadStudy(
                f"{self.path} was opened for reading; open it with mode='a' to add to it"
            )
        if cube.nbytes <= MAX_BUFFERED_BYTES:
            cube = cube.compute()
        with self._listing() as listing, self.lock(name) as writer, self.location.failures():
            listing.change()
            writer.add(cube, rankings, replace=replace, facts=facts or EMPTY)
            listing.change(add=[name])

    @overload
    def lock(self) -> AbstractContextManager[ListWriter]: ...
    @overload
    def lock(self, collection: str, *, needed: bool = True) -> AbstractContextManager[Writer]: ...
    def lock(self, collection: str = "", *, needed: bool = True) -> AbstractContextManager[Any]:
        """Hold the lock of one collection, or of the list of collections without a name, and yield what writes under it.

        Several processes may write different collections, and threads of one process share a lock. What a killed process left behind is
        removed.

        collection: Name of the collection, which need not be there yet.
        needed: Whether anything is written. Otherwise no lock is held in a directory that may not be written to.
        Raises BadStudy: Another process holds the lock, or none can be held.
        """
        return self._session(collection, needed=needed)

    @contextmanager
    def _listing(self) -> Iterator[ListWriter]:
        """Hold the lock of the list of collections as soon as no other process does."""
        end = time.monotonic() + LIST_SECONDS
        with ExitStack() as stack:
            while True:
                try:
                    listing = stack.enter_context(self.lock())
                    break
                except BadStudy:
                    if time.monotonic() > end:
                        raise
                    time.sleep(0.01)
            yield listing

    @contextmanager
    def _session(self, name: str, *, needed: bool = True) -> Iterator[Any]:
        session = self._open(name, needed=needed)
        failed = True
        try:
            yield session
            failed = False
        finally:
            with self._guard, suppress(*[Exception] if failed else []):  # raise the first failure
                session.users -= 1
                if not session.users:
                    self._settle(session)

    def _open(self, name: str, *, needed: bool) -> Session:
        with self._guard:
            if name not in self._sessions:
                with ExitStack() as lock, self.location.failures():
                    lock_file = self.location.lock_file(name)
                    held = lock.enter_context(hold_lock(lock_file, needed=needed))
                    opened = (Writer if name else ListWriter)(self, name, held)
                    with held.guard:  # whoever shares the lock waits
                        if held.taken_over:
                            held.taken_over = False
                            self._remove_rest(opened)
                    self._sessions[name] = opened, lock.pop_all()
            session, _ = self._sessions[name]
            session.users += 1
            return session

    def _settle(self, session: Session) -> None:
        """Release a lock whose last user has left, in a batch when the rows are written."""
        late = time.monotonic() > self._written + BATCH_SECONDS
        settled = [name for name, (each, _) in self._sessions.items() if not each.users]
        if not session.changed:
            self._close([session.name])
        elif not self._in_batch or late or len(settled) >= BATCH_ROWS:
            self._close(settled)

    def _close(self, names: list[str]) -> None:
        """Write the rows of collections, and release their locks."""
        with ExitStack() as locks:
            changed = list[Writer]()
            for session, lock in [self._sessions.pop(name) for name in names]:
                locks.push(lock)
                if isinstance(session, Writer) and session.changed:
                    changed.append(session)
            try:
                with self.location.failures():
                    rows = [row for each in changed if (row := each.row_to_write()) is not None]
                    write_rows(self.location, {row.collection: row for row in rows})
            except BaseException:
                for each in changed:
                    each.keep_lock()
                raise
            self._written = time.monotonic()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Write the rows of changed collections together, and keep the locks of these collections until then."""
        self._in_batch, self._written = True, time.monotonic()
        try:
            yield
        finally:
            self._in_batch = False
            with self._guard:
                self._close([name for name, (each, _) in self._sessions.items() if not each.users])

    def _remove_rest(self, session: Session) -> None:
        """Remove what a killed process left of a collection, or of collections that it did not complete."""
        if self.refresh() is None:
            return
        if isinstance(session, Writer):
            if session.name in self:
                session.changed = True
                session.remove_rest()
            return
        kept = {METADATA, INDEX, *self.paths.values(), *map(lock_suffix, ["", *self.paths])}
        for name in self.location.children(""):
            if name not in kept and not (is_lock(name) and not is_left(Path(self.path, name))):
                self.location.remove(name)
