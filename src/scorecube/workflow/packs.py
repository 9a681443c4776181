"""Results of many collections as one dataset: in memory, or in a pack of a study."""

from __future__ import annotations

import logging
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import xarray as xr

from scorecube.analyses.joined import BY_COLLECTION, Template, join
from scorecube.collection.schema import MAX_LOADED_BYTES
from scorecube.errors import BadStudy, StoreFailed, counted
from scorecube.execute.executor import CALLING_THREAD, Executor, Progress, executor_for, run_items
from scorecube.storage import Study, open_study
from scorecube.storage.pack import SCORES, Source, Wanted, find, open_group, wanted_of
from scorecube.storage.pack_files import Each, write_pack
from scorecube.storage.place import Place

if TYPE_CHECKING:
    from distributed import Client

LOGGER = logging.getLogger("scorecube")


class Folder:
    """A temporary folder, deleted with the last object that refers to it."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="scorecube-")
        self.close = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def __reduce__(self) -> tuple[Callable[[str], str], tuple[str]]:
        """Return what another process has of it: its path alone."""
        return str, (self.path,)


def on_executor(executor: Executor, progress: Progress | None = None) -> Each:
    """Return what calls a function with many items on threads or workers."""

    def each(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        found: list[Any] = [None] * len(items)
        done = count(1)

        def take(position: int, value: object) -> None:
            found[position] = value
            if progress is not None:
                progress(next(done), len(items))

        many = executor.workers
        run_items(executor.client, function, items, take, workers=many, name="pack")
        return found

    return each


class Asked(NamedTuple):
    """A result that a sweep has: its collection, and the digest of its plan."""

    collection: str
    digest: str


def results(
    study: Study | str | os.PathLike[str],
    analysis: str,
    *,
    client: Client | Literal[False] | None = None,
    workers: int | None = None,
) -> xr.Dataset:
    """Return the current results of an analysis of a study along ``collection``.

    They are read from a pack, a file of the study that others open by xarray alone; where there is
    none of them, it is made, in a temporary folder if the study cannot be written.

    Parameters
    ----------
    study
        Study, or its path.
    analysis
        Its name, e.g. ``swap``; of results with other options ``swap-2``.
    client, workers
        As of `analyse`, for the making.

    Returns
    -------
    results
        As of `analyse` of several cubes; above 256 MiB values are read on use.

    Raises
    ------
    BadStudy
        No study there, or no result.

    Examples
    --------
    >>> import tempfile
    >>> import scorecube as sc
    >>> from scorecube.testing import simulate_cube
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = sc.open_study(folder + "/study", mode="a")
    ...     for k in range(3):
    ...         study.add(f"week{k}", cube=simulate_cube(n_runs=4, seed=k))
    ...     swept = sc.sweep([sc.Reliability()], study)
    ...     results(study, "reliability").equals(swept)
    True
    """
    is_opened = isinstance(study, Study)
    opened = study if isinstance(study, Study) else open_study(study)
    for name in (analysis, re.sub(r"-\d+$", "", analysis)):
        if wanted := wanted_of(opened, [name]):
            break
    else:
        raise BadStudy(f"{opened.path}: no result of {analysis}; run: scorecube {analysis}")
    (one,) = wanted
    place = opened.place
    folder = None
    if (path := find(place, analysis, one.digest)) is None:
        each = on_executor(executor_for(client, workers))
        what = f"{opened.path}: {counted(len(one.sources), 'result')} of {one.label} packed"
        pack = None
        if opened.writable or not is_opened:
            with suppress(StoreFailed):
                pack = write_pack(opened, place, wanted, each)
        if pack is None:
            folder = Folder()
            place = Place(folder.path)
            pack = write_pack(opened, place, wanted, on_executor(CALLING_THREAD))
            what += " in a temporary folder, as the study cannot be written"
        LOGGER.warning("%s: %s", what, pack)
        if (path := find(place, analysis, one.digest)) is None:
            raise BadStudy(f"{opened.path}: all results of {one.label} have the same options")
    _tell_others(place, path, one.label)
    return open_group(place, path, folder)


def _tell_others(place: Place, path: str, analysis: str) -> None:
    """Say which other groups have results of an analysis, with other options."""
    pack, _, label = path.rpartition("/")
    groups = [k for k in place.children(pack) if re.fullmatch(rf"{re.escape(analysis)}(-\d+)?", k)]
    if others := [name for name in groups if name != label]:
        LOGGER.warning("results of %s with other options: %s", analysis, ", ".join(others))


def pack_study(
    study: Study,
    analyses: Sequence[str] | None,
    executor: Executor,
    progress: Progress | None = None,
) -> str:
    """Pack current results, and cubes, of a study; return the path of the pack.

    analyses: Names, ``scores`` for the cubes; None for all.
    """
    names = None if analyses is None else [name for name in analyses if name != SCORES]
    wanted = wanted_of(study, names) if names or names is None else []
    if absent := {*(names or ())} - {one.label for one in wanted}:
        raise BadStudy(f"{study.path}: no current result of {', '.join(sorted(absent))}")
    each = on_executor(executor, progress)
    scores = names is None or len(names) < len(analyses or ())
    return write_pack(study, study.place, wanted, each, scores=scores)


def gathered(
    study: Study,
    asked: Mapping[str, Sequence[Asked]],
    kinds: Mapping[str, str],
    executor: Executor,
    folder: Folder | None = None,
) -> dict[str, xr.Dataset]:
    """Return results along ``collection`` by label: large ones from a pack, read on use.

    asked: Results of each label.
    kinds: Analysis of each label.
    folder: Where the study is, if it is a temporary one, which the datasets keep.
    """
    found = dict[str, xr.Dataset]()
    for label, of in asked.items():
        joined = _in_memory(study, kinds[label], of)
        if joined is None:
            joined = _packed(study, label, kinds[label], of, executor, folder)
        if left_out := joined.attrs.get(BY_COLLECTION):
            joined = joined.assign_attrs(study=study.path)
            LOGGER.warning(
                "%s: labels of %s are too many to be joined: open_study(%r)[name].result(%r)",
                label,
                ", ".join(left_out),
                study.path,
                kinds[label],
            )
        if folder is not None and (left_out or joined.chunks):
            joined.set_close(folder.close)
        found[label] = joined
    return found


def _in_memory(study: Study, analysis: str, of: Sequence[Asked]) -> xr.Dataset | None:
    """Return joined results, or the one that is about several collections; None of large ones."""
    parts = dict[str, xr.Dataset]()
    n_bytes = 0
    for one in of:
        part = study[one.collection].result(analysis, one.digest)
        if "collection" in part.variables or "collection" in part.dims:
            return part
        parts[one.collection] = part
        n_bytes += part.nbytes
        if n_bytes > MAX_LOADED_BYTES:
            return None
    template = reduce(Template.joined, map(Template.of, parts.values()))
    return join(parts) if template.n_parts * template.n_bytes() <= MAX_LOADED_BYTES else None


def _packed(
    study: Study,
    label: str,
    analysis: str,
    of: Sequence[Asked],
    executor: Executor,
    folder: Folder | None,
) -> xr.Dataset:
    """Return results in a pack of their own."""
    sources = tuple(_sources(study, analysis, of))
    wanted = Wanted(label, sources, as_one=True)
    each = on_executor(CALLING_THREAD if folder is not None else executor)
    pack = write_pack(study, study.place, [wanted], each)
    return open_group(study.place, f"{pack}/{label}", folder)


def _sources(study: Study, analysis: str, of: Sequence[Asked]) -> Iterator[Source]:
    for one in of:
        for stored in study[one.collection].stored(analysis)[0]:
            if stored.digest == one.digest:
                yield Source(one.collection, stored)
