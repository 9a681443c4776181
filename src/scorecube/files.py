"""Files outside of studies: reports and figures, written completely or not at all.

A file is written under a new name beside its target and renamed. The new name cannot be predicted
and must not exist, so that nothing that somebody else has put there is overwritten or followed.

Labels that a spreadsheet would take for formulas get an apostrophe in CSV files, and lose it when
such a file is read.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from scorecube.errors import BadOutput, ScorecubeError

PathLike = str | os.PathLike[str]
FORMULA = re.compile(r"'*(?:[\t\r\n]|\s*[=+\-@\uff0b\uff0d\uff1d\uff20].)", re.DOTALL)
"""Beginning of a cell that spreadsheets may take for a formula, behind any apostrophes."""
ESCAPED = "backslashreplace"
"""What is done with halves of characters, which UTF-8 does not have."""
NUMBER = re.compile(r"'*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def is_formula(label: str) -> bool:
    """Whether a spreadsheet may take a label for a formula; numbers are none.

    Examples
    --------
    >>> [is_formula(label) for label in ("=1+1", "@SUM(A1)", "'=1+1", "-x", "-0.5", "P+", "-")]
    [True, True, True, True, False, False, False]
    """
    return FORMULA.match(label) is not None and NUMBER.fullmatch(label) is None


def label_of_spreadsheet(cell: str) -> str:
    """Return the label of a cell of a CSV file, without the apostrophe before a formula.

    Examples
    --------
    >>> [label_of_spreadsheet(cell) for cell in ("'=1+1", "''=1+1", "run 1", "'tis")]
    ['=1+1', "'=1+1", 'run 1', "'tis"]
    """
    return cell[1:] if cell.startswith("'") and is_formula(cell) else cell


def write_file(path: PathLike, content: str | bytes | Iterable[str]) -> None:
    """Write a file, which has all of its old or all of its new content at any time.

    A file that is replaced passes its permissions on. A symbolic link is replaced, not followed.

    path: The file; its folder exists.
    content: Bytes, or text that is written in UTF-8, also in parts.
    Raises BadOutput: As of `check_target`, or the file cannot be written; what was there is
        unchanged.
    """
    target = Path(path)
    check_target(target)
    parts = [content] if isinstance(content, str | bytes) else content
    new = target.absolute().with_name(f".scorecube-{secrets.token_hex(16)}.partial")
    with _translated_errors(target):
        replaced = target.exists() and not target.is_symlink()
        mode = stat.S_IMODE(target.stat().st_mode) & 0o777 if replaced else None
        try:
            # A name that exists, also of a link, is an error.
            handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            with os.fdopen(handle, "wb") as file:
                if mode is not None:
                    os.fchmod(handle, mode)
                for part in parts:
                    text = part if isinstance(part, bytes) else part.encode(errors=ESCAPED)
                    file.write(text)
                file.flush()
                os.fsync(handle)
            new.replace(target)
        except BaseException:
            new.unlink(missing_ok=True)
            raise


def check_target(path: PathLike) -> None:
    """Refuse a path to which no file can be written, before anything is computed for it.

    Raises BadOutput: A missing folder; a folder, a device or a pipe in place of the file.
    """
    target = Path(path)
    problem = ""
    with _translated_errors(target):
        # A link to one of a process's open files, as /dev/stdout is, must not be replaced either.
        special = target.is_symlink() and target.readlink().parts[:2] == ("/", "proc")
        if not target.parent.is_dir():
            problem = f"there is no folder {target.parent}; create it, or choose another one"
        elif special or (target.exists() and not target.is_file()):
            kind = "a folder" if target.is_dir() else "a device or a pipe"
            problem = f"is {kind}, expected a file or a new name; choose another path"
    if problem:
        raise BadOutput(f"{target}: {problem}", option="out")


@contextmanager
def _translated_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except ScorecubeError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a zero character in the path
        reason = getattr(error, "strerror", None) or error
        raise BadOutput(f"{target}: cannot be written: {reason}", option="out") from None
