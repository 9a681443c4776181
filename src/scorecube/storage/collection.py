"""One collection of a study."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import xarray as xr
import zarr

from scorecube.errors import BadStudy, CorruptStudy
from scorecube.storage import version_1
from scorecube.storage.blocks import BlockStore
from scorecube.storage.datasets import open_dataset, read_dataset, read_or_open, write_dataset
from scorecube.storage.encoding import METADATA, ZARR_FORMAT
from scorecube.storage.location import Location
from scorecube.storage.manifest import (
    BLOCKS,
    CUBE,
    DIGEST,
    MANIFEST,
    OUTDATED,
    RANKINGS,
    RESULTS,
    Entry,
    Manifest,
    check_files,
    commit,
    decode,
    digest_of,
    group_metadata,
)

Value = TypeVar("Value")
_BEING_WRITTEN: set[tuple[str, str]] = set()
"""Study and path of each group that this process writes and has not committed."""
_GUARD = threading.Lock()


class Study(Protocol):
    """What a collection needs of its study, see `scorecube.storage.study.Study`."""

    @property
    def path(self) -> str:
        """Path or URL."""

    @property
    def location(self) -> Location:
        """Where it lies."""

    @property
    def version(self) -> int:
        """Format of the store."""

    def path_of(self, name: str) -> str:
        """Return the path of a collection's group."""

    def lock(self, collection: str = "") -> AbstractContextManager[None]:
        """Hold the lock of a collection."""

    def check_lock(self, collection: str = "") -> None:
        """Refuse to go on if the lock was lost."""

    def upgrade(self) -> None:
        """Give a study of format 1 its manifests."""

    def __contains__(self, name: object) -> bool:
        """Whether there is a collection of a name."""


