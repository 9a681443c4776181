"""One collection of a study: its cube, rankings, results and recorded blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from scorecube.errors import BadStudy, CorruptStudy, visible
from scorecube.storage import archives, heads
from scorecube.storage.archives import BlockStore, StoredResult
from scorecube.storage.heads import BLOCKS, CUBE, GROUPS, RANKINGS, RESULTS, Head
from scorecube.storage.place import Place

if TYPE_CHECKING:
    import xarray as xr

Value = TypeVar("Value")


def _read(read: Callable[[], Value]) -> Value:
    """Return what is read; again if that failed, as another process may have replaced it."""
    try:
        return read()
    except CorruptStudy:
        return read()


class Collection:
    """One collection of a study: `cube`, `rankings` and results, read on access.

    at: The head that says what it is; by default the newest whenever it is asked.
    """

    def __init__(self, study: Any, name: str, at: Head | None = None) -> None:
        self.study = study
        self.name = name
        self._at = at
        self.place: Place = study.place
        self.folder = heads.folder_of(name)

    def __repr__(self) -> str:
        """Return the path of the study, and the name."""
        return visible(f"{self.place.name}: {self.name}")

    @property
    def head(self) -> Head:
        """What it is."""
        head = self._at or heads.latest_head(self.place, self.folder)
        if head is None or head.name != self.name:
            what = f"collection {self.name!r}, or the study,"
            raise BadStudy(f"{self.place.name}: {what} was moved or removed while it was in use")
        return head

    @property
    def cube(self) -> xr.Dataset:
        """The score cube; the scores of one above 256 MiB are read on use."""
        return self.cube_among(1)

    def cube_among(self, n_cubes: int) -> xr.Dataset:
        """Return the cube as one of `n_cubes` that share 256 MiB; a larger one is read on use."""
        return _read(lambda: heads.read_group(self.place, self.head, CUBE, n_cubes))

    @property
    def rankings(self) -> xr.Dataset:
        """Levels in rank order, in memory; BadStudy for imported scores."""
        if not self.head.rankings:
            raise BadStudy(
                f"{self.study.path}: {self.name} was imported as scores; lists of documents and "
                "their judgements are needed, which scorecube evaluate reads"
            )
        return _read(lambda: heads.read_group(self.place, self.head, RANKINGS))

    def files(self) -> dict[str, bytes]:
        """Return the files of what it is now: newest head, cube, rankings, results."""
        head = self.head
        groups = [head.group(kind) for kind in GROUPS if getattr(head, kind)]
        key = f"{self.folder}/head.{head.number:05d}.json"
        files = {key: self.place.read(key) or b""}
        for path in (*groups, f"{self.folder}/{RESULTS}"):
            below = heads.files_of(self.place, path)
            files |= {f"{path}/{name}": content for name, content in below}
        return files

    def contents(self) -> dict[str, Any]:
        """Return whether there are rankings, and numbers of current and outdated results."""
        counts: dict[str, dict[str, int]] = {"results": {}, "outdated": {}}
        for analysis in self.place.children(f"{self.folder}/{RESULTS}"):
            for state, results in zip(counts, self.stored(analysis), strict=True):
                if results:
                    counts[state][analysis] = len(results)
        return {"rankings": bool(self.head.rankings), **counts}

    def _path(self, analysis: str) -> str:
        return f"{self.folder}/{RESULTS}/{analysis}"

    def stored(self, analysis: str) -> tuple[list[StoredResult], list[StoredResult]]:
        """Return the results of the scores that are there now, latest last, and those of others."""
        head = self.head
        stored = archives.archives_in(self.place, self._path(analysis))
        newest = max([result.head for result in stored], default=0)
        if newest > head.number:  # a witness of a head that was deleted, or not listed yet
            heads.read_head(self.place, self.folder, newest)
        stored = sorted({result.digest: result for result in stored}.values())
        current = [result for result in stored if result.version in head.contains]
        return current, [result for result in stored if result not in current]

    def result_attributes(self, analysis: str) -> list[dict[str, Any]]:
        """Return the attributes of the results of the scores stored now, latest last."""
        read = archives.read_attributes
        return _read(lambda: [read(self.place, stored) for stored in self.stored(analysis)[0]])

    def results(self, analysis: str) -> list[xr.Dataset]:
        """Return the finished results of an analysis, latest last."""
        read = archives.read_result
        return _read(lambda: [read(self.place, stored) for stored in self.stored(analysis)[0]])

    def has_result(self, analysis: str, digest: str) -> bool:
        """Whether the result of a plan is stored, of the scores that are stored now."""
        return digest in [stored.digest for stored in self.stored(analysis)[0]]

    def latest(self, analysis: str, digest: str = "") -> StoredResult:
        """Return which result of an analysis is the latest, or is that of a plan (BadStudy)."""
        current, outdated = self.stored(analysis)
        chosen = [stored for stored in current if digest in ("", stored.digest)]
        if chosen:
            return chosen[-1]
        why = " of the scores that are there now" if outdated else ""
        raise BadStudy(
            f"{self.study.path}: no result of {analysis} for collection {self.name!r}{why}; "
            f"run: scorecube {analysis} {self.study.path}"
        )

    def result(self, analysis: str, digest: str = "") -> xr.Dataset:
        """Return the latest result of an analysis, or that of a plan."""
        return _read(lambda: archives.read_result(self.place, self.latest(analysis, digest)))

    def blocks(self, analysis: str, work: str) -> BlockStore:
        """Return the recorded blocks of all plans that share them."""
        return BlockStore(self.place, f"{self.folder}/{BLOCKS}/{analysis}/{work}", work)

    def write_result(self, values: xr.Dataset, version: str = "") -> None:
        """Store a finished result; those of the same plan, or of other scores, are removed.

        version: Of the scores that it is of, see `Head.cube`; by default of those stored now.
        Raises BadStudy: The scores were replaced while it was computed; it is not current.
        """
        head = self.head
        folder = self._path(values.attrs["analysis"])
        before = archives.archives_in(self.place, folder)
        digest = values.attrs["digest"]
        number = 1 + max([stored.number for stored in before], default=0)
        new = StoredResult(number, head.number, digest, version or head.cube, folder)
        archives.write_result(self.place, new, values)
        head = self.head  # the study may have been moved, too
        if new.version not in head.contains:
            raise BadStudy(
                f"{self.study.path}: {self.name}: its scores were replaced while this command ran; "
                "run it again"
            )
        for stored in before:
            # One of a newer head is of scores that this process may not see yet.
            outdated = stored.version not in head.contains and stored.head <= head.number
            if stored.digest == digest or outdated:
                self.place.delete(stored.path)

    def forget(self, analysis: str) -> int:
        """Delete the results and recorded blocks of an analysis; return the number of results.

        What other commands store meanwhile stays.
        Raises StoreFailed: Some of what was there is left, with numbers.
        """
        number = len(archives.archives_in(self.place, self._path(analysis)))
        self.forget_blocks(analysis)
        self._delete_part(RESULTS, analysis)
        return number

    def forget_blocks(self, analysis: str) -> int:
        """Delete the recorded blocks of an analysis; return the number of files."""
        return self._delete_part(BLOCKS, analysis)

    def _delete_part(self, part: str, analysis: str) -> int:
        """Delete what a folder has of an analysis; return the number of files."""
        if analysis not in self.place.children(f"{self.folder}/{part}"):  # as no path such as ..
            return 0
        return self.place.delete(f"{self.folder}/{part}/{analysis}")
