"""One collection of a study: its cube, rankings, results and recorded blocks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from scorecube.errors import BadStudy, CorruptStudy
from scorecube.names import LEVEL
from scorecube.storage import archives, heads
from scorecube.storage.archives import BlockStore, Stored, read_attributes, read_result
from scorecube.storage.heads import BLOCKS, CUBE, RANKINGS, RESULTS, Head, latest_head
from scorecube.storage.place import Place

if TYPE_CHECKING:
    import xarray as xr

Value = TypeVar("Value")


class Row(NamedTuple):
    """What a listing says of a collection."""

    head: Head
    current: dict[str, list[dict[str, Any]]]
    """Attributes of the results of the stored scores, by analysis, latest last."""
    outdated: dict[str, int]
    """Numbers of other results, by analysis."""

    def contents(self) -> dict[str, Any]:
        """Return what the collection holds, for `info`."""
        counts = {analysis: len(found) for analysis, found in self.current.items()}
        rankings = bool(self.head.rankings)
        return {"rankings": rankings, "results": counts, "outdated": self.outdated}


class Collection:
    """One collection of a study: `cube`, `rankings` and results, read on access."""

    def __init__(self, study: Any, name: str) -> None:
        self.study, self.name = study, name
        self.place: Place = study.place
        self.folder = heads.folder_of(name)

    @property
    def head(self) -> Head:
        """What it is now."""
        head = latest_head(self.place, self.folder)
        if head is None or head.name != self.name:
            self.place.refuse_moved()
            raise BadStudy(f"{self.place.name}: no collection {self.name!r} any more")
        return head

    def _read(self, read: Callable[[Head], Value]) -> Value:
        """Read what a head names; again if another process has replaced it meanwhile."""
        head = self.head
        while True:
            try:
                return read(head)
            except (CorruptStudy, FileNotFoundError):
                before, head = head, self.head
                if head.number == before.number:
                    raise

    @property
    def cube(self) -> xr.Dataset:
        """The score cube; the scores of one above 256 MiB are read on use."""
        return self.cube_among(1)

    def cube_among(self, n_cubes: int) -> xr.Dataset:
        """Return the cube as one of `n_cubes` that share 256 MiB; a larger one is read on use."""
        return self._read(lambda head: heads.read_group(self.place, head, CUBE, n_cubes))

    @property
    def rankings(self) -> xr.Dataset:
        """Levels in rank order, in memory; BadStudy for imported scores."""
        if not self.head.rankings:
            raise BadStudy(f"{self.study.path}: {self.name} was imported as scores")
        return self._read(lambda head: heads.read_group(self.place, head, RANKINGS))

    def row(self, head: Head | None = None) -> Row:
        """Return what a listing says of it, at its newest head."""
        row = Row(head or self.head, {}, {})
        for analysis in self.place.children(f"{self.folder}/{RESULTS}"):
            current, outdated = self.stored(analysis, row.head)
            if current:
                row.current[analysis] = self._attributes(current)
            if outdated:
                row.outdated[analysis] = len(outdated)
        return row

    def contents(self) -> dict[str, Any]:
        """Return what the collection holds, for `info`."""
        return self.row().contents()

    def _path(self, analysis: str) -> str:
        return f"{self.folder}/{RESULTS}/{analysis}"

    def stored(self, analysis: str, head: Head | None = None) -> tuple[list[Stored], list[Stored]]:
        """Return the results of the scores of a head, latest last, and those of others."""
        head, stored = head or self.head, archives.results_in(self.place, self._path(analysis))
        newest = max([result.head for result in stored], default=0)
        if newest > head.number and newest > max(heads.head_numbers(self.place, self.folder)):
            raise self.place.corrupt(f"{self.folder}/head.{newest:05d}.json", "is missing")
        current = [result for result in stored if result.version in head.contains]
        return current, [result for result in stored if result not in current]

    def _attributes(self, stored: list[Stored]) -> list[dict[str, Any]]:
        return list(self.place.map(lambda result: read_attributes(self.place, result), stored))

    def result_attributes(self, analysis: str) -> list[dict[str, Any]]:
        """Return the attributes of the results of the scores stored now, latest last."""
        return self._attributes(self.stored(analysis)[0])

    def results(self, analysis: str) -> list[xr.Dataset]:
        """Return the finished results of an analysis, latest last."""
        return [read_result(self.place, stored) for stored in self.stored(analysis)[0]]

    def result(self, analysis: str) -> xr.Dataset:
        """Return the latest result of an analysis."""
        current, outdated = self.stored(analysis)
        if current:
            return read_result(self.place, current[-1])
        why = " of the scores that are there now" if outdated else ""
        raise BadStudy(
            f"{self.study.path}: no result of {analysis} for collection {self.name!r}{why}; "
            f"run: scorecube {analysis} {self.study.path}"
        )

    def has_result(self, analysis: str, digest: str) -> bool:
        """Whether the result of a plan is stored, of the scores that are stored now."""
        return digest in [stored.digest for stored in self.stored(analysis)[0]]

    def find_result(self, analysis: str, digest: str) -> xr.Dataset | None:
        """Return the result of a plan, or None."""
        found = (stored for stored in self.stored(analysis)[0] if stored.digest == digest)
        return next((read_result(self.place, stored) for stored in found), None)

    def blocks(self, analysis: str, work: str) -> BlockStore:
        """Return the recorded blocks of all plans that share them."""
        return BlockStore(self.place, f"{self.folder}/{BLOCKS}/{analysis}/{work}", work)

    def add(
        self,
        cube: xr.Dataset,
        rankings: xr.Dataset | None = None,
        *,
        replace: bool = False,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Write scores, or further metrics and gain settings; see `Study.add`."""
        from scorecube.storage.cubes import facts_of_cube, merge_cubes

        before = latest_head(self.place, self.folder)
        written: dict[str, xr.Dataset] = {}

        def change(head: Head) -> Head:
            written.clear()
            after = head
            if head.number and not replace:
                there = heads.read_group(self.place, head, CUBE)
                merged = merge_cubes(there, cube, f"{self.study.path}: collection {self.name!r}")
                if not merged.identical(there):
                    written[CUBE] = merged
            else:
                written[CUBE] = cube
                after = Head(head.name, head.number, contains=head.contains, id=head.id)
            if rankings is not None and not after.rankings:
                written[RANKINGS] = rankings
            for kind, dataset in written.items():
                version, numbers = heads.write_group(self.place, self.folder, kind, dataset)
                levels = {} if kind == CUBE else {"levels": dataset[LEVEL].values.tolist()}
                told = (levels or facts_of_cube(dataset)) | numbers
                after = after.with_group(kind, version, told)
            if replace and after.cube != head.cube:
                after = dataclasses.replace(after, contains=(after.cube,))
            return dataclasses.replace(after, notes={**after.notes, **(facts or {})})

        head = heads.commit(self.place, self.name, change)
        for kind, dataset in written.items():
            n_files = len(heads.keys_of(self.place, head.group(kind)))
            if n_files != head.facts[kind]["files"]:
                # Another process cleaned up before the head was there.
                heads.write_group(self.place, self.folder, kind, dataset)
        if before is not None and before.cube not in head.contains:
            self.place.delete(f"{self.folder}/{BLOCKS}")  # of other scores

    def write_result(self, values: xr.Dataset, version: str = "") -> None:
        """Store a finished result; those of the same plan, or of other scores, are removed.

        version: Of the scores that it is of, see `Head.cube`; by default of those stored now.
        Raises BadStudy: The scores were replaced while it was computed; it is not current.
        """
        head, folder = self.head, self._path(values.attrs["analysis"])
        before, digest = archives.archives_in(self.place, folder), values.attrs["digest"]
        number = 1 + max([stored.number for stored in before], default=0)
        new = Stored(number, head.number, digest, version or head.cube, folder)
        archives.write_result(self.place, new, values)
        contains = self.head.contains  # the study may have been moved, too
        if new.version not in contains:
            raise BadStudy(
                f"{self.study.path}: {self.name}: its scores were replaced while this command ran; "
                "run it again"
            )
        for stored in before:
            if stored.digest == digest or stored.version not in contains:
                self.place.delete(stored.path)

    def forget(self, analysis: str) -> int:
        """Delete the results and recorded blocks of an analysis; return the number of results."""
        number = len(archives.results_in(self.place, self._path(analysis)))
        for part in (RESULTS, BLOCKS):
            self.place.delete(f"{self.folder}/{part}/{analysis}")
        return number
