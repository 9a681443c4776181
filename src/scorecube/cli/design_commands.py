"""Commands design and wcw: topic set size design from variances, or from the scores of a study."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

from scorecube.analyses.options import Option
from scorecube.analyses.shared_options import SHARED
from scorecube.cli import options
from scorecube.cli.options import argument, check_choice, flag, parse_numbers
from scorecube.cli.terminal import echo_results, echo_table, notify, split, write_figure
from scorecube.errors import BadPlan, BadStudy, default_flag, option

if TYPE_CHECKING:
    import xarray as xr

Study = Annotated[
    Optional[str], argument("STUDY", "Study to estimate variances from; or --variance.")
]
FigureFile = Annotated[
    Optional[Path], flag("--figure", "Also draw into this file: .png, .svg or .pdf.", "--out")
]
SELECTION = {key: SHARED[key] for key in ("collection", "metrics", "gains", "runs")} | {
    "top_runs": replace(SHARED["top_runs"], minimum=1),
    "by": SHARED["by"],
    "missing": SHARED["missing"],
}
"""Shared options that select scores of a study; one run has a variance, too."""


def numbers_of(name: str, text: str) -> Any:
    """Return the number of a text, or a list of several."""
    values = parse_numbers(default_flag(name), text)
    if not values:
        raise BadPlan(f"{default_flag(name)} {text!r}: expected at least one number")
    return values[0] if len(values) == 1 else list(values)


def integers_of(name: str, text: str) -> Any:
    """Return the integer of a text such as 50, or a list for 25,50 or 10..200:10."""
    from scorecube.analyses.two_samples import parse_sizes

    try:
        values = parse_sizes(text)
    except BadPlan:
        raise BadPlan(
            f"{default_flag(name)} {text!r} is not whole numbers like 50, or 25,50,100, or "
            "10..200:10, of at most 1,000 each"
        ) from None
    return values[0] if len(values) == 1 else list(values)


def _numbers(name: str, default: Any, text: str, read: Callable[..., Any] = numbers_of) -> Option:
    return Option(text, name=name, default=default, convert=partial(read, name))


def _choice(name: str, default: Any, choices: tuple[str, ...], text: str) -> Option:
    return Option(text, name=name, default=default, choices=choices)


_VARIANCE = _numbers("variance", None, "Variances of scores, separated by commas.")
_SHARED = (
    _numbers("systems", 10, "Number of systems to compare (ANOVA).", integers_of),
    _numbers("alpha", 0.05, "Significance level; 1 - confidence level of intervals."),
    _numbers("beta", 0.2, "Probability of a type II error; power is 1 - beta."),
)
DESIGN = (
    _VARIANCE,
    _numbers("min_diff", None, "Difference in mean score to detect; 0.1 by default."),
    _numbers("width", None, "Widest confidence interval (--method ci); 0.1 by default."),
    *_SHARED,
    _choice(
        *("method", "anova", ("anova", "t", "ci")),
        "anova (best and worst of several systems), t (paired t test) or ci (confidence interval).",
    ),
    _choice(
        *("mode", "exact", ("exact", "sakai")), "exact power, or sakai: as in Sakai's spreadsheet."
    ),
    _choice(
        *("curves", None, ("noncentrality", "tools")),
        "Draw Figure 1 or 2 of Sakai 2017 into --out: noncentrality by number of systems, or "
        "topics by width and by difference.",
    ),
)
WCW = (
    _VARIANCE,
    _numbers("topics", "10..200", "Numbers of topics, e.g. 10..200 or 25,50,100.", integers_of),
    Option(
        "ci: the expected width; anova-tool or anova-exact: the difference that ANOVA detects with "
        "this number of topics, as in Sakai 2017; several are separated by commas.",
        name="route",
        default="ci",
    ),
    *_SHARED,
)


def from_variances(own: Sequence[Option]) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Return a decorator that makes a command of a function of variances or scores."""
    declared = {each.name: each for each in own}

    def decorate(compute: Callable[..., Any]) -> Callable[..., None]:
        def reading(study: str | None, form: str, figure: Path | None, **parsed: Any) -> None:
            values, selection = (
                {key: options.value_of(each, parsed[key]) for key, each in known.items()}
                for known in (declared, SELECTION)
            )
            check_output(form, figure)
            if curves := values.pop("curves", None):
                draw_curves(curves, figure, study, values)
                return
            variance = values.pop("variance")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # notes of results repeat their text
                if study is None or variance is not None:
                    check_variance(study, variance, selection)
                    results = [compute(variance, False, values)]
                else:
                    results = [
                        compute(cube, True, values).assign_attrs(collection=name)
                        for name, cube in cubes_of_study(study, selection)
                    ]
            show(results, form, figure)

        reading.__name__, reading.__doc__ = compute.__name__, compute.__doc__
        parameters = {"study": (Study, None)} | {
            key: options.parameter(each) for key, each in (declared | SELECTION).items()
        }
        return options.with_parameters(
            reading, parameters | {"form": (options.Format, "text"), "figure": (FigureFile, None)}
        )

    return decorate


