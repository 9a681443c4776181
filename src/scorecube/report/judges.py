"""What is shown of judges: which judge, for which decisions, at which price in human labels."""

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
from scorecube.report.figures.style import COLOURS, FIGURE_SIZE, MARKERS, Axes, curve_style
from scorecube.report.findings import Finding, with_number
from scorecube.report.phrases import estimate_text, number_of, of_tau, with_limits
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

NOTHING = 0.02
"""Share of the width of intervals below which a headline states that a judge adds nothing."""
ROW_HEIGHT, BAR_HEIGHT = 1.6, 0.16


def _declared(dims: str, columns: str, *, only: str = "", **how: Any) -> Table:
    """Return a table of judges, of the rows that have a quantity, if it is stated; without it there are none."""
    words = f"truth {columns} collection=compared_in"
    return declared(dims, words, only=only, needs=only, **how)


AGREEMENT = _declared(
    "metric gain judge",
    "judge metric gain tau=agreement[tau] tau_low=contained_low[tau] "
    "tau_high=contained_high[tau] tau_ap=agreement[tau_ap] n_runs=n_common_runs agree only_truth "
    "only_judge opposite bias=level_bias[all] bias_low=level_low[all] bias_high=level_high[all] "
    "neither pairs=n_pairs tau_population~=population~[tau] tau_b=agreement[tau_b] "
    "tau_b_low=population_low[tau_b] tau_b_high=population_high[tau_b] "
    "tau_ap_low=population_low[tau_ap] tau_ap_high=population_high[tau_ap] rbo=agreement[rbo] "
    "rbo_low=population_low[rbo] rbo_high=population_high[rbo] largest_drop=drop "
    "largest_drop_run=loser largest_rise=rise largest_rise_run=winner top_pairs top_significant "
    "top_judge false_positives false_negatives n_topics=n_shared n_topics_truth=n_truth "
    "n_topics_judge=n_judged alpha top",
    sort="gain -tau",
    within=1,
)
"""Rankings and decisions of each judge against the truth; the most similar rankings first within a metric.

`tau` is of the rankings at hand; all limits, and `tau_population`, are over infinitely many topics: missing for fewer than 10 runs or topics, or
without shared topics. `tau_low` and `tau_high` are left out where they exclude the tau at hand; `tau_population_low` and `_high` never are.
"""
LABELS = _declared(
    "judge",
    "judge kappa~=label~[kappa] weighted_kappa=label[weighted_kappa] alpha=label[alpha] "
    "n_documents n_topics?=labelled_by_both mean_level_truth? mean_level_judge? "
    "weighted_kappa_low?=label_low[weighted_kappa] weighted_kappa_high?=label_high[weighted_kappa] "
    "alpha_low?=label_low[alpha] alpha_high?=label_high[alpha] agreement~?=label~[agreement] "
    "weights? distance?",
    only="n_documents",
)
"""Agreement of the labels of all documents that the truth and a judge both judged, with jackknife intervals over topics."""
CONFUSION = _declared(
    "judge level judge_level",
    "judge level_truth=level level_judge=judge_level n_documents=confusion share=share_of_level",
    only="has_labels",
)
"""Documents by their levels under the truth and under each judge; `share` is of the documents of a level of the truth."""
LABEL_TOPICS = _declared(
    "judge topic",
    "judge topic {label_statistic}=label_by_topic n_documents=documents_by_topic",
    only="documents_by_topic",
    long=True,
)
"""Agreement of labels by topic; missing where all labels of a topic are one level."""
BIAS = _declared(
    "judge metric gain run_level",
    "judge metric gain level?=run_level mean_truth?=level_truth mean_judge?=level_judge "
    "bias?=level_bias bias_low?=level_low bias_high?=level_high n_runs?=runs_of_level",
    only="runs_of_level",
)
"""Mean under the judge less mean under the truth: of all runs, and of thirds of the runs by their means under the truth."""
CORRECTED = _declared(
    "judge metric gain n_labelled run",
    "judge metric gain run n_labelled=labelled_topics mean~=corrected~ lambda=slope",
    only="has_corrected",
    long=True,
)
"""Corrected means of runs by number of labelled topics, of one random choice of these topics; with all topics labelled, the means of the truth alone."""
DIFFERENCES = _declared(
    "judge metric gain n_labelled run",
    "judge metric gain run baseline=baseline_run n_labelled=labelled_topics difference~",
    only="has_difference",
    long=True,
)
"""Differences of corrected means from those of the baseline, by number of labelled topics, of one random choice of these topics."""
PRICE = _declared(
    "judge metric gain n_labelled quantity",
    "judge metric gain of=quantity n_labelled=labelled_topics width width_truth? narrowed? "
    "lambda?=mean_slope covered? n_topics?=n_shared n_topics_judge?=n_judged",
    only="has_size",
)
"""Mean widths of intervals by number of labelled topics, with the judge and by the labelled topics alone, over random choices of these topics.

`narrowed` is the share of the width that the judge saves, about 0 for a judge whose scores are unrelated to those of the truth; `covered` the share of intervals that hold
the mean by the labels of all shared topics, which is near 1 as these topics are among them: intervals are about infinitely many.
"""
NEEDED = _declared(
    "judge metric gain quantity",
    "judge metric gain of=quantity width=wanted_width n_labelled=finite_needed "
    "n_labelled_truth=finite_needed_truth n_topics_judge?=n_judged",
    only="has_needed",
)
"""Labelled topics for a wanted width of intervals, with the judge and without; missing where no number suffices."""
PREFERENCE = _declared(
    "judge metric gain",
    "judge metric gain preference~ n_own n_runs?=n_common_runs",
    only="has_preference",
)
"""Bias for the runs of each judge's family less that for all others; a judge without such runs has no row."""
DISJOINT = _declared(
    "judge metric gain",
    "judge metric gain n_topics=half_topics tau_truth_halves=half_tau[truth] "
    "tau_judge_halves?=half_tau[judge] tau_with_judge=half_tau[both] judge_part~?=part~ "
    "tau_all_topics?=agreement[tau]",
    only="has_halves",
)
"""Tau of rankings from as many topics, where none are shared: two halves of the truth's topics, two of the judge's, and one of each.

`judge_part` is the tau of two halves of the truth less that with the judge; its limits are by a jackknife over topics.
"""
TOGETHER = _declared(
    "metric gain",
    "metric gain n_judges effective~ largest_error?=error_share largest_error_topic?=error_topic",
    only="has_effective",
)
"""Number of judges with independent errors whose mean is as exact as that of all judges, on the topics and runs that all have; limits are over infinitely many topics.

`largest_error` is the largest share of one topic in the squared errors of the judges' mean; the topic is named where it has most of them, for more than .15 limits are known to fail.
"""
RUNS = _declared(
    "judge metric gain run",
    "judge metric gain run mean_truth mean_judge rank_truth rank_judge bias=mean_bias rank_change",
    sort="rank_truth",
    within=3,
    only="is_common",
    dtypes=dict.fromkeys(("rank_truth", "rank_judge", "rank_change"), "int64"),
    long=True,
)
"""Mean and rank of every run under the truth and under each judge; a positive rank change is a loss."""


