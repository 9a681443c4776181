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

from scorecube.errors import BadStudy, CorruptStudy, StoreFailed

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
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def exists(self) -> bool:
        """Whether there is any file or object."""
        return os.path.lexists(self.name)

    def make(self) -> None:
        """Make the place of a new study."""
        path = Path(self.name)
        path.mkdir(parents=True, exist_ok=True)
        _sync(path.parent)

    def refuse_moved(self) -> None:
        """Refuse to use a study that is gone (BadStudy)."""
        if not Path(self.name).is_dir():
            raise BadStudy(
                f"{self.name}: the study was moved or removed while it was in use; nothing was "
                "stored since. Run the same command again where it is now"
            )

    def corrupt(self, path: str, reason: Any) -> CorruptStudy:
        """Return the error for a part of the study that is damaged."""
        return CorruptStudy(
            f"{self.name}: {path}: {reason or type(reason).__name__}; run scorecube verify to list "
            "all damage, and restore it from a copy, or compute it again"
        )

    def read(self, key: str) -> bytes | None:
        """Return the content of a file; None if there is none."""
        with suppress(*ABSENT):
            return Path(self.name, key).read_bytes()
        return None

    def file(self, key: str) -> Any:
        """Return what zipfile opens to read a part of a file."""
        return f"{self.name}/{key}"

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
        self._check_inside(path.parent)
        self.refuse_moved()
        partial = path.with_name(f".{secrets.token_hex(8)}{PARTIAL}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(content)
            if synced:
                _sync(partial)
            yield partial, path
            if synced:  # the entries of all folders down to it
                for folder in path.parents[: key.count("/") + 1]:
                    _sync(folder)
        except OSError as error:
            raise StoreFailed(
                f"{error.filename or self.name}: {error.strerror or error}; nothing that was "
                "stored is lost. A study needs space, permission to write and a file system with "
                "hard links: run the same command again where they are"
            ) from None
        finally:
            with suppress(OSError):
                partial.unlink(missing_ok=True)

    def children(self, path: str) -> list[str]:
        """Return the names directly below a path, sorted."""
        with suppress(*ABSENT):
            listed = os.listdir(f"{self.name}/{path}")
            return sorted(name for name in listed if not name.endswith(PARTIAL))
        return []

    def keys(self, path: str) -> list[str]:
        """Return the keys of all files below a path, relative to it; unfinished ones too."""
        root = Path(self.name, path)
        files = [Path(at, name) for at, _, names in os.walk(root) for name in names]
        return sorted(file.relative_to(root).as_posix() for file in files)

    def delete(self, path: str) -> None:
        """Delete all at and below a path; links are not followed."""
        target = Path(self.name, path)
        self._check_inside(target.parent)
        with suppress(FileNotFoundError):
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)
            else:
                target.unlink()

    def times(self) -> dict[str, float]:
        """Return when each file was written, by the clock of the store."""
        times = dict[str, float]()
        for key in self.keys(""):
            with suppress(FileNotFoundError):  # another process renames or removes it
                times[key] = Path(self.name, key).lstat().st_mtime
        return times

    def array_store(self, path: str) -> Any:
        """Return what zarr opens to read arrays below a path."""
        return f"{self.name}/{path}"

    def map(self, function: Callable[[Item], Value], items: Iterable[Item]) -> Iterator[Value]:
        """Yield what a function that reads or writes returns for each item, in order."""
        return map(function, items)

    def _check_inside(self, path: Path) -> None:
        real = os.path.realpath(path)
        if not Path(real).is_relative_to(os.path.realpath(self.name)):
            raise CorruptStudy(
                f"{self.name}: {path} lies outside, at {real}, by a symbolic link; replace the "
                "link by what it names"
            )


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
