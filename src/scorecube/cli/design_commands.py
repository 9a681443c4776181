"""Commands design and wcw: numbers of topics from variances, or from the scores of a study."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

from typer import Context

from scorecube.analyses.shared_options import SHARED
from scorecube.cli.options import (
    As,
    File,
    Form,
    Text,
    VarianceOf,
    argument,
    flag,
    with_options,
    with_preset,
)
from scorecube.cli.terminal import echo_results, echo_table, notify, split, write_figure
from scorecube.declare.options import Option
from scorecube.errors import BadPlan, BadStudy, option

if TYPE_CHECKING:
    import xarray as xr

Study = Annotated[Text, argument("STUDY", "Study to estimate variances from; or --variance.")]
Out = Annotated[File, flag("--out", "Draw into this file: .png, .svg or .pdf.")]
METHOD = "Best and worst of several systems, paired t test, or interval."
MODE = "Exact power, or as in Sakai's spreadsheet."
CURVES = "Draw Figure 1 or 2 of Sakai 2017 into --out."
ROUTE = "ci: expected width; anova-tool or anova-exact: difference that ANOVA detects; or several."
SELECTION = {key: SHARED[key] for key in ("collection", "metrics", "gains", "runs", "by")} | {
    "top_runs": replace(SHARED["top_runs"], minimum=1),
    "missing": SHARED["missing"],
}
"""Shared options that select scores of a study; one run has a variance, too."""

ALPHA = "Significance level; 1 - confidence level of intervals."
BETA = "Probability of a type II error; power is 1 - beta."
FLOATS: Any = float | tuple[float, ...] | None
COUNTS: Any = int | tuple[int, ...] | None
NUMBERS = (
    Option(
        "Variances of scores, separated by commas; AP=0.0471 names one.",
        name="variance",
        type=tuple[str, ...] | None,
    ),
    Option("Difference in mean score to detect; 0.1 by default.", name="min_diff", type=FLOATS),
    Option("Widest confidence interval (--method ci); 0.1 by default.", name="width", type=FLOATS),
    Option("Numbers of topics, e.g. 25,50,100; 10 to 200 by default.", name="topics", type=COUNTS),
    Option("Number of systems to compare (ANOVA).", name="systems", type=COUNTS, default=10),
    Option(ALPHA, name="alpha", type=FLOATS, default=0.05),
    Option(BETA, name="beta", type=FLOATS, default=0.2),
)
"""Options of numbers, each one or several."""


def options_of(*names: str) -> dict[str, Option]:
    """Return options of numbers, and those that select scores of a study."""
    return {number.name: number for number in NUMBERS if number.name in names} | SELECTION


@with_options(options_of("variance", "min_diff", "width", "systems", "alpha", "beta"))
def design(
    context: Context,
    study: Study = None,
    *,
    method: Annotated[Literal["anova", "t", "ci"], flag("--method", METHOD)] = "anova",
    mode: Annotated[Literal["exact", "sakai"], flag("--mode", MODE)] = "exact",
    variance_of: VarianceOf = None,
    curves: Annotated[Optional[Literal["noncentrality", "tools"]], flag("--curves", CURVES)] = None,
    form: Form = "text",
    out: Out = None,
    preset: As = None,
    **values: Any,
) -> None:
    """Topic set size design: how many topics does a test collection need?

    Example: scorecube design --variance 0.0441 --min-diff 0.1 --systems 10

    Example: scorecube design --curves tools --variance 0.0182,0.1145 --out s2-figure-2.png
    """
    from scorecube.methods.design.estimates import design_of_cube, with_options
    from scorecube.methods.design.sizes import topic_set_size

    values |= {"method": method, "mode": mode, "variance_of": variance_of}
    values = with_preset(context, preset, "design", values)

    def of_cube(cube: xr.Dataset, **how: Any) -> xr.Dataset:
        result = design_of_cube(cube, **how)
        one = not {*result["topics"].dims} - {"metric", "gain"}
        return with_options(result) if one and method == "anova" else result

    if curves is not None:
        draw_curves(curves, out, study, read_variances(values["variance"]))
        return
    show(compute(study, values, topic_set_size, of_cube), form, out)


@with_options(options_of("variance", "topics", "systems", "alpha", "beta"))
def wcw(
    context: Context,
    study: Study = None,
    route: Annotated[str, flag("--route", ROUTE)] = "ci",
    form: Form = "text",
    out: Out = None,
    preset: As = None,
    **values: Any,
) -> None:
    """Worst-case width of confidence intervals by number of topics, to compare measures.

    Example: scorecube wcw --variance Q=0.0368,AP=0.0824 --out wcw.png
    """
    from scorecube.methods.design.estimates import widths_of_cube
    from scorecube.methods.design.sizes import wcw as worst_case_widths

    values = with_preset(context, preset, "wcw", values | {"route": route})
    topics = values["topics"] or range(10, 201)
    values |= {"route": split(values["route"]), "topics": topics}
    show(compute(study, values, worst_case_widths, widths_of_cube), form, out)


def read_variances(words: Sequence[str] | None) -> dict[str, float] | list[float] | None:
    """Return variances, by measure where words name them as AP=0.0471 (BadPlan for others)."""
    parts = [word.rpartition("=") for word in words or ()]
    try:
        found = {name or number: float(number) for name, _, number in parts}
    except ValueError:
        wrong = f"{option('variance', ','.join(words or ()))}: expected such as 0.0471 or AP=0.0471"
        raise BadPlan(wrong, option="variance") from None
    has_names = any(name for name, _, _ in parts)
    return found if has_names else list(found.values()) or None


def _single(value: object) -> Any:
    """Return the number of a list of one, and others as they are."""
    return value[0] if isinstance(value, list | tuple) and len(value) == 1 else value


def compute(
    study: str | None,
    values: dict[str, Any],
    from_variance: Callable[..., xr.Dataset],
    from_cube: Callable[..., xr.Dataset],
) -> list[xr.Dataset]:
    """Return the results of variances, or of each collection of a study.

    study: Path or address; None for variances.
    values: Options by name.
    from_variance, from_cube: Called with variances or scores, and the other options.
    """
    selection = {name: values.pop(name) for name in SELECTION}
    variance = _single(read_variances(values.pop("variance")))
    values = {key: _single(value) for key, value in values.items()}
    if (study is None) == (variance is None):
        raise BadPlan(
            "variances come from --variance V or from the scores of a STUDY; found "
            f"{'neither' if study is None else 'both'}, expected one of them"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # notes of results repeat their text
        if study is not None:
            return [
                from_cube(cube, **values).assign_attrs(collection=name)
                for name, cube in cubes_of_study(study, selection)
            ]
        if unused := [
            name for name, value in selection.items() if value != SELECTION[name].default
        ]:
            raise BadPlan(f"{option(unused[0])} selects from a STUDY; with --variance leave it out")
        return [from_variance(variance, **values)]


def cubes_of_study(study: str, selection: Mapping[str, Any]) -> Iterator[tuple[str, xr.Dataset]]:
    """Yield the scores that variances are estimated from, by collection."""
    from scorecube.collection.selection import select
    from scorecube.storage import open_study

    opened = open_study(study)
    chosen = dict(selection)
    names = chosen.pop("collection") or list(opened)
    if not names:
        raise BadStudy(
            f"{study}: no collection to estimate variances from; add one with scorecube evaluate "
            "or scorecube import"
        )
    for name in names:
        cube = select(opened[name].cube, **chosen)
        notify(f"{name}: variances of {cube.sizes['run']} runs x {cube.sizes['topic']} topics")
        yield name, cube


def draw_curves(curves: str, out: Path | None, study: str | None, variance: Any) -> None:
    """Draw a figure of Sakai 2017."""
    from scorecube.methods.design import estimates
    from scorecube.report.drawing import drawn

    of_tools = curves == "tools"
    if out is None or study is not None or (variance is not None and not of_tools):
        raise BadPlan(
            "--curves draws into --out FILE, without a STUDY; only the curves of tools depend on "
            "--variance"
        )
    picture = estimates.tool_curves if of_tools else estimates.noncentrality_curves
    write_figure(drawn(picture, *([variance] if variance else [])), out)


def show(results: Sequence[xr.Dataset], form: str, out: Path | None) -> None:
    """Print the table and the notes of results, and draw them if a figure is requested."""
    from scorecube.analyses.frames import combine
    from scorecube.report.drawing import check_figure_path, figure
    from scorecube.report.results import table

    if out is not None:
        check_figure_path(out)
        if len(results) > 1:
            raise BadPlan("a figure is of one collection; name one with --collection")
    notes = chain.from_iterable(result.attrs["notes"] for result in results)
    for note in dict.fromkeys(notes):
        notify(f"note: {note}")
    if form == "text":
        echo_results(results)
    else:
        echo_table(combine([table(result) for result in results]), form)
    if out is not None:
        write_figure(figure(results[0]), out)
