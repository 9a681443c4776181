"""Paths and content of input files, plain or gzip, within limits of size."""

from __future__ import annotations

import glob
import gzip
import os
import shlex
import unicodedata
import zlib
from collections.abc import Iterable
from pathlib import Path

from scorecube.errors import BadInput

PathLike = str | os.PathLike[str]
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MAGIC = b"\x1f\x8b"
"""First bytes of a gzip file."""
LARGEST = 2**31
"""Bytes of a file, decompressed."""
UNCHECKED, HIGHEST_RATIO = 2**26, 100
"""Decompressed bytes that any gzip file may have; above, the most for each compressed byte."""
CHUNK = 2**24
PARQUET = b"PAR1"
"""First bytes of a Parquet file."""
NOT_TEXT = "not a text file in UTF-8 (zero bytes in it); save it as UTF-8"
PACKED = (
    (257, b"ustar"),
    (0, b"PK\3\4"),
    (0, b"BZh"),
    (0, b"\xfd7zXZ\0"),
    (0, b"\x28\xb5\x2f\xfd"),
    (0, b"7z\xbc\xaf"),
)
"""Where the mark of a packed file stands, and the mark: tar, zip, bzip2, xz, zstd, 7z."""


def expand(paths: Iterable[PathLike] | PathLike, what: str) -> list[Path]:
    """Return the files of paths, directories (but hidden ones) and globs, sorted within each.

    Raises BadInput: A path that does not exist, a glob or a directory without files.
    """
    files: list[Path] = []
    for path in [paths] if isinstance(paths, str | os.PathLike) else paths:
        text = os.fspath(path)
        if "\0" in text:
            raise BadInput(f"{text!r} is not a path: it has a zero byte in it")
        if os.path.isdir(text):
            part = sorted(file for file in Path(text).iterdir() if file.is_file())
            part = [file for file in part if not file.name.startswith(".")]
        elif os.path.exists(text):
            part = [Path(text)]
        else:
            part = sorted(Path(match) for match in glob.glob(text) if os.path.isfile(match))
        if not part:
            lacks = not (os.path.lexists(text) or glob.has_magic(text))
            problem = f"no such file or folder ({what})" if lacks else f"found no {what}"
            raise BadInput(problem, text)
        files += part
    if not files:
        raise BadInput(f"no {what}: the list of paths is empty")
    return files


def read_bytes(path: PathLike, *, may_be_empty: bool = False) -> bytes:
    """Return the content of a file, decompressed if it is gzip, without a byte order mark.

    path: The file; it is opened once, so that it may be a pipe.
    may_be_empty: Whether a file without content is valid.
    Raises BadInput: A file that cannot be read, is empty, packed or too large, or is truncated,
        damaged or suspicious gzip.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST + 1)
        if content.startswith(MAGIC):
            content = _decompressed(content, path)
    except EOFError:
        raise BadInput("the gzip file is cut off; copy it again", path) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise BadInput(f"the gzip file is damaged: {error}", path) from None
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror or error}", path) from None
    except ValueError as error:  # a zero byte in the path
        raise BadInput(f"cannot be read: {error}", path) from None
    if len(content) > LARGEST:
        raise BadInput(f"the file has more than {LARGEST:,} bytes; divide it", path)
    content = content.removeprefix(BYTE_ORDER_MARK)
    if not content.strip() and not may_be_empty:
        raise BadInput("the file is empty", path)
    return content


def _decompressed(content: bytes, path: PathLike) -> bytes:
    """Return the content of a gzip file; refuse one that is made to exhaust memory."""
    import io

    largest = min(LARGEST, max(UNCHECKED, HIGHEST_RATIO * len(content)))
    parts, length = [], 0
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        while part := stream.read(CHUNK):
            parts.append(part)
            length += len(part)
            if length > largest:
                raise BadInput(
                    f"the gzip file decompresses to more than {HIGHEST_RATIO} times its size, or "
                    "to more than "
                    f"{LARGEST:,} bytes; if it is valid, decompress or divide it",
                    path,
                )
    return b"".join(parts)


def read_text(path: PathLike) -> str:
    """Return the text of a file, plain or gzip, with newlines as line ends.

    Raises BadInput: As of `read_bytes`; content that is not text in UTF-8.
    """
    content = read_bytes(path)
    refuse_binary(content, path)
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[max(0, error.start - 20) : error.end].rpartition(b"\n")[2]
        raise BadInput(
            f"not UTF-8 (it may be Latin-1) after {before.decode('latin-1')!r}; save the file as "
            "UTF-8",
            path,
            1 + content.count(b"\n", 0, error.start),
        ) from None
    if not text.strip():
        raise BadInput("the file is empty", path)
    return text


def refuse_unprintable(
    text: str, what: str, path: PathLike | None = None, line: int | None = None
) -> None:
    """Refuse a name with control characters, or one that is no valid text.

    text: The name; blanks of other scripts and unassigned characters are allowed.
    what: What it names, for the message.
    path, line: Where it stands.
    Raises BadInput: The name with its first such character.
    """
    if text.isprintable():
        return
    bad = next((letter for letter in text if unicodedata.category(letter) in ("Cc", "Cs")), None)
    if bad is not None:
        kind = "control character" if unicodedata.category(bad) == "Cc" else "invalid character"
        raise BadInput(f"the {what} {text!r} has the {kind} {bad!r} in it; remove it", path, line)


def refuse_binary(content: bytes, path: PathLike) -> None:
    """Refuse what is no text (BadInput): archives, other compressions, 16 bits."""
    if any(content[start : start + len(mark)] == mark for start, mark in PACKED):
        how = ""
        if Path(path).suffix == ".eval":
            how = f" (inspect log dump {shlex.quote(Path(path).name)} > log.json)"
        raise BadInput(
            f"is packed, and not by gzip alone: unpack it{how}, then name the files in it", path
        )
    if b"\0" in content[:1000]:
        raise BadInput(NOT_TEXT, path)


def is_parquet(path: PathLike) -> bool:
    """Return whether the first bytes of a file are those of Parquet; a pipe is not looked into."""
    if not Path(path).is_file():
        return False
    try:
        with Path(path).open("rb") as file:
            return file.read(len(PARQUET)) == PARQUET
    except OSError:
        return False


def bare_name(path: PathLike) -> str:
    """Return a file's name without directories and without .gz."""
    return Path(path).name.removesuffix(".gz")
