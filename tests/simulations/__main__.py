"""Error rates and coverages that are known to fail, on truths of both kinds: ``python -m tests.simulations [NAME ...]`` prints a table.

Without a name all of `ROWS` are measured (about ten minutes on one core); ``--samples N`` takes N samples of each row. Samples are functions of `SEED`
and their number. Each rate has the standard error between samples. What fails its goal is bold. Populations, topics drawn with replacement from
public collections, are skipped with a reason where ``../shared/data`` is absent.
"""

from __future__ import annotations

import argparse
import logging
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from tests.design_coverage import Case
from tests.simulations import boards, judges, rates, truths
from tests.simulations.truths import Truth, population, real_scores

SEED = 37
HEADINGS = ("row", "truth", "method", "goal", "measured", "standard error", "samples")


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
    measure: Callable[[Any, int, int], rates.Values]
    goal: tuple[float, float]
    samples: int = 300


COVERED, GROUPED, NO_ERROR, TAU, ASSURED = (
    (0.93, 1.0),
    (0.92, 0.97),
    (0.0, 0.07),
    (0.90, 1.0),
    (0.80, 1.0),
)
WINNERS = (
    "adhoc8/ap.csv", "web2013/err20.csv", "web2012/err20.csv", "robust2004/ap_249topics.csv", "syndl-dl2020/nist-nDCG10.csv", "adhoc7/rr.csv",
)  # fmt: skip
TAUS = {
    "adhoc8 AP, P@10": ("adhoc8/ap.csv", "adhoc8/p10.csv"),
    "DL20 AP, RR by GPT-4": ("syndl-dl2020/gpt4-AP.csv", "syndl-dl2020/gpt4-RR.csv"),
    "DL20 nDCG@10, P@10 by GPT-4": ("syndl-dl2020/gpt4-nDCG10.csv", "syndl-dl2020/gpt4-P10.csv"),
}
PILOTS = (
    "robust2004/ap_249topics.csv", "adhoc8/p10.csv", "web2012/err20.csv", "syndl-dl2020/nist-nDCG10.csv",
)  # fmt: skip
DESIGNS = tuple(
    Case(n_teams, size, n_topics, skewed)
    for n_teams, size in ((10, 3), (40, 1))
    for n_topics in (25, 50)
    for skewed in (False, True)
)
SHARES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
"""Shares of one topic in the squared errors of the judges' mean."""
LENIENT = np.linspace(0.9, 0.985, 10)
"""Probabilities of relevance of runs whose true mean RR is .948 to .992."""