def conditions(result: xr.Dataset) -> str:
    """Return the truth, the judges, and the numbers of runs and topics in one line."""
    judges = labels_of(result, names.JUDGE)
    shown = ", ".join(judges) if len(judges) <= 4 else f"{len(judges)} judges"
    topics = sorted(set(result["n_shared"].values.tolist()))
    of_topics = f"{topics[0]}" if len(topics) == 1 else f"{topics[0]} to {topics[-1]}"
    return f"{shown} against {result.attrs['truth']}, {result.attrs['n_runs']} runs, {of_topics} shared topics"


def title(options: Mapping[str, Any]) -> str:
    """Return the truth, the judges, the test and the depth."""
    others = options.get("judges") or ()
    shown = ", ".join(others) if len(others) <= 4 else counted(len(others), "judge")
    return f"{shown} against {options['truth']}, {options['test']} test, top {options['top']}"


@by_collection
def answer(group: ResultGroup) -> Iterator[Finding]:
    """Yield for the first metric the judge that ranks most alike, its decisions, and what each judge saves of labels."""
    frame = with_labels(group.first_table)
    rows = frame[frame["label"] == frame["label"].iloc[0]]
    yield from _as_the_truth(rows, float(group.attrs[0]["confidence"]))
    if "price" in group.frames and "needed" in group.frames:
        yield from price_findings(group.frames["price"], group.frames["needed"])


