"""Whether a page is up to date: its last line holds digests of what it was made from, and of its own text."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path

from scorecube.storage import Study

PACKAGE = Path(__file__).parents[2]
LIBRARIES = ("numpy", "scipy", "pandas", "xarray", "matplotlib", "jinja2")
"""Libraries that pages depend on."""
FORMS = ("py", "html", "css", "js")
OTHERS = ("cli", "execute", "ingest", "testing.py", "workflow")
"""Of the package, what no page is made of: what reads files, computes and stores results, and commands."""
SEAL = re.compile(rb"<!-- ([0-9a-f]{64}) ([0-9a-f]{64}) -->\n")


@cache
def program_digest() -> str:
    """Return a digest of the files that pages are made by, and of the versions of the libraries that draw and compute."""
    digest = hashlib.sha256(" ".join(map(version, LIBRARIES)).encode())
    for path in sorted(path for form in FORMS for path in PACKAGE.rglob(f"*.{form}")):
        place = path.relative_to(PACKAGE)
        if place.parts[0] not in OTHERS:
            content = path.read_bytes()
            digest.update(f"{place} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def source_digest(study: Study, collections: Iterable[str], *others: str) -> str:
    """Return a digest of everything that a page is made from; empty if that is unknown.

    collections: Names of the collections that the page shows.
    others: Further texts that the page depends on.
    """
    digest = hashlib.sha256(json.dumps([program_digest(), study.path, *others]).encode())
    for name in collections:
        state = study[name].state
        if not state:
            return ""
        digest.update(json.dumps([name, state]).encode())
    return digest.hexdigest()


def sealed(page: str, sources: str) -> str:
    """Return a page with a last line that holds the digest of what it was made from, and its own."""
    own = hashlib.sha256(page.encode("utf-8", "backslashreplace")).hexdigest()
    return f"{page}<!-- {sources} {own} -->\n"


def is_current(path: Path, sources: str) -> bool:
    """Return whether a page was made from the same, and has not been changed since."""
    try:
        content = path.read_bytes()
    except OSError:
        return False
    length = len(sealed("", sources))
    page, end = content[:-length], content[-length:]
    found = SEAL.fullmatch(end)
    return (
        found is not None
        and found[1].decode() == sources
        and found[2].decode() == hashlib.sha256(page).hexdigest()
    )
