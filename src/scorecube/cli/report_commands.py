"""Commands report and figure: the report of a study, and single figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

from scorecube.cli import options
from scorecube.cli.options import argument, flag
from scorecube.cli.terminal import notify, split, track_progress, write_figure
from scorecube.errors import BadPlan

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

FILE = "report.html"
"""Default of --out."""
ENOUGH = 16
"""Results or collections from which on starting processes saves time; each takes more than a second to start."""

Title = Annotated[str, flag("--title", "Title; by default the name of the study.")]
Authors = Annotated[str, flag("--authors", "Authors, below the title.")]
Date = Annotated[str, flag("--date", "Date, below the title; none by default.")]
Primary = Annotated[str, flag("--primary", "Metric that a page opens with; the first by default.")]
Final = Annotated[
    bool, flag("--final", "Leave out what could be analysed further: for publication.")
]


def report(
    study: options.StudyPath,
    out: Annotated[Path, flag("--out", "HTML file.")] = Path(FILE),
    collection: options.Collections = None,
    title: Title = "",
    authors: Authors = "",
    date: Date = "",
    metrics: options.SomeMetrics = None,
    primary: Primary = "",
    final: Final = False,
) -> None:
    """Write all results of a study as one self-contained page.

    Example: scorecube report study.zarr --out report.html

    Example: scorecube report study.zarr --collection web2013 --out web2013.html
    """
    from scorecube.report.page.options import PageOptions
    from scorecube.report.page.writing import write_page
    from scorecube.report.study_contents import overview
    from scorecube.storage import open_study

    _refuse_pdf(out)
    opened = open_study(study)
    shown = tuple(split(metrics) or ())
    asked = PageOptions(title, authors, date, shown, primary, final)
    asked.check([name for row in overview(opened)["collections"] for name in row["metrics"]])
    with drawing_processes() as ordered_map, track_progress("drawing", None) as progress:
        write_page(
            opened,
            out,
            collections=split(collection),
            progress=progress,
            ordered_map=ordered_map,
            options=asked,
        )
    notify(f"report written to {out} ({out.stat().st_size / 1024:,.0f} KiB)")


def _refuse_pdf(target: Path) -> None:
    """Say how a report becomes a PDF."""
    if target.suffix.lower() == ".pdf":
        raise BadPlan(
            f"{target}: a report is a page; write {target.with_suffix('.html')}, open it in a browser and print it to PDF: all tables of the "
            "metrics that it shows are printed whole",
            option="out",
        )


@contextmanager
def drawing_processes() -> Iterator[Callable[..., Iterable[Any]]]:
    """Yield a function like `map` that draws in one process per core from when there is enough to draw, before in this one."""
    from scorecube.execute.executor import default_workers
    from scorecube.execute.processes import ordered_map, processes

    workers = default_workers()
    with ExitStack() as stack:
        pool: ProcessPoolExecutor | None = None

        def draw(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterable[Any]:
            nonlocal pool
            if workers < 2 or (pool is None and len(items) < ENOUGH):
                return map(function, items)
            pool = pool or stack.enter_context(processes(workers))
            return ordered_map(pool, workers, function, items)

        yield draw


def figure(
    study: options.StudyPath,
    analysis: Annotated[
        str, argument("ANALYSIS", "Analysis with a stored result; or scores, design or wcw.")
    ],
    out: Annotated[Path, flag("--out", "File to write: .png, .svg or .pdf.")],
    collection: options.Collections = None,
    gain: Annotated[
        Optional[str], flag("--gain", "Gain setting, for one collection; the first by default.")
    ] = None,
    metrics: options.SomeMetrics = None,
    by: Annotated[
        Optional[str],
        flag(
            "--by",
            "Draw each gain, size or value of an option, such as sampling, of the stored results of one collection.",
        ),
    ] = None,
    form: Annotated[
        Literal["curves", "bars"],
        flag(
            "--as",
            "With --by: curves of all values in one panel; or bars of shares, a group for each value and a part for each confidence level.",
        ),
    ] = "curves",
) -> None:
    """Draw the latest result of one collection, or of several side by side.

    Example: scorecube figure study.zarr swap --out swap.png

    Example: scorecube figure study.zarr leaderboard --metrics nDCG@20 --out leaderboard.png

    Example: scorecube figure study.zarr swap --by sampling --as curves --out samplings.png
    """
    from scorecube.report.figures.files import check_figure_path
    from scorecube.report.study_overview import draw
    from scorecube.storage import open_study

    check_figure_path(out)
    if form == "bars" and by is None:
        raise BadPlan("--as bars is about --by; state what the bars are of", option="by")
    drawn = draw(open_study(study), analysis, split(collection), gain, split(metrics), by, form)
    write_figure(drawn, out)
