"""Commands design and wcw: topic set size design from variances, or from the scores of a study."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from scorecube.analyses.shared_options import SHARED
from scorecube.cli import options
from scorecube.cli.options import check_choice, parse_numbers
from scorecube.cli.terminal import echo_table, notify, split
from scorecube.errors import BadPlan, default_flag

if TYPE_CHECKING:
    import xarray as xr

Study = Annotated[
    Optional[str],
    typer.Argument(metavar="STUDY", help="Study to estimate variances from; or --variance."),
]
Variance = Annotated[
    Optional[str], typer.Option("--variance", help="Within-system variances, separated by commas.")
]
MinDiff = Annotated[
    Optional[str],
    typer.Option("--min-diff", help="Difference in mean score to detect; 0.1 by default."),
]
Width = Annotated[
    Optional[str],
    typer.Option("--width", help="Widest confidence interval (--method ci); 0.1 by default."),
]
AvailableTopics = Annotated[
    Optional[str],
    typer.Option(
        "--topics",
        help="Available numbers of topics, e.g. 50 or 25..100:25: compute the difference they detect, the power with "
        "--min-diff, or the width with --method ci.",
    ),
]
Systems = Annotated[str, typer.Option("--systems", help="Number of systems to compare (ANOVA).")]
Alpha = Annotated[
    str, typer.Option("--alpha", help="Significance level; 1 - confidence level of intervals.")
]
Beta = Annotated[
    str, typer.Option("--beta", help="Probability of a type II error; power is 1 - beta.")
]
Method = Annotated[
    str,
    typer.Option(
        "--method",
        help="anova (best and worst of several systems), t (paired t test) or ci (confidence interval).",
    ),
]
Mode = Annotated[
    str, typer.Option("--mode", help="exact power, or sakai: as in Sakai's spreadsheets.")
]
Sided = Annotated[
    int, typer.Option("--sided", min=1, max=2, help="2, or 1 for a one-sided t test.")
]
Selection = Mapping[str, Any]
SELECTION = {key: SHARED[key] for key in ("collection", "metrics", "gains", "runs")} | {
    "top_runs": replace(SHARED["top_runs"], minimum=1),
    "by": SHARED["by"],
}
"""Shared options that select scores of a study; one run has a variance, too."""
Format = options.Format
FigureFile = Annotated[
    Optional[Path],
    typer.Option("--figure", help="Also draw the result into this file: .png, .svg or .pdf."),
]


def of_study(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the shared options that select scores of a study; it takes their values as `selection`."""
    own = inspect.signature(command, eval_str=True).parameters

    @wraps(command)
    def selecting(**parsed: Any) -> None:
        values = {key: options.value_of(each, parsed[key]) for key, each in SELECTION.items()}
        command(**{key: parsed[key] for key in own if key in parsed}, selection=values)

    shared = {key: options.parameter(each) for key, each in SELECTION.items()}
    parameters: dict[str, Any] = {}
    for name, each in own.items():
        parameters |= shared if name == "selection" else {name: (each.annotation, each.default)}
    return options.with_parameters(selecting, parameters)


@of_study
def design(
    study: Study = None,
    variance: Variance = None,
    min_diff: MinDiff = None,
    width: Width = None,
    topics: AvailableTopics = None,
    systems: Systems = "10",
    alpha: Alpha = "0.05",
    beta: Beta = "0.2",
    method: Method = "anova",
    mode: Mode = "exact",
    sided: Sided = 2,
    *,
    selection: Selection,
    form: Format = "text",
    figure: FigureFile = None,
) -> None:
    """Topic set size design: how many topics does a test collection need?

    Example: scorecube design --variance 0.0441 --min-diff 0.1 --systems 10
    """
    from scorecube.design import METHODS, MODES

    check_choice("--method", method, METHODS)
    check_choice("--mode", mode, MODES)
    texts = {"min_diff": min_diff, "width": width, "alpha": alpha, "beta": beta}
    settings = {name: numbers_of(default_flag(name), text) for name, text in texts.items()}
    settings |= {
        name: integers_of(f"--{name}", text)
        for name, text in {"topics": topics, "systems": systems}.items()
    }
    settings |= {"method": method, "mode": mode, "sided": sided}
    check_output(form, figure)
    results = []
    for name, variances in find_variances(study, variance, selection).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the notes of the result repeat its text
            result = compute_design(variances, settings)
        results.append(result if study is None else result.assign_attrs(collection=name))
    show(results, form, figure)


@of_study
def wcw(
    study: Study = None,
    variance: Variance = None,
    topics: Annotated[
        str, typer.Option("--topics", help="Numbers of topics, e.g. 10..200 or 25,50,100.")
    ] = "10..200",
    route: Annotated[
        str,
        typer.Option(
            "--route",
            help="ci: the expected width; anova-tool or anova-exact: the difference that ANOVA detects with this number of "
            "topics, as in S2; several are separated by commas.",
        ),
    ] = "ci",
    systems: Systems = "10",
    alpha: Alpha = "0.05",
    beta: Beta = "0.2",
    *,
    selection: Selection,
    form: Format = "text",
    figure: FigureFile = None,
) -> None:
    """Worst-case width of confidence intervals by number of topics, to compare measures.

    Example: scorecube wcw --variance 0.0368,0.0824 --topics 10..200 --figure wcw.png
    """
    from scorecube import design as calculators

    n_topics, routes = integers_of("--topics", topics), split(route) or []
    settings = {
        "route": routes[0] if len(routes) == 1 else routes,
        "systems": integers_of("--systems", systems),
        "alpha": numbers_of("--alpha", alpha),
        "beta": numbers_of("--beta", beta),
    }
    check_output(form, figure)
    results = []
    for name, found in find_variances(study, variance, selection).items():
        variances = found if study is None else found["variance"]
        result = calculators.wcw(variances, n_topics, **settings)
        results.append(result if study is None else result.assign_attrs(collection=name))
    show(results, form, figure)


