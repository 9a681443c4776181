"""Compare what is shown now with what is kept, or keep it."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.golden.corpus import STUDIES, parts_of
from tests.golden.dump import differences, kept_at, pack, unpack


def main() -> None:
    """Print how what is shown differs from what is kept; exit with status 1 if it does."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument(
        "word", nargs="*", help="studies and results whose names have it; all by default"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--renew", action="store_true", help="keep what is shown now")
    how.add_argument(
        "--since",
        metavar="REVISION",
        help="compare what is kept with what was kept at a revision of git",
    )
    asked = parser.parse_args()
    changed = 0
    for name in STUDIES:
        if asked.since:
            before, now = unpack(name, kept_at(asked.since)), unpack(name)
        else:
            with tempfile.TemporaryDirectory() as folder:
                before, now = unpack(name), parts_of(name, Path(folder))
        lines = differences(name, before, now)
        changed += bool(lines)
        print("\n".join(lines or [f"{name}: {len(now)} parts, no difference"]), flush=True)
        if asked.renew:
            pack(name, now)
    sys.exit(changed > 0 and not asked.renew)


if __name__ == "__main__":
    main()