def _as_the_truth(rows: pd.DataFrame, confidence: float) -> Iterator[Finding]:
    """Yield which judge ranks most alike by a metric, and its decisions."""
    records = rows.sort_values("tau", ascending=False, kind="stable").to_dict("records")
    yield _ranking(records, confidence)
    yield _decisions(records[0])


def _ranking(records: list[dict[Any, Any]], confidence: float) -> Finding:
    row, last = records[0], records[-1]
    moved = (
        f"{row['largest_drop_run']} loses the most ranks ({row['largest_drop']})"
        if row["largest_drop"]
        else "no run loses a rank"
    )
    bias = with_limits(*number_of(row, "bias"), form="+.3f")
    biased = "" if np.isnan(row["bias"]) else f"; bias {bias}"
    least = f"; the least alike of {len(records)}: {last['judge']} ({last['tau']:.3f})"
    return of_tau(
        f"{row['label']}: {row['judge']} ranks {counted(row['n_runs'], 'run')} as {row['truth']} with tau {row['tau']:.3f} on these topics"
        f"{estimate_text(row, confidence=confidence)}; {moved}{biased}{least if len(records) > 1 else ''}",
        f"tau of {row['judge']} and {row['truth']}, {row['label']}",
        row,
        confidence,
        "agreement",
    )


def _decisions(row: Mapping[Any, Any]) -> Finding:
    """Return which differences a judge finds, and for which decisions it can stand in."""
    decided = row["agree"] + row["only_truth"] + row["opposite"]
    share = f"{row['agree']:,} of {decided:,}" if decided else "none"
    use = "contradicts no significant difference, and none among the leading runs is false"
    if row["opposite"]:
        reversed_ = counted(row["opposite"], "significant difference")
        use = f"reverses {reversed_}: it cannot replace the truth for them"
    elif row["false_positives"]:
        named = counted(row["false_positives"], "difference")
        use = f"names {named} among the top {row['top']} that the truth does not confirm: the leading runs need labels of the truth"
    return with_number(
        f"{row['label']}: {row['judge']} finds {share} significant differences of {row['truth']} (alpha {row['alpha']:g}), {row['only_judge']:,} that it does not find, "
        f"and {row['opposite']:,} of the opposite sign; among the top {row['top']}, {row['false_positives']} of {row['top_judge']} are false positives; it {use}",
        f"significant differences of {row['truth']} that {row['judge']} finds, {row['label']}",
        [row["agree"]],
        "pairs",
        table="agreement",
    )


def price_findings(price: pd.DataFrame, needed: pd.DataFrame) -> Iterator[Finding]:
    """Yield what each judge saves of the width of intervals of means, by the first metric, and which judges add nothing."""
    rows = price[(price["of"] == "mean") & price["lambda"].notna()] if len(price) else price
    if rows.empty:
        return
    rows = with_labels(rows)
    rows = rows[rows["n_labelled"] < rows["n_topics_judge"]]
    first = rows["label"].iloc[0] if len(rows) else ""
    for judge, own in rows[rows["label"] == first].groupby("judge", sort=False):
        some = own[own["n_labelled"] < own["n_topics"]]
        row = (some if len(some) else own).iloc[-1]
        widths = f"intervals of means by {row['n_labelled']} labelled topics and {judge} are {row['width']:.3f} wide, by these topics alone {row['width_truth']:.3f}"
        saved = (
            f"by less than {NOTHING:.0%}, and adds nothing that counts"
            if row["narrowed"] < NOTHING
            else f"by {row['narrowed']:.0%}"
        )
        yield with_number(
            f"{first}: {widths}: {judge} narrows them {saved} (lambda {row['lambda']:.2f}){_needed(needed, row)}",
            f"share of the width of intervals of means that {judge} saves, {first}",
            [row["narrowed"]],
            unlimited="a mean over random choices of the labelled topics; no interval for other topics is known",
            table="price",
        )


