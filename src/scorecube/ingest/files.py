"""Paths and content of input files, plain or gzip, within limits of size."""

from __future__ import annotations

import glob
import gzip
import io
import os
import shlex
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from scorecube.errors import BadInput

PathLike = str | os.PathLike[str]
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MAGIC = b"\x1f\x8b"
"""First bytes of a gzip file."""
LARGEST_TEXT = 2**28
"""Bytes of another file, decompressed; its cells are Python objects, which need several times its size."""
LARGEST_TABLE = 2**36
"""Bytes of a table that is read in parts, decompressed."""
UNCHECKED, HIGHEST_RATIO = 2**26, 100
"""Decompressed bytes that any gzip file may have; beyond them, the largest ratio to compressed bytes. Scores and runs
have ratios of 2 to 20, a file made to exhaust memory has 1,000."""
CHUNK = 2**20
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
    """Return the files of paths, directories and globs, sorted within each.

    Hidden files in directories are left out.

    Raises BadInput: A path that does not exist, a glob or a directory without files.
    """
    found: list[Path] = []
    for path in [paths] if isinstance(paths, str | os.PathLike) else paths:
        text = os.fspath(path)
        if "\0" in text:
            raise BadInput(f"{text!r} is not a path: it has a zero byte in it")
        if os.path.isdir(text):
            files = sorted(
                file
                for file in Path(text).iterdir()
                if file.is_file() and not file.name.startswith(".")
            )
        elif os.path.exists(text):
            files = [Path(text)]
        else:
            files = sorted(Path(match) for match in glob.glob(text) if os.path.isfile(match))
        if not files:
            lacks = not (os.path.lexists(text) or glob.has_magic(text))
            raise BadInput(
                f"no such file or folder ({what})" if lacks else f"found no {what}", text
            )
        found += files
    if not found:
        raise BadInput(f"no {what}: the list of paths is empty")
    return found


def read_bytes(path: PathLike, *, may_be_empty: bool = False, largest: int = LARGEST_TEXT) -> bytes:
    """Return the content of a file, decompressed if its first bytes are those of gzip.

    path: The file; it is opened once, so that it may be a pipe.
    may_be_empty: Whether a file without content is valid.
    largest: Largest number of bytes of the content.
    Raises BadInput: A file that cannot be read, is empty or too large, or is truncated, damaged or suspicious gzip.
    """
    with opened(path) as file:
        return content_of(file, path, may_be_empty=may_be_empty, largest=largest)


@contextmanager
def opened(path: PathLike) -> Iterator[io.BufferedReader]:
    """Open a file and translate errors of the operating system and of gzip.

    Raises BadInput: A file that cannot be opened or read, or is truncated or damaged gzip.
    """
    try:
        with Path(path).open("rb") as file:
            yield file
    except EOFError:
        raise BadInput("the gzip file is cut off; copy it again", path) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise BadInput(f"the gzip file is damaged: {error}", path) from None
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror or error}", path) from None
    except ValueError as error:  # a zero byte in the path
        raise BadInput(f"cannot be read: {error}", path) from None


def content_of(
    file: io.BufferedReader, path: PathLike, *, may_be_empty: bool, largest: int
) -> bytes:
    """Return the content of an open file; see `read_bytes`."""
    content = b"".join(parts_of(file, path, largest))
    if not content.strip() and not may_be_empty:
        raise BadInput("the file is empty", path)
    return content


def parts_of(file: io.BufferedReader, path: PathLike, largest: int) -> Iterator[bytes]:
    """Yield the content of an open file in parts without a byte order mark, decompressed; raises as `read_bytes`."""
    source = _Source(file)
    is_gzip = source.start.startswith(MAGIC)
    stream: _Source | gzip.GzipFile = gzip.GzipFile(fileobj=source) if is_gzip else source  # type: ignore[call-overload]
    length = 0
    while part := stream.read(CHUNK):
        first, length = not length, length + len(part)
        if length > largest:
            what = ("gzip file", " after decompression") if is_gzip else ("file", "")
            raise BadInput(
                f"the {what[0]} has more than {largest:,} bytes{what[1]}; divide it", path
            )
        if is_gzip and length > UNCHECKED and length > HIGHEST_RATIO * source.n_read:
            raise BadInput(
                f"the gzip file decompresses to more than {HIGHEST_RATIO} times its size, which text does not; if it "
                "is valid, decompress it first",
                path,
            )
        yield part.removeprefix(BYTE_ORDER_MARK) if first else part


class _Source:
    """An open file, perhaps a pipe, whose first part is known and whose bytes are counted."""

    def __init__(self, file: io.BufferedReader) -> None:
        self.file, self.start, self.n_read = file, file.read(CHUNK), 0
        self._rest = self.start

    def read(self, size: int = -1) -> bytes:
        part, self._rest = self._rest, b""
        if part and 0 <= size < len(part):
            part, self._rest = part[:size], part[size:]
        elif not part:
            part = self.file.read(size)
        self.n_read += len(part)
        return part


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
    """Refuse content that is no text: archives, other compressions than gzip, texts of 16 bits.

    content: Of a file, decompressed if it is gzip.
    path: The file.
    Raises BadInput: With advice.
    """
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
    with opened(path) as file:
        return file.read(len(PARQUET)) == PARQUET


def bare_name(path: PathLike) -> str:
    """Return a file's name without directories and without .gz."""
    return Path(path).name.removesuffix(".gz")
