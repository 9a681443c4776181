"""Commands compare and gate: is one system better than another, and must a job fail?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import typer

from scorecube.cli import options
from scorecube.cli.options import Text, argument, flag
from scorecube.cli.terminal import echo, echo_table, is_quiet, split
from scorecube.errors import BadPlan, option

if TYPE_CHECKING:
    import xarray as xr

Collections = Annotated[Text, flag("--collections", "Collections; all by default.")]
Metrics = Annotated[Text, flag("--metrics", "Metrics; all by default.")]
Judged = Annotated[
    Text, flag("--metrics", "Metrics that are judged; those with a margin, or the first one.")
]
Missing = Annotated[
    Literal["refuse", "drop"],
    flag("--missing", "Topics with missing scores of either: no verdict, or drop them."),
]
Numbers = Optional[str]
GateForm = Annotated[
    Literal["text", "json", "markdown"],
    flag("--format", "Text, one JSON object, or a table for a pull request."),
]
Form = Annotated[Literal["text", "json"], flag("--format", "Text, or JSON for programs.")]


def compare(
    study: options.StudyPath,
    run: Annotated[str, argument("RUN", "System: a run, or a system with repetitions.")],
    baseline: Annotated[str, argument("BASELINE", "System that it is compared with.")],
    metrics: Metrics = None,
    collections: Collections = None,
    missing: Missing = "refuse",
    form: Form = "text",
) -> None:
    """Compare two systems: differences with limits, wins, ties and losses.

    Example: scorecube compare nightly.zarr ours main
    """
    from scorecube.methods.compare import comparison

    scores = _cubes(study, collections)
    how: Any = {"metrics": split(metrics), "missing": missing}
    _show(comparison.compare(scores, run, baseline, **how), form)


def gate(
    study: options.StudyPath,
    *,
    run: Annotated[str, flag("--run", "System to judge: a run, or a system with repetitions.")],
    baseline: Annotated[Text, flag("--baseline", "System that it is compared with.")] = None,
    margin: Annotated[
        Numbers,
        flag("--margin", "Largest loss that does not matter: a number, or A=0.02,B=0.5 by metric."),
    ] = None,
    at_least: Annotated[
        Numbers,
        flag("--at-least", "Least mean, in place of baseline and margin: a number, or A=X,B=X."),
    ] = None,
    metrics: Judged = None,
    collections: Collections = None,
    each: Annotated[
        bool, flag("--each", "Judge every collection, too, not only the mean over them.")
    ] = False,
    missing: Missing = "refuse",
    allow_undecided: Annotated[
        bool,
        flag("--allow-undecided", "Status 0 where no row is shown to be better or worse, too."),
    ] = False,
    form: GateForm = "text",
) -> None:
    """Judge a system against a baseline; exit with status 3 if it fails, 4 without a verdict.

    One decision a metric, about the mean over the collections: it passes where the lower limit of
    the difference is above -margin, and fails where the upper limit is below -margin, after Holm
    over all rows that are judged. 95% limits: a loss of the margin passes in about 2.5% of samples,
    and fails in at most as many.

    Example: scorecube gate nightly.zarr --run ours --baseline main --margin 0.01
    """
    from scorecube.methods.compare import comparison
    from scorecube.methods.compare.gate import gate as judge
    from scorecube.methods.compare.view import what_is_shown

    scores = _cubes(study, collections)
    if baseline is not None and margin is None and at_least is None:
        how: Any = {"metrics": split(metrics), "missing": missing}
        compared = comparison.compare(scores, run, baseline, **how)
        raise BadPlan(f"{option('margin')} is missing; {what_is_shown(compared)}", option="margin")
    judged = judge(
        scores,
        run,
        baseline,
        margin=_numbers(margin, "--margin"),
        at_least=_numbers(at_least, "--at-least"),
        metrics=split(metrics),
        each=each,
        allow_undecided=allow_undecided,
        missing=missing,
    )
    _show(judged, form)
    raise typer.Exit(judged.attrs["status"])


def _numbers(text: str | None, name: str) -> float | dict[str, float] | None:
    """Return a number, or numbers by metric, of an option."""
    if text is None:
        return None
    by_metric = {}
    for word in split(text) or ():
        metric, _, number = word.rpartition("=")
        try:
            by_metric[metric] = float(number)
        except ValueError:
            wanted = "a number, or metrics with numbers such as f1=0.02,latency=5"
            said = f"{word!r} is not valid: expected {wanted}"
            raise typer.BadParameter(said, param_hint=name) from None
    return by_metric[""] if set(by_metric) == {""} else by_metric


def _cubes(study: str, collections: Text) -> Any:
    """Return the cubes of a study, or some of them, by name."""
    from scorecube.storage import open_study

    opened = open_study(study)
    chosen = split(collections) or list(opened)
    return {name: opened[name].cube_among(len(chosen)) for name in chosen}


def _show(compared: xr.Dataset, form: str) -> None:
    """Print a comparison, or a gate."""
    from scorecube.methods.compare import view as comparison
    from scorecube.report.contents import as_json

    if form == "json" and "status" in compared.attrs:
        echo(as_json(comparison.document(compared)))
    elif form == "json":
        echo_table(comparison.table_of(compared), "json")
    elif form == "markdown":
        sentence = comparison.sentence(compared)
        echo_table(comparison.readable(compared), form, caption=sentence)
        for note in compared.attrs["notes"]:
            echo(f"\n{note}")
    elif not is_quiet():
        shown = comparison.readable(compared)
        is_gate = "status" in compared.attrs
        echo_table(shown.drop(columns="reason", errors="ignore") if is_gate else shown, "text")
        for reason in comparison.reasons(compared) if is_gate else ():
            echo(reason)
        for note in compared.attrs["notes"]:
            echo(note)
        echo(comparison.sentence(compared))
