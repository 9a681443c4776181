"""What is shown of judges: which judge, and for which decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.errors import counted
from scorecube.report.figures.labels import name_conditions
from scorecube.report.figures.style import COLOURS, FIGURE_SIZE, Axes
from scorecube.report.findings import Finding, with_number
from scorecube.report.phrases import number_of, with_limits
from scorecube.report.tables import Table, declared
from scorecube.report.text_formats import with_labels
from scorecube.report.view import (
    JUDGES,
    Canvas,
    Frames,
    Remarks,
    ResultGroup,
    Summary,
    View,
    by_collection,
    on_page,
)

ROW_HEIGHT, BAR_HEIGHT = 1.6, 0.16


def _declared(dims: str, columns: str, **how: Any) -> Table:
    """Return a table of judges; its collection is the truth."""
    return declared(dims, f"truth {columns} collection=truth", **how)


AGREEMENT = _declared(
    "metric gain judge",
    "judge metric gain tau tau_low tau_high tau_ap n_runs=n_common_runs agree neither only_truth "
    "only_judge opposite bias bias_low bias_high pairs=n_pairs "
    "n_topics=n_shared n_topics_truth=n_truth n_topics_judge=n_judged alpha",
    sort="gain -tau",
    within=1,
)
"""Rankings and decisions of each judge against the truth; the most similar rankings first within a metric.

