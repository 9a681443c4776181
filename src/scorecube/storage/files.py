"""Files of a directory: written as a whole, synced to the disk, and removed.

Files are synced before the file that names them is exchanged, so that a power failure leaves the old or the new state. A group is synced
as a whole, after its last file.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from scorecube.errors import StoreFailed

REMEDIES = {
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
SYNC = "SCORECUBE_SYNC"
"""Environment variable: 0 leaves syncing to the operating system, which is faster where a power failure does not matter."""
PARTIAL = ".partial"
"""Suffix of a file that is being written."""
COPIED_BYTES = 2**30
"""Most bytes that one system call copies."""
GUARD_SECONDS = 20.0
"""Longest wait for another process that exchanges a file of the same directory, which takes milliseconds."""


@contextmanager
def translate_errors(where: str) -> Iterator[None]:
    """Raise failures of the file system as `StoreFailed`, with what to do.

    where: Of the store, for messages about failures without a file name.
    """
    try:
        yield
    except (FileNotFoundError, FileExistsError, NotADirectoryError, IsADirectoryError):
        raise  # have meanings of their own for the callers
    except OSError as error:
        place = where if error.filename is None else os.fspath(error.filename)
        remedy = REMEDIES.get(error.errno or 0, "check the disk")
        raise StoreFailed(
            f"{place}: {error.strerror or error}; nothing that was stored is lost: {remedy}, then "
            "run the same command again"
        ) from None


def write_file(path: Path, content: bytes) -> None:
    """Write a file, which is synced later."""
    with path.open("wb", buffering=0) as file:
        try:
            rest = memoryview(content)
            while rest:  # a file system may take a part only
                rest = rest[file.write(rest) :]
        except OSError as error:  # of an open file: it has no name
            error.filename = str(path)
            raise


def link_file(source: Path, target: Path) -> bool:
    """Give a file a second name; False where that is impossible: on another file system, or on one without links."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOSPC, errno.EDQUOT):
            raise
        return False
    return True


def copy_file(source: Path, target: Path) -> None:
    """Copy the content of a file, sharing its blocks where the file system can."""
    with source.open("rb") as old, target.open("wb") as new:
        try:
            while os.copy_file_range(old.fileno(), new.fileno(), COPIED_BYTES):
                pass
        except (OSError, AttributeError):  # not on Linux, or between these file systems
            old.seek(0)
            new.seek(0)
            shutil.copyfileobj(old, new)


@contextmanager
def partial_file(path: Path, suffix: str = PARTIAL) -> Iterator[Path]:
    """Yield where to write the new content of a file, which then replaces it; what does not is removed."""
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}{suffix}")
    try:
        yield partial
    finally:
        for _ in range(2):  # or one failing call leaves the file
            with suppress(OSError):
                partial.unlink(missing_ok=True)
                break


def exchange_file(path: Path, new: bytes, may: Callable[[], bool]) -> bool:
    """Replace a file as a whole if that is still allowed: readers and a power failure see the old or the new content.

    path: Of the file.
    new: Its content.
    may: Whether to replace it, asked while other processes of this machine cannot exchange files of the directory.
    """
    with partial_file(path) as partial:
        write_file(partial, new)
        sync(partial)
        with guard(path.parent):
            allowed = may()
            if allowed:
                partial.replace(path)
    if allowed:
        sync(path.parent)
    return allowed


def sync_file_system(path: Path) -> None:
    """Sync everything that was written to the file system of a path.

    One such call takes about as long as syncing one file, and a group has dozens of files and directories.
    """
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


def sync(path: Path) -> None:
    """Sync the content of a file, or the entries of a directory."""
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


def remove_tree(path: Path) -> None:
    """Remove a file, a link, or a directory with all below; what another process removes meanwhile does not matter."""
    for _ in range(3):
        if path.is_symlink():
            path.unlink(missing_ok=True)
        if not path.exists():
            return
        with suppress(FileNotFoundError):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


@contextmanager
def guard(directory: Path) -> Iterator[None]:
    """Keep other processes of this machine from exchanging files of a directory.

    Between machines that share a file system without such locks, only the check of the content just before the exchange remains.
    """
    try:
        import fcntl
    except ImportError:  # not a POSIX system
        yield
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        deadline = time.monotonic() + GUARD_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreFailed(
                        f"{directory}: another process has been writing to it for {GUARD_SECONDS:.0f} s, perhaps it is stopped; "
                        "end it, then run the same command again"
                    ) from None
                time.sleep(0.01)
            except OSError:
                break  # a file system without locks
        yield
    finally:
        os.close(descriptor)
