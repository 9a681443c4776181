"""Published numbers beside ours: ``python -m tests.published > docs/reference/published.md``.

Rows of public data need the folder of collections beside the repository; the others need nothing.
"""

from __future__ import annotations

import csv
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import scorecube as sc
from scorecube.analyses.design_curves import CONDITIONS, four_z_squared
from scorecube.design.power import exact_noncentrality, tool_noncentrality
from scorecube.ingest.preferences import Preference, agreement_with_preferences
from tests.analyses.test_correlation import S3_TABLE_2, ranked_apart
from tests.analyses.topic_samples.test_swap_closed_form import opposed
from tests.design.test_design_published import TABLE_3
from tests.metrics.test_examples import (
    PERFECT_INVERSE,
    SAMPLE,
    S,
    X,
    Y,
    Z,
    fig3,
    ntcir5_japanese_topic_034,
    score,
)
from tests.metrics.test_examples import sample_of_ntcireval as sample
from tests.report.test_preferred_rank import TABLE_1

DATA = Path(__file__).parents[2] / "shared/data"
PAPERS = DATA.parent / "papers"
PAGE = Path(__file__).parents[1] / "docs/reference/published.md"
ANSWERS = DATA / "ismir2012-significance/answers.csv"
"""Of https://github.com/julian-urbano/ismir2012-significance (CC BY-SA 4.0), ``data/answers.csv``; no part of this repository."""


class Row(NamedTuple):
    """A published number."""

    item: str
    printed: str
    ours: float
    remark: str = ""
    tolerance: float = 0.0
    """Largest difference beside the rounding: of drawn samples, of readings off a curve."""

    @property
    def decimals(self) -> int:
        """Digits that are printed behind the point."""
        return len(self.printed.partition(".")[2])

    @property
    def agrees(self) -> bool:
        """Whether ours rounds to what is printed, halves either way, or is as close as the remark says."""
        rounding = 0.5 * 10.0**-self.decimals + 1e-9
        return abs(self.ours - float(self.printed)) <= rounding + self.tolerance

    def line(self) -> str:
        """Return the row of the page."""
        ours = f"{self.ours:.{self.decimals + 2}f}" if self.decimals else f"{self.ours:g}"
        difference = self.ours - float(self.printed)
        mark = f"{difference:+.{self.decimals + 2}f}" if self.decimals else f"{difference:+g}"
        mark = mark if self.agrees else f"**{mark}**"
        return f"| {self.item} | {self.printed} | {ours} | {mark} | {self.remark} |"


COMMON_ERRORS = {
    ("replacement", 42): 0.054,
    ("independent", 42): 0.052,
    ("replacement", 195): 0.120,
    ("independent", 195): 0.111,
}
"""Standard errors of a mean number of common topics over 1,000 trials, as in `test_swap_closed_form`."""


def overlap() -> Iterator[Row]:
    """Sakai 2005, Table 5: topics that the two samples of a trial share, and different topics of a sample; means over 1,000 trials."""
    printed = {
        ("disjoint", 42, 20): ("0", "20"),
        ("disjoint", 195, 97): ("0", "97"),
        ("replacement", 42, 20): ("6.2", "16.1"),
        ("replacement", 195, 97): ("30.0", "76.5"),
        ("independent", 42, 20): ("9.5", "20"),
        ("independent", 195, 97): ("48.0", "97"),
    }
    for (sampling, n, size), texts in printed.items():
        options: dict[str, Any] = {"sampling": sampling, "size": (size,)}
        found = sc.analyse(opposed(n, 5), sc.Swap(**options), trials=1000, seed=2005, workers=1)
        for name, text in zip(("common", "unique"), texts, strict=True):
            ours = float(found[name].isel(size=0))
            drawn = sampling != "disjoint" and text != str(size)
            error = 4 * 2**0.5 * COMMON_ERRORS[sampling, n] if drawn else 0.0
            remark = f"both drawn: within {error:.2f}, four standard errors" if drawn else ""
            yield Row(f"{sampling}, {size} of {n} topics: {name}", text, ours, remark, error)


