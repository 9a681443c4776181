"""Public score matrices: fetched once, checked against SHA-256 sums, kept in a local folder."""

from __future__ import annotations

import logging
import os
import re
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import xarray as xr

from scorecube.errors import BadName, FetchFailed, nearest
from scorecube.ingest.cubes import cubes_of, only_cube
from scorecube.ingest.files import read_text
from scorecube.ingest.matrix import read_matrix
from scorecube.ingest.scores import collect

ADDRESS_VARIABLE, CACHE_VARIABLE = "SCORECUBE_DATA_URL", "SCORECUBE_DATA_CACHE"
"""Environment variables: address of the files, and the folder that keeps them."""
TIMEOUT_SECONDS = 30
REGISTRY: Any = files("scorecube").joinpath("data/public.toml")


@dataclass(frozen=True)
class PublicFile:
    """One score matrix, topics down: path at the source, metric, SHA-256 sum of its bytes."""

    path: str
    metric: str
    sha256: str


@dataclass(frozen=True)
class PublicCollection:
    """Facts about a public collection that are known before it is fetched."""

    name: str
    title: str
    repository: str
    commit: str
    licence: str
    facts: dict[str, str]
    """Source, licence, paper to cite and other facts, as in the attributes of the cube."""
    runs: int
    topics: int
    files: tuple[PublicFile, ...]

    @property
    def credit(self) -> str:
        """The facts as lines."""
        return "\n".join(f"{key:<8}{value}" for key, value in self.facts.items())


def public_collections() -> dict[str, PublicCollection]:
    """Return the collections that `fetch` accepts, by name.

    Examples
    --------
    >>> known = public_collections()["adhoc5"]
    >>> known.runs, known.topics, [file.metric for file in known.files], known.licence
    (61, 50, ['AP', 'P@10', 'RR'], 'CC BY-SA 4.0')
    """
    content = tomllib.loads(REGISTRY.read_text(encoding="utf-8"))
    collections = {}
    for name, facts in content["collections"].items():
        source = content["sources"][facts["source"]]
        licence = content["licences"][source["licence"]]
        said = {
            "source": f"{facts['source']} @ {source['commit']}",
            "licence": f"{source['licence']} ({licence['address']}). {licence['asks']}",
            "cite": source["cite"],
        } | ({"note": facts["note"]} if "note" in facts else {})
        matrices = tuple(PublicFile(**entry) for entry in facts["files"])
        collections[name] = PublicCollection(
            name,
            facts["title"],
            facts["source"],
            source["commit"],
            source["licence"],
            said,
            facts["runs"],
            facts["topics"],
            matrices,
        )
    return collections


def fetch(name: str) -> xr.Dataset:
    """Fetch a public collection and return its cube.

    Parameters
    ----------
    name
        A name of `public_collections`.

    Returns
    -------
    cube
        Scores (metric, gain, run, topic); source, licence and paper to cite in the attributes.

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
    paths, known = fetch_files(name), public_collections()[name]
    parts = [
        read_matrix(read_text(path), path, file.metric)
        for file, path in zip(known.files, paths, strict=True)
    ]
    return only_cube(cubes_of(collect(parts))).assign_attrs(known.facts)


def fetch_files(name: str) -> list[Path]:
    """Return local files of a collection, after fetching those that are missing or damaged.

    They come from the address SCORECUBE_DATA_URL, before ``/<repository>/<commit>/<path>``, or the
    source, and are kept in SCORECUBE_DATA_CACHE, or the user's cache folder.

    Raises BadName: No collection of this name.
    Raises FetchFailed: No connection, a file that is not there or has another sum, a folder that
        cannot be written. Complete files are kept.
    """
    import pooch
    from requests import RequestException

    collections = public_collections()
    if name not in collections:
        raise BadName(f"no public collection {name!r}; known: {nearest(name, list(collections))}")
    known = collections[name]
    base = tomllib.loads(REGISTRY.read_text(encoding="utf-8"))["base"]
    address = os.environ.get(ADDRESS_VARIABLE) or base
    if urlsplit(address).scheme not in ("http", "https"):
        raise FetchFailed(f"{address!r} is not an address that begins with https:// or http://")
    version = f"{known.repository}/{known.commit}"
    folder = Path(os.environ.get(CACHE_VARIABLE) or pooch.os_cache("scorecube")) / version
    store = pooch.create(
        path=folder,
        base_url=f"{address.rstrip('/')}/{version}/",
        registry={file.path: f"sha256:{file.sha256}" for file in known.files},
    )
    downloader = pooch.HTTPDownloader(timeout=TIMEOUT_SECONDS)
    pooch.get_logger().setLevel(logging.WARNING)  # callers report the download
    paths = []
    for file in known.files:
        url = store.get_url(file.path)
        try:
            paths.append(Path(store.fetch(file.path, downloader=downloader)))
        except RequestException as error:
            if (response := error.response) is not None:
                response.close()  # pooch leaves its connection open
                reason = f"the server answered with status {response.status_code}"
            else:
                reason = f"no connection ({type(error).__name__})"
            raise FetchFailed(
                f"{url}: cannot be fetched: {reason}; {ADDRESS_VARIABLE} names a mirror that has "
                "ADDRESS/<repository>/<commit>/<path>"
            ) from None
        except ValueError as error:
            sums = re.search("but got ([0-9a-f]+)", str(error))
            raise FetchFailed(
                f"{url}: the fetched file is not the expected one and is discarded: found SHA-256 "
                f"{sums[1] if sums else error}, expected {file.sha256}"
            ) from None
        except OSError as error:
            raise FetchFailed(
                f"{folder}: cannot be written: {error.strerror or error}; choose a folder with "
                f"{CACHE_VARIABLE}"
            ) from None
    return paths
