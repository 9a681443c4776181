"""Public score matrices: fetched once, checked against SHA-256 sums, kept in a local folder."""

from __future__ import annotations

import logging
import os
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple
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


class PublicFile(NamedTuple):
    """One score matrix, topics down: path at the source, metric, SHA-256 sum of its bytes."""

    path: str
    metric: str
    sha256: str


class PublicCollection(NamedTuple):
    """Facts about a public collection that are known before it is fetched.

    facts: Source, licence, paper to cite and other facts, as in the attributes of the cube.
    """

    name: str
    title: str
    repository: str
    commit: str
    licence: str
    facts: dict[str, str]
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
    for name, entry in content["collections"].items():
        repository, source = entry["source"], content["sources"][entry["source"]]
        licence, commit = source["licence"], source["commit"]
        terms = content["licences"][licence]
        facts = {"source": f"{repository} @ {commit}"}
        facts["licence"] = f"{licence} ({terms['address']}). {terms['asks']}"
        facts["cite"] = source["cite"]
        facts |= {"note": entry["note"]} if "note" in entry else {}
        matrices = tuple(PublicFile(**file) for file in entry["files"])
        sizes = entry["runs"], entry["topics"]
        collections[name] = PublicCollection(
            name, entry["title"], repository, commit, licence, facts, *sizes, matrices
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
    pooch.get_logger().setLevel(logging.WARNING)  # callers report the download
    return [_fetched(store, file) for file in known.files]


def _fetched(store: Any, file: PublicFile) -> Path:
    """Return the local path of a file that is fetched if it is missing or damaged."""
    import pooch
    from requests import RequestException

    url = store.get_url(file.path)
    try:
        downloader = pooch.HTTPDownloader(timeout=TIMEOUT_SECONDS)
        return Path(store.fetch(file.path, downloader=downloader))
    except RequestException as error:
        problem = f"no connection ({type(error).__name__})"
        if (response := error.response) is not None:
            response.close()  # pooch leaves its connection open
            problem = f"the server answered with status {response.status_code}"
        problem = (
            f"{url}: cannot be fetched: {problem}; {ADDRESS_VARIABLE} names a mirror that has "
        )
        problem += "ADDRESS/<repository>/<commit>/<path>"
    except ValueError as error:
        sums = re.search("but got ([0-9a-f]+)", str(error))
        problem = (
            f"{url}: the fetched file is not the expected one and is discarded: found SHA-256 "
            f"{sums[1] if sums else error}, expected {file.sha256}"
        )
    except OSError as error:
        problem = f"{store.path}: cannot be written: {error.strerror or error}; choose a folder "
        problem += f"with {CACHE_VARIABLE}"
    raise FetchFailed(problem)
