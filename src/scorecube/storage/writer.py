"""Sessions of writing: the lock of a collection with its manifest and its row in the index, and the lock of the list of collections.

Groups are written beside those that are there; a new manifest, which replaces the old one in one step, commits them; then groups that it does not
list are removed. The row of the index is written last, before the lock is released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import xarray as xr

from scorecube import names
from scorecube.errors import BadStudy, CorruptStudy, ScorecubeError, option
from scorecube.storage.blocks import BlockStore
from scorecube.storage.catalogue import Catalogue
from scorecube.storage.collection import Collection
from scorecube.storage.datasets import Form, is_made_on_use, missing_values, write_dataset
from scorecube.storage.entry_facts import attribute_facts, facts_of
from scorecube.storage.fact_types import plan_options
from scorecube.storage.index import Row, row_of
from scorecube.storage.layout import FORMAT_VERSION, METADATA, VERSION, above
from scorecube.storage.location import Location, open_location
from scorecube.storage.lock import HeldLock, LockLost
from scorecube.storage.manifest import (
    BLOCKS,
    CUBE,
    EMPTY,
    OUTDATED,
    RANKINGS,
    RESULTS,
    Entry,
    Manifest,
    decode,
    digest_of,
    encode,
    group_metadata,
    sealed,
)
from scorecube.storage.merge_cubes import merge_cubes
from scorecube.storage.small_groups import is_packed

Known = tuple[Manifest, bytes | None]
"""A manifest, and its metadata file; None before there is one."""


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


class Session:
    """What the writers of a study share: a lock that is held, by a number of users.

    name: Of the collection; empty for the list of collections.
    held: Its lock.
    """

    def __init__(self, study: Catalogue, name: str, held: HeldLock) -> None:
        self.study, self.name, self.location, self.held = study, name, study.location, held
        self.users = 0
        self.changed = False
        """Whether the row of the collection must be written before the lock is released."""

    def check_lock(self) -> None:
        """Refuse to go on if the lock was lost; see `scorecube.storage.lock.HeldLock.check`."""
        try:
            self.held.check()
        except LockLost:
            self.location.check_there()
            raise


class ListWriter(Session):
    """Changes the list of a study's collections, under its lock."""

    def change(self, *, add: Iterable[str] = (), parts: Mapping[str, int] = EMPTY) -> None:
        """Create the study if it is new, and list collections that are written, in one step.

        `parts` are numbers of parts of the sweeps that the new ones come from.
        """
        new = {name: name for name in add}
        with self.location.failures():
            while True:
                content = self.study.refresh()
                before, noted = self.study.paths, self.study.parts
                paths, numbers = new | before, {**noted, **parts}
                same = paths == before and numbers == noted
                if content is not None and same:
                    return
                self.check_lock()
                manifest: dict[str, Any] = {"collections": dict(sorted(paths.items()))}
                manifest |= {"parts": numbers} if numbers else {}
                new_list = sealed(manifest, {VERSION: FORMAT_VERSION})
                if self.location.exchange(METADATA, content, new_list):
                    self.study.refresh()
                    return


