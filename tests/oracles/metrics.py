"""Every metric in plain Python, written from the papers: exact fractions where the definition is rational.

S0 = Sakai 2005 (topic sampling), S1 = Sakai 2007 (finding one highly relevant document), S4 = Sakai 2004 (appendix on
Q-measure and R-measure). Ranks run from 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Number = Fraction | float
UNLIMITED = 10**9


@dataclass(frozen=True)
class Topic:
    """One ranked list beside the ideal one, with documents below `rel` already not relevant."""

    listed: Sequence[int]
    """Level at each rank as far as the cut-off lets one look; 0 for not relevant, -1 for unjudged."""
    ideal: Sequence[int]
    """Levels of all relevant documents, highest first."""
    gain_of: Sequence[Number]
    limit: int
    """The cut-off, or a rank that no list reaches."""
    n_nonrelevant: int
    """N: documents judged not relevant."""

    def g(self, rank: int) -> Number:
        """g(r): gain at a rank, 0 where nothing relevant stands there, also behind the end."""
        level = self.listed[rank - 1] if rank <= len(self.listed) else 0
        return self.gain_of[level] if level > 0 else 0

    def count(self, rank: int) -> int:
        """count(r): relevant documents down to a rank."""
        return len([level for level in self.listed[:rank] if level > 0])

    def cg(self, rank: int) -> Number:
        """cg(r): cumulative gain of the list."""
        return sum((self.g(r) for r in range(1, rank + 1)), Fraction(0))

    def cg_ideal(self, rank: int) -> Number:
        """cg_I(r): cumulative gain of the ideal list, flat beyond R."""
        return sum((self.gain_of[level] for level in self.ideal[:rank]), Fraction(0))

    def blended_ratio(self, rank: int) -> Number:
        """BR(r), S1 eq 2."""
        return (self.cg(rank) + self.count(rank)) / (self.cg_ideal(rank) + rank)

    def weighted_precision(self, rank: int) -> Number:
        """WP(r) = cg(r) / cg_I(r), S1 below eq 2."""
        return ratio(self.cg(rank), self.cg_ideal(rank))

    @property
    def n_relevant(self) -> int:
        """R, the number of relevant documents."""
        return len(self.ideal)

    @property
    def relevant_ranks(self) -> list[int]:
        """Ranks with isrel(r) = 1."""
        return [rank for rank, level in enumerate(self.listed, start=1) if level > 0]

    @property
    def preferred_rank(self) -> int:
        """r_p: first rank of the highest level in the list, S1 section 3.3; the list must hold something relevant."""
        return self.listed.index(max(self.listed)) + 1


def ratio(achieved: Number, ideal: Number) -> Number:
    """Achieved over ideal; 0 where no document has a gain, as in trec_eval's ndcg."""
    return achieved / ideal if ideal > 0 else 0


def average_precision(topic: Topic) -> Number:
    """S1 eq 1; normalised by min(l, R) at a cut-off l, as NTCIREVAL does."""
    precisions = [Fraction(topic.count(rank), rank) for rank in topic.relevant_ranks]
    return sum(precisions, Fraction(0)) / min(topic.limit, topic.n_relevant)


def precision(topic: Topic) -> Number:
    """Relevant documents among the first l ranks over l, however short the list (trec_eval's P_l)."""
    return Fraction(topic.count(topic.limit), topic.limit)


def r_precision(topic: Topic) -> Number:
    """count(R) / R, S0 section 4.1."""
    return Fraction(topic.count(topic.n_relevant), topic.n_relevant)


def reciprocal_rank(topic: Topic) -> Number:
    """1 / r_1, S1 section 1."""
    return Fraction(1, topic.relevant_ranks[0]) if topic.relevant_ranks else 0


def recall(topic: Topic) -> Number:
    """count(l) / R, trec_eval's recall_l."""
    return Fraction(topic.count(topic.limit), topic.n_relevant)


def hit(topic: Topic) -> Number:
    """1 with a relevant document in the top l (NQcorrect of one question, S0 section 4.3)."""
    return int(topic.count(topic.limit) > 0)


