"""Lock files, with which one process at a time writes a collection of a study.

Another lock file is for adding collections. A lock file lies beside the study. It is created only if it does not exist (``O_EXCL``, or a conditional PUT), renewed while its process
lives, and removed at the end. The lock file of a killed process is taken over: at once on the same machine, otherwise when it has not been
renewed for `EXPIRY_SECONDS`. Locks keep two commands from doing the same work twice; correct results do not depend on them, since blocks
are checked against their digests.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from scorecube.errors import BadStudy

RENEWAL_SECONDS, EXPIRY_SECONDS = 15.0, 90.0
"""Time between two renewals, and time without renewal after which a lock file is stale."""


def lock_suffix(collection: str) -> str:
    """Return the suffix of the lock file of a study, or of one of its collections.

    Examples
    --------
    >>> lock_suffix(""), lock_suffix("covid")
    ('.lock', '.covid.lock')
    """
    return f".{collection}.lock" if collection else ".lock"


class LockFile(Protocol):
    """A lock file in some store."""

    @property
    def name(self) -> str:
        """Path or URL; identifies the lock within this process."""

    def create(self, content: str) -> bool:
        """Create the file; False if it exists."""

    def read(self) -> tuple[str, float] | None:
        """Return its content and its age in seconds; None if it does not exist."""

    def take_over(self, content: str) -> bool:
        """Replace a stale file; False if it has changed since it was read."""

    def renew(self, content: str) -> None:
        """Write the file again."""

    def remove(self) -> None:
        """Remove the file."""


class LocalLockFile:
    """A lock file in a file system.

    Parameters
    ----------
    path
        Of the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        self._last_read = ""

    def create(self, content: str) -> bool:
        """See `LockFile`."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self.path.open("x") as file:
                file.write(content)
        except FileExistsError:
            return False
        return True

    def read(self) -> tuple[str, float] | None:
        """See `LockFile`."""
        try:
            self._last_read = self.path.read_text()
            return self._last_read, time.time() - self.path.stat().st_mtime
        except FileNotFoundError:
            return None

    def take_over(self, content: str) -> bool:
        """See `LockFile`."""
        renamed = self._temporary_path()
        try:
            self.path.rename(renamed)  # succeeds for one of several processes
        except FileNotFoundError:
            return False
        if (
            renamed.read_text() != self._last_read
        ):  # another process has taken it over since: restore its file
            renamed.rename(self.path)
            return False
        renamed.unlink()
        return self.create(content)

    def renew(self, content: str) -> None:
        """See `LockFile`."""
        temporary = self._temporary_path()
        temporary.write_text(content)
        temporary.rename(self.path)

    def remove(self) -> None:
        """See `LockFile`."""
        self.path.unlink(missing_ok=True)

    def _temporary_path(self) -> Path:
        return self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}")


@dataclass
class _HeldLock:
    """A lock that this process holds, and how many of its writers share it."""

    content: str
    writers: int = 0
    released: threading.Event = field(default_factory=threading.Event)


_HELD: dict[tuple[int, str], _HeldLock] = {}
"""By process and name: a forked process inherits this dictionary, but not the locks."""
_HELD_GUARD = threading.Lock()


@contextmanager
def hold_lock(lock_file: LockFile) -> Iterator[None]:
    """Hold a lock; writers in the same process share it.

    Raises
    ------
    BadStudy
        Another process holds it.
    """
    key = os.getpid(), lock_file.name
    with _HELD_GUARD:
        if key not in _HELD:
            _HELD[key] = _acquire(lock_file)
        held = _HELD[key]
        held.writers += 1
    try:
        yield
    finally:
        with _HELD_GUARD:
            held.writers -= 1
            if not held.writers:
                del _HELD[key]
                held.released.set()
                _release(lock_file, held)


def _acquire(lock_file: LockFile) -> _HeldLock:
    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    content = json.dumps(
        {
            "machine": machine_name(),
            "process": os.getpid(),
            "since": since,
            "token": secrets.token_hex(8),
        },
        sort_keys=True,
    )
    while not _create(lock_file, content):
        found = lock_file.read()
        if found is None:
            continue
        if not is_stale(*found):
            raise BadStudy(_refusal(lock_file, *found))
        if lock_file.take_over(content):
            break
    held = _HeldLock(content)
    threading.Thread(
        target=_renew_until_released, args=(lock_file, held), name="renew-lock", daemon=True
    ).start()
    return held


def _create(lock_file: LockFile, content: str) -> bool:
    try:
        return lock_file.create(content)
    except PermissionError:
        return True  # the study may be writable where its parent directory is not: write without a lock


def _renew_until_released(lock_file: LockFile, held: _HeldLock) -> None:
    while not held.released.wait(RENEWAL_SECONDS):
        # A store that fails now may answer the next time.
        with suppress(Exception):
            if _is_ours(lock_file, held):
                lock_file.renew(held.content)


def _release(lock_file: LockFile, held: _HeldLock) -> None:
    # Finished work must not fail because its lock file cannot be removed: the file expires.
    with suppress(Exception):
        if _is_ours(lock_file, held):
            lock_file.remove()


def _is_ours(lock_file: LockFile, held: _HeldLock) -> bool:
    found = lock_file.read()
    return found is not None and found[0] == held.content


def is_stale(content: str, age: float) -> bool:
    """Whether the process that created a lock file no longer runs.

    Parameters
    ----------
    content
        Of the file.
    age
        Seconds since it was renewed.
    """
    if age > EXPIRY_SECONDS:
        return True
    try:
        owner = json.loads(content)
        if owner["machine"] != machine_name():
            return False
        process = int(owner["process"])
        if process == os.getpid():
            return True  # not held by this process, so by an earlier one with the same number
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False  # a process of another user
    except (ValueError, KeyError, TypeError):
        return False  # the file is still being written
    return False


def machine_name() -> str:
    """Return the host name and the process namespace: containers may share the former."""
    try:
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        namespace = ""
    return f"{socket.gethostname()} {namespace}".strip()


def _refusal(lock_file: LockFile, content: str, age: float) -> str:
    try:
        owner = json.loads(content)
        who = f"process {owner['process']} on {owner['machine'].split()[0]} since {owner['since']}"
    except (ValueError, KeyError, TypeError, AttributeError):
        who = "another process"
    study = lock_file.name.removesuffix(".lock")
    return (
        f"{study} is being written by {who}; wait for it to finish. If it no longer runs, its lock expires in "
        f"{max(1, round(EXPIRY_SECONDS - age))} s; to continue at once, delete {lock_file.name}"
    )