def of(maker: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Return what makes a truth from fixed arguments."""
    return lambda: maker(*arguments)


def drawn(name: str, n_topics: int) -> Callable[[], Truth]:
    """Return what makes a population of a file."""
    return lambda: population(real_scores(name), n_topics)


def spread_runs(name: str, n_topics: int, n_runs: int = 30) -> Callable[[], Truth]:
    """Return what makes a population of the ``n_runs`` best runs of a file."""

    def make() -> Truth:
        scores = real_scores(name)
        return population(scores[np.argsort(-scores.mean(axis=1), kind="stable")[:n_runs]], n_topics)  # fmt: skip

    return make


def two_metrics(names: tuple[str, str], n_topics: int) -> Callable[[], Truth]:
    """Return what makes a population of two files with the same runs and topics."""
    return lambda: population(np.array([real_scores(name) for name in names]), n_topics)


def _groups() -> Iterator[tuple[str, Row]]:
    for correlation in (0.3, 0.5, 0.6):
        for n_groups, unequal in product((10, 25, 50), (False, True)):
            truth = of(truths.topic_groups, n_groups, 5, correlation, 30, unequal)
            sizes = "1 and 9" if unequal else "5"
            name = f"{n_groups} groups of {sizes} topics, correlation {correlation}"
            yield f"{name}: family-wise error", Row(truth, rates.grouped_family_error, NO_ERROR)
            yield f"{name}: means", Row(truth, rates.grouped_mean_coverage, GROUPED)
    for n_groups in (10, 25):
        grouped = of(truths.grouped_population, real_scores("robust2004/ap_249topics.csv")[:30], n_groups, 5)  # fmt: skip
        name = f"robust2004 AP in {n_groups} groups"
        yield f"{name}: family-wise error", Row(grouped, rates.grouped_family_error, NO_ERROR)
        yield f"{name}: means", Row(grouped, rates.grouped_mean_coverage, GROUPED)


def _resampling() -> Iterator[tuple[str, Row]]:
    for n, number in ((50, 1000), (200, 500), (1000, 200), (5000, 200)):
        made = {
            "30 runs, log-normal scores": of(truths.skewed_scores, n),
            "30 runs, 0/1 scores of mean 0.5": of(truths.grid_scores, 0.5, 1, n, 30),
            "30 runs, 0/1 scores of mean 0.95": of(truths.grid_scores, 0.95, 1, n, 30),
            "adhoc8 ap, scores replaced": of(truths.replaced, real_scores("adhoc8/ap.csv")[::4], n),
            "web2011 rr, scores replaced": of(truths.replaced, real_scores("web2011/rr.csv")[::2], n),
            "web2014 err20, runs moved to mean 0": of(population, real_scores("web2014/err20.csv"), n, True),
        }  # fmt: skip
        for name, truth in made.items():
            yield f"{name}, {n:,} topics", Row(truth, rates.resampling_error, NO_ERROR, number)  # fmt: skip
            yield f"{name}, {n:,} topics: means", Row(truth, rates.resampling_means, COVERED, 200)


def _bounded() -> Iterator[tuple[str, Row]]:
    for n in (10, 25, 50):
        truth = of(truths.lenient_reciprocal_ranks, LENIENT, n)
        yield f"RR, lenient judge, {n} topics", Row(truth, rates.bounded_coverage, COVERED)
    for name, steps in (("P@10", 10), ("accuracy", 1)):
        for mean in (0.5, 0.9, 0.99):
            truth = of(truths.grid_scores, mean, steps, 25)
            yield f"{name} of mean {mean}, 25 topics", Row(truth, rates.bounded_coverage, COVERED)
    for file in ("syndl-dl2020/nist-RR.csv", "syndl-dl2020/gpt4-P10.csv", "web2004/scores.csv"):
        yield (
            f"{_label(file)}, 25 topics",
            Row(spread_runs(file, 25), rates.bounded_coverage, COVERED),
        )


def _equivalence() -> Iterator[tuple[str, Row]]:
    for n in (10, 25, 50, 100, 200):
        truth = of(truths.lenient_reciprocal_ranks, (0.98, 0.96), n)
        yield f"RR at the margin, {n} topics", Row(truth, rates.called_equivalent, NO_ERROR, 2000)
    for n in (25, 50):
        yield f"DL20 RR at the margin, {n} topics", Row(drawn("syndl-dl2020/nist-RR.csv", n), rates.near_pairs_equivalent, NO_ERROR)  # fmt: skip


def _winners() -> Iterator[tuple[str, Row]]:
    for deviation in (0.0, 0.01, 0.03):
        truth = of(truths.near_equal_field, 30, 50, deviation)
        yield f"30 runs, sd of means {deviation}", Row(truth, rates.winner_coverage, COVERED, 600)
    for file in WINNERS:
        yield f"{_label(file)}, 50 topics", Row(spread_runs(file, 50), rates.winner_coverage, COVERED, 600)  # fmt: skip


def _taus() -> Iterator[tuple[str, Row]]:
    for n_runs, n_topics in ((30, 50), (60, 25)):
        for correlation in (0.0, 0.35, 0.7):
            truth = of(truths.two_generations, n_runs, n_topics, correlation)
            yield f"two generations, correlation {correlation}, {n_runs} runs, {n_topics} topics", Row(truth, rates.tau_coverage, TAU, 150)  # fmt: skip
    yield "near-duplicate teams of three, 30 runs", Row(truths.near_duplicate_teams, rates.tau_coverage, TAU, 150)  # fmt: skip
    for name, files in TAUS.items():
        yield f"{name}, 50 topics", Row(two_metrics(files, 50), rates.tau_coverage, TAU, 100)


def _corrected() -> Iterator[tuple[str, Row]]:
    for m in (10, 20, 30):
        measure = rates.corrected_coverage(m)
        yield f"RR, {m} labels of 50", Row(truths.judged_reciprocal_ranks, measure, COVERED)
        yield f"zero-inflated, {m} labels of 50", Row(truths.zero_inflated, measure, COVERED)
        yield f"TREC-COVID RR, {m} labels of 50", Row(rates.covid_judge, measure, COVERED)


def _labels() -> Iterator[tuple[str, Row]]:
    for n_topics in (10, 20, 50):
        yield f"made labels, {n_topics} topics", Row(of(truths.judged_labels, n_topics), rates.label_coverage, COVERED, 2000)  # fmt: skip
        for judge in judges.JUDGES:
            yield f"TREC-COVID, {judge}, {n_topics} topics", Row(of(rates.covid_labels, judge, n_topics), rates.label_coverage, COVERED, 2000)  # fmt: skip


def _judges() -> Iterator[tuple[str, Row]]:
    for n_topics in (10, 25, 50):
        for correlation in (0.0, 0.3, 0.7):
            truth = of(truths.judges_errors, 5, correlation, n_topics)
            yield f"5 judges, correlation {correlation}, {n_topics} topics", Row(truth, rates.effective_coverage, COVERED, 2000)  # fmt: skip
        for k, metric in enumerate(judges.METRICS):
            truth = of(rates.covid_errors, k, n_topics)
            yield f"TREC-COVID {metric}, six judges, {n_topics} topics", Row(truth, rates.effective_coverage, COVERED, 2000)  # fmt: skip
        for share in SHARES:
            truth = of(rates.covid_errors, 0, n_topics, share)
            yield f"TREC-COVID AP, one topic has {share} of the errors, {n_topics} topics", Row(truth, rates.effective_coverage, COVERED, 2000)  # fmt: skip


def _designs() -> Iterator[tuple[str, Row]]:
    for paired, variance in ((False, "one-way"), (True, "same topics")):
        for file in PILOTS:
            for n_topics in (25, 50):
                yield f"{_label(file)}, {n_topics} topics, {variance}", Row(drawn(file, n_topics), rates.design_power(paired), ASSURED, 1000)  # fmt: skip
        for case in DESIGNS:
            kind = "skewed" if case.skewed else "normal"
            name = f"{kind} scores, {case.n_teams} teams x {case.team_size}, {case.n_topics} topics, {variance}"
            yield name, Row(of(truths.random_systems, case), rates.design_power(paired), ASSURED, 1000)  # fmt: skip


def _boards() -> Iterator[tuple[str, Row]]:
    for number in boards.NUMBERS:
        most = 200 if number < 40 else 100
        for name, (maker, equal, different) in boards.KINDS.items():
            where = f"{number} collections, {name}"
            null, spread = of(maker, number, equal), of(maker, number, different)
            yield f"{where}, equal means", Row(null, boards.family_error, NO_ERROR, 1000)
            yield where, Row(spread, boards.coverage, COVERED, most)
            yield f"{where}: gate", Row(spread, boards.gates, COVERED, most // 2)
            yield f"{where}: mean rank (Borda)", Row(spread, boards.mean_ranks, COVERED, most // 5)


ROWS: dict[str, Callable[[], Iterator[tuple[str, Row]]]] = {
    "groups": _groups,
    "resampling": _resampling,
    "bounded": _bounded,
    "equivalence": _equivalence,
    "winners": _winners,
    "tau": _taus,
    "corrected": _corrected,
    "design": _designs,
    "labels": _labels,
    "judges": _judges,
    "boards": _boards,
}
"""Rows of the table by name."""


def _label(file: str) -> str:
    collection, metric = file.removesuffix(".csv").split("/")
    return f"{collection} {metric}"


def lines(name: str, samples: int | None = None, rows: str = ".*") -> Iterator[str]:
    """Yield the lines of the table of one name, of rows whose name matches a regular expression."""
    for label, row in ROWS[name]():
        if not re.fullmatch(rows, label):
            continue
        number = samples or row.samples
        try:
            truth = row.truth()
        except FileNotFoundError:
            yield f"| {name} | {label} | skipped: ../shared/data is absent | | | | |"
            continue
        for method, values in row.measure(truth, number, SEED).items():
            low, high = (0.0, 0.05) if rates.ERROR in method else row.goal
            low, high = (
                (0.0, math.inf)
                if method == rates.WIDTH or any(each in method for each in rates.NO_GOAL)
                else (low, high)
            )
            goal = f"{low:.2f} to {high:.2f}" if math.isfinite(high) else "none"
            rate, error = rates.rate_of(values)
            text = f"{rate:.3f}" if low <= round(rate, 3) <= high else f"**{rate:.3f}**"
            yield f"| {name} | {label} | {method} | {goal} | {text} | {error:.3f} | {number} |"


def wide(rows: Iterable[str]) -> Iterator[str]:
    """Yield a table with a row a truth and a column a method, of the rows of a name: rate and standard error, as on the pages."""
    table: dict[str, dict[str, str]] = {}
    for row in rows:
        _, label, method, _, rate, error, _ = (
            each.strip() for each in row.strip("| ").split(" | ")
        )
        table.setdefault(label, {})[method] = f"{rate} ({error})"
    methods = list(dict.fromkeys(method for found in table.values() for method in found))
    yield f"| truth | {' | '.join(methods)} |"
    yield "|---" * (len(methods) + 1) + "|"
    for label, found in table.items():
        yield f"| {label} | {' | '.join(found.get(method, '') for method in methods)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulations", description="Print measured rates on known truths.")  # fmt: skip
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(ROWS)}")
    parser.add_argument("--samples", type=int, help="samples of each row")
    parser.add_argument("--wide", action="store_true", help="a row a truth, as on the pages")
    options = parser.parse_args()
    unknown = set(options.names) - ROWS.keys()
    if unknown:
        parser.error(f"no such name: {', '.join(sorted(unknown))}; known: {', '.join(ROWS)}")
    logging.disable(logging.WARNING)
    if not options.wide:
        print("| " + " | ".join(HEADINGS) + " |\n" + "|---" * len(HEADINGS) + "|", flush=True)
    for name in options.names or ROWS:
        found = lines(name, options.samples)
        for line in wide(found) if options.wide else found:
            print(line, flush=True)


if __name__ == "__main__":
    main()
