"""The studies of the golden corpus, and the commands that make their results."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import xarray as xr

from tests.golden import collections, shown
from tests.golden.collections import TWO_GAINS, Make, changed, scores, simulated
from tests.golden.dump import Parts

COMPUTED = ("scores", "design", "wcw")
"""Shown without being run."""
BASELINE = "team01-run1"


@dataclass(frozen=True)
class Golden:
    """A study whose results are shown.

    Parameters
    ----------
    make
        Writes the study.
    results
        Commands of analyses, without the study; all tables of each result are shown, and the figure of the first of an analysis. Names of `COMPUTED` are not run.
    also
        Further commands, of which the output is kept.
    brief
        Whether tables are kept as csv and plain text only.
    pages
        Whether the report is a folder of pages, too.
    plugin
        Whether the analysis of ``tests/recipes`` is installed.
    """

    make: Make
    results: tuple[str, ...]
    also: tuple[str, ...] = ()
    brief: bool = False
    pages: bool = False
    plugin: bool = False


ONE, TWO = simulated("one"), simulated("one", gains=TWO_GAINS)
SEVERAL = simulated("one", "two")
ODD_TESTS = ("leaderboard", "bootstrap", "paired", "ranks")
ODD_SAMPLES = ("swap", "splits", "correlate", "reliability")
STUDIES = {
    "leaderboard": Golden(
        TWO,
        (
            "leaderboard",
            f"leaderboard --baseline {BASELINE} --top 1,3",
            "leaderboard --alpha 0.3 --moderation 0",
        ),
    ),
    "ranks": Golden(TWO, ("ranks", "ranks --marginal --alpha 0.2", "ranks --top 2 --metrics AP")),
    "systems": Golden(
        changed(collections.repeated),
        (
            "leaderboard --by-system",
            "ranks --by-system",
            "maxt --by-system",
            "paired --by-system",
            "bootstrap --by-system",
        ),
        brief=True,
    ),
    "swap": Golden(
        TWO,
        (
            "swap",
            "swap --size 3,5 --confidence 0.9",
            "swap --sampling replacement --size 5 --signed",
        ),
    ),
    "swap-rules": Golden(
        ONE,
        (
            "swap --rule s1 --symmetric --required suffix --allow-zero",
            "swap --bins 11 --bin-width 0.05 --required first",
            "swap --sampling independent --share none --size 4 --no-limits",
            "swap --interval population --groups 3 --run-groups runs",
        ),
    ),
    "stability": Golden(
        TWO,
        (
            "stability",
            "stability --size 3,5 --metrics AP",
            "stability --sampling replacement --size 4 --fuzziness 0.01,0.1",
        ),
    ),
    "splits": Golden(
        ONE,
        (
            "splits",
            "splits --size 3,5",
            "splits --sampling replacement --size 4",
            "splits --sampling independent --size 6 --threshold 0.5,0.3",
        ),
    ),
    "bootstrap": Golden(
        TWO,
        (
            "bootstrap",
            "bootstrap --sided 1 --alpha 0.3,0.1 --trials 40",
            f"bootstrap --baseline {BASELINE} --no-plus-one",
        ),
    ),
    "bootstrap-forms": Golden(
        ONE,
        (
            "bootstrap --unstudentised --trials 200",
            "bootstrap --only-significant --alpha 0.4 --seed 2 --trials 40",
            "bootstrap --precision mixed --top-runs 4",
        ),
    ),
    "randomisation": Golden(
        ONE,
        (
            "randomisation --trials 200",
            "randomisation --sided 1 --no-plus-one",
            f"randomisation --baseline {BASELINE} --alpha 0.2",
        ),
    ),
    "tukey": Golden(
        TWO, ("tukey --trials 100", "tukey --alpha 0.5,0.2 --no-plus-one --gains 3:2:1")
    ),
    "maxt": Golden(
        ONE,
        (
            "maxt --trials 100",
            f"maxt --baseline {BASELINE} --moderation 0",
            "maxt --alpha 0.5 --no-plus-one",
        ),
    ),
    "unpaired": Golden(
        ONE, ("unpaired", f"unpaired --baseline {BASELINE}", "unpaired --alpha 0.5 --no-plus-one")
    ),
    "paired": Golden(
        ONE,
        (
            "paired",
            "paired --tests sign,t --alpha 0.2",
            "paired --equivalence 0.1",
            f"paired --baseline {BASELINE} --tests wilcoxon",
        ),
    ),
    "correlate": Golden(
        simulated("one", metrics=("AP", "nDCG@10", "RR"), gains=TWO_GAINS),
        (
            "correlate",
            "correlate --along metric --intervals runs,both",
            "correlate --along gain --confidence 0.8 --bold 0.5",
            "correlate --intervals none",
        ),
    ),
    "reliability": Golden(
        TWO,
        (
            "reliability",
            "reliability --topics 10,50 --target 0.9,0.8 --drop 0.25",
            "reliability --confidence 0.5 --metrics AP",
        ),
    ),
    "judgements": Golden(
        collections.judged,
        (
            "agreement --collections truth,lenient",
            "agreement --collections truth,strict --ties b --interval basic --test sign --top 3",
            "reliability --judgement-sets --collections truth,lenient",
        ),
        ("replicate STUDY --collections truth,strict --baseline run0 --same-topics",),
    ),
    "judges": Golden(collections.judged, ("judges --truth truth --labels 4,6",)),
    "judges-options": Golden(
        collections.judged,
        (
            "judges --truth truth --judges lenient --labels 4 --weights linear --distance nominal --baseline run1",
        ),
        brief=True,
    ),
    "teams": Golden(
        ONE,
        (
            "teams --trials 3",
            "teams --leave 1,2 --topics 8,4 --trials 4",
            "teams --pool-depth 5 --drop-unpooled --lost-topics all_runs_zero --interval percentile --trials 3",
        ),
        brief=True,
    ),
    "errors": Golden(
        ONE,
        (
            "errors --n 10 --resamples 100",
            "errors --tests t,tukey,holm,maxt --n 10 --delta 0,0.1 --alpha 0.05,0.1 --resamples 100",
            "errors --tests sign --copula gaussian --ties half --n 10 --drop-worst 0 --alpha 0.05",
        ),
    ),
    "check": Golden(
        ONE,
        (
            "check swap --n 10 --at 20 --trials 2",
            "check correlate --n 10 --trials 4",
            "check ranks --n 10 --null --trials 4 --copula independent",
            "check design --n 10 --at 20,30 --trials 4",
            "check reliability --n 10 --trials 4",
        ),
    ),
    "scores": Golden(
        TWO,
        COMPUTED,
        (
            "design STUDY --min-diff 0.05 --systems 3 --alpha 0.01",
            "design STUDY --method t --mode sakai --sided 1 --format csv",
            "design STUDY --method ci --width 0.2 --format markdown",
            "design STUDY --topics 10..30:10 --min-diff 0.1",
            "design --variance 0.02,0.1 --format latex",
            "wcw STUDY --topics 10,20 --route ci,anova-tool,anova-exact",
            "wcw --variance 0.05 --topics 10..14 --format json",
            "standardise STUDY --name standardised --method z",
            "info STUDY",
        ),
    ),
    "few-topics": Golden(
        simulated("one", n_topics=4),
        ("scores", "swap --size 2 --bin-width 0.1", "teams --trials 2"),
    ),
    "show": Golden(
        simulated("one", "two", gains=TWO_GAINS),
        ("swap --size 4 --trials 5",),
        (
            "show STUDY swap --sort share:desc,metric",
            "show STUDY swap --metrics AP --size 4 --sampling disjoint --all-rows",
            "show STUDY swap --average",
            "show STUDY swap --orderings",
            "show STUDY swap --collection two --format csv --fail-if share>0.2",
            "show STUDY swap --all --table overlap",
            "show STUDY scores --table topics --average",
            "show STUDY swap --table nonsense",
            "show STUDY nonsense",
            "show STUDY bootstrap",
        ),
        pages=True,
    ),
    "boards": Golden(
        SEVERAL,
        (f"board --baseline {BASELINE} --weights two=2", "board --standardise rank --metrics AP"),
        (f"gate STUDY --run team04-run1 --baseline {BASELINE}",),
    ),
    "several-tests": Golden(
        SEVERAL, ("leaderboard", "ranks", "bootstrap", "tukey", "paired"), brief=True
    ),
    "several-more-tests": Golden(
        SEVERAL, ("maxt", "randomisation", "unpaired", "errors --n 10 --resamples 100"), brief=True
    ),
    "several-samples": Golden(
        SEVERAL, ("swap", "stability", "splits", "correlate", "design", "wcw"), brief=True
    ),
    "several-others": Golden(
        SEVERAL,
        ("reliability", "teams --trials 2", "check ranks --n 10 --trials 2", "scores"),
        brief=True,
    ),
    "hostile": Golden(collections.hostile, ("bootstrap",), pages=True),
    "one-run": Golden(
        changed(lambda cube: cube.isel(run=[0])),
        (*ODD_TESTS, "reliability", "design", "scores"),
        brief=True,
    ),
    "one-pair": Golden(changed(lambda cube: cube.isel(run=[0, 1])), ODD_TESTS, brief=True),
    "one-pair-samples": Golden(
        changed(lambda cube: cube.isel(run=[0, 1])), ODD_SAMPLES, brief=True
    ),
    "one-topic": Golden(
        changed(lambda cube: cube.isel(topic=[0])),
        (*ODD_TESTS, *ODD_SAMPLES, "scores", "design"),
        brief=True,
    ),
    "ties": Golden(changed(scores(collections.tied)), (*ODD_TESTS, "randomisation"), brief=True),
    "ties-samples": Golden(
        changed(scores(collections.tied)), (*ODD_SAMPLES, "stability"), brief=True
    ),
    "zeros": Golden(changed(scores(xr.zeros_like)), (*ODD_TESTS, *ODD_SAMPLES), brief=True),
    "missing": Golden(
        changed(scores(collections.holed)),
        (
            "bootstrap",
            "bootstrap --missing pairwise",
            "randomisation --missing pairwise",
            "paired --missing pairwise",
            "paired --drop-missing --metrics AP",
            "swap",
            "scores",
        ),
        brief=True,
    ),
    "no-teams": Golden(
        changed(collections.without_teams),
        ("leaderboard", "swap", "correlate", "design"),
        brief=True,
    ),
    "imported": Golden(
        collections.imported,
        ("leaderboard", "paired", "swap", "splits", "correlate", "scores"),
        brief=True,
    ),
    "version-0.1.0": Golden(
        collections.previous,
        (),
        (
            "info STUDY",
            "show STUDY swap --all",
            "show STUDY teams",
            "show STUDY agreement",
            "show STUDY splits",
            "show STUDY bootstrap",
        ),
    ),
    "plugin": Golden(ONE, ("winner", "winner --n-drawn 5 --ties first"), plugin=True),
    "many": Golden(collections.many, ("paired --tests t",), brief=True),
}


def parts_of(name: str, folder: Path) -> Parts:
    """Return everything that is shown of a study."""
    golden = STUDIES[name]
    with contextlib.chdir(folder), shown.plugins(golden.plugin):
        return dict(_parts(golden))


def _parts(golden: Golden) -> Iterator[tuple[str, str]]:
    golden.make(Path(shown.STUDY))
    seen = set[str]()
    for command in golden.results:
        view = command.split()[0]
        if view not in COMPUTED:
            told = shown.analysed(command)
            yield f"{command}: said", told
            if told.startswith(shown.FAILED):
                continue
        for part, text in shown.shown(view, brief=golden.brief):
            yield f"{command}: {part}", text
        if view not in seen:  # the page has the figures of all results
            yield f"{command}: figure", shown.figure(view)
        seen.add(view)
    for command in golden.also:
        yield (
            f"{command}: said",
            shown.said(*command.replace("STUDY", shown.STUDY).split(), columns=shown.READ),
        )
    for part, page in shown.pages(several=golden.pages):
        yield f"{part}: words", shown.words_of(page)
        yield f"{part}: page", page