`tau_low` and `tau_high` are about the tau of as many other topics.
"""
LABELS = _declared(
    "judge",
    "judge kappa~=label~[kappa] weighted_kappa=label[weighted_kappa] alpha=label[alpha] "
    "n_documents n_topics?=labelled_by_both "
    "weighted_kappa_low?=label_low[weighted_kappa] weighted_kappa_high?=label_high[weighted_kappa] "
    "alpha_low?=label_low[alpha] alpha_high?=label_high[alpha] agreement~?=label~[agreement]",
    only="n_documents",
)
"""Agreement of the labels of all documents that the truth and a judge both judged, with jackknife limits over topics."""
CORRECTED = _declared(
    "metric gain judge n_labelled run",
    "judge metric gain run n_labelled=labelled_topics mean~=corrected~ lambda=slope",
    only="corrected",
    long=True,
)
"""Corrected means of runs by number of labelled topics, of one random choice of these topics; with all topics labelled, the means of the truth alone."""
RUNS = _declared(
    "judge metric gain run",
    "judge metric gain run mean_truth mean_judge rank_truth rank_judge bias=run_bias "
    "bias_low=run_bias_low bias_high=run_bias_high",
    sort="rank_truth",
    within=3,
    only="rank_truth",
    dtypes=dict.fromkeys(("rank_truth", "rank_judge"), "int64"),
    long=True,
)
"""Mean and rank of every run under the truth and under each judge."""


def conditions(result: xr.Dataset) -> str:
    """Return the truth, the judges, and the numbers of runs and topics in one line."""
    judges = labels_of(result, names.JUDGE)
    shown = ", ".join(judges) if len(judges) <= 4 else f"{len(judges)} judges"
    topics = sorted(set(result["n_shared"].values.tolist()))
    of_topics = f"{topics[0]}" if len(topics) == 1 else f"{topics[0]} to {topics[-1]}"
    return f"{shown} against {result.attrs['truth']}, {result.attrs['n_runs']} runs, {of_topics} shared topics"


def title(options: Mapping[str, Any]) -> str:
    """Return the truth and the judges."""
    others = options.get("judges") or ()
    shown = ", ".join(others) if len(others) <= 4 else counted(len(others), "judge")
    return f"{shown} against {options['truth']}"


@by_collection
def answer(group: ResultGroup) -> Iterator[Finding]:
    """Yield for the first metric the judge that ranks most alike, and its decisions."""
    frame = with_labels(group.first_table)
    rows = frame[frame["label"] == frame["label"].iloc[0]]
    yield from _as_the_truth(rows, float(group.attrs[0]["confidence"]))


def _as_the_truth(rows: pd.DataFrame, confidence: float) -> Iterator[Finding]:
    """Yield which judge ranks most alike by a metric, and its decisions."""
    records = rows.sort_values("tau", ascending=False, kind="stable").to_dict("records")
    yield _ranking(records, confidence)
    yield _decisions(records[0])


def _ranking(records: list[dict[Any, Any]], confidence: float) -> Finding:
    row, last = records[0], records[-1]
    bias = with_limits(*number_of(row, "bias"), form="+.3f")
    biased = "" if np.isnan(row["bias"]) else f"; bias {bias}"
    least = f"; the least alike of {len(records)}: {last['judge']} ({last['tau']:.3f})"
    return with_number(
        f"{row['label']}: {row['judge']} ranks {counted(row['n_runs'], 'run')} as {row['truth']} with tau {with_limits(*number_of(row, 'tau'))}{biased}{least if len(records) > 1 else ''}",
        f"tau of {row['judge']} and {row['truth']}, {row['label']}",
        number_of(row, "tau"),
        confidence=confidence,
        table="agreement",
    )


def _decisions(row: Mapping[Any, Any]) -> Finding:
    """Return which differences a judge finds."""
    decided = row["agree"] + row["only_truth"] + row["opposite"]
    share = f"{row['agree']:,} of {decided:,}" if decided else "none"
    return with_number(
        f"{row['label']}: {row['judge']} finds {share} significant differences of {row['truth']} (alpha {row['alpha']:g}), {row['only_judge']:,} that it does not find, "
        f"and {row['opposite']:,} of the opposite sign",
        f"significant differences of {row['truth']} that {row['judge']} finds, {row['label']}",
        [row["agree"]],
        "pairs",
        table="agreement",
    )


def findings(result: xr.Dataset) -> Iterator[Finding]:
    """Yield the same by further metrics, and how labels agree."""
    confidence = float(result.attrs["confidence"])
    by_metric = with_labels(AGREEMENT.make(result)).groupby("label", sort=False)
    for _, rows in [*by_metric][1:]:
        yield from _as_the_truth(rows, confidence)
    for row in LABELS.make(result).to_dict("records"):
        kappa = number_of(row, "kappa")
        words = row | {"limits": with_limits(*kappa, form=".2f")}
        yield with_number(
            "labels of {judge}: kappa {limits}, weighted {weighted_kappa:.2f}, alpha {alpha:.2f}, of {n_documents:,} documents".format_map(
                words
            ),
            f"kappa of the labels of {row['judge']} and {row['truth']}",
            kappa,
            "1",
            confidence,
            table="labels",
        )


def cautions(result: xr.Dataset, _frames: Frames) -> Remarks:
    """Yield remarks on disjoint topics, and on what is not compared."""
    if (result["n_shared"].values < 2).any():
        yield (
            "Rankings from other topics differ under the same judgements, too. Scores are not corrected.",
            ", ".join(np.array(result[names.JUDGE].values)[result["n_shared"].values < 2].tolist()),
        )
    if result.attrs["notes"]:
        yield "Some runs, topics or metrics are not compared.", "; ".join(result.attrs["notes"])


def judge_panels(canvas: Canvas, result: xr.Dataset) -> None:
    """Tau of each judge with its limits; a row a metric."""
    cells = result.isel(gain=0)
    shown = labels_of(result, names.METRIC)[:4]  # in one figure; the tables have all
    height = ROW_HEIGHT + BAR_HEIGHT * min(result.sizes[names.JUDGE], 30)
    figure = canvas.figure((FIGURE_SIZE[0], 0.6 + height * len(shown)))
    panels = figure.subplots(len(shown), 1, squeeze=False)
    for k, metric in enumerate(shown):
        _taus(panels[k, 0], cells.isel(metric=k))
        panels[k, 0].set_title(metric)
    name_conditions(figure, conditions(result), cells, shown)


def _taus(axes: Axes, at: xr.Dataset) -> None:
    judges = labels_of(at, names.JUDGE)
    order = np.argsort(-at["tau"].values, kind="stable")
    for place, k in enumerate(order):
        axes.plot(
            [float(at[f"tau_{end}"].values[k]) for end in ("low", "high")],
            [place, place],
            color="0.6",
            linewidth=2,
        )
        axes.plot(float(at["tau"].values[k]), place, "o", color=COLOURS[0], markersize=4)
    axes.set_yticks(range(len(order)), [judges[k] for k in order])
    axes.set(ylim=(len(order) - 0.5, -0.5), xlabel="tau")


VIEW = View(
    name="judges",
    heading="Judges against the truth",
    about=(
        "Each judge, human or machine, is a set of judgements of the same runs, and one set counts as truth. Rankings are compared by tau and tau-AP; limits of tau "
        "are about the tau to be expected from as many other topics. Decisions are pairs of runs that a paired t test finds different: under both sets (agree), under "
        "one (only_truth, only_judge), or oppositely. Bias is the mean under the judge less that under the truth: one that is the same for all runs changes no ranking. Kappa counts equal "
        "levels beyond chance, weighted kappa and Krippendorff's alpha near ones, too; limits are by a jackknife over topics. Corrected means use the judge on all topics and labels of "
        "the truth on some (prediction-powered inference): lambda is the weight of the judge, 0 if it tells nothing, and limits are about infinitely many topics. "
        "Where no topics are shared, only rankings and decisions are compared."
    ),
    summary=(Summary("judge metric=label tau bias=bias~ agree pairs"),),
    tables={"agreement": AGREEMENT, "labels": LABELS, "corrected": CORRECTED, "runs": RUNS},
    title=title,
    caption=lambda result: (
        f"{conditions(result)}. Tau with limits of the tau of as many other topics."
    ),
    findings=findings,
    page_tables=on_page({"Which judge: rankings and decisions": "agreement", "Labels": "labels"}),
    figure=judge_panels,
    by_metric=True,
    answers={JUDGES: answer},
    cautions=cautions,
)