def q_measure(topic: Topic) -> Number:
    """S1 section 3.1, the unnumbered formula above eq 2; normalised like average precision."""
    ratios = [topic.blended_ratio(rank) for rank in topic.relevant_ranks]
    return sum(ratios, Fraction(0)) / min(topic.limit, topic.n_relevant)


def r_measure(topic: Topic) -> Number:
    """BR(R), S4 eq 16."""
    return topic.blended_ratio(topic.n_relevant)


def average_weighted_precision(topic: Topic) -> Number:
    """S4: sum of isrel(r) WP(r) over R; normalised like Q at a cut-off."""
    ratios = [topic.weighted_precision(rank) for rank in topic.relevant_ranks]
    return sum(ratios, Fraction(0)) / min(topic.limit, topic.n_relevant)


def r_weighted_precision(topic: Topic) -> Number:
    """S4: WP(R)."""
    return topic.weighted_precision(topic.n_relevant)


def o_measure(topic: Topic) -> Number:
    """S1 eq 3, its right-hand side."""
    if not topic.relevant_ranks:
        return 0
    first = topic.relevant_ranks[0]
    return (topic.g(first) + 1) / (topic.cg_ideal(first) + first)


def p_measure(topic: Topic) -> Number:
    """BR(r_p), S1 eq 6."""
    return topic.blended_ratio(topic.preferred_rank) if topic.relevant_ranks else 0


def p_plus(topic: Topic) -> Number:
    """S1 eq 7."""
    if not topic.relevant_ranks:
        return 0
    ratios = [
        topic.blended_ratio(rank) for rank in topic.relevant_ranks if rank <= topic.preferred_rank
    ]
    return sum(ratios, Fraction(0)) / topic.count(topic.preferred_rank)


def penalty(topic: Topic, level: int, beta: Sequence[float]) -> Fraction:
    """beta(L): given highest level first, or 2, 3, 4, ... from the highest level of the collection (S1 section 3.2)."""
    place = len(topic.gain_of) - 1 - level
    return Fraction(beta[place]) if beta else Fraction(2 + place)


def weighted_reciprocal_rank(topic: Topic, beta: Sequence[float] = ()) -> Number:
    """S1 eq 4."""
    if not topic.relevant_ranks:
        return 0
    first = topic.relevant_ranks[0]
    return 1 / (first - 1 / penalty(topic, topic.listed[first - 1], beta))


def normalised_weighted_reciprocal_rank(topic: Topic, beta: Sequence[float] = ()) -> Number:
    """S1 eq 5: WRR over its upper bound, 1 / (1 - 1 / beta(M)), M the topic's highest level."""
    return weighted_reciprocal_rank(topic, beta) * (1 - 1 / penalty(topic, topic.ideal[0], beta))


def ncg(topic: Topic) -> Number:
    """cg(l) / cg_I(l) (Jarvelin and Kekalainen 2002)."""
    return topic.weighted_precision(topic.limit)


def ancg(topic: Topic) -> Number:
    """Mean of nCG over the ranks 1 to l."""
    return (
        sum((topic.weighted_precision(rank) for rank in range(1, topic.limit + 1)), Fraction(0))
        / topic.limit
    )


def normalised_gain(topic: Topic) -> Number:
    """g(l) / g_I(l); NTCIREVAL's nG@1 for l = 1."""
    at_rank, ideal_at_rank = (
        topic.gain_of[levels[topic.limit - 1]]
        if len(levels) >= topic.limit and levels[topic.limit - 1] > 0
        else 0
        for levels in (topic.listed, topic.ideal)
    )
    return ratio(at_rank, ideal_at_rank)


def dcg(topic: Topic, levels: Sequence[int], b: float | None, form: str = "linear") -> float:
    """Discount log2(r + 1); with b none up to rank b, then log_b(r) (Jarvelin and Kekalainen 2002).

    A base of 0 is the natural logarithm from rank 2 on, as in NTCIREVAL.
    """

    def divisor(rank: int) -> float:
        if b is None:
            return math.log2(rank + 1)
        if b == 0:
            return 1.0 if rank == 1 else math.log(rank)
        return 1.0 if rank <= b else math.log(rank, b)

    pairs = enumerate(levels, start=1)

    def gain(level: int) -> float:
        value = float(topic.gain_of[level])
        return value if form == "linear" else 2**value - 1

    return math.fsum(gain(level) / divisor(rank) for rank, level in pairs if level > 0)