@from_variances(DESIGN)
def design(source: Any, of_study: bool, values: dict[str, Any]) -> xr.Dataset:
    """Topic set size design: how many topics does a test collection need?

    Example: scorecube design --variance 0.0441 --min-diff 0.1 --systems 10

    Example: scorecube design --curves tools --variance 0.0182,0.1145 --out s2-figure-2.png
    """
    from scorecube.analyses.designs import design_of_cube, with_options
    from scorecube.design import topic_set_size

    if not of_study:
        return topic_set_size(source, **values)
    result = design_of_cube(source, **values)
    one = not {*result["topics"].dims} - {"metric", "gain"}
    return with_options(result) if one and result.attrs["method"] == "anova" else result


@from_variances(WCW)
def wcw(source: Any, of_study: bool, values: dict[str, Any]) -> xr.Dataset:
    """Worst-case width of confidence intervals by number of topics, to compare measures.

    Example: scorecube wcw --variance 0.0368,0.0824 --topics 10..200 --figure wcw.png
    """
    from scorecube import design
    from scorecube.analyses.designs import widths_of_cube

    routes = split(values["route"]) or []
    values = values | {"route": routes[0] if len(routes) == 1 else routes}
    return (widths_of_cube if of_study else design.wcw)(source, **values)


def draw_curves(
    curves: str, out: Path | None, study: str | None, values: Mapping[str, Any]
) -> None:
    """Draw a figure of Sakai 2017."""
    from scorecube.analyses.design_curves import EXTREME_VARIANCES
    from scorecube.report import design
    from scorecube.report.figures.canvas import drawn

    variance = values["variance"]
    if out is None or study is not None or (curves == "noncentrality" and variance is not None):
        raise BadPlan(
            "--curves draws into --out FILE, without a STUDY; only the curves of tools depend on "
            "--variance"
        )
    if curves == "noncentrality":
        write_figure(drawn(design.noncentrality_curves), out)
        return
    chosen = [variance] if isinstance(variance, float) else variance or EXTREME_VARIANCES
    write_figure(drawn(design.tool_curves, chosen), out)


def check_variance(study: str | None, variance: Any, selection: Mapping[str, Any]) -> None:
    """Refuse neither a study nor variances, both, or variances with options that select scores."""
    if (study is None) == (variance is None):
        found = "neither" if study is None else "both"
        raise BadPlan(
            "variances come from --variance V or from the scores of a STUDY; "
            f"found {found}, expected one of them"
        )
    unused = [name for name, value in selection.items() if value != SELECTION[name].default]
    if unused:
        raise BadPlan(f"{option(unused[0])} selects from a STUDY; with --variance leave it out")


def cubes_of_study(study: str, selection: Mapping[str, Any]) -> Iterator[tuple[str, xr.Dataset]]:
    """Yield the scores that variances are estimated from, by collection."""
    from scorecube.collection.selection import select
    from scorecube.storage import open_study

    opened, chosen = open_study(study), dict(selection)
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


def show(results: Sequence[xr.Dataset], form: str, figure: Path | None) -> None:
    """Print the table and the notes of results, and draw them if a figure is requested."""
    from scorecube.report.results import table, view_of_result
    from scorecube.report.tables import combine

    if figure is not None and len(results) > 1:
        raise BadPlan("a figure is of one collection; name one with --collection")
    for note in dict.fromkeys(note for result in results for note in result.attrs["notes"]):
        notify(f"note: {note}")
    if form == "text":
        echo_results(results)
    else:
        echo_table(combine([table(result) for result in results]), form)
    if figure is not None:
        write_figure(view_of_result(results[0]).draw(results[0]), figure)


def check_output(form: str, figure: Path | None) -> None:
    """Refuse an output that cannot be written, before anything is computed."""
    from scorecube.report.text_formats import FORMATS

    check_choice("--format", form, FORMATS)
    if figure is not None:
        from scorecube.report.figures.files import check_figure_path

        check_figure_path(figure)
