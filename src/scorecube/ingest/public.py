"""Public score matrices: fetched once from their source, checked against SHA-256 sums, kept in a local folder."""

from __future__ import annotations

import logging
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import xarray as xr

from scorecube.errors import BadInput, BadName, FetchFailed, nearest, option
from scorecube.ingest.cubes import cubes_of, only_cube
from scorecube.ingest.files import PathLike
from scorecube.ingest.formats import load_format
from scorecube.ingest.scores import Scores, collect
from scorecube.ingest.source import MATRIX, File

ADDRESS_VARIABLE, CACHE_VARIABLE = "SCORECUBE_DATA_URL", "SCORECUBE_DATA_CACHE"
"""Environment variables: address of the files, and the folder that keeps them."""
TIMEOUT_SECONDS = 30
REGISTRY = files("scorecube").joinpath("data/public.toml")
SAFE = re.compile(r"(?!\.\.?(/|$))[^/\\]+(/(?!\.\.?(/|$))[^/\\]+)*")
"""Relative paths that do not leave their folder."""


@dataclass(frozen=True)
class PublicFile:
    """One score matrix at its source, topics down and runs across: path in the repository, metric, and SHA-256 sum of its bytes."""

    path: str
    metric: str
    sha256: str


@dataclass(frozen=True)
class PublicCollection:
    """Facts about a public collection that are known before it is fetched.

    name, title: Name for `fetch`, and a title in a few words.
    repository, commit: Source, as ``owner/name``, and its version.
    licence, licence_address, asks: Licence that the source states, its address, and its conditions in a few words.
    cite: Paper to cite.
    runs, topics: Their numbers.
    files: One matrix for each metric.
    note: Other facts that users need.
    """

    name: str
    title: str
    repository: str
    commit: str
    licence: str
    licence_address: str
    asks: str
    cite: str
    runs: int
    topics: int
    files: tuple[PublicFile, ...]
    note: str = ""

    @property
    def facts(self) -> dict[str, str]:
        """Source, licence and paper, as in the attributes of the cube."""
        return {
            "source": f"{self.repository} @ {self.commit}",
            "licence": f"{self.licence} ({self.licence_address}). {self.asks}",
            "cite": self.cite,
        } | ({"note": self.note} if self.note else {})

    @property
    def credit(self) -> str:
        """The facts as lines."""
        return "\n".join(f"{key:<8}{value}" for key, value in self.facts.items())


def public_collections(registry: PathLike | None = None) -> dict[str, PublicCollection]:
    """Return the collections that `fetch` accepts, by name.

    registry: TOML file in the form of ``data/public.toml``, which is the default (BadInput for one that cannot be read).

    Examples
    --------
    >>> known = public_collections()["adhoc5"]
    >>> known.runs, known.topics, [file.metric for file in known.files], known.licence
    (61, 50, ['AP', 'P@10', 'RR'], 'CC BY-SA 4.0')
    """
    return _read_registry(registry)[1]


def fetch(
    name: str,
    *,
    base: str | None = None,
    cache: PathLike | None = None,
    registry: PathLike | None = None,
) -> xr.Dataset:
    """Fetch a public collection and return its cube; files that were fetched before are read from a local folder.

    Parameters
    ----------
    name
        A name of `public_collections`.
    base, cache, registry
        See `fetch_files`.

    Returns
    -------
    cube
        Scores (metric, gain, run, topic), one gain setting, ``auto``; source, licence and paper to cite in the attributes.

    Raises
    ------
    BadName, FetchFailed
        As `fetch_files`.

    Examples
    --------
    >>> cube = fetch("adhoc5")  # doctest: +SKIP
    >>> cube.sizes["run"], cube.attrs["licence"][:12]  # doctest: +SKIP
    (61, 'CC BY-SA 4.0')
    """
    paths = fetch_files(name, base=base, cache=cache, registry=registry)
    known, parts = public_collections(registry)[name], []
    for file, path in zip(known.files, paths, strict=True):
        part = load_format(MATRIX).read(File.read(path), file.metric, transpose=False)
        assert isinstance(part, Scores)
        parts.append(part)
    return only_cube(cubes_of(collect(parts))).assign_attrs(known.facts)


