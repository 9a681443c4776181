"""Command replicate: does the effect of runs over a baseline appear in another collection?"""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from scorecube.cli import options
from scorecube.cli.options import check_choice
from scorecube.cli.terminal import echo_table, notify, split

Collections = Annotated[
    str, typer.Option("--collections", help="The first collection, and the one to compare with it.")
]
Baseline = Annotated[
    str, typer.Option("--baseline", help="Run that others are compared with; in both.")
]
Runs = Annotated[
    Optional[str], typer.Option("--runs", help="Runs to compare; all that are in both by default.")
]
Metrics = Annotated[
    Optional[str],
    typer.Option("--metrics", "--metric", help="Metrics; all that both have by default."),
]
SameTopics = Annotated[
    bool,
    typer.Option(
        "--same-topics",
        help="Topics of the same label are the same topic, as under two sets of judgements.",
    ),
]
Confidence = Annotated[float, typer.Option("--confidence", help="Of the intervals.")]
Form = Annotated[str, typer.Option("--format", help="text, csv, json, markdown or latex.")]


def replicate(
    study: options.StudyPath,
    collections: Collections,
    baseline: Baseline,
    runs: Runs = None,
    metrics: Metrics = None,
    same_topics: SameTopics = False,
    confidence: Confidence = 0.95,
    form: Form = "text",
) -> None:
    """Compare the effect of runs over a baseline in two collections: effect ratio and delta relative improvement.

    Example: scorecube replicate study.zarr --collections covid-r1,covid-r5 --baseline bm25
    """
    from scorecube.collection.schema import labels_of
    from scorecube.collection.selection import select
    from scorecube.errors import BadPlan
    from scorecube.report.text_formats import FORMATS
    from scorecube.storage import open_study
    from scorecube.workflow.api import replicability

    check_choice("--format", form, FORMATS)
    named = split(collections) or []
    if len(named) != 2 or named[0] == named[1]:
        raise BadPlan(f"two different collections are compared; found --collections {collections}")
    opened = open_study(study)
    first, second = (select(opened[name].cube, metrics=split(metrics)) for name in named)
    frame = replicability(
        first,
        second,
        baseline=baseline,
        runs=split(runs),
        same_topics=same_topics,
        confidence=confidence,
        notify=lambda line: notify(f"note: {line}"),
    )
    frame.insert(0, "collection_a", named[0])
    frame.insert(1, "collection_b", named[1])
    if not same_topics and labels_of(first, "topic") == labels_of(second, "topic"):
        notify(
            "note: both collections have the same topic labels and are treated as different topics; --same-topics if they are the same"
        )
    missing = int(frame["effect_ratio_low"].isna().sum())
    if missing:
        notify(
            f"note: {missing} of {len(frame)} effect ratios have no interval, as the difference in {named[0]} is not significant"
        )
    echo_table(frame, form)


COMMANDS = (replicate,)