def _needed(needed: pd.DataFrame, row: pd.Series[Any]) -> str:
    keys = ["judge", "metric", "gain", "of"]
    same = needed[(needed[keys] == row[keys].tolist()).all(axis=1)]
    if same.empty:
        return ""
    one = same.iloc[0]
    with_judge = f"{one['n_labelled']:,.0f}"
    if np.isnan(one["n_labelled"]):
        with_judge = f"more than the {one['n_topics_judge']} topics it judged"
    return f"; a width of {one['width']:g} takes {with_judge} with it, {one['n_labelled_truth']:,.0f} labelled topics without"


STATED = {
    "together": (
        *(TOGETHER, "effective", "judges", ".1f"),
        "effective number of independent judges, {label}",
        "{label}: the mean of the {n_judges} judges is as exact as that of {limits} judges with independent errors",
    ),
    "labels": (
        *(LABELS, "kappa", "1", ".2f"),
        "kappa of the labels of {judge} and {truth}",
        "labels of {judge}: kappa {limits}, weighted {weighted_kappa:.2f}, alpha {alpha:.2f}, of {n_documents:,} documents; "
        "mean level {mean_level_judge:.2f}, of {truth} {mean_level_truth:.2f}",
    ),
    "disjoint": (
        *(DISJOINT, "judge_part", "1", ".3f"),
        "tau that {judge} takes from rankings of other topics, {label}",
        "{label}: no topics are shared: two halves of {n_topics} topics of {truth} rank with tau {tau_truth_halves:.3f}, "
        "two of {judge} with {tau_judge_halves:.3f}, one of each with {tau_with_judge:.3f}: the judge's part is {limits}",
    ),
    "preference": (
        *(PREFERENCE, "preference", "score", "+.3f"),
        "preference of {judge} for its own family, {label}",
        "{label}: {judge} scores {own} of its own family {limits} above the others, relative to {truth}",
    ),
}
"""Table -> itself, the column of the estimate, its unit and form, what it is of, and the sentence of a row."""


def findings(result: xr.Dataset) -> Iterator[Finding]:
    """Yield the same by further metrics, how labels agree, how rankings of other topics do, and what judges prefer."""
    confidence = float(result.attrs["confidence"])
    by_metric = with_labels(AGREEMENT.make(result)).groupby("label", sort=False)
    for _, rows in [*by_metric][1:]:
        yield from _as_the_truth(rows, confidence)
    for name, (table, number, unit, form, subject, sentence) in STATED.items():
        frame = table.make(result)
        for row in (with_labels(frame) if "metric" in frame else frame).to_dict("records"):
            estimate, own = number_of(row, number), counted(row.get("n_own", 0), "run")
            words = row | {"limits": with_limits(*estimate, form=form), "own": own}
            text = sentence.format_map(words) + _one_topic(row)
            yield with_number(text, subject.format_map(row), estimate, unit, confidence, table=name)


def _one_topic(row: Mapping[Any, Any]) -> str:
    """Return that one topic has most of the errors, if one has."""
    if not (topic := row.get("largest_error_topic")):
        return ""
    return f"; topic {topic} alone has {row['largest_error']:.0%} of the squared errors of this mean: the limits are not known to hold"


