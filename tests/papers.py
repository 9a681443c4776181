"""What the five papers print, and the command that makes it: ``python -m tests.papers > docs/reference/papers.md``.

Every command runs on a study made from the numbers of relevant documents that Sakai 2007 prints in Tables 7 to 9, see `make_study`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr

import scorecube as sc
from scorecube.ingest.published import ntcir_clir
from scorecube.testing import simulate_rankings

PAPERS = {
    "Sakai 2005": "The effect of topic sampling in sensitivity comparisons of information retrieval metrics",
    "Sakai 2007": "On the properties of evaluation metrics for finding one highly relevant document",
    "Sakai 2017": "Evaluating evaluation measures with worst-case confidence interval widths",
    "Sakai and Shang 2016": "On estimating variances for topic set size design",
    "Sakai 2004": "Another appendix to: New performance metrics based on multigrade relevance",
}
METRICS = (
    *("AP", "AP(rel=2)", "Q", "O", "P-measure", "P+", "RR", "NWRR", "Rprec", "Rmeasure", "AWP"),
    *("RWP", "nCG@10", "nDCG@10", "AnDCG@10", "nG@1", "nERR@10", "Hit@5", "Hit@1"),
    *("Rprec(rel=2)", "P@10", "P(rel=2)@10", "nDCG@100", "AnDCG@100"),
)
GAINS = ("3:2:1", "30:20:10", "0.3:0.2:0.1", "1:1:1", "10:5:1")
FIRST = "--collection NTCIR-3-Chinese"
ALL = "--collection NTCIR-3-Chinese,NTCIR-3-Japanese,NTCIR-5-Chinese,NTCIR-5-Japanese"
SAMPLES = f"scorecube swap STUDY {FIRST} --size 20 --rule s0 --bins 21 --required suffix --confidence 0.95,0.9,0.8 --gains 3:2:1 --trials 1000 --seed 1"
BOOTSTRAP = f"scorecube bootstrap STUDY {ALL} --gains 3:2:1 --no-plus-one --trials 1000 --seed 1"
CORRELATE = f"scorecube correlate STUDY {ALL} --every-gain --bold 0.99"
TEAMS = f"scorecube teams STUDY {FIRST} --metrics nG@1,P+,nERR@10,nDCG@10,Q --pool-depth 10 --topics 40,25,10 --trials 10 --seed 1"
NO_RUNS = "the runs, which were never published: simulated"
NOTHING = "nothing"


class Item(NamedTuple):
    """A table, figure, formula or method of a paper."""

    paper: str
    item: str
    command: str
    """With STUDY for the path of a study; several are joined by newlines; empty where there is none."""
    exact: str
    simulated: str


def figure(words: str, name: str) -> str:
    """Return the command that draws a figure."""
    return f"scorecube figure STUDY {words} --out {name}.png"


def _of_sakai_2005() -> Iterator[Item]:
    """Yield the items of Sakai 2005."""
    method = "algorithm, bins, rule for ties"
    for number, name in enumerate(("disjoint", "replacement", "independent"), 1):
        words = f"{SAMPLES} --sampling {name}"
        yield Item("Sakai 2005", f"section 2, method {number}: {name}", words, method, NO_RUNS)
    yield Item("Sakai 2005", "section 4, the 30 best runs", "scorecube show STUDY scores", "selection (`--top-runs 30 --by AP` of every analysis)", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2005", "section 4.3, NQcorrect5 and NQcorrect1", "scorecube show STUDY scores --metrics Hit@5,Hit@1", "metrics", "questions and answers: topics of documents")  # fmt: skip
    for table, words in ((1, "95 %, binary metrics"), (2, "95 %, graded metrics"), (3, "three levels"), (4, "questions")):  # fmt: skip
        yield Item("Sakai 2005", f"Table {table}, columns (i) to (iv): {words}", f"scorecube show STUDY swap {FIRST} --sort share:desc", "columns and their rules; relations between them in all 120 rows", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2005", "Table 5, topics in samples", f"scorecube show STUDY swap {FIRST} --table overlap", "12 of 12 within four standard errors ([Published numbers](published.md))", NOTHING)  # fmt: skip
    for number, metrics in ((2, "Q,AP"), (3, "O,RR"), (4, "Q,RR")):
        words = f"swap {FIRST} --by sampling --kind curves --metrics {metrics}"
        yield Item("Sakai 2005", f"Figure {number}, swap rates of {metrics.replace(',', ' and ')} by sampling", figure(words, f"sakai-2005-figure-{number}"), "axes, curves in one panel, 5 % line", NO_RUNS)  # fmt: skip
    for number, metrics in ((5, "AP,Rprec,AP(rel=2),P@10,P(rel=2)@10,Rprec(rel=2)"), (6, "Q,Rmeasure,AnDCG@100,nDCG@100,nCG@10,nDCG@10,AnDCG@10"), (7, "Q,AP,O,RR"), (8, "Q,RR,Hit@1,Hit@5")):  # fmt: skip
        words = f"swap {FIRST} --by sampling --kind bars --metrics {metrics}"
        yield Item("Sakai 2005", f"Figure {number}, shares by metric and sampling", figure(words, f"sakai-2005-figure-{number}"), "shares; all confidence levels below each other", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2005", "section 6, swap method of geometric means", "scorecube swap STUDY --collection geometric --size 20 --metrics Q,AP --summary geo --sampling replacement --gains 3:2:1 --trials 1000 --seed 1", "swaps of every pair and trial in plain Python", NO_RUNS)  # fmt: skip


def _of_sakai_2007() -> Iterator[Item]:
    """Yield the items of Sakai 2007."""
    yield Item("Sakai 2007", "Figure 1, classes of metrics", "scorecube list metrics", "classes of the eight metrics named, and their variants", NOTHING)  # fmt: skip
    for name, metric in (("equations 1 to 3, Q-measure", "Q"), ("equation 4, O-measure", "O"), ("equation 5, NWRR", "NWRR"), ("equation 6, P-measure", "P-measure"), ("equation 7, P+", "P+")):  # fmt: skip
        yield Item("Sakai 2007", name, f"scorecube show STUDY scores --metrics {metric}", "values of the worked examples and of NTCIREVAL ([Published numbers](published.md))", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2007", "Figures 2 and 3, worked examples", "scorecube list gains", "11 of 11 ([Published numbers](published.md))", NOTHING)  # fmt: skip
    yield Item("Sakai 2007", "Figure 4, swap method on two samples with replacement", f"scorecube swap STUDY {ALL} --sampling replacement --rule s1 --bins 21 --required suffix --gains 3:2:1 --trials 1000 --seed 1", "algorithm", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2007", "Figures 5 and 6, bootstrap test", BOOTSTRAP, "algorithm; levels by full enumeration in tests", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2007", "footnote, unpaired bootstrap test", f"scorecube unpaired STUDY {FIRST} --gains 3:2:1 --trials 200 --seed 1", "algorithm", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2007", "Figure 7, estimated difference", "scorecube show STUDY bootstrap --columns collection,metric,alpha,estimated_difference", "algorithm", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2007", "equations 8 and 9, tau and its test", f"{CORRELATE} --gains {','.join(GAINS)}", "formulas; thresholds", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2007", "Table 1, relevant documents per topic", "scorecube show STUDY scores --table statistics", "20 of 20 numbers", "runs and teams")  # fmt: skip
    yield Item("Sakai 2007", "Table 2, tau between metrics", "scorecube show STUDY correlate --table triangle", "form; 84 values are possible ones", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2007", "Table 3, swap method at 95 %", "scorecube show STUDY swap --all --sort share:desc", "columns", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2007", "Table 4, bootstrap sensitivity", "scorecube show STUDY bootstrap --sort share:desc", "columns; 58 fractions agree with their percentages", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2007", "Table 5, tau between gain settings", "scorecube show STUDY correlate --table gains --columns collection,metric,default,gain,tau", "form; 47 of 48 values are possible ones", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2007", "Table 6, bootstrap sensitivity by gain setting", f"scorecube bootstrap STUDY {FIRST} --no-plus-one --trials 200 --seed 1", "columns", NO_RUNS)  # fmt: skip
    for number, name in ((7, "NTCIR-3-Chinese"), (8, "NTCIR-3-Japanese"), (9, "NTCIR-5-Chinese,NTCIR-5-Japanese")):  # fmt: skip
        yield Item("Sakai 2007", f"Table {number}, largest preferred ranks", f"scorecube show STUDY scores --table preferred_rank --collection {name}", "documents of each level; 1,267 cells as numbers", "ranks")  # fmt: skip
    yield Item("Sakai 2007", "Figure 8, mean AP of the runs", figure(f"scores {ALL} --metrics AP", "sakai-2007-figure-8"), "form", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2007", "Figure 9, shares of the swap method", figure(f"swap {ALL} --metrics Q,AP,P-measure,P+,O,NWRR,RR", "sakai-2007-figure-9"), "form", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2007", "Figure 10, bootstrap sensitivity", figure(f"bootstrap {ALL} --metrics Q,AP,P-measure,P+,O,NWRR,RR", "sakai-2007-figure-10"), "form", NO_RUNS)  # fmt: skip


def _of_sakai_2017() -> Iterator[Item]:
    """Yield the items of Sakai 2017."""
    yield Item("Sakai 2017", "equation 1, topics for an interval width", "scorecube design --variance 0.0368 --width 0.15 --method ci", "all values", NOTHING)  # fmt: skip
    yield Item("Sakai 2017", "equation 2, topics for ANOVA", "scorecube design --variance 0.0368 --min-diff 0.15 --mode sakai", "all values", NOTHING)  # fmt: skip
    yield Item("Sakai 2017", "Figure 1, noncentrality and 4 z^2", "scorecube design --curves noncentrality --out sakai-2017-figure-1.png", "all curves", NOTHING)  # fmt: skip
    yield Item("Sakai 2017", "Figure 2, interval width and detectable difference", "scorecube design --curves tools --variance 0.0182,0.1145 --out sakai-2017-figure-2.png", "all curves", NOTHING)  # fmt: skip
    yield Item(
        "Sakai 2017",
        "Table 1, variances",
        "scorecube show STUDY scores --table variance",
        "formula",
        NO_RUNS,
    )
    yield Item("Sakai 2017", "Figure 3, worst-case widths", "scorecube wcw --variance 0.0368,0.0441,0.0824,0.0863 --out sakai-2017-figure-3.png", "all curves, from the printed variances", NOTHING)  # fmt: skip
    yield Item("Sakai 2017", "section 4, readings at 50 topics", "scorecube wcw --variance 0.0368,0.0824 --topics 50", "8 readings", NOTHING)  # fmt: skip
    yield Item("Sakai 2017", "section 4, standardised scores", f"scorecube standardise STUDY {FIRST} --name std --method std-AB", "formula", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2017", "section 2, sorted significance levels", figure(f"bootstrap {FIRST}", "sakai-2017-levels"), "form", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2017", "section 2, agreement with preferences of people", f"scorecube preferences STUDY preferences.csv {FIRST} --name people\nscorecube tukey STUDY --collection people --metrics agreement --trials 1000 --seed 1", "agreement rate of Sakai and Zeng 2021; coverage with known truth in tests; 2,200 judgements of a public set ([Published numbers](published.md))", "preferences")  # fmt: skip


def _of_sakai_shang_2016() -> Iterator[Item]:
    """Yield the items of Sakai and Shang 2016."""
    yield Item("Sakai and Shang 2016", "equation 1, variance of a metric", "scorecube show STUDY scores --table variance", "formula", NO_RUNS)  # fmt: skip
    yield Item("Sakai and Shang 2016", "Table 1, documents by level", "scorecube show STUDY scores --table statistics", "form", "judgements: those of Sakai 2007")  # fmt: skip
    yield Item("Sakai and Shang 2016", "Table 2, tau with intervals, bold above 1", f"scorecube show STUDY correlate --table triangle {FIRST}", "20 limits, 10 marks", NO_RUNS)  # fmt: skip
    yield Item("Sakai and Shang 2016", "section 5.1, teams left out", TEAMS, "algorithm, trial by trial in plain Python", NO_RUNS)  # fmt: skip
    yield Item("Sakai and Shang 2016", "Figure 1, variance by teams left out", figure(f"teams {FIRST}", "sakai-shang-2016-figure-1"), "form: error bars, beside bands", NO_RUNS)  # fmt: skip
    yield Item("Sakai and Shang 2016", "section 5.1, first interval without the whole variance", "scorecube show STUDY teams --table first_miss", "rule", NO_RUNS)  # fmt: skip
    yield Item("Sakai and Shang 2016", "section 5.2, topics left out of each trial's matrix", "scorecube show STUDY teams --table trials", "algorithm: `python -m tests.validation.topics_left_out` beside plain Python, 44 runs of 16 teams", NO_RUNS)  # fmt: skip
    yield Item("Sakai and Shang 2016", "Table 3, variances of fewer topics and topics needed", "scorecube show STUDY teams --table variance", "25 of 25 topics from the printed variances", NO_RUNS)  # fmt: skip
    yield Item("Sakai and Shang 2016", "Figure 2, variance with 10 topics", figure(f"teams {FIRST} --metrics nG@1,P+", "sakai-shang-2016-figure-2"), "form: error bars, beside bands", NO_RUNS)  # fmt: skip


def _of_sakai_2004() -> Iterator[Item]:
    """Yield the items of Sakai 2004."""
    yield Item("Sakai 2004", "equations 1 to 13, metrics", "scorecube show STUDY scores --metrics Q,Rmeasure,AWP,RWP,nCG@10", "formulas", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2004", "equations 14 to 24, relations between metrics", "scorecube show STUDY scores --metrics Rprec,Rmeasure,RWP", "held on random lists by tests (23 and 24 of binary relevance only)", NOTHING)  # fmt: skip
    for number, name in ((3, "NTCIR-3-Chinese"), (4, "NTCIR-3-Japanese"), (5, "NTCIR-5-Chinese"), (6, "NTCIR-5-Japanese")):  # fmt: skip
        yield Item("Sakai 2004", f"Tables {number} and {number + 5}, (a): tau and rho of metrics", f"scorecube show STUDY correlate --collection {name} --columns gain,metric_a,metric_b,spearman,tau", "form", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2004", "Tables 3 to 6 and 8 to 11, (b): gain settings", "scorecube show STUDY correlate --table gains --columns collection,metric,default,gain,spearman,tau,bold", "form, marks above .99", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2004", "Tables 7 and 12, means of four collections", "scorecube show STUDY correlate --average", "rule", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2004", "Figures 4 to 7, systems sorted by AP", figure(f"correlate {FIRST} --metrics AP,AWP,Q --by gain --kind curves", "sakai-2004-figure-4"), "form: metrics and gain settings in one plot", NO_RUNS)  # fmt: skip
    yield Item("Sakai 2004", "section 4, swops", "scorecube show STUDY correlate --table swops", "rule", NO_RUNS)  # fmt: skip


ITEMS = [
    item
    for items in (
        _of_sakai_2005,
        _of_sakai_2007,
        _of_sakai_2017,
        _of_sakai_shang_2016,
        _of_sakai_2004,
    )
    for item in items()
]


FIGURES = (
    ("Sakai 2005 Figures 2 to 4", "swap rate against 21 difference bins; six curves in one panel, named metric (sampling), in the paper's order of samplings", "adds lines at 5, 10 and 20 %, bands of 95 % and, above the panel, the conditions; Figure 4 with topics of documents"),
    ("Sakai 2005 Figures 5 to 8", "a bar a metric, grouped by sampling, in the order of `--metrics`; a metric without a required difference has no bar", "all confidence levels below each other, where a figure of the paper has one; groups may be the other way round in the paper, whose text does not say; Figure 8 without the other gain settings of Q, which `--gain` draws"),
    ("Sakai 2007 Figure 1", "classes of metrics", "a column of `scorecube list metrics`, no picture"),
    ("Sakai 2007 Figures 2 and 3", "numbers of the worked examples", "no picture"),
    ("Sakai 2007 Figures 4 to 7, Sakai 2005 Figure 1", "algorithms", "no picture"),
    ("Sakai 2007 Figure 8", "mean AP of the 30 runs, a curve a collection", "runs in falling order"),
    ("Sakai 2007 Figures 9 and 10", "a bar a metric, grouped by collection, seven metrics in the order of the tables", "conditions stand in the report, not in the picture"),
    ("Sakai 2017 Figure 1", "noncentrality by number of systems for two values of alpha and of beta, 4 z^2 as lines, conditions (a) to (d) marked", "exact values dotted beside the linear formulae, which are not printed in the picture"),
    ("Sakai 2017 Figure 2", "topics by width and by difference, two extreme variances", "topics on a logarithmic axis; no end of the curves of intervals at 171 topics"),
    ("Sakai 2017 Figure 3", "width by number of topics, a curve a variance, 95 %", "a panel a call, here (b); curves are named by variance, and by metric where the variances come from a study"),
    ("Sakai and Shang 2016 Figures 1 and 2", "variance by teams left out, with error bars of 95 % and the variance of all teams", "five metrics in one panel, side by side, where the paper has a panel each (`--metrics` draws one); both figures are panels of one picture, with the order of runs besides"),
    ("Sakai 2004 Figures 4 to 7", "mean scores of the systems in falling order of AP: AP, AWP and Q by gain setting in one panel; AP, which has no gains, once", "swops are counted in the legend; AWP at every gain setting, where the paper has the first"),
)  # fmt: skip
"""Figures of the papers, what ours has like them, and what differs."""


def make_study(path: Path, n_runs: int = 30, n_teams: int = 10) -> None:
    """Write a study of the four collections of Sakai 2007: printed numbers of relevant documents, simulated rankings."""
    study = sc.open_study(path, mode="a")
    for seed, (name, (topics, judged)) in enumerate(ntcir_clir().items(), 1):
        rankings = simulate_rankings(
            judged, topics=topics, n_runs=n_runs, n_teams=n_teams, depth=100, seed=seed
        )
        cube = sc.evaluate(rankings, list(METRICS), list(GAINS))
        study.add(name.replace(" ", "-"), cube=cube, rankings=rankings)
        if seed == 1:
            study.add("geometric", cube=sc.evaluate(rankings, ["Q", "AP"], ["3:2:1"]))
    write_preferences(study["NTCIR-3-Chinese"].cube, path.with_name("preferences.csv"))


def write_preferences(cube: xr.Dataset, path: Path) -> None:
    """Write preferences of people who see nDCG@10 with noise, of two runs on each topic."""
    chance, runs = np.random.default_rng(1), list(map(str, cube["run"].values))
    lines = ["topic,run_a,run_b,preferred,count"]
    for topic in cube["topic"].values:
        first, second = map(str, chance.choice(runs, 2, replace=False))
        seen = (
            cube["score"].sel(metric="nDCG@10", topic=topic).isel(gain=0).sel(run=[first, second])
        )
        better = (seen.values + chance.normal(size=2) / 10).argmax()
        lines.append(f"{topic},{first},{second},{(first, second)[better]},{chance.integers(1, 5)}")
    path.write_text("\n".join(lines) + "\n")


def page() -> Iterator[str]:
    """Yield the lines of the page."""
    there = sum(bool(item.command) for item in ITEMS)
    yield "# The five papers, item by item\n"
    yield (
        "What the papers print or define, the command that makes it, what is exact, and what had to be simulated because it was never published. "
        f"{there} of {len(ITEMS)} items have a command; each of them runs in tests on a study made from the numbers of relevant documents in "
        "Sakai 2007 Tables 7 to 9 (`python -m tests.papers STUDY` writes it). This page is made by `python -m tests.papers`; "
        "[Published numbers](published.md) has the printed numbers beside ours.\n"
    )
    for paper, title in PAPERS.items():
        yield f"## {paper}: {title}\n"
        yield "| item | command | exact | simulated |\n|---|---|---|---|"
        for item in ITEMS:
            if item.paper == paper:
                command = ", then ".join(f"`{each}`" for each in item.command.splitlines())
                yield f"| {item.item} | {command} | {item.exact} | {item.simulated} |"
        yield ""
    yield "## Figures beside those of the papers\n"
    yield (
        "The pictures of the commands above, except those of Sakai 2005 Figures 4 and 8, were compared with what the texts of the papers say of their figures; the papers' own pictures were not at hand.\n"
    )
    yield "| figure | alike | differs |\n|---|---|---|"
    for row in FIGURES:
        yield f"| {' | '.join(row)} |"


if __name__ == "__main__":
    import sys

    if len(sys.argv) > 1:
        make_study(Path(sys.argv[1]))
    else:
        print("\n".join(page()).rstrip())
