"""Cubes and rankings, which are zarr groups named by their content, and results, which are zips."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from scorecube.errors import CorruptStudy, ScorecubeError
from scorecube.storage.facts import ATTRIBUTES, VERSION
from scorecube.storage.heads import RESULTS, Head, folder_of, head_numbers
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
    """Write the cube or the rankings of a collection; return version and digests of files.

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
    list(
        at_once(
            place, lambda file: place.write(f"{path}/{file[0]}", file[1], durable=False), contents
        )
    )
    place.sync()
    return version, files


def read_group(place: Place, head: Head, kind: str, n_groups: int = 0) -> xr.Dataset:
    """Return the cube or the rankings of a head.

    n_groups: How many are in use together: values of one that takes more than its share of
        `MAX_LOADED_BYTES` are read on use; 0 to read all.
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
    """Return what reads a file of a group by its key; ValueError if it is missing or changed."""

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
        f"{place.name}: {path}: {reason}; run scorecube verify to list all damage, and compute it "
        "again or restore it from a copy"
    )


def result_path(name: str, analysis: str, digest: str) -> str:
    """Return the path of the files of a result, without their ends."""
    return f"{folder_of(name)}/{RESULTS}/{analysis}/{digest}"


def write_result(
    place: Place, path: str, values: xr.Dataset, version: str, facts: Mapping[str, Any]
) -> None:
    """Write the archive of a result, then facts beside it: a kill may leave the archive alone."""
    from scorecube.storage.codec import encode

    archive = pack(encode(values.assign_attrs({STORED_VERSION: version})))
    place.write(path + ARCHIVE, archive)
    place.write(path + FACTS, encode_record({**_facts_of(archive), **facts}))


def _facts_of(archive: bytes) -> dict[str, Any]:
    """Return what an archive says of itself."""
    attributes = json.loads(unpack(archive, METADATA)[METADATA])["attributes"]
    attributes.pop("coordinates", None)
    version = str(attributes.pop(STORED_VERSION, ""))
    finished = str(attributes.get("finished", ""))
    return {ATTRIBUTES: attributes, "finished": finished, VERSION: version, "zip": seal_of(archive)}


def read_archive(place: Place, path: str) -> bytes | None:
    """Return the archive of a result; None if there is none.

    Raises CorruptStudy: It is damaged, or that of another plan.
    """
    archive = place.read(path + ARCHIVE)
    try:
        about = None if archive is None else _facts_of(archive)[ATTRIBUTES]
        if about is not None and [about["analysis"], about["digest"]] != path.split("/")[-2:]:
            raise ValueError("is the result of another plan")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise corrupt(place, path + ARCHIVE, error) from None
    return archive


def read_result(place: Place, path: str) -> xr.Dataset | None:
    """Return a result; None if there is none. Values of a large one are read on use.

    Raises CorruptStudy: As of `read_archive`.
    """
    from scorecube.collection.schema import MAX_LOADED_BYTES
    from scorecube.storage.codec import decode, nbytes_of, open_lazily

    archive = read_archive(place, path)
    if archive is None:
        return None
    files = unpack(archive)
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
    found, root = dict[str, dict[str, Any]](), f"{folder}/{RESULTS}/{analysis}"
    names = place.children(root)
    for name in names:
        digest = name.removesuffix(ARCHIVE).removesuffix(FACTS)
        path = f"{root}/{digest}"
        if name.endswith(ARCHIVE) and RESULT.fullmatch(digest):
            found[digest] = facts = read_facts(place, path)
            number = int(facts.get("head", 0))
            # Another process may have made heads, and results, since.
            if number > head.number and number > max(head_numbers(place, folder)):
                raise corrupt(place, path, ValueError(f"names head {number}, which is missing"))
        elif name.endswith(FACTS) and digest + ARCHIVE not in names and _is_alone(place, path):
            raise corrupt(place, path + ARCHIVE, ValueError("is missing"))
    return found


def _is_alone(place: Place, path: str) -> bool:
    """Whether facts lie beside no archive; one that was listed late is there by now."""
    return place.read(path + ARCHIVE, 1) is None and place.read(path + FACTS) is not None


def read_facts(place: Place, path: str) -> dict[str, Any]:
    """Return the facts of a result; of its archive where there are none, or those of another."""
    facts = facts_beside(place, path)
    if facts is not None:
        return facts
    archive = read_archive(place, path)
    if archive is None:
        raise corrupt(place, path + ARCHIVE, ValueError("is missing"))
    return _facts_of(archive)


def facts_beside(place: Place, path: str) -> dict[str, Any] | None:
    """Return the facts beside a result; None if they are missing, damaged, or those of another."""
    try:
        facts = decode_record(place.read(path + FACTS) or b"")
        about, seal = facts[ATTRIBUTES], place.read(path + ARCHIVE, SEAL_BYTES)
        same = facts["zip"] == seal_of(seal or b"")
        if same and [about["analysis"], about["digest"]] == path.split("/")[-2:]:
            return facts
    except (ValueError, KeyError, TypeError):
        pass
    return None
