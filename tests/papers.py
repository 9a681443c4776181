"""The items of the five papers and the commands that make them.

``python -m tests.papers`` prints their page in the docs; ``python -m tests.papers STUDY`` writes the
study that the commands run on, made from what Sakai 2007 prints in Tables 7 to 9; ``python -m
tests.papers run`` runs them, or those of the first N papers, and prints what each item shows, also beside an
installed wheel.
"""

from __future__ import annotations

import contextlib
import html
import io
import re
import shlex
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr

import scorecube as sc
from scorecube.cli.program import run
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
BINARY = "AP,AP(rel=2),Rprec,Rprec(rel=2),P@10,P(rel=2)@10,P@100,P(rel=2)@100,P@1000,P(rel=2)@1000"
GRADED = (
    "Q,Rmeasure,nCG@10,nCG@100,nCG@1000,AnCG@10,AnCG@100,AnCG@1000,nDCG(b=2)@10,nDCG(b=2)@100,"
    "nDCG(b=2)@1000,AnDCG(b=2)@10,AnDCG(b=2)@100,AnDCG(b=2)@1000"
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
OF_ANSWERS = "3:2:1,1:1:1,2:1.5:1"


class Item(NamedTuple):
    """A table, figure, formula or method of a paper.

    command: With STUDY for the path of a study; several are joined by newlines.
    compared: What of it is compared with the paper, and by what.
    shows: Parts of lines that the commands must print or draw, such as ``QA 97 independent 97.0
        48.0~0.6``: words, and numbers with a tolerance; of a figure its words, and how many curves
        and bars a panel has. All that ``--metrics`` names is shown too.
    rows: Rows of the last table; 0 where it is cut, and of figures.
    """

    item: str
    command: str
    compared: str
    shows: Sequence[str] = ()
    rows: int = 0


ITEMS = {
    paper: [Item(**fields) for fields in items]
    for paper, items in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    ).items()
}
"""By paper, in the order of their commands."""


def make_study(path: Path, n_runs: int = 30, n_teams: int = 10, depth: int = 1000) -> None:
    """Write a study of simulated runs on the numbers of relevant documents of Sakai 2007."""
    study = sc.open_study(path, mode="a")
    for seed, (name, (topics, judged)) in enumerate(ntcir_clir().items(), 1):
        rankings = simulate_rankings(
            judged, topics=topics, n_runs=n_runs, n_teams=n_teams, depth=depth, seed=seed
        )
        cube = sc.evaluate(rankings, METRICS, list(GAINS))
        study.add(name.replace(" ", "-"), cube=cube, rankings=rankings)
        if name.replace(" ", "-") == CHINESE:
            all_45 = simulate_rankings(judged, topics=topics, n_runs=45, n_teams=15)
            study.add("C-runs", cube=sc.evaluate(all_45, ["AP"]))
    of_levels = [(30 + (k < 43), 22 + (k < 61)) for k in range(100)]  # 3,043 L1 and 2,261 L2 in all
    rankings = simulate_rankings(of_levels, n_runs=44, n_teams=16, depth=10)
    stc = sc.evaluate(rankings, STC.split(","), ["3:1"])
    study.add("STC", cube=stc, rankings=rankings)
    answers = sc.evaluate(
        answers_to_questions(), ["Q", "RR", "Hit@1", "Hit@5"], OF_ANSWERS.split(",")
    )
    study.add("QA", cube=answers)
    write_lists(path.with_name("lists"))
    write_intents(path.with_name("intents"))
    write_preferences(study[CHINESE].cube, path.with_name("preferences.csv"))
    path.with_name("matrix.txt").write_text("0.1 0.2\n0.2 0.4\n0.3 0.6\n", encoding="utf-8")


def answers_to_questions(n_runs: int = 10, n_questions: int = 195) -> xr.Dataset:
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


def write_lists(folder: Path) -> None:
    """Write lists that papers score by hand, and one of answers in classes."""
    folder.mkdir()
    three = relevant(1, 1, 1)
    others, above = [f"x{k}" for k in range(912)], [w.split()[1] for w in relevant(0, 137, 29)]
    of_034 = ["x", above[-1], *above[:-1], *others[:256], "s0"]
    topics: dict[str, tuple[str, Sequence[str]]] = {
        "figure-2-one": ("x y s0", relevant(1, 0, 0)),
        "figure-2-three": ("x y s0", relevant(3, 0, 0)),
        "X": ("b0 x y", three),
        "Y": ("x s0 y", three),
        "Z": ("b0 s0 x", three),
        "inverse": ("b0 a0 s0", three),
        "020": (" ".join([*others, "s0"]), relevant(10, 6, 36)),
        "034": (" ".join(of_034), relevant(5, 288, 61)),
        "question": ("s1 s2 a x b", ("0 s1 3", "0 s2 3", "1 a 2", "2 b 1")),
    }
    for topic, (ranked, judged) in topics.items():
        name = "answers" if topic == "question" else "lists"
        with (folder / f"{name}.qrels").open("a", encoding="utf-8") as file:
            file.writelines(f"{topic} {line}\n" for line in judged)
        with (folder / f"{name}.run").open("a", encoding="utf-8") as file:
            ranks = enumerate(ranked.split(), 1)
            file.writelines(f"{topic} Q0 {name} {rank} {-rank} list\n" for rank, name in ranks)


