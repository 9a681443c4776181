"""A study: one zarr store of collections, each with rankings, a cube, recorded blocks and finished results.

    study.zarr/<collection>/rankings                  levels in rank order
                           /cube                      score[metric, gain, run, topic]
                           /blocks/<analysis>/<work>  recorded blocks, see `results.py`
                           /results/<analysis>/<plan> finished results, never changed

It is a directory, or a prefix of an object store (see `places.py`). Every group opens with plain
``xarray.open_datatree(path, engine="zarr", consolidated=False)``. Collections and cubes are put in place when they are whole
(see `putting.py`); groups carry `complete`, written last.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

import xarray as xr
import zarr

from scorecube import names
from scorecube.collection import schema
from scorecube.errors import BadStudy, nearest, option
from scorecube.storage.blocks import BlockStore
from scorecube.storage.datasets import open_dataset, read_dataset, read_or_open, write_dataset
from scorecube.storage.encoding import FORMAT_VERSION, METADATA, ZARR_FORMAT
from scorecube.storage.location import Place, open_place
from scorecube.storage.lock import writing
from scorecube.storage.nodes import child_group, keys
from scorecube.storage.staging import COMPLETE, OLD, STAGING, complete_members, finish, left_over, place_of, put

VERSION = "scorecube_format"
FORBIDDEN = set("/\\\0")


def open_study(path: str | os.PathLike[str], mode: str = "r") -> Study:
    """Open a study.

    Parameters
    ----------
    path
        Directory of the zarr store, or a URL: ``s3://bucket/prefix`` (also ``gs://`` and ``az://``) with the credentials of the
        environment; URLs need the extra ``scorecube[s3]``.
    mode
        ``r`` to read, ``a`` to add to it and create it if need be.

    Returns
    -------
    study
        Its collections by name: ``study["covid"].cube``.

    Raises
    ------
    BadStudy
        No study there, or something that is not one.
    StoreFailed
        An object store that refuses, or cannot be reached.

    Examples
    --------
    >>> import tempfile
    >>> from scorecube.testing import simulate_cube
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     open_study(folder + "/study.zarr", mode="a").add("demo", cube=simulate_cube(n_runs=4))
    ...     list(open_study(folder + "/study.zarr"))
    ['demo']
    """
    if mode not in ("r", "a"):
        raise BadStudy(f"mode {mode!r} is not 'r' or 'a'")
    place = open_place(path)
    location = place.text
    if not place.holds_zarr():
        if mode == "r":
            raise BadStudy(
                f"{location}: no study there; make one with: scorecube evaluate {location} --name NAME --runs ... --qrels ..."
            )
        place.refuse_occupied()
        return Study(place, None, writable=True)
    try:
        root = zarr.open_group(place.store, mode="r" if mode == "r" else "a", zarr_format=ZARR_FORMAT)
    except (ValueError, KeyError, TypeError, OSError, zarr.errors.BaseZarrError) as error:
        raise BadStudy(f"{location}: no study there: {error}") from None
    if root.attrs.get(VERSION) != FORMAT_VERSION:
        found = root.attrs.get(VERSION)
        raise BadStudy(f"{location}: a zarr store, but not a study of format {FORMAT_VERSION} (found {found})")
    study = Study(place, root, writable=mode == "a")
    if mode == "a" and left_over(root):
        with study.writing():
            for name in left_over(root):
                finish(place, root, name)
    return study


def check_collection_name(name: str) -> None:
    """Refuse names that cannot be folders of a store."""
    if _reserved(name):
        raise BadStudy(
            f"{name!r} cannot name a collection: it must not be empty, start with a dot, hold a slash, or end in "
            f"{STAGING}, {OLD} or {METADATA}"
        )


def _reserved(name: str) -> bool:
    return not name or name.startswith(".") or name.endswith((STAGING, OLD, METADATA)) or bool(FORBIDDEN & set(name))


class Study:
    """A store of collections by name; made by `open_study`.

    Examples
    --------
    >>> import tempfile
    >>> from scorecube.testing import simulate_cube
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = open_study(folder + "/study.zarr", mode="a")
    ...     study.add("demo", cube=simulate_cube(n_runs=4))
    ...     list(study), study["demo"].cube.sizes["topic"]
    (['demo'], 50)
    """

    def __init__(self, place: Place, root: zarr.Group | None, *, writable: bool) -> None:
        self.place = place
        self.path = place.text
        self.writable = writable
        self._root = root

    @property
    def root(self) -> zarr.Group:
        """The zarr group; made when something is first written, so that a refused command leaves nothing behind."""
        if self._root is None:
            self._root = zarr.create_group(
                self.place.store, zarr_format=ZARR_FORMAT, attributes={VERSION: FORMAT_VERSION}
            )
        return self._root

    def writing(self, name: str = "") -> AbstractContextManager[None]:
        """Hold the right to write, which one process has at a time; BadStudy if it is another one.

        It is that of adding collections, or of one collection and its results: several processes may work on different ones.
        """
        return writing(self.place.mark(name))

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of complete collections, sorted."""
        return iter(()) if self._root is None else iter(complete_members(self.root))

    def __contains__(self, name: object) -> bool:
        if self._root is None or not isinstance(name, str) or _reserved(name):
            return False
        group = child_group(self.root, place_of(self.root, name))
        return group is not None and bool(group.attrs.get(COMPLETE))

    def __getitem__(self, name: str) -> Collection:
        if name not in self:
            known = list(self)
            raise BadStudy(f"{self.path}: no collection {name!r}; it has: {nearest(name, known) or 'none yet'}")
        return Collection(self, name)

    def add(self, name: str, *, cube: xr.Dataset, rankings: xr.Dataset | None = None, replace: bool = False) -> None:
        """Write a collection, or further metrics and gain settings of one that exists.

        Parameters
        ----------
        name
            Name of the collection: no slashes.
        cube
            Scores; merged with the stored cube if runs and topics are equal.
        rankings
            Levels in rank order, if known.
        replace
            Drop what is stored under the name, results too.

        Raises
        ------
        BadStudy
            The collection exists with other runs, topics or scores.
        """
        schema.check(cube, schema.CUBE, "the cube")
        check_collection_name(name)
        if not self.writable:
            raise BadStudy(f"{self.path} was opened for reading; open it with mode='a' to add to it")
        with self.writing(), self.writing(name):
            if name in self and not replace:
                before = self[name].cube
                merged = merge_cubes(before, cube, f"{self.path}: collection {name!r}")
                if not merged.identical(before):
                    put(self.place, self[name].place, "cube", lambda path: write_dataset(merged, self.place, path))
            else:
                parts = {"cube": cube} | ({} if rankings is None else {"rankings": rankings})
                self._put(name, parts)

    def _put(self, name: str, parts: Mapping[str, xr.Dataset]) -> None:
        """Write a collection: old or new, never half."""

        def write(path: str) -> None:
            for key, dataset in parts.items():
                write_dataset(dataset, self.place, f"{path}/{key}")
            self.root.require_group(path).attrs[COMPLETE] = True

        _ = self.root  # made, if this is the first
        put(self.place, "", name, write)
        self._root = zarr.open_group(self.place.store, mode="a", zarr_format=ZARR_FORMAT)


