"""Command merge: join studies, such as those of the parts of a sweep."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from scorecube.cli.terminal import notify, track_progress
from scorecube.errors import counted

if TYPE_CHECKING:
    from scorecube.storage.merge import Merged

Out = Annotated[
    str,
    typer.Argument(metavar="OUT", help="Study to merge into: a directory, or s3://bucket/prefix."),
]
Parts = Annotated[
    list[str],
    typer.Argument(
        metavar="PART...",
        help="Studies to merge; patterns such as 's3://bucket/study.part-*.zarr' work for object stores, too.",
    ),
]
Move = Annotated[
    bool,
    typer.Option(
        "--move",
        help="Remove from the parts what has been merged, which leaves them empty; by default they stay as they are.",
    ),
]


def merge(out: Out, parts: Parts, move: Move = False) -> None:
    """Join studies, such as those of the parts of a sweep; run it again to continue, or to add more studies.

    Example: scorecube merge study.zarr study.part-*.zarr
    """
    from scorecube.workflow import api

    start = time.monotonic()
    with track_progress("merging", None) as progress:
        merged = api.merge(out, parts, move=move, progress=progress)
    notify(f"{out}: {describe(merged)}; {time.monotonic() - start:,.0f} s")
    for line in notes(merged):
        notify(line)


def describe(merged: Merged) -> str:
    """Return what a merge did as text."""
    return (
        f"{counted(len(merged.parts), 'part')}: {counted(merged.new, 'collection')} added, {merged.extended} extended, "
        f"{merged.unchanged} already there; {counted(merged.results, 'result')} taken"
    )


def notes(merged: Merged) -> list[str]:
    """Return a note on parts of a sweep that were not merged."""
    from scorecube.workflow.sweep_parts import missing_parts

    numbers, total = missing_parts(merged.parts)
    if not numbers:
        return []
    shown = ", ".join(map(str, numbers[:10])) + (", ..." if len(numbers) > 10 else "")
    return [
        f"note: not among them: {counted(len(numbers), 'part')} of {total} ({shown}); a part without collections has no study"
    ]


COMMANDS = (merge,)
