"""Merging studies: the collections of several become those of one, for example of the parts of a sweep.

Three passes: verify everything that would be taken; compare what several studies hold under the same name; take. Nothing is written before the
third. There a new collection is built under its final path and listed when it is whole; to one that exists, groups are added beside the others
and committed together. What a killed merge left unlisted is removed by the next one, which continues where the list and the manifests end.

Groups of cubes, rankings and results are never modified. The files of a directory therefore get a second name (hard link) instead of a copy:
either study can be deleted, but damage to the disk affects both. Recorded blocks are modified in place and are copied.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from scorecube.errors import BadStudy, CorruptStudy, ScorecubeError, counted
from scorecube.storage.collection import Collection
from scorecube.storage.layout import METADATA, PART_OF, above
from scorecube.storage.location import Location, is_url, open_location
from scorecube.storage.manifest import RESULTS, Entry, Manifest, encode, group_metadata
from scorecube.storage.merge_rules import conflicts_of, difference, is_blocks, is_same, superseded
from scorecube.storage.study import Study, open_study
from scorecube.storage.verify import verify_collection
from scorecube.storage.writer import ListWriter, Writer, create_parents

Progress = Callable[[int, int], None]
LIST_SECONDS = 2.0
"""Time between two changes of the list of collections: a killed merge repeats at most so much."""
MAX_LINES = 20
"""Most lines of a message on conflicts or damage."""
VERIFICATIONS = 10
"""Of a collection of a part that another process writes, before the merge gives up."""
COPIED_BYTES = 2**26
"""Objects that are held in memory while they are copied from one kind of store to another."""


@dataclass(frozen=True)
class Merged:
    """What a merge did.

    parts: Paths or URLs of the studies that were merged.
    new, extended, unchanged: Numbers of collections of the parts that were added, that existed and got more, and that
        held everything already.
    results: Number of results that were taken.
    """

    parts: tuple[str, ...]
    new: int = 0
    extended: int = 0
    unchanged: int = 0
    results: int = 0


def merge(
    out: str | os.PathLike[str],
    parts: Sequence[str | os.PathLike[str]],
    *,
    progress: Progress | None = None,
) -> Merged:
    """Merge studies into one: cubes, rankings, results and recorded blocks of all their collections.

    Everything is verified before it is taken, as `scorecube verify` does. In directories on one file system cubes, rankings and results are not
    copied, but get a second name; within a bucket, the object store copies. What is there already is accepted once. A merge that was
    interrupted is continued by the same call, and collections can be merged into a study later.

    Parameters
    ----------
    out
        Path or URL of the study to merge into; created if it does not exist.
    parts
        Paths or URLs of studies; their last component may be a pattern such as ``study.part-*.zarr``.
    progress
        Called with (collections, twice the number of collections): each is verified, then taken.

    Returns
    -------
    merged
        Numbers of collections and results.

    Raises
    ------
    BadStudy
        No study at a path, `out` among the parts, parts of one sweep in different numbers of parts, or conflicts: other scores or rankings of a collection with the same name, another
        content of the result of the same plan. Nothing was written.
    CorruptStudy
        Damage in a part; nothing of any part was written.

    Examples
    --------
    >>> import tempfile
    >>> from scorecube.testing import simulate_cube
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for place, name in enumerate("ab"):
    ...         open_study(f"{folder}/{name}.zarr", mode="a").add(name, cube=simulate_cube(n_runs=4, seed=place))
    ...     merged = merge(folder + "/all.zarr", [folder + "/[ab].zarr"])
    ...     merged.new, list(open_study(folder + "/all.zarr"))
    (2, ['a', 'b'])
    """
    target = open_study(out, mode="a")
    merger = _Merger(target, _open_parts(target, parts), progress)
    merger.verify()
    merger.refuse_conflicts()
    return merger.take()


def _open_parts(out: Study, parts: Sequence[str | os.PathLike[str]]) -> list[Study]:
    """Open the parts once each; refuse the target among them."""
    if isinstance(parts, str | os.PathLike):
        parts = [parts]
    known = {_identity(out.location)}
    opened = []
    for path in [each for part in parts for each in _expanded(os.fspath(part))]:
        study = open_study(path, mode="r")
        identity = _identity(study.location)
        if identity == _identity(out.location):
            raise BadStudy(
                f"{out.path} is named as the study to merge into and as one of the parts; name another one"
            )
        if identity not in known:
            known.add(identity)
            opened.append(study)
    _refuse_other_parts(out, [study.path for study in opened])
    if not opened:
        raise BadStudy(f"no studies to merge into {out.path}; name at least one", option="parts")
    return opened


def _refuse_other_parts(out: Study, paths: Sequence[str]) -> None:
    """Refuse parts of one sweep in different numbers of parts, also of those that were merged before: together they seem complete and are not (BadStudy)."""
    known = {sweep: {number: out.path} for sweep, number in out.parts.items()}
    for path, (sweep, number) in _parts_of(paths).items():
        known.setdefault(sweep, {}).setdefault(number, path)
    for several in known.values():
        if len(several) > 1:
            examples = [
                f"{path}, into which some were merged" if path == out.path else path
                for _, path in sorted(several.items())
            ]
            raise BadStudy(
                f"parts of sweeps in {' and in '.join(map(str, sorted(several)))} parts: {' and '.join(examples)}; they divide the collections differently, "
                "so nothing was merged: name those of one number of parts",
                option="parts",
            )


def _parts_of(paths: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Return the sweep of each path of a part, as a digest, and its number of parts."""
    found = {path: PART_OF.search(path) for path in paths}
    return {
        path: (
            hashlib.sha256(PART_OF.sub("", _identity(open_location(path))).encode()).hexdigest()[
                :16
            ],
            int(end[2]),
        )
        for path, end in found.items()
        if end is not None
    }