class Collection:
    """One collection of a study: `cube`, `rankings` and results, read when asked for."""

    def __init__(self, study: Study, name: str) -> None:
        self.study = study
        self.name = name

    @property
    def place(self) -> str:
        """Where its group is in the store."""
        return place_of(self.study.root, self.name)

    @property
    def group(self) -> zarr.Group:
        """Its group, as it is now."""
        return self.study.root.require_group(self.place)

    @property
    def cube_place(self) -> str:
        """Where the cube is in the group."""
        group = self.group
        place = place_of(group, "cube")
        # Between two renames a killed process leaves the new cube under its staging name.
        return place if place in group else "cube" + STAGING

    @property
    def cube(self) -> xr.Dataset:
        """The score cube, in memory."""
        return read_dataset(self.study.place, f"{self.place}/{self.cube_place}")

    @property
    def rankings(self) -> xr.Dataset:
        """Levels in rank order, in memory; BadStudy for a collection of imported scores."""
        if "rankings" not in self.group:
            raise BadStudy(f"{self.study.path}: collection {self.name!r} was imported as scores and has no rankings")
        return read_dataset(self.study.place, f"{self.place}/rankings")

    def result_facts(self, analysis: str) -> list[dict[str, Any]]:
        """Return the attributes of the finished results of an analysis, latest last; no array is read."""
        group = child_group(self.group, f"results/{analysis}")
        found = [dict(group[key].attrs) for key in keys(group)] if group is not None else []
        return sorted(
            (facts for facts in found if facts.get(COMPLETE)),
            key=lambda facts: (str(facts.get("finished", "")), str(facts.get("digest", ""))),
        )

    def results(self, analysis: str) -> list[xr.Dataset]:
        """Return the finished results of an analysis, latest last; see `result`."""
        place = f"{self.place}/results/{analysis}"
        return [read_or_open(self.study.place, f"{place}/{facts['digest']}") for facts in self.result_facts(analysis)]

    def result(self, analysis: str) -> xr.Dataset:
        """Return the latest result of an analysis; in memory, but values of one of more than 256 MiB are read when they are used."""
        facts = self.result_facts(analysis)
        if not facts:
            raise BadStudy(
                f"{self.study.path}: no result of {analysis} for collection {self.name!r}; run: scorecube {analysis} {self.study.path}"
            )
        return read_or_open(self.study.place, f"{self.place}/results/{analysis}/{facts[-1]['digest']}")

    def has_result(self, analysis: str, digest: str) -> bool:
        """Whether the result of a plan is there."""
        return any(facts["digest"] == digest for facts in self.result_facts(analysis))

    def find_result(self, analysis: str, digest: str) -> xr.Dataset | None:
        """Return the result of a plan, or None; see `result`."""
        place = f"results/{analysis}/{digest}"
        if place not in self.group:
            return None
        found = read_or_open(self.study.place, f"{self.place}/{place}")
        return found if found.attrs.get(COMPLETE) else None

    def open_result(self, analysis: str, digest: str) -> xr.Dataset:
        """Return the result of a plan without reading its values: they are read when they are used."""
        place = f"{self.place}/results/{analysis}/{digest}"
        return open_dataset(self.study.place, place)

    def write_result(self, analysis: str, digest: str, result: xr.Dataset) -> None:
        """Write a finished result; `complete` is set last."""
        place = f"results/{analysis}/{digest}"
        write_dataset(result, self.study.place, f"{self.place}/{place}", last={COMPLETE: True})

    def blocks(self, analysis: str, work_digest: str) -> BlockStore:
        """Return the recorded blocks of all plans that share them."""
        return BlockStore(self.study.place, self.group, f"blocks/{analysis}/{work_digest}")

    def kept(self) -> dict[str, Any]:
        """Return what the collection holds, for `info`."""
        analyses = keys(child_group(self.group, "results"))
        return {
            "rankings": "rankings" in self.group,
            "results": {name: len(self.result_facts(name)) for name in analyses},
        }


