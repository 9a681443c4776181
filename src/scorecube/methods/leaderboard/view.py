"""What is shown of leaderboards, of one collection and of several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.drawn import draw_ranked
from scorecube.analyses.frames import crossed, frame_of, with_labels
from scorecube.collection.schema import CELL, labels_of
from scorecube.declare import (
    LEADERBOARD,
    Answer,
    Canvas,
    Column,
    Marked,
    Table,
    View,
    interval,
    limited,
    maybe,
    number_range,
    shown,
    with_limits,
)
from scorecube.declare.numbers import decimals_between
from scorecube.errors import counted

BETTER = "†"
WORSE = "‡"
"""Marks of runs that are significantly better and worse than the baseline."""


RUNS = Table(
    (*CELL, "run"),
    (
        *CELL,
        "rank",
        "run",
        "team",
        *interval("mean"),
        *("rank_low", "rank_high", "groups"),
        *maybe(
            *(
                "limits_reason",
                "difference",
                "joint_low",
                "joint_high",
                "difference_low",
                "difference_high",
            ),
            *("p_baseline", "mean_rank"),
        ),
    ),
    sort=("rank",),
    within=2,
    brief=(
        shown("metric", "label"),
        "rank",
        "run",
        "team",
        shown("mean", *interval("mean")),
        shown("could be rank", "rank_low", "rank_high"),
    ),
)
"""Runs, best first: limits of the mean, rank set, and groups of runs that are not separated."""
LEADER = Table(
    (*CELL, "run"),
    (*CELL, "run", "mean", "leader_low", "leader_high"),
    only="leads",
    brief=(
        shown("metric", "label"),
        shown("leads", "run"),
        shown("mean", "mean", "leader_low", "leader_high"),
    ),
)
"""Runs that lead, with the limits that hold for whichever run is picked as the best."""
MARKS = replace(RUNS, columns=(*CELL, "rank", "run", "mean", *maybe("better", "worse")))
COLLECTIONS = Table(
    (*CELL, "collection", "run"),
    (
        *CELL,
        "collection",
        "weight",
        "run",
        Column("mean", of="collection_mean"),
        Column("mean_low", of="collection_mean_low"),
        Column("mean_high", of="collection_mean_high"),
    ),
)
"""Means of runs in each collection, with the limits of each by itself."""


def matrix(result: xr.Dataset) -> pd.DataFrame:
    """Return means of runs by metrics, in the order of the first metric.

    With a baseline, † marks runs that are significantly better, and ‡ those that are worse.
    """
    frame = with_labels(frame_of(MARKS, result))
    cells = [
        Marked(f"{row['mean']:.4f}{BETTER * row.get('better', 0)}{WORSE * row.get('worse', 0)}")
        for row in frame.to_dict("records")
    ]
    return crossed(frame, [names.COLLECTION, names.RUN], "label", cells)


def matrix_legend(attrs: Mapping[str, Any]) -> str:
    """Return what marks mean; empty without a baseline."""
    if attrs.get("baseline") is None:
        return ""
    return (
        f"{BETTER} ({WORSE}): significantly better (worse) than {attrs['baseline']} "
        f"(max-T test, p < {attrs['alpha']:g}, all comparisons with it together)"
    )


def board_matrix(result: xr.Dataset) -> pd.DataFrame:
    """Return systems by collections with limits, best first."""
    keys = {names.COLLECTION: "within", names.METRIC: "plain", "label": names.METRIC}
    single = with_labels(frame_of(COLLECTIONS, result)).rename(columns=keys)
    over = with_labels(frame_of(RUNS, result)).drop(columns=names.METRIC)
    over = over.rename(columns={"label": names.METRIC})
    heading = f"mean over {names.nouns(result.attrs).collections}"
    over[heading] = [Marked(f"{mean:.4f}") for mean in over["mean"]]
    over = over[[names.COLLECTION, names.METRIC, names.RUN, heading]]
    frame = over.merge(single, on=[names.METRIC, names.RUN])
    limits = frame[["mean", "mean_low", "mean_high"]].itertuples(index=False)
    cells = [Marked(with_limits(*ends)) for ends in limits]
    return crossed(frame, [*over.columns], "within", cells)


def answers(result: xr.Dataset) -> Iterator[Answer]:
    """Yield the run that leads by each metric, and how many could be the best."""
    attrs = result.attrs
    nouns = names.nouns(attrs)
    percent = f"{100 * (1 - float(attrs['alpha'])):g}%"
    several = result.sizes.get(names.COLLECTION, 0)
    table = MARKS.with_columns(
        *interval("mean")[1:],
        *("rank_low", "rank_high", "leader_low", "leader_high"),
        Column("own", of="own_error_pairs", optional=True),
        Column("neighbours", of="separated_neighbours", optional=True),
    )
    for label, rows in with_labels(frame_of(table, result)).groupby("label", sort=False):
        first = rows[:1].to_dict("records")[0]
        could = int((rows["rank_low"] == 1).sum())
        tied = int((rows["rank"] == 1).sum()) - 1
        best = f"no other {nouns.run}"
        if could > 1:
            best = f"{could} of {len(rows)} {nouns.runs}"
        _, of_leader = limited(first["mean"], first["leader_low"], first["leader_high"])
        clause = ""
        if of_leader:
            clause = f"allowing for being picked as the best of {len(rows)}: {of_leader}; "
        clause += f"{best} could be the best [{percent}, simultaneous rank sets]; "
        clause += f"rank {number_range([first['rank_low'], first['rank_high']])}"
        if several:
            clause += f"; mean over {counted(several, nouns.collection)}"
        if could > 1 and first.get("own", 0) > 0:
            pairs = counted(int(first["own"]), "pair")
            clause += f"; Student's t with Holm's adjustment separates {pairs} more"
        if several and "neighbours" in first:
            number = counted(int(first["neighbours"]), "neighbouring pair")
            clause += f"; {number} of {len(rows) - 1} separated"
        if "baseline" in attrs:
            better = rows["better"].sum()
            worse = rows["worse"].sum()
            clause += f"; {better} significantly better than {attrs['baseline']}, {worse} worse"
        name = f"{first['run']}{f' and {tied} more' if tied else ''}"
        limits = first["mean_low"], first["mean_high"]
        verb = "lead with" if tied else "leads with"
        places = int(decimals_between(rows["mean_low"], rows["mean_high"], level=True)[0])
        answer = Answer(str(label), first["mean"], *limits, ".4f", clause, "best mean", name, verb)
        yield replace(answer, places=places)


def figure(canvas: Canvas, result: xr.Dataset) -> None:
    """Runs of the first metric, best first: means with limits, and rank sets."""
    means = draw_ranked(canvas, result, "mean", "mean score")
    if "baseline" in result.attrs:
        data = result.isel(gain=0, metric=0)
        place = labels_of(data, names.RUN).index(str(data.attrs["baseline"]))
        means.axvline(data["mean"].values[place], color="0.35", linestyle=":", linewidth=0.9)


RUNS_OF_ONE = View(
    name="leaderboard",
    heading="Leaderboard",
    tables={
        "systems": RUNS,
        "leader": LEADER,
        "matrix": Table(("run",), make=matrix, legend=matrix_legend),
    },
    about="Runs by mean score, with limits for other topics like these, of each run by itself; "
    "those of whichever run leads, which was picked by its mean, stand in the answer. A rank set "
    "holds the rank over infinitely many topics: it begins after the runs that are shown to be "
    "better and ends before those that are shown to be worse, by the step-down max-T test of all "
    "pairs. Runs that share a group are not separated. Nothing is said of other judgements, "
    "documents or versions of a run, nor of failures that no topic here shows.",
    answers={LEADERBOARD: answers},
    conditions=("alpha",),
    figure=figure,
    by_metric=True,
    joined_by="board",
    card=2,
    as_leaderboard=True,
)
RUNS_OF_SEVERAL = replace(
    RUNS_OF_ONE,
    name="board",
    joined_by="",
    card=1,
    heading="Board",
    tables={
        "systems": RUNS,
        "leader": LEADER,
        "collections": COLLECTIONS,
        "matrix": Table((*CELL, "run"), make=board_matrix, legend=matrix_legend),
    },
    about="Runs by their mean over collections: its limits, rank set and groups are about these "
    "collections and other topics of each. Mean rank is the mean of a run's ranks in the "
    "collections (Borda), for which no limits are known to hold.",
)
