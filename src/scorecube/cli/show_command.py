"""Command show: tables of scores and results, on the screen or as files."""

from pathlib import Path
from typing import Annotated, Any, Optional

from scorecube.cli import options
from scorecube.cli.options import argument, check_choice, flag, parse_numbers
from scorecube.cli.terminal import echo, echo_table, notify, split
from scorecube.errors import BadPlan, counted, option

ALL_TABLES = "?"
"""In place of a table: list them."""
OF_TABLES = ("table", "metrics", "size", "sampling", "sort", "columns", "top", "average")
"""Options about rows of tables."""
Analysis = Annotated[str, argument("ANALYSIS", "scores, swap, ...")]
Table = Annotated[
    Optional[str],
    flag("--table", "Table of the analysis; the first by default. --table ? lists all."),
]
Metrics = Annotated[Optional[str], flag("--metrics", "Rows of these metrics only.")]
Sizes = Annotated[Optional[str], flag("--size", "Rows of these sample sizes only.")]
Samplings = Annotated[Optional[str], flag("--sampling", "Rows of these samplings only.")]
Sort = Annotated[
    Optional[str],
    flag("--sort", "Columns to sort by, e.g. share:desc,metric (largest share first)."),
]
Columns = Annotated[
    Optional[str],
    flag(
        "--columns",
        "Columns to show, separated by commas; intervals by names such as mean_limits and rank_set.",
    ),
]
Form = Annotated[
    Optional[str],
    flag(
        "--format",
        "text, csv, json, markdown or latex; by default that of --out, else text. See import for csv.",
    ),
]
Out = Annotated[
    Optional[Path], flag("--out", "File to write instead: .csv, .json, .md, .tex or .txt.")
]
AllResults = Annotated[
    bool, flag("--all", "All stored results, not only the latest of each collection.")
]
AllRows = Annotated[
    bool, flag("--all-rows", "On the screen, the rows of all confidence levels, too.")
]
Average = Annotated[bool, flag("--average", "Means over the collections.")]
ShowFindings = Annotated[
    bool, flag("--findings", "What the results say, with the numbers; as data with --format json.")
]


def show(
    study: options.StudyPath,
    analysis: Analysis,
    table: Table = None,
    collection: options.Collections = None,
    metrics: Metrics = None,
    size: Sizes = None,
    sampling: Samplings = None,
    sort: Sort = None,
    columns: Columns = None,
    top: options.Top = None,
    form: Form = None,
    out: Out = None,
    all_results: AllResults = False,
    all_rows: AllRows = False,
    average: Average = False,
    findings: ShowFindings = False,
) -> None:
    """Print a table of scores or results.

    Example: scorecube show study.zarr swap --table rates --format csv

    Example: scorecube show study.zarr swap --metrics AP,RR --sort share:desc --out sensitivity.tex

    Example: scorecube show study.zarr leaderboard --format latex --top 10 --columns run,mean,rank_set
    """
    from scorecube.report.columns import check_columns
    from scorecube.report.paper_tables import caption_in_study
    from scorecube.report.study_overview import collect_table
    from scorecube.report.table_rows import DESCENDING, brief_rows, select_rows
    from scorecube.storage import open_study

    form = named_format(form, out)
    if table == ALL_TABLES:
        list_tables(study, analysis)
        return
    opened = open_study(study)
    chosen = split(collection)
    if findings:
        refuse_beside_findings(*(table, metrics, size, sampling, sort, columns, top, average))
        show_findings(opened, analysis, chosen, all_results, form, out)
        return
    of_metrics, shown = split(metrics), split(columns)
    frame = collect_table(opened, analysis, table, chosen, all_results, average, of_metrics)
    check_columns(frame, shown)
    sizes = None if size is None else [int(number) for number in parse_numbers("--size", size)]
    order = split(sort) or []
    frame = select_rows(
        frame, metrics=of_metrics, size=sizes, sampling=split(sampling), sort=order, top=top
    )
    above = caption_in_study(opened, analysis, table, frame, form, shown)
    first = [column.removesuffix(DESCENDING) for column in order]
    notes = notes_on(opened, analysis, chosen, all_results)
    if form == "text" and out is None:
        frame, rest = (frame, "") if all_rows else brief_rows(frame)
        notes += [f"{rest}; all rows: --all-rows, or --format csv"] if rest else []
    for line in notes:
        notify(line)
    print_or_write(frame, form, out, first=first, columns=shown, caption=above)


def print_or_write(frame: Any, form: str, out: Path | None, **how: Any) -> None:
    """Print a table, or write it into a file, as of `render_parts`."""
    from scorecube.report.text_formats import merge_note, write_table

    if out is not None:
        write_table(frame, form, out, **how)
        notify(f"{out}: {counted(len(frame), 'row')}")
        return
    echo_table(frame, form, **how)
    for line in merge_note(frame) if form == "text" else []:
        notify(line)  # after the table, whose first line names it


def notes_on(study: Any, analysis: str, collections: list[str] | None, every: bool) -> list[str]:
    """Return lines on results that a table leaves out."""
    from scorecube.report.study_overview import superseded_note

    older = [] if every else superseded_note(study, analysis, collections)
    return [f"{line}: --all shows them" for line in older]


def refuse_beside_findings(*values: object) -> None:
    """Refuse options about rows of tables beside --findings: the values of `OF_TABLES`."""
    for name, value in zip(OF_TABLES, values, strict=True):
        if value:
            raise BadPlan(
                f"{option('findings', True)} are of whole results and take no {option(name)}",
                option=name,
            )


def show_findings(
    study: Any,
    analysis: str,
    collections: list[str] | None,
    every: bool,
    form: str,
    out: Path | None,
) -> None:
    """Print what results say: sentences as text, with their numbers in the other formats."""
    from scorecube.report.study_overview import collect_findings
    from scorecube.report.text_formats import write_table

    frame = collect_findings(study, analysis, collections, every)
    if out is not None:
        write_table(frame, form, out)
        notify(f"{out}: {counted(len(frame), 'finding')}")
    elif form != "text":
        echo_table(frame, form)
    else:
        for collection, sentence in zip(frame["collection"], frame["sentence"], strict=True):
            echo(f"{collection}: {sentence}")


def list_tables(study: str, analysis: str) -> None:
    """Print the names of all tables of an analysis, the default first."""
    from scorecube.report.study_overview import find_view
    from scorecube.storage import open_study

    for name in find_view(open_study(study), analysis).tables:
        echo(name)


def named_format(form: str | None, out: Path | None) -> str:
    """Return the format of a table: as stated, by the ending of the file, or text; refuse a file that cannot be written."""
    from scorecube.report.text_formats import FORMATS, format_of

    if form is not None:
        check_choice("--format", form, FORMATS)
    return format_of(out, form) if out is not None else form or "text"
