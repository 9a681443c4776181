"""Where a study lies: a directory, or a prefix of an object store (`object_place.py`).

Both read, create, write, list and delete whole files. A file appears whole or not at all: it is
written
under another name, synced, and linked (`create`, which never replaces) or renamed (`write`, for
names
that say what the content is).
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
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
SCHEMES: Final = ("s3", "gs", "az")
"""Object stores that support listing and conditional writes."""
REMEDIES: Final = {
    errno.ENOSPC: "free space",
    errno.EDQUOT: "free space of your quota",
    errno.EFBIG: "raise the limit of file sizes (ulimit -f)",
    errno.EROFS: "mount the file system for writing, or use another directory",
    errno.EACCES: "ask for the permission, or use another directory",
    errno.EPERM: "ask for the permission, or use another directory",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENAMETOOLONG: "use a shorter name",
}
"""What to do about a failure."""
NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


class Place:
    """A directory with files by key, such as ``covid/head.00001.json``.

    name: Path, as the user wrote it.
    """

    at_once = 1
    """Requests that are worth making at a time."""

    def __init__(self, name: str) -> None:
        self.name = name

    def exists(self) -> bool:
        """Whether there is any file or object."""
        return os.path.lexists(self.name)

    def make(self) -> None:
        """Make the place of a new study."""
        with failures(self.name):
            try:
                _make_folder(Path(self.name))
            except (FileExistsError, NotADirectoryError):
                raise BadStudy(
                    f"{self.name} is a file, or lies below one, and is not a study; choose another "
                    f"path"
                ) from None

    def read(self, key: str, last: int | None = None) -> bytes | None:
        """Return the content of a file, or its last bytes; None if there is none."""
        try:
            with failures(self.name), open(f"{self.name}/{key}", "rb") as file:
                if last is not None:
                    file.seek(max(0, os.fstat(file.fileno()).st_size - last))
                return file.read()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def create(self, key: str, content: bytes) -> bool:
        """Write a file if there is none, durably; return whether the file is this one."""
        with failures(self.name), self._aside(key, content, durable=True) as (partial, path):
            try:
                os.link(partial, path)
            except FileExistsError:
                return self.read(key) == content
            except OSError as error:
                if error.errno not in NO_LINKS:
                    raise
                raise StoreFailed(
                    f"{self.name}: its file system has no hard links, without which two commands "
                    f"could overwrite each other; "
                    "keep the study on another one"
                ) from None
            sync(path.parent)
            return True

    def write(self, key: str, content: bytes, *, durable: bool = True) -> None:
        """Write a file as a whole, over one that is there; `sync` follows if not `durable`."""
        with failures(self.name), self._aside(key, content, durable=durable) as (partial, path):
            partial.replace(path)
            if durable:
                sync(path.parent)

    @contextmanager
    def _aside(self, key: str, content: bytes, *, durable: bool) -> Iterator[tuple[Path, Path]]:
        """Write a file under another name; yield that path and the final one; remove what stays."""
        path = Path(self.name, key)
        self._check_inside(path.parent)
        if not Path(self.name).is_dir():
            raise BadStudy(moved(self.name))
        _make_folder(path.parent, durable=durable)
        partial = path.with_name(f".{secrets.token_hex(8)}{PARTIAL}")
        try:
            with partial.open("xb", buffering=0) as file:
                rest = memoryview(content)
                while rest:  # a file system may take a part only
                    rest = rest[file.write(rest) :]
            if durable:
                sync(partial)
            yield partial, path
        finally:
            for _ in range(2):  # or one failing call leaves the file
                with suppress(OSError):
                    partial.unlink(missing_ok=True)
                    break

    def children(self, path: str) -> list[str]:
        """Return the names directly below a path, sorted."""
        try:
            with failures(self.name):
                found = os.listdir(f"{self.name}/{path}")
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(name for name in found if not name.endswith(PARTIAL))

    def keys(self, path: str) -> list[str]:
        """Return the keys of all files below a path, relative to it, sorted."""
        with failures(self.name):
            return sorted(key for key in self._files(path) if not key.endswith(PARTIAL))

    def _files(self, path: str) -> Iterator[str]:
        root = f"{self.name}/{path}".rstrip("/")
        for folder, _, files in os.walk(root):
            below = folder.removeprefix(root).lstrip("/")
            yield from (f"{below}/{name}".lstrip("/") for name in files)

    def delete(self, path: str) -> None:
        """Delete all at and below a path; links are not followed."""
        target = Path(self.name, path)
        self._check_inside(target.parent)
        with failures(self.name), suppress(FileNotFoundError):
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)
            else:
                target.unlink()

    def ages(self, path: str) -> dict[str, float]:
        """Return seconds since each file was written by the store's clock; unfinished ones too."""
        times = dict[str, float]()
        with failures(self.name), self._aside("clock", b"", durable=False) as (probe, _):
            now = probe.stat().st_mtime
            for key in self._files(path):
                with suppress(FileNotFoundError):  # another process renames or removes it
                    times[key] = now - Path(self.name, path, key).lstat().st_mtime
        return times

    def sync(self) -> None:
        """Wait until all that was written is on the disk."""
        with failures(self.name):
            sync_file_system(Path(self.name))

    def array_store(self, path: str) -> Any:
        """Return what zarr opens to read arrays below a path."""
        return f"{self.name}/{path}"

    def _check_inside(self, path: Path) -> None:
        root, place = os.path.realpath(self.name), os.path.realpath(path)
        if place != root and not place.startswith(root.rstrip("/") + "/"):
            raise CorruptStudy(
                f"{self.name}: {path} lies outside, at {place}, by a symbolic link; replace the "
                f"link by what it names"
            )