def cautions(result: xr.Dataset, _frames: Frames) -> Remarks:
    """Yield remarks on judges that add nothing, on few labels, and on disjoint topics."""
    price = PRICE.make(result)
    if len(price):
        idle = price[
            (price["of"] == "mean")
            & (price["narrowed"] < NOTHING)
            & (price["n_labelled"] < price["n_topics_judge"])
        ]
        whom = list(dict.fromkeys(idle["judge"]))
        if whom:
            yield (
                "A judge whose scores do not go with those of the truth from topic to topic narrows no interval, however well it ranks runs: labels buy as much without it.",
                f"narrowed by less than {NOTHING:.0%}: {', '.join(whom)}",
            )
    if (result["n_shared"].values < 2).any():
        yield (
            "Rankings from other topics differ under the same judgements, too: only tau below that of halves of the truth is the judge's part. Scores are not corrected.",
            ", ".join(np.array(result[names.JUDGE].values)[result["n_shared"].values < 2].tolist()),
        )
    if result.attrs["notes"]:
        yield "Some runs, topics or metrics are not compared.", "; ".join(result.attrs["notes"])


def judge_panels(canvas: Canvas, result: xr.Dataset) -> None:
    """Tau of each judge with its interval, and widths of intervals of means by labelled topics; a row a metric."""
    cells = result.isel(gain=0)
    shown = labels_of(result, names.METRIC)[:4]  # in one figure; the tables have all
    height = ROW_HEIGHT + BAR_HEIGHT * min(result.sizes[names.JUDGE], 30)
    figure = canvas.figure((FIGURE_SIZE[0], 0.6 + height * len(shown)))
    panels = figure.subplots(len(shown), 2, squeeze=False)
    for k, metric in enumerate(shown):
        at = cells.isel(metric=k)
        _taus(panels[k, 0], at)
        _halves(panels[k, 1], at) if np.isfinite(at["half_tau"].values).any() else _widths(
            panels[k, 1], at
        )
        panels[k, 0].set_title(metric)
    name_conditions(figure, conditions(result), cells, shown)


def _order(at: xr.Dataset) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.argsort(-at["agreement"].values[:, 0], kind="stable")


def _taus(axes: Axes, at: xr.Dataset) -> None:
    judges = labels_of(at, names.JUDGE)
    order = _order(at)
    for place, k in enumerate(order):
        low, high = (float(at[f"population_{end}"].values[k, 0]) for end in ("low", "high"))
        axes.plot([low, high], [place, place], color="0.6", linewidth=2)
        axes.plot(float(at["population"].values[k, 0]), place, "|", color="0.2", markersize=8)
        axes.plot(float(at["agreement"].values[k, 0]), place, "o", color=COLOURS[0], markersize=4)
    axes.set_yticks(range(len(order)), [judges[k] for k in order])
    axes.set(ylim=(len(order) - 0.5, -0.5), xlabel="tau")


def _sizes(at: xr.Dataset) -> Iterator[tuple[int, xr.Dataset]]:
    """Yield the numbers of labelled topics that a judge has, all shared ones last, and their part of the result."""
    for k, size in enumerate(at[names.N_LABELLED].values.tolist()):
        one = at.isel({names.N_LABELLED: k})
        if np.isfinite(one["width_truth"].values).any():
            yield size or int(at["n_shared"]), one


def _widths(axes: Axes, at: xr.Dataset) -> None:
    judges = labels_of(at, names.JUDGE)
    alone: dict[int, float] = {}
    # Of more judges those that rank most alike.
    for place, k in enumerate(_order(at)[:6]):
        own = at.isel({names.JUDGE: int(k)}).sel(quantity="mean")
        found = [
            (size, float(one["width"]), float(one["width_truth"])) for size, one in _sizes(own)
        ]
        if not found:
            continue
        sizes, widths, truth = (list(each) for each in zip(*sorted(found), strict=True))
        alone |= dict(zip(sizes, truth, strict=True))
        axes.plot(sizes, widths, **curve_style(place, 4, 1.2), label=judges[k])
    sizes = sorted(alone)
    dashed: Any = {"color": "0.2", "linestyle": "--", "linewidth": 1, "label": "labels alone"}
    axes.plot(sizes, [alone[size] for size in sizes], **dashed)
    axes.set(ylim=(0, None), xlabel="labelled topics", ylabel="width of intervals")
    axes.legend(fontsize=7, ncols=2)