def ndcg(topic: Topic, b: float | None = None, form: str = "linear") -> Number:
    """DCG at l over that of the ideal list; form exp2: gains of 2^g - 1 (Burges et al. 2005)."""
    ideal = dcg(topic, topic.ideal[: topic.limit], b, form)
    return ratio(dcg(topic, topic.listed, b, form), ideal)


def andcg(topic: Topic, b: float | None = None) -> Number:
    """Mean of nDCG over the ranks 1 to l."""
    ranks = range(1, topic.limit + 1)
    return (
        math.fsum(
            ratio(dcg(topic, topic.listed[:r], b), dcg(topic, topic.ideal[:r], b)) for r in ranks
        )
        / topic.limit
    )


def stop_probability(topic: Topic, level: int, form: str, largest_level: float) -> Number:
    """R of a level: g / (g_max + 1) in NTCIREVAL, (2^g - 1) / 2^max in Chapelle et al. 2009 and gdeval (max 4)."""
    if level <= 0:
        return 0
    gain, largest = topic.gain_of[level], topic.gain_of[-1]
    return gain / (largest + 1) if form == "linear" else (2 ** float(gain) - 1) / 2**largest_level


def cascade(topic: Topic, levels: Sequence[int], form: str, largest: float) -> Number:
    """Sum over ranks of 1/r times the probability to stop there (Chapelle et al. 2009)."""
    stops = [float(stop_probability(topic, level, form, largest)) for level in levels]
    terms = (
        math.prod(1 - earlier for earlier in stops[:k]) * stop / (k + 1)
        for k, stop in enumerate(stops)
    )
    return math.fsum(terms)


def err(topic: Topic, form: str = "linear", max: float = 4.0) -> Number:  # noqa: A002
    """Expected reciprocal rank."""
    return cascade(topic, topic.listed, form, max)


def nerr(topic: Topic, form: str = "linear", max: float = 4.0) -> Number:  # noqa: A002
    """ERR over the ERR of the ideal list, cut off at the same rank."""
    return ratio(
        cascade(topic, topic.listed, form, max),
        cascade(topic, topic.ideal[: topic.limit], form, max),
    )


def rank_biased_precision(topic: Topic, p: float = 0.95) -> Number:
    """(1 - p) times the sum of g(r) / g_max p^(r - 1) (Moffat and Zobel 2008; graded as in NTCIREVAL)."""
    terms = [float(topic.g(rank)) * p ** (rank - 1) for rank in topic.relevant_ranks]
    return ratio((1 - p) * math.fsum(terms), float(topic.gain_of[-1]))


def bpref(topic: Topic) -> Number:
    """Mean over R of 1 - min(n, R) / min(R, N), n non-relevant documents above (trec_eval)."""
    r, n = topic.n_relevant, topic.n_nonrelevant
    above = [topic.listed[: rank - 1].count(0) for rank in topic.relevant_ranks]
    return sum((1 - Fraction(min(k, r), min(r, n)) if k else 1 for k in above), 0) / Fraction(r)


def bpref_r(topic: Topic) -> Number:
    """Mean over R of 1 - min(n, R) / R (Buckley and Voorhees 2004)."""
    r = topic.n_relevant
    above = [topic.listed[: rank - 1].count(0) for rank in topic.relevant_ranks]
    return sum((1 - Fraction(min(k, r), r) for k in above), Fraction(0)) / r


def bpref_n(topic: Topic) -> Number:
    """Mean over R of 1 - n / N."""
    above = [topic.listed[: rank - 1].count(0) for rank in topic.relevant_ranks]
    kept = [1 - Fraction(k, topic.n_nonrelevant) if k else 1 for k in above]
    return sum(kept, Fraction(0)) / topic.n_relevant


