"""One collection of a study: its cube, rankings, results and recorded blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

from scorecube import names
from scorecube.errors import BadStudy, CorruptStudy, option, visible
from scorecube.storage.blocks import BlockStore
from scorecube.storage.facts import (
    ATTRIBUTES,
    COMMIT,
    Row,
    facts_of_cube,
    in_order,
    is_current,
    plan_options,
    row_of,
)
from scorecube.storage.groups import (
    ARCHIVE,
    FACTS,
    corrupt,
    read_group,
    read_result,
    result_path,
    results_of,
    write_group,
    write_result,
)
from scorecube.storage.heads import (
    BLOCKS,
    CUBE,
    RANKINGS,
    RESULTS,
    Head,
    commit,
    folder_of,
    latest_head,
)
from scorecube.storage.place import Place, moved

if TYPE_CHECKING:
    import xarray as xr

Value = TypeVar("Value")


@dataclass(frozen=True)
class NewResult:
    """A finished result that is to be stored.

    Parameters
    ----------
    analysis, digest
        Name of the analysis and digest of the plan.
    values
        Values, with the provenance as attributes.
    version
        Version of the scores that it is of, see `Collection.cube_version`; by default that of
        those stored now.
    """

    analysis: str
    digest: str
    values: xr.Dataset
    version: str = ""


class Collection:
    """One collection of a study: `cube`, `rankings` and results, read on access."""

    def __init__(self, study: Any, name: str) -> None:
        self.study, self.name = study, name
        self.place: Place = study.place
        self.folder = folder_of(name)

    def __repr__(self) -> str:
        """Return its study, sizes, metrics and results."""
        return visible(f"{self.study.path}: {row_text(self.row())}")

    def _repr_html_(self) -> str:
        """Return the same for notebooks."""
        return f"<pre>{escape(repr(self))}</pre>"

    @property
    def head(self) -> Head:
        """What it is now."""
        head = latest_head(self.place, self.folder)
        if head is not None and head.name == self.name:
            return head
        if not self.place.exists():
            raise BadStudy(moved(self.place.name))
        raise BadStudy(f"{self.place.name}: no collection {self.name!r} any more")

    def _read(self, read: Callable[[Head], Value]) -> Value:
        """Read what a head names; again if another process has replaced it meanwhile."""
        head = self.head
        while True:
            try:
                return read(head)
            except (CorruptStudy, FileNotFoundError):
                now = self.head
                if now.number == head.number:
                    raise
                head = now

    @property
    def cube(self) -> xr.Dataset:
        """The score cube; the scores of one above 256 MiB are read on use."""
        return self.cube_among(1)

    def cube_among(self, n_cubes: int) -> xr.Dataset:
        """Return the cube as one of `n_cubes` that share 256 MiB; a larger one is read on use."""
        return self._read(lambda head: read_group(self.place, head, CUBE, n_cubes))

    @property
    def cube_version(self) -> str:
        """Digest of the cube."""
        return self.head.cube

    @property
    def rankings(self) -> xr.Dataset:
        """Levels in rank order, in memory; BadStudy for imported scores."""

        def read(head: Head) -> xr.Dataset:
            if not head.rankings:
                raise BadStudy(
                    f"{self.study.path}: collection {self.name!r} was imported as scores and has "
                    "no rankings"
                )
            return read_group(self.place, head, RANKINGS)

        return self._read(read)

    @property
    def facts(self) -> Mapping[str, Any]:
        """Facts that were noted."""
        return dict(self.head.facts.get("facts", {}))

    def row(self) -> Row:
        """Return what a listing says of it."""
        return self.row_at(self.head)

    def row_at(self, head: Head) -> Row:
        """Return what a listing says of it at its newest head."""
        analyses = self.place.children(f"{self.folder}/{RESULTS}")
        results = {name: results_of(self.place, self.folder, name, head) for name in analyses}
        return row_of(head, {name: found for name, found in results.items() if found})

    def contents(self) -> dict[str, Any]:
        """Return what the collection holds, for `info`."""
        return self.row().contents()

    def result_facts(self, analysis: str, *, outdated: bool = False) -> list[dict[str, Any]]:
        """Return the facts of results, latest last: of the scores stored now, or outdated ones."""
        head = self.head
        found = results_of(self.place, self.folder, analysis, head)
        return in_order(
            {
                digest: facts
                for digest, facts in found.items()
                if is_current(facts, head) is not outdated
            }
        )

    def result_attributes(self, analysis: str, *, outdated: bool = False) -> list[dict[str, Any]]:
        """Return the attributes of results, latest last; arguments as of `result_facts`."""
        return [facts[ATTRIBUTES] for facts in self.result_facts(analysis, outdated=outdated)]

    def results(self, analysis: str) -> list[xr.Dataset]:
        """Return the finished results of an analysis, latest last; see `result`."""
        return [
            self.open_result(analysis, facts["digest"]) for facts in self.result_facts(analysis)
        ]

    def result(self, analysis: str) -> xr.Dataset:
        """Return the latest result of an analysis; one above 256 MiB is read on use."""
        facts = self.result_facts(analysis)
        if not facts:
            outdated = self.result_facts(analysis, outdated=True)
            why = " of the scores that are there now" if outdated else ""
            raise BadStudy(
                f"{self.study.path}: no result of {analysis} for collection {self.name!r}{why}; "
                f"run: scorecube {analysis} {self.study.path}"
            )
        return self.open_result(analysis, facts[-1]["digest"])

    def has_result(self, analysis: str, digest: str) -> bool:
        """Whether the result of a plan is stored, of the scores that are stored now."""
        return any(facts["digest"] == digest for facts in self.result_facts(analysis))

    def find_result(self, analysis: str, digest: str) -> xr.Dataset | None:
        """Return the result of a plan, or None; see `result`."""
        return self.open_result(analysis, digest) if self.has_result(analysis, digest) else None

    def open_result(self, analysis: str, digest: str) -> xr.Dataset:
        """Return the result of a plan, which is stored."""
        path = result_path(self.name, analysis, digest)
        result = read_result(self.place, path)
        if result is None:
            raise corrupt(self.place, path + ARCHIVE, ValueError("is missing"))
        return result

    def blocks(self, analysis: str, work: str) -> BlockStore:
        """Return the recorded blocks of all plans that share them."""
        return BlockStore(self.place, f"{self.folder}/{BLOCKS}/{analysis}/{work}", work)

    def note(self, facts: Mapping[str, Any]) -> None:
        """Note facts, JSON values."""
        commit(self.place, self.name, lambda head: with_notes(head, facts))

    def add(
        self,
        cube: xr.Dataset,
        rankings: xr.Dataset | None = None,
        *,
        replace: bool = False,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Write scores, or further metrics and gain settings; see `Study.add`."""
        from scorecube.storage.merge_cubes import merge_cubes

        where = f"{self.study.path}: collection {self.name!r}"
        made_on_use = not cube[names.SCORE].variable._in_memory
        written: dict[str, xr.Dataset] = {}

        def change(head: Head) -> Head:
            written.clear()
            if head.number and not replace:
                if made_on_use:
                    raise BadStudy(
                        f"{where} exists, and scores that are written part by part cannot be "
                        f"merged; use {option('replace', True)} to start over, or another "
                        f"{option('name')}"
                    )
                before = read_group(self.place, head, CUBE)
                written[CUBE] = merge_cubes(before, cube, where)
                if written[CUBE].identical(before):
                    written.clear()
                contains = head.contains
            else:
                written[CUBE] = cube
                contains = head.contains if self._holds(head, cube, made_on_use) else ()
                head = Head(head.name, head.number, contains=contains, id=head.id)
            if rankings is not None and not head.rankings:
                written[RANKINGS] = rankings
            return with_notes(self._with_groups(head, written, made_on_use), facts or {})

        before = latest_head(self.place, self.folder)
        head = commit(self.place, self.name, change)
        for kind, dataset in written.items():
            if set(head.files[kind]) - set(self.place.keys(head.group(kind))):
                write_group(self.place, self.name, kind, dataset)  # another process cleaned up
        if before is not None and before.cube not in head.contains:
            self.place.delete(f"{self.folder}/{BLOCKS}")  # of other scores

    def _holds(self, head: Head, cube: xr.Dataset, made_on_use: bool) -> bool:
        """Whether the scores of a head are those of a cube."""
        try:
            return (
                not made_on_use
                and head.number > 0
                and bool(read_group(self.place, head, CUBE).equals(cube))
            )
        except CorruptStudy:
            return False

    def _with_groups(self, head: Head, groups: Mapping[str, xr.Dataset], made_on_use: bool) -> Head:
        """Write a cube, and rankings, and return a head that names them."""
        for kind, dataset in groups.items():
            version, files = write_group(self.place, self.name, kind, dataset)
            if kind == CUBE:
                facts = facts_of_cube(dataset, made_on_use=made_on_use)
                others = (known for known in head.contains if known != version)
                head = replace(head, cube=version, contains=(version, *others))
            else:
                facts = {"levels": [int(level) for level in dataset[names.LEVEL].values]}
                head = replace(head, rankings=version)
            head = replace(
                head, files={**head.files, kind: files}, facts={**head.facts, kind: facts}
            )
        return head

    def write_results(self, results: Sequence[NewResult]) -> None:
        """Store finished results; outdated results of the same options are removed.

        Raises BadStudy: The scores were replaced while a result was computed; it is kept, and not
            current.
        """
        head, versions = self.head, set[str]()
        for result in results:
            stored = results_of(self.place, self.folder, result.analysis, head)
            number = 1 + max((int(facts.get(COMMIT, 0)) for facts in stored.values()), default=0)
            noted = {COMMIT: number, "head": head.number}
            path = result_path(self.name, result.analysis, result.digest)
            versions.add(result.version or head.cube)
            write_result(self.place, path, result.values, result.version or head.cube, noted)
            outdated = {
                digest: facts for digest, facts in stored.items() if not is_current(facts, head)
            }
            options = plan_options(result.values.attrs) if outdated else {}
            for digest, facts in outdated.items():
                if digest != result.digest and plan_options(facts[ATTRIBUTES]) == options:
                    self._delete_result(result.analysis, digest)
        if not versions <= set(self.head.contains):  # the study may have been moved, too
            raise BadStudy(
                f"{self.study.path}: {self.name}: its scores were replaced while this command ran, "
                "so its result is not current; run the same command again"
            )

    def _delete_result(self, analysis: str, digest: str) -> None:
        path = result_path(self.name, analysis, digest)
        self.place.delete(path + FACTS)
        self.place.delete(path + ARCHIVE)

    def forget(self, analysis: str) -> int:
        """Delete the results and recorded blocks of an analysis; return the number of results."""
        found = results_of(self.place, self.folder, analysis, self.head)
        for digest in found:
            self._delete_result(analysis, digest)
        self.place.delete(f"{self.folder}/{BLOCKS}/{analysis}")
        return len(found)


def with_notes(head: Head, facts: Mapping[str, Any]) -> Head:
    """Return a head with further facts."""
    noted = {**head.facts.get("facts", {}), **facts}
    return replace(head, facts={**head.facts, "facts": noted}) if noted else head


def row_text(row: Row) -> str:
    """Return a line on a collection."""
    cube, results = row.facts[CUBE], ", ".join(row.facts["results"]) or "none yet"
    return (
        f"{row.collection}: {cube['runs']} runs of {cube['teams']} teams, {cube['topics']} topics; "
        f"metrics {', '.join(cube['metrics'])}; gain settings {', '.join(cube['gains'])}; "
        f"results: {results}"
    )
