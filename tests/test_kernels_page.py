"""`docs/explanation/kernels.md` names every file with kernels, and no other."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DECORATED = re.compile(
    r"^@(compiled|borrowing)$|= over_topics\(|return over_(rankings|intents)\(", re.M
)


def test_the_page_names_every_file_with_kernels() -> None:
    source = ROOT / "src" / "scorecube"
    found = {
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if path.name != "jit.py" and DECORATED.search(path.read_text(encoding="utf-8"))
    }
    page = (ROOT / "docs/explanation/kernels.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([\w/]+\.py)` \|", page, re.M)) == found
