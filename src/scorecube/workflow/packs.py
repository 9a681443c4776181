"""Results of many collections as one dataset: in memory, or in a pack of a study."""

from __future__ import annotations

import logging
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Literal

import xarray as xr

from scorecube.analyses.joined import BY_COLLECTION, is_of_several, join, template_of
from scorecube.collection.schema import MAX_LOADED_BYTES
from scorecube.errors import BadStudy, StoreFailed, counted
from scorecube.execute.executor import CALLING_THREAD, Executor, Progress, executor_for, map_items
from scorecube.storage import Study, open_study
from scorecube.storage.pack import SCORES, Wanted, find, open_group, wanted_of
from scorecube.storage.pack_writer import Each, write_pack
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
    return partial(map_items, executor, progress=progress, name="pack")


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
    opened = study if isinstance(study, Study) else open_study(study)
    wanted = _wanted(opened, analysis)
    place = opened.place
    folder = None
    path = find(place, analysis, wanted.digest)
    if path is None:
        is_written = opened.writable or not isinstance(study, Study)
        folder = _write(opened, wanted, executor_for(client, workers), is_written=is_written)
        place = place if folder is None else Place(folder.path)
        path = find(place, analysis, wanted.digest)
    if path is None:
        raise BadStudy(f"{opened.path}: all results of {wanted.label} have the same options")
    _tell_others(place, path, wanted.label)
    return open_group(place, path, folder)


def _wanted(study: Study, analysis: str) -> Wanted:
    """Return the results of an analysis, or of that of a label such as ``swap-2``."""
    for name in (analysis, re.sub(r"-\d+$", "", analysis)):
        if wanted := wanted_of(study, [name]):
            return wanted[0]
    raise BadStudy(f"{study.path}: no result of {analysis}; run: scorecube {analysis}")


def _write(study: Study, wanted: Wanted, executor: Executor, *, is_written: bool) -> Folder | None:
    """Pack results in the study, or else in a temporary folder, which is returned; say so.

    is_written: Whether the study may be written.
    """
    what = f"{study.path}: {counted(len(wanted.results), 'result')} of {wanted.label} packed"
    if is_written:
        with suppress(StoreFailed):
            pack = write_pack(study, study.place, [wanted], on_executor(executor))
            LOGGER.warning("%s: %s", what, pack)
            return None
    folder = Folder()
    pack = write_pack(study, Place(folder.path), [wanted], on_executor(CALLING_THREAD))
    why = "in a temporary folder, as the study cannot be written"
    LOGGER.warning("%s %s: %s", what, why, pack)
    return folder


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
    study: Study, wanted: Iterable[Wanted], executor: Executor, folder: Folder | None = None
) -> dict[str, xr.Dataset]:
    """Return results along ``collection`` by label: large ones from a pack, read on use.

    folder: Where the study is, if it is a temporary one, which the datasets keep.
    """
    found = dict[str, xr.Dataset]()
    for one in wanted:
        joined = _in_memory(study, one)
        if joined is None:
            each = on_executor(CALLING_THREAD if folder is not None else executor)
            pack = write_pack(study, study.place, [one], each)
            joined = open_group(study.place, f"{pack}/{one.label}", folder)
        left_out = joined.attrs.get(BY_COLLECTION)
        if left_out:
            joined = joined.assign_attrs(study=study.path)
            LOGGER.warning(
                "%s: labels of %s are too many to be joined: open_study(%r)[name].result(%r)",
                one.label,
                ", ".join(left_out),
                study.path,
                one.analysis,
            )
        if folder is not None and (left_out or joined.chunks):
            joined.set_close(folder.close)
        found[one.label] = joined
    return found


def _in_memory(study: Study, wanted: Wanted) -> xr.Dataset | None:
    """Return joined results, or the one that is about several collections; None of large ones."""
    parts = dict[str, xr.Dataset]()
    n_bytes = 0
    for collection, stored in wanted.results:
        part = study[collection].result(wanted.analysis, stored.digest)
        if is_of_several(part):
            return part
        parts[collection] = part
        n_bytes += part.nbytes
        if n_bytes > MAX_LOADED_BYTES:
            return None
    template = template_of(parts.values())
    return join(parts) if template.n_parts * template.n_bytes() <= MAX_LOADED_BYTES else None
