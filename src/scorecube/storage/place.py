"""Where a study lies: a directory, or a prefix of an object store (`object_place.py`).

Both read, create, write, list and delete whole files. A file appears whole or not at all: it is
written under another name, synced, and linked (`create`, which never replaces) or renamed
(`write`, for names that say what the content is).
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

from scorecube.errors import BadStudy, CorruptStudy, StoreFailed

Item = TypeVar("Item")
Value = TypeVar("Value")
SYNC: Final = "SCORECUBE_SYNC"
"""Environment variable: 0 leaves syncing to the operating system, which is faster."""
PARTIAL: Final = ".partial"
"""Suffix of a file that is being written; a killed process leaves it, and nobody reads it."""
FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
NO_SYNC: Final = (errno.EINVAL, errno.ENOTSUP)
ABSENT: Final = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


def below(folder: str | os.PathLike[str], location: str) -> str:
    """Resolve a path relative to a folder; a URL is returned unchanged."""
    return location if "://" in location else str(Path(folder, location))


class Place:
    """A directory with files by key, such as ``covid/head.00001.json``.

    name: Path, as the user wrote it.
    """

    requests = 1
    """Files that are worth reading or writing at a time."""

    def __init__(self, name: str) -> None:
        self.name = name

    def exists(self) -> bool:
        """Whether there is any file or object."""
        return os.path.lexists(self.name)

    def make(self) -> None:
        """Make the place of a new study."""
        with failures(self.name):
            _make_folder(Path(self.name))

    def read(self, key: str) -> bytes | None:
        """Return the content of a file; None if there is none."""
        with suppress(*ABSENT), failures(self.name), open(f"{self.name}/{key}", "rb") as file:
            return file.read()
        return None

    def create(self, key: str, content: bytes) -> bool:
        """Write a file if there is none; return whether the file is this one."""
        with failures(self.name), self._aside(key, content) as (partial, path):
            try:
                os.link(partial, path)
            except FileExistsError:
                return self.read(key) == content
            except OSError as error:
                if error.errno not in NO_LINKS:
                    raise
                raise StoreFailed(
                    f"{self.name}: its file system has no hard links, without which two commands "
                    "could overwrite each other; keep the study on another one"
                ) from None
            _sync(path.parent)
            return True

    def write(self, key: str, content: bytes, *, synced: str = "name") -> None:
        """Write a file as a whole, over one that is there.

        synced: What a power failure must not undo: ``name`` and content; ``content``: it may be
            undone as a whole, in half the time; ``later``: `sync` follows.
        """
        here = synced != "later"
        with failures(self.name), self._aside(key, content, synced=here) as (partial, path):
            partial.replace(path)
            if synced == "name":
                _sync(path.parent)

    def sync(self) -> None:
        """Wait until all is on the disk: as long as for one file, where a cube has dozens."""
        if os.environ.get(SYNC) == "0":
            return
        with failures(self.name):
            system, folder = ctypes.CDLL(None, use_errno=True), os.open(self.name, os.O_RDONLY)
            try:
                if not hasattr(system, "syncfs"):
                    os.sync()
                elif system.syncfs(folder):
                    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), self.name)
            finally:
                os.close(folder)

    @contextmanager
    def _aside(
        self, key: str, content: bytes, *, synced: bool = True
    ) -> Iterator[tuple[Path, Path]]:
        """Write a file under another name; yield that path and the final one; remove what stays."""
        path = Path(self.name, key)
        self._check_inside(path.parent)
        if not Path(self.name).is_dir():
            raise BadStudy(moved(self.name))
        _make_folder(path.parent, synced=synced)
        partial = path.with_name(f".{secrets.token_hex(8)}{PARTIAL}")
        try:
            with partial.open("xb") as file:
                file.write(content)
            if synced:
                _sync(partial)
            yield partial, path
        finally:
            with suppress(OSError):
                partial.unlink(missing_ok=True)

    def children(self, path: str) -> list[str]:
        """Return the names directly below a path, sorted."""
        with suppress(*ABSENT), failures(self.name):
            listed = os.listdir(f"{self.name}/{path}")
            return sorted(name for name in listed if not name.endswith(PARTIAL))
        return []

    def keys(self, path: str) -> list[str]:
        """Return the keys of all files below a path, relative to it; unfinished ones too."""
        root = Path(self.name, path)
        with failures(self.name):
            files = [Path(at, name) for at, _, names in os.walk(root) for name in names]
        return sorted(file.relative_to(root).as_posix() for file in files)

    def delete(self, path: str) -> None:
        """Delete all at and below a path; links are not followed."""
        target = Path(self.name, path)
        self._check_inside(target.parent)
        with failures(self.name), suppress(FileNotFoundError):
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)
            else:
                target.unlink()

    def ages(self) -> dict[str, float]:
        """Return seconds since each file was written, by the clock of the store."""
        times = dict[str, float]()
        with failures(self.name), self._aside("clock", b"") as (probe, _):
            for key in self.keys(""):
                with suppress(FileNotFoundError):  # another process renames or removes it
                    times[key] = probe.stat().st_mtime - Path(self.name, key).lstat().st_mtime
        return times

    def array_store(self, path: str) -> Any:
        """Return what zarr opens to read arrays below a path."""
        return f"{self.name}/{path}"

    def _check_inside(self, path: Path) -> None:
        real = os.path.realpath(path)
        if not Path(real).is_relative_to(os.path.realpath(self.name)):
            raise CorruptStudy(
                f"{self.name}: {path} lies outside, at {real}, by a symbolic link; replace the "
                "link by what it names"
            )


def at_once(
    number: int, function: Callable[[Item], Value], items: Iterable[Item]
) -> Iterator[Value]:
    """Yield what a function returns for each item, in order; a number of calls run side by side."""
    if number == 1:
        yield from map(function, items)
        return
    left = iter(items)
    with ThreadPoolExecutor(number, thread_name_prefix="requests") as threads:
        while batch := list(islice(left, number)):
            yield from threads.map(function, batch)


@contextmanager
def failures(where: str) -> Iterator[None]:
    """Raise failures of the file system as `StoreFailed`; `where` if they have no file name."""
    try:
        yield
    except (*ABSENT, FileExistsError):
        raise  # have meanings of their own for the callers
    except OSError as error:
        remedy = "free space" if error.errno in FULL else "check its permissions and the disk"
        raise StoreFailed(
            f"{error.filename or where}: {error.strerror or error}; nothing that was stored is "
            f"lost: {remedy}, then run the same command again"
        ) from None


def moved(where: str) -> str:
    """Return the message on a study that is gone."""
    return (
        f"{where}: the study was moved or removed while it was in use; nothing was stored since. "
        "Run the same command again where it is now"
    )


def _make_folder(path: Path, *, synced: bool = True) -> None:
    """Make a folder and those above it."""
    if path.is_dir():
        return
    _make_folder(path.parent, synced=synced)
    with suppress(FileExistsError):  # another thread makes it, too
        path.mkdir()
        if synced:
            _sync(path.parent)
    if not path.is_dir():
        raise BadStudy(f"{path} is a file where a study has a folder; choose another path")


def _sync(path: Path) -> None:
    """Wait until the content of a file, or the entries of a folder, are on the disk."""
    if os.environ.get(SYNC) == "0":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in NO_SYNC:
            raise
    finally:
        os.close(descriptor)
