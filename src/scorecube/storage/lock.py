"""Lock files, with which one process at a time writes a collection of a study.

Another lock file is for the list of collections. Lock files lie in the directory of the study, which may be mounted at several paths, and at an
object store beside it. A lock file appears with its content in one step, is renewed while
its process lives, and removed at the end. The lock file of a process that has ended is taken over: at once on the same machine, otherwise when it
has not been renewed for `EXPIRY_SECONDS`. A process that was stopped for longer may thus lose its lock to another: its content, with a token of
its own, is looked at again before each commit (see `manifest.py`), which then fails with `LockLost`.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from scorecube.errors import BadStudy
from scorecube.storage.files import partial_file, write_file

LOCK, UNLOCKED = "SCORECUBE_LOCK", "0"
"""Environment variable, and its value that allows writing where no lock can be held."""
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


def lock_subject(study: str, collection: str) -> str:
    """Return what a lock file is for, for messages."""
    return f"{study}: collection {collection!r}" if collection else study


def is_lock(name: str) -> bool:
    """Whether a file in the directory of a study is a lock file, or a temporary one of it; no collection is named so.

    Examples
    --------
    >>> is_lock(".demo.lock"), is_lock(".lock.0123abcd"), is_lock(".index")
    (True, True, False)
    """
    return re.fullmatch(r"\.(.*\.)?lock(\.[0-9a-f]{8})?", name) is not None


class LockFile(Protocol):
    """A lock file in some store."""

    name: str
    """Path or URL; identifies the lock within this process."""
    subject: str
    """Study, and collection, for messages."""

    def create(self, content: str) -> bool:
        """Create the file; False if it exists."""

    def read(self) -> tuple[str, float] | None:
        """Return its content and its age in seconds; None if it does not exist."""

    def take_over(self, content: str) -> bool:
        """Replace a stale file; False if it has changed since it was read."""

    def renew(self, content: str) -> None:
        """Set its age to 0 if it has this content."""

    def remove(self, content: str) -> None:
        """Remove the file if it has this content."""


class LocalLockFile(LockFile):
    """A lock file in a file system.

    path: Of the file, in the directory of the study.
    subject: Study, and collection, for messages.
    """

    def __init__(self, path: Path, subject: str = "") -> None:
        self.path = path
        self.name = str(path)
        self.subject = subject
        self._last_read = ""

    def create(self, content: str) -> bool:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        remove_left(self.path.parent)
        with partial_file(self.path, "") as temporary:
            write_file(temporary, content.encode())
            try:
                os.link(temporary, self.path)  # in one step, with its content
            except FileExistsError:
                return False
            except OSError as error:  # a file system without links
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise
                return self._create_empty(content)
        return True

    def _create_empty(self, content: str) -> bool:
        try:
            with self.path.open("x") as file:
                file.write(content)
        except FileExistsError:
            return False
        return True

    def read(self) -> tuple[str, float] | None:
        if self.path.is_symlink():
            raise BadStudy(
                f"{self.path} is a symbolic link where a lock file belongs; remove it, then run the same command again"
            )
        try:
            self._last_read = self.path.read_text(encoding="utf-8", errors="replace")
            return self._last_read, self._now() - self.path.stat().st_mtime
        except FileNotFoundError:
            return None

    def _now(self) -> float:
        """Return the time of the file system's clock, which may be another machine's."""
        with partial_file(self.path, "") as temporary, suppress(OSError):
            temporary.touch()
            return temporary.stat().st_mtime
        return time.time()

    def take_over(self, content: str) -> bool:
        return self._remove(self._last_read) and self.create(content)

    def renew(self, content: str) -> None:
        with self.path.open(encoding="utf-8") as file:
            # The open file: another one may have taken its place meanwhile.
            if file.read() == content:
                os.utime(file.fileno())

    def remove(self, content: str) -> None:
        """See `LockFile`; a study that was not begun leaves no directory."""
        self._remove(content)
        with suppress(OSError):
            self.path.parent.rmdir()

    def _remove(self, content: str) -> bool:
        """Remove the file if it has this content; of several processes one succeeds."""
        with partial_file(self.path, "") as renamed:
            try:
                self.path.rename(renamed)
            except FileNotFoundError:
                return False
            ours = False
            try:
                ours = renamed.read_text(encoding="utf-8", errors="replace") == content
            finally:
                with suppress(OSError):
                    if not ours:
                        os.link(renamed, self.path)  # unless another process has created it since
            return ours


_CLEANED: set[tuple[int, Path]] = set()
"""Processes, as forked ones inherit this, and directories that they have looked through."""


def remove_left(directory: Path) -> None:
    """Remove the temporary files of lock files that killed processes left in a directory, once in a process."""
    key = os.getpid(), directory
    if key in _CLEANED:
        return
    _CLEANED.add(key)
    for path in directory.glob(f"*.lock.{'[0-9a-f]' * 8}"):
        with suppress(OSError):
            if is_left(path):
                path.unlink()


def is_left(path: Path) -> bool:
    """Whether a lock file, or a temporary one, is of a process that has ended."""
    content = path.read_text(encoding="utf-8", errors="replace")
    ours = not content or '"token"' in content
    return ours and is_stale(content, time.time() - path.stat().st_mtime)


class LockLost(BadStudy):
    """A lock that another process took over while this one was stopped; nothing was stored since."""


class HeldLock:
    """A lock that this process holds, and that its writers share.

    content: Of the file; None if there is none, as its directory may not be written to and the user asked to go on.
    taken_over: Whether the file was that of a process that has ended, whose rest is to be removed.
    """

    def __init__(self, lock_file: LockFile, content: str | None, *, taken_over: bool) -> None:
        self.lock_file, self.content, self.taken_over = lock_file, content, taken_over
        self.writers = 0
        self.kept = False
        """Whether the file stays: a later process takes it over and repairs what this one left."""
        self.known: Any = None
        """What the writers know of what is locked, which no other process can change."""
        self.guard = threading.RLock()
        """Held while a writer looks at what is known, or changes it."""
        self.released = threading.Event()

    def check(self) -> None:
        """Refuse to go on without a lock that another process has taken over.

        Raises LockLost: The lock file is gone, or of another process.
        """
        if self.content is None:
            return
        found = self.lock_file.read()
        if found is None or found[0] != self.content:
            raise LockLost(
                f"{self.lock_file.subject}: the lock of this process is gone, perhaps because it stood still for longer than "
                f"{EXPIRY_SECONDS:.0f} s; nothing was stored since. Run the same command again"
                if found is None
                else f"{self.lock_file.subject}: this process stood still for longer than {EXPIRY_SECONDS:.0f} s, and its lock is now that of "
                f"{_owner(found[0])}; nothing was stored since. Run the same command again when the other has ended"
            )

    def renew(self) -> None:
        """Renew the lock file until the lock is released."""
        while not self.released.wait(RENEWAL_SECONDS):
            # A store that fails now may answer the next time.
            with suppress(Exception):
                self.lock_file.renew(self.content or "")

    def release(self) -> None:
        """Remove the lock file."""
        self.released.set()
        # Finished work must not fail because its lock file cannot be removed: it is taken over when this process has ended.
        for _ in range(2):
            with suppress(Exception):
                if self.content is not None and not self.kept:
                    self.lock_file.remove(self.content)
                return


_HELD: dict[tuple[int, str], HeldLock] = {}
"""By process and name: a forked process inherits this dictionary, but not the locks."""
_HELD_GUARD = threading.Lock()


@contextmanager
def hold_lock(lock_file: LockFile, *, needed: bool = True) -> Iterator[HeldLock]:
    """Hold a lock; writers in the same process share it.

    needed: Whether to refuse a directory that may not be written to, unless the environment asks for `UNLOCKED`.
    Raises BadStudy: Another process holds it, or none can be held.
    """
    key = os.getpid(), lock_file.name
    with _HELD_GUARD:
        if key not in _HELD:
            _HELD[key] = _acquire(lock_file, needed=needed)
        held = _HELD[key]
        held.writers += 1
    try:
        yield held
    finally:
        with _HELD_GUARD:
            held.writers -= 1
            if not held.writers:
                del _HELD[key]
                held.release()


def _acquire(lock_file: LockFile, *, needed: bool) -> HeldLock:
    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    content = json.dumps(
        {**this_process(), "since": since, "token": secrets.token_hex(8)}, sort_keys=True
    )
    taken_over = False
    try:
        while not taken_over and not lock_file.create(content):
            found = lock_file.read()
            if found is None:
                continue
            if not is_stale(*found):
                raise BadStudy(_refusal(lock_file, *found))
            taken_over = lock_file.take_over(content)
    except PermissionError:
        if needed and os.environ.get(LOCK) != UNLOCKED:
            raise BadStudy(
                f"{lock_file.subject}: no lock can be held, because {lock_file.name} cannot be made, and two processes that write "
                f"at once could lose results. Allow writing to the directory; or, if nothing else writes, set {LOCK}={UNLOCKED}"
            ) from None
        return HeldLock(lock_file, None, taken_over=False)
    held = HeldLock(lock_file, content, taken_over=taken_over)
    threading.Thread(target=held.renew, name="renew-lock", daemon=True).start()
    return held


def is_stale(content: str, age: float) -> bool:
    """Whether the process that created a lock file has ended, or has not renewed it for too long.

    content: Of the file.
    age: Seconds since it was renewed, by the clock of its file system. A file dated far in the future was not renewed
        by anybody.
    """
    if abs(age) > EXPIRY_SECONDS:
        return True
    try:
        owner = json.loads(content)
        if owner["machine"] != machine_name():
            return False
        process = int(owner["process"])
        if process == os.getpid():
            return True  # not held by this process, so by an earlier one with the same number
        with suppress(PermissionError):  # a process of another user
            os.kill(process, 0)
        # Another process may have got the number since.
        return bool("started" in owner and owner["started"] != started(process))
    except (ProcessLookupError, OverflowError):
        return True
    except (ValueError, KeyError, TypeError, RecursionError):
        return False  # not one of ours: left to its age


def this_process() -> dict[str, Any]:
    """Return the facts from which another process can find out whether this one still runs."""
    process = os.getpid()
    return {"machine": machine_name(), "process": process, "started": started(process)}


def started(process: int) -> str:
    """Return when a process of this machine started, in ticks since boot; empty if unknown or ended."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    state, *rest = stat.rpartition(")")[2].split()
    return "" if state in "ZX" else rest[18]


@cache
def machine_name() -> str:
    """Return the host name, the boot and the process namespace: containers may share the first two."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id")
        parts.append(boot.read_text(encoding="ascii").strip())
    with suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(parts)


def _owner(content: str) -> str:
    try:
        owner = json.loads(content)
        return f"process {owner['process']} on {owner['machine'].split()[0]} since {owner['since']}"
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return "another process"


def _refusal(lock_file: LockFile, content: str, age: float) -> str:
    return (
        f"{lock_file.subject} is being written by {_owner(content)}; wait for it to finish. If it no longer runs, its lock expires in "
        f"{max(1, round(EXPIRY_SECONDS - max(age, 0.0)))} s; to continue at once, delete {lock_file.name}"
    )
