"""What a location of zarr stores can do: reading objects, writing groups, exchanging one object, removing, and the lock file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from scorecube.storage.layout import METADATA
from scorecube.storage.lock import LockFile


class Location(Protocol):
    """Where one zarr hierarchy lies; keys and paths are relative to it. What need not be done everywhere does nothing here."""

    name: str
    """Path or URL, as the user wrote it."""
    store: Any
    """What zarr and xarray open."""
    counts_requests: bool
    """Whether small groups are written to be read by few requests, because each costs about as much as a megabyte."""
    has_stamps: bool
    """Whether `stamps` notice every change; otherwise lock files say what may have changed."""

    def holds_zarr(self) -> bool:
        """Whether there is a zarr node."""

    def exists(self) -> bool:
        """Whether there is any file or object."""

    def refuse_occupied(self) -> None:
        """Refuse to create a study over other files or objects (BadStudy)."""

    def failures(self) -> AbstractContextManager[None]:
        """Raise failures of the file system or the object store as `StoreFailed`."""

    def read(self, key: str) -> bytes | None:
        """Return an object; None if it does not exist."""

    def read_many(self, keys: Iterable[str]) -> dict[str, bytes | None]:
        """Return several objects."""
        return {key: self.read(key) for key in keys}

    def children(self, path: str) -> list[str]:
        """Return the names directly below a path, sorted."""

    def metadata(self, path: str) -> dict[str, bytes]:
        """Return the metadata of a group and of all groups and arrays below it, by key relative to the group."""
        before = f"{path}/" if path else ""
        keys = [before + key for key in self.keys(path) if key.rpartition("/")[2] == METADATA]
        found = self.read_many(keys)
        return {key.removeprefix(before): each for key, each in found.items() if each}

    def exchange(self, key: str, old: bytes | None, new: bytes) -> bool:
        """Replace an object if its content is `old` (None: if it does not exist); False otherwise."""

    def stamps(self, keys: Mapping[str, str]) -> dict[str, str]:
        """Return a text for each collection that changes whenever its metadata file at a key does, see `scorecube.storage.index`."""

    def stamp(self, key: str) -> str:  # noqa: ARG002
        """Return the text of one such file, whose lock this process holds; empty where a lock file says it."""
        return ""

    def write_cached(self, key: str, content: bytes) -> None:
        """Write an object as a whole, without waiting for the disk: a power failure may lose it."""

    def remove_object(self, key: str) -> None:
        """Remove an object that may exist, and its directory."""

    def staging_path(self, path: str) -> str:
        """Return the path to which a group is written before `install`."""

    def install(self, staged: str, path: str) -> str:
        """Give a staged group its final path, which no other process has, and return the path; `sync` it afterwards."""

    def remove(self, path: str) -> None:
        """Remove everything at and below a path, whether it is a whole group or the rest of one."""

    def link(self, path: str, name: str) -> None:
        """Let a path that is free, or such a link, lead to a group beside it, in one step; nothing where links do not exist."""

    def write_new(self, group: str, objects: Mapping[str, bytes]) -> None:
        """Write the objects of a group where there is none; install or sync it afterwards."""

    def keys(self, path: str) -> list[str]:
        """Return the keys of all objects below a path, relative to it."""

    def take(self, other: Location, source: str, target: str, *, link: bool) -> bool:
        """Copy a group of another location to a new path; False if that needs reading and writing its objects.

        Without `link`, no file is shared with the other location: the group is modified in place.
        """

    def check_inside(self, path: str) -> None:  # noqa: ARG002
        """Refuse a path that links of the file system lead out of the study (CorruptStudy)."""
        return

    def check_there(self) -> None:
        """Refuse to make a directory anew that was moved or removed while it was in use (BadStudy)."""
        return

    def parent(self) -> tuple[Location, str]:
        """Return the location around this one, and the name of this one in it."""

    def sync(self, path: str) -> None:  # noqa: ARG002
        """Wait until everything that was written is on the disk; the path exists."""
        return

    def lock_file(self, collection: str = "") -> LockFile:
        """Return the lock file of the study, or of one collection."""
