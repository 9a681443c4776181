"""Tables of judges: rankings and decisions, labels, bias, corrected means and their price, disjoint topics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.rank_agreement.population import MEANINGS
from scorecube.collection.schema import labels_of
from scorecube.report.tables.population import containing
from scorecube.report.tables.rows import COLLECTION, parts

RANKING_STATISTICS = ("tau_b", "tau_ap", "rbo")
OF_TOP_PAIRS = ("top_pairs", "top_significant", "top_judge", "false_positives", "false_negatives")
FIRST = ["truth", "judge"]
CELL = [*FIRST, "metric", "gain"]
OF_MEANS = [*CELL, "run", "n_labelled", "mean", "mean_low", "mean_high", "lambda", COLLECTION]
OF_DIFFERENCES = [
    *CELL,
    "run",
    "baseline",
    "n_labelled",
    "difference",
    "difference_low",
    "difference_high",
    COLLECTION,
]


def conditions(result: xr.Dataset) -> str:
    """Return the truth, the judges, and the numbers of runs and topics in one line."""
    judges = labels_of(result, names.JUDGE)
    shown = ", ".join(judges) if len(judges) <= 4 else f"{len(judges)} judges"
    topics = sorted(set(result["n_shared"].values.tolist()))
    of_topics = f"{topics[0]}" if len(topics) == 1 else f"{topics[0]} to {topics[-1]}"
    return f"{shown} against {result.attrs['truth']}, {result.attrs['n_runs']} runs, {of_topics} shared topics"


def by_judge(result: xr.Dataset) -> Iterator[tuple[dict[str, Any], xr.Dataset]]:
    """Yield the first columns of each judge, metric and gain setting, and its part of the result."""
    for k, judge in enumerate(labels_of(result, names.JUDGE)):
        for cell, data in parts(result.isel({names.JUDGE: k})):
            yield {"truth": str(result.attrs["truth"]), "judge": judge} | cell, data


def frame(
    rows: Sequence[dict[str, Any]], result: xr.Dataset, columns: Sequence[str] = CELL
) -> pd.DataFrame:
    """Return rows as a table, with the collection in the last column."""
    name = str(result.attrs.get(COLLECTION, result.attrs["truth"]))
    made = (
        pd.DataFrame(rows)
        if rows
        else pd.DataFrame(columns=[each for each in columns if each != COLLECTION])
    )
    return made.assign(**{COLLECTION: name})


def whole(value: Any) -> int:
    """Return a count."""
    return int(value)


def agreement(result: xr.Dataset) -> pd.DataFrame:
    """Rankings and decisions of each judge against the truth; the most similar rankings first within a metric.

    `tau` is of the rankings at hand; all limits, and `tau_population`, are over infinitely many topics: missing for fewer than 10 runs or topics, or
    without shared topics. `tau_low` and `tau_high` are left out where they exclude the tau at hand; `tau_population_low` and `_high` never are.
    """
    rows = [
        cell
        | _compared_rankings(data)
        | _largest_moves(data, labels_of(result, names.RUN))
        | {name: whole(data[name]) for name in OF_TOP_PAIRS}
        | {
            "n_topics": whole(data["n_shared"]),
            "n_topics_truth": whole(data["n_truth"]),
            "n_topics_judge": whole(data["n_judged"]),
        }
        | {"alpha": result.attrs["alpha"], "top": result.attrs["top"]}
        for cell, data in by_judge(result)
    ]
    made = frame(rows, result)
    order = {metric: k for k, metric in enumerate(labels_of(result, names.METRIC))}
    keys = made.assign(_metric=made["metric"].map(order), _tau=-made["tau"])
    keys = keys.sort_values(["_metric", "gain", "_tau"], kind="stable")
    return made.loc[keys.index].reset_index(drop=True)


def _compared_rankings(data: xr.Dataset) -> dict[str, Any]:
    """Return agreement, decisions and bias of a judge, the main columns first."""
    values = {
        name: dict(zip(labels_of(data, names.STATISTIC), data[name].values.tolist(), strict=True))
        for name in ("agreement", *MEANINGS)
    }
    tau = values["agreement"]["tau"]
    low, high = (values[f"population_{end}"]["tau"] for end in ("low", "high"))
    limits = containing(tau, low, high)
    level = data.sel({names.RUN_LEVEL: "all"})
    n_runs = whole(data["n_common_runs"])
    row: dict[str, Any] = {
        "tau": tau,
        "tau_low": float(limits[0]),
        "tau_high": float(limits[1]),
        "tau_ap": values["agreement"]["tau_ap"],
        "n_runs": n_runs,
    }
    row |= {name: whole(data[name]) for name in ("agree", "only_truth", "only_judge", "opposite")}
    row |= {
        "bias": float(level["level_bias"]),
        "bias_low": float(level["level_low"]),
        "bias_high": float(level["level_high"]),
        "neither": whole(data["neither"]),
        "pairs": n_runs * (n_runs - 1) // 2,
        "tau_population": values["population"]["tau"],
        "tau_population_low": low,
        "tau_population_high": high,
    }
    for name in RANKING_STATISTICS:
        row |= {name: values["agreement"][name]} if name != "tau_ap" else {}
        row |= {f"{name}_{end}": values[f"population_{end}"][name] for end in ("low", "high")}
    return row


def _largest_moves(data: xr.Dataset, runs: Sequence[str]) -> dict[str, Any]:
    """Return the largest changes of rank, and the runs that have them."""
    row: dict[str, Any] = {}
    for name in ("drop", "rise"):
        ranks = whole(data[name])
        row[f"largest_{name}"] = ranks
        row[f"largest_{name}_run"] = runs[int(data[f"{name}_run"])] if ranks > 0 else ""
    return row


def labels(result: xr.Dataset) -> pd.DataFrame:
    """Agreement of the labels of all documents that the truth and a judge both judged, with jackknife intervals over topics."""
    rows = []
    for k, judge in enumerate(labels_of(result, names.JUDGE)):
        at = result.isel({names.JUDGE: k})
        found = {
            f"{name}{end}": float(at[f"label{end}"].sel({names.LABEL_STATISTIC: name}))
            for name in labels_of(result, names.LABEL_STATISTIC)
            for end in ("", "_low", "_high")
        }
        confusion = at["confusion"].values
        n = int(confusion.sum())
        if not n:
            continue
        first = [f"kappa{end}" for end in ("", "_low", "_high")] + ["weighted_kappa", "alpha"]
        ordered = {name: found.pop(name) for name in first}
        levels = np.arange(len(confusion))
        means = {
            "mean_level_truth": float((confusion.sum(axis=1) * levels).sum() / n),
            "mean_level_judge": float((confusion.sum(axis=0) * levels).sum() / n),
        }
        row = {"truth": result.attrs["truth"], "judge": judge} | ordered | {"n_documents": n}
        row |= {"n_topics": int((at["documents_by_topic"].values > 0).sum())}
        weights = {name: result.attrs[name] for name in ("weights", "distance")}
        rows.append(row | means | found | weights)
    return frame(
        rows,
        result,
        [*FIRST, "kappa", "kappa_low", "kappa_high", "weighted_kappa", "alpha", "n_documents"],
    )


def confusion(result: xr.Dataset) -> pd.DataFrame:
    """Documents by their levels under the truth and under each judge; `share` is of the documents of a level of the truth."""
    rows = []
    for k, judge in enumerate(labels_of(result, names.JUDGE)):
        counts = result["confusion"].values[k]
        for (level, other), n in np.ndenumerate(counts):
            of_level = int(counts[level].sum())
            rows.append(
                {
                    "truth": result.attrs["truth"],
                    "judge": judge,
                    "level_truth": level,
                    "level_judge": other,
                }
                | {"n_documents": int(n), "share": int(n) / of_level if of_level else np.nan}
            )
    kept = rows if any(row["n_documents"] for row in rows) else []
    return frame(kept, result, [*FIRST, "level_truth", "level_judge", "n_documents", "share"])


def label_topics(result: xr.Dataset) -> pd.DataFrame:
    """Agreement of labels by topic; missing where all labels of a topic are one level."""
    rows = []
    statistics = labels_of(result, names.LABEL_STATISTIC)
    for k, judge in enumerate(labels_of(result, names.JUDGE)):
        at = result.isel({names.JUDGE: k})
        for topic, values, n in zip(
            labels_of(result, names.TOPIC),
            at["label_by_topic"].values,
            at["documents_by_topic"].values,
            strict=True,
        ):
            if n:
                found = dict(zip(statistics, map(float, values), strict=True))
                rows.append(
                    {"truth": result.attrs["truth"], "judge": judge, "topic": topic}
                    | found
                    | {"n_documents": int(n)}
                )
    return frame(rows, result, [*FIRST, "topic", *statistics, "n_documents"])


def bias(result: xr.Dataset) -> pd.DataFrame:
    """Mean under the judge less mean under the truth: of all runs, and of thirds of the runs by their means under the truth."""
    rows = []
    for cell, data in by_judge(result):
        for level in labels_of(data, names.RUN_LEVEL):
            at = data.sel({names.RUN_LEVEL: level})
            if not float(at["level_runs"]) > 0:
                continue
            found = {
                "level": level,
                "mean_truth": float(at["level_truth"]),
                "mean_judge": float(at["level_judge"]),
                "bias": float(at["level_bias"]),
                "bias_low": float(at["level_low"]),
                "bias_high": float(at["level_high"]),
                "n_runs": int(at["level_runs"]),
            }
            rows.append(cell | found)
    return frame(rows, result)


def sizes_of(data: xr.Dataset) -> Iterator[tuple[int, xr.Dataset]]:
    """Yield the numbers of labelled topics that a judge has, all shared ones last, and their part of the result."""
    for k, size in enumerate(data[names.N_LABELLED].values.tolist()):
        at = data.isel({names.N_LABELLED: k})
        if np.isfinite(at["width_truth"].values).any():
            yield size or int(at["n_shared"]), at


def corrected(result: xr.Dataset) -> pd.DataFrame:
    """Corrected means of runs by number of labelled topics, of one random choice of these topics; with all topics labelled, the means of the truth alone."""
    rows = []
    runs = labels_of(result, names.RUN)
    for cell, data in by_judge(result):
        for size, at in sizes_of(data):
            columns = [at[f"corrected{end}"].values for end in ("", "_low", "_high")]
            for run, slope, *values in zip(runs, at["slope"].values, *columns, strict=True):
                if np.isfinite(values[0]):
                    found = dict(
                        zip(("mean", "mean_low", "mean_high"), map(float, values), strict=True)
                    )
                    rows.append(
                        cell | {"run": run, "n_labelled": size} | found | {"lambda": float(slope)}
                    )
    return frame(rows, result, OF_MEANS)


def differences(result: xr.Dataset) -> pd.DataFrame:
    """Differences of corrected means from those of the baseline, by number of labelled topics, of one random choice of these topics."""
    rows = []
    runs = labels_of(result, names.RUN)
    for cell, data in by_judge(result):
        base = int(data["baseline"])
        for size, at in sizes_of(data):
            columns = [at[f"difference{end}"].values for end in ("", "_low", "_high")]
            for run, *values in zip(runs, *columns, strict=True):
                if np.isfinite(values[0]):
                    found = dict(
                        zip(
                            ("difference", "difference_low", "difference_high"),
                            map(float, values),
                            strict=True,
                        )
                    )
                    rows.append(
                        cell | {"run": run, "baseline": runs[base], "n_labelled": size} | found
                    )
    return frame(rows, result, OF_DIFFERENCES)


def price(result: xr.Dataset) -> pd.DataFrame:
    """Mean widths of intervals by number of labelled topics, with the judge and by the labelled topics alone, over random choices of these topics.

    `narrowed` is the share of the width that the judge saves, about 0 for a judge whose scores are unrelated to those of the truth; `covered` the share of intervals that hold
    the mean by the labels of all shared topics, which is near 1 as these topics are among them: intervals are about infinitely many.
    """
    rows = []
    for cell, data in by_judge(result):
        for size, at in sizes_of(data):
            for quantity in labels_of(data, names.QUANTITY):
                of = at.sel({names.QUANTITY: quantity})
                width, alone = float(of["width"]), float(of["width_truth"])
                row = {
                    "of": quantity,
                    "n_labelled": size,
                    "width": width,
                    "width_truth": alone,
                    "narrowed": 1 - width / alone if alone > 0 else np.nan,
                    "lambda": float(of["mean_slope"]),
                    "covered": float(of["covered"]),
                    "n_topics": whole(at["n_shared"]),
                    "n_topics_judge": whole(at["n_judged"]),
                }
                rows.append(cell | row)
    return frame(rows, result, [*CELL, "of", "n_labelled", "width"])


def needed(result: xr.Dataset) -> pd.DataFrame:
    """Labelled topics for a wanted width of intervals, with the judge and without; missing where no number suffices."""
    rows = []
    for cell, data in by_judge(result):
        for quantity in labels_of(data, names.QUANTITY):
            of = data.sel({names.QUANTITY: quantity})
            numbers = [float(of[name]) for name in ("needed", "needed_truth")]
            if np.isnan(numbers).all():
                continue
            row = {"of": quantity, "width": float(result.attrs["width"])}
            row |= dict(
                zip(
                    ("n_labelled", "n_labelled_truth"),
                    (each if np.isfinite(each) else np.nan for each in numbers),
                    strict=True,
                )
            )
            rows.append(cell | row | {"n_topics_judge": whole(data["n_judged"])})
    return frame(rows, result, [*CELL, "of", "width", "n_labelled", "n_labelled_truth"])


def preference(result: xr.Dataset) -> pd.DataFrame:
    """Bias for the runs of each judge's family less that for all others; a judge without such runs has no row."""
    rows = []
    for cell, data in by_judge(result):
        if np.isfinite(float(data["preference"])):
            names_of = ("preference", "preference_low", "preference_high")
            rows.append(
                cell
                | {name: float(data[name]) for name in names_of}
                | {"n_own": whole(data["n_own"]), "n_runs": whole(data["n_common_runs"])}
            )
    return frame(rows, result, [*CELL, "preference", "preference_low", "preference_high", "n_own"])


