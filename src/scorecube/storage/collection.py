"""One collection of a study, for reading."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import xarray as xr

from scorecube.errors import BadStudy, CorruptStudy
from scorecube.storage.blocks import BlockStore
from scorecube.storage.catalogue import ATTRIBUTES, Catalogue, in_order
from scorecube.storage.contents import contents_html, contents_text
from scorecube.storage.datasets import open_lazily, read_dataset
from scorecube.storage.fact_types import check_arrays, checked_attributes
from scorecube.storage.index import Row, row_of
from scorecube.storage.layout import METADATA
from scorecube.storage.manifest import (
    BLOCKS,
    CUBE,
    OUTDATED,
    RANKINGS,
    RESULTS,
    Entry,
    Manifest,
    digest_of,
)

Value = TypeVar("Value")


class Collection:
    """One collection of a study: `cube`, `rankings` and results, read on access."""

    def __init__(self, study: Catalogue, name: str) -> None:
        self.study = study
        self.name = name
        self.location = study.location

    def __repr__(self) -> str:
        """Return its study and name, sizes, metrics and results."""
        return contents_text(self.study.path, lambda: {self.name: self.row()})

    def _repr_html_(self) -> str:
        """Return the same as a table, for notebooks."""
        return contents_html(self.study.path, {self.name: self.row()})

    @property
    def group_path(self) -> str:
        """Path of its group in the store."""
        return self.study.path_of(self.name)

    @property
    def manifest(self) -> Manifest:
        """What it holds now."""
        content = self._content()
        if content is None:
            self.location.check_there()
        return self.study.manifest_of(self.name, content)

    def _content(self) -> bytes | None:
        with self.location.failures():
            return self.location.read(f"{self.group_path}/{METADATA}")

    def _read(self, name: str, read: Callable[[str, Mapping[str, str] | None], Value]) -> Value:
        """Read an entry by its path and digests; once more if another process has replaced it meanwhile."""
        manifest = self.manifest
        while True:
            entry = manifest.entries.get(name)
            if entry is None:
                raise BadStudy(
                    f"{self.study.path}: collection {self.name!r} no longer holds {name}"
                )
            try:
                return read(f"{self.group_path}/{entry.path}", entry.files)
            except (CorruptStudy, FileNotFoundError):
                now = self.manifest
                if now.commit == manifest.commit:
                    raise
                manifest = now

    @property
    def cube(self) -> xr.Dataset:
        """The score cube; the scores of one above 256 MiB are read on use."""
        return self.cube_among(1)

    def cube_among(self, n_cubes: int) -> xr.Dataset:
        """Return the score cube as one of `n_cubes` that are in use together; the scores of one above its share of 256 MiB are read on use."""
        return self._read(
            CUBE, lambda path, files: read_dataset(self.location, path, files, n_cubes)
        )

    @property
    def cube_version(self) -> str:
        """Digest that changes whenever the cube is written."""
        return self.manifest.entries[CUBE].files[METADATA]

    @property
    def rankings(self) -> xr.Dataset:
        """Levels in rank order, in memory; BadStudy for imported scores."""
        if RANKINGS not in self.manifest.entries:
            raise BadStudy(
                f"{self.study.path}: collection {self.name!r} was imported as scores and has no rankings"
            )
        return self._read(RANKINGS, lambda path, files: read_dataset(self.location, path, files))

    @property
    def facts(self) -> Mapping[str, Any]:
        """Facts noted in the manifest."""
        return self.manifest.facts

    def result_entries(self, analysis: str, *, outdated: bool = False) -> dict[str, Entry]:
        """Return the entries of an analysis' results by digest: those of the scores that are stored now, or the outdated ones."""
        prefix = f"{RESULTS}/{analysis}/"
        return {
            name.removeprefix(prefix): entry
            for name, entry in self.manifest.entries.items()
            if name.startswith(prefix) and bool(entry.facts.get(OUTDATED)) is outdated
        }

    def result_attributes(self, analysis: str, *, outdated: bool = False) -> list[dict[str, Any]]:
        """Return the attributes of an analysis' finished results, latest last."""
        entries = self.result_entries(analysis, outdated=outdated)
        return [
            self._attributes(f"{RESULTS}/{analysis}/{each['digest']}", entries[each["digest"]])
            for each in in_order({digest: entry.facts for digest, entry in entries.items()})
        ]

    def _attributes(self, name: str, entry: Entry) -> dict[str, Any]:
        """Return the attributes of a result."""

        def read(path: str, files: Mapping[str, str] | None) -> dict[str, Any]:
            key, problems = f"{path}/{METADATA}", list[str]()
            with self.location.failures():
                content = self.location.read(key)
            if files is not None and content is not None and digest_of(content) != files[METADATA]:
                problems = [f"{METADATA} does not match its digest"]
            if problems or content is None:
                raise CorruptStudy(
                    f"{self.study.path}: {path}: {'; '.join(problems) or 'is missing'}; run scorecube verify and compute it again"
                )
            return checked_attributes(json.loads(content).get("attributes", {}), path)

        noted = entry.facts.get(ATTRIBUTES)
        return dict(noted) if noted is not None else self._read(name, read)

    def _read_result(self, analysis: str, digest: str, *, lazily: bool = False) -> xr.Dataset:
        def read(path: str, files: Mapping[str, str] | None) -> xr.Dataset:
            if lazily:
                return open_lazily(self.location, path)
            return read_dataset(self.location, path, files, 1)

        name = f"{RESULTS}/{analysis}/{digest}"
        result = self._read(name, read)
        where = f"{self.study.path}: {self.name}/{name}"
        checked_attributes(result.attrs, where)
        check_arrays(result, analysis, where)
        return result

    def results(self, analysis: str) -> list[xr.Dataset]:
        """Return the finished results of an analysis, latest last; see `result`."""
        return [
            self._read_result(analysis, each["digest"]) for each in self.result_attributes(analysis)
        ]

    def result(self, analysis: str) -> xr.Dataset:
        """Return the latest result of an analysis; one above 256 MiB is read on use."""
        attributes = self.result_attributes(analysis)
        if not attributes:
            outdated = len(self.result_entries(analysis, outdated=True))
            why = " of the scores that are there now" if outdated else ""
            raise BadStudy(
                f"{self.study.path}: no result of {analysis} for collection {self.name!r}{why}; run: scorecube {analysis} {self.study.path}"
            )
        return self._read_result(analysis, attributes[-1]["digest"])

    def has_result(self, analysis: str, digest: str) -> bool:
        """Whether the result of a plan is stored."""
        return digest in self.result_entries(analysis)

    def find_result(self, analysis: str, digest: str) -> xr.Dataset | None:
        """Return the result of a plan, or None; see `result`."""
        if not self.has_result(analysis, digest):
            return None
        return self._read_result(analysis, digest)

    def open_result(self, analysis: str, digest: str) -> xr.Dataset:
        """Return the result of a plan; its values are read on use."""
        return self._read_result(analysis, digest, lazily=True)

    def blocks(self, analysis: str, work: str) -> BlockStore:
        """Return the recorded blocks of all plans that share them, for reading."""
        name = f"{BLOCKS}/{analysis}/{work}"
        path = f"{self.group_path}/{name}"
        return BlockStore(self.location, path, work, lambda: self.manifest.entries.get(name))

    def row(self) -> Row:
        """Return what its manifest says, as the index does."""
        return row_of(self.manifest, "", "")

    def contents(self) -> dict[str, Any]:
        """Return what the collection holds, for `info`."""
        return self.row().contents()
