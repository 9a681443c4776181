"""Where stores are: directories, and prefixes of object stores, behind one shape.

A directory is opened by its path, as zarr does best; an object store through ``obstore``. What the two cannot do in the same way is here:
asking what is there, renaming, and the file that says who writes.
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
from scorecube.storage.lock import FileMark, LockFile, lock_ending

WHOLE = ".whole"
"""Ending of a file that is about to take another's place."""
SCHEMES = ("s3", "gs", "az")
"""Of object stores that list, write and put on condition."""


class Place(Protocol):
    """Where one zarr hierarchy is."""

    @property
    def text(self) -> str:
        """What the user calls it."""

    @property
    def store(self) -> Any:
        """What zarr and xarray open."""

    @property
    def renames(self) -> bool:
        """Whether a group can be renamed in one step."""

    def holds_zarr(self, inside: str = "") -> bool:
        """Whether a zarr node is there, or at a path inside."""

    def is_there(self) -> bool:
        """Whether anything is there."""

    def refuse_occupied(self) -> None:
        """Refuse to make a study where something else is."""

    def rename(self, old: str, new: str) -> None:
        """Rename a group; only where `renames`."""

    def replace(self, group: str, parts: Mapping[str, bytes], before: bytes, after: bytes) -> None:
        """Write a group anew: its parts, and its own metadata as they are before and after all parts are there."""

    def mark(self, part: str = "") -> LockFile:
        """Return the file that says who writes the whole, or a part of it."""


class Folder:
    """A directory.

    Parameters
    ----------
    text
        Its path.
    """

    renames = True

    def __init__(self, text: str) -> None:
        self.text = self.store = text

    def holds_zarr(self, inside: str = "") -> bool:
        """See `Place`."""
        return Path(self.text, inside, METADATA).exists()

    def is_there(self) -> bool:
        """See `Place`."""
        return Path(self.text).exists()

    def refuse_occupied(self) -> None:
        """See `Place`."""
        path = Path(self.text)
        if path.exists() and (path.is_file() or any(path.iterdir())):
            raise BadStudy(f"{path} exists and is not a study; choose another path")
        above = next((parent for parent in path.parents if parent.exists()), None)
        if above is not None and above.is_file():
            raise BadStudy(f"{path} lies below {above}, which is a file; choose another path")

    def rename(self, old: str, new: str) -> None:
        """See `Place`."""
        Path(self.text, old).rename(Path(self.text, new))

    def replace(self, group: str, parts: Mapping[str, bytes], before: bytes, after: bytes) -> None:
        """See `Place`."""
        folder = Path(self.text, group)
        if folder.exists():
            shutil.rmtree(folder)
        for parent in sorted({Path(key).parent for key in (METADATA, *parts)}):
            (folder / parent).mkdir(parents=True, exist_ok=True)
        whole = METADATA + WHOLE
        for key, content in ((METADATA, before), *parts.items(), (whole, after)):
            with (folder / key).open("wb", buffering=0) as file:
                file.write(content)
        (folder / whole).replace(folder / METADATA)

    def mark(self, part: str = "") -> LockFile:
        """See `Place`."""
        return FileMark(Path(os.path.realpath(self.text) + lock_ending(part)))


def is_url(text: str) -> bool:
    """Whether a location is a URL and no path.

    Examples
    --------
    >>> is_url("s3://bucket/study.zarr"), is_url("./study.zarr")
    (True, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None


def below(folder: str | os.PathLike[str], location: str) -> str:
    """Return a location that may be relative to a folder; URLs are as they are.

    Examples
    --------
    >>> below("/data", "study.zarr"), below("/data", "s3://bucket/study.zarr")
    ('/data/study.zarr', 's3://bucket/study.zarr')
    """
    return location if is_url(location) else str(Path(folder, location))


def open_place(location: str | os.PathLike[str]) -> Place:
    """Return the place of a path or URL.

    Raises
    ------
    BadStudy
        A URL of another kind, or one that cannot be opened.
    """
    text = os.fspath(location)
    if re.match(rf"({'|'.join(SCHEMES)}):/[^/]", text):
        raise BadStudy(f"{text} is a URL that was made a path; give it as text, e.g. {text.replace(':/', '://', 1)}")
    if not is_url(text):
        return Folder(text)
    scheme = text.partition("://")[0].lower()
    if scheme not in SCHEMES:
        raise BadStudy(
            f"{text}: studies are directories or at {', '.join(f'{each}://bucket/prefix' for each in SCHEMES)}, not at {scheme}://"
        )
    try:
        from scorecube.storage.object_store import Objects
    except ImportError as error:
        if error.name not in ("obstore", "obstore.store", "obstore.exceptions"):
            raise
        raise BadStudy(f'{text}: object stores need another package; install it: pip install "scorecube[s3]"') from None
    return Objects(text)


def is_there(location: str | os.PathLike[str]) -> bool:
    """Whether anything is at a path or URL."""
    return open_place(location).is_there()
