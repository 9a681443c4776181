"""Error rates and coverages where the truth is known: ``python -m tests.validation [NAME ...] [--samples N]``.

Run by hand when a method changes; all names take hours, one takes minutes. A row is a truth and what is measured on it: truths are topics drawn with
replacement from real collections, whose topics are then all topics there are, or random-effects models. Samples are functions of `SEED` and their number.
Each rate has its standard error between samples; what misses its goal is bold. Rows of collections are skipped where ``../shared/data`` is absent.

| name | what is measured |
|---|---|
| families | any pair significant though none differs: max-T, Tukey, Holm's t tests |
| groups | the same, and limits of means, where topics come in groups, named and not |
| ranks | rank sets, limits of means and of the leader (`leaderboard`), runs as they are, and many near-equal runs |
| bounded | limits of means of scores near their bounds |
| equivalence | pairs called equivalent whose means differ by the margin |
| boards | rank sets and limits of means over collections, limits of gates |
| swap | limits of the required difference and of the share |
| tau | limits of tau over infinitely many topics |
| reliability | limits of E rho^2 and Phi |
| design | limits of variances |
| corrected | limits of means by a judge, corrected by some labels |
| labels | limits of coefficients of label agreement |
"""

from __future__ import annotations

import argparse
import logging
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from tests.validation import boards, designs, judges, rates, reliability, swap, truths, two_metrics

SEED = 37
HEADINGS = ("name", "truth", "method", "goal", "measured", "standard error", "samples")
Rows = Iterator[tuple[str, "Row"]]


@dataclass(frozen=True)
class Row:
    """One truth and what is measured on it.

    Parameters
    ----------
    truth
        Makes the truth when it is needed: populations read files.
    measure
        Returns for a truth the values of each method, one a sample.
    goal
        Lowest and highest rate that are right.
    samples
        How many.
    """

    truth: Callable[[], Any]
    measure: rates.Measure
    goal: tuple[float, float]
    samples: int = 300


COVERED, NO_ERROR = (0.92, 1.0), (0.0, 0.07)
FILES = (
    "adhoc5/ap.csv", "adhoc6/ap.csv", "adhoc7/p10.csv", "adhoc7/rr.csv", "adhoc8/ap.csv", "adhoc8/p10.csv", "web2010/ndcg20.csv", "web2011/ap.csv",
    "web2011/rr.csv", "web2012/err20.csv", "web2013/ap.csv", "web2014/err20.csv",
)  # fmt: skip
RANKED = ("adhoc8/ap.csv", "adhoc8/p10.csv", "adhoc7/rr.csv", "web2012/err20.csv", "web2013/err20.csv", "robust2004/ap_249topics.csv", "syndl-dl2020/nist-nDCG10.csv")  # fmt: skip
TAUS = {
    "adhoc8 AP, P@10": ("adhoc8/ap.csv", "adhoc8/p10.csv"),
    "DL20 AP, RR by GPT-4": ("syndl-dl2020/gpt4-AP.csv", "syndl-dl2020/gpt4-RR.csv"),
}
LENIENT = np.linspace(0.9, 0.985, 10)
"""Probabilities of relevance of runs whose true mean RR is .948 to .992."""


