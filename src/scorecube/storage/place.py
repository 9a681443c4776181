"""Where a study lies: a directory, or a prefix of an object store (`object_place.py`).

Both read, create, write, list and delete whole files. A file appears whole or not at all: it is
written under another name, synced, and linked (`create`, which never replaces) or renamed
(`write`, for names that say what the content is).
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from scorecube.errors import BadStudy, CorruptStudy, ScorecubeError, StoreFailed

Item = TypeVar("Item")
Value = TypeVar("Value")
SYNC: Final = "SCORECUBE_SYNC"
"""Environment variable: 0 leaves syncing to the operating system, which is faster."""
PARTIAL: Final = ".partial"
"""Suffix of a file that is being written; a killed process leaves it, and nobody reads it."""
NO_SYNC: Final = (errno.EINVAL, errno.ENOTSUP)
ABSENT: Final = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


class Place:
    """A directory with files by key, such as ``covid/head.00001.json``.

    name: Path, as the user wrote it.
    is_new: Whether the first file makes it; one that was there is not made anew, as it was moved.
    """

    is_new = False

    def __init__(self, name: str) -> None:
        self.name = name

    @contextmanager
    def reading(self, path: str) -> Iterator[None]:
        """Raise CorruptStudy where a part of the study is not what was written."""
        try:
            yield
        except (ScorecubeError, PermissionError, MemoryError):
            raise
        except Exception as error:  # zipfile, zarr and JSON raise many
            raise CorruptStudy(
                f"{self.name}: {path}: {error or type(error).__name__}; run scorecube verify to "
                "list all damage, and restore it from a copy, or compute it again"
            ) from None

    def read(self, key: str) -> bytes | None:
        """Return the content of a file; None if there is none."""
        with suppress(*ABSENT):
            return Path(self.name, key).read_bytes()
        return None

    def array_store(self, path: str) -> Any:
        """Return what zarr opens to read arrays below a path."""
        return f"{self.name}/{path}"

    def create(self, key: str, content: bytes) -> bool:
        """Write a file if there is none; return whether the file is this one."""
        with self._aside(key, content) as (partial, path):
            try:
                os.link(partial, path)
            except FileExistsError:
                return self.read(key) == content
            return True

    def write(self, key: str, content: bytes, *, synced: bool = True) -> None:
        """Write a file as a whole, over one that is there; not synced: `sync` follows."""
        with self._aside(key, content, synced=synced) as (partial, path):
            partial.replace(path)

    def sync(self) -> None:
        """Wait until all is on the disk: as long as for one file, where a cube has dozens."""
        if os.environ.get(SYNC) != "0":
            os.sync()

    @contextmanager
    def _aside(
        self, key: str, content: bytes, *, synced: bool = True
    ) -> Iterator[tuple[Path, Path]]:
        """Write a file under another name; yield that path and the final one; remove what stays."""
        path = Path(self.name, key)
        partial = path.with_name(f".{secrets.token_hex(8)}{PARTIAL}")
        with self._writing(path):
            if not (self.is_new or Path(self.name).is_dir()):
                raise BadStudy(
                    f"{self.name}: the study was moved or removed while it was in use; nothing was "
                    "stored since. Run the same command again where it is now"
                )
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self.is_new = False
                partial.write_bytes(content)
                if synced:
                    _sync(partial)
                yield partial, path
                if synced:  # the entries of all folders down to it
                    for folder in path.parents[: key.count("/") + 1]:
                        _sync(folder)
            finally:
                with suppress(OSError):
                    partial.unlink(missing_ok=True)

    @contextmanager
    def _writing(self, path: Path) -> Iterator[None]:
        """Refuse a path outside of the study (CorruptStudy); name what the system refuses."""
        real = os.path.realpath(path.parent)
        if not Path(real).is_relative_to(os.path.realpath(self.name)):
            raise CorruptStudy(
                f"{self.name}: {path.parent} lies outside, at {real}, by a symbolic link; replace "
                "the link by what it names"
            )
        try:
            yield
        except OSError as error:
            raise StoreFailed(
                f"{error.filename or self.name}: {error.strerror or error}; nothing that was "
                "stored is lost. A study needs space, permission to write and a file system with "
                "hard links: run the same command again where they are"
            ) from None

    def children(self, path: str) -> list[str]:
        """Return the names directly below a path, sorted."""
        with suppress(*ABSENT):
            listed = os.listdir(f"{self.name}/{path}")
            return sorted(name for name in listed if not name.endswith(PARTIAL))
        return []

    def files(self, path: str) -> dict[str, float]:
        """Return when each file below a path was written, by the clock of the store.

        Keys are relative to the path, and sorted; unfinished files are among them.
        """
        root, times = f"{self.name}/{path}", dict[str, float]()
        for at, _, names in os.walk(root):
            for file in (Path(at, name) for name in names):
                with suppress(FileNotFoundError):  # another process renames or removes it
                    times[file.relative_to(root).as_posix()] = file.lstat().st_mtime
        return dict(sorted(times.items()))

    def delete(self, path: str) -> None:
        """Delete all at and below a path; links are not followed."""
        target = Path(self.name, path)
        with self._writing(target), suppress(FileNotFoundError):
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)
            else:
                target.unlink()

    def map(self, function: Callable[[Item], Value], items: Iterable[Item]) -> Iterator[Value]:
        """Yield what a function that reads or writes returns for each item, in order."""
        return map(function, items)


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
