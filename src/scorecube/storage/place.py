"""Where a study lies: a directory, or a prefix of an object store (`object_place.py`).

Both read, create, write, list and delete whole files. A file appears whole or not at all: it is
written under another name, synced, and linked (`create`, which never replaces) or renamed
(`write`, for names that say what the content is).

Others may write and delete at the same time: what is deleted is what was there when the deletion
began, and a file whose folder is deleted while it is written is written again.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import stat
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeVar

from scorecube.errors import BadStudy, CorruptStudy, ScorecubeError, StoreFailed
from scorecube.storage.bounds import refuse_too_large

Item = TypeVar("Item")
Value = TypeVar("Value")
SYNC: Final = "SCORECUBE_SYNC"
"""Environment variable: 0 leaves syncing to the operating system, which is faster."""
PARTIAL: Final = ".partial"
"""Suffix of a file that is being written; a killed process leaves it, and nobody reads it."""
MOST_SYNCED: Final = 200
"""Files that are synced one by one, some at once."""
SYNCED_AT_ONCE: Final = 8
NO_SYNC: Final = (errno.EINVAL, errno.ENOTSUP)
ABSENT: Final = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
RACES: Final = (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, errno.ESTALE)
"""What the system says where another process wrote or deleted at the same time."""
NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)
"""What it says of a link, where a file has been written just before."""
CAUSES: Final[Mapping[int, str]] = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "there is no space: make some"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "a study needs permission to write"),
    **dict.fromkeys(RACES, "another command wrote or deleted there at the same time"),
}
OTHER_CAUSE: Final = "the file system fails"
TRIES: Final = 1000
"""Of a file whose folder is deleted while it is written, or of what is not deleted yet."""
PAUSE: Final = 0.001
"""Seconds before the second of them; each is longer than the one before, up to 20 times."""


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

    def read(self, key: str, most: int = 2**62) -> bytes | None:
        """Return the content of a file; None if there is none.

        Raises CorruptStudy: A device or a pipe, or more bytes than `most`.
        Raises MemoryError: More bytes than there is memory.
        """
        path = Path(self.name, key)
        with suppress(*ABSENT):
            found = path.stat()
            if stat.S_ISDIR(found.st_mode):
                return None
            if not stat.S_ISREG(found.st_mode):
                raise CorruptStudy(f"{self.name}: {key}: is a device or a pipe, no file; remove it")
            self._refuse_long(key, found.st_size, most)
            return path.read_bytes()
        return None

    def _refuse_long(self, key: str, n_bytes: int, most: int) -> None:
        if n_bytes > most:
            raise CorruptStudy(f"{self.name}: {key}: has {n_bytes:,} bytes, at most {most:,}")
        refuse_too_large(n_bytes, f"{self.name}: {key}")

    def array_store(self, path: str) -> Any:
        """Return what zarr opens to read arrays below a path."""
        return f"{self.name}/{path}"

    def create(self, key: str, content: bytes) -> bool:
        """Write a file if there is none; return whether the file is this one."""

        def link(partial: Path, path: Path) -> bool:
            try:
                os.link(partial, path)
            except FileExistsError:
                return self.read(key) == content
            except OSError as error:
                if error.errno not in NO_LINKS:
                    raise
                raise StoreFailed(
                    f"{path}: {error.strerror}; a study needs a file system with hard links: "
                    "nothing that was stored is lost, copy it to one"
                ) from None
            return True

        return self._put(key, content, link)

    def write(self, key: str, content: bytes, *, synced: bool = True) -> None:
        """Write a file as a whole, over one that is there; not synced: `sync` follows."""
        self._put(key, content, Path.replace, synced=synced)

    def sync(self, keys: Sequence[str] = ()) -> None:
        """Wait until files are on the disk; where they are many, all of the file system.

        keys: Those that were written; none for more than are known.
        """
        if os.environ.get(SYNC) == "0":
            return
        paths = [Path(self.name, key) for key in keys]
        with self._writing(paths[0] if paths else Path(self.name, PARTIAL)):
            if 0 < len(paths) <= MOST_SYNCED:
                folders = self._folders(*paths)
                list(_threads(os.getpid()).map(_sync_if_there, [*paths, *folders]))
            elif not _sync_file_system(self.name):
                os.sync()

    def _folders(self, *paths: Path) -> list[Path]:
        """Return the folders of files up to that of the study, whose entries name them."""
        above = dict.fromkeys(chain.from_iterable(path.parents for path in paths))
        return [folder for folder in above if folder.is_relative_to(self.name)]

    def _put(
        self, key: str, content: bytes, put: Callable[[Path, Path], Value], *, synced: bool = True
    ) -> Value:
        """Write a file under another name; return what `put` does with that path and the final one.

        Done again where the folder is deleted meanwhile.
        """
        path = Path(self.name, key)
        with self._writing(path):
            for number in range(TRIES):
                if not (self.is_new or Path(self.name).is_dir()):
                    raise BadStudy(
                        f"{self.name}: the study was moved or removed while it was in use; nothing "
                        "was stored since. Run the same command again where it is now"
                    )
                try:
                    return self._put_once(path, content, put, synced=synced)
                except OSError as error:
                    if error.errno not in RACES or _is_file(path.parent) or number == TRIES - 1:
                        raise
                _pause(number)
        raise AssertionError(key)

    def _put_once(
        self, path: Path, content: bytes, put: Callable[[Path, Path], Value], *, synced: bool
    ) -> Value:
        partial = path.with_name(f".{secrets.token_hex(8)}{PARTIAL}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.is_new = False
            partial.write_bytes(content)
            if synced:
                _sync(partial)
            done = put(partial, path)
            for folder in self._folders(path) if synced else ():
                _sync_if_there(folder)
            return done
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
            cause = CAUSES.get(error.errno or 0, OTHER_CAUSE)
            raise StoreFailed(
                f"{error.filename or self.name}: {error.strerror or error}; {cause}. Run the same "
                "command again: what was stored is kept"
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
        root = f"{self.name}/{path}"
        times: dict[str, float] = {}
        for at, _, names in os.walk(root, onerror=_refuse_hidden):
            for file in (Path(at, name) for name in names):
                with suppress(FileNotFoundError):  # another process renames or removes it
                    times[file.relative_to(root).as_posix()] = file.lstat().st_mtime
        return dict(sorted(times.items()))

    def delete(self, path: str) -> int:
        """Delete what is at and below a path now; return its number of files.

        What others write there meanwhile stays. Links are deleted, not followed.
        Raises StoreFailed: Some of it is left, with numbers.
        """
        with self._writing(Path(self.name, path)):
            there = set(self._held(path).items())
            left = there
            for number in range(TRIES):
                self._remove(sorted(key for key, _ in left))
                left = there.intersection(self._held(path).items())
                if not left:
                    self._remove_folders(path)
                    return len(there)
                _pause(number)
        raise StoreFailed(
            f"{self.name}: {path}: {len(left):,} of {len(there):,} files are left, the others are "
            "deleted; end the commands that write there, and run the same command again"
        )

    def _held(self, path: str) -> dict[str, Hashable]:
        """Return the files at and below a path, with what tells each from a later one."""
        target = Path(self.name, path)
        found = [target]
        if target.is_dir() and not target.is_symlink():
            found = []
            for at, folders, names in os.walk(target, onerror=_refuse_hidden):
                found += [Path(at, name) for name in folders + names]
        held: dict[str, Hashable] = {}
        for file in found:
            with suppress(*ABSENT):
                state = file.lstat()
                if not stat.S_ISDIR(state.st_mode):
                    held[str(file)] = (state.st_ino, state.st_mtime_ns)
        return held

    def _remove(self, keys: Iterable[str]) -> None:
        """Delete files of `_held`; one that is gone is no error."""
        for key in keys:
            with suppress(FileNotFoundError, NotADirectoryError):
                Path(key).unlink()

    def _remove_folders(self, path: str) -> None:
        """Delete the folders at and below a path that are empty."""
        target = Path(self.name, path)
        if target.is_symlink():
            return
        for at, _, _ in os.walk(target, topdown=False, onerror=_refuse_hidden):
            try:
                Path(at).rmdir()
            except OSError as error:
                if error.errno not in (*RACES, errno.ENOTDIR):
                    raise

    @contextmanager
    def marked(self) -> Iterator[str]:
        """Yield the key of a file that is there meanwhile: who reads it sees this place."""
        marker = f".{secrets.token_hex(8)}{PARTIAL}"
        self.write(marker, b"", synced=False)
        try:
            yield marker
        finally:
            self.delete(marker)

    def map(self, function: Callable[[Item], Value], items: Iterable[Item]) -> Iterator[Value]:
        """Yield what a function that reads or writes returns for each item, in order."""
        return map(function, items)


@cache
def _threads(process: int) -> ThreadPoolExecutor:  # noqa: ARG001
    """Return the threads that sync, of this process: a fork has none of those of its parent."""
    return ThreadPoolExecutor(SYNCED_AT_ONCE)


def _is_file(path: Path) -> bool:
    """Whether something else than a folder is there; asked once, as it may go meanwhile."""
    try:
        return not stat.S_ISDIR(path.stat().st_mode)
    except OSError:
        return False


def _pause(number: int) -> None:
    """Wait before a further try."""
    time.sleep(PAUSE * min(number, 20))


def _refuse_hidden(error: OSError) -> None:
    """Raise the error of a folder that is there and cannot be listed."""
    if not isinstance(error, ABSENT):
        raise error


def _sync_if_there(path: Path) -> None:
    with suppress(FileNotFoundError):  # deleted behind it
        _sync(path)


def _sync_file_system(path: str) -> bool:
    """Wait until all of one file system is on the disk; False where the system cannot."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return ctypes.CDLL(None).syncfs(descriptor) == 0  # type: ignore[no-any-return]
    except (AttributeError, OSError):  # not of this system
        return False
    finally:
        os.close(descriptor)


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
