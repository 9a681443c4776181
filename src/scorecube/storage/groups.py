"""Cubes and rankings: zarr groups that are named by their content, and results: archives of zarr groups with facts beside them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from scorecube.errors import CorruptStudy, ScorecubeError
from scorecube.storage.facts import ATTRIBUTES, VERSION, attribute_facts
from scorecube.storage.heads import RESULTS, Head, folder_of
from scorecube.storage.place import Place, at_once
from scorecube.storage.sealed import (
    SEAL_BYTES,
    decode_record,
    digest_of,
    encode_record,
    pack,
    seal_of,
    unpack,
)

if TYPE_CHECKING:
    import xarray as xr

METADATA: Final = "zarr.json"
"""Name of the file with the metadata of a group or array."""
VERSION_LENGTH: Final = 16
"""Digits of the version of a cube, 64 bits."""
MAX_BUFFERED_BYTES: Final = 2**26
"""Larger cubes are encoded twice, for their digest and to be written, instead of kept in memory."""
ARCHIVE, FACTS = ".zarr.zip", ".json"
"""Ends of the names of the files of a result."""
RESULT: Final = re.compile(r"[0-9a-f]{8,64}")
"""Digest of a plan, without these ends."""
STORED_VERSION: Final = "cube_version"
"""Attribute of a stored result: version of the scores that it is of."""


def write_group(
    place: Place, name: str, kind: str, dataset: xr.Dataset
) -> tuple[str, dict[str, str]]:
    """Write the cube or the rankings of a collection, and return the version and the digests of the files.

    What a killed process left of the same group is written over with the same bytes.
    """
    from scorecube.storage.codec import encode

    kept = dict(encode(dataset)) if dataset.nbytes <= MAX_BUFFERED_BYTES else None
    files = {
        key: digest_of(content)
        for key, content in (encode(dataset) if kept is None else kept.items())
    }
    version = digest_of(str(sorted(files.items())).encode())[:VERSION_LENGTH]
    path = f"{folder_of(name)}/{kind}-{version}.zarr"
    contents = encode(dataset) if kept is None else iter(kept.items())
    for _ in at_once(
        place, lambda each: place.write(f"{path}/{each[0]}", each[1], durable=False), contents
    ):
        pass
    place.sync()
    return version, files


def read_group(place: Place, head: Head, kind: str, n_groups: int = 0) -> xr.Dataset:
    """Return the cube or the rankings of a head.

    n_groups: How many are in use together: values of one that takes more than its share of `MAX_LOADED_BYTES` are read on use. 0: all are read.
    Raises CorruptStudy: A file that is missing or does not match its digest.
    """
    from scorecube.collection.schema import MAX_LOADED_BYTES
    from scorecube.storage.codec import decode, nbytes_of, open_lazily

    path, files = head.group(kind), head.files[kind]
    read = checked_reader(place, path, files)
    try:
        metadata = dict(at_once(place, read, filter(_is_metadata, files)))
        if nbytes_of(metadata) * n_groups <= MAX_LOADED_BYTES:
            chunks = at_once(place, read, (key for key in files if not _is_metadata(key)))
            return decode(metadata | dict(chunks))
        if missing := sorted(set(files) - set(place.keys(path))):
            raise ValueError(f"{missing[0]} is missing")
        return open_lazily(place.array_store(path))
    except ScorecubeError:
        raise
    except Exception as error:  # codecs raise errors of many types
        raise corrupt(place, path, error) from None


def _is_metadata(key: str) -> bool:
    return key.rpartition("/")[2] == METADATA


def checked_reader(
    place: Place, path: str, files: Mapping[str, str]
) -> Callable[[str], tuple[str, bytes]]:
    """Return a function that reads a file of a group by its key; ValueError if it is missing or changed."""

    def read(key: str) -> tuple[str, bytes]:
        content = place.read(f"{path}/{key}")
        if content is None:
            raise ValueError(f"{key} is missing")
        if digest_of(content) != files[key]:
            raise ValueError(f"{key} does not match its digest")
        return key, content

    return read


def corrupt(place: Place, path: str, error: Exception) -> CorruptStudy:
    """Return the error for a part of a study that is damaged."""
    reason = (str(error) or type(error).__name__).splitlines()[0]
    return CorruptStudy(
        f"{place.name}: {path}: {reason}; run scorecube verify to list all damage, and compute it again or restore it from a copy"
    )


def result_path(name: str, analysis: str, digest: str) -> str:
    """Return the path of the files of a result, without their ends."""
    return f"{folder_of(name)}/{RESULTS}/{analysis}/{digest}"


def write_result(
    place: Place, path: str, values: xr.Dataset, version: str, facts: Mapping[str, Any]
) -> None:
    """Write the archive of a result, then the facts beside it; a killed process may leave the archive alone, which is enough."""
    from scorecube.storage.codec import encode

    archive = pack(dict(encode(values.assign_attrs({STORED_VERSION: version}))))
    known = {**attribute_facts(values.attrs), VERSION: version, "zip": seal_of(archive), **facts}
    place.write(path + ARCHIVE, archive)
    place.write(path + FACTS, encode_record(known))


def open_archive(place: Place, path: str) -> tuple[dict[str, bytes], dict[str, Any], str] | None:
    """Return the files of a result by key, its attributes, and the digest of its archive; None if there is none.

    Raises CorruptStudy: It is damaged, or that of another plan.
    """
    archive = place.read(path + ARCHIVE)
    if archive is None:
        return None
    try:
        files = unpack(archive)
        attributes = json.loads(files[METADATA])["attributes"]
        if (attributes["analysis"], attributes["digest"]) != tuple(path.split("/")[-2:]):
            raise ValueError("is the result of another plan")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise corrupt(place, path + ARCHIVE, error) from None
    return files, attributes, seal_of(archive)


def read_result(place: Place, path: str) -> xr.Dataset | None:
    """Return a result; None if there is none. Values of one above `MAX_LOADED_BYTES` are read on use.

    Raises CorruptStudy: As of `open_archive`.
    """
    from scorecube.collection.schema import MAX_LOADED_BYTES
    from scorecube.storage.codec import decode, nbytes_of, open_lazily

    opened = open_archive(place, path)
    if opened is None:
        return None
    files, *_ = opened
    try:
        size = nbytes_of({key: content for key, content in files.items() if _is_metadata(key)})
        result = open_lazily(files) if size > MAX_LOADED_BYTES else decode(files)
    except Exception as error:  # codecs raise errors of many types
        raise corrupt(place, path + ARCHIVE, error) from None
    result.attrs.pop(STORED_VERSION, None)
    return result


def results_of(place: Place, folder: str, analysis: str, head: Head) -> dict[str, dict[str, Any]]:
    """Return the facts of all results of an analysis by digest, outdated ones too.

    Raises CorruptStudy: A result that is damaged, or of a head that is missing.
    """
    names = place.children(f"{folder}/{RESULTS}/{analysis}")
    found = {}
    for name in names:
        digest = name.removesuffix(ARCHIVE)
        if not name.endswith(ARCHIVE) or not RESULT.fullmatch(digest):
            continue
        path = f"{folder}/{RESULTS}/{analysis}/{digest}"
        facts = read_facts(place, path)
        if int(facts.get("head", 0)) > head.number:
            raise corrupt(place, path, ValueError(f"names head {facts['head']}, which is missing"))
        found[digest] = facts
    return found


def read_facts(place: Place, path: str) -> dict[str, Any]:
    """Return the facts of a result; made of its archive where they are missing, damaged, or those of another."""
    facts = _facts_beside(place, path)
    if facts is not None:
        return facts
    opened = open_archive(place, path)
    if opened is None:
        raise corrupt(place, path + ARCHIVE, ValueError("is missing"))
    _, attributes, seal = opened
    version = str(attributes.pop(STORED_VERSION, ""))
    attributes.pop("coordinates", None)
    return {**attribute_facts(attributes), VERSION: version, "zip": seal}


def has_facts(place: Place, path: str) -> bool:
    """Whether the facts beside a result are its own."""
    return _facts_beside(place, path) is not None


def _facts_beside(place: Place, path: str) -> dict[str, Any] | None:
    try:
        facts = decode_record(place.read(path + FACTS) or b"")
        about, seal = facts[ATTRIBUTES], place.read(path + ARCHIVE, SEAL_BYTES)
        same = facts["zip"] == seal_of(seal or b"")
        if same and [about["analysis"], about["digest"]] == path.split("/")[-2:]:
            return facts
    except (ValueError, KeyError, TypeError):
        pass
    return None