def write_intents(folder: Path) -> None:
    """Write lists of two runs on two topics with two intents, of probability .75 and .25.

    By hand: D-nDCG is 1 for all documents, .75 / (.75 + .25 / log2(3)) for a, and 0 for x.
    """
    folder.mkdir()
    judged = [f"{topic} {line}\n" for topic in (1, 2) for line in ("1 a L1", "2 b L1", "2 a L0")]
    chances = [f"{topic} {line}\n" for topic in (1, 2) for line in ("1 0.75", "2 0.25")]
    ranked = ("1 Q0 a 1 2 early", "1 Q0 b 2 1 early", "2 Q0 a 1 2 early")
    others = ("1 Q0 x 1 2 late", "2 Q0 a 1 2 late", "2 Q0 b 2 1 late")
    (folder / "dqrels").write_text("".join(judged), encoding="utf-8")
    (folder / "iprobs").write_text("".join(chances), encoding="utf-8")
    for name, lines in (("web.run", ranked), ("other.run", others)):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def relevant(*numbers: int) -> list[str]:
    """Return judgements of so many documents of each of the levels S, A and B."""
    of_levels = zip("sab", (3, 2, 1), numbers, strict=True)
    return [f"0 {name}{k} {level}" for name, level, n in of_levels for k in range(n)]


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
        "([published](../reference/published.md)). `--as` sets the options, trials and gains of a paper, and `show` then has its columns, order and digits. "
        "`python -m tests.papers run` runs each command, in this order, and prints what of it was found in its output; tests see each miss where a word or number is another. "
        "This page is made from `tests/papers.toml`.\n"
    )
    for number, (paper, items) in enumerate(ITEMS.items(), 1):
        yield f"## {paper}: {PAPERS[paper]}\n"
        yield "| | item | command | compared |\n|---|---|---|---|"
        for k, item in enumerate(items, 1):
            command = ", then ".join(f"`{line}`" for line in item.command.splitlines())
            yield f"| {number}.{k} | {item.item} | {command} | {item.compared} |"
        yield ""


def results(folder: Path, n_papers: int = len(ITEMS)) -> Iterator[tuple[str, Item, str]]:
    """Make the study in a folder, and run the commands of papers there; yield number, item, output."""
    make_study(folder / "STUDY")
    with contextlib.chdir(folder):
        for number, items in enumerate(list(ITEMS.values())[:n_papers], 1):
            for k, item in enumerate(items, 1):
                said = [output(line) for line in item.command.splitlines()]
                yield f"{number}.{k}", item, "\n".join(said)


def output(command: str) -> str:
    """Return what a command says; of a figure, the words in it, and its curves and bars."""
    words = shlex.split(command.replace(".png", ".svg"))[1:]
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            status = run(words)
        except SystemExit:
            status = 2
    text = said.getvalue() if status == 0 else f"MISSING: status {status}: {said.getvalue()}"
    if "--out" in words and status == 0:
        svg = Path(words[-1]).read_text(encoding="utf-8")
        text += "\n".join([re.sub(r"<[^>]*>", "", svg), *panels(Path(words[-1]).stem, svg)])
    return html.unescape(text)


def panels(name: str, svg: str) -> Iterator[str]:
    """Yield how many curves and bars each panel of a figure has."""
    places = (group for group in ET.fromstring(svg).iter() if "axes_" in group.get("id", ""))
    for number, axes in enumerate(places, 1):
        curves = bars = 0
        for artist in axes:
            of_data = artist.get("id", "").startswith(
                ("line2d", "patch")
            )  # others are ticks, limits
            for path in artist.iter("{http://www.w3.org/2000/svg}path") if of_data else ():
                is_line = "fill: none" in path.get("style", "")
                is_inside = "clip-path" in path.attrib
                bars += is_inside and not is_line
                curves += is_inside and is_line and path.get("d", "").count("L") > 1
        yield f"{name} panel {number}: {curves} curves {bars} bars"


def found(item: Item, text: str) -> str:
    """Return how many rows and parts of lines of an item were printed, or what is missing."""
    lines = [line.split() for line in text.splitlines()]
    wanted = list(item.shows)
    last = shlex.split(item.command.splitlines()[-1])
    if "--metrics" in last and last[1] in ("show", "figure"):
        wanted += last[last.index("--metrics") + 1].split(",")
    missing = [part for part in wanted if not any(holds(line, part.split()) for line in lines)]
    table = text[text.rfind("\n--") :].strip().splitlines()[1:] if item.rows else []
    rows = next((k for k, line in enumerate(table) if not line.strip()), len(table))
    if item.rows != rows:
        missing.append(f"{item.rows} rows, found {rows}")
    if missing or "MISSING" in text:
        return f"MISSING: {'; '.join(missing)} {text[:300] if 'MISSING' in text else ''}"
    counts = f"{rows} rows, " if rows else ""
    return f"{counts}{len(wanted)} of {len(wanted)} parts" if wanted else f"{len(lines)} lines"


def holds(line: list[str], part: list[str]) -> bool:
    """Return whether the words of a part follow each other in a line; ``2~1`` is from 1 to 3."""
    starts = range(len(line) - len(part) + 1)
    return any(all(map(agrees, line[at : at + len(part)], part)) for at in starts)


def agrees(word: str, wanted: str) -> bool:
    """Return whether a word is as wanted, or a number within a tolerance."""
    number, _, tolerance = wanted.partition("~")
    if not tolerance:
        return word.strip(",()") == wanted.strip(",()")
    is_number = re.fullmatch(r"-?\d*\.?\d+", word) is not None
    return is_number and abs(float(word) - float(number)) <= float(tolerance) + 1e-9


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        n_missing = 0
        with tempfile.TemporaryDirectory() as temporary:
            for number, item, text in results(Path(temporary), *map(int, sys.argv[2:])):
                result = found(item, text)
                n_missing += result.startswith("MISSING")
                print(f"{number} | {item.item} | {item.command} | {item.compared} | {result}")
        sys.exit(f"{n_missing} items are missed" if n_missing else 0)
    elif len(sys.argv) > 1:
        make_study(Path(sys.argv[1]))
    else:
        print("\n".join(page()).rstrip())
