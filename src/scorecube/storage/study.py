"""A study: one zarr store of collections, each with rankings, a cube, recorded blocks and finished results.

    study.zarr/<collection>/rankings                  levels in rank order
                           /cube                      score[metric, gain, run, topic]
                           /blocks/<analysis>/<work>  recorded blocks, see `results.py`
                           /results/<analysis>/<plan> finished results, never changed

Every group opens with plain ``xarray.open_datatree(path, engine="zarr", consolidated=False)``. Collections and cubes are written beside
their place and renamed when they are whole; groups carry `complete`, written last.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import xarray as xr
import zarr

from scorecube import names, schema
from scorecube.errors import BadStudy, CorruptStudy, nearest
from scorecube.storage.encoding import CONSOLIDATED, FORMAT_VERSION, ZARR_FORMAT, encoding, plain_bytes
from scorecube.storage.nodes import child_group, keys
from scorecube.storage.results import BlockStore

COMPLETE = "complete"
CONTENT = "content_sha256"
VERSION = "scorecube_format"
STAGING, OLD = ".new", ".old"
"""Endings of groups that are being put in place; no collection is called so."""
METADATA = "zarr.json"
FORBIDDEN = set("/\\\0")


def open_study(path: str | os.PathLike[str], mode: str = "r") -> Study:
    """Open a study.

    Parameters
    ----------
    path
        Directory of the zarr store.
    mode
        ``r`` to read, ``a`` to add to it and create it if need be.

    Raises
    ------
    BadStudy
        No study there, or something that is not one.
    """
    if mode not in ("r", "a"):
        raise BadStudy(f"mode {mode!r} is not 'r' or 'a'")
    location = os.fspath(path)
    if not Path(location, METADATA).exists():
        if mode == "r":
            raise BadStudy(
                f"{location}: no study there; make one with: scorecube evaluate {location} --name NAME --runs ... --qrels ..."
            )
        _refuse_occupied(Path(location))
        return Study(location, None, writable=True)
    try:
        root = zarr.open_group(location, mode="r" if mode == "r" else "a", zarr_format=ZARR_FORMAT)
    except (ValueError, KeyError, TypeError, OSError, zarr.errors.BaseZarrError) as error:
        raise BadStudy(f"{location}: no study there: {error}") from None
    if root.attrs.get(VERSION) != FORMAT_VERSION:
        found = root.attrs.get(VERSION)
        raise BadStudy(f"{location}: a zarr store, but not a study of format {FORMAT_VERSION} (found {found})")
    if mode == "a":
        _finish_renaming(location, root)
    return Study(location, root, writable=mode == "a")


def _finish_renaming(location: str, root: zarr.Group) -> None:
    """Put collections in place that a killed process had written whole and was about to rename."""
    for name, group in list(root.groups()):
        place = name.removesuffix(STAGING)
        if name.endswith(STAGING) and group.attrs.get(COMPLETE) and place not in root:
            Path(location, name).rename(Path(location, place))


def _refuse_occupied(location: Path) -> None:
    """Refuse to make a study where something else is."""
    if location.exists() and (location.is_file() or any(location.iterdir())):
        raise BadStudy(f"{location} exists and is not a study; choose another path")
    above = next((parent for parent in location.parents if parent.exists()), None)
    if above is not None and above.is_file():
        raise BadStudy(f"{location} lies below {above}, which is a file; choose another path")


def read_dataset(store: str, group: str) -> xr.Dataset:
    """Read one group into memory, labels as object strings."""
    with xr.open_zarr(store, group=group, chunks=None, consolidated=CONSOLIDATED) as dataset:
        try:
            loaded: xr.Dataset = dataset.load()
        except RuntimeError as error:  # what codecs raise
            raise CorruptStudy(
                f"{store}: {group} cannot be read: {error}; run scorecube verify, and make it again"
            ) from None
    recorded = loaded.attrs.pop(CONTENT, None)
    if recorded is not None and recorded != content_digest(loaded):
        raise CorruptStudy(f"{store}: {group} does not hold what was written; run scorecube verify, and make it again")
    for name, coord in loaded.coords.items():
        if coord.dtype.kind in "OUT":
            loaded = loaded.assign_coords({name: (coord.dims, schema.label_array(map(str, coord.values)))})
    return loaded


def write_dataset(dataset: xr.Dataset, store: str, group: str | None = None) -> None:
    """Write one group, replacing what it held."""
    plain = dataset.drop_encoding()
    plain = plain.assign_attrs({CONTENT: content_digest(plain)})
    plain.to_zarr(
        store, group=group, mode="w", encoding=encoding(plain), zarr_format=ZARR_FORMAT, consolidated=CONSOLIDATED,
        write_empty_chunks=True,
    )  # fmt: skip


def content_digest(dataset: xr.Dataset) -> str:
    """Return the SHA-256 of all variables and coordinates: a missing chunk reads as fill values, and this tells."""
    hasher = hashlib.sha256()
    for name in sorted(map(str, dataset.variables)):
        values = dataset[name].values
        text = values.dtype.kind in "OUT"
        hasher.update(f"{name} {values.shape} {'text' if text else values.dtype.str};".encode())
        hasher.update("\x1f".join(map(str, values.ravel())).encode() if text else plain_bytes(values))
    return hasher.hexdigest()


def check_collection_name(name: str) -> None:
    """Refuse names that cannot be folders of a store."""
    if not name or name.startswith(".") or name.endswith((STAGING, OLD, METADATA)) or FORBIDDEN & set(name):
        raise BadStudy(
            f"{name!r} cannot name a collection: it must not be empty, start with a dot, hold a slash, or end in "
            f"{STAGING}, {OLD} or {METADATA}"
        )


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

    def __init__(self, path: str, root: zarr.Group | None, *, writable: bool) -> None:
        self.path = path
        self.writable = writable
        self._root = root

    @property
    def root(self) -> zarr.Group:
        """The zarr group; made when something is first written, so that a refused command leaves nothing behind."""
        if self._root is None:
            self._root = zarr.create_group(self.path, zarr_format=ZARR_FORMAT, attributes={VERSION: FORMAT_VERSION})
        return self._root

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of complete collections, sorted."""
        if self._root is None:
            return iter(())
        return iter(
            sorted(
                name
                for name, group in self.root.groups()
                if group.attrs.get(COMPLETE) and not name.endswith((STAGING, OLD))
            )
        )

    def __contains__(self, name: object) -> bool:
        return name in list(self)

    def __getitem__(self, name: str) -> Collection:
        known = list(self)
        if name not in known:
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
        if name in self and not replace:
            before = self[name].cube
            merged = merge_cubes(before, cube, f"{self.path}: collection {name!r}")
            if not merged.identical(before):
                self._put(f"{name}/cube", {"": merged})
        else:
            parts = {"cube": cube} | ({} if rankings is None else {"rankings": rankings})
            self._put(name, parts)

    def _put(self, place: str, parts: Mapping[str, xr.Dataset]) -> None:
        """Write datasets beside a group and put them in its place when they are whole: old or new, never half."""
        staging, old = place + STAGING, place + OLD
        for stale in (staging, old):
            if stale in self.root:
                del self.root[stale]
        for key, dataset in parts.items():
            write_dataset(dataset, self.path, f"{staging}/{key}" if key else staging)
        if "/" not in place:
            self.root.require_group(staging).attrs[COMPLETE] = True
        if place in self.root:
            Path(self.path, place).rename(Path(self.path, old))
        Path(self.path, staging).rename(Path(self.path, place))
        if old in self.root:
            del self.root[old]


