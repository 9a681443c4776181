"""What studies and collections hold, as text for terminals and as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from html import escape

from scorecube.errors import ScorecubeError, counted, visible
from scorecube.storage.facts import Row

MOST = 50
"""Collections that are listed."""
COLUMNS = ("collection", "runs", "teams", "topics", "metrics", "gain settings", "results")


def _cells(rows: Mapping[str, Row]) -> Iterator[list[str]]:
    """Yield the cells of the columns for each of the first collections."""
    for name, row in list(rows.items())[:MOST]:
        cube = row.facts["cube"]
        cells = (
            *(name, cube["runs"], cube["teams"], cube["topics"]),
            *(", ".join(cube["metrics"]), ", ".join(cube["gains"])),
            ", ".join(row.facts["results"]) or "none yet",
        )
        yield [visible(str(cell)) for cell in cells]


def contents_text(path: str, read: Callable[[], Mapping[str, Row]]) -> str:
    """Return a line for a study and one for each collection; the message in their place if they cannot be read.

    path: Of the study.
    read: Returns the rows of the collections.
    """
    try:
        rows = read()
    except ScorecubeError as error:
        return f"{visible(path)}: {visible(str(error))}"
    lines = [
        f"{name}: {runs} runs of {teams} teams, {topics} topics; metrics {metrics}; gain settings {gains}; results: {results}"
        for name, runs, teams, topics, metrics, gains, results in _cells(rows)
    ]
    more = [f"and {len(rows) - MOST:,} more"] if len(rows) > MOST else []
    return "\n".join([f"{visible(path)}: {counted(len(rows), 'collection')}", *lines, *more])


def contents_html(path: str, rows: Mapping[str, Row]) -> str:
    """Return a table with a row for each collection; arguments as of `contents_text`."""
    head = "".join(f"<th>{name}</th>" for name in COLUMNS)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
        for cells in _cells(rows)
    )
    note = f"<p>and {len(rows) - MOST:,} more</p>" if len(rows) > MOST else ""
    return (
        f"<p>Study <code>{escape(visible(path))}</code></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"
    )
