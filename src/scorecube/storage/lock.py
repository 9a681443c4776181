"""One process at a time writes a collection of a study, and one adds collections: a small file beside the study says who.

The file is made only if it is not there (``O_EXCL``, or a PUT on condition), renewed while the process lives, and removed at the end. One
that was left by a killed process is taken over: at once if it was on this machine, else when it was not renewed for `EXPIRES` seconds. This
keeps two commands from doing the same work twice; it is not what keeps results right, since blocks are checked against their digests.
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

RENEWED, EXPIRES = 15.0, 90.0
"""Seconds between two renewals, and after which a file that was not renewed counts as left behind."""


def lock_ending(part: str) -> str:
    """Return what the name of the file ends in, of a study or of a part of it.

    Examples
    --------
    >>> lock_ending(""), lock_ending("covid")
    ('.lock', '.covid.lock')
    """
    return f".{part}.lock" if part else ".lock"


class LockFile(Protocol):
    """The file that says who writes, on some store."""

    @property
    def text(self) -> str:
        """Where it is, and the name under which this process knows it."""

    def make(self, content: str) -> bool:
        """Make the file; False if it is there."""

    def read(self) -> tuple[str, float] | None:
        """Return its content and the seconds since it was written; None if it is not there."""

    def take_over(self, content: str) -> bool:
        """Replace a file left behind; False if it is not what was read any more."""

    def renew(self, content: str) -> None:
        """Write it again."""

    def remove(self) -> None:
        """Remove it."""


class FileMark:
    """The file on a file system.

    Parameters
    ----------
    path
        Where it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = str(path)
        self._seen = ""

    def make(self, content: str) -> bool:
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
            self._seen = self.path.read_text()
            return self._seen, time.time() - self.path.stat().st_mtime
        except FileNotFoundError:
            return None

    def take_over(self, content: str) -> bool:
        """See `LockFile`."""
        aside = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}")
        try:
            self.path.rename(aside)  # only one of several succeeds
        except FileNotFoundError:
            return False
        if aside.read_text() != self._seen:  # another took it over in between: give it back
            aside.rename(self.path)
            return False
        aside.unlink()
        return self.make(content)

    def renew(self, content: str) -> None:
        """See `LockFile`."""
        fresh = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}")
        fresh.write_text(content)
        fresh.rename(self.path)

    def remove(self) -> None:
        """See `LockFile`."""
        self.path.unlink(missing_ok=True)


@dataclass
class _Held:
    """A file that this process holds, and by how many of its writers."""

    content: str
    writers: int = 0
    done: threading.Event = field(default_factory=threading.Event)


_HELD: dict[tuple[int, str], _Held] = {}
"""By process, as a fork inherits this and not the right to write."""
_CHANGING = threading.Lock()


@contextmanager
def writing(mark: LockFile) -> Iterator[None]:
    """Hold the right to write; writers of one process share it.

    Raises
    ------
    BadStudy
        Another process holds it.
    """
    key = os.getpid(), mark.text
    with _CHANGING:
        if key not in _HELD:
            _HELD[key] = _acquire(mark)
        held = _HELD[key]
        held.writers += 1
    try:
        yield
    finally:
        with _CHANGING:
            held.writers -= 1
            if not held.writers:
                del _HELD[key]
                held.done.set()
                _release(mark, held)


def _acquire(mark: LockFile) -> _Held:
    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    content = json.dumps(
        {"machine": machine(), "process": os.getpid(), "since": since, "token": secrets.token_hex(8)}, sort_keys=True
    )
    while not _made(mark, content):
        found = mark.read()
        if found is None:
            continue
        if not left_behind(*found):
            raise BadStudy(_refusal(mark, *found))
        if mark.take_over(content):
            break
    held = _Held(content)
    threading.Thread(target=_keep, args=(mark, held), name="renews the lock", daemon=True).start()
    return held


def _made(mark: LockFile, content: str) -> bool:
    try:
        return mark.make(content)
    except PermissionError:
        return True  # the study's folder may be writable where the one around it is not: no guard there


def _keep(mark: LockFile, held: _Held) -> None:
    """Renew a file until it is given back."""
    while not held.done.wait(RENEWED):
        # A store that does not answer now may do so next time.
        with suppress(Exception):
            if _is_ours(mark, held):
                mark.renew(held.content)


def _release(mark: LockFile, held: _Held) -> None:
    # Work that is done must not fail because the file cannot be removed: it expires.
    with suppress(Exception):
        if _is_ours(mark, held):
            mark.remove()


def _is_ours(mark: LockFile, held: _Held) -> bool:
    found = mark.read()
    return found is not None and found[0] == held.content


def left_behind(content: str, age: float) -> bool:
    """Whether the process that made a file is gone.

    Parameters
    ----------
    content
        Of the file.
    age
        Seconds since it was renewed.
    """
    if age > EXPIRES:
        return True
    try:
        facts = json.loads(content)
        if facts["machine"] != machine():
            return False
        process = int(facts["process"])
        if process == os.getpid():
            return True  # not held by this process, so by one before it that had the same number
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False  # somebody else's process
    except (ValueError, KeyError, TypeError):
        return False  # just being written
    return False


def machine() -> str:
    """Return the name of this machine, and of the space its process numbers are of: containers may share the first."""
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = ""
    return f"{socket.gethostname()} {space}".strip()


def _refusal(mark: LockFile, content: str, age: float) -> str:
    try:
        facts = json.loads(content)
        who = f"process {facts['process']} on {facts['machine'].split()[0]} since {facts['since']}"
    except (ValueError, KeyError, TypeError, AttributeError):
        who = "another process"
    study = mark.text.removesuffix(".lock")
    return (
        f"{study} is being written by {who}; wait for it. If it is gone, this ends by itself {max(1, round(EXPIRES - age))} s from now, "
        f"or at once if you delete {mark.text}"
    )
