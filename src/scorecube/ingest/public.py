"""Public score matrices: fetched once, checked against SHA-256 sums, kept in a local folder."""

from __future__ import annotations

import logging
import os
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from scorecube.errors import FetchFailed, UnknownName
from scorecube.ingest.formats import File
from scorecube.ingest.reading import MATRIX
from scorecube.ingest.score_tables import read_tables
from scorecube.ingest.scores import build_cubes, only_cube

ADDRESS_VARIABLE = "SCORECUBE_DATA_URL"
CACHE_VARIABLE = "SCORECUBE_DATA_CACHE"
"""Environment variables: address of the files, and the folder that keeps them."""
REGISTRY: Any = files("scorecube").joinpath("data/public.toml")


class PublicCollection(NamedTuple):
    """A collection of the registry.

    files: Matrices, topics down: path in the repository, metric, and SHA-256 sum of the bytes.
    facts: Attributes of its cube.
    """

    title: str
    repository: str
    commit: str
    licence: str
    runs: int
    topics: int
    files: list[dict[str, str]]
    facts: dict[str, str]


def public_collections() -> dict[str, PublicCollection]:
    """Return the collections that `fetch` accepts, by name."""
    content = tomllib.loads(REGISTRY.read_text(encoding="utf-8"))
    collections = {}
    for name, entry in content["collections"].items():
        source = content["sources"][entry["source"]]
        terms = content["licences"][source["licence"]]
        facts = {
            "source": f"{entry['source']} @ {source['commit']}",
            "licence": f"{source['licence']} ({terms['address']}). {terms['asks']}",
            "cite": source["cite"],
        }
        collections[name] = PublicCollection(
            entry["title"],
            entry["source"],
            source["commit"],
            source["licence"],
            entry["runs"],
            entry["topics"],
            entry["files"],
            facts | {key: entry[key] for key in entry if key == "note"},
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

    Examples
    --------
    >>> cube = fetch("adhoc5")  # doctest: +SKIP
    >>> cube.sizes["run"], cube.attrs["licence"][:12]  # doctest: +SKIP
    (61, 'CC BY-SA 4.0')
    """
    paths = fetch_files(name)
    known = public_collections()[name]
    parts = []
    for file, path in zip(known.files, paths, strict=True):
        table = File.read(path).table
        parts += read_tables([table], metric=file["metric"], layout=MATRIX)
    return only_cube(build_cubes(parts)).assign_attrs(known.facts)


def fetch_files(name: str) -> list[Path]:
    """Return local files of a collection, after fetching those that are missing or damaged.

    They come from the address SCORECUBE_DATA_URL, before ``/<repository>/<commit>/<path>``, or the
    source, and are kept in SCORECUBE_DATA_CACHE, or the user's cache folder.
    """
    import pooch
    from requests import RequestException

    collections = public_collections()
    if name not in collections:
        raise UnknownName(f"no public collection {name!r}; known: {', '.join(collections)}")
    known = collections[name]
    registry = tomllib.loads(REGISTRY.read_text(encoding="utf-8"))
    address = os.environ.get(ADDRESS_VARIABLE) or registry["base"]
    version = f"{known.repository}/{known.commit}"
    store = pooch.create(
        path=Path(os.environ.get(CACHE_VARIABLE) or pooch.os_cache("scorecube")) / version,
        base_url=f"{address.rstrip('/')}/{version}/",
        registry={file["path"]: f"sha256:{file['sha256']}" for file in known.files},
    )
    pooch.get_logger().setLevel(logging.WARNING)  # callers report the download
    paths = []
    for file in known.files:
        try:
            loader = pooch.HTTPDownloader(timeout=30)  # seconds
            paths.append(Path(store.fetch(file["path"], downloader=loader)))
        except (RequestException, ValueError, OSError) as error:
            if (response := getattr(error, "response", None)) is not None:
                response.close()  # pooch leaves its connection open
            raise FetchFailed(
                f"{store.get_url(file['path'])}: cannot be fetched into {store.path}: {error}; "
                f"{ADDRESS_VARIABLE} names a mirror, {CACHE_VARIABLE} another folder"
            ) from None
    return paths


def ntcir_clir() -> dict[str, tuple[list[str], np.ndarray[Any, np.dtype[np.int64]]]]:
    """Return topics, relevant documents (topic, 3) at levels 1, 2, 3 of Sakai 2007, Tables 7-9."""
    with files("scorecube").joinpath("data/ntcir_clir.csv").open() as file:
        rows = pd.read_csv(file, dtype={"topic": str})
    return {
        str(name): (part["topic"].tolist(), part[["b", "a", "s"]].to_numpy(np.int64))
        for name, part in rows.groupby("collection", sort=False)
    }