def _halves(axes: Axes, at: xr.Dataset) -> None:
    """Draw the tau of rankings from as many topics: halves of the truth, of each judge, and one of each."""
    judges = labels_of(at, names.JUDGE)
    order = _order(at)
    texts = ("two halves of the truth", "two halves of the judge", "truth with judge")
    for k, text in enumerate(texts):
        style: Any = {"color": COLOURS[k], "label": text, "markersize": 5}
        axes.plot(at["half_tau"].values[order, k], np.arange(len(order)), MARKERS[k], **style)
    # The limits of the judge's part, below the tau of the truth.
    below = [at["half_tau"][:, 0] - at[f"part_{end}"] for end in ("high", "low")]
    for place, k in enumerate(order.tolist()):
        ends = [float(end[k]) for end in below]
        axes.plot(np.clip(ends, -1, 1), [place, place], color=COLOURS[2], linewidth=1, alpha=0.5)
    axes.set_yticks(range(len(order)), [judges[k] for k in order])
    axes.set(ylim=(len(order) - 0.5, -0.5), xlim=(None, 1.0))
    axes.set_xlabel("mean tau of rankings from as many topics")
    axes.legend(fontsize=7)


VIEW = View(
    name="judges",
    heading="Judges against the truth",
    about=(
        "Each judge, human or machine, is a set of judgements of the same runs, and one set counts as truth. Rankings are compared by tau, tau-AP and rank-biased overlap; intervals "
        "(tau_low, tau_high) are about the rankings of these runs over infinitely many topics. Decisions are pairs of runs that the test finds different: under both sets (agree), under "
        "one (only_truth, only_judge), or oppositely. Bias is the mean under the judge less that under the truth: a constant bias changes no ranking, one that differs by level does. Kappa counts equal "
        "levels beyond chance, weighted kappa and Krippendorff's alpha near ones, too; intervals are by a jackknife over topics. Corrected means use the judge on all topics and labels of "
        "the truth on some (prediction-powered inference): lambda is the weight of the judge, 0 if it tells nothing, and intervals are about infinitely many topics. The price is the width of these intervals "
        "by number of labelled topics, over random choices of the topics; the documentation of scorecube has their coverage "
        '("Judges: estimands and coverage"). Where no topics are shared, rankings are compared with those of '
        "halves of the truth's own topics."
    ),
    summary=(
        Summary(
            "judge metric=label tau over_other_topics=tau_population~ bias=bias~ agree pairs",
            bar="over other topics",
        ),
    ),
    tables={
        "agreement": AGREEMENT,
        "labels": LABELS,
        "together": TOGETHER,
        "corrected": CORRECTED,
        "price": PRICE,
        "needed": NEEDED,
        "bias": BIAS,
        "differences": DIFFERENCES,
        "disjoint": DISJOINT,
        "preference": PREFERENCE,
        "confusion": CONFUSION,
        "label_topics": LABEL_TOPICS,
        "runs": RUNS,
    },
    title=title,
    caption=lambda result: (
        f"{conditions(result)}. Left: tau with intervals over infinitely many topics (dots: these topics); right: mean width of intervals of means by labelled topics, "
        "dashed without a judge. Where no topics are shared, the right shows the tau of rankings from as many topics."
    ),
    findings=findings,
    page_tables=on_page(
        {
            "Which judge: rankings and decisions": "agreement",
            "Judges together": "together",
            "Labels": "labels",
            "Confusion of levels": "confusion",
            "Bias by level of score": "bias",
            "Price: widths of intervals by labelled topics": "price",
            "Labelled topics for a width": "needed",
            "Disjoint topics": "disjoint",
            "Preference of judges for their own family": "preference",
        }
    ),
    figure=judge_panels,
    by_metric=True,
    answers={JUDGES: answer},
    cautions=cautions,
)