class Collection:
    """One collection of a study: `cube`, `rankings` and results, read when asked for."""

    def __init__(self, study: Study, name: str) -> None:
        self.study = study
        self.name = name
        self.group = study.root.require_group(name)

    @property
    def cube(self) -> xr.Dataset:
        """The score cube, in memory."""
        # Between two renames a killed process leaves the new cube under its staging name.
        place = "cube" if "cube" in self.group else "cube" + STAGING
        return read_dataset(self.study.path, f"{self.name}/{place}")

    @property
    def rankings(self) -> xr.Dataset:
        """Levels in rank order, in memory; BadStudy for a collection of imported scores."""
        if "rankings" not in self.group:
            raise BadStudy(f"{self.study.path}: collection {self.name!r} was imported as scores and has no rankings")
        return read_dataset(self.study.path, f"{self.name}/rankings")

    def result_facts(self, analysis: str) -> list[dict[str, Any]]:
        """Return the attributes of the finished results of an analysis, latest last; no array is read."""
        group = child_group(self.group, f"results/{analysis}")
        found = [dict(group[key].attrs) for key in keys(group)] if group is not None else []
        return sorted(
            (facts for facts in found if facts.get(COMPLETE)),
            key=lambda facts: (str(facts.get("finished", "")), str(facts.get("digest", ""))),
        )

    def results(self, analysis: str) -> list[xr.Dataset]:
        """Return the finished results of an analysis, latest last."""
        place = f"{self.name}/results/{analysis}"
        return [read_dataset(self.study.path, f"{place}/{facts['digest']}") for facts in self.result_facts(analysis)]

    def result(self, analysis: str) -> xr.Dataset:
        """Return the latest result of an analysis."""
        facts = self.result_facts(analysis)
        if not facts:
            raise BadStudy(
                f"{self.study.path}: no result of {analysis} for collection {self.name!r}; run: scorecube {analysis} {self.study.path}"
            )
        return read_dataset(self.study.path, f"{self.name}/results/{analysis}/{facts[-1]['digest']}")

    def has_result(self, analysis: str, digest: str) -> bool:
        """Whether the result of a plan is there."""
        return any(facts["digest"] == digest for facts in self.result_facts(analysis))

    def find_result(self, analysis: str, digest: str) -> xr.Dataset | None:
        """Return the result of a plan, or None."""
        place = f"results/{analysis}/{digest}"
        if place not in self.group:
            return None
        found = read_dataset(self.study.path, f"{self.name}/{place}")
        return found if found.attrs.get(COMPLETE) else None

    def write_result(self, analysis: str, digest: str, result: xr.Dataset) -> None:
        """Write a finished result; `complete` is set last."""
        place = f"results/{analysis}/{digest}"
        write_dataset(result, self.study.path, f"{self.name}/{place}")
        self.group.require_group(place).attrs[COMPLETE] = True

    def blocks(self, analysis: str, work_digest: str) -> BlockStore:
        """Return the recorded blocks of all plans that share them."""
        return BlockStore(self.group, f"blocks/{analysis}/{work_digest}")

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
                "use --replace to start over, or another --name"
            )
    try:
        merged = xr.merge([old, new], join="outer", compat="no_conflicts", combine_attrs="override")
    except (xr.MergeError, ValueError):
        raise BadStudy(
            f"{what} holds other scores or teams for the same runs and topics; use --replace to start over"
        ) from None
    if merged[names.SCORE].isnull().sum() > old[names.SCORE].isnull().sum() + new[names.SCORE].isnull().sum():
        raise BadStudy(
            f"{what} has gain settings {', '.join(schema.labels_of(old, names.GAIN))} for its metrics; "
            "give new metrics the same gain settings, or new gain settings all its metrics, or use --replace"
        )
    for dim in (names.METRIC, names.GAIN):
        before = schema.labels_of(old, dim)
        merged = merged.sel({dim: before + [label for label in schema.labels_of(new, dim) if label not in before]})
    return schema.annotate(merged.transpose(*schema.CUBE[0].dims, ...), schema.CUBE)
