"""Paths and content of input files, plain or gzip."""

from __future__ import annotations

import glob
import gzip
import os
import zlib
from collections.abc import Iterable
from pathlib import Path

from scorecube.errors import BadInput

PathLike = str | os.PathLike[str]
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MAGIC = b"\x1f\x8b"
"""First bytes of a gzip file."""


def expand(paths: Iterable[PathLike] | PathLike, what: str) -> list[Path]:
    """Return the files of paths, directories and globs, sorted within each.

    Hidden files in directories are left out.

    Raises
    ------
    BadInput
        A path that does not exist, a glob or a directory without files.
    """
    found: list[Path] = []
    for path in [paths] if isinstance(paths, str | os.PathLike) else paths:
        text = os.fspath(path)
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
            raise BadInput(f"found no {what}", text)
        found += files
    if not found:
        raise BadInput(f"no {what}: the list of paths is empty")
    return found


def read_bytes(path: PathLike, *, may_be_empty: bool = False) -> bytes:
    """Return the content of a file, decompressed if its first bytes are those of gzip.

    Raises
    ------
    BadInput
        A file that cannot be read, is empty (unless `may_be_empty`), or is truncated or damaged gzip.
    """
    try:
        content = Path(path).read_bytes()
        if content.startswith(MAGIC):
            content = gzip.decompress(content)
    except EOFError:
        raise BadInput("the gzip file is cut off; copy it again", path) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise BadInput(f"the gzip file is damaged: {error}", path) from None
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror or error}", path) from None
    if not content.strip() and not may_be_empty:
        raise BadInput("the file is empty", path)
    return content.removeprefix(BYTE_ORDER_MARK)


def bare_name(path: PathLike) -> str:
    """Return a file's name without directories and without .gz."""
    return Path(path).name.removesuffix(".gz")
