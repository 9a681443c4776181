"""A study: a zarr store of collections with their cubes, blocks and results.

    study.zarr/<collection>/rankings                  levels in rank order
                           /cube                      score[metric, gain, run, topic]
                           /blocks/<analysis>/<work>  recorded blocks, see `blocks.py`
                           /results/<analysis>/<plan> finished results, never changed

The store is a directory or a prefix of an object store (see `location.py`). Every group can be read with
``xarray.open_datatree(path, engine="zarr", consolidated=False)``. Collections and cubes are written to a staging group and replaced as a
whole (see `staging.py`); the attribute `complete` is written last.
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
from scorecube.storage.location import Location, open_location
from scorecube.storage.lock import hold_lock
from scorecube.storage.nodes import child_group, member_names
from scorecube.storage.staging import (
    COMPLETE,
    OLD,
    STAGING,
    complete_members,
    current_name,
    finish_replacement,
    replace_group,
    unfinished_replacements,
)

VERSION = "scorecube_format"
FORBIDDEN_CHARACTERS = set("/\\\0")


def open_study(path: str | os.PathLike[str], mode: str = "r") -> Study:
    """Open a study.

    Parameters
    ----------
    path
        Directory of the zarr store, or a URL: ``s3://bucket/prefix`` (also ``gs://`` and ``az://``) with credentials from the
        environment; URLs need the extra ``scorecube[s3]``.
    mode
        ``r`` to read; ``a`` to add to it, and to create it if it does not exist.

    Returns
    -------
    study
        Its collections by name: ``study["covid"].cube``.

    Raises
    ------
    BadStudy
        No study there, or other content.
    StoreFailed
        An object store that refuses the request or cannot be reached.

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
    target = open_location(path)
    location = target.name
    if not target.holds_zarr():
        if mode == "r":
            raise BadStudy(
                f"{location}: no study there; make one with: scorecube evaluate {location} --name NAME --runs ... --qrels ..."
            )
        target.refuse_occupied()
        return Study(target, None, writable=True)
    try:
        root = zarr.open_group(
            target.store, mode="r" if mode == "r" else "a", zarr_format=ZARR_FORMAT
        )
    except (ValueError, KeyError, TypeError, OSError, zarr.errors.BaseZarrError) as error:
        raise BadStudy(f"{location}: no study there: {error}") from None
    if root.attrs.get(VERSION) != FORMAT_VERSION:
        found = root.attrs.get(VERSION)
        raise BadStudy(
            f"{location}: a zarr store, but not a study of format {FORMAT_VERSION} (found {found})"
        )
    study = Study(target, root, writable=mode == "a")
    if mode == "a" and unfinished_replacements(root):
        with study.lock():
            for collection in unfinished_replacements(root):
                finish_replacement(target, root, collection)
    return study


def check_collection_name(name: str) -> None:
    """Refuse names that cannot be groups of a store."""
    if _reserved(name):
        raise BadStudy(
            f"{name!r} cannot name a collection: it must not be empty, start with a dot, contain a slash, or end in "
            f"{STAGING}, {OLD} or {METADATA}"
        )


def _reserved(name: str) -> bool:
    return (
        not name
        or name.startswith(".")
        or name.endswith((STAGING, OLD, METADATA))
        or bool(FORBIDDEN_CHARACTERS & set(name))
    )


