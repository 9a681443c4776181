"""The golden dump: what is kept of a study, and how it differs from what is shown now.

Of each study there are two files. ``NAME.txt`` has what people read, for the differences that git shows, and a digest of everything else;
``NAME.xz`` has everything else, for the differences that ``python -m tests.golden`` and the tests show.
"""

from __future__ import annotations

import json
import lzma
import math
import re
import subprocess
from collections.abc import Callable, Iterator
from difflib import unified_diff
from importlib.metadata import version
from pathlib import Path

from tests.golden.shown import NUMBER, READ, digest

FOLDER = Path(__file__).parent / "dump"
Parts = dict[str, str]
"""Texts by what they are: ``RESULT: PART``."""
Read = Callable[[str], bytes]
"""Returns the content of a file of the dump; empty for one that does not exist."""
PLAIN = re.compile(rf"said|words|.*, {READ} columns")
WHOLE = ("said", "words")
MOST_PLAIN = 30
"""Lines of a table that is kept as plain text; of longer ones a digest stands there."""
MOST_LINES, LONGEST = 24, 200
"""Lines of the difference of a part that are printed, and letters of a line."""
LIBRARIES = ("numpy", "scipy", "pandas", "xarray", "matplotlib", "jinja2")
"""Libraries with which last digits, tables and figures change."""
VERSIONS = "versions.txt"
HEAD, LINE = "==== ", "| "
DIGESTS = "---- digests of what is kept compressed"


def is_plain(part: str, text: str) -> bool:
    """Return whether a part is kept as plain text."""
    kind = part.rpartition(": ")[2]
    return PLAIN.fullmatch(kind) is not None and (kind in WHOLE or text.count("\n") < MOST_PLAIN)


def kept(name: str) -> bytes:
    """Return the content of a file of the dump of the working tree."""
    path = FOLDER / name
    return path.read_bytes() if path.exists() else b""


def kept_at(revision: str) -> Read:
    """Return a function that returns the content of a file of the dump at a revision of git."""

    known = ["git", "rev-parse", "--verify", "--quiet", revision]
    subprocess.run(known, cwd=FOLDER, capture_output=True, check=True)

    def read(name: str) -> bytes:
        words = ["git", "show", f"{revision}:./{name}"]
        return subprocess.run(words, cwd=FOLDER, capture_output=True, check=False).stdout

    return read


def installed() -> str:
    """Return the versions of the libraries that are installed."""
    return "\n".join([*(f"{name} {version(name)}" for name in LIBRARIES), ""])


def keep_versions() -> None:
    """Keep the versions of the libraries that the dump is made with."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / VERSIONS).write_text(installed())


def other_versions() -> str:
    """Return a line that names the versions with which the dump was made, if others are installed."""
    made, here = kept(VERSIONS).decode().split("\n"), installed().split("\n")
    if made == here:
        return ""
    names = (
        ", ".join(sorted(set(some) - set(others))) for some, others in ((made, here), (here, made))
    )
    return "the golden dump was made with {}; found {}".format(*names)


def _content(compressed: bytes) -> bytes:
    return lzma.decompress(compressed) if compressed else b""


def unpack(name: str, read: Read = kept) -> Parts:
    """Return the parts that are kept of a study; none for a study that is not."""
    parts: Parts = json.loads(_content(read(f"{name}.xz")) or "{}")
    plain = read(f"{name}.txt").decode("utf-8", "surrogatepass").partition(f"{DIGESTS}\n")[0]
    for section in plain.split(f"\n{HEAD}"):
        part, *lines = section.removeprefix(HEAD).removesuffix("\n").split("\n")
        if lines:
            parts[part] = "\n".join(
                line.removeprefix(LINE.rstrip()).removeprefix(" ") for line in lines
            )
    return parts


def pack(name: str, parts: Parts) -> None:
    """Keep the parts of a study."""
    packed = {part: text for part, text in parts.items() if not is_plain(part, text)}
    lines = []
    for part, text in parts.items():
        if part not in packed:
            lines.append(HEAD + part)
            lines += [LINE + line if line else LINE.rstrip() for line in text.split("\n")]
    lines += [DIGESTS, *(f"{digest(text)} {part}" for part, text in packed.items()), ""]
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.txt").write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    content = json.dumps(packed, indent=0).encode()
    if content != _content(kept(f"{name}.xz")):  # other versions of the library compress otherwise
        compressed = lzma.compress(content, preset=9 | lzma.PRESET_EXTREME)
        (FOLDER / f"{name}.xz").write_bytes(compressed)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, those that are too long to be printed in pieces."""
    return [
        line[start : start + LONGEST]
        for line in text.split("\n")
        for start in range(0, max(len(line), 1), LONGEST)
    ]


def difference(part: str, before: str, now: str) -> Iterator[str]:
    """Yield the first lines of the difference of a part, and how many more there are."""
    found = list(unified_diff(lines_of(before), lines_of(now), n=1, lineterm=""))[2:]
    removed, added = (sum(line.startswith(sign) for line in found) for sign in "-+")
    yield f"{part}: {removed} lines removed, {added} added"
    yield from found[:MOST_LINES]
    if len(found) > MOST_LINES:
        yield f"... {len(found) - MOST_LINES:,} further lines"


def is_close(before: str, now: str) -> bool:
    """Return whether texts are equal but for the last digits of numbers, which depend on the instructions of the processor."""
    if NUMBER.sub("", before) != NUMBER.sub("", now):
        return False
    pairs = zip(NUMBER.findall(before), NUMBER.findall(now), strict=True)
    return all(
        one == other or math.isclose(float(one), float(other), rel_tol=1e-9, abs_tol=1e-12)
        for one, other in pairs
    )


def differences(name: str, before: Parts, now: Parts, *, exact: bool = True) -> list[str]:
    """Return how the parts of a study differ, in lines; nothing if they are the same, or close."""
    both = {**now, **before}
    changed = [part for part in both if before.get(part) != now.get(part)]
    if not exact:
        changed = [
            part
            for part in changed
            if not (part in before and part in now and is_close(before[part], now[part]))
        ]
    if not changed:
        return []
    lines = [f"{name}: {len(changed)} of {len(both)} parts differ"]
    for part in changed if before else ():
        if part in before and part in now:
            lines += difference(f"{name}, {part}", before[part], now[part])
        else:
            lines.append(
                f"{name}, {part}: {'not shown any more' if part in before else 'not kept so far'}"
            )
    return lines
