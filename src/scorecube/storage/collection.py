"""One collection of a study."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import xarray as xr

from scorecube import names
from scorecube.errors import BadStudy, CorruptStudy, ScorecubeError
from scorecube.storage.blocks import BlockStore
from scorecube.storage.catalogue import ATTRIBUTES, Catalogue, Describe, has_manifest, in_order
from scorecube.storage.datasets import (
    Form,
    is_made_on_use,
    missing_values,
    open_lazily,
    read_dataset,
    read_or_open,
    write_dataset,
)
from scorecube.storage.entry_facts import attribute_facts, facts_of, plan_options
from scorecube.storage.fact_types import check_arrays, checked_attributes
from scorecube.storage.html import html_of_collections
from scorecube.storage.index import Row, row_of
from scorecube.storage.layout import METADATA
from scorecube.storage.location import Location, open_location
from scorecube.storage.manifest import (
    BLOCKS,
    CUBE,
    EMPTY,
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
from scorecube.storage.nodes import open_group

if TYPE_CHECKING:
    import zarr

Value = TypeVar("Value")
_BEING_WRITTEN: set[tuple[str, str]] = set()
"""Study and path of each group that this process writes and has not committed."""
_GUARD = threading.Lock()


@dataclass(frozen=True)
class NewResult:
    """A finished result that is to be stored.

    Parameters
    ----------
    analysis, digest
        Name of the analysis and digest of the plan.
    values
        Values, with the provenance as attributes.
    facts
        JSON values for the manifest and the index: what is shown of the result without reading its arrays.
    """

    analysis: str
    digest: str
    values: xr.Dataset
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def entry(self) -> str:
        """Name of its entry in the manifest."""
        return f"{RESULTS}/{self.analysis}/{self.digest}"


class Study(Protocol):
    """What a collection needs of its study, see `scorecube.storage.study.Study`."""

    @property
    def path(self) -> str:
        """Path or URL."""

    @property
    def location(self) -> Location:
        """Where it lies."""

    @property
    def catalogue(self) -> Catalogue:
        """The list of collections."""

    def path_of(self, name: str) -> str:
        """Return the path of a collection's group."""

    def lock(self, collection: str = "", *, needed: bool = True) -> AbstractContextManager[None]:
        """Hold the lock of a collection."""

    def check_lock(self, collection: str = "") -> None:
        """Refuse to go on if the lock was lost."""

    def upgrade(self) -> None:
        """Give a study of format 1 its manifests."""

    def note_change(self, name: str, written: tuple[Manifest, bytes] | None) -> None:
        """Note that a manifest is about to change, or has changed."""

    def held_manifest(self, name: str) -> tuple[Manifest, bytes] | None:
        """Return the manifest of a collection whose lock this process holds, if it is known."""

    def hold_manifest(
        self, name: str, known: tuple[Manifest, bytes] | None, *, changes: int | None = None
    ) -> None:
        """Keep a manifest while this process holds the lock of its collection."""

    def changes_of(self, name: str) -> int:
        """Return how often the manifest that is held of a collection changed."""

    def __contains__(self, name: object) -> bool:
        """Whether there is a collection of a name."""