def of(maker: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Return what makes a truth from fixed arguments."""
    return lambda: maker(*arguments)


def drawn(file: str, n_topics: int, n_runs: int | None = None) -> Callable[[], truths.Truth]:
    """Return what makes a population of a file, perhaps of its best runs."""

    def make() -> truths.Truth:
        scores = truths.real_scores(file)
        best = np.argsort(-scores.mean(axis=1), kind="stable")[:n_runs]
        return truths.population(scores[best], n_topics)

    return make


def changed(kind: Callable[..., Any], file: str, *arguments: Any) -> Callable[[], truths.Truth]:
    """Return what makes a truth from the scores of a file."""
    return lambda: kind(truths.real_scores(file), *arguments)


def _families() -> Rows:
    yield "one erratic run of 30", Row(lambda: truths.erratic, rates.family_error, NO_ERROR, 400)
    for n_runs in (30, 100):
        field = of(truths.near_equal_field, n_runs, 50, 0.0)
        yield f"{n_runs} normal runs of one mean", Row(field, rates.family_error, NO_ERROR)
    for file in FILES:
        moved, other = changed(truths.population, file, 50, True), changed(truths.replaced, file, 50)  # fmt: skip
        yield f"{_label(file)}, runs moved to mean 0", Row(moved, rates.family_error, NO_ERROR, 400)
        yield f"{_label(file)}, scores replaced", Row(other, rates.family_error, NO_ERROR)
        exchanged = changed(truths.exchanged, file, 50)
        yield f"{_label(file)}, scores exchanged", Row(exchanged, rates.family_error, NO_ERROR)


def _groups() -> Rows:
    made: dict[str, Callable[[], truths.Truth]] = {}
    for correlation, n_groups, unequal in product((0.3, 0.6), (10, 25, 50), (False, True)):
        sizes = "1 and 9" if unequal else "5"
        made[f"{n_groups} groups of {sizes} topics, correlation {correlation}"] = of(truths.topic_groups, n_groups, 5, correlation, 30, unequal)  # fmt: skip
    for n_groups in (10, 25):
        made[f"robust2004 AP in {n_groups} groups"] = lambda n=n_groups: truths.grouped_population(truths.real_scores(RANKED[5])[:30], n, 5)  # type: ignore[misc]  # fmt: skip
    for name, grouped in made.items():
        for known, make in (("", grouped), (", not named", lambda g=grouped: truths.unnamed(g()))):
            yield f"{name}{known}: family-wise error", Row(make, rates.family_error, NO_ERROR)
            yield f"{name}{known}", Row(make, rates.board_coverage(), COVERED)


def _ranks() -> Rows:
    for deviation in (0.0, 0.01, 0.03):
        field = of(truths.near_equal_field, 30, 50, deviation)
        yield f"30 runs, sd of means {deviation}", Row(field, rates.board_coverage(), COVERED)
    for file, n_topics in product(RANKED, (25, 50)):
        row = Row(drawn(file, n_topics, 30), rates.board_coverage(), COVERED)
        yield f"{_label(file)}, 30 runs, {n_topics} topics", row


def _bounded() -> Rows:
    within = rates.board_coverage()
    for n_topics in (10, 25, 50):
        truth = of(truths.lenient_reciprocal_ranks, LENIENT, n_topics)
        yield f"RR, lenient judge, {n_topics} topics", Row(truth, within, COVERED)
    for (name, steps), mean in product((("P@10", 10), ("accuracy", 1)), (0.5, 0.9, 0.99)):
        truth = of(truths.grid_scores, mean, steps, 25)
        yield f"{name} of mean {mean}, 25 topics", Row(truth, within, COVERED)
    for file in ("syndl-dl2020/nist-RR.csv", "syndl-dl2020/gpt4-P10.csv", "web2004/scores.csv"):
        yield f"{_label(file)}, 25 topics", Row(drawn(file, 25, 30), within, COVERED)


def _equivalence() -> Rows:
    for n in (10, 25, 50, 100, 200):
        truth = of(truths.lenient_reciprocal_ranks, (0.98, 0.96), n)
        yield f"RR at the margin, {n} topics", Row(truth, rates.called_equivalent, NO_ERROR, 2000)
    for n in (25, 50):
        near = drawn("syndl-dl2020/nist-RR.csv", n)
        yield f"DL20 RR at the margin, {n} topics", Row(near, rates.near_pairs_equivalent, NO_ERROR)


def _boards() -> Rows:
    for number, (name, (maker, equal, different)) in product(boards.NUMBERS, boards.KINDS.items()):
        where = f"{number} collections, {name}"
        null, spread = of(maker, number, equal), of(maker, number, different)
        yield f"{where}, equal means", Row(null, boards.family_error, NO_ERROR, 1000)
        yield where, Row(spread, boards.coverage, COVERED, 200)
        yield f"{where}: gate", Row(spread, boards.gates, COVERED, 100)


def _swap() -> Rows:
    for each in swap.POPULATIONS:
        name = f"{each.n_runs} runs, teams of {each.team}"
        yield name, Row(lambda each=each: each, swap.coverage, COVERED)  # type: ignore[misc]


def _taus() -> Rows:
    for (design, n_runs), tau in product(product(two_metrics.DESIGNS, (30, 60)), (0.7, 0.9, 1.0)):
        made = of(two_metrics.two_metrics, design, n_runs, 50, tau)
        yield f"{design}, {n_runs} runs, tau {tau}", Row(made, rates.tau_coverage, COVERED)
    for correlation in (0.0, 0.35, 0.7):
        kinds = of(truths.two_generations, 30, 50, correlation)
        name = f"two generations, correlation {correlation}, 30 runs, 50 topics"
        yield name, Row(kinds, rates.tau_coverage, COVERED)
    near = of(truths.near_duplicate_teams)
    yield "near-duplicate teams of three, 30 runs", Row(near, rates.tau_coverage, COVERED)
    for name, files in TAUS.items():
        both = lambda files=files: truths.population(np.array(list(map(truths.real_scores, files))), 50)  # noqa: E731  # fmt: skip
        yield f"{name}, 50 topics", Row(both, rates.tau_coverage, COVERED, 100)


def _reliability() -> Rows:
    for each in (*reliability.DESIGNS, *reliability.REAL_DESIGNS):
        name = f"{each.kind}, teams of {each.team}, {each.n_topics} topics"
        yield name, Row(lambda each=each: each, reliability.coverage, COVERED, 2000)  # type: ignore[misc]


def _designs() -> Rows:
    for each in designs.CASES:
        kind = "skewed" if each.skewed else "normal"
        name = f"{kind} scores, {each.n_teams} teams x {each.team_size}, {each.n_topics} topics"
        yield name, Row(lambda each=each: each, designs.coverage, COVERED, 500)  # type: ignore[misc]


def _corrected() -> Rows:
    for m in (10, 20, 30):
        measure = judges.corrected_coverage(m)
        yield f"RR, {m} labels of 50", Row(truths.judged_reciprocal_ranks, measure, COVERED)
        yield f"zero-inflated, {m} labels of 50", Row(truths.zero_inflated, measure, COVERED)
        for judge, metric in product(judges.JUDGES, judges.METRICS):
            covid = of(judges.covid_scores, judge, metric)
            yield f"TREC-COVID {metric}, {judge}, {m} labels of 50", Row(covid, measure, COVERED)


def _labels() -> Rows:
    for n in (10, 20, 50):
        made = of(judges.judged_labels, n)
        yield f"made labels, {n} topics", Row(made, judges.label_coverage, COVERED, 2000)
        for judge in judges.JUDGES:
            covid = of(judges.covid_labels, judge, n)
            yield f"TREC-COVID, {judge}, {n} topics", Row(covid, judges.label_coverage, COVERED, 2000)  # fmt: skip


ROWS: dict[str, Callable[[], Rows]] = {
    "families": _families,
    "groups": _groups,
    "ranks": _ranks,
    "bounded": _bounded,
    "equivalence": _equivalence,
    "boards": _boards,
    "swap": _swap,
    "tau": _taus,
    "reliability": _reliability,
    "design": _designs,
    "corrected": _corrected,
    "labels": _labels,
}
"""Rows of the table by name."""


def _label(file: str) -> str:
    collection, metric = file.removesuffix(".csv").split("/")
    return f"{collection} {metric}"


def lines(name: str, samples: int | None = None) -> Iterator[str]:
    """Yield the lines of the table of one name."""
    for label, row in ROWS[name]():
        number = samples or row.samples
        try:
            truth = row.truth()
            found = row.measure(truth, number, SEED)
        except FileNotFoundError:
            yield f"| {name} | {label} | skipped: ../shared/data is absent | | | | |"
            continue
        for method, values in found.items():
            low, high = (0.0, 0.05) if rates.ERROR in method else row.goal
            if any(each in method for each in rates.NO_GOAL):
                low, high = -math.inf, math.inf
            goal = f"{low:.2f} to {high:.2f}" if math.isfinite(high) else "none"
            rate, error = rates.rate_of(values)
            text = f"{rate:.3f}" if low <= round(rate, 3) <= high else f"**{rate:.3f}**"
            yield f"| {name} | {label} | {method} | {goal} | {text} | {error:.3f} | {number} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.validation", description="Print measured rates on known truths."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(ROWS)}")
    parser.add_argument("--samples", type=int, help="samples of each row")
    options = parser.parse_args()
    if unknown := set(options.names) - {*ROWS}:
        parser.error(f"no such name: {', '.join(sorted(unknown))}; known: {', '.join(ROWS)}")
    logging.disable(logging.WARNING)
    print("| " + " | ".join(HEADINGS) + " |\n" + "|---" * len(HEADINGS) + "|", flush=True)
    for name in options.names or ROWS:
        for line in lines(name, options.samples):
            print(line, flush=True)


if __name__ == "__main__":
    main()