def examples() -> Iterator[Row]:
    """Sakai 2007, Figures 2 and 3, section 3 and Appendix: worked examples of metrics."""
    for n_s, fraction in ((1, 2 / 3), (3, 1 / 3)):
        yield Row(
            f"Figure 2, {n_s} S-relevant: O",
            f"{fraction:.4f}",
            score("O", [0, 0, S], n_s),
            "printed as a fraction",
        )
    yield Row("Figure 2: NWRR", "0.20", score("NWRR", [0, 0, S], 1), "printed as 1/5")
    for name, levels, list_name, text in (
        ("O", X, "X", "0.50"),
        ("O", Y, "Y", "0.57"),
        ("P-measure", Z, "Z", "0.86"),
        ("P-measure", PERFECT_INVERSE, "perfect inverse", "1"),
        ("P+", PERFECT_INVERSE, "perfect inverse", "0.74"),
    ):
        yield Row(f"Figure 3, {list_name}: {name}", text, fig3(name, levels))
    ours = score("P-measure", [0] * 912 + [S], 10, 6, 36)
    yield Row(
        "Appendix, NTCIR-3 Chinese, topic 020: P-measure",
        "0.004",
        ours,
        "the paper adds 30 + 12 + 36 up to 48; it is 78",
    )
    ours = score("P-measure", ntcir5_japanese_topic_034(), 5, 288, 61)
    yield Row("Appendix, NTCIR-5 Japanese, topic 034: P-measure", "0.440", ours)
    yield Row("the same: O", "0.250", score("O", ntcir5_japanese_topic_034(), 5, 288, 61))


def relevant_documents() -> Iterator[Row]:
    """Sakai 2007, Table 1: relevant documents per topic, in all and of the levels S, A and B, from the counts of Tables 7-9."""
    rows: dict[str, list[dict[str, str]]] = {}
    text = files("scorecube").joinpath("data/ntcir_clir.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        rows.setdefault(row["collection"], []).append(row)
    for collection, (n_topics, *printed) in TABLE_1.items():
        found = rows[collection]
        yield Row(f"{collection}: topics", str(n_topics), len(found))
        means = [sum(int(row[level]) for row in found) / len(found) for level in "sab"]
        for name, number, ours in zip(
            ("R", "S", "A", "B"), printed, [sum(means), *means], strict=True
        ):
            yield Row(f"{collection}: {name}", number, ours)


def preferred_ranks() -> Iterator[Row]:
    """Sakai 2007, Tables 7-9: cells of 181 topics, which the package has, beside the text of the paper."""
    text = files("scorecube").joinpath("data/ntcir_clir.csv").read_text(encoding="utf-8")
    stored = [list(row.values())[1:] for row in csv.DictReader(text.splitlines())]
    lines = next(PAPERS.glob("001_*.txt")).read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.split("\t")] for line in lines]
    printed = Counter(
        tuple(re.findall(r"\d+", " ".join(row[start : start + 5])))
        for row in cells
        if len(row) == 10
        for start in (0, 5)
        if row[start].isdigit()
    )
    equal = printed & Counter(map(tuple, stored))
    n_cells = sum((len(row) - 1) * count for row, count in printed.items())
    yield Row(
        "cells beside topic ids",
        str(n_cells),
        sum((len(row) - 1) * count for row, count in equal.items()),
    )


def thresholds() -> Iterator[Row]:
    """Sakai 2007, sections 4.1 and 5.2: tau of 30 runs that is significant at .01, and values that 30 runs without ties can have."""
    least = min(
        tau
        for tau in (1 - 2 * d / 435 for d in range(435))
        if tau > 0 and two_sided(ranked_apart(30, round(435 * (1 - tau) / 2))) < 0.01
    )
    yield Row(
        "smallest significant tau",
        "0.34",
        math.ceil(100 * least) / 100,
        f"from {least:.4f}, rounded up; 'over 0.34'",
    )
    yield Row("'.3563 barely significant': the attainable value", "0.3563", 155 / 435)
    if not PAPERS.exists():
        return
    values = [float(value) for value in tau_values()]
    attainable = sum(
        min(abs(value - k / 435) for k in range(-435, 436, 2)) < 5.1e-5 for value in values
    )
    yield Row(
        "values of Tables 2 and 5 that 30 runs can have",
        str(len(values)),
        attainable,
        ".9899 of Table 5 lies between .9862 and .9908",
    )


def two_sided(cube: Any) -> float:
    """Return the p-value of tau that `correlate` states."""
    (row,) = sc.table(sc.analyse(cube, sc.Correlation()), "metrics").to_dict("records")
    return float(row["p_value"])


def tau_values() -> list[str]:
    """Return the values of Sakai 2007 Tables 2 and 5 from the paper's text."""
    text = next(PAPERS.glob("001_*.txt")).read_text(encoding="utf-8")
    found: list[str] = []
    for caption in ("\nTable 2 Kendall", "\n**Table 5** Kendall"):
        lines = text[text.index(caption) :].strip().split("\n\n", 2)[1].splitlines()
        found += re.findall(r"(?<![\d.])\.\d{4}", "\n".join(line for line in lines if "\t" in line))
    return found


