"""Files that carry their own digest: JSON records, and zip archives.

The comment of an archive is the SHA-256 of all bytes before it, names and directory included.
Members are stored, not compressed, so that no archive is larger inside than outside.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any, Final

SEAL_BYTES: Final = 64


def digest_of(content: bytes | memoryview, digits: int = 32) -> str:
    """Return the first digits of the SHA-256 of a file."""
    return hashlib.sha256(content).hexdigest()[:digits]


def encode_record(record: Mapping[str, Any]) -> bytes:
    """Return JSON values as text with their digest.

    Examples
    --------
    >>> decode_record(encode_record({"n": 1}))
    {'n': 1}
    """
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    body = text.encode(errors="surrogatepass")
    return b'{"sha256":"%s","record":%s}\n' % (digest_of(body, SEAL_BYTES).encode(), body)


def decode_record(content: bytes) -> dict[str, Any]:
    """Return the values of `encode_record`; ValueError for bytes that it does not return."""
    try:
        record = dict(json.loads(content.decode(errors="surrogatepass"))["record"])
        if encode_record(record) == content:
            return record
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise ValueError("does not match its digest")


def pack(members: Iterable[tuple[str, bytes]]) -> bytes:
    """Return an archive of files with names.

    Examples
    --------
    >>> unpack(pack([("a", b"1")]))
    {'a': b'1'}
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content)
        archive.comment = bytes(SEAL_BYTES)
    content = buffer.getvalue()[:-SEAL_BYTES]
    return content + digest_of(content, SEAL_BYTES).encode()


def unpack(content: bytes, *names: str) -> dict[str, bytes]:
    """Return the files of `pack`, all or some; ValueError for another digest."""
    body = memoryview(content)[:-SEAL_BYTES]
    if digest_of(body, SEAL_BYTES).encode() != content[-SEAL_BYTES:]:
        raise ValueError("does not match its digest")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(member.file_size for member in archive.infolist()) > len(content):
                raise ValueError("is larger inside than outside, which no scorecube writes")
            return {name: archive.read(name) for name in names or archive.namelist()}
    except zipfile.BadZipFile as error:
        raise ValueError(f"cannot be read: {error}") from None