def _identity(location: Location) -> str:
    return location.name if is_url(location.name) else os.path.realpath(location.name)


def _expanded(path: str) -> list[str]:
    """Return the studies that match a path whose last component is a pattern; the path itself if it is none."""
    pattern = path.rstrip("/").rpartition("/")[2]
    if not set(pattern) & set("*?["):
        return [path]
    location = open_location(path)
    with location.failures():
        if not is_url(path) and location.exists():
            return [path]  # a name with such characters
        parent, name = location.parent()
        found = [each for each in parent.children("") if fnmatchcase(each, name)]
    before = path.rstrip("/").removesuffix(pattern)
    studies = [before + each for each in found if open_location(before + each).holds_zarr()]
    if not studies:
        raise BadStudy(f"{path}: no study matches this pattern")
    return studies


@dataclass(frozen=True)
class _Holding:
    """A collection of a part, and its manifest when it was verified."""

    study: Study
    collection: Collection
    manifest: Manifest


class _Merger:
    """The three passes of `merge`."""

    def __init__(self, out: Study, parts: Sequence[Study], progress: Progress | None) -> None:
        self._out, self._parts = out, parts
        self._names = [(study, name) for study in parts for name in study]
        self._holders: dict[str, list[_Holding]] = {}
        self._progress, self._done = progress, 0
        self._unlisted: list[str] = []
        self._listed_at = time.monotonic()
        self._listing: ListWriter

    def _step(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, 2 * len(self._names))

    def verify(self) -> None:
        """Verify what the target lacks of every part (CorruptStudy)."""
        problems = list[str]()
        there = set(self._out)
        for study, name in self._names:
            collection = study[name]
            try:
                holding, found = self._verified(study, collection, there)
            except CorruptStudy as error:
                problems.append(str(error))
            else:
                problems += [f"{study.path}: {line}" for line in found]
                self._holders.setdefault(name, []).append(holding)
            self._step()
        if problems:
            raise CorruptStudy(
                f"{counted(len(problems), 'damaged place')} in the parts, nothing was merged:{_listed(problems)}\n"
                "restore them from copies, or remove the damaged parts and sweep them again"
            )

    def _verified(
        self, study: Study, collection: Collection, there: Container[str]
    ) -> tuple[_Holding, list[str]]:
        """Verify what the target lacks of a collection, again if it was replaced meanwhile."""
        name, manifest = collection.name, collection.manifest
        for _ in range(VERIFICATIONS):
            held = self._out[name].manifest.entries if name in there else {}
            # What the target has was verified when it was taken.
            lacking = {
                key for key, entry in manifest.entries.items() if not is_same(key, entry, held)
            }
            with self._locked(study, collection):
                _, found = verify_collection(collection, lacking)
            before, manifest = manifest, collection.manifest
            if manifest == before:
                return _Holding(study, collection, manifest), found
        raise _changed(collection)

    def refuse_conflicts(self) -> None:
        """Compare what several studies hold under one name (BadStudy)."""
        conflicts = list[str]()
        there = set(self._out)
        for name in sorted(self._holders):
            collections = [holding.collection for holding in self._holders[name]]
            if name in there:
                collections.insert(0, self._out[name])
            if len(collections) > 1:
                conflicts += conflicts_of(name, collections)
        if conflicts:
            raise BadStudy(
                f"{counted(len(conflicts), 'conflict')} between studies, nothing was merged:{_listed(conflicts)}\n"
                "leave out one of the studies, or store the collection under another name"
            )

    def take(self) -> Merged:
        """Take everything."""
        new = extended = unchanged = results = 0
        with self._out.lock() as self._listing:
            self._listing.change()  # makes the study
            there = set(self._out)
            try:
                for name in sorted(self._holders):
                    for holding in self._holders[name]:
                        if name in self._unlisted:
                            self._list()
                        if name in there:
                            count, changed = self._extend(holding)
                            extended, unchanged = extended + changed, unchanged + (not changed)
                        else:
                            count = self._add(holding)
                            new += 1
                            there.add(name)
                        results += count
                        self._step()
                    if time.monotonic() > self._listed_at + LIST_SECONDS:
                        self._list()
            finally:
                self._list()
        paths = tuple(study.path for study in self._parts)
        return Merged(paths, new, extended, unchanged, results)

    def _list(self) -> None:
        """List the collections that are whole."""
        out = self._out
        if self._unlisted:
            with out.location.failures():
                out.location.sync("")
            sources = _parts_of([study.path for study in self._parts])
            self._listing.change(add=self._unlisted, parts=dict(sources.values()))
            self._unlisted = []
        self._listed_at = time.monotonic()

    def _add(self, holding: _Holding) -> int:
        """Take a collection that the target lacks; return its number of results."""
        collection, location, name = holding.collection, self._out.location, holding.collection.name
        with location.failures(), self._unchanged(holding) as manifest:
            location.remove(name)  # the rest of a killed merge
            for key, entry in manifest.entries.items():
                self._take_group(collection, key, entry, f"{name}/{entry.path}")
            parents = {f"{each}/{METADATA}": group_metadata() for each in above(manifest.paths())}
            _check_unchanged(holding)
            content = encode(replace(manifest, commit=max(1, manifest.commit)))
            location.write_new(name, {**parents, METADATA: content})
        self._unlisted.append(name)
        return _n_results(manifest.entries)

    def _extend(self, holding: _Holding) -> tuple[int, bool]:
        """Take what the target lacks of a collection; return the number of results, and whether anything was lacking."""
        collection, out = holding.collection, self._out
        name, location = collection.name, out.location
        with out.lock(name) as own, location.failures(), self._unchanged(holding) as manifest:
            before = own.manifest
            wanted, current = difference(own, before, collection, manifest)
            facts = {**manifest.facts, **before.facts}
            if not wanted and not current and facts == before.facts:
                return 0, False
            there = before.paths()
            for key in wanted:
                create_parents(location, own.group_path, key, there)
            entries = {
                key: self._install(own, before, collection, key, entry)
                for key, entry in wanted.items()
            }
            _check_unchanged(holding)
            if entries:
                location.sync(own.group_path)
            marked = {
                key: replace(before.entries[key], facts=each) for key, each in current.items()
            }
            obsolete = superseded(own, before.entries, collection, manifest.entries) - set(marked)
            after = own.commit(
                lambda now: replace(
                    now.with_entries(marked).with_new(entries).without(obsolete), facts=facts
                )
            )
            own.remove_unlisted(before, after)
        return _n_results(entries), True

    def _install(
        self, own: Writer, before: Manifest, collection: Collection, key: str, entry: Entry
    ) -> Entry:
        """Copy or link the group of an entry beside those of the target's collection; return its entry. Sync it afterwards."""
        location, root = own.location, own.group_path
        if is_blocks(key):  # always under their name
            location.remove(f"{root}/{key}")
            self._take_group(collection, key, entry, f"{root}/{key}")
            return replace(entry, path=key)
        final = before.free_path(key)
        staged = location.staging_path(f"{root}/{final}")
        self._take_group(collection, key, entry, staged)
        installed = location.install(staged, f"{root}/{final}")
        return replace(entry, path=installed.removeprefix(f"{root}/"))

    @contextmanager
    def _locked(self, study: Study, collection: Collection) -> Iterator[None]:
        """Hold the lock of a part's collection that has blocks, which are modified in place."""
        if any(map(is_blocks, collection.manifest.entries)):
            with study.lock(collection.name, needed=False):
                yield
        else:
            yield

    @contextmanager
    def _unchanged(self, holding: _Holding) -> Iterator[Manifest]:
        """Yield the manifest that was verified; what fails because another process writes the collection is said to."""
        with self._locked(holding.study, holding.collection):
            _check_unchanged(holding)
            try:
                yield holding.manifest
            except (OSError, ScorecubeError):
                _check_unchanged(holding)
                raise

    def _take_group(self, collection: Collection, key: str, entry: Entry, path: str) -> None:
        """Copy or link the group of an entry to a path of the target."""
        source = f"{collection.group_path}/{entry.path}"
        location = self._out.location
        if not location.take(collection.location, source, path, link=not is_blocks(key)):
            _stream(collection.location, source, location, path)


