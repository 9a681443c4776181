"""Paths and content of input files, plain or gzip, within limits of size."""

from __future__ import annotations

import glob
import gzip
import io
import os
import re
import stat
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import cast

from scorecube.errors import BadInput
from scorecube.ingest.kinds import is_zarr, refuse_other_kinds

FILE = "file"
"""Chosen for the run: a run is called as its file."""
PathLike = str | os.PathLike[str]
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
WIDE_MARKS = {
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
"""Marks of text with 4 or 2 bytes for a character, longer ones first."""
GZIP = b"\x1f\x8b"
"""First bytes of a file."""
PART = 2**20
KIND_BYTES = 1000
LARGEST = 2**31
"""Bytes of a file, decompressed."""
UNCHECKED = 2**26
HIGHEST_RATIO = 100
"""Decompressed bytes that any gzip file may have; above, the most for each compressed byte."""


def expand(paths: Iterable[PathLike] | PathLike, what: str) -> list[Path]:
    """Return the files of paths, globs, and directories and what is below, but hidden ones."""
    files: list[Path] = []
    for path in [paths] if isinstance(paths, str | os.PathLike) else paths:
        text = os.fspath(path)
        if os.path.isdir(text) and not is_zarr(Path(text)):
            if next(Path(text).glob("*/head.*.json"), None) is not None:
                way = "import the folder cube-*.zarr of a collection in it"
                raise BadInput(f"a study of scorecube, not {what}; {way}", text)
            below = Path(text).rglob("*")
            shown = [file for file in below if "/." not in f"/{file.relative_to(text)}"]
            part = list(filter(Path.is_file, shown))
        else:
            part = [Path(text)] if os.path.exists(text) else list(map(Path, glob.glob(text)))
        part = sorted(file for file in part if is_zarr(file) or not file.is_dir())
        if not part:
            raise BadInput(f"no such file, or a folder without files ({what})", text)
        files += part
    if not files:
        raise BadInput(f"no {what}: the list of paths is empty")
    return files


def parts_of(path: PathLike) -> Iterator[bytes]:
    """Yield the content of a file as it is, part by part, or of all files of a group of zarr.

    Raises BadInput: More than `LARGEST` bytes; a device or a pipe, which is not read twice.
    """
    if is_zarr(Path(path)):
        for inner in sorted(filter(Path.is_file, Path(path).rglob("*"))):
            yield from parts_of(inner)
        return
    try:
        found = Path(path).stat()
        if not stat.S_ISREG(found.st_mode):
            raise BadInput("is a device or a pipe, and read twice; save it in a file", path)
        _refuse_long(found.st_size, path)
        with Path(path).open("rb") as file:
            while part := file.read(PART):
                yield part
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror or error}", path) from None


def _refuse_long(n_bytes: int, path: PathLike) -> None:
    if n_bytes > LARGEST:
        raise BadInput(f"the file has more than {LARGEST:,} bytes; divide it", path)


def read_bytes(path: PathLike, *, may_be_empty: bool = False) -> bytes:
    """Return the content of a text file, perhaps gzip or a pipe, with newlines as line ends."""
    try:
        with Path(path).open("rb") as file:
            _refuse_long(os.fstat(file.fileno()).st_size, path)
            start = file.peek(KIND_BYTES)[:KIND_BYTES]
            if not start.startswith((GZIP, *WIDE_MARKS)):
                refuse_other_kinds(start, path)  # a device without end, too
            content = file.read(LARGEST + 1)
        if content.startswith(GZIP):
            content = _decompressed(content, path)
    except BadInput:
        raise
    except _damage() as error:
        raise BadInput(f"the gzip file is cut off or damaged: {error}", path) from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"cannot be read: {reason}", path) from None
    _refuse_long(len(content), path)
    content = _narrow(content, path)
    refuse_other_kinds(content, path)
    content = content.removeprefix(BYTE_ORDER_MARK)
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not may_be_empty and (not content or content.isspace()):
        raise BadInput("the file is empty", path)
    return content


def _narrow(content: bytes, path: PathLike) -> bytes:
    """Return text in UTF-16 or UTF-32, which a mark tells, in UTF-8; other content as it is."""
    for mark, encoding in WIDE_MARKS.items():
        if content.startswith(mark):
            try:
                return content.decode(encoding).encode("utf-8")
            except UnicodeError as error:
                raise BadInput(f"text in {encoding} that is damaged: {error}", path) from None
    return content


def _decompressed(content: bytes, path: PathLike) -> bytes:
    """Return the content of a gzip file; refuse one that is made to exhaust memory."""
    largest = min(LARGEST, max(UNCHECKED, HIGHEST_RATIO * len(content)))
    with _gzip_stream(content) as stream:
        text = stream.read(largest + 1)  # to the checksum at the end
    if len(text) > largest:
        most = f"{HIGHEST_RATIO} times its size, or {LARGEST:,} bytes"
        raise BadInput(f"the gzip file decompresses to more than {most}; divide it", path)
    return text


def _gzip_stream(content: bytes) -> gzip.GzipFile:
    """Return what decompresses: of isal where it is installed (extra `fast`), else Python's."""
    try:
        from isal.igzip import IGzipFile
    except ImportError:
        return gzip.GzipFile(fileobj=io.BytesIO(content))
    return IGzipFile(fileobj=io.BytesIO(content))


def _damage() -> tuple[type[Exception], ...]:
    """Return the errors of gzip files that are cut off or damaged."""
    errors: list[type[Exception]] = [EOFError, gzip.BadGzipFile, zlib.error]
    with suppress(ImportError):
        from isal.isal_zlib import IsalError

        errors.append(cast("type[Exception]", IsalError))  # its stubs name an instance
    return tuple(errors)


def read_text(path: PathLike) -> str:
    """Return the text of a file (BadInput for one that cannot be read)."""
    return text_of(read_bytes(path), path)


def text_of(content: bytes, path: PathLike) -> str:
    """Return the text in the content of a file (BadInput for one that is not in UTF-8)."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = 1 + content.count(b"\n", 0, error.start)
        raise BadInput("not UTF-8; save the file as UTF-8", path, line) from None
    if not text.strip():
        raise BadInput("the file is empty", path)
    return text


def refuse_unprintable(
    text: str, what: str, path: PathLike | None = None, line: int | None = None
) -> None:
    """Refuse a name with control characters, or one that is no valid text (BadInput)."""
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in text):
        raise BadInput(f"the {what} {text!r} has characters that are no text", path, line)


def is_json(text: str) -> bool:
    """Return whether a text begins with an object or a list of JSON."""
    return text.lstrip().startswith(("{", "["))


def bare_name(path: PathLike) -> str:
    """Return a file's name without directories and without .gz."""
    return Path(path).name.removesuffix(".gz")


def name_in(path: PathLike, ending: str) -> str:
    """Return what a file's name says without an ending, a pattern (BadInput if it is no text)."""
    name = re.sub(ending, "", bare_name(path))
    refuse_unprintable(name, "file name", path)
    return name