class Collection:
    """One collection of a study: `cube`, `rankings` and results, read on access."""

    def __init__(self, study: Study, name: str) -> None:
        self.study = study
        self.name = name
        self.location = study.location

    def _repr_html_(self) -> str:
        """Return sizes, metrics and results as a table, for notebooks."""
        return html_of_collections(
            self.study.path, {self.name: {**self.row().facts.get("cube", {}), **self.contents()}}
        )

    @property
    def group_path(self) -> str:
        """Path of its group in the store."""
        return self.study.path_of(self.name)

    @property
    def group(self) -> zarr.Group:
        """Its group, for reading."""
        return open_group(self.location, self.group_path)

    @property
    def manifest(self) -> Manifest:
        """What it holds now."""
        held = self.study.held_manifest(self.name)
        if held is not None:
            return held[0]
        changes = self.study.changes_of(self.name)
        with self.location.failures():
            content = self.location.read(f"{self.group_path}/{METADATA}")
        if content is None:
            self.location.check_there()
        manifest = self._decode(content)
        known = None if content is None else (manifest, content)
        self.study.hold_manifest(self.name, known, changes=changes)
        return manifest

    @property
    def state(self) -> str:
        """Digest that changes whenever scores or results are committed; empty if that is unknown (a study of format 1)."""
        entries = {
            name: [entry.path, entry.files, entry.facts]
            for name, entry in sorted(self.manifest.entries.items())
            if not name.startswith(f"{BLOCKS}/")
        }
        if any(files is None for _, files, _ in entries.values()):
            return ""
        return digest_of(json.dumps(entries, default=dict, sort_keys=True).encode())

    def has_manifest(self) -> bool:
        """Whether its manifest is stored, as it is in every study but those of format 1."""
        with self.location.failures():
            return has_manifest(self.location.read(f"{self.group_path}/{METADATA}"))

    def _decode(self, content: bytes | None) -> Manifest:
        return self.study.catalogue.manifest_of(self.name, content)

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
        return [
            self._attributes(f"{RESULTS}/{analysis}/{each['digest']}", entries[each["digest"]])
            for each in in_order({digest: entry.facts for digest, entry in entries.items()})
        ]

    def _attributes(self, name: str, entry: Entry) -> dict[str, Any]:
        """Return the attributes of a result."""

        def read(path: str, files: Mapping[str, str] | None) -> dict[str, Any]:
            own = None if files is None else {METADATA: files[METADATA]}
            with self.location.failures():
                problems = check_files(self.location, path, own)
                content = self.location.read(f"{path}/{METADATA}")
            if problems or content is None:
                raise CorruptStudy(
                    f"{self.study.path}: {path}: {'; '.join(problems) or 'is missing'}; run scorecube verify and compute it again"
                )
            return checked_attributes(json.loads(content).get("attributes", {}), path)

        noted = entry.facts.get(ATTRIBUTES)
        return dict(noted) if noted is not None else self._read(name, read)

    def with_facts(self, manifest: Manifest, describe: Describe | None) -> Manifest:
        """Return a manifest with the facts that an earlier version did not note.

        Parameters
        ----------
        manifest
            Of this collection.
        describe
            Makes facts of the results of an analysis; None leaves results as they are.
        """
        entries = {}
        for name, entry in manifest.entries.items():
            analysis = name.split("/")[1] if name.startswith(f"{RESULTS}/") else ""
            if name in (CUBE, RANKINGS) and not entry.facts:
                entries[name] = replace(
                    entry, facts=facts_of(name, self.cube if name == CUBE else self.rankings)
                )
            elif describe is not None and analysis and describe.lacks(analysis, entry.facts):
                result = self._read_result(analysis, name.rpartition("/")[2])
                made = {**attribute_facts(result), **describe.facts(result)}
                entries[name] = replace(entry, facts={**entry.facts, **made})
        return manifest.with_entries(entries)

    def _read_result(self, analysis: str, digest: str, *, lazily: bool = False) -> xr.Dataset:
        def read(path: str, files: Mapping[str, str] | None) -> xr.Dataset:
            if lazily:
                return open_lazily(self.location, path)
            return read_or_open(self.location, path, files)

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

    def write_results(self, results: Sequence[NewResult], *, packed: bool = False) -> None:
        """Write finished results and commit them together; outdated results of the same options are removed.

        A commit costs a wait for the disk, or a few requests, whatever the number of results. With `packed`, a small result is one file in a
        directory too, where it is about 60 files in 100 directories otherwise.
        """
        with self.study.lock(self.name):
            self.study.upgrade()
            superseded = {
                f"{RESULTS}/{each.analysis}/{digest}"
                for each in results
                for digest in self._superseded(each.analysis, each.values)
            }
            try:
                self.write(
                    {each.entry: each.values for each in results},
                    lambda manifest: manifest.without(superseded),
                    {
                        each.entry: {**attribute_facts(each.values), **each.facts}
                        for each in results
                    },
                    packed=packed,
                )
            except BadStudy as error:
                kept = [] if self.location.exists() else self._keep_beside(results)
                if not kept:
                    raise
                raise BadStudy(
                    f"{error}. What was computed is kept in {' and '.join(kept)}, which xarray.open_zarr reads"
                ) from None

    def _keep_beside(self, results: Sequence[NewResult]) -> list[str]:
        """Write results beside the place of a study that was moved or removed; return their paths."""
        kept = list[str]()
        with suppress(OSError, ScorecubeError):
            for each in results:
                beside = open_location(f"{self.study.path}-{each.analysis}-{each.digest}.zarr")
                write_dataset(each.values, beside)
                kept.append(beside.name)
        return kept

    def _superseded(self, analysis: str, result: xr.Dataset) -> list[str]:
        """Return the digests of outdated results with the options of a new one."""
        outdated = self.result_entries(analysis, outdated=True)
        options = plan_options(result.attrs)
        return [
            digest
            for digest, entry in outdated.items()
            if plan_options(self._attributes(f"{RESULTS}/{analysis}/{digest}", entry)) == options
        ]

    def blocks(self, analysis: str, work_digest: str) -> BlockStore:
        """Return the recorded blocks of all plans that share them."""
        name = f"{BLOCKS}/{analysis}/{work_digest}"
        entry = _BlockEntry(self, name)
        return BlockStore(self.location, f"{self.group_path}/{name}", work_digest, entry)

    def row(self) -> Row:
        """Return what its manifest says, as the index does."""
        return row_of(self.manifest, "", "")

    def contents(self) -> dict[str, Any]:
        """Return what the collection holds, for `info`."""
        return self.row().contents()

    def write(
        self,
        groups: Mapping[str, xr.Dataset],
        change: Callable[[Manifest], Manifest],
        facts: Mapping[str, Mapping[str, Any]] = EMPTY,
        *,
        packed: bool = False,
        base: Manifest | None = None,
    ) -> None:
        """Write groups beside those that are there, commit them, and remove those that are no longer listed.

        Parameters
        ----------
        groups
            Content of entries by name; the caller holds the lock.
        change
            Returns the manifest without what the groups replace or make invalid.
        facts
            Of new entries of results, by name; those of cubes and rankings are made of their content.
        packed
            Whether small groups are one file in a directory too.
        base
            Manifest of the scores and rankings that the groups were made from. If others are there now, nothing is changed (BadStudy).
        """
        path, written = self.group_path, set[str]()
        self.study.check_lock(self.name)
        held = self.study.held_manifest(self.name)
        before = (
            self._decode_or_new(self.location.read(f"{path}/{METADATA}"))
            if held is None
            else held[0]
        )
        try:
            with self.location.failures():
                entries, there = {}, before.paths()
                for name, dataset in groups.items():
                    final = before.free_path(name)
                    create_parents(self.location, path, final, there)
                    staged = self.location.staging_path(f"{path}/{final}")
                    written.add(staged)
                    self._mark(written)
                    files = write_dataset(
                        dataset, self.location, staged, self._form(name, packed=packed)
                    )
                    installed = self.location.install(staged, f"{path}/{final}")
                    written.add(installed)
                    self._mark(written)
                    entries[name] = Entry(
                        installed.removeprefix(f"{path}/"),
                        files,
                        self._facts(name, dataset, installed) or facts.get(name, {}),
                    )
                if groups:  # and the directories above, which are on the same file system
                    self.location.sync(path)
                after = self.commit(
                    lambda manifest: change(self._based(manifest, base)).with_new(entries)
                )
        except BaseException as error:
            self.study.hold_manifest(self.name, None)
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

    def _based(self, manifest: Manifest, base: Manifest | None) -> Manifest:
        """Return a manifest, unless it has other scores or rankings than `base`."""
        if base is not None and any(
            manifest.entries.get(name) != base.entries.get(name) for name in (CUBE, RANKINGS)
        ):
            raise BadStudy(
                f"{self.study.path}: collection {self.name!r}: another process changed its scores meanwhile, so nothing was stored; "
                "run the same command again"
            )
        return manifest

    def _form(self, entry: str, *, packed: bool) -> Form:
        """Return how a small group is written: cubes and rankings as plain arrays everywhere, for other readers."""
        few = self.location.counts_requests
        if packed or (few and entry.startswith(RESULTS)):
            return "packed"
        return "consolidated" if few else "plain"

    def _facts(self, name: str, dataset: xr.Dataset, path: str) -> dict[str, Any]:
        """Return the facts of what was just written; missing scores that were made only for that are counted in the store."""
        made = name == CUBE and is_made_on_use(dataset, names.SCORE)
        missing = missing_values(self.location, path, names.SCORE) if made else None
        return facts_of(name, dataset, missing)

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
        held = self.study.held_manifest(self.name)
        self.study.hold_manifest(self.name, None)
        self.study.note_change(self.name, None)
        with self.location.failures():
            after, content = commit(
                self.location,
                self.group_path,
                self._decode_or_new,
                change,
                lambda: self.study.check_lock(self.name),
                None if held is None else held[1],
            )
        self.study.note_change(self.name, (after, content))
        self.study.hold_manifest(self.name, (after, content))
        return after

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
            listed = collection.manifest.paths()
            create_parents(collection.location, collection.group_path, name, listed)
        below = Entry(name, entry.files, entry.facts)
        collection.commit(lambda manifest: manifest.with_entries({name: below}))

    def check_lock(self) -> None:
        self._collection.study.check_lock(self._collection.name)


def create_parents(location: Location, collection: str, path: str, listed: set[str]) -> None:
    """Create the groups between a collection and a group in it, and list it; those of listed groups exist. Sync them with the group."""
    parts = path.split("/")[:-1]
    for count in range(len(parts)):
        parent = "/".join(parts[: count + 1])
        if not any(each.startswith(f"{parent}/") for each in listed):
            location.write_cached(f"{collection}/{parent}/{METADATA}", group_metadata())
    listed.add(path)
