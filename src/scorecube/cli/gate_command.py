"""Command gate: is a system worse than a baseline, for jobs that must fail then?"""

import json
from typing import Annotated, Literal, Optional

import typer

from scorecube.cli import options, terminal
from scorecube.cli.options import flag
from scorecube.cli.terminal import echo, echo_table, split

Run = Annotated[str, flag("--run", "System to judge: a run, or a system with repetitions.")]
Baseline = Annotated[str, flag("--baseline", "System that it is compared with.")]
Margin = Annotated[
    float,
    flag("--margin", "Largest difference that does not matter, in units of the score.", min=0),
]
Collections = Annotated[
    Optional[str],
    flag("--collections", "Collections, separated by commas; all by default.", "--collection"),
]
Metrics = Annotated[Optional[str], flag("--metrics", "Metrics; all by default.")]
Require = Annotated[
    Optional[Literal["better", "not-worse", "equivalent"]],
    flag(
        "--require",
        "What every comparison must show; by default none may show that it is worse by more than the margin.",
    ),
]
Against = Annotated[
    Optional[str],
    flag(
        "--against",
        "Collection with the scores of the baseline, such as last week's snapshot of the same items; or one for each collection, separated by commas.",
    ),
]
Weights = Annotated[
    Optional[str],
    flag("--weights", "Weights of collections in the mean, such as nq=2,fiqa=0.5; 1 for others."),
]
Confidence = Annotated[float, flag("--confidence", "Of the limits.")]
DropMissing = Annotated[
    bool, flag("--drop-missing", "Leave out topics with missing scores of either.")
]
ByTopic = Annotated[
    bool, flag("--by-topic", "Take topics as independent, also those that come in groups.")
]
Form = Annotated[Literal["text", "json"], flag("--format", "text or json.")]


def gate(
    study: options.StudyPath,
    run: Run,
    baseline: Baseline,
    margin: Margin = 0.01,
    metrics: Metrics = None,
    require: Require = None,
    collections: Collections = None,
    against: Against = None,
    weights: Weights = None,
    confidence: Confidence = 0.95,
    drop_missing: DropMissing = False,
    by_topic: ByTopic = False,
    form: Form = "text",
) -> None:
    """Compare a system with a baseline, by metric and collection, and exit with status 3 if it does not pass.

    Example: scorecube gate nightly.zarr --run ours --baseline main --margin 0.01

    Example: scorecube gate weekly.zarr --run main --baseline main --collections week48 --against week47

    Example: scorecube gate nightly.zarr --run ours --baseline main --metrics accuracy --require not-worse --format json
    """
    from scorecube.report.table_rows import STATUS, of_verdicts
    from scorecube.workflow.gate import gate as compare

    found = compare(
        study,
        run=run,
        baseline=baseline,
        margin=margin,
        metrics=split(metrics),
        require=require,
        collections=split(collections),
        against=split(against),
        weights=split(weights) or (),
        confidence=confidence,
        drop_missing=drop_missing,
        by_topic=by_topic,
    )
    record = found.record()
    if form == "json":
        echo(json.dumps(record, indent=1, allow_nan=False))
    elif not terminal.MESSAGES.quiet:
        echo_table(of_verdicts(record["comparisons"]), "text")
        echo(found.sentence())
    if not found.passed:
        raise typer.Exit(STATUS)
