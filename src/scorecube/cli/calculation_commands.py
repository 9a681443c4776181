"""Commands of calculations, made from their records: results are printed, and not stored."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scorecube.analyses.shared_options import SHARED
from scorecube.cli.options import (
    As,
    FormatOption,
    OutPath,
    StudyPath,
    Text,
    argument,
    flag,
    keyword,
    with_options,
    with_parameters,
    with_preset,
)
from scorecube.cli.terminal import echo, echo_results, echo_table, notify, print_notes, write_figure
from scorecube.declare.options import options_of
from scorecube.errors import BadPlan, BadStudy, default_flag, option
from scorecube.methods import index

if TYPE_CHECKING:
    import xarray as xr

    from scorecube.analyses.calculation import Calculation

COLLECTION = "collection"
SECTION = re.compile(r"\n\n(?=\w+\n-+\n)")
"""Before the first section of a docstring."""
ALL_ROWS = 1_000_000
Out = Annotated[OutPath, flag("--out", "Draw into this file: .png, .svg or .pdf.")]


def calculation_command(name: str) -> Callable[..., None]:
    """Return the function of a calculation's command, with a signature of declared options."""
    kind = index.calculation(name)
    options = {key: of for key, of in options_of(kind).items() if of.help}
    shared = {key: SHARED[key] for key in (COLLECTION, *kind.selects)}

    def command(context: typer.Context, study: Text, **values: Any) -> None:
        form = values.pop("form")
        out = values.pop("out", None)
        values = with_preset(context, values.pop("preset", None), name, values)
        record = kind(**{key: values.pop(key) for key in options})
        for key, value in values.items():
            if study is None and value != shared[key].default:
                text = f"{option(key)} selects from a STUDY; without one leave it out"
                raise BadPlan(text, option=key)
        run_calculation(record, study, values, form, out)

    described = SECTION.split(inspect.cleandoc(kind.__doc__ or name))[0]
    examples = (example.replace("STUDY", "study") for example in kind.examples)
    lines = (f"Example: scorecube {name} {example}" for example in examples)
    command.__doc__ = "\n\n".join([described, *lines])
    study = keyword("study", StudyPath)
    if kind.instead:
        help_text = f"Study whose scores it takes; or {default_flag(kind.instead)}."
        study = keyword("study", Annotated[Text, argument("STUDY", help_text)], None)
    behind = [keyword("form", FormatOption, "text")]
    if kind.view is not None and kind.view.figure is not None:
        behind.append(keyword("out", Out, None))
    if kind.presets:
        behind.append(keyword("preset", As, None))
    of_study = with_parameters(command, command, study)
    complete = with_options(options | shared)(of_study)
    return with_parameters(complete, complete, *behind)


def run_calculation(
    record: Calculation, study: str | None, values: Mapping[str, Any], form: str, out: Path | None
) -> None:
    """Print the results of a calculation, and exit with its status.

    study: Path or address; None for options that need no scores.
    values: Values of the shared options by name.
    form, out: Of the table; file of a figure.
    """
    from scorecube.report.drawing import check_figure_path, figure

    if out is not None:
        check_figure_path(out)
    results = calculated(record, study, values)
    if out is not None and len(results) > 1:
        raise BadPlan("a figure is of one collection; name one with --collection")
    print_notes({of.attrs.get(COLLECTION, record.name): of.attrs["notes"] for of in results})
    print_results(record, results, form)
    if out is not None:
        write_figure(figure(results[0]), out)
    raise typer.Exit(max(map(record.status, results)))


def calculated(
    record: Calculation, study: str | None, values: Mapping[str, Any]
) -> list[xr.Dataset]:
    """Return the results of options alone, of each collection, or of all together."""
    from scorecube.analyses.calculation import calculate, check_scores
    from scorecube.collection.selection import select
    from scorecube.storage import open_study

    check_scores(record, given=study is not None)
    if study is None:
        return [calculate(record, {})]
    opened = open_study(study)
    selection = {key: value for key, value in values.items() if key != COLLECTION}
    names = values[COLLECTION] or list(opened)
    if not names:
        raise BadStudy(f"{study}: no collections; add one with scorecube evaluate or import")
    read = {name: opened[name].cube_among(len(names)) for name in names}
    chosen, left_out = record.chosen(read, named=bool(values[COLLECTION]))
    for line in left_out:
        notify(f"note: {line}")
    cubes = {name: select(read[name], **selection) for name in chosen}
    if record.joins:
        return [calculate(record, cubes)]
    return [calculate(record, {name: cube}) for name, cube in cubes.items()]


def print_results(record: Calculation, results: list[xr.Dataset], form: str) -> None:
    """Print a table of results in a format, or what stands for it."""
    from scorecube.analyses.frames import combine, frame_of
    from scorecube.report.contents import as_json
    from scorecube.report.result_parts import table, view_of_result
    from scorecube.report.text_tables import lines_below

    document = record.document(results[0])
    if form == "text":
        echo_results(results, top=ALL_ROWS if record.joins else None)
    elif form == "json" and document is not None:
        echo(as_json(document))
    elif form in ("csv", "json"):
        echo_table(combine([table(result) for result in results]), form)
    else:
        view = view_of_result(results[0])
        frames = [frame_of(view.find_table(view.shown[0]), result) for result in results]
        caption = (lines_below(results) or [""])[-1]
        echo_table(combine(frames), form, caption=caption)
        for note in results[0].attrs["notes"] if form == "markdown" else ():
            echo(f"\n{note}")
