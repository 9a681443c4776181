"""Commands compare and gate: is one system better than another, and must a job fail?"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Optional

import typer

from scorecube.cli import options
from scorecube.cli.options import Text, argument, flag
from scorecube.cli.terminal import echo, echo_table, is_quiet, split
from scorecube.errors import BadPlan, option

FAILED, UNDECIDED = 3, 4
"""Exit statuses of a gate."""
Collections = Annotated[Text, flag("--collections", "Collections; all by default.")]
Metrics = Annotated[Text, flag("--metrics", "Metrics; all by default.")]
Missing = Annotated[
    Literal["refuse", "drop"],
    flag("--missing", "Topics with missing scores of either: no verdict, or drop them."),
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
    from scorecube.workflow import comparison

    scores = _cubes(study, collections)
    how: Any = {"metrics": split(metrics), "missing": missing}
    _show(comparison.compare(scores, run, baseline, **how), form)


def gate(
    study: options.StudyPath,
    run: Annotated[str, flag("--run", "System to judge: a run, or a system with repetitions.")],
    baseline: Annotated[str, flag("--baseline", "System that it is compared with.")],
    margin: Annotated[
        Optional[float], flag("--margin", "Largest loss that does not matter, as a score.")
    ] = None,
    metrics: Metrics = None,
    collections: Collections = None,
    missing: Missing = "refuse",
    allow_undecided: Annotated[
        bool, flag("--allow-undecided", "Status 0 where there is no verdict, too.")
    ] = False,
    form: Form = "text",
) -> None:
    """Judge a system against a baseline; exit with status 3 if it fails, 4 without a verdict.

    It passes where the lower limit of its difference is above -margin, and fails where the upper
    limit is below 0 and the lower one below -margin.

    Example: scorecube gate nightly.zarr --run ours --baseline main --margin 0.01
    """
    from scorecube.report.comparison import what_is_shown
    from scorecube.workflow import comparison

    scores = _cubes(study, collections)
    how: Any = {"metrics": split(metrics), "missing": missing}
    if margin is None:
        compared = comparison.compare(scores, run, baseline, **how)
        raise BadPlan(f"{option('margin')} is missing; {what_is_shown(compared)}", option="margin")
    judged = comparison.gate(scores, run, baseline, margin=margin, **how)
    _show(judged, form)
    undecided = 0 if allow_undecided else UNDECIDED
    statuses = {comparison.FAIL: FAILED, comparison.NO_VERDICT: undecided}
    raise typer.Exit(statuses.get(judged.attrs["verdict"], 0))


def _cubes(study: str, collections: Text) -> Any:
    """Return the cubes of a study, or some of them, by name."""
    from scorecube.storage import open_study

    opened = open_study(study)
    chosen = split(collections) or list(opened)
    return {name: opened[name].cube_among(len(chosen)) for name in chosen}


def _show(compared: Any, form: str) -> None:
    """Print a comparison."""
    from scorecube.report import comparison

    if form == "json":
        echo_table(comparison.table_of(compared), "json")
    elif not is_quiet():
        echo_table(comparison.readable(compared), "text")
        for note in compared.attrs["notes"]:
            echo(note)
        echo(comparison.sentence(compared))