def readings() -> Iterator[Row]:
    """Sakai 2017: widths that are read off curves at 50 topics, and noncentrality beside 4 z^2 (Figure 1)."""
    measures = {
        "Q": (0.0368, "0.16"),
        "nDCG": (0.0441, "0.16"),
        "AP": (0.0824, "0.23"),
        "nERR": (0.0863, "0.23"),
    }
    for name, (variance, text) in measures.items():
        yield Row(
            f"width at 50 topics, {name} (variance {variance})",
            text,
            float(sc.wcw(variance, 50)["width"].item()),
            "'around': read off a curve, within .01",
            0.01,
        )
    for name in ("a", "b", "c", "d"):
        condition = (np.array(float(number)) for number in CONDITIONS[name])
        alpha, beta, systems = condition
        line = float(four_z_squared(float(alpha)))
        yield Row(
            f"Figure 1 ({name}): 4 z^2 at alpha {float(alpha)}, beside lambda of {int(systems)} systems",
            f"{line:.2f}",
            float(exact_noncentrality(systems, alpha, beta)),
            f"'approximately equal': within .5; by Nagata's formula {float(tool_noncentrality(systems, alpha, beta)):.3f}",
            0.5,
        )


def taus() -> Iterator[Row]:
    """Sakai and Shang 2016, Table 2: limits of tau of 44 runs."""
    for printed, interval in S3_TABLE_2.items():
        cube = ranked_apart(44, round(946 * (1 - float(printed)) / 2))
        found = sc.analyse(cube, sc.Correlation())
        (row,) = sc.table(found, "metrics").to_dict("records")
        half = (row["tau_high"] - row["tau_low"]) / 2
        low, high = (float(end) for end in interval.strip("[]").split(", "))
        for name, end, sign in (("lower", low, -1), ("upper", high, 1)):
            yield Row(
                f"tau {printed}: {name} limit",
                f"{end:.3f}",
                float(printed) + sign * float(f"{half:.3f}"),
                "from the printed tau and half-width, as the paper does",
            )


def sizes() -> Iterator[Row]:
    """Sakai and Shang 2016, Table 3: topics for alpha .05, beta .20, minD .15 and 10 systems."""
    settings: dict[str, Any] = {"systems": 10, "alpha": 0.05, "beta": 0.2, "mode": "sakai"}
    for name, (variances, printed, exact) in TABLE_3.items():
        found = sc.topic_set_size(variances, 0.15, **settings)["topics"].values.tolist()
        for n, variance, text, ours, power in zip(
            (100, 75, 50, 25, 10), variances, printed, found, exact, strict=True
        ):
            yield Row(
                f"{name}, {n} pilot topics (variance {variance})",
                str(text),
                ours,
                f"{power} by exact power",
            )


def rank_sets() -> Iterator[Row]:
    """Rank sets of ten independent estimates 1 to 3 with standard error .2 (Mogstad, Romano, Shaikh and Wilhelm 2024)."""
    found = sc.rank_sets(np.linspace(1, 3, 10), np.full(10, 0.2))
    low, high = (7, 6, 5, 4, 3, 2, 1, 1, 1, 1), (10, 10, 10, 10, 9, 8, 7, 6, 5, 4)
    for k in range(10):
        for name, text in (("rank_low", low[k]), ("rank_high", high[k])):
            yield Row(f"estimate {k + 1}: {name}", str(text), float(found[name].values[k]))


def ntcireval() -> Iterator[Row]:
    """NTCIREVAL: its own example, four documents of levels 0, 3, unjudged, 2 with gains 3:2:1."""
    for name, value in SAMPLE.items():
        yield Row(name, f"{value:.4f}", sample(name))


