"""Compare what is shown now with what is kept, or keep it."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.golden.corpus import STUDIES, parts_of
from tests.golden.dump import (
    Parts,
    differences,
    keep_versions,
    kept_at,
    other_versions,
    pack,
    unpack,
)


def has_word(words: Sequence[str], *texts: str) -> bool:
    """Return whether a text has one of some words; any text has one of none."""
    return not words or any(word in text for word in words for text in texts)


def versions(name: str, since: str | None) -> tuple[Parts, Parts]:
    """Return what was kept of a study, and what is shown now, or is kept now if it is compared with a revision."""
    if since:
        return unpack(name, kept_at(since)), unpack(name)
    with tempfile.TemporaryDirectory() as folder:
        return unpack(name), parts_of(name, Path(folder))


def main() -> None:
    """Print how what is shown differs from what is kept; exit with status 1 if it does."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    about = "studies and results whose names have it, e.g. swap-rules or 'bins 11'; all by default"
    parser.add_argument("word", nargs="*", help=about)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--renew", action="store_true", help="keep what is shown now")
    about = "compare what is kept with what was kept at a revision of git"
    how.add_argument("--since", metavar="REVISION", help=about)
    asked = parser.parse_args()
    if asked.renew:
        keep_versions()
    elif not asked.since and (others := other_versions()):
        print(others)
    changed = 0
    for name, golden in STUDIES.items():
        if not has_word(asked.word, name, *golden.results, *golden.also):
            continue
        before, now = versions(name, asked.since)
        if asked.renew:
            pack(name, now)
        seen = [
            {part: text for part, text in parts.items() if has_word(asked.word, name, part)}
            for parts in (before, now)
        ]
        lines = differences(name, *seen)
        changed += bool(lines)
        print("\n".join(lines or [f"{name}: no difference; parts: {len(seen[1])}"]), flush=True)
    sys.exit(changed > 0 and not asked.renew)


if __name__ == "__main__":
    main()
