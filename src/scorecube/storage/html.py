"""Studies and collections as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from scorecube.errors import visible

MOST = 50
"""Collections that are listed."""
COLUMNS = ("collection", "runs", "teams", "topics", "metrics", "gain settings", "results")


def html_of_collections(path: str, contents: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table with a row for each collection.

    Parameters
    ----------
    path
        Of the study.
    contents
        Name -> what a collection holds, as of `Collection.contents`.
    """
    head = "".join(f"<th>{name}</th>" for name in COLUMNS)
    rows = []
    for name, each in list(contents.items())[:MOST]:
        cells = [
            name,
            *(each.get(key, "") for key in ("runs", "teams", "topics")),
            ", ".join(map(str, each.get("metrics", []))),
            ", ".join(map(str, each.get("gains", []))),
            ", ".join(each.get("results", {})) or "none yet",
        ]
        rows.append("".join(f"<td>{escape(visible(str(cell)))}</td>" for cell in cells))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    more = len(contents) - len(rows)
    note = f"<p>and {more:,} more</p>" if more > 0 else ""
    return (
        f"<p>Study <code>{escape(visible(path))}</code></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"
    )
