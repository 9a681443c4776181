"""Files that carry their own digest: JSON records, and zip archives of arrays.

An archive is a plain zip, whose comment is the SHA-256 of all bytes before it: the digest covers
names, directory and extra fields, too,
which the checksums of its members do not. Members are stored, not compressed, so that no archive
is larger inside than outside.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any, Final

BEFORE, BETWEEN, AFTER = b'{"sha256":"', b'","record":', b"}\n"
"""Around the digest and the values of a record, which together are JSON."""
SEAL_BYTES: Final = 64
"""Length of a digest, in hexadecimal digits."""
DIGEST_LENGTH: Final = 32
"""Digits of the digest of a file that a head names, 128 bits."""
MAX_RECORD_BYTES: Final = 2**26
"""Of a record; more was written by no scorecube."""


def digest_of(content: bytes) -> str:
    """Return the digest of a file."""
    return hashlib.sha256(content).hexdigest()[:DIGEST_LENGTH]


def encode_record(record: Mapping[str, Any]) -> bytes:
    """Return JSON values as text with their digest.

    Examples
    --------
    >>> decode_record(encode_record({"n": 1}))
    {'n': 1}
    """
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    body = text.encode(errors="surrogatepass")
    return BEFORE + hashlib.sha256(body).hexdigest().encode() + BETWEEN + body + AFTER


def decode_record(content: bytes) -> dict[str, Any]:
    """Return the values of `encode_record`; ValueError for what does not match its digest."""
    if len(content) > MAX_RECORD_BYTES:
        raise ValueError(f"has {len(content):,} bytes, which no scorecube writes")
    start = len(BEFORE) + SEAL_BYTES + len(BETWEEN)
    body = content[start : -len(AFTER)]
    seal = hashlib.sha256(body).hexdigest().encode()
    if content[:start] != BEFORE + seal + BETWEEN or not content.endswith(AFTER):
        raise ValueError("does not match its digest")
    try:
        record = json.loads(body.decode(errors="surrogatepass"))
    except (ValueError, RecursionError):
        raise ValueError("cannot be read") from None
    if not isinstance(record, dict):
        raise ValueError("holds no record")
    return record


def pack(members: Iterable[tuple[str, bytes]]) -> bytes:
    """Return an archive of files with names; one member and the archive are in memory.

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
    with buffer.getbuffer() as view:
        view[-SEAL_BYTES:] = hashlib.sha256(view[:-SEAL_BYTES]).hexdigest().encode()
    return buffer.getvalue()


def unpack(content: bytes, only: str | None = None) -> dict[str, bytes]:
    """Return the files of `pack`, or one of them; ValueError for another digest."""
    seal = content[-SEAL_BYTES:]
    if hashlib.sha256(memoryview(content)[:-SEAL_BYTES]).hexdigest().encode() != seal:
        raise ValueError("does not match its digest")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > len(content):
                raise ValueError("is larger inside than outside, which no scorecube writes")
            return {
                member.filename: archive.read(member)
                for member in members
                if only in (None, member.filename)
            }
    except zipfile.BadZipFile as error:
        raise ValueError(f"cannot be read: {error}") from None


def seal_of(content: bytes) -> str:
    """Return the digest that an archive, or its last bytes, carries."""
    return content[-SEAL_BYTES:].decode("ascii", "replace")