def fetch_files(
    name: str,
    *,
    base: str | None = None,
    cache: PathLike | None = None,
    registry: PathLike | None = None,
) -> list[Path]:
    """Return local files of a public collection, in its order, after fetching those that are missing or damaged.

    name: A name of `public_collections`.
    base: Address before ``/<repository>/<commit>/<path>``; by default that of SCORECUBE_DATA_URL, else of the registry.
    cache: Folder that keeps the files; by default that of SCORECUBE_DATA_CACHE, else the user's cache folder.
    registry: See `public_collections`.
    Raises BadName: No collection of this name.
    Raises FetchFailed: No connection, a file that does not exist or has another sum, a folder that cannot be written. Complete files are kept.
    """
    import pooch

    default, collections = _read_registry(registry)
    if name not in collections:
        raise BadName(f"no public collection {name!r}; known: {nearest(name, list(collections))}")
    known = collections[name]
    address = base or os.environ.get(ADDRESS_VARIABLE) or default
    if urlsplit(address).scheme not in ("http", "https"):
        raise FetchFailed(
            f"{address!r} is not an address to fetch from; expected https:// or http:// at its start"
        )
    version = f"{known.repository}/{known.commit}"
    folder = Path(cache or os.environ.get(CACHE_VARIABLE) or pooch.os_cache("scorecube")) / version
    store = pooch.create(
        path=folder,
        base_url=f"{address.rstrip('/')}/{version}/",
        registry={file.path: f"sha256:{file.sha256}" for file in known.files},
    )
    downloader = pooch.HTTPDownloader(timeout=TIMEOUT_SECONDS)
    pooch.get_logger().setLevel(logging.WARNING)  # callers report the download
    paths = []
    for file in known.files:
        with _translated_errors(store.get_url(file.path), folder, file.sha256):
            paths.append(Path(store.fetch(file.path, downloader=downloader)))
    return paths


def _read_registry(path: PathLike | None) -> tuple[str, dict[str, PublicCollection]]:
    """Return the address of the files, and collections by name."""
    try:
        text = (REGISTRY if path is None else Path(path)).read_text(encoding="utf-8")
        content = tomllib.loads(text)
        collections = {name: _collection(name, content) for name in content["collections"]}
        return str(content["base"]), collections
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror or error}", path) from None
    except (KeyError, TypeError, ValueError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise BadInput(
            f"not a registry of collections: {what}; see data/public.toml of scorecube", path
        ) from None


def _collection(name: str, content: Mapping[str, Any]) -> PublicCollection:
    facts = content["collections"][name]
    source = content["sources"][facts["source"]]
    licence = content["licences"][source["licence"]]
    matrices = tuple(PublicFile(**entry) for entry in facts["files"])
    for path in (name, facts["source"], source["commit"], *(file.path for file in matrices)):
        if not SAFE.fullmatch(path):
            raise ValueError(f"{path!r} is not a relative path")
    return PublicCollection(
        name,
        facts["title"],
        facts["source"],
        source["commit"],
        source["licence"],
        licence["address"],
        licence["asks"],
        source["cite"],
        facts["runs"],
        facts["topics"],
        matrices,
        facts.get("note", ""),
    )


@contextmanager
def _translated_errors(url: str, folder: Path, expected: str) -> Iterator[None]:
    """Turn errors of pooch and requests into `FetchFailed`."""
    from requests import exceptions

    mirror = f"to use a mirror that has ADDRESS/<repository>/<commit>/<path>, set {option('base')} or {ADDRESS_VARIABLE} to ADDRESS"
    try:
        yield
    except exceptions.HTTPError as error:
        status: object = "unknown"
        if error.response is not None:
            status = error.response.status_code
            error.response.close()  # pooch leaves its connection open
        raise FetchFailed(
            f"{url}: cannot be fetched: the server answered with status {status}; {mirror}"
        ) from None
    except exceptions.RequestException as error:
        slow = isinstance(error, exceptions.Timeout)
        reason = (
            f"no answer within {TIMEOUT_SECONDS} s"
            if slow
            else f"no connection ({type(error).__name__})"
        )
        raise FetchFailed(
            f"{url}: cannot be fetched: {reason}; a collection is fetched once and then read from {folder}; {mirror}"
        ) from None
    except ValueError as error:
        checksum = re.search("but got ([0-9a-f]+)", str(error))
        raise FetchFailed(
            f"{url}: the fetched file is not the expected one and is discarded: found SHA-256 {checksum[1] if checksum else error}, "
            f"expected {expected}; {mirror}"
        ) from None
    except OSError as error:
        raise FetchFailed(
            f"{folder}: cannot be written: {error.strerror or error}; choose a folder with {option('cache')} or {CACHE_VARIABLE}"
        ) from None
