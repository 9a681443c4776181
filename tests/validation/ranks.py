"""Means, leaders, ranks, max-T, boards, gates, groups and bags on known truths: cases by part.

`python -m tests.validation ranks` measures all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy import stats

from tests.validation import rates, truths
from tests.validation.battles import battles
from tests.validation.cases import MODEL, POPULATION, Case
from tests.validation.pairs import many
from tests.validation.pairs import pairs as tests_of_pairs
from tests.validation.rates import Measure, family_error, gates, leaderboard
from tests.validation.retrained import effects, retrained
from tests.validation.truths import Law, Truth, binary, made, normal

Cases = Iterator[Case]
Make = Callable[[], Any]
UNIT = (0.0, 1.0)
SAMPLES = {rates.means: 1000, gates: 1000}
"""Samples of a measure; 500 of those that draw topics, which take long."""
AP, P10, RR = "adhoc8/ap.csv", "adhoc8/p10.csv", "adhoc7/rr.csv"
NDCG, ERR = "syndl-dl2020/nist-nDCG10.csv", "web2012/err20.csv"
ROBUST, NEAR_ONE = "robust2004/ap_249topics.csv", "syndl-dl2020/nist-RR.csv"
REAL = {
    "TREC-8 AP": AP,
    "Robust 2004 AP": ROBUST,
    "DL 2020 nDCG@10": NDCG,
    "Web 2012 ERR@20": ERR,
    "TREC-8 P@10": P10,
    "TREC-7 RR": RR,
    "DL 2020 RR, near 1": NEAR_ONE,
}
LAWS: dict[str, Law] = {
    "0/1, mean .5": binary(0.5),
    "0/1, mean .9": binary(0.9),
    "0/1, mean .97": binary(0.97),
    "0/1, mean .99": binary(0.99),
    "0/1, mean .999": binary(0.999),
    "0/1, mean .02": binary(0.02),
    "P@10, mean .95": truths.graded(0.95),
    "RR, mean .98": truths.reciprocal_rank(0.96),
    "84 % zeros": truths.zero_inflated(0.84),
    "normal, no range": normal(),
    "lognormal, no range": truths.continuous(stats.lognorm(0.8)),
}
CEILING: dict[str, Law] = {
    **{f"0/1, 3 seeds, mean {p:g}": truths.graded(p, 3) for p in (0.9, 0.97, 0.999)},
    "graded, 5 % fail": Law(np.array([0.4, 1.0]), np.array([0.05, 0.95])),
    "graded, 5 % fail, no range": Law(np.array([0.4, 1.0]), np.array([0.05, 0.95]), False),
}
"""Near the end of the range: means over seeds of items of 0 and 1, and scores such as f1."""
ZEROS = LAWS["84 % zeros"]
APART = {
    "equal": np.zeros(30),
    "close": stats.norm.ppf((np.arange(30) + 0.5) / 30) * 0.02,
    "separate": np.arange(30) * 0.15,
}
"""True means of 30 runs less .4; standard deviations over topics are .2."""


def model(truth: str, n: int, make: Make, measure: Measure) -> Case:
    """Return a case of a model."""
    return Case(truth, MODEL, n, make, measure, SAMPLES.get(measure, 500))


def drawn(truth: str, n: int, make: Make, measure: Measure) -> Case:
    """Return a case of topics of a collection."""
    return Case(truth, POPULATION, n, make, measure, SAMPLES.get(measure, 500))


def real(file: str, n: int, runs: int) -> Truth:
    """Return topics of some runs of a collection, drawn with replacement."""
    return truths.population(truths.spread(truths.real_scores(file), runs), n, ends=UNIT)


def same_means(file: str, n: int, runs: int) -> Truth:
    """Return the same of the best half, whose runs are given one mean by powers."""
    scores = truths.levelled(truths.spread(truths.real_scores(file), runs, 0.5))
    return truths.population(scores, n, ends=UNIT)


def changed(kind: Callable[..., Truth], file: str, n: int, runs: int, *arguments: Any) -> Truth:
    """Return the same, changed in some way of `truths`."""
    return kind(truths.spread(truths.real_scores(file), runs), n, *arguments)


def means() -> Cases:
    """Limits of each run by itself."""
    for n in (10, 25, 50, 200, 1000):
        for name, file in REAL.items():
            yield drawn(name, n, partial(real, file, n, 12), rates.means)
        for name, law in (LAWS | CEILING).items():
            yield model(name, n, partial(made, [law] * 12, n), rates.means)


def leader() -> Cases:
    """Limits of whichever run leads, of 30 equal runs."""
    for n, name in product((10, 25, 50, 200), ("TREC-8 AP", "DL 2020 nDCG@10")):
        make = partial(same_means, REAL[name], n, 30)
        yield drawn(f"{name}, equal means", n, make, leaderboard)
    for n in (25, 50, 200):
        make_binary = partial(made, [binary(0.9)] * 30, n)
        yield model("0/1, 30 equal runs of .9", n, make_binary, leaderboard)
    for n, (name, law) in product((25, 50, 200), CEILING.items()):
        yield model(f"{name}, 30 equal runs", n, partial(made, [law] * 30, n), leaderboard)
    for n in (10, 25):
        make_rr = partial(made, [LAWS["RR, mean .98"]] * 30, n)
        yield model("RR, 30 equal runs of .98", n, make_rr, leaderboard)


def sets() -> Cases:
    """Rank sets of equal, close and separate runs, and of real ones."""
    for n, (name, apart) in product((10, 25, 50), APART.items()):
        make = partial(made, [normal(0.4 + each) for each in apart], n)
        yield model(f"normal, 30 {name} runs", n, make, leaderboard)
    for n, (name, file) in product((25, 50), REAL.items()):
        yield drawn(f"{name}, 30 runs", n, partial(real, file, n, 30), leaderboard)


FIELDS: dict[str, Callable[[int], Truth]] = {
    "normal, 20 equal runs": partial(made, [normal()] * 20),
    "normal, one run varies 7 times as much": partial(made, [normal(0.4, 1.4), *[normal()] * 19]),
    "normal, near copies in fives": partial(made, [normal()] * 20, family=5),
    "0/1, 20 equal runs of .8": partial(made, [binary(0.8)] * 20),
    "0/1 of .8, near copies in fives": partial(made, [binary(0.8)] * 20, family=5),
    "84 % zeros, 20 equal runs": partial(made, [ZEROS] * 20),
}
"""Runs of one mean."""


def maxt() -> Cases:
    """Family-wise error of tests of all pairs."""
    for (name, make), n in product(FIELDS.items(), (10, 25, 50)):
        yield model(name, n, partial(make, n), family_error)
    files = {name: REAL[name] for name in ("TREC-8 AP", "TREC-8 P@10", "TREC-7 RR")}
    files |= {"Web 2012 ERR@20": ERR, "Web 2014 ERR@20": "web2014/err20.csv"}
    for name, file in files.items():
        for n in (25, 50):
            moved = partial(changed, truths.population, file, n, 20, True)
            yield drawn(f"{name}, moved to mean 0", n, moved, family_error)
        exchanged = partial(changed, truths.exchanged, file, 50, 20)
        yield drawn(f"{name}, exchanged", 50, exchanged, family_error)


def friedman() -> Cases:
    """Error of mean ranks where runs are exchangeable, and where only their means are equal."""
    for (name, make), n in product(FIELDS.items(), (4, 10, 50)):
        yield model(name, n, partial(make, n), rates.mean_ranks)
    for name, n in product(("TREC-8 AP", "TREC-8 P@10", "TREC-7 RR"), (4, 10, 50)):
        shuffled = partial(changed, truths.shuffled, REAL[name], n, 20)
        yield drawn(f"{name}, shuffled", n, shuffled, rates.mean_ranks)
    for n in (10, 25, 50):
        equal = partial(same_means, REAL["TREC-8 AP"], n, 20)
        yield drawn("TREC-8 AP, equal means", n, equal, rates.mean_ranks)


def of_sizes(make: Callable[[int, int], Truth], sizes: Sequence[int]) -> list[Truth]:
    """Return the truths of the collections of a board."""
    return [make(k, n) for k, n in enumerate(sizes)]


def board() -> Cases:
    """Weighted means over five collections of 20 to 400 topics, 12 runs."""
    sizes = [20, 42, 89, 189, 400]
    files = [f"{name}/ap.csv" for name in ("adhoc6", "adhoc8", "web2011", "web2013", "adhoc7")]
    better = np.linspace(0.55, 0.65, 12)
    kinds: dict[str, tuple[Callable[..., Case], Callable[[int, int], Truth]]] = {
        "0/1, equal means": (model, lambda k, n: made([binary(0.6 + 0.05 * k)] * 12, n)),
        "0/1": (model, lambda k, n: made([binary(p + 0.05 * k) for p in better], n)),
        "AP, equal means": (drawn, lambda k, n: same_means(files[k], n, 12)),
        "AP": (drawn, lambda k, n: real(files[k], n, 12)),
    }
    for name, (kind, make) in kinds.items():
        makes = partial(of_sizes, make, sizes)
        yield kind(f"5 collections, {name}", sum(sizes), makes, rates.boards)


def pairs(file: str, n: int) -> list[Truth]:
    """Return five pairs of neighbours among 12 runs of a collection; the first is worse."""
    scores = truths.spread(truths.real_scores(file), 12)
    apart = np.flatnonzero(-np.diff(scores.mean(axis=1)) > 0.005)[:5]
    return [truths.population(scores[[k + 1, k]], n, ends=UNIT) for k in apart]


def alike(file: str, n: int) -> list[Truth]:
    """Return five pairs of equal runs: their scores are exchanged at random on each topic."""
    scores = truths.spread(truths.real_scores(file), 12)
    return [truths.exchanged(scores[k : k + 2], n, UNIT) for k in range(0, 10, 2)]


def changes(
    lost: float,
    gained: float,
    size: float,
    topics: int | list[int],
    noise: float = 0.0,
    flips: float = 0.0,
) -> list[Truth]:
    """Return a pair of runs: the first is worse by a size on some topics, better on others.

    lost, gained: Shares of topics, or of groups of them.
    size: 1 of scores 0 and 1.
    noise: Largest difference elsewhere.
    flips: Share of scores 0 and 1 that a seed turns round; scores are means over three seeds.
    """
    sizes = np.ones(topics, int) if isinstance(topics, int) else np.asarray(topics)
    group = np.repeat(np.arange(len(sizes)), sizes)
    named = group if len(sizes) < len(group) else None
    means = np.array([0.5 - size * (lost - gained) * (1 - 2 * flips), 0.5])

    def draw(chance: np.random.Generator) -> truths.Sample:
        u = chance.random(len(sizes))[group]
        worse, better = u < lost, u > 1 - gained
        # What is lost was there; what is gained was not.
        right = (chance.random(len(group)) < 0.5) & ~better | worse
        base = right * 1.0 if size == 1 else chance.uniform(size, 1 - size, len(group))
        run = base + size * (better * 1.0 - worse)
        if noise:
            run = run + noise * chance.uniform(-1, 1, len(group))
        scores = np.array([run, base])
        if flips:
            turned = chance.random((3, *scores.shape)) < flips
            scores = np.abs(scores - turned).mean(axis=0)
        return truths.Sample(scores, means, named, UNIT)

    return [draw]


def gate() -> Cases:
    """Verdicts with a loss of the margin (a pass is false), or with equal means (a fail is)."""
    kinds = {
        "0/1, 5 % lost": (0.05, 0.0, 1.0),
        "0/1, 2 % lost": (0.02, 0.0, 1.0),
        "0/1, 10 % lost, 5 % gained": (0.10, 0.05, 1.0),
        "0/1, 5 % lost and gained": (0.05, 0.05, 1.0),
        "graded, rare drops of .25": (0.05, 0.0, 0.25),
    }
    for (name, change), n in product(kinds.items(), (25, 50, 200, 1000)):
        yield model(name, n, partial(changes, *change, n), gates)
    for n, flips in product((25, 50, 200, 1000, 5000), (0.01, 0.1)):
        seeds = partial(changes, 0.03, 0.0, 1.0, n, flips=flips)
        yield model(f"0/1, 3 seeds that turn {flips:.0%}, 3 % lost", n, seeds, gates)
    for n in (10, 25, 50):
        tiny = partial(changes, 0.05, 0.0, 0.25, n, 0.0005)
        yield model("graded, rare drops of .25, tiny changes elsewhere", n, tiny, gates)
    chosen = ("TREC-8 AP", "TREC-8 P@10", "DL 2020 RR, near 1")
    for n, name, (make, kind) in product(
        (10, 25, 50, 200), chosen, ((pairs, "5 pairs"), (alike, "5 equal pairs"))
    ):
        yield Case(f"{name}, {kind}", POPULATION, n, partial(make, REAL[name], n), gates, 200)


def groups() -> Cases:
    """Topics in groups: half of them of one topic, half of nine."""
    laws = {"normal": normal(), "0/1 of .8": binary(0.8), "84 % zeros": ZEROS}
    for n, (name, law), within in product((10, 25, 50), laws.items(), (0.3, 0.6)):
        make = partial(made, [law] * 12, truths.unequal_sizes(n), within=within)
        for measure in (rates.means, family_error):
            yield model(f"{name}, correlation {within}", n, make, measure)
    for n, (equal, measure) in product((10, 25), ((False, rates.means), (True, family_error))):
        likely = partial(changed, truths.grouped_population, ROBUST, n, 12, 5, equal)
        yield drawn("Robust 2004 AP, grouped by likeness", n, likely, measure)
    for n, gained in product((25, 100), (0.0, 0.05)):
        pair = partial(changes, 0.05, gained, 1.0, truths.unequal_sizes(n))
        yield model(f"0/1, 5% of groups lost, {gained:.0%} gained", n, pair, gates)


def bags() -> Cases:
    """20,000 topics, which are put into 1,000 bags; 12 runs, near copies in threes."""
    n = 20_000
    laws = {"0/1 of .8": binary(0.8), "0/1 of .99": binary(0.99), "84 % zeros": ZEROS}
    for name, law in laws.items():
        make = partial(made, [law] * 12, n, family=3)
        yield Case(f"{name}, near copies in threes", MODEL, n, make, leaderboard, 400)
    for lost, gained in ((0.002, 0.0), (0.02, 0.01), (0.0002, 0.0)):
        pair = partial(changes, lost, gained, 1.0, n)
        yield Case(f"0/1, {lost:.2%} lost, {gained:.2%} gained", MODEL, n, pair, gates, 400)


PARTS: dict[str, Callable[[], Cases]] = {
    **{each.__name__: each for each in (means, leader, sets, maxt, friedman, board, gate, many)},
    "retrained": retrained,
    "pairs": tests_of_pairs,
    "effects": effects,
    "battles": battles,
    **{each.__name__: each for each in (groups, bags)},
}
