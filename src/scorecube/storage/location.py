"""Locations of zarr stores: directories and prefixes of object stores.

zarr opens a directory by its path, and an object store through ``obstore``.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from scorecube.errors import BadStudy, CorruptStudy
from scorecube.storage import files
from scorecube.storage.base_location import Location as Location
from scorecube.storage.layout import METADATA, above, all_inside
from scorecube.storage.lock import LocalLockFile, LockFile, is_lock, lock_subject, lock_suffix

STAGED = ".staged"
"""Suffix of a group of a directory until it is renamed to its final name; names of collections cannot end in it."""
SCHEMES = ("s3", "gs", "az")
"""Object stores that support listing and conditional writes."""


class LocalDirectory(Location):
    """A directory.

    path: Of the directory; it need not exist.
    """

    counts_requests, has_stamps = False, True

    def __init__(self, path: str) -> None:
        self.name = self.store = path

    def holds_zarr(self) -> bool:
        return Path(self.name, METADATA).exists()

    def exists(self) -> bool:
        return Path(self.name).exists()

    def refuse_occupied(self) -> None:
        path = Path(self.name)
        if path.is_file() or not all(
            # Of a writer that begins a study, or was killed then.
            is_lock(name) or (name.startswith(METADATA) and name.endswith(files.PARTIAL))
            for name in self.children("")
        ):
            raise BadStudy(f"{path} exists and is not a study; choose another path")
        parent = next((parent for parent in path.parents if parent.exists()), None)
        if parent is not None and parent.is_file():
            raise BadStudy(f"{path} lies below {parent}, which is a file; choose another path")

    def failures(self) -> AbstractContextManager[None]:
        return files.translate_errors(self.name)

    def read(self, key: str) -> bytes | None:
        try:
            return Path(self.name, key).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def children(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(Path(self.name, path)))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def exchange(self, key: str, old: bytes | None, new: bytes) -> bool:
        self.check_inside(key)
        path = Path(self.name, key)
        if key != METADATA:
            self.check_there()
        path.parent.mkdir(parents=True, exist_ok=True)
        if not files.exchange_file(path, new, lambda: self.read(key) == old):
            return False
        if old is None:  # its directories may be new, too
            files.sync(path.parent.parent)
        return True

    def stamps(self, keys: Mapping[str, str]) -> dict[str, str]:
        return {name: self.stamp(key) for name, key in keys.items()}

    def stamp(self, key: str) -> str:
        try:
            found = os.stat(os.path.join(self.name, key))  # noqa: PTH118, PTH116 - of thousands of files
        except (FileNotFoundError, NotADirectoryError):
            return ""
        return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}"

    def write_cached(self, key: str, content: bytes) -> None:
        self.check_inside(key)
        self.check_there()
        path = Path(self.name, key)
        with files.partial_file(path) as partial:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                files.write_file(partial, content)
            except FileNotFoundError:  # another process removed the empty directory
                path.parent.mkdir(parents=True, exist_ok=True)
                files.write_file(partial, content)
            partial.replace(path)

    def remove_object(self, key: str) -> None:
        self.check_inside(key.rpartition("/")[0])
        path = Path(self.name, key)
        path.unlink(missing_ok=True)
        with suppress(OSError):  # other files are in it
            path.parent.rmdir()

    def staging_path(self, path: str) -> str:
        return f"{path}.{secrets.token_hex(4)}{STAGED}"

    def install(self, staged: str, path: str) -> str:
        self.check_inside(path)
        source, target = Path(self.name, staged), Path(self.name, path)
        try:
            source.rename(target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            # Of another process, which may yet commit it.
            path = f"{path}.{secrets.token_hex(4)}"
            source.rename(Path(self.name, path))
        return path

    def remove(self, path: str) -> None:
        self.check_inside(path.rpartition("/")[0])
        files.remove_tree(Path(self.name, path))

    def link(self, path: str, name: str) -> None:
        place = Path(self.name, path)
        with suppress(OSError), files.partial_file(place) as partial:
            partial.symlink_to(name, target_is_directory=True)
            partial.replace(place)

    def write_new(self, group: str, objects: Mapping[str, bytes]) -> None:
        self.check_inside(group)
        if group:
            self.check_there()
        all_inside(objects, self.name)  # of another store, perhaps
        directory = Path(self.name, group)
        directory.mkdir(parents=True, exist_ok=True)
        for parent in above(objects):
            with suppress(FileExistsError):
                os.mkdir(f"{directory}/{parent}")  # noqa: PTH102 - hundreds of them
        for key, content in objects.items():
            files.write_file(directory / key, content)

    def keys(self, path: str) -> list[str]:
        """See `Location`; without what a killed process was writing."""
        self.check_inside(path)
        root = Path(self.name, path)
        found = [
            file for file in root.rglob("*") if file.is_file() and file.suffix != files.PARTIAL
        ]
        keys = sorted(file.relative_to(root).as_posix() for file in found)
        if any(file.is_symlink() for file in found):
            for key in keys:
                self.check_inside(f"{path}/{key}")
        return keys

    def take(self, other: Location, source: str, target: str, *, link: bool) -> bool:
        if not isinstance(other, LocalDirectory):
            return False
        self.check_inside(target)
        origin, copy = Path(other.name, source), Path(self.name, target)
        keys = other.keys(source)
        for parent in sorted({Path(key).parent for key in keys}):
            (copy / parent).mkdir(parents=True, exist_ok=True)
        for key in keys:
            link = link and files.link_file(origin / key, copy / key)
            if not link:
                files.copy_file(origin / key, copy / key)
        return True

    def check_inside(self, path: str) -> None:
        root, found = os.path.realpath(self.name), os.path.realpath(os.path.join(self.name, path))  # noqa: PTH118
        if found != root and not found.startswith(os.path.join(root, "")):  # noqa: PTH118
            raise CorruptStudy(
                f"{self.name}: {path} lies outside, at {found}, by a symbolic link; replace the link by what it names"
            )

    def check_there(self) -> None:
        if not Path(self.name).is_dir():
            raise BadStudy(
                f"{self.name}: the study was moved or removed while it was in use; nothing was stored since. Run the same command again "
                "where it is now"
            )

    def parent(self) -> tuple[Location, str]:
        path = Path(os.path.realpath(self.name))
        return LocalDirectory(str(path.parent)), path.name

    def sync(self, path: str) -> None:
        files.sync_file_system(Path(self.name, path))

    def lock_file(self, collection: str = "") -> LockFile:
        return LocalLockFile(
            Path(os.path.realpath(self.name), lock_suffix(collection)),
            lock_subject(self.name, collection),
        )


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

    Raises BadStudy: A URL of an unsupported kind, or one that cannot be opened.
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
            f"{text}: object stores need obstore, which is not installed: pip install obstore"
        ) from None
    return ObjectPrefix(text)


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether there is any file or object at a path or URL."""
    return open_location(path).exists()