def cumulative_utility(
    topic: Topic, stops: Sequence[Number], of_ideal: Sequence[Number], nu: str
) -> Number:
    """Utility at relevant ranks times the probability to stop there (Sakai and Robertson 2008).

    stops, of_ideal: Stop values of the relevant documents of the list, and of the best list.
    """
    utilities = [
        topic.blended_ratio(rank) if nu == "BR" else Fraction(topic.count(rank), rank)
        for rank in topic.relevant_ranks
    ]
    terms = [stop * utility for stop, utility in zip(stops, utilities, strict=True)]
    return ratio(sum(terms, Fraction(0)), sum(of_ideal, Fraction(0)))


def ncu_graded_uniform(topic: Topic, nu: str = "BR") -> Number:
    """Stop values are gains."""
    best = [topic.gain_of[level] for level in topic.ideal[: topic.limit]]
    return cumulative_utility(topic, [topic.g(rank) for rank in topic.relevant_ranks], best, nu)


def ncu_rank_biased(topic: Topic, nu: str = "BR", gamma: float = 0.95) -> Number:
    """Stop values fall by gamma with every relevant document."""
    share = Fraction(gamma)
    powers = [share**k for k in range(max(len(topic.listed), topic.n_relevant))]
    found = powers[: len(topic.relevant_ranks)]
    return cumulative_utility(topic, found, powers[: min(topic.limit, topic.n_relevant)], nu)


def graded_average_precision(topic: Topic) -> Number:
    """Robertson, Kanoulas and Yilmaz 2010, as they write it: pairs of relevant documents of the list.

    The users to whom both are relevant are those of the lower level; their share is its gain.
    """
    terms = [
        topic.gain_of[min(topic.listed[m - 1], topic.listed[n - 1])] / Fraction(n)
        for n in topic.relevant_ranks
        for m in topic.relevant_ranks
        if m <= n
    ]
    best = [topic.gain_of[level] for level in topic.ideal[: topic.limit]]
    return ratio(sum(terms, Fraction(0)), sum(best, Fraction(0)))


ORACLES: Mapping[str, Callable[..., Number]] = {
    "AP": average_precision,
    "P": precision,
    "Recall": recall,
    "Hit": hit,
    "Rprec": r_precision,
    "RR": reciprocal_rank,
    "Q": q_measure,
    "Rmeasure": r_measure,
    "AWP": average_weighted_precision,
    "RWP": r_weighted_precision,
    "O": o_measure,
    "P-measure": p_measure,
    "P+": p_plus,
    "WRR": weighted_reciprocal_rank,
    "NWRR": normalised_weighted_reciprocal_rank,
    "nCG": ncg,
    "AnCG": ancg,
    "nG": normalised_gain,
    "nDCG": ndcg,
    "AnDCG": andcg,
    "ERR": err,
    "nERR": nerr,
    "RBP": rank_biased_precision,
    "bpref": bpref,
    "bpref_R": bpref_r,
    "bpref_N": bpref_n,
    "NCUgu": ncu_graded_uniform,
    "NCUrb": ncu_rank_biased,
    "GAP": graded_average_precision,
}


def oracle(
    name: str,
    levels: Sequence[int],
    judged: Sequence[int],
    gains: Sequence[float],
    cutoff: int = 0,
    rel: int = 1,
    **parameters: Any,
) -> float:
    """Score one list; NaN where the topic has no relevant document.

    Parameters
    ----------
    levels
        Level at each rank; -1 for unjudged.
    judged, gains
        Number of documents judged at each level, and the gain of each level, from level 0.
    cutoff
        The ``@k``; 0 for none.
    rel
        Lowest level that counts as relevant.
    """
    ideal = [level for level in range(len(judged) - 1, rel - 1, -1) for _ in range(judged[level])]
    if not ideal:
        return math.nan
    limit = cutoff or UNLIMITED
    listed = [0 if 0 < level < rel else level for level in levels[:limit]]
    topic = Topic(listed, ideal, [Fraction(gain) for gain in gains], limit, sum(judged[:rel]))
    return float(ORACLES[name](topic, **parameters))