def reliability() -> Iterator[Row]:
    """TREC-3 ad hoc, 30 of 40 runs: README, manual and vignette of gt4ireval."""
    frame = pd.read_csv(DATA / "adhoc3" / "ap.csv").T
    frame.columns = pd.Index([str(column) for column in frame.columns])
    # gt4ireval drops the quarter of the runs with the lowest means.
    frame = frame.loc[frame.mean(axis=1).nlargest(len(frame) - len(frame) // 4).index]
    result = sc.analyse(sc.cube_from_scores({"AP": frame}), sc.Reliability(), trials=1)
    (row,) = sc.table(result).to_dict("records")
    for name, text in (("erho2", "0.93265"), ("phi", "0.78613")):
        yield Row(name, text, float(row[name]))
    (parts,) = sc.table(result, "components").to_dict("records")
    for name, text in (
        ("systems", "0.0028117"),
        ("topics", "0.028093"),
        ("interaction", "0.010152"),
    ):
        yield Row(f"variance of {name}", text, float(parts[name]))
    topics = sc.table(result, "topics")["n_topics"].tolist()
    for name, ours, number in zip(("erho2", "phi"), topics, (69, 259), strict=True):
        yield Row(f"topics for {name} of .95", str(number), ours)


def official_means() -> Iterator[Row]:
    """TREC-COVID round 5: official means of 126 runs, four decimals; the largest distance, and runs that are off."""
    folder = DATA / "trec-covid-r5"
    official = pd.read_csv(folder / "runs.csv", dtype={"run": str}).set_index("run")
    cube = sc.evaluate(
        sc.read_rankings(folder / "runs", folder / "qrels.txt"), ["P@20", "nDCG@20"], ["2:1"]
    )
    for metric, column in (("P@20", "official_P@20"), ("nDCG@20", "official_ndcg@20")):
        means = cube["score"].sel(metric=metric).isel(gain=0).mean("topic").to_series()
        distance = (means - official[column].loc[means.index]).abs()
        yield Row(
            f"{metric}: runs that equal the official mean",
            str(len(official)),
            int((distance <= 5.1e-5).sum()),
            f"largest distance {distance.max():.5f}",
        )


def preferences() -> Iterator[Row]:
    """Urbano, Downie, McFee and Schedl 2012: 2,200 judgements of people between two lists of five songs, CC BY-SA 4.0; agreement of four metrics with them, by the differences in the file counted in plain Python."""
    answers = pd.read_csv(ANSWERS)
    said = answers["what_service_gives_better_results"].str.extract("Service ([AB])")[0].fillna("")
    lists = {side: answers[[f"d{k}{side}" for k in range(1, 6)]].agg(" ".join, axis=1) for side in "ab"}  # fmt: skip
    # Two equal lists are two runs all the same.
    lists["b"] = lists["b"].where(lists["a"] != lists["b"], lists["b"] + " again")
    first, second = lists["a"].tolist(), lists["b"].tolist()
    topics = answers["query"].tolist()
    preferred = [{"A": a, "B": b, "": ""}[word] for a, b, word in zip(first, second, said, strict=True)]  # fmt: skip
    found = list(map(Preference, topics, first, second, preferred))
    frames, better = {}, {}
    for metric in ("agb", "agf", "ndcgb", "ndcgf"):
        both = [pd.DataFrame({"run": lists[s], "topic": topics, "score": answers[metric + s]}) for s in "ab"]  # fmt: skip
        table = pd.concat(both).drop_duplicates(["run", "topic"])
        frames[metric] = table.pivot(index="run", columns="topic", values="score")
        differences = [0.0 if abs(each) <= 1e-12 else each for each in answers[f"d{metric}"]]
        better[metric] = ["A" if each > 0 else "B" if each < 0 else "" for each in differences]
    yield Row(
        "judgements",
        "2200",
        len(found),
        "of the abstract; the curves of the paper were not at hand",
    )
    cube = sc.cube_from_scores(frames)
    for what, kept in (("all", found), ("one list preferred", [each for each in found if each.preferred])):  # fmt: skip
        agreement = agreement_with_preferences(cube, kept)["score"].sel(metric="agreement")
        for metric, words in better.items():
            votes: dict[tuple[str, frozenset[str]], list[bool]] = {}
            for each, word, answer in zip(found, words, said, strict=True):
                if each in kept:
                    key = each.topic, frozenset((each.run_a, each.run_b))
                    votes.setdefault(key, []).append(word == answer)
            rate = sum(sum(each) / len(each) for each in votes.values()) / len(votes)
            ours = float(agreement.sel(run=metric).mean())
            yield Row(f"{metric}, {what}, {len(votes)} pairs of lists", f"{rate:.4f}", ours)


PLAIN: tuple[Callable[[], Iterator[Row]], ...] = (
    overlap,
    examples,
    relevant_documents,
    thresholds,
    readings,
    taus,
    sizes,
    rank_sets,
    ntcireval,
)
ON_DATA: tuple[Callable[[], Iterator[Row]], ...] = (preferred_ranks, reliability, official_means)
FETCHED: tuple[Callable[[], Iterator[Row]], ...] = (preferences,)
"""Of data that is fetched by hand; without it the page keeps what it has."""


def section(rows: Callable[[], Iterator[Row]]) -> str:
    """Return the section of some rows: its source, how many agree, the table."""
    found = list(rows())
    agree = sum(row.agrees for row in found)
    head = "| | printed | ours | difference | |\n|---|---|---|---|---|"
    return (
        f"## {(rows.__doc__ or '').rstrip('.')}\n\n{agree} of {len(found)} agree to the digits printed, or within the tolerance in the remark.\n\n{head}\n"
        + "\n".join(row.line() for row in found)
        + "\n"
    )


def page() -> str:
    """Return the page."""
    first = (
        "# Published numbers\n\n"
        "Numbers that papers and other tools print, beside what this version computes from the same input. "
        "A difference in bold is larger than the rounding of the printed number; the remark explains it.\n"
    )
    kept = PAGE.read_text(encoding="utf-8").partition("\n## Urbano, Downie")
    fetched = list(map(section, FETCHED)) if ANSWERS.exists() else ["".join(kept[1:]).lstrip()]
    return "\n".join([first, *map(section, (*PLAIN, *ON_DATA)), *fetched])


if __name__ == "__main__":
    sys.stdout.write(page())
