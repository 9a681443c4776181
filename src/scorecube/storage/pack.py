"""Packs: what a study holds now as one zarr hierarchy, which xarray opens without this package.

    study/packed-<digest>.zarr/scores/<collection>/   cubes, byte by byte
                              /swap/                  results along ``collection``
                              /zarr.json              last: metadata of all, digest of all files

The digest is of what is packed: who packs the same writes the same bytes, so that a killed command
is repeated, and two at once do no harm. What has no `zarr.json` is not there for any reader.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from scorecube.storage import heads
from scorecube.storage.archives import METADATA, StoredResult, digest_of
from scorecube.storage.forms import take_format
from scorecube.storage.heads import Head
from scorecube.storage.place import Place
from scorecube.storage.study import Study

if TYPE_CHECKING:
    import xarray as xr

SCORES: Final = "scores"  # group of the cubes
PACK: Final = re.compile(r"packed-[0-9a-f]{16}\.zarr", re.ASCII)
ABOUT: Final = "packed"  # attribute of a group: digest of its results, and their options


class PackedResult(NamedTuple):
    """A result that is packed."""

    collection: str
    stored: StoredResult


class Wanted(NamedTuple):
    """Results of an analysis: of one group of a pack, or of several by their options.

    label: Name of the group; the second is called ``label-2``.
    """

    label: str
    results: tuple[PackedResult, ...]

    @property
    def analysis(self) -> str:
        """Name of the analysis."""
        return self.results[0].stored.analysis

    @property
    def digest(self) -> str:
        """Digest of what is packed."""
        named = [[one.collection, one.stored.path] for one in self.results]
        return digest_of(json.dumps(named).encode())[:16]


def wanted_of(study: Study, analyses: Iterable[str] | None = None) -> list[Wanted]:
    """Return all current results by analysis, of all or of some analyses."""
    found: dict[str, list[PackedResult]] = {name: [] for name in analyses or ()}
    for collection in study.collections():
        for analysis in found if analyses else collection.contents()["results"]:
            current, _ = collection.stored(analysis)
            results = found.setdefault(analysis, [])
            results += [PackedResult(collection.name, stored) for stored in current]
    return [Wanted(name, tuple(results)) for name, results in sorted(found.items()) if results]


def packs(place: Place) -> list[str]:
    """Return the names of all packs, of parts of one too."""
    return list(filter(PACK.fullmatch, place.children("")))


def is_there(place: Place, pack: str) -> bool:
    """Whether a pack is whole."""
    return METADATA in place.children(pack)


def find(place: Place, label: str, digest: str) -> str | None:
    """Return the path of a group in a whole pack by its label and the digest of its results."""
    for pack in packs(place):
        about = about_group(place, f"{pack}/{label}")
        if about.get("digest") == digest and is_there(place, pack):
            return f"{pack}/{label}"
    return None


def about_group(place: Place, path: str) -> dict[str, Any]:
    """Return the attribute `ABOUT` of a group; nothing of what is none (CorruptStudy: damage)."""
    with place.reading(path):
        content = place.read(f"{path}/{METADATA}")
        attributes = {} if content is None else dict(json.loads(content)["attributes"])
        take_format(attributes, f"{place.name}: {path}")
        return dict(attributes.get(ABOUT, {}))


def superseded(study: Study) -> list[str]:
    """Return the packs that are not of what is current now, and parts of one."""
    old = []
    digests = {wanted.label: wanted.digest for wanted in wanted_of(study)}
    digests[SCORES] = digest_of_cubes([one.head for one in study.collections()])
    for pack in packs(study.place):
        about = [about_group(study.place, f"{pack}/{k}") for k in study.place.children(pack)]
        known = [of for of in about if of]
        current = all(digests.get(of["analysis"]) == of["digest"] for of in known)
        if not (known and current and is_there(study.place, pack)):
            old.append(pack)
    return old


def check_pack(place: Place, pack: str) -> None:
    """Read a pack (CorruptStudy if a file is missing, changed, or not of it)."""
    with place.reading(pack):
        root = json.loads(place.read(f"{pack}/{METADATA}") or b"")
        take_format(root["attributes"], f"{place.name}: {pack}")
        files = (file for file in heads.files_of(place, pack) if file[0] != METADATA)
        if heads.version_of(files) != root["attributes"]["content"]:
            raise ValueError("does not match its digest")


def open_group(place: Place, path: str, folder: object = None) -> xr.Dataset:
    """Return the results in a group of a pack; those above 256 MiB are read on use, in chunks.

    folder: Kept by what is read on use: the temporary folder of the place, if it is one.
    """
    from scorecube.collection.schema import MAX_LOADED_BYTES
    from scorecube.storage.codec import open_lazily

    with place.reading(path):
        store: Any = place.array_store(path)
        if folder is not None:
            from zarr.storage import LocalStore

            store = LocalStore(store, read_only=True)
            store.folder = folder
        opened = open_lazily(store, what=f"{place.name}: {path}")
        if opened.nbytes <= MAX_LOADED_BYTES:
            opened = opened.load()
            texts = [k for k, of in opened.data_vars.items() if of.dtype.kind in "UT"]
            opened = opened.assign({name: opened[name].astype(object) for name in texts})
        else:
            opened = open_lazily(store, chunks={})
        del opened.attrs[ABOUT]
        return opened.drop_encoding()


def digest_of_cubes(of: Sequence[Head]) -> str:
    """Return the digest of the cubes of collections."""
    return digest_of(json.dumps([[head.name, head.cube] for head in of]).encode())[:16]