def at_once(
    place: Place, function: Callable[[Item], Value], items: Iterable[Item]
) -> Iterator[Value]:
    """Yield what a function returns for each item, in order; requests run side by side."""
    if place.at_once == 1:
        yield from map(function, items)
        return
    left = iter(items)
    with ThreadPoolExecutor(place.at_once, thread_name_prefix="requests") as threads:
        while batch := list(islice(left, place.at_once)):
            yield from threads.map(function, batch)


@contextmanager
def failures(where: str) -> Iterator[None]:
    """Raise failures of the file system as `StoreFailed`; `where` if they have no file name."""
    try:
        yield
    except (FileNotFoundError, FileExistsError, NotADirectoryError, IsADirectoryError):
        raise  # have meanings of their own for the callers
    except OSError as error:
        place = where if error.filename is None else os.fspath(error.filename)
        remedy = REMEDIES.get(error.errno or 0, "check the disk")
        raise StoreFailed(
            f"{place}: {error.strerror or error}; nothing that was stored is lost: {remedy}, then "
            f"run the same command again"
        ) from None


def moved(where: str) -> str:
    """Return the message on a study that is gone."""
    return (
        f"{where}: the study was moved or removed while it was in use; nothing was stored since. "
        "Run the same command again where it is now"
    )


def _make_folder(path: Path, *, durable: bool = True) -> None:
    """Make a folder and those above it."""
    if path.is_dir():
        return
    _make_folder(path.parent, durable=durable)
    with suppress(FileExistsError):
        path.mkdir()
        if durable:
            sync(path.parent)
    if not path.is_dir():
        raise NotADirectoryError(str(path))


def sync(path: Path) -> None:
    """Sync the content of a file, or the entries of a folder."""
    if os.environ.get(SYNC) == "0":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system without syncing
            error.filename = str(path)
            raise
    finally:
        os.close(descriptor)


def sync_file_system(path: Path) -> None:
    """Sync a whole file system: it takes as long as one file, and a cube has dozens."""
    if os.environ.get(SYNC) == "0":
        return
    syncfs = _system_call()
    if syncfs is None:
        os.sync()
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if syncfs(descriptor):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(path))
    finally:
        os.close(descriptor)


@cache
def _system_call() -> Callable[[int], int] | None:
    """Return ``syncfs``, which Linux has and Python does not offer."""
    try:
        function: Callable[[int], int] = ctypes.CDLL(None, use_errno=True).syncfs
    except (OSError, AttributeError):
        return None
    return function


def is_url(text: str) -> bool:
    """Whether a location is a URL rather than a path.

    Examples
    --------
    >>> is_url("s3://bucket/study"), is_url("./study")
    (True, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None


def below(folder: str | os.PathLike[str], location: str) -> str:
    """Resolve a path relative to a folder; a URL is returned unchanged.

    Examples
    --------
    >>> below("/data", "study"), below("/data", "s3://bucket/study")
    ('/data/study', 's3://bucket/study')
    """
    return location if is_url(location) else str(Path(folder, location))
