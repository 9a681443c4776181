"""The items of the five papers and the commands that make them.

``python -m tests.papers`` prints docs/reference/papers.md; ``python -m tests.papers STUDY`` writes
the study that the commands run on, made from what Sakai 2007 prints in Tables 7 to 9.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr

import scorecube as sc
from scorecube.ingest.public import ntcir_clir
from scorecube.testing import simulate_rankings

PAPERS = {
    "Sakai 2005": "The effect of topic sampling in sensitivity comparisons of information "
    "retrieval metrics",
    "Sakai 2007": "On the properties of evaluation metrics for finding one highly relevant "
    "document",
    "Sakai 2017": "Evaluating evaluation measures with worst-case confidence interval widths",
    "Sakai and Shang 2016": "On estimating variances for topic set size design",
    "Sakai 2004": "Another appendix to: New performance metrics based on multigrade relevance",
}
BINARY = "AP,AP(rel=2),Rprec,Rprec(rel=2),P@10,P(rel=2)@10,P@100,P(rel=2)@100"
GRADED = (
    "Q,Rmeasure,nCG@10,nCG@100,AnCG@10,AnCG@100,nDCG(b=2)@10,nDCG(b=2)@100,AnDCG(b=2)@10,"
    "AnDCG(b=2)@100"
)
ONE = "Q,AP,P-measure,P+,O,NWRR,RR"
"""Metrics of Sakai 2007, Tables 2 to 4."""
STC = "nG@1,P+,nERR@10,nDCG@10,Q@10"
"""Metrics of Sakai and Shang 2016."""
OTHERS = "WRR,AWP,RWP,Hit@5,Hit@1"
METRICS = list(dict.fromkeys(",".join([BINARY, GRADED, ONE, STC, OTHERS]).split(",")))
GAINS = ("3:2:1", "30:20:10", "0.3:0.2:0.1", "1:1:1", "10:5:1")
CHINESE, JAPANESE = "NTCIR-3-Chinese", "NTCIR-3-Japanese"
CHINESE_5, JAPANESE_5 = "NTCIR-5-Chinese", "NTCIR-5-Japanese"
FIRST = f"--collection {CHINESE}"
ALL = f"--collection {CHINESE},{JAPANESE},{CHINESE_5},{JAPANESE_5}"
IN_PYTHON = "every trial in plain Python"
PUBLISHED = "[published](published.md)"
FORM = "columns, order, digits"


class Item(NamedTuple):
    """A table, figure, formula or method of a paper.

    command: With STUDY for the path of a study; several are joined by newlines.
    compared: What of it is compared with the paper, and by what.
    """

    item: str
    command: str
    compared: str


def figure(words: str, name: str) -> str:
    """Return the command that draws a figure."""
    return f"scorecube figure STUDY {words} --out {name}.png"


def of_sakai_2005() -> Iterator[Item]:
    """Yield the items of Sakai 2005."""
    swap = f"scorecube swap STUDY {FIRST},QA --size 20 --as sakai-2005"
    for section in ("section 2, Figure 1: disjoint", "section 3.1: replacement"):
        yield Item(section, swap, IN_PYTHON)
    yield Item("section 3.2: independent", swap, IN_PYTHON)
    best = "scorecube show STUDY scores --table means --metrics AP --top 30"
    yield Item("section 4.1, the 30 best runs", best, "selection: `--top-runs 30 --by AP`")
    scores = "scorecube show STUDY scores --metrics"
    yield Item("section 4.1, metrics", f"{scores} {BINARY},{GRADED}", "oracles, other tools")
    yield Item("section 4.2, O-measure and RR", f"{scores} O,RR", "oracles, other tools")
    yield Item("section 4.3, answers in classes, levels S, A, B", swap, "an example by hand")
    for number, metrics, where in (
        (1, BINARY, FIRST),
        (2, GRADED, FIRST),
        (3, "Q,AP,O,RR", FIRST),
        (4, "Q,RR,Hit@1,Hit@5", "--collection QA"),
    ):
        shown = f"scorecube show STUDY swap {where} --metrics {metrics}"
        relations = f"{FORM}; relations between the columns in all 120 rows"
        yield Item(f"Table {number}", shown, relations)
    overlap = f"scorecube show STUDY swap {FIRST},QA --table overlap"
    yield Item("Table 5", overlap, f"12 of 12 numbers: {PUBLISHED}")
    for number, kind, metrics, where in (
        (2, "curves", "Q,AP", FIRST),
        (3, "curves", "O,RR", FIRST),
        (4, "curves", "Q,RR", "--collection QA"),
        (5, "bars", BINARY, FIRST),
        (6, "bars", GRADED, FIRST),
        (7, "bars", "Q,AP,O,RR", FIRST),
        (8, "bars", "Q,RR,Hit@1,Hit@5", "--collection QA"),
    ):
        words = f"swap {where} --by sampling --kind {kind} --metrics {metrics}"
        yield Item(f"Figure {number}", figure(words, f"sakai-2005-figure-{number}"), "form")
    geometric = (
        f"scorecube swap STUDY {FIRST} --size 20 --summary geo --as sakai-2005 --metrics Q,AP"
    )
    yield Item("section 6, geometric means", geometric, IN_PYTHON)


def of_sakai_2007() -> Iterator[Item]:
    """Yield the items of Sakai 2007."""
    examples = f"worked examples: {PUBLISHED}"
    for number, metric in enumerate(("AP", "Q", "O", "WRR", "NWRR", "P-measure", "P+"), 1):
        scores = f"scorecube show STUDY scores --metrics {metric}"
        yield Item(f"equation {number}, {metric}", scores, f"oracles, NTCIREVAL; {examples}")
    tau = f"scorecube correlate STUDY {ALL} --as sakai-2007 --metrics {ONE}"
    thresholds = f"formulas; thresholds: {PUBLISHED}"
    yield Item("equations 8 and 9, tau and its test", tau, thresholds)
    yield Item("Figure 1, classes of metrics", "scorecube list metrics", "eight metrics named")
    alike = "scorecube show STUDY scores --metrics O,NWRR,P-measure,P+"
    yield Item("Figures 2 and 3, worked examples", alike, f"11 of 11 numbers: {PUBLISHED}")
    resampled = f"STUDY {ALL} --as sakai-2007 --metrics {ONE}"
    yield Item("Figure 4, swap method", f"scorecube swap {resampled}", IN_PYTHON)
    bootstrap = f"scorecube bootstrap {resampled}"
    yield Item("Figures 5 and 6, bootstrap test", bootstrap, f"{IN_PYTHON}; full enumeration")
    shown = "scorecube show STUDY"
    yield Item("Figure 7, estimated difference", f"{shown} bootstrap", IN_PYTHON)
    unpaired = f"scorecube bootstrap STUDY {FIRST} --as sakai-2007 --metrics AP,Q --summary"
    both = f"{unpaired} geo\n{unpaired} area"
    yield Item("section 4.3, unpaired tests of geometric means and areas", both, IN_PYTHON)
    statistics = f"{shown} scores --table statistics"
    yield Item("Table 1", statistics, f"20 of 20 numbers: {PUBLISHED}")
    yield Item("Table 2", f"{shown} correlate {FIRST}", f"{FORM}; 84 values are possible")
    yield Item("Table 3", f"{shown} swap {ALL} --table sakai-2007", FORM)
    paired = f"bootstrap {ALL} --metrics {ONE} --where summary=mean"
    yield Item("Table 4", f"{shown} {paired}", f"{FORM}; 58 fractions and percentages")
    gains = f"{shown} correlate --table sakai-2007-gains"
    yield Item("Table 5", gains, f"{FORM}; 47 of 48 values are possible")
    ends = f"STUDY --collection {CHINESE_5},{JAPANESE_5} --as sakai-2007 --metrics P+,P-measure,O"
    table_6 = f"scorecube bootstrap {ends} --gains {','.join(GAINS)}\n{shown} bootstrap"
    yield Item("Table 6", table_6, FORM)
    for tables, names in (
        ("Table 7", f"{CHINESE},{JAPANESE}"),
        ("Tables 8 and 9", f"{CHINESE_5},{JAPANESE_5}"),
    ):
        ranks = f"{shown} scores --table preferred_rank --collection {names}"
        yield Item(tables, ranks, "columns; 1,267 cells as numbers of documents")
    yield Item("Figure 8", figure(f"scores {ALL} --metrics AP", "sakai-2007-figure-8"), "form")
    for number, drawn in ((9, f"swap {ALL}"), (10, paired)):
        words = figure(drawn, f"sakai-2007-figure-{number}")
        yield Item(f"Figure {number}", words, "form")


def of_sakai_2017() -> Iterator[Item]:
    """Yield the items of Sakai 2017."""
    design = "scorecube design --variance 0.0368"
    yield Item("equation 1, topics for a width", f"{design} --width 0.15 --method ci", "values")
    anova = f"{design} --as sakai-2017 --min-diff 0.15"
    yield Item("equation 2, topics for ANOVA", anova, "25 topic numbers of the tool")
    noncentrality = "scorecube design --curves noncentrality --out sakai-2017-figure-1.png"
    beside = f"4 of 4 conditions: {PUBLISHED}"
    yield Item("equations 3 to 5, Figure 1", noncentrality, beside)
    tools = "scorecube design --curves tools --variance 0.0182,0.1145 --out sakai-2017-figure-2.png"
    yield Item("Figure 2", tools, "all curves")
    yield Item("Table 1", "scorecube show STUDY scores --table variance", "formula")
    wcw = "scorecube wcw --as sakai-2017 --variance"
    curves = f"{wcw} 0.0368,0.0441,0.0824,0.0863 --out sakai-2017-figure-3.png"
    yield Item("Figure 3", curves, "all curves, from the printed variances")
    readings = f"{wcw} 0.0368,0.0441,0.0824,0.0863 --topics 50"
    yield Item("section 4, widths at 50 topics", readings, f"4 of 4 readings: {PUBLISHED}")
    standardised = f"scorecube standardise STUDY {FIRST} --name std --method std-AB"
    yield Item("section 4, standardised scores", standardised, "formula")
    levels = figure(f"bootstrap {FIRST}", "sakai-2017-levels")
    yield Item("section 2, curve of discriminative power", levels, "form")
    people = f"scorecube preferences STUDY preferences.csv {FIRST} --name people"
    found = "agreement rate of Sakai and Zeng 2021; 2,200 public judgements"
    yield Item("section 2, agreement with preferences", people, found)


def of_sakai_and_shang_2016() -> Iterator[Item]:
    """Yield the items of Sakai and Shang 2016."""
    shown = "scorecube show STUDY"
    yield Item("equation 1, variance", f"{shown} scores --table variance", "formula")
    yield Item("Table 1", f"{shown} scores --table statistics", "form")
    stc = f"STUDY --collection STC --as sakai-shang-2016 --metrics {STC}"
    triangle = f"scorecube correlate {stc}\n{shown} correlate --collection STC --table triangle"
    limits = f"20 of 20 limits: {PUBLISHED}; 10 marks above 1"
    yield Item("Table 2", triangle, limits)
    yield Item("section 5.1, teams left out", f"scorecube teams {stc}", IN_PYTHON)
    drawn = "teams --collection STC --metrics nG@1,P+,nERR@10"
    yield Item("Figure 1", figure(drawn, "sakai-shang-2016-figure-1"), "form")
    yield Item("section 5.1, first miss", f"{shown} teams --table first_miss", "rule")
    yield Item("section 5.1, topics lost", f"{shown} teams --table trials --top 20", "rule")
    yield Item("section 5.2, topics left out", f"{shown} teams --table variance", IN_PYTHON)
    needed = f"{FORM}; 25 of 25 topics: {PUBLISHED}"
    yield Item("Table 3", f"{shown} teams --table sakai-shang-2016", needed)
    below = figure("teams --collection STC --metrics nG@1,P+", "sakai-shang-2016-figure-2")
    yield Item("Figure 2", below, "form")


def of_sakai_2004() -> Iterator[Item]:
    """Yield the items of Sakai 2004."""
    scores = "scorecube show STUDY scores --metrics"
    yield Item("equations 1 to 18, metrics", f"{scores} Q,Rmeasure,AWP,RWP", "formulas; oracles")
    related = "laws on random lists (23 and 24 of binary relevance only)"
    yield Item("equations 19 to 24, relations", f"{scores} Rprec,Rmeasure,RWP", related)
    every = f"scorecube correlate STUDY {ALL} --every-gain --metrics"
    yield Item("Tables 3 to 12: tau and rho", f"{every} AP,AP(rel=2),AWP,Q,RWP,Rmeasure", "values")
    runs = ("C-runs", "J-runs", "E-runs (of NTCIR-5 here)", "K-runs (of NTCIR-5 here)")
    collections = (CHINESE, JAPANESE, CHINESE_5, JAPANESE_5)
    columns = "gain,metric_a,metric_b,spearman,tau"
    for number, (name, where) in enumerate(zip(runs, collections, strict=True), 3):
        shown = f"scorecube show STUDY correlate --collection {where} --columns {columns}"
        yield Item(f"Tables {number} and {number + 5} (a), {name}", shown, "form")
    gains = "scorecube show STUDY correlate --table gains --columns metric,default,gain,tau"
    yield Item("Tables 3 to 6 and 8 to 11 (b), gains", gains, "form")
    yield Item("Tables 7 and 12, means", f"scorecube show STUDY correlate {ALL} --average", "rule")
    words = f"correlate {FIRST} --metrics AP,AWP,Q --by gain --kind curves"
    yield Item("Figures 4 to 7, sorted systems", figure(words, "sakai-2004-figure-4"), "form")
    yield Item("section 4, swops", "scorecube show STUDY correlate --table swops", "rule")


ITEMS = {
    "Sakai 2005": list(of_sakai_2005()),
    "Sakai 2007": list(of_sakai_2007()),
    "Sakai 2017": list(of_sakai_2017()),
    "Sakai and Shang 2016": list(of_sakai_and_shang_2016()),
    "Sakai 2004": list(of_sakai_2004()),
}
"""By paper, in the order of their commands."""


def make_study(path: Path, n_runs: int = 30, n_teams: int = 10) -> None:
    """Write a study of simulated runs on the numbers of relevant documents of Sakai 2007."""
    study = sc.open_study(path, mode="a")
    for seed, (name, (topics, judged)) in enumerate(ntcir_clir().items(), 1):
        rankings = simulate_rankings(
            judged, topics=topics, n_runs=n_runs, n_teams=n_teams, depth=100, seed=seed
        )
        cube = sc.evaluate(rankings, METRICS, list(GAINS))
        study.add(name.replace(" ", "-"), cube=cube, rankings=rankings)
    rankings = simulate_rankings(((15, 10),) * 100, n_runs=n_runs, n_teams=n_teams, depth=10)
    stc = sc.evaluate(rankings, STC.split(","), ["3:1"])
    study.add("STC", cube=stc, rankings=rankings)
    answers = sc.evaluate(answers_to_questions(), ["Q", "RR", "Hit@1", "Hit@5"], ["3:2:1"])
    study.add("QA", cube=answers)
    write_preferences(study[CHINESE].cube, path.with_name("preferences.csv"))


def answers_to_questions(n_runs: int = 10, n_questions: int = 40) -> xr.Dataset:
    """Return rankings of five answers, two of which say the same at each of the levels S, A, B."""
    chance = np.random.default_rng(5)
    labels = [f"{name}{k}" for name in "sab" for k in (1, 2)] + ["wrong"] * 6
    with tempfile.TemporaryDirectory() as folder:
        qrels, runs = Path(folder, "qrels"), list[Path]()
        judged = [
            f"{question} {'sab'.index(label[0])} {label} {3 - 'sab'.index(label[0])}"
            for question in range(n_questions)
            for label in labels[:6]
        ]
        qrels.write_text("\n".join(judged), encoding="utf-8")
        for k in range(n_runs):
            weights, lines = np.r_[np.full(6, 1 + k / 4), np.ones(6)], []
            for question in range(n_questions):
                drawn = chance.choice(12, 5, replace=False, p=weights / weights.sum())
                lines += [
                    f"{question} Q0 {labels[at]}{'' if at < 6 else at} {rank} {-rank} qa{k:02d}"
                    for rank, at in enumerate(drawn, 1)
                ]
            runs.append(Path(folder, f"qa{k:02d}"))
            runs[-1].write_text("\n".join(lines), encoding="utf-8")
        return sc.read_rankings(runs, qrels, qrels_format="trec-classes")


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
    yield "# The five papers, item by item\n"
    yield (
        f"What the papers print or define, and the command that makes it: {sum(map(len, ITEMS.values()))} items. Their runs were never published: "
        "STUDY has simulated ones, on the numbers of relevant documents of Sakai 2007, Tables 7 to 9 (`python -m tests.papers STUDY` writes it), so that "
        "a table or figure is compared in its form, a method with plain Python, and a number where the paper has all that it is made from "
        "([published](published.md)). `--as` sets the options, trials and gains of a paper, and `show` then has its columns, order and digits. "
        "Tests run each command, in this order. This page is made by `python -m tests.papers`.\n"
    )
    for number, (paper, items) in enumerate(ITEMS.items(), 1):
        yield f"## {paper}: {PAPERS[paper]}\n"
        yield "| | item | command | compared |\n|---|---|---|---|"
        for k, item in enumerate(items, 1):
            command = ", then ".join(f"`{line}`" for line in item.command.splitlines())
            yield f"| {number}.{k} | {item.item} | {command} | {item.compared} |"
        yield ""


if __name__ == "__main__":
    import sys

    if len(sys.argv) > 1:
        make_study(Path(sys.argv[1]))
    else:
        print("\n".join(page()).rstrip())
