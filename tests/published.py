"""Published numbers beside ours: ``python -m tests.published > docs/reference/published.md``.

Rows of public data need the folder of collections beside the repository; the others need nothing.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

import pandas as pd

import scorecube as sc
from scorecube.ingest.preferences import agreement_with_preferences
from scorecube.published import SECTIONS, Number, markdown, numbers, title_of

DATA = Path(__file__).parents[2] / "shared/data"
PAPERS = DATA.parent / "papers"
PAGE = Path(__file__).parents[1] / "docs/reference/published.md"
ANSWERS = DATA / "ismir2012-significance/answers.csv"
"""Of https://github.com/julian-urbano/ismir2012-significance (CC BY-SA 4.0), ``data/answers.csv``; no part of this repository."""


def preferred_ranks() -> Iterator[Number]:
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
    yield Number(
        "cells beside topic ids",
        str(n_cells),
        sum((len(row) - 1) * count for row, count in equal.items()),
    )


def possible_taus() -> Iterator[Number]:
    """Sakai 2007, Tables 2 and 5: values of tau that 30 runs without ties can have."""
    values = [float(value) for value in tau_values()]
    attainable = sum(
        min(abs(value - k / 435) for k in range(-435, 436, 2)) < 5.1e-5 for value in values
    )
    yield Number(
        "values that 30 runs can have",
        str(len(values)),
        attainable,
        remark=".9899 of Table 5 lies between .9862 and .9908",
    )


def tau_values() -> list[str]:
    """Return the values of Sakai 2007 Tables 2 and 5 from the paper's text."""
    text = next(PAPERS.glob("001_*.txt")).read_text(encoding="utf-8")
    found: list[str] = []
    for caption in ("\nTable 2 Kendall", "\n**Table 5** Kendall"):
        lines = text[text.index(caption) :].strip().split("\n\n", 2)[1].splitlines()
        found += re.findall(r"(?<![\d.])\.\d{4}", "\n".join(line for line in lines if "\t" in line))
    return found