def _check_unchanged(holding: _Holding) -> None:
    """Refuse a collection whose manifest is no longer the one that was verified (BadStudy)."""
    if holding.collection.manifest != holding.manifest:
        raise _changed(holding.collection)


def _changed(collection: Collection) -> BadStudy:
    return BadStudy(
        f"{collection.study.path}: {collection.name} was changed while it was merged; what was merged so far stays. Wait for its writer "
        "to finish, then run the same command again"
    )


def _stream(source: Location, path: str, target: Location, new: str) -> None:
    """Copy a group between locations of different kinds."""
    held, size = dict[str, bytes](), 0
    for key in source.keys(path):
        content = source.read(f"{path}/{key}")
        if content is None:
            raise BadStudy(f"{source.name}: {path}/{key} was removed while it was merged")
        held[key], size = content, size + len(content)
        if size > COPIED_BYTES:
            target.write_new(new, held)
            held, size = {}, 0
    target.write_new(new, held)


def _n_results(entries: Mapping[str, Entry]) -> int:
    return sum(key.startswith(f"{RESULTS}/") for key in entries)


def _listed(lines: Sequence[str]) -> str:
    rest = len(lines) - MAX_LINES
    more = [f"and {rest:,} more"] if rest > 0 else []
    return "".join(f"\n  {line}" for line in [*lines[:MAX_LINES], *more])
