"""Commands design and wcw: topic set size design from variances, or from the scores of a study."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

from scorecube.analyses.options import Option
from scorecube.analyses.shared_options import SHARED
from scorecube.cli import options
from scorecube.cli.options import argument, check_choice, flag, parse_numbers
from scorecube.cli.terminal import echo_results, echo_table, notify, split, write_figure
from scorecube.errors import BadPlan, BadStudy, default_flag

if TYPE_CHECKING:
    import xarray as xr

Values = Mapping[str, Any]
Study = Annotated[
    Optional[str], argument("STUDY", "Study to estimate variances from; or --variance.")
]
FigureFile = Annotated[
    Optional[Path], flag("--figure", "Also draw the result into this file: .png, .svg or .pdf.")
]
SELECTION = {key: SHARED[key] for key in ("collection", "metrics", "gains", "runs")} | {
    "top_runs": replace(SHARED["top_runs"], minimum=1),
    "by": SHARED["by"],
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
    from scorecube.analyses.topic_samples.base import parse_sizes

    try:
        values = parse_sizes(text)
    except BadPlan:
        raise BadPlan(
            f"{default_flag(name)} {text!r} is not whole numbers like 50, or 25,50,100, or 10..200:10, of at most 1,000 each"
        ) from None
    return values[0] if len(values) == 1 else list(values)


def _numbers(name: str, default: Any, text: str, read: Callable[..., Any] = numbers_of) -> Option:
    return Option(text, name=name, default=default, convert=partial(read, name))


_VARIANCE = _numbers("variance", None, "Within-system variances, separated by commas.")
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
    Option(
        "anova (best and worst of several systems), t (paired t test) or ci (confidence interval).",
        choices=("anova", "t", "ci"),
        name="method",
        default="anova",
    ),
    Option(
        "exact power, or sakai: as in Sakai's spreadsheets.",
        choices=("exact", "sakai"),
        name="mode",
        default="exact",
    ),
)
WCW = (
    _VARIANCE,
    _numbers("topics", "10..200", "Numbers of topics, e.g. 10..200 or 25,50,100.", integers_of),
    Option(
        "ci: the expected width; anova-tool or anova-exact: the difference that ANOVA detects with this number of topics, as in Sakai 2017; several "
        "are separated by commas.",
        name="route",
        default="ci",
    ),
    *_SHARED,
)


def from_variances(
    own: Sequence[Option],
) -> Callable[[Callable[..., xr.Dataset]], Callable[..., None]]:
    """Return a decorator that makes a command of a function of variances and the values of declared options.

    The variances are those of an option, or a dataset of a collection; the command also has the options that select its scores.
    """
    declared = {option.name: option for option in own}

    def decorate(compute: Callable[..., xr.Dataset]) -> Callable[..., None]:
        def reading(study: str | None, form: str, figure: Path | None, **parsed: Any) -> None:
            values, selection = (
                {key: options.value_of(each, parsed[key]) for key, each in known.items()}
                for known in (declared, SELECTION)
            )
            check_output(form, figure)
            found = find_variances(study, values.pop("variance"), selection)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # notes of results repeat their text
                results = [
                    compute(variances, dict(values)).assign_attrs(facts)
                    for variances, facts in found
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
def design(variances: Any, values: dict[str, Any]) -> xr.Dataset:
    """Topic set size design: how many topics does a test collection need?

    Example: scorecube design --variance 0.0441 --min-diff 0.1 --systems 10
    """
    import xarray as xr

    from scorecube import design as calculators

    of_study = isinstance(variances, xr.Dataset)
    sizes = calculators.topic_set_size_of_cube if of_study else calculators.topic_set_size
    return sizes(variances, **values)


@from_variances(WCW)
def wcw(variances: Any, values: dict[str, Any]) -> xr.Dataset:
    """Worst-case width of confidence intervals by number of topics, to compare measures.

    Example: scorecube wcw --variance 0.0368,0.0824 --topics 10..200 --figure wcw.png
    """
    from scorecube import design as calculators

    routes = split(values["route"]) or []
    values["route"] = routes[0] if len(routes) == 1 else routes
    return calculators.wcw(one_way(variances), **values)


def described(result: xr.Dataset) -> xr.Dataset:
    """Return a result with what a page says of a design of a collection for one difference between several systems."""
    from scorecube.analyses.designs import TOPICS_AT_HAND, with_options

    one = "topics_low" in result and not {*result["topics"].dims} - {"metric", "gain"}
    if not one or result.attrs["method"] != "anova":
        return result
    return with_options(result).assign_attrs({TOPICS_AT_HAND: result.attrs["n_topics"]})


def one_way(variances: Any) -> Any:
    """Return the variances within systems, without intervals."""
    import xarray as xr

    return variances["variance"] if isinstance(variances, xr.Dataset) else variances


def find_variances(
    study: str | None, variance: Any, selection: Mapping[str, Any]
) -> list[tuple[Any, dict[str, Any]]]:
    """Return variances with facts of their collection: those of --variance without, else datasets with intervals."""
    if (study is None) == (variance is None):
        found = "neither" if study is None else "both"
        raise BadPlan(
            f"variances come from --variance V or from the scores of a STUDY; found {found}, expected one of them"
        )
    if study is None:
        unused = [name for name, value in selection.items() if value is not None]
        if unused:
            raise BadPlan(
                f"{default_flag(unused[0])} selects from a STUDY; with --variance leave it out"
            )
        return [(variance, {})]
    from scorecube.collection.schema import labels_of
    from scorecube.collection.selection import select
    from scorecube.collection.topic_groups import by_group
    from scorecube.design import variance_intervals
    from scorecube.design.uncertainty import teams_of_runs
    from scorecube.names import ABOUT_TOPICS, RUN
    from scorecube.storage import open_study

    opened = open_study(study)
    of_cube = dict(selection)
    chosen = of_cube.pop("collection") or list(opened)
    if not chosen:
        raise BadStudy(
            f"{study}: no collection to estimate variances from; add one with scorecube evaluate or scorecube import"
        )
    found_variances = []
    for name in chosen:
        cube = select(opened[name].cube, **of_cube)
        facts = {
            "collection": name,
            "n_runs": cube.sizes["run"],
            "n_topics": by_group(cube).sizes["topic"],
        }
        estimated = variance_intervals(cube)
        for key in ABOUT_TOPICS:
            if key in estimated.attrs:
                notify(f"{name}: {estimated.attrs[key]}")
        found_variances.append((estimated, facts))
        others = "runs" if teams_of_runs(cube) == labels_of(cube, RUN) else "teams"
        notify(
            f"{name}: variances of {cube.sizes['run']} runs x {cube.sizes['topic']} topics; limits: 95%, for other topics and {others}"
        )
    return found_variances


def show(results: Sequence[xr.Dataset], form: str, figure: Path | None) -> None:
    """Print the table and the notes of results, and draw them if a figure is requested."""
    from scorecube.report.results import table, view_of_result
    from scorecube.report.tables import combine

    if figure is not None and len(results) > 1:
        raise BadPlan("a figure is of one collection; name one with --collection")
    for note in dict.fromkeys(note for result in results for note in result.attrs["notes"]):
        notify(f"note: {note}")
    if form == "text":
        echo_results([described(result) for result in results])
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
