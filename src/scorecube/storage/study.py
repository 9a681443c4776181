"""A study: collections by name, in a directory or an object store; see `heads.py` for its files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from scorecube.errors import BadStudy, CorruptStudy, visible
from scorecube.storage.collection import Collection, Row
from scorecube.storage.heads import (
    CUBE,
    GROUPS,
    Head,
    check_collection_name,
    folder_of,
    head_numbers,
    latest_head,
)
from scorecube.storage.place import Place

if TYPE_CHECKING:
    import xarray as xr


def open_place(path: str | os.PathLike[str]) -> Place:
    """Return the place of a path or URL (BadStudy for a URL that cannot be opened)."""
    text = os.fspath(path)
    scheme = re.match("([A-Za-z][A-Za-z0-9+.-]*)://", text)
    if scheme is None:
        return Place(text)
    if scheme[1] not in ("s3", "gs", "az"):  # with conditional writes
        raise BadStudy(f"{text}: studies are directories, or at s3://, gs:// or az://")
    try:
        from scorecube.storage.object_place import ObjectPrefix
    except ModuleNotFoundError:
        raise BadStudy(f"{text}: object stores need obstore: pip install obstore") from None
    return ObjectPrefix(text)


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether there is any file or object at a path or URL."""
    return open_place(path).exists()


def open_study(path: str | os.PathLike[str], mode: str = "r") -> Study:
    """Open a study.

    Parameters
    ----------
    path
        Directory, or URL: ``s3://bucket/prefix``, with credentials from the environment.
    mode
        ``r`` to read; ``a`` to add to it, and to create it if it does not exist.

    Returns
    -------
    study
        Its collections by name: ``study["covid"].cube``.

    Raises
    ------
    BadStudy
        No study there, or other content.

    Examples
    --------
    >>> import tempfile
    >>> from scorecube.testing import simulate_cube
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     open_study(folder + "/study", mode="a").add("demo", cube=simulate_cube(n_runs=4))
    ...     list(open_study(folder + "/study"))
    ['demo']
    """
    if mode not in ("r", "a"):
        raise BadStudy(f"mode {mode!r} is not 'r' or 'a'")
    place = open_place(path)
    folders = place.children("")
    is_new = not any(head_numbers(place, folder) for folder in folders)
    if is_new and mode == "r":
        raise BadStudy(
            f"{place.name}: no study there; make one with: scorecube evaluate {place.name} "
            "--name NAME --runs ... --qrels ..."
        )
    if is_new and not all(_is_begun(place, folder) for folder in folders):
        raise BadStudy(f"{place.name} exists and is not a study; choose another path")
    return Study(place, writable=mode == "a", is_new=is_new)


def _is_begun(place: Place, folder: str) -> bool:
    """Whether a folder may be that of a collection that a killed process began."""
    inner = place.children(folder)
    return place.read(folder) is None and all(name.startswith(GROUPS) for name in inner)


class Study:
    """Collections by name, in one store; see `open_study`."""

    def __init__(self, place: Place, *, writable: bool = False, is_new: bool = False) -> None:
        self.place, self.path, self.writable, self._is_new = place, place.name, writable, is_new

    def __repr__(self) -> str:
        """Return its path, and the names of its collections."""
        return visible(f"{self.path}: {', '.join(self) or 'no collection'}")

    def __reduce__(self) -> tuple[Callable[..., Study], tuple[str, str]]:
        """Another process opens the same study."""
        return open_study, (self.path, "a" if self.writable else "r")

    def folders(self) -> dict[str, Head | CorruptStudy | None]:
        """Return the newest head in each folder, or the error if it is damaged, or None."""

        def read(folder: str) -> Head | CorruptStudy | None:
            try:
                return latest_head(self.place, folder)
            except CorruptStudy as error:
                return error

        folders = self.place.children("")
        return dict(zip(folders, self.place.map(read, folders), strict=True))

    def headless(self) -> list[str]:
        """Return the names of folders with a cube and no head.

        A killed process began them, or their only head was deleted; none can tell.
        """
        others = (folder for folder, head in self.folders().items() if head is None)
        inner = ((folder, self.place.children(folder)) for folder in others)
        return [unquote(at) for at, names in inner if any(n.startswith(CUBE) for n in names)]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of collections, sorted; of a damaged one over its folder's."""
        heads = ((folder, head) for folder, head in self.folders().items() if head)
        names = (head.name if isinstance(head, Head) else unquote(at) for at, head in heads)
        return iter(sorted(names))

    def __contains__(self, name: object) -> bool:
        try:
            check_collection_name(str(name))
        except BadStudy:
            return False
        head = latest_head(self.place, folder_of(str(name)))
        return head is not None and head.name == name

    def __getitem__(self, name: str) -> Collection:
        if name not in self:
            known = ", ".join(self) or "none yet"
            raise BadStudy(f"{self.path}: no collection {name!r}; it has: {known}")
        return Collection(self, name)

    def rows(self) -> dict[str, Row]:
        """Return what listings say of all collections, sorted by name.

        Raises CorruptStudy: A head or a result that is damaged.
        """

        def read(head: Head | CorruptStudy) -> Row:
            if isinstance(head, CorruptStudy):
                raise head
            return Collection(self, head.name).row(head)

        rows = self.place.map(read, [head for head in self.folders().values() if head])
        return dict(sorted((row.head.name, row) for row in rows))

    def prepare(self) -> None:
        """Make the place of a new study; one that was there is not made anew, as it was moved."""
        if self._is_new:
            self.place.make()
            self._is_new = False

    def add(
        self,
        name: str,
        *,
        cube: xr.Dataset,
        rankings: xr.Dataset | None = None,
        replace: bool = False,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a collection, or further metrics and gain settings of one that exists.

        cube: Scores; large ones that are made on use are made and written part by part.
        rankings: Levels in rank order, if known.
        replace: Replace what is stored under the name; results of other scores are outdated.
        facts: JSON values to note.
        Raises BadStudy: The collection exists with other runs, topics or scores.
        """
        from scorecube.collection import schema
        from scorecube.collection.arguments import as_cube

        cube = as_cube(cube)
        schema.check(cube, schema.CUBE, "the cube")
        check_collection_name(name)
        if not self.writable:
            raise BadStudy(f"{self.path} was opened for reading; add to it with mode='a'")
        if cube.nbytes <= schema.MAX_LOADED_BYTES:
            cube = cube.compute()
        self.prepare()
        Collection(self, name).add(cube, rankings, replace=replace, facts=facts)