class Writer(Session, Collection):
    """One collection of a study, under its lock: what `Collection` reads, and changes of it.

    What it knows of the manifest is shared by all writers of the process, and changed by none else.
    """

    def _known(self) -> Known:
        """Return the manifest, a first one for a collection that is new, and its metadata file."""
        with self.held.guard:
            if self.held.known is not None:
                known: Known = self.held.known
                return known
            content = self._content()
            known = self._manifest_or_new(content), content
            if self.users and self.held.content is not None:
                self.held.known = known
            return known

    def _manifest_or_new(self, content: bytes | None) -> Manifest:
        if content is not None and self.name in self.study:
            return self.study.manifest_of(self.name, content)
        try:  # of a process that was killed before it listed the collection
            return Manifest(self.name, decode(content, self.name, "").commit)
        except (CorruptStudy, KeyError, TypeError, AttributeError):
            return Manifest(self.name)

    def forget(self) -> None:
        """Read the manifest again when it is needed."""
        self.held.known = None

    @property
    def manifest(self) -> Manifest:
        """What it holds now; read once, as no other process can change it."""
        if not self.users:
            return super().manifest
        manifest, content = self._known()
        return super().manifest if content is None and self.name in self.study else manifest

    def commit(self, change: Callable[[Manifest], Manifest]) -> Manifest:
        """Change the manifest in one step and return it."""
        key = f"{self.group_path}/{METADATA}"
        with self.held.guard, self.location.failures():
            self.changed = True
            while True:
                before, content = self._known()
                self.forget()
                after = replace(change(before), commit=before.commit + 1)
                self.check_lock()
                new = encode(after)
                if self.location.exchange(key, content, new):
                    break
            if self.held.content is not None:
                self.held.known = after, new
        return after

    def row_to_write(self) -> Row | None:
        """Return its row; None for a collection that is damaged or was not completed."""
        key, known = f"{self.group_path}/{METADATA}", self.held.known
        stamp = self.location.stamp(key)
        if known is not None and not stamp:  # no file that may have been replaced by hand
            return row_of(known[0], digest_of(known[1]), stamp)
        content = self.location.read(key)  # after its stamp
        if content is None:
            return None
        if known is None or known[1] != content:
            try:
                known = self.study.manifest_of(self.name, content), content
            except CorruptStudy:
                self.keep_lock()
                return None
        return row_of(known[0], digest_of(content), stamp)

    def keep_lock(self) -> None:
        """Leave the lock file where it says that the row of a collection is old."""
        self.held.kept = self.held.kept or not self.location.has_stamps

    def note(self, facts: Mapping[str, Any]) -> None:
        """Note facts, JSON values, in the manifest."""
        self.commit(lambda manifest: _noting(manifest, facts))

    def blocks(self, analysis: str, work: str) -> BlockStore:
        """Return the recorded blocks of all plans that share them."""
        name = f"{BLOCKS}/{analysis}/{work}"

        def commit(entry: Entry) -> None:
            with self.location.failures():
                create_parents(self.location, self.group_path, name, self.manifest.paths())
            self.commit(lambda manifest: manifest.with_entries({name: replace(entry, path=name)}))

        path = f"{self.group_path}/{name}"
        return BlockStore(
            self.location,
            path,
            work,
            lambda: self.manifest.entries.get(name),
            commit,
            self.check_lock,
        )

    def add(
        self,
        cube: xr.Dataset,
        rankings: xr.Dataset | None = None,
        *,
        replace: bool = False,
        facts: Mapping[str, Any] = EMPTY,
    ) -> None:
        """Write scores, or further metrics and gain settings of those that are stored; see `scorecube.storage.study.Study.add`."""
        stored, parts = self.name in self.study, is_made_on_use(cube, names.SCORE)
        where = f"{self.study.path}: collection {self.name!r}"
        if stored and not replace:
            if parts:
                raise BadStudy(
                    f"{where} exists, and scores that are written part by part cannot be merged; "
                    f"use {option('replace', True)} to start over, or another {option('name')}"
                )
            base, before = self.manifest, self.cube
            merged = merge_cubes(before, cube, where)
            if not merged.identical(before):
                self.write({CUBE: merged}, lambda manifest: _noting(manifest, facts), base=base)
            elif facts:
                self.note(facts)
            return
        groups = {CUBE: cube} | ({} if rankings is None else {RANKINGS: rankings})
        same = stored and not parts and self._has_scores(cube)
        self.write(
            groups, lambda manifest: _noting(_started_over(manifest, set(groups), keep=same), facts)
        )

    def _has_scores(self, cube: xr.Dataset) -> bool:
        try:
            return bool(self.cube.equals(cube))
        except CorruptStudy:
            return False

    def write_results(self, results: Sequence[NewResult], *, packed: bool = False) -> None:
        """Write finished results and commit them together; outdated results of the same options are removed.

        A commit costs a wait for the disk, or a few requests, whatever the number of results. With `packed`, a small result is one file in a
        directory too, where it is about 60 files in 100 directories otherwise.
        """
        superseded = {name for each in results for name in self._superseded(each)}
        facts = {each.entry: {**attribute_facts(each.values), **each.facts} for each in results}
        try:
            self.write(
                {each.entry: each.values for each in results},
                lambda manifest: manifest.without(superseded),
                facts,
                packed=packed,
            )
        except BadStudy as error:
            kept = [] if self.location.exists() else self._keep_beside(results)
            if not kept:
                raise
            raise BadStudy(
                f"{error}. What was computed is kept in {' and '.join(kept)}, which xarray.open_zarr reads"
            ) from None

    def unpack(self) -> int:
        """Write packed results as groups that other readers open, see `scorecube.storage.small_groups`; return their number."""
        packed = {
            name: entry
            for name, entry in self.manifest.entries.items()
            if name.startswith(f"{RESULTS}/") and is_packed(entry.files)
        }
        if packed:
            plain = {name: self._read_result(*name.split("/")[1:]) for name in packed}
            facts = {name: entry.facts for name, entry in packed.items()}
            self.write(plain, lambda manifest: manifest, facts, packed=None)
        return len(packed)

    def _superseded(self, result: NewResult) -> list[str]:
        """Return the entries of outdated results with the options of a new one."""
        outdated = self.result_entries(result.analysis, outdated=True)
        entries = {f"{RESULTS}/{result.analysis}/{each}": outdated[each] for each in outdated}
        options = plan_options(result.values.attrs) if entries else {}
        return [
            name
            for name, entry in entries.items()
            if plan_options(self._attributes(name, entry)) == options
        ]

    def _keep_beside(self, results: Sequence[NewResult]) -> list[str]:
        """Write results beside the place of a study that was moved or removed; return their paths."""
        kept = list[str]()
        with suppress(OSError, ScorecubeError):  # the message says that they are lost
            for each in results:
                beside = open_location(f"{self.study.path}-{each.analysis}-{each.digest}.zarr")
                write_dataset(each.values, beside)
                kept.append(beside.name)
        return kept

    def write(
        self,
        groups: Mapping[str, xr.Dataset],
        change: Callable[[Manifest], Manifest],
        facts: Mapping[str, Mapping[str, Any]] = EMPTY,
        *,
        packed: bool | None = False,
        base: Manifest | None = None,
    ) -> None:
        """Write groups beside those that are there, commit them, and remove those that are no longer listed.

        groups: Content of entries by name.
        change: Returns the manifest without what the groups replace or make invalid.
        facts: Of new entries of results, by name; those of cubes and rankings are made of their content.
        packed: Whether small groups are one file in a directory too; None for none, at an object store either.
        base: Manifest of the scores and rankings that the groups were made from. If others are there now, nothing is
            changed (BadStudy).
        """
        self.check_lock()
        before, path = self._known()[0], self.group_path
        written, there, entries = set[str](), before.paths(), dict[str, Entry]()
        try:
            with self.location.failures():
                for name, dataset in groups.items():
                    final = before.free_path(name)
                    create_parents(self.location, path, final, there)
                    staged = self.location.staging_path(f"{path}/{final}")
                    written.add(staged)
                    form = self._form(name, packed=packed)
                    files = write_dataset(dataset, self.location, staged, form)
                    installed = self.location.install(staged, f"{path}/{final}")
                    written.add(installed)
                    known = self._facts(name, dataset, installed) or facts.get(name, {})
                    entries[name] = Entry(installed.removeprefix(f"{path}/"), files, known)
                if groups:  # and the directories above, which are on the same file system
                    self.location.sync(path)
            after = self.commit(
                lambda manifest: change(self._based(manifest, base)).with_new(entries)
            )
        except BaseException as error:
            self._remove_written(written)
            if isinstance(error, Exception):  # perhaps the other process removed what was written
                self.check_lock()
            raise
        self.remove_unlisted(before, after)

    def _remove_written(self, written: set[str]) -> None:
        """Remove groups that were written and, as what follows failed, are not listed."""
        self.forget()
        with suppress(
            Exception
        ):  # what stays is removed by the next process that takes over the lock
            # The commit itself may have been made, if what failed is its syncing.
            listed = {f"{self.group_path}/{path}" for path in self.manifest.paths()}
            for group in sorted(written - listed):
                self.location.remove(group)

    def remove_unlisted(self, before: Manifest, after: Manifest) -> None:
        """Remove the groups that a commit took off the list, unless the lock was lost since."""
        with suppress(Exception):  # the commit stands; what stays is removed later
            for path in sorted(before.paths() - after.paths()):
                self.check_lock()
                self.location.remove(f"{self.group_path}/{path}")
            self._link_latest(after)

    def _link_latest(self, manifest: Manifest) -> None:
        """Let ``cube`` and ``rankings`` lead to groups of other names, for readers that know no manifest."""
        for name in (CUBE, RANKINGS):
            entry = manifest.entries.get(name)
            if entry is not None and entry.path != name:
                self.check_lock()
                self.location.link(f"{self.group_path}/{name}", entry.path)

    def remove_rest(self) -> None:
        """Remove what a killed process wrote and did not commit."""
        root = self.group_path
        self._remove_below(root, {f"{root}/{path}" for path in self.manifest.paths()})
        self._link_latest(self.manifest)

    def _remove_below(self, path: str, kept: set[str]) -> None:
        for name in self.location.children(path):
            child = f"{path}/{name}"
            if name == METADATA or child in kept:
                continue
            if any(each.startswith(f"{child}/") for each in kept):
                self._remove_below(child, kept)
            else:
                self.location.remove(child)

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

    def _form(self, entry: str, *, packed: bool | None) -> Form:
        """Return how a small group is written: cubes and rankings as plain arrays everywhere, for other readers."""
        few = self.location.counts_requests
        if packed or (packed is False and few and entry.startswith(RESULTS)):
            return "packed"
        return "consolidated" if few else "plain"

    def _facts(self, name: str, dataset: xr.Dataset, path: str) -> dict[str, Any]:
        """Return the facts of what was just written; missing scores that were made only for that are counted in the store."""
        made = name == CUBE and is_made_on_use(dataset, names.SCORE)
        missing = missing_values(self.location, path, names.SCORE) if made else None
        return facts_of(name, dataset, missing)


def create_parents(location: Location, collection: str, path: str, listed: set[str]) -> None:
    """Create the groups between a collection and a group in it, and list it; those of listed groups exist. Sync them with the group."""
    for parent in above([path]):
        if not any(each.startswith(f"{parent}/") for each in listed):
            location.write_cached(f"{collection}/{parent}/{METADATA}", group_metadata())
    listed.add(path)


def _noting(manifest: Manifest, facts: Mapping[str, Any]) -> Manifest:
    return replace(manifest, facts={**manifest.facts, **facts})


def _started_over(manifest: Manifest, parts: set[str], *, keep: bool) -> Manifest:
    """Return a manifest without rankings and blocks; its results are outdated, unless they are kept."""
    manifest = replace(manifest, facts={})
    if keep:
        return manifest if RANKINGS in parts else manifest.without({RANKINGS})
    entries = {
        name: replace(entry, facts={**entry.facts, OUTDATED: True})
        if name.startswith(f"{RESULTS}/")
        else entry
        for name, entry in manifest.entries.items()
        if name != RANKINGS and not name.startswith(f"{BLOCKS}/")
    }
    return replace(manifest, entries=entries)
