"""Commands report and figure: the report of a study, and single figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from scorecube.cli import options
from scorecube.cli.terminal import notify, split, track_progress

FILE, FOLDER = "report.html", "report"
"""Default of --out for one page and for several."""


def report(
    study: options.StudyPath,
    out: Annotated[
        Optional[str],
        typer.Option(
            "--out",
            help="HTML file, report.html by default; or a folder: an existing one, or a path that ends in /.",
        ),
    ] = None,
    pages: Annotated[
        bool, typer.Option("--pages", help="Write a folder: a summary and one page per collection.")
    ] = False,
) -> None:
    """Write all results of a study as one self-contained page, or as a folder of pages.

    Example: scorecube report study.zarr --out report.html

    Example: scorecube report study.zarr --out report/
    """
    from scorecube.errors import counted
    from scorecube.report.page.render import write_page, write_pages
    from scorecube.storage import open_study

    path = out or (FOLDER if pages else FILE)
    target = Path(path)
    pages = pages or path.endswith("/") or target.is_dir()
    opened = open_study(study)
    with track_progress("drawing", "results") as progress:
        (write_pages if pages else write_page)(opened, target, progress=progress)
    written = sorted(target.glob("*.html")) if pages else [target]
    size = sum(path.stat().st_size for path in written) / 1024
    where = (
        f"{target}/index.html and {counted(len(written) - 1, 'page')} in the same folder"
        if pages
        else str(target)
    )
    notify(f"report written to {where} ({size:,.0f} KiB)")


def figure(
    study: options.StudyPath,
    analysis: Annotated[
        str,
        typer.Argument(metavar="ANALYSIS", help="Analysis with a stored result; or design or wcw."),
    ],
    out: Annotated[Path, typer.Option("--out", help="File to write: .png, .svg or .pdf.")],
    collection: Annotated[
        Optional[str],
        typer.Option(
            "--collection", help="Collections, separated by commas; all with a result by default."
        ),
    ] = None,
    gain: Annotated[
        Optional[str],
        typer.Option("--gain", help="Gain setting, for one collection; the first by default."),
    ] = None,
) -> None:
    """Draw the latest result of one collection, or of several side by side.

    Example: scorecube figure study.zarr swap --out swap.png
    """
    from scorecube.report.figures.files import check_figure_path, save_figure
    from scorecube.report.study_figure import draw
    from scorecube.storage import open_study

    check_figure_path(out)
    drawn = draw(open_study(study), analysis, split(collection), gain)
    for note in save_figure(drawn, out):
        notify(f"note: {note}")
    notify(f"figure written to {out}")


COMMANDS = (report, figure)