def compute_design(variances: Any, settings: dict[str, Any]) -> xr.Dataset:
    """Return the numbers of topics; or, for numbers of topics, the width, difference or power."""
    import xarray as xr

    from scorecube.design import (
        achieved_power,
        detectable_difference,
        expected_width,
        topic_set_size,
        topic_set_size_of_cube,
    )

    difference, width, topics = settings["min_diff"], settings["width"], settings["topics"]
    shared = {key: settings[key] for key in ("systems", "alpha", "method", "mode", "sided")}
    if topics is None and isinstance(variances, xr.Dataset):
        requirements = {"min_diff": difference, "width": width, "beta": settings["beta"]}
        return topic_set_size_of_cube(variances, **requirements, **shared)
    variances = variances["variance"] if isinstance(variances, xr.Dataset) else variances
    if topics is None:
        return topic_set_size(variances, difference, width=width, beta=settings["beta"], **shared)
    if width is not None or (settings["method"] == "ci" and difference is not None):
        flag = "--width" if width is not None else "--min-diff"
        raise BadPlan(
            f"--topics with {flag}: the width is computed from the numbers of topics; leave {flag} out"
        )
    if settings["method"] == "ci":
        return expected_width(variances, topics, alpha=settings["alpha"])
    if difference is None:
        return detectable_difference(variances, topics, beta=settings["beta"], **shared)
    return achieved_power(variances, difference, topics, **shared)


def find_variances(study: str | None, variance: str | None, selection: Selection) -> dict[str, Any]:
    """Return variances by collection: those of --variance under an empty name, else datasets with intervals."""
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
        return {"": numbers_of("--variance", variance)}
    from scorecube.collection.schema import labels_of
    from scorecube.collection.selection import select
    from scorecube.design import variance_intervals
    from scorecube.design.uncertainty import teams_of_runs
    from scorecube.errors import BadStudy
    from scorecube.names import RUN, TOPIC_GROUPS
    from scorecube.storage import open_study

    opened = open_study(study)
    of_cube = dict(selection)
    chosen = of_cube.pop("collection") or list(opened)
    if not chosen:
        raise BadStudy(
            f"{study}: no collection to estimate variances from; add one with scorecube evaluate or scorecube import"
        )
    variances = {}
    for name in chosen:
        cube = select(opened[name].cube, **of_cube)
        variances[name] = variance_intervals(cube)
        if TOPIC_GROUPS in variances[name].attrs:
            notify(f"{name}: {variances[name].attrs[TOPIC_GROUPS]}")
        others = "runs" if teams_of_runs(cube) == labels_of(cube, RUN) else "teams"
        notify(
            f"{name}: variances of {cube.sizes['run']} runs x {cube.sizes['topic']} topics; limits: 95%, for other topics and {others}"
        )
    return variances


def show(results: Sequence[xr.Dataset], form: str, figure: Path | None) -> None:
    """Print the table and the notes of results, and draw them if a figure is requested."""
    from scorecube.report.results import table, view_of_result
    from scorecube.report.tables.rows import combine

    for note in dict.fromkeys(note for result in results for note in result.attrs["notes"]):
        notify(f"note: {note}")
    echo_table(combine([table(result) for result in results]), form)
    if figure is None:
        return
    from scorecube.report.figures.files import save_figure

    for note in save_figure(view_of_result(results[0]).draw_overview(results), figure):
        notify(f"note: {note}")
    notify(f"figure written to {figure}")


def check_output(form: str, figure: Path | None) -> None:
    """Refuse an output that cannot be written, before anything is computed."""
    from scorecube.report.text_formats import FORMATS

    check_choice("--format", form, FORMATS)
    if figure is not None:
        from scorecube.report.figures.files import check_figure_path

        check_figure_path(figure)


def numbers_of(flag: str, text: str | None) -> Any:
    """Return the number of a text, or a list of several; None if the option is not set."""
    if text is None:
        return None
    values = parse_numbers(flag, text)
    if not values:
        raise BadPlan(f"{flag} {text!r}: expected at least one number")
    return values[0] if len(values) == 1 else list(values)


def integers_of(flag: str, text: str | None) -> Any:
    """Return the integer of a text such as 50, or a list for 25,50 or 10..200:10; None if the option is not set."""
    from scorecube.analyses.topic_samples.base import parse_sizes

    if text is None:
        return None
    try:
        values = parse_sizes(text)
    except BadPlan:
        raise BadPlan(
            f"{flag} {text!r} is not whole numbers like 50, or 25,50,100, or 10..200:10, of at most 1,000 each"
        ) from None
    return values[0] if len(values) == 1 else list(values)


COMMANDS = (design, wcw)
