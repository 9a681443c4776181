"""View of judges: which judge, for which decisions, at which price in human labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.errors import counted
from scorecube.report.tables import judges
from scorecube.report.tables.population import estimate_text
from scorecube.report.text_formats import with_labels
from scorecube.report.views.phrases import NONE
from scorecube.report.views.questions import JUDGES
from scorecube.report.views.view import (
    Column,
    Frames,
    Headed,
    Lines,
    ResultGroup,
    Table,
    View,
    on_demand,
    rows_along,
    select_tables,
)

NOTHING = 0.02
"""Share of the width of intervals below which a headline states that a judge adds nothing."""
ADDS_NOTHING = ", and adds nothing that counts"
OF_JUDGE = (names.METRIC, names.GAIN, names.JUDGE)


def title(options: Mapping[str, Any]) -> str:
    """Return the truth, the judges, the test and the depth."""
    others = options.get("judges") or ()
    shown = ", ".join(others) if len(others) <= 4 else counted(len(others), "judge")
    return f"{shown} against {options['truth']}, {options['test']} test, top {options['top']}"


def headline(result: xr.Dataset) -> list[str]:
    """Return for each metric the judge that ranks most alike and its decisions; then what labels buy, topics apart, and labels."""
    lines = []
    found = with_labels(judges.agreement(result))
    confidence = float(result.attrs["confidence"])
    for label, rows in found.groupby("label", sort=False):
        records = rows.sort_values("tau", ascending=False, kind="stable").to_dict("records")
        lines.append(f"{label}: {_ranking(records[0], confidence)}{_last(records)}")
        lines.append(f"{label}: {_decisions(records[0])}")
    lines += [_labels_text(row) for row in judges.labels(result).to_dict("records")]
    lines += price_lines(judges.price(result), judges.needed(result))
    lines += [disjoint_text(row) for row in with_labels(judges.disjoint(result)).to_dict("records")]
    for row in with_labels(judges.preference(result)).to_dict("records"):
        limits = f"[{row['preference_low']:+.3f}, {row['preference_high']:+.3f}]"
        lines.append(
            f"{row['label']}: {row['judge']} scores {counted(row['n_own'], 'run')} of its own family {row['preference']:+.3f} {limits} above the others, relative to {row['truth']}"
        )
    return lines


def _tau(row: Mapping[Any, Any], confidence: float) -> str:
    """Return the observed tau, and its estimate over infinitely many topics."""
    return f"tau {row['tau']:.3f} on these topics{estimate_text(row, confidence=confidence)}"


def _ranking(row: Mapping[Any, Any], confidence: float) -> str:
    moved = (
        f"{row['largest_drop_run']} loses the most ranks ({row['largest_drop']})"
        if row["largest_drop"]
        else "no run loses a rank"
    )
    best = f"{row['judge']} ranks {counted(row['n_runs'], 'run')} as {row['truth']} with {_tau(row, confidence)}; {moved}"
    return (
        best
        if np.isnan(row["bias"])
        else f"{best}; bias {row['bias']:+.3f} [{row['bias_low']:+.3f}, {row['bias_high']:+.3f}]"
    )


def _last(records: list[dict[Any, Any]]) -> str:
    return (
        ""
        if len(records) == 1
        else f"; the least alike of {len(records)}: {records[-1]['judge']} ({records[-1]['tau']:.3f})"
    )


def _decisions(row: Mapping[Any, Any]) -> str:
    decided = row["agree"] + row["only_truth"]
    share = (
        f"{row['agree']:,} of {decided + row['opposite']:,}"
        if decided + row["opposite"]
        else "none"
    )
    return (
        f"{row['judge']} finds {share} significant differences of {row['truth']} (alpha {row['alpha']:g}), {row['only_judge']:,} that it does not find, "
        f"and {row['opposite']:,} of the opposite sign; among the top {row['top']}, {row['false_positives']} of {row['top_judge']} are false positives"
    )


def _labels_text(row: Mapping[Any, Any]) -> str:
    limits = (
        "" if np.isnan(row["kappa_low"]) else f" [{row['kappa_low']:.2f}, {row['kappa_high']:.2f}]"
    )
    return (
        f"labels of {row['judge']}: kappa {row['kappa']:.2f}{limits}, weighted {row['weighted_kappa']:.2f}, alpha {row['alpha']:.2f}, "
        f"of {row['n_documents']:,} documents; mean level {row['mean_level_judge']:.2f}, of {row['truth']} {row['mean_level_truth']:.2f}"
    )


def price_lines(price: pd.DataFrame, needed: pd.DataFrame) -> list[str]:
    """Return what each judge saves of the width of intervals of means, by the first metric, and which judges add nothing."""
    rows = price[(price["of"] == "mean") & price["lambda"].notna()] if len(price) else price
    if rows.empty:
        return []
    rows = with_labels(rows)
    rows = rows[rows["n_labelled"] < rows["n_topics_judge"]]
    if rows.empty:
        return []
    first = rows["label"].iloc[0]
    lines = []
    for judge, own in rows[rows["label"] == first].groupby("judge", sort=False):
        some = own[own["n_labelled"] < own["n_topics"]]
        row = (some if len(some) else own).iloc[-1]
        widths = f"intervals of means by {row['n_labelled']} labelled topics and {judge} are {row['width']:.3f} wide, by these topics alone {row['width_truth']:.3f}"
        verdict = (
            f"{judge} narrows them by less than {NOTHING:.0%}{ADDS_NOTHING} (lambda {row['lambda']:.2f})"
            if row["narrowed"] < NOTHING
            else f"{judge} narrows them by {row['narrowed']:.0%} (lambda {row['lambda']:.2f})"
        )
        lines.append(f"{first}: {widths}: {verdict}{_needed(needed, row)}")
    return lines


def _needed(needed: pd.DataFrame, row: Mapping[Any, Any]) -> str:
    same = needed[
        (needed["judge"] == row["judge"])
        & (needed["metric"] == row["metric"])
        & (needed["gain"] == row["gain"])
        & (needed["of"] == "mean")
    ]
    if same.empty:
        return ""
    one = same.iloc[0]
    with_judge = f"{one['n_labelled']:,.0f}"
    if np.isnan(one["n_labelled"]):
        with_judge = f"more than the {one['n_topics_judge']} topics it judged"
    return f"; a width of {one['width']:g} takes {with_judge} with it, {one['n_labelled_truth']:,.0f} labelled topics without"


def disjoint_text(row: Mapping[Any, Any]) -> str:
    """Return the comparison of rankings from other topics in words."""
    part = f"{row['judge_part']:.3f} [{row['judge_part_low']:.3f}, {row['judge_part_high']:.3f}]"
    return (
        f"{row['label']}: no topics are shared: two halves of {row['n_topics']} topics of {row['truth']} rank with tau {row['tau_truth_halves']:.3f}, "
        f""
        f"two of {row['judge']} with {row['tau_judge_halves']:.3f}, one of each with {row['tau_with_judge']:.3f}: the judge's part is {part}"
    )


def page_tables(frames: Frames) -> Headed:
    """Return the tables of the chapter; those without rows are left out."""
    headings = {
        "Which judge: rankings and decisions": "agreement",
        "Labels": "labels",
        "Confusion of levels": "confusion",
        "Bias by level of score": "bias",
        "Price: widths of intervals by labelled topics": "price",
        "Labelled topics for a width": "needed",
        "Disjoint topics": "disjoint",
        "Preference of judges for their own family": "preference",
    }
    made = select_tables(frames, headings)
    return [made[0], *((heading, each) for heading, each in made[1:] if len(each))]


def best_judge(frame: pd.DataFrame) -> str:
    """Return the judge with the highest tau by any metric."""
    rows = frame.dropna(subset="tau").sort_values("tau", ascending=False, kind="stable")
    return (
        f"{rows['judge'].iloc[0]} {rows['tau'].iloc[0]:.2f} ({rows['label'].iloc[0]})"
        if len(rows)
        else NONE
    )


def answer(group: ResultGroup) -> Lines:
    """Yield which judge to use, for which decisions, and at which price."""
    found = with_labels(group.first_table)
    found = found[found["label"] == found["label"].iloc[0]]
    rows = found.sort_values("tau", ascending=False, kind="stable").to_dict("records")
    best = rows[0]
    tau = _tau(best, float(group.facts[0]["confidence"]))
    decided = best["agree"] + best["only_truth"] + best["opposite"]
    wrong = best["only_judge"] + best["opposite"]
    claimed = best["agree"] + wrong
    share = f"{best['agree'] / decided:.0%}" if decided else "none"
    false = f"{wrong / claimed:.0%}" if claimed else "none"
    yield (
        f"By {best['label']}, {best['judge']} ranks runs most like {best['truth']} ({tau}). It finds {share} of the significant differences; {false} of those that it "
        f"finds are not confirmed. It {_use(best)}.",
        f"{group.heading}; {best['n_runs']} runs, {group.facts[0]['test']} test, alpha {best['alpha']:g}",
    )
    if "price" not in group.frames or "needed" not in group.frames:
        return
    lines = price_lines(group.frames["price"], group.frames["needed"])
    shown = [line for line in lines if f"and {best['judge']} are" in line or ADDS_NOTHING in line]
    for line in shown:
        yield (
            f"{line}.",
            f"{group.heading}; mean widths over random choices of the labelled topics",
        )


def _use(row: Mapping[Any, Any]) -> str:
    """Return for which decisions a judge can stand in."""
    if row["opposite"]:
        return f"reverses {counted(row['opposite'], 'significant difference')}: it cannot replace the truth for them"
    if row["false_positives"]:
        return f"names {counted(row['false_positives'], 'difference')} among the top {row['top']} that the truth does not confirm: the leading runs need labels of the truth"
    return "contradicts no significant difference, and none among the leading runs is false"


def cautions(result: xr.Dataset, _frames: Frames) -> list[tuple[str, str]]:
    """Return remarks on judges that add nothing, on few labels, and on disjoint topics."""
    remarks = []
    price = judges.price(result)
    if len(price):
        idle = price[
            (price["of"] == "mean")
            & (price["narrowed"] < NOTHING)
            & (price["n_labelled"] < price["n_topics_judge"])
        ]
        whom = list(dict.fromkeys(idle["judge"]))
        if whom:
            remarks.append(
                (
                    "A judge whose scores do not go with those of the truth from topic to topic narrows no interval, however well it ranks runs: labels buy as much without it.",
                    f"narrowed by less than {NOTHING:.0%}: {', '.join(whom)}",
                )
            )
    if (result["n_shared"].values < 2).any():
        remarks.append(
            (
                "Rankings from other topics differ under the same judgements, too: only tau below that of halves of the truth is the judge's part. Scores are not corrected.",
                ", ".join(
                    np.array(result[names.JUDGE].values)[result["n_shared"].values < 2].tolist()
                ),
            )
        )
    if result.attrs["notes"]:
        remarks.append(
            ("Some runs, topics or metrics are not compared.", "; ".join(result.attrs["notes"]))
        )
    return remarks


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
    tables={
        "agreement": Table(judges.agreement),
        "labels": Table(judges.labels),
        "corrected": Table(judges.corrected, rows_along(*OF_JUDGE, names.N_LABELLED, names.RUN)),
        "price": Table(judges.price),
        "needed": Table(judges.needed),
        "bias": Table(judges.bias),
        "differences": Table(
            judges.differences, rows_along(*OF_JUDGE, names.N_LABELLED, names.RUN)
        ),
        "disjoint": Table(judges.disjoint),
        "preference": Table(judges.preference),
        "confusion": Table(judges.confusion),
        "label_topics": Table(judges.label_topics, rows_along(names.JUDGE, names.TOPIC)),
        "runs": Table(judges.runs, rows_along(*OF_JUDGE, names.RUN)),
    },
    title=title,
    caption=lambda result: (
        f"{judges.conditions(result)}. Left: tau with intervals over infinitely many topics (dots: these topics); right: mean width of intervals of means by labelled topics, "
        "dashed without a judge. Where no topics are shared, the right shows the tau of rankings from as many topics."
    ),
    headline=headline,
    page_tables=page_tables,
    figure=on_demand("figures.judges:judge_panels"),
    column=Column("judge most like the truth", best_judge),
    answers={JUDGES: answer},
    cautions=cautions,
)
