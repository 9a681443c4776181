"""View of topic set size design, which the report computes from the scores of each collection with all defaults."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.topic_means import without_other_summaries
from scorecube.design import topic_set_size_of_cube, variance_intervals
from scorecube.design.variance import within_system_variance
from scorecube.errors import BadPlan
from scorecube.report.tables.design import INTERVALS, about, sizes
from scorecube.report.tables.rows import COLLECTION
from scorecube.report.text_formats import merge_gains, with_labels
from scorecube.report.views.others import topics_and_teams
from scorecube.report.views.phrases import on_collection, value_range
from scorecube.report.views.questions import TOPICS
from scorecube.report.views.view import (
    Column,
    Frames,
    Headed,
    Lines,
    Order,
    ResultGroup,
    Table,
    View,
    on_demand,
)

TOPICS_AT_HAND = "topics_at_hand"
"""Attribute of a design: topics that the collection has."""
SHOWN_OPTIONS = ("method", "mode", "sided")
SHOWN_COLUMNS = [COLLECTION, names.METRIC, names.GAIN, "variance", "topics", *INTERVALS]
"""Columns that the title does not replace."""
PAIRED = "paired_topics"
INTERVAL = "95% intervals"
EXTRAPOLATED = 2
"""Times the topics at hand, beyond which a number of topics is an extrapolation."""


def compute(cube: xr.Dataset) -> xr.Dataset:
    """Return the sizes for the variances of a cube, with all defaults."""
    return topic_set_size_of_cube(variance_intervals(cube))


def design_of(cube: xr.Dataset, name: str) -> xr.Dataset | None:
    """Return the numbers of topics that a collection's metrics need, by ANOVA-based design at its defaults.

    Metrics that are not means over topics, and metrics whose variance is 0 or cannot be estimated, are left out.

    Parameters
    ----------
    cube
        Scores of the collection.
    name
        Its name.

    Returns
    -------
    result
        None without any metric left, or where more topics are needed than any collection could have.
    """
    cube = without_other_summaries(cube)
    if not cube.sizes[names.METRIC]:
        return None
    positive = (within_system_variance(cube[names.SCORE].values) > 0).all(axis=1)
    if not positive.any():
        return None
    try:
        result = compute(cube.isel({names.METRIC: positive}))
    except BadPlan:  # more topics than any collection could have
        return None
    options = {key: result.attrs[key] for key in SHOWN_OPTIONS} | {
        key: float(result[key]) for key in ("min_diff", "systems", "alpha", "beta")
    }
    facts = {
        COLLECTION: name,
        "plan": json.dumps({"options": options}),
        TOPICS_AT_HAND: cube.sizes[names.TOPIC],
    }
    return result.assign_attrs(facts)


def title(options: Mapping[str, Any]) -> str:
    """Return method and requirements."""
    wanted = f"difference {options['min_diff']:g}, {options['systems']:g} systems"
    return f"{options['method']}, {options['mode']}, {wanted}, alpha {options['alpha']:g}, beta {options['beta']:g}"


def headline(result: xr.Dataset) -> list[str]:
    """Return the metrics that need fewest and most topics."""
    rows = with_labels(sizes(result)).sort_values("topics", kind="stable").to_dict("records")
    least, most = (
        f"about {about(row)} topics by {row['label']}, {about(row, PAIRED)} if systems are compared on the same topics"
        for row in (rows[0], rows[-1])
    )
    return [
        f"to detect a difference of {rows[0]['min_diff']:g} between the best and the worst of {rows[0]['systems']} systems takes {least}"
        + (f"; and {most}" if len(rows) > 1 else "")
        + f"; the collection has {result.attrs[TOPICS_AT_HAND]}; {INTERVAL} over its {topics_and_teams(result.attrs)}"
    ]


def topics_needed(frame: pd.DataFrame) -> str:
    """Return the smallest and the largest number of topics."""
    topics = frame["topics"]
    return f"{topics.min()} to {topics.max()}" if len(topics) > 1 else f"{topics.min()}"


def answer(group: ResultGroup) -> Lines:
    """Yield how many topics the metrics need."""
    rows = with_labels(group.first_table).sort_values("topics", kind="stable").to_dict("records")
    first = rows[0]
    at_hand = {facts[COLLECTION]: int(facts[TOPICS_AT_HAND]) for facts in group.facts}
    several = len(at_hand) > 1
    least, most = (
        f"about {about(row)} topics by {row['label']}{on_collection(row, several)}"
        for row in (first, rows[-1])
    )
    known = [(at_hand[row[COLLECTION]], row["topics_low"], row["topics_high"]) for row in rows]
    enough = sum(high <= topics for topics, _, high in known)
    too_few = sum(low > topics for topics, low, _ in known)
    what = "cases (metric and collection)" if several else "metrics"
    span = f"From {least} to {most}" if len(rows) > 1 else f"{least[0].upper()}{least[1:]}"
    yield (
        f"{span}; by these intervals, each by itself, the {value_range(at_hand.values(), 'd')} topics of the collection{'s' if several else ''} are enough for "
        f"{enough} of {len(rows)} {what}, too few for {too_few}, and either is possible for {len(rows) - enough - too_few}.",
        f"to detect a difference of {first['min_diff']:g} between the best and the worst of {first['systems']:g} systems, alpha {first['alpha']:g}, "
        f"power {1 - first['beta']:.0%}; {INTERVAL} over {topics_and_teams(*group.facts)} like those of the collection",
    )
    paired = sorted((row for row in rows if row[PAIRED] > 0), key=lambda row: float(row[PAIRED]))
    if paired:
        fewest, most = (
            f"about {about(row, PAIRED)} topics by {row['label']}{on_collection(row, several)}"
            for row in (paired[0], paired[-1])
        )
        span = f"from {fewest} to {most}" if len(paired) > 1 else fewest
        yield (
            f"If systems are compared on the same topics, {span}.",
            "two-way residual variance instead of the variance within systems; the same difference, systems, alpha, power and intervals",
        )


def cautions(result: xr.Dataset, frames: Frames) -> list[tuple[str, str]]:
    """Return a remark on metrics that need many more topics than there are."""
    frame = merge_gains(frames["sizes"])
    far = frame[frame["topics"] > EXTRAPOLATED * int(result.attrs[TOPICS_AT_HAND])]
    text = (
        f"Topic set size design needs more than {EXTRAPOLATED} times the topics from which its variances were estimated: "
        "the interval is that of the variance, and does not include that so many further topics may be of another kind."
    )
    return [(text, ", ".join(dict.fromkeys(far["metric"])))] if len(far) else []


def page_tables(frames: Frames) -> Headed:
    """Return the numbers of topics."""
    return [("Topics needed", frames["sizes"][SHOWN_COLUMNS])]


VIEW = View(
    name="design",
    heading="Topic set size design",
    about=(
        "How many topics would a collection need for the best and the worst of several systems to be separated "
        "with probability 1 - beta at significance level alpha, if their mean scores differ by at least the difference? The papers' variance within systems is "
        "estimated from all runs and topics of the collection (one-way analysis of variance, topics' differences included). Where all systems have the "
        "same topics, differences between topics cancel, and the residual variance (two-way) asks for fewer topics (paired_topics). Intervals leave out "
        "each topic and each team in turn; they are about collections whose topics, teams and pools are like these. A metric that needs fewer "
        "topics for a difference is not better for that reason alone: equal differences mean less on a metric with a wide range."
    ),
    tables={"sizes": Table(sizes)},
    title=title,
    caption=lambda result: (
        f"{result.attrs[TOPICS_AT_HAND]} topics in the collection. Number of topics by difference to be detected."
    ),
    headline=headline,
    page_tables=page_tables,
    figure=on_demand("figures.design:size_curves"),
    overview=on_demand("figures.design:widths_of_designs"),
    column=Column("topics needed", topics_needed),
    order=Order(
        "topics",
        more_is_better=False,
        conditions=("method", "mode", "min_diff", "width", "systems", "alpha", "beta"),
    ),
    answers={TOPICS: answer},
    cautions=cautions,
    compute=compute,
    page_result=design_of,
)
