"""Locations of zarr stores: directories and prefixes of object stores.

zarr opens a directory by its path, and an object store through ``obstore``. This module holds the operations that differ between the
two: testing for existence, renaming, replacing a group, and the lock file.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from scorecube.errors import BadStudy
from scorecube.storage.encoding import METADATA
from scorecube.storage.lock import LocalLockFile, LockFile, lock_suffix

PARTIAL_SUFFIX = ".whole"
"""Suffix of the metadata file of a group until it is renamed to its final name."""
SCHEMES = ("s3", "gs", "az")
"""Object stores that support listing and conditional writes."""


class Location(Protocol):
    """Where one zarr hierarchy lies."""

    @property
    def name(self) -> str:
        """Path or URL, as the user wrote it."""

    @property
    def store(self) -> Any:
        """What zarr and xarray open."""

    @property
    def can_rename(self) -> bool:
        """Whether a group can be renamed in one step."""

    def holds_zarr(self, path: str = "") -> bool:
        """Whether there is a zarr node at a path, by default the root."""

    def exists(self) -> bool:
        """Whether there is any file or object."""

    def refuse_occupied(self) -> None:
        """Refuse to create a study over other files or objects (BadStudy)."""

    def rename(self, old: str, new: str) -> None:
        """Rename a group; only if `can_rename`."""

    def remove(self, path: str) -> None:
        """Remove everything at and below a path, whether it is a whole group or the rest of one."""

    def replace(
        self, group: str, contents: Mapping[str, bytes], initial: bytes, final: bytes
    ) -> None:
        """Replace a group: initial metadata, then its contents, then final metadata."""

    def lock_file(self, collection: str = "") -> LockFile:
        """Return the lock file of the study, or of one collection."""


class LocalDirectory:
    """A directory.

    Parameters
    ----------
    path
        Of the directory; it need not exist.
    """

    can_rename = True

    def __init__(self, path: str) -> None:
        self.name = self.store = path

    def holds_zarr(self, path: str = "") -> bool:
        """See `Location`."""
        return Path(self.name, path, METADATA).exists()

    def exists(self) -> bool:
        """See `Location`."""
        return Path(self.name).exists()

    def refuse_occupied(self) -> None:
        """See `Location`."""
        path = Path(self.name)
        if path.exists() and (path.is_file() or any(path.iterdir())):
            raise BadStudy(f"{path} exists and is not a study; choose another path")
        parent = next((parent for parent in path.parents if parent.exists()), None)
        if parent is not None and parent.is_file():
            raise BadStudy(f"{path} lies below {parent}, which is a file; choose another path")

    def rename(self, old: str, new: str) -> None:
        """See `Location`."""
        Path(self.name, old).rename(Path(self.name, new))

    def remove(self, path: str) -> None:
        """See `Location`."""
        directory = Path(self.name, path)
        if directory.exists():
            shutil.rmtree(directory)

    def replace(
        self, group: str, contents: Mapping[str, bytes], initial: bytes, final: bytes
    ) -> None:
        """See `Location`."""
        directory = Path(self.name, group)
        self.remove(group)
        for parent in sorted({Path(key).parent for key in (METADATA, *contents)}):
            (directory / parent).mkdir(parents=True, exist_ok=True)
        partial = METADATA + PARTIAL_SUFFIX
        for key, content in ((METADATA, initial), *contents.items(), (partial, final)):
            with (directory / key).open("wb", buffering=0) as file:
                rest = memoryview(content)
                while rest:  # a file system may take a part only
                    rest = rest[file.write(rest) :]
        (directory / partial).replace(directory / METADATA)

    def lock_file(self, collection: str = "") -> LockFile:
        """See `Location`."""
        return LocalLockFile(Path(os.path.realpath(self.name) + lock_suffix(collection)))


def is_url(text: str) -> bool:
    """Whether a location is a URL rather than a path.

    Examples
    --------
    >>> is_url("s3://bucket/study.zarr"), is_url("./study.zarr")
    (True, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None


def below(folder: str | os.PathLike[str], location: str) -> str:
    """Resolve a path relative to a folder; a URL is returned unchanged.

    Examples
    --------
    >>> below("/data", "study.zarr"), below("/data", "s3://bucket/study.zarr")
    ('/data/study.zarr', 's3://bucket/study.zarr')
    """
    return location if is_url(location) else str(Path(folder, location))


def open_location(path: str | os.PathLike[str]) -> Location:
    """Return the location of a path or URL.

    Raises
    ------
    BadStudy
        A URL of an unsupported kind, or one that cannot be opened.
    """
    text = os.fspath(path)
    if re.match(rf"({'|'.join(SCHEMES)}):/[^/]", text):
        raise BadStudy(
            f"{text} is a URL that was converted to a path; pass it as text, e.g. {text.replace(':/', '://', 1)}"
        )
    if not is_url(text):
        return LocalDirectory(text)
    scheme = text.partition("://")[0].lower()
    if scheme not in SCHEMES:
        raise BadStudy(
            f"{text}: studies are directories or at {', '.join(f'{each}://bucket/prefix' for each in SCHEMES)}, not at {scheme}://"
        )
    try:
        from scorecube.storage.object_store import ObjectPrefix
    except ImportError as error:
        if error.name not in ("obstore", "obstore.store", "obstore.exceptions"):
            raise
        raise BadStudy(
            f'{text}: object stores need another package; install it: pip install "scorecube[s3]"'
        ) from None
    return ObjectPrefix(text)


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether there is any file or object at a path or URL."""
    return open_location(path).exists()