class Study:
    """Collections by name, in one store; see `open_study`.

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

    def __init__(self, location: Location, root: zarr.Group | None, *, writable: bool) -> None:
        self.location = location
        self.path = location.name
        self.writable = writable
        self._root = root

    @property
    def root(self) -> zarr.Group:
        """The zarr group, created by the first write."""
        if self._root is None:
            self._root = zarr.create_group(
                self.location.store, zarr_format=ZARR_FORMAT, attributes={VERSION: FORMAT_VERSION}
            )
        return self._root

    def lock(self, collection: str = "") -> AbstractContextManager[None]:
        """Hold the lock of one collection, or of adding collections without a name.

        Several processes may write different collections. BadStudy if another process holds the lock.
        """
        return hold_lock(self.location.lock_file(collection))

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of complete collections, sorted."""
        return iter(()) if self._root is None else iter(complete_members(self.root))

    def __contains__(self, name: object) -> bool:
        if self._root is None or not isinstance(name, str) or _reserved(name):
            return False
        group = child_group(self.root, current_name(self.root, name))
        return group is not None and bool(group.attrs.get(COMPLETE))

    def __getitem__(self, name: str) -> Collection:
        if name not in self:
            known = list(self)
            raise BadStudy(
                f"{self.path}: no collection {name!r}; it has: {nearest(name, known) or 'none yet'}"
            )
        return Collection(self, name)

    def add(
        self,
        name: str,
        *,
        cube: xr.Dataset,
        rankings: xr.Dataset | None = None,
        replace: bool = False,
    ) -> None:
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
            Delete what is stored under the name, including results.

        Raises
        ------
        BadStudy
            The collection exists with other runs, topics or scores.
        """
        schema.check(cube, schema.CUBE, "the cube")
        check_collection_name(name)
        if not self.writable:
            raise BadStudy(
                f"{self.path} was opened for reading; open it with mode='a' to add to it"
            )
        with self.lock(), self.lock(name):
            if name in self and not replace:
                before = self[name].cube
                merged = merge_cubes(before, cube, f"{self.path}: collection {name!r}")
                if not merged.identical(before):
                    replace_group(
                        self.location,
                        self[name].group_path,
                        "cube",
                        lambda path: write_dataset(merged, self.location, path),
                    )
            else:
                parts = {"cube": cube} | ({} if rankings is None else {"rankings": rankings})
                self._write(name, parts)

    def _write(self, name: str, parts: Mapping[str, xr.Dataset]) -> None:
        """Write a collection, replacing the old one as a whole."""

        def write(path: str) -> None:
            for key, dataset in parts.items():
                write_dataset(dataset, self.location, f"{path}/{key}")
            self.root.require_group(path).attrs[COMPLETE] = True

        _ = self.root  # created, if this is the first collection
        replace_group(self.location, "", name, write)
        self._root = zarr.open_group(self.location.store, mode="a", zarr_format=ZARR_FORMAT)


class Collection:
    """One collection of a study: `cube`, `rankings` and results, read on access."""

    def __init__(self, study: Study, name: str) -> None:
        self.study = study
        self.name = name

    @property
    def group_path(self) -> str:
        """Path of its group in the store."""
        return current_name(self.study.root, self.name)

    @property
    def group(self) -> zarr.Group:
        """Its group, in its current state."""
        return self.study.root.require_group(self.group_path)

    @property
    def cube_name(self) -> str:
        """Name of the cube in the group."""
        group = self.group
        name = current_name(group, "cube")
        # A process that is killed between two renames leaves the new cube under its staging name.
        return name if name in group else "cube" + STAGING

    @property
    def cube(self) -> xr.Dataset:
        """The score cube, in memory."""
        return read_dataset(self.study.location, f"{self.group_path}/{self.cube_name}")

    @property
    def rankings(self) -> xr.Dataset:
        """Levels in rank order, in memory; BadStudy for imported scores."""
        if "rankings" not in self.group:
            raise BadStudy(
                f"{self.study.path}: collection {self.name!r} was imported as scores and has no rankings"
            )
        return read_dataset(self.study.location, f"{self.group_path}/rankings")

    def result_attributes(self, analysis: str) -> list[dict[str, Any]]:
        """Return the attributes of an analysis' finished results, latest last."""
        group = child_group(self.group, f"results/{analysis}")
        found = (
            [dict(group[name].attrs) for name in member_names(group)] if group is not None else []
        )
        return sorted(
            (attributes for attributes in found if attributes.get(COMPLETE)),
            key=lambda attributes: (
                str(attributes.get("finished", "")),
                str(attributes.get("digest", "")),
            ),
        )

    def _read_result(self, analysis: str, digest: str) -> xr.Dataset:
        return read_or_open(self.study.location, f"{self.group_path}/results/{analysis}/{digest}")

    def results(self, analysis: str) -> list[xr.Dataset]:
        """Return the finished results of an analysis, latest last; see `result`."""
        return [
            self._read_result(analysis, each["digest"]) for each in self.result_attributes(analysis)
        ]

    def result(self, analysis: str) -> xr.Dataset:
        """Return the latest result of an analysis; one above 256 MiB is read on use."""
        attributes = self.result_attributes(analysis)
        if not attributes:
            raise BadStudy(
                f"{self.study.path}: no result of {analysis} for collection {self.name!r}; run: scorecube {analysis} {self.study.path}"
            )
        return self._read_result(analysis, attributes[-1]["digest"])

    def has_result(self, analysis: str, digest: str) -> bool:
        """Whether the result of a plan is stored."""
        return any(each["digest"] == digest for each in self.result_attributes(analysis))

    def find_result(self, analysis: str, digest: str) -> xr.Dataset | None:
        """Return the result of a plan, or None; see `result`."""
        if f"results/{analysis}/{digest}" not in self.group:
            return None
        found = self._read_result(analysis, digest)
        return found if found.attrs.get(COMPLETE) else None

    def open_result(self, analysis: str, digest: str) -> xr.Dataset:
        """Return the result of a plan; its values are read on use."""
        return open_dataset(self.study.location, f"{self.group_path}/results/{analysis}/{digest}")

    def write_result(self, analysis: str, digest: str, result: xr.Dataset) -> None:
        """Write a finished result; the attribute `complete` is set last."""
        path = f"{self.group_path}/results/{analysis}/{digest}"
        write_dataset(result, self.study.location, path, last={COMPLETE: True})

    def blocks(self, analysis: str, work_digest: str) -> BlockStore:
        """Return the recorded blocks of all plans that share them."""
        return BlockStore(self.study.location, self.group, f"blocks/{analysis}/{work_digest}")

    def contents(self) -> dict[str, Any]:
        """Return what the collection holds, for `info`."""
        analyses = member_names(child_group(self.group, "results"))
        return {
            "rankings": "rankings" in self.group,
            "results": {name: len(self.result_attributes(name)) for name in analyses},
        }


def merge_cubes(old: xr.Dataset, new: xr.Dataset, what: str) -> xr.Dataset:
    """Add metrics and gain settings to a cube with the same runs and topics."""
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
    if (
        merged[names.SCORE].isnull().sum()
        > old[names.SCORE].isnull().sum() + new[names.SCORE].isnull().sum()
    ):
        raise BadStudy(
            f"{what} has gain settings {', '.join(schema.labels_of(old, names.GAIN))} for its metrics; "
            f"give new metrics the same gain settings, or new gain settings all its metrics, or use {option('replace', True)}"
        )
    for dim in (names.METRIC, names.GAIN):
        before = schema.labels_of(old, dim)
        merged = merged.sel(
            {dim: before + [label for label in schema.labels_of(new, dim) if label not in before]}
        )
    return schema.annotate(merged.transpose(*schema.CUBE[0].dims, ...), schema.CUBE)
