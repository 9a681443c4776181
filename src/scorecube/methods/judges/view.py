"""What is shown of judges: which judge, and for which decisions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.frames import frame_of, labelled, with_labels
from scorecube.collection.schema import CELL, labels_of
from scorecube.declare import (
    JUDGES,
    Answer,
    Canvas,
    Column,
    Down,
    Table,
    View,
    estimate,
    interval,
    is_known,
    shown,
    with_limits,
)

AGREEMENT = Table(
    (*CELL, "judge"),
    (
        *("truth", "judge", "metric", "gain", "tau", "tau_low", "tau_high", "tau_ap"),
        Column("n_runs", of="n_common_runs"),
        *("agree", "neither", "only_truth", "only_judge", "opposite", "bias", "bias_low"),
        "bias_high",
        Column("collection", of="truth"),
    ),
    sort=("gain", Down("tau")),
    within=1,
    brief=(
        "judge",
        shown("metric", "label"),
        shown("tau", *interval("tau")),
        shown("bias", *interval("bias")),
        "agree",
        "opposite",
    ),
)
"""Rankings and decisions of each judge against the truth, the most similar rankings first."""
LABELS = Table(
    ("judge",),
    (
        "truth",
        "judge",
        *estimate("kappa", of="label", at="kappa"),
        Column("weighted_kappa", of="label", at="weighted_kappa"),
        Column("alpha", of="label", at="alpha"),
        "n_documents",
        Column("weighted_kappa_low", of="label_low", at="weighted_kappa", optional=True),
        Column("weighted_kappa_high", of="label_high", at="weighted_kappa", optional=True),
        Column("alpha_low", of="label_low", at="alpha", optional=True),
        Column("alpha_high", of="label_high", at="alpha", optional=True),
        Column("collection", of="truth"),
    ),
    only="n_documents",
)
"""Agreement of the labels of documents that both judged, with jackknife limits over topics."""
CORRECTED = Table(
    (*CELL, "judge", "n_labelled", "run"),
    (
        *("truth", "judge", "metric", "gain", "run"),
        Column("n_labelled", of="labelled_topics"),
        *estimate("mean", of="corrected"),
        Column("collection", of="truth"),
    ),
    only="corrected",
)
"""Corrected means of runs by number of topics with labels of the truth."""

DIFFERENCES = Table(
    (*CELL, "judge", "n_labelled", "run"),
    (
        *("judge", "metric", "gain", "run"),
        Column("n_labelled", of="labelled_topics"),
        *estimate("difference", of="corrected_difference", optional=True),
        Column("labels_needed", optional=True),
        "truth",
        Column("baseline", optional=True),
        Column("collection", of="truth"),
    ),
    only="corrected_difference",
    whole=("labels_needed",),
    brief=(
        *("judge", shown("metric", "label"), "run", shown("labels", "n_labelled")),
        *(shown("difference", *interval("difference")), shown("labels needed", "labels_needed")),
    ),
)
"""Corrected differences from the baseline, and how many labels would show each."""


def differing(result: xr.Dataset) -> dict[tuple[str, str], list[str]]:
    """Return by metric and judge how many runs differ from the baseline, with the most labels."""
    frame = with_labels(frame_of(DIFFERENCES, result))
    said = {}
    for (label, judge), rows in frame.groupby(["label", "judge"], sort=False):
        most = rows[rows["n_labelled"] == rows["n_labelled"].max()]
        apart = int(((most["difference_low"] > 0) | (most["difference_high"] < 0)).sum())
        of = f"{apart} of {len(most)} differ from {result.attrs['baseline']}"
        said[str(label), str(judge)] = [f"with {rows['n_labelled'].max()} labels {of}"]
    return said


def answers(result: xr.Dataset) -> Iterator[Answer]:
    """Yield for each metric the judge that ranks most alike, its bias and its decisions."""
    done = set[str]()
    shown_by = differing(result)
    for row in labelled(frame_of(AGREEMENT, result)):
        if row["label"] in done or not is_known(row["tau"]):
            continue
        done.add(row["label"])
        numbers = row["tau"], row["tau_low"], row["tau_high"]
        words = []
        if is_known(row["bias"]):
            bias = with_limits(row["bias"], row["bias_low"], row["bias_high"], "+.3f")
            words.append(f"a bias of {bias}")
        decided = row["agree"] + row["only_truth"] + row["opposite"]
        finds = f"finds {row['agree']} of {decided} significant differences"
        words.append(f"{finds} and reverses {row['opposite']}")
        words += shown_by.get((row["label"], row["judge"]), [])
        what = "tau with the truth"
        subject = row["judge"], f"has a {what} of"
        yield Answer(row["label"], *numbers, ".4f", ", ".join(words), what, *subject)


def tau_by_judge(canvas: Canvas, result: xr.Dataset) -> None:
    """Tau of each judge with its limits, by the first metric."""
    at = result.isel({names.GAIN: 0, names.METRIC: 0})
    order = np.argsort(-at["tau"].values, kind="stable")[: canvas.most_rows]
    axes = canvas.panel((canvas.size[0], 1.6 + 0.16 * len(order)))
    places = np.arange(len(order))
    low, high = (at[f"tau_{end}"].values[order] for end in ("low", "high"))
    axes.hlines(places, low, high, color="0.6", linewidth=2)
    axes.plot(at["tau"].values[order], places, "o", color=canvas.colours[0], markersize=4)
    axes.set_yticks(places, [labels_of(at, names.JUDGE)[k] for k in order])
    axes.set(ylim=(len(order) - 0.5, -0.5), xlabel="tau")
    axes.set_xlim(right=1.02)
    axes.set_title(canvas.title_of(result, str(at[names.METRIC].item())))


VIEW = View(
    name="judges",
    heading="Judges against the truth",
    tables={
        "agreement": AGREEMENT,
        "labels": LABELS,
        "corrected": CORRECTED,
        "differences": DIFFERENCES,
    },
    about="Each judge, human or machine, is a set of judgements of the same runs; one counts as "
    "truth. Limits of tau are about as many other topics. Decisions are pairs that a paired t test "
    "finds different under both sets (agree), one, or oppositely. A bias that is the same for all "
    "runs changes no ranking. Corrected means use the judge on all topics and labels of the truth "
    "on some (prediction-powered inference), differences from a baseline alike, paired by topic.",
    answers={JUDGES: answers},
    conditions=("truth", "judges"),
    shown=("agreement", "differences"),
    figure=tau_by_judge,
    by_metric=True,
)
