"""Commands that show, publish, merge and check studies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Optional

from scorecube.cli import options
from scorecube.cli.options import NAMES, OutPath, TableFormat, Text, argument, flag
from scorecube.cli.terminal import (
    echo,
    echo_table,
    echo_wrapped,
    notify,
    print_notes,
    split,
    terminal_width,
    track_progress,
    wrapped,
    write_figure,
)
from scorecube.errors import BadPlan, BadStudy, CorruptStudy, counted

GAINS = """\
A gain setting gives one gain for each relevance level, highest level first.
With levels 3, 2 and 1, 3:2:1 gives a document of level 3 the gain 3, and 1:1:1
makes all relevant documents equal. Documents judged not relevant, or not
judged, gain 0. Gains are numbers >= 0 (10:5:1, 1:0.5:0.1) that do not rise
towards the lowest level; "auto", the default, gives each level its number.
scorecube evaluate takes several (--gains auto,1:1:1); metrics that use no
gains (scorecube list metrics says which) have the same scores in all of them."""
SORT = "Columns to sort by, e.g. share:desc,metric."
COLUMNS = "Columns to show; intervals by names such as mean_limits and rank_set."
FORM = (
    "In csv labels that begin like a formula of a spreadsheet stand behind an apostrophe, which "
    "scorecube import removes; in json all labels are exact."
)
MIN_DIFF = "Difference that the number of topics is for; 0.1 by default."
CLEAN = "Delete what killed commands left, replaced scores and old packs, a day old or more."
PACKED = "swap, leaderboard, ..., and scores; all by default."
MARK = "How to mark what the paper of the table has in boldface."
WIDTH = "Place in an article of two columns that a table in LaTeX fits into."
WHERE = "Of results with this option only, e.g. summary=area; several by commas."
AnalysisName = Annotated[str, argument("ANALYSIS", "scores, swap, leaderboard, ...")]


def where_of(text: str | None) -> dict[str, str]:
    """Return the values of options by name that results should have (BadPlan for other texts)."""
    values = dict[str, str]()
    for part in split(text) or ():
        name, equals, value = part.partition("=")
        if not equals:
            raise BadPlan(f"--where {part}: expected an option and its value, as summary=area")
        values[name.strip()] = value.strip()
    return values


def info(
    study: options.StudyPath,
    form: Annotated[Literal["text", "json"], flag("--format", "Text, or JSON.")] = "text",
    warnings: Annotated[bool, flag("--warnings", "Only what may spoil the numbers.")] = False,
) -> None:
    """Show the collections and results of a study.

    Example: scorecube info study
    """
    from scorecube.report.contents import as_json, overview, overview_text, warnings_of
    from scorecube.storage import open_study

    facts = overview(open_study(study))
    if not warnings:
        if form == "json":
            echo(as_json(facts))
        else:
            echo_wrapped(overview_text(facts))
        return
    for collection in facts["collections"]:
        for remark in warnings_of(collection):
            echo(f"{collection['name']}: {remark}")


def show(
    study: options.StudyPath,
    analysis: AnalysisName,
    *,
    table: Annotated[Text, flag("--table", "Table of the analysis; the first by default.")] = None,
    collection: options.CollectionNames = None,
    metrics: options.Metrics = None,
    sort: Annotated[Text, flag("--sort", SORT, metavar=NAMES)] = None,
    columns: Annotated[Text, flag("--columns", COLUMNS, metavar=NAMES)] = None,
    top: options.Top = None,
    form: Annotated[TableFormat, flag("--format", FORM)] = "text",
    digits: Annotated[int | None, flag("--digits", "Decimals of numbers.", min=0, max=15)] = None,
    all_results: Annotated[bool, flag("--all", "All stored results, not only the latest.")] = False,
    average: Annotated[bool, flag("--average", "Means over the collections.")] = False,
    where: Annotated[Text, flag("--where", WHERE, metavar=NAMES)] = None,
    mark: Annotated[Optional[Literal["bold", "superscript"]], flag("--mark", MARK)] = None,
    width: Annotated[Optional[Literal["column", "page"]], flag("--width", WIDTH)] = None,
) -> None:
    """Print a table of scores or results.

    Example: scorecube show study swap --table rates --format csv

    Example: scorecube show study leaderboard --format latex --columns run,mean,rank_set
    """
    from scorecube.report.readable import check_columns
    from scorecube.report.result_parts import select_rows
    from scorecube.report.study_tables import collect_table
    from scorecube.report.views import view_of
    from scorecube.storage import open_study

    opened = open_study(study)
    chosen = split(collection)
    wanted = split(columns)
    found = collect_table(
        opened,
        analysis,
        table,
        chosen,
        every=all_results,
        average=average,
        metrics=split(metrics),
        form=form,
        where=where_of(where),
    )
    view = view_of(analysis)
    if table is None and form in ("csv", "json") and view.shown[0] != view.first_table:
        notify(f"note: this is --table {view.first_table}; text has --table {view.shown[0]}")
    check_columns(found.frame, wanted)
    print_notes(found.notes)
    frame = select_rows(found.frame, sort=split(sort), top=top)
    above = found.caption
    echo_table(frame, form, columns=wanted, caption=above, digits=digits, mark=mark, fit=width)


def figure(
    study: options.StudyPath,
    analysis: Annotated[str, argument("ANALYSIS", "With a result; or scores, design or wcw.")],
    *,
    out: Annotated[OutPath, flag("--out", ".png, .svg or .pdf; ANALYSIS.png by default.")] = None,
    collection: options.CollectionNames = None,
    metrics: options.Metrics = None,
    by: Annotated[
        Optional[Literal["sampling", "gain"]], flag("--by", "Draw all samplings, or all gains.")
    ] = None,
    kind: Annotated[Literal["curves", "bars"], flag("--kind", "What --by draws.")] = "curves",
    top: options.Top = None,
    title: Annotated[str, flag("--title", "Text above the figure instead of its own.")] = "",
    where: Annotated[Text, flag("--where", WHERE, metavar=NAMES)] = None,
) -> None:
    """Draw the latest result of one collection, or of several side by side.

    Example: scorecube figure study leaderboard --metrics nDCG@20 --out leaderboard.png

    Example: scorecube figure study swap --by sampling --out samplings.png
    """
    from scorecube.report.drawing import check_figure_path, set_title
    from scorecube.report.study_tables import draw
    from scorecube.storage import open_study

    target = out or Path(f"{analysis}.png")
    check_figure_path(target)
    if kind == "bars" and by is None:
        raise BadPlan("--kind bars is about --by; state what the bars are of", option="by")
    opened = open_study(study)
    chosen = split(collection)
    of = split(metrics)
    drawn = draw(opened, analysis, chosen, of, by, kind, top, where_of(where))
    write_figure(set_title(drawn, title), target)


def report(
    study: options.StudyPath,
    out: Annotated[Path, flag("--out", "HTML file.")] = Path("report.html"),
    collection: options.CollectionNames = None,
    title: Annotated[str, flag("--title", "By default the name of the study.")] = "",
    primary: Annotated[str, flag("--primary", "Metric in front; the first by default.")] = "",
    min_diff: Annotated[Optional[float], flag("--min-diff", MIN_DIFF, min=0, metavar="X")] = None,
    variance_of: options.VarianceOf = None,
) -> None:
    """Write all results of a study as one self-contained page.

    Example: scorecube report study --out report.html
    """
    from scorecube.report.page import write_page
    from scorecube.storage import open_study

    with track_progress("drawing", None) as progress:
        write_page(
            open_study(study),
            out,
            collections=split(collection),
            title=title,
            primary=primary,
            design={"min_diff": min_diff, "variance_of": variance_of},
            progress=progress,
        )
    notify(f"report written to {out} ({out.stat().st_size / 1024:,.0f} KiB)")


def merge(
    out: Annotated[
        str, argument("OUT", "Study to merge into: a directory, or s3://bucket/prefix.")
    ],
    studies: Annotated[list[str], argument("STUDY...", "Studies to merge, or patterns of them.")],
) -> None:
    """Join studies; run it again to continue, or to add more studies.

    Example: scorecube merge all monday tuesday
    """
    from scorecube.storage import merge as merge_studies

    with track_progress("merging", None) as progress:
        counts = merge_studies(out, studies, progress=progress)
    notify(
        f"{out}: {len(studies)} merged: {counted(counts['new'], 'collection')} added, "
        f"{counts['extended']} extended, {counts['unchanged']} already there; "
        f"{counted(counts['results'], 'result')} taken"
    )


def verify(
    study: options.StudyPath, clean: Annotated[bool, flag("--clean", CLEAN)] = False
) -> None:
    """Read everything that a study holds and compare it with its checksums.

    Example: scorecube verify study
    """
    from scorecube.storage import clean as clean_study
    from scorecube.storage import find_rest, find_unclaimed, open_study, verify_study

    opened = open_study(study, mode="a" if clean else "r")
    checked, problems = verify_study(opened)
    if problems:
        raise CorruptStudy(
            f"{study}: {len(problems)} of {checked} parts are damaged:\n  " + "\n  ".join(problems)
        )
    notify(f"{study}: {checked} parts read, all match their checksums")
    if clean:
        notify(f"{study}: {counted(clean_study(opened), 'path')} deleted")
    rest = find_rest(opened)
    if rest and not clean:
        notify(
            f"note: replaced scores, or what killed commands left: {', '.join(rest[:5])}"
            f"{', ...' if len(rest) > 5 else ''}; delete it with: scorecube verify {study} --clean"
        )
    for path in sorted(set(find_unclaimed(opened)).difference(rest)):
        notify(
            f"note: {path} is whole, and no head names it: a head was deleted, or a command was "
            "killed before it said that it was done; --clean keeps it, as it may be the only copy"
        )


def pack(
    study: options.StudyPath,
    analyses: Annotated[Optional[list[str]], argument("[ANALYSIS...]", PACKED)] = None,
    workers: options.Workers = None,
    cluster: options.Cluster = None,
    scheduler: options.Scheduler = None,
) -> None:
    """Write current results, each along collection, and scores as one zarr file for others.

    Example: scorecube pack study swap
    """
    from scorecube.execute.clusters import open_executor
    from scorecube.storage import open_study
    from scorecube.workflow.packs import pack_study

    opened = open_study(study, mode="a")
    with (
        open_executor(cluster, scheduler, workers) as executor,
        track_progress("pack", "parts") as progress,
    ):
        path = pack_study(opened, analyses or None, executor, progress)
    notify(f"{study}/{path}: open it with xarray.open_datatree(path, engine='zarr')")


def forget(
    study: options.StudyPath, analysis: AnalysisName, collection: options.CollectionNames = None
) -> None:
    """Remove the results of an analysis, and its unfinished work.

    Example: scorecube forget study swap
    """
    from scorecube.storage import open_study

    opened = open_study(study, mode="a")
    n_removed = 0
    for name in split(collection) or opened:
        part = opened[name]
        blocks = part.forget_blocks(analysis)
        results = part.forget(analysis)
        n_removed += blocks + results
        if blocks + results == 0:
            continue
        recorded = f" and {counted(blocks, 'file')} of recorded work" if blocks else ""
        notify(f"{study}: {name}: {counted(results, 'result')} of {analysis}{recorded} removed")
        stored, outdated = part.stored(analysis)
        if later := len(stored) + len(outdated):
            notify(
                f"note: {name}: {counted(later, 'result')} of {analysis} there now, stored by "
                "other commands meanwhile"
            )
    if n_removed == 0:
        raise BadStudy(f"{study}: no result of {analysis} to remove")


def list_(
    kind: Annotated[
        Literal["metrics", "analyses", "layouts", "gains"],
        argument("metrics|analyses|layouts|gains", "What to list."),
    ],
) -> None:
    """List metrics, analyses or layouts of files of scores, or explain gains of levels.

    Example: scorecube list metrics
    """
    from scorecube.ingest import readers
    from scorecube.report.text_tables import render
    from scorecube.workflow import api

    if kind == "gains":
        echo(GAINS)
        return
    listing = {
        "metrics": api.list_metrics,
        "analyses": api.list_analyses,
        "layouts": readers.layouts,
    }
    frame: Any = listing[kind]()
    text = render(frame, "text")
    if len(text.splitlines()[1]) > (terminal_width() or len(text)):  # sentences are not cut
        text = wrapped("\n".join(map(in_words, frame.astype(str).to_dict("records"))))
    echo(text)


def in_words(row: dict[str, str]) -> str:
    """Return a row of a listing as a line."""
    return "; ".join(f"{name} {value.rstrip('.')}" for name, value in row.items() if value)