def reliability() -> Iterator[Number]:
    """TREC-3 ad hoc, 30 of 40 runs: README, manual and vignette of gt4ireval."""
    frame = pd.read_csv(DATA / "adhoc3" / "ap.csv").T
    frame.columns = pd.Index([str(column) for column in frame.columns])
    # gt4ireval drops the quarter of the runs with the lowest means.
    frame = frame.loc[frame.mean(axis=1).nlargest(len(frame) - len(frame) // 4).index]
    result = sc.analyse(sc.cube_from_scores({"AP": frame}), sc.Reliability(), trials=1)
    (row,) = sc.table(result).to_dict("records")
    for name, text in (("erho2", "0.93265"), ("phi", "0.78613")):
        yield Number(name, text, float(row[name]))
    (parts,) = sc.table(result, "components").to_dict("records")
    for name, text in (
        ("systems", "0.0028117"),
        ("topics", "0.028093"),
        ("interaction", "0.010152"),
    ):
        yield Number(f"variance of {name}", text, float(parts[name]))
    topics = sc.table(result, "topics")["n_topics"].tolist()
    for name, ours, number in zip(("erho2", "phi"), topics, (69, 259), strict=True):
        yield Number(f"topics for {name} of .95", str(number), ours)


def official_means() -> Iterator[Number]:
    """TREC-COVID round 5: official means of 126 runs, four decimals; the largest distance, and runs that are off."""
    folder = DATA / "trec-covid-r5"
    official = pd.read_csv(folder / "runs.csv", dtype={"run": str}).set_index("run")
    cube = sc.evaluate(
        sc.read_rankings(folder / "runs", folder / "qrels.txt"), ["P@20", "nDCG@20"], ["2:1"]
    )
    for metric, column in (("P@20", "official_P@20"), ("nDCG@20", "official_ndcg@20")):
        means = cube["score"].sel(metric=metric).isel(gain=0).mean("topic").to_series()
        distance = (means - official[column].loc[means.index]).abs()
        yield Number(
            f"{metric}: runs that equal the official mean",
            str(len(official)),
            int((distance <= 5.1e-5).sum()),
            remark=f"largest distance {distance.max():.5f}",
        )


def preferences() -> Iterator[Number]:
    """Urbano, Downie, McFee and Schedl 2012: 2,200 judgements of people between two lists of five songs, CC BY-SA 4.0; agreement of four metrics with them, by the differences in the file counted in plain Python."""
    answers = pd.read_csv(ANSWERS)
    said = answers["what_service_gives_better_results"].str.extract("Service ([AB])")[0].fillna("")
    lists = {side: answers[[f"d{k}{side}" for k in range(1, 6)]].agg(" ".join, axis=1) for side in "ab"}  # fmt: skip
    # Two equal lists are two runs all the same.
    lists["b"] = lists["b"].where(lists["a"] != lists["b"], lists["b"] + " again")
    first, second = lists["a"].tolist(), lists["b"].tolist()
    topics = answers["query"].tolist()
    preferred = [{"A": a, "B": b, "": ""}[word] for a, b, word in zip(first, second, said, strict=True)]  # fmt: skip
    found = pd.DataFrame({"topic": topics, "run_a": first, "run_b": second, "preferred": preferred, "people": 1.0})  # fmt: skip
    frames, better = {}, {}
    for metric in ("agb", "agf", "ndcgb", "ndcgf"):
        both = [pd.DataFrame({"run": lists[s], "topic": topics, "score": answers[metric + s]}) for s in "ab"]  # fmt: skip
        table = pd.concat(both).drop_duplicates(["run", "topic"])
        frames[metric] = table.pivot(index="run", columns="topic", values="score")
        differences = [0.0 if abs(each) <= 1e-12 else each for each in answers[f"d{metric}"]]
        better[metric] = ["A" if each > 0 else "B" if each < 0 else "" for each in differences]
    yield Number(
        "judgements",
        "2200",
        len(found),
        remark="of the abstract; the curves of the paper were not at hand",
    )
    cube = sc.cube_from_scores(frames)
    for what, kept in (("all", found), ("one list preferred", found[found["preferred"] != ""])):  # fmt: skip
        agreement = agreement_with_preferences(cube, kept)["score"].sel(metric="agreement")
        for metric, words in better.items():
            votes: dict[tuple[str, frozenset[str]], list[bool]] = {}
            for each, word, answer in zip(found.to_dict("records"), words, said, strict=True):
                if what == "all" or each["preferred"]:
                    key = each["topic"], frozenset((each["run_a"], each["run_b"]))
                    votes.setdefault(key, []).append(word == answer)
            rate = sum(sum(each) / len(each) for each in votes.values()) / len(votes)
            ours = float(agreement.sel(run=metric).mean())
            yield Number(f"{metric}, {what}, {len(votes)} pairs of lists", f"{rate:.4f}", ours)


ON_DATA: tuple[Callable[[], Iterator[Number]], ...] = (
    preferred_ranks,
    possible_taus,
    reliability,
    official_means,
)
FETCHED: tuple[Callable[[], Iterator[Number]], ...] = (preferences,)
"""Of data that is fetched by hand; without it the page keeps what it has."""


def section(rows: Callable[[], Iterator[Number]]) -> str:
    """Return the section of some rows: its source, how many agree, the table."""
    return markdown((rows.__doc__ or "").rstrip("."), list(rows()))


def summary() -> Iterator[str]:
    """Yield a table of the sections that ``python -m scorecube.published`` prints whole."""
    yield "| source | numbers | agree |\n|---|---|---|"
    for each in SECTIONS:
        rows = numbers(each)
        yield f"| {title_of(each)} | {len(rows)} | {sum(row.agrees for row in rows)} |"


def page() -> str:
    """Return the page."""
    first = (
        "# Published numbers\n\n"
        "`python -m scorecube.published` prints numbers of papers and other tools beside what this version computes from the same input, and ends with "
        "status 1 if one is missed. They agree to the digits printed, or within the tolerance in the remark.\n"
    )
    second = (
        "The rest of the page is computed from data beside the repository. A difference in bold is larger than the rounding of the printed number; "
        "the remark explains it.\n"
    )
    kept = PAGE.read_text(encoding="utf-8").partition("\n## Urbano, Downie")
    fetched = list(map(section, FETCHED)) if ANSWERS.exists() else ["".join(kept[1:]).lstrip()]
    table = "\n".join(summary()) + "\n"
    return "\n".join([first, table, second, *map(section, ON_DATA), *fetched])


if __name__ == "__main__":
    sys.stdout.write(page())