class Collection:
    """One collection of a study: `cube`, `rankings` and results, read on access."""

    def __init__(self, study: Study, name: str) -> None:
        self.study = study
        self.name = name
        self.location = study.location

    @property
    def group_path(self) -> str:
        """Path of its group in the store."""
        return self.study.path_of(self.name)

    @property
    def group(self) -> zarr.Group:
        """Its group, for reading."""
        return zarr.open_group(
            self.location.store, path=self.group_path, mode="r", zarr_format=ZARR_FORMAT
        )

    @property
    def manifest(self) -> Manifest:
        """What it holds now."""
        with self.location.failures():
            return self._decode(self.location.read(f"{self.group_path}/{METADATA}"))

    def has_manifest(self) -> bool:
        """Whether its manifest is stored, as it is in every study but those of format 1."""
        with self.location.failures():
            return _has_manifest(self.location.read(f"{self.group_path}/{METADATA}"))

    def _decode(self, content: bytes | None) -> Manifest:
        if self.study.version == version_1.FORMAT and not _has_manifest(content):
            return version_1.read_manifest(self.location, self.group_path, self.name)
        return decode(content, self.name, f"{self.study.path}: {self.name}")

    def _entry(self, name: str) -> Entry | None:
        return self.manifest.entries.get(name)

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
        """The score cube, in memory."""
        return self._read(CUBE, lambda path, files: read_dataset(self.location, path, files))

    @property
    def cube_version(self) -> str:
        """Digest that changes whenever the cube is written."""
        entry = self.manifest.entries[CUBE]
        if entry.files is not None:
            return entry.files[METADATA]
        content = self.location.read(f"{self.group_path}/{entry.path}/{METADATA}")
        return digest_of(content or b"")

    @property
    def rankings(self) -> xr.Dataset:
        """Levels in rank order, in memory; BadStudy for imported scores."""
        if self._entry(RANKINGS) is None:
            raise BadStudy(
                f"{self.study.path}: collection {self.name!r} was imported as scores and has no rankings"
            )
        return self._read(RANKINGS, lambda path, files: read_dataset(self.location, path, files))

    @property
    def facts(self) -> Mapping[str, Any]:
        """Facts noted in the manifest."""
        return self.manifest.facts

    def note(self, facts: Mapping[str, Any]) -> None:
        """Note facts, JSON values, in the manifest."""
        with self.study.lock(self.name):
            self.study.upgrade()
            self.commit(lambda manifest: replace(manifest, facts={**manifest.facts, **facts}))

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
        found = [self._attributes(f"{RESULTS}/{analysis}/{digest}") for digest in entries]
        return sorted(
            found,
            key=lambda attributes: (
                str(attributes.get("finished", "")),
                str(attributes.get("digest", "")),
            ),
        )

    def _attributes(self, name: str) -> dict[str, Any]:
        """Return the attributes of an entry's group."""

        def read(path: str, files: Mapping[str, str] | None) -> dict[str, Any]:
            own = None if files is None else {METADATA: files[METADATA]}
            with self.location.failures():
                problems = check_files(self.location, path, own)
                content = self.location.read(f"{path}/{METADATA}")
            if problems or content is None:
                raise CorruptStudy(
                    f"{self.study.path}: {path}: {'; '.join(problems) or 'is missing'}; run scorecube verify and compute it again"
                )
            return dict(json.loads(content).get("attributes", {}))

        return self._read(name, read)

    def _read_result(self, analysis: str, digest: str) -> xr.Dataset:
        return self._read(
            f"{RESULTS}/{analysis}/{digest}",
            lambda path, files: read_or_open(self.location, path, files),
        )

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
        return self._read(
            f"{RESULTS}/{analysis}/{digest}", lambda path, _: open_dataset(self.location, path)
        )

    def write_result(self, analysis: str, digest: str, result: xr.Dataset) -> None:
        """Write a finished result; outdated results of the same options are removed."""
        with self.study.lock(self.name):
            self.study.upgrade()
            superseded = {
                f"{RESULTS}/{analysis}/{each}" for each in self._superseded(analysis, result)
            }
            self.write(
                {f"{RESULTS}/{analysis}/{digest}": result},
                lambda manifest: manifest.without(superseded),
                {"finished": str(result.attrs.get("finished", ""))},
            )

    def _superseded(self, analysis: str, result: xr.Dataset) -> list[str]:
        """Return the digests of outdated results with the options of a new one."""
        outdated = self.result_entries(analysis, outdated=True)
        options = _options(result.attrs)
        return [
            digest
            for digest in outdated
            if _options(self._attributes(f"{RESULTS}/{analysis}/{digest}")) == options
        ]

    def blocks(self, analysis: str, work_digest: str) -> BlockStore:
        """Return the recorded blocks of all plans that share them."""
        name = f"{BLOCKS}/{analysis}/{work_digest}"
        entry = _BlockEntry(self, name)
        return BlockStore(self.location, f"{self.group_path}/{name}", work_digest, entry)

    def contents(self) -> dict[str, Any]:
        """Return what the collection holds, for `info`."""
        manifest = self.manifest
        counts: dict[bool, dict[str, int]] = {False: {}, True: {}}
        for name, entry in sorted(manifest.entries.items()):
            if name.startswith(f"{RESULTS}/"):
                group = counts[bool(entry.facts.get(OUTDATED))]
                analysis = name.split("/")[1]
                group[analysis] = group.get(analysis, 0) + 1
        return {
            "rankings": RANKINGS in manifest.entries,
            "results": counts[False],
            "outdated": counts[True],
        }

    def write(
        self,
        groups: Mapping[str, xr.Dataset],
        change: Callable[[Manifest], Manifest],
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Write groups beside those that are there, commit them, and remove those that are no longer listed.

        Parameters
        ----------
        groups
            Content of entries by name; the caller holds the lock.
        change
            Returns the manifest without what the groups replace or make invalid.
        facts
            Of the new entries.
        """
        path, written = self.group_path, set[str]()
        before = self._decode_or_new(self.location.read(f"{path}/{METADATA}"))
        try:
            with self.location.failures():
                entries = {}
                for name, dataset in groups.items():
                    final = before.free_path(name)
                    _create_parents(self.location, path, final)
                    staged = self.location.staging_path(f"{path}/{final}")
                    written.add(staged)
                    self._mark(written)
                    files = write_dataset(dataset, self.location, staged)
                    installed = self.location.install(staged, f"{path}/{final}")
                    written.add(installed)
                    self._mark(written)
                    entries[name] = Entry(installed.removeprefix(f"{path}/"), files, facts or {})
                after = self.commit(lambda manifest: change(manifest).with_entries(entries))
        except BaseException as error:
            with suppress(Exception):
                # The commit itself may have been made, if what failed is its syncing.
                listed = self.manifest.paths() if self.name in self.study else before.paths()
                for group in sorted(written):
                    if group.removeprefix(f"{path}/") not in listed:
                        self.location.remove(group)
            if isinstance(
                error, Exception
            ):  # perhaps the other process removed what this one wrote
                self.study.check_lock(self.name)
            raise
        finally:
            self._mark(written, remove=True)
        self._remove_unlisted(before, after)

    def _mark(self, paths: set[str], *, remove: bool = False) -> None:
        marks = {(self.study.path, path) for path in paths}
        with _GUARD:
            (_BEING_WRITTEN.difference_update if remove else _BEING_WRITTEN.update)(marks)

    def _remove_unlisted(self, before: Manifest, after: Manifest) -> None:
        """Remove the groups that a commit took off the list, unless the lock was lost since."""
        with suppress(Exception):  # the commit stands; what stays is removed later
            for path in sorted(before.paths() - after.paths()):
                self.study.check_lock(self.name)
                self.location.remove(f"{self.group_path}/{path}")

    def commit(self, change: Callable[[Manifest], Manifest]) -> Manifest:
        """Change the manifest in one step and return it; the caller holds the lock."""
        with self.location.failures():
            return commit(
                self.location,
                self.group_path,
                self._decode_or_new,
                change,
                lambda: self.study.check_lock(self.name),
            )

    def _decode_or_new(self, content: bytes | None) -> Manifest:
        if content is None or self.name not in self.study:
            try:  # of a process that was killed before it listed the collection
                killed = decode(content, self.name, "").commit
            except (CorruptStudy, KeyError, TypeError, AttributeError):
                killed = 0
            return Manifest(self.name, killed)
        return self._decode(content)

    def remove_rest(self) -> None:
        """Remove what a killed process wrote and did not commit."""
        listed = {self.group_path, *(f"{self.group_path}/{path}" for path in self.manifest.paths())}
        with _GUARD:
            kept = listed | {path for study, path in _BEING_WRITTEN if study == self.study.path}
        self._remove_below(self.group_path, kept)

    def _remove_below(self, path: str, kept: set[str]) -> None:
        for name in self.location.children(path):
            child = f"{path}/{name}"
            if name == METADATA or child in kept:
                continue
            if any(each.startswith(f"{child}/") for each in kept):
                self._remove_below(child, kept)
            else:
                self.location.remove(child)


class _BlockEntry:
    """See `scorecube.storage.blocks.BlockEntry`."""

    def __init__(self, collection: Collection, name: str) -> None:
        self._collection, self._name = collection, name

    def read(self) -> Entry | None:
        return self._collection.manifest.entries.get(self._name)

    def commit(self, entry: Entry) -> None:
        collection, name = self._collection, self._name
        with collection.location.failures():
            _create_parents(collection.location, collection.group_path, name)
        below = Entry(name, entry.files, entry.facts)
        collection.commit(lambda manifest: manifest.with_entries({name: below}))

    def check_lock(self) -> None:
        self._collection.study.check_lock(self._collection.name)


def _create_parents(location: Location, collection: str, path: str) -> None:
    """Create the groups between a collection and a group in it."""
    parts = path.split("/")[:-1]
    for count in range(len(parts)):
        key = "/".join([collection, *parts[: count + 1], METADATA])
        if location.read(key) is None:
            location.exchange(key, None, group_metadata())


def _has_manifest(content: bytes | None) -> bool:
    try:
        attributes = json.loads(content or b"{}").get("attributes", {})
        return MANIFEST in attributes or DIGEST in attributes
    except (ValueError, AttributeError, RecursionError):
        return True  # damaged: not one of format 1


def _options(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result's plan without what does not distinguish one analysis of other scores from another."""
    try:
        plan = dict(json.loads(str(attributes.get("plan", "{}"))))
    except ValueError:
        return {}
    return {key: value for key, value in plan.items() if key not in ("cube", "seed", "trials")}
