"""Error rates and coverages where the truth is known: ``python -m tests.validation NAME ...
[--samples N]``.

Run by hand when a method changes. A case is a truth and what is measured on it: truths are topics
drawn with replacement from real collections, whose topics are then all topics there are, or models.
Samples are functions of `SEED` and their number. Cases of collections are left out where
``../shared/data`` is absent.

``ranks`` measures all parts of the page "ranks and tests" and writes docs/believe/ranks.csv and the
page's table; a part writes its own rows. With ``--samples`` rows are only printed.

| name | what is measured |
|---|---|
| ranks | all of the following: |
| means, leader, sets | limits of means, of whichever run leads, and rank sets (`leaderboard`) |
| maxt | any pair significant though none differs (`maxt`) |
| friedman | error of mean ranks: any difference, any pair, any from a baseline (`friedman`) |
| board | the same of weighted means over collections |
| battles | limits and rank sets of strengths (`battles`) |
| gate | false verdicts, limits of differences, false equivalence |
| many | false verdicts of gates over four collections and five metrics |
| pairs | p-values beside limits, t with Holm, Tukey's limits near the end of the range |
| groups, bags | all of these where topics come in groups, or are put into bags |
| swap | limits of the required difference, the share and tau of the halves |
| tau | limits of tau over infinitely many topics |
| reliability | limits of E rho^2, Phi, and of variances: `reliability`, `design` |
| corrected | limits of means by a judge, corrected by some labels |
| labels | limits of coefficients of label agreement |
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from tests.validation import judges, page, rates, reliability, swap, truths
from tests.validation.cases import COVERED, MODEL, POPULATION, Case, Row, read, rows_of, write
from tests.validation.ranks import PARTS

SEED = 37
TAUS = {
    "adhoc8 AP, P@10": ("adhoc8/ap.csv", "adhoc8/p10.csv"),
    "adhoc6 AP, RR": ("adhoc6/ap.csv", "adhoc6/rr.csv"),
    "web2012 AP, ERR@20": ("web2012/ap.csv", "web2012/err20.csv"),
    "web2013 nDCG@20, P@10": ("web2013/ndcg20.csv", "web2013/p10.csv"),
    "DL20 AP, RR by GPT-4": ("syndl-dl2020/gpt4-AP.csv", "syndl-dl2020/gpt4-RR.csv"),
}
Cases = Iterator[Case]


def _itself(truth: Any) -> Any:
    return truth


def _swap() -> Cases:
    for (name, files), n_topics in product(swap.REAL.items(), (24, 50)):
        truth = partial(_itself, (name, n_topics, partial(swap.of_files, files)))
        yield Case(name, POPULATION, n_topics, truth, swap.coverage, 150, COVERED)


def _taus() -> Cases:
    measure, topics = rates.tau_coverage, rates.TAU_TOPICS * rates.TAU_PARTS
    for name, files in TAUS.items():
        both = partial(_of_two, files, topics)
        yield Case(name, POPULATION, 50, both, measure, 200, COVERED)


def _of_two(files: tuple[str, str], topics: int) -> truths.Truth:
    return truths.population(np.array([truths.real_scores(file) for file in files]), topics)


def _reliability() -> Cases:
    for name, n_systems, n_topics in product(reliability.REAL, (12, 40), (10, 25, 50)):
        made = partial(reliability.population, name, n_systems, n_topics)
        text = f"{name}, {n_systems} systems"
        yield Case(text, POPULATION, n_topics, made, reliability.coverage, 500, COVERED)


def _corrected() -> Cases:
    for m in (10, 20, 30):
        measure = judges.corrected_coverage(m)
        for judge, metric in product(judges.JUDGES, judges.METRICS):
            covid = partial(judges.covid_scores, judge, metric)
            name = f"TREC-COVID {metric}, {judge}, {m} labels of 50"
            yield Case(name, POPULATION, 50, covid, measure, 300, COVERED)
    for m, flips in product((20, 50), (0.1, 0.3)):
        items = partial(judges.flipped_items, flips)
        name = f"0/1 items, a judge that turns {flips:.0%}, {m} labels of 200"
        yield Case(name, MODEL, 200, items, judges.corrected_coverage(m), 300, COVERED)


def _labels() -> Cases:
    measure = judges.label_coverage
    for n in (10, 20, 50):
        for judge in judges.JUDGES:
            covid = partial(judges.covid_labels, judge, n)
            yield Case(f"TREC-COVID, {judge}", POPULATION, n, covid, measure, 2000, COVERED)


STUDIES: dict[str, Callable[[], Cases]] = {
    **PARTS,
    "swap": _swap,
    "tau": _taus,
    "reliability": _reliability,
    "corrected": _corrected,
    "labels": _labels,
}
"""Cases by name."""


def measured(name: str, samples: int | None = None) -> Iterator[list[Row]]:
    """Yield the rows of each case of a name; none of a case whose collection is absent."""
    for case in STUDIES[name]():
        try:
            yield list(rows_of(name, case, samples or case.samples, SEED))
        except FileNotFoundError as error:
            print(f"{case.truth}: left out, no {error.filename}", file=sys.stderr)


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.validation", description="Measure rates on known truths."
    )
    known = ("ranks", *STUDIES, "page")
    parser.add_argument("names", nargs="+", metavar="NAME", help=f"some of {', '.join(known)}")
    parser.add_argument("--samples", type=int, help="samples of each case; rows are only printed")
    options = parser.parse_args()
    if unknown := set(options.names) - {*known}:
        parser.error(f"no such name: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    logging.disable(logging.WARNING)
    chosen = [part for name in options.names for part in (PARTS if name == "ranks" else [name])]
    for name in chosen:
        if name == "page":
            continue
        kept = [row for row in read(page.CSV) if row.part != name]
        found: list[Row] = []
        for rows in measured(name, options.samples):
            print(*(",".join(map(str, row)) for row in rows), sep="\n", flush=True)
            found += rows
            if name in PARTS and options.samples is None:
                order = {part: place for place, part in enumerate(PARTS)}
                write(page.CSV, sorted([*kept, *found], key=lambda row: order[row.part]))
    if options.samples is None:
        page.renew()


if __name__ == "__main__":
    main()