def merge_cubes(old: xr.Dataset, new: xr.Dataset, what: str) -> xr.Dataset:
    """Add the metrics and gain settings of a new cube to an old one with the same runs and topics."""
    for dim in (names.RUN, names.TOPIC):
        if schema.labels_of(old, dim) != schema.labels_of(new, dim):
            raise BadStudy(
                f"{what} exists with {old.sizes[dim]} {dim}s, and the new scores have {new.sizes[dim]} or other ones; "
                f"use {option('replace', True)} to start over, or another {option('name')}"
            )
    try:
        merged = xr.merge([old, new], join="outer", compat="no_conflicts", combine_attrs="override")
    except (xr.MergeError, ValueError):
        raise BadStudy(
            f"{what} holds other scores or teams for the same runs and topics; use {option('replace', True)} to start over"
        ) from None
    if merged[names.SCORE].isnull().sum() > old[names.SCORE].isnull().sum() + new[names.SCORE].isnull().sum():
        raise BadStudy(
            f"{what} has gain settings {', '.join(schema.labels_of(old, names.GAIN))} for its metrics; "
            f"give new metrics the same gain settings, or new gain settings all its metrics, or use {option('replace', True)}"
        )
    for dim in (names.METRIC, names.GAIN):
        before = schema.labels_of(old, dim)
        merged = merged.sel({dim: before + [label for label in schema.labels_of(new, dim) if label not in before]})
    return schema.annotate(merged.transpose(*schema.CUBE[0].dims, ...), schema.CUBE)
