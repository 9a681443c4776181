"""Finding and reading input files, plain or gzip."""

from __future__ import annotations

import glob
import gzip
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from scorecube.errors import BadInput
from scorecube.kernels.workspace import Workspace

PathLike = str | os.PathLike[str]
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MANY = 4096
"""Bytes from which on a file is worth reading without a copy."""
NEWLINE = 10
MAGIC = b"\x1f\x8b"


def expand(paths: Iterable[PathLike] | PathLike, what: str) -> list[Path]:
    """Return the files that paths, directories and globs stand for, sorted within each.

    Hidden files are left out of directories.

    Raises
    ------
    BadInput
        A path that is nothing, a glob or a directory without files.
    """
    found: list[Path] = []
    for given in [paths] if isinstance(paths, str | os.PathLike) else paths:
        text = os.fspath(given)
        if os.path.isdir(text):
            files = sorted(path for path in Path(text).iterdir() if path.is_file() and not path.name.startswith("."))
        elif os.path.exists(text):
            files = [Path(text)]
        else:
            files = sorted(Path(match) for match in glob.glob(text) if os.path.isfile(match))
        if not files:
            raise BadInput(f"no {what} found here", text)
        found += files
    if not found:
        raise BadInput(f"no {what} given")
    return found


def read_bytes(path: PathLike, *, may_be_empty: bool = False) -> bytes:
    """Return the content of a file, unpacked if it is gzip, whatever it is called.

    Raises
    ------
    BadInput
        A file that cannot be read, is empty (unless it may be), or is cut-off or damaged gzip.
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


def read_padded(path: PathLike, padding: int, workspace: Workspace) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return a file's content as bytes with `padding` zeros behind, as the kernels take it.

    A plain file is read straight into the workspace; old Macintosh line ends become newlines. Raises what `read_bytes` raises.
    """
    try:
        with Path(path).open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            text = workspace.array("text", size + padding, "uint8")
            whole = size > MANY and file.readinto(text.data[:size]) == size
    except OSError:
        whole = False
    if whole:
        text[size:] = 0
        head = text[:3].tobytes()
        if not head.startswith(MAGIC) and head != BYTE_ORDER_MARK and (text[:MANY] == NEWLINE).any():
            return text
    content = read_bytes(path)
    if b"\r" in content and b"\n" not in content:
        content = content.replace(b"\r", b"\n")
    return np.frombuffer(content + bytes(padding), np.uint8)


def bare_name(path: PathLike) -> str:
    """Return a file's name without directories and without .gz."""
    return Path(path).name.removesuffix(".gz")