def disjoint(result: xr.Dataset) -> pd.DataFrame:
    """Tau of rankings from as many topics, where none are shared: two halves of the truth's topics, two of the judge's, and one of each.

    `judge_part` is the tau of two halves of the truth less that with the judge; its limits are by a jackknife over topics.
    """
    rows = []
    for cell, data in by_judge(result):
        taus = dict(
            zip(
                labels_of(data, names.HALF_STATISTIC), data["half_tau"].values.tolist(), strict=True
            )
        )
        if np.isnan(taus["both"]):
            continue
        found = {
            "n_topics": min(whole(data["n_truth"]), whole(data["n_judged"])) // 2,
            "tau_truth_halves": taus["truth"],
            "tau_judge_halves": taus["judge"],
            "tau_with_judge": taus["both"],
            "judge_part": float(data["part"]),
            "judge_part_low": float(data["part_low"]),
            "judge_part_high": float(data["part_high"]),
            "tau_all_topics": float(data["agreement"].values[0]),
        }
        rows.append(cell | found)
    return frame(rows, result, [*CELL, "n_topics", "tau_truth_halves", "tau_with_judge"])


def runs(result: xr.Dataset) -> pd.DataFrame:
    """Mean and rank of every run under the truth and under each judge; a positive rank change is a loss."""
    labels = np.array(labels_of(result, names.RUN), object)
    frames = []
    for cell, data in by_judge(result):
        columns = {"run": labels} | {
            name: data[name].values
            for name in ("mean_truth", "mean_judge", "rank_truth", "rank_judge")
        }
        made = pd.DataFrame(cell | columns).dropna(subset="rank_truth")
        made = made.astype({"rank_truth": int, "rank_judge": int})
        made["bias"] = made["mean_judge"] - made["mean_truth"]
        made["rank_change"] = made["rank_judge"] - made["rank_truth"]
        frames.append(made.sort_values("rank_truth", kind="stable"))
    name = str(result.attrs.get(COLLECTION, result.attrs["truth"]))
    return pd.concat(frames, ignore_index=True).assign(**{COLLECTION: name})
