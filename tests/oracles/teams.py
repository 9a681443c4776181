"""Leaving out teams in plain Python (Sakai and Shang 2016, S3 section 5; SPEC B.7): judgements are rewritten, runs evaluated again.

Nothing is shared with the package. A collection is dictionaries of lists; removed documents are taken out of the judgements, which
makes them unjudged, and every remaining run is scored anew by the plain metrics.
"""

from __future__ import annotations

import gzip
import math
import re
from collections.abc import Collection as Some
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from tests.oracles.metrics import oracle

Qrels = Mapping[str, Mapping[str, int]]
"""Topic -> document -> level."""
Cells = Mapping[str, Mapping[str, float]]
"""Run -> topic -> score; NaN where the topic has no relevant document."""


@dataclass(frozen=True)
class Collection:
    """Runs, judgements and teams."""

    lists: Mapping[str, Mapping[str, Sequence[str]]]
    """Run -> topic -> documents in ranked order."""
    qrels: Qrels
    team_of: Mapping[str, str]

    @property
    def teams(self) -> list[str]:
        """All teams, sorted."""
        return sorted(set(self.team_of.values()))

    @property
    def n_levels(self) -> int:
        """Number of relevant levels; that of all judgements, also when some are taken out."""
        return max(max(documents.values(), default=0) for documents in self.qrels.values())

    def runs_without(self, removed: Some[str]) -> list[str]:
        """Return the runs of the other teams, sorted."""
        return sorted(run for run in self.lists if self.team_of[run] not in removed)

    def contributors(self, depth: int) -> dict[tuple[str, str], set[str]]:
        """Return the teams that put each document into the pool: those with a run that has it among its first `depth`."""
        found: dict[tuple[str, str], set[str]] = {}
        for run, by_topic in self.lists.items():
            for topic, documents in by_topic.items():
                for document in documents[:depth]:
                    found.setdefault((topic, document), set()).add(self.team_of[run])
        return found

    def qrels_without(
        self, removed: Some[str], depth: int, keep_unpooled: bool = True
    ) -> dict[str, dict[str, int]]:
        """Return the judgements without the unique contributions of teams."""
        pool = self.contributors(depth)

        def stays(topic: str, document: str) -> bool:
            teams = pool.get((topic, document), set())
            return bool(teams - set(removed)) if teams else keep_unpooled

        return {
            topic: {
                document: level for document, level in documents.items() if stays(topic, document)
            }
            for topic, documents in self.qrels.items()
        }

    def evaluate(
        self, runs: Sequence[str], qrels: Qrels, metric: str, gains: Sequence[float]
    ) -> Cells:
        """Score runs by judgements; `metric` is as the package names it, `gains` are those of level 0, 1, ..."""
        shape = re.fullmatch(r"([\w+-]+?)(?:\(rel=(\d+)\))?(?:@(\d+))?", metric)
        assert shape is not None, metric
        name, rel, cutoff = shape[1], int(shape[2] or 1), int(shape[3] or 0)
        found: dict[str, dict[str, float]] = {run: {} for run in runs}
        for topic, level_of in qrels.items():
            levels = [level for level in level_of.values() if level >= 0]
            judged = [levels.count(level) for level in range(self.n_levels + 1)]
            for run in runs:
                ranked = [level_of.get(document, -1) for document in self.lists[run].get(topic, ())]
                found[run][topic] = oracle(name, ranked, judged, gains, cutoff, rel)
        return found


@dataclass(frozen=True)
class Trial:
    """What is left of a collection when some teams are left out, by one metric."""

    scores: Cells
    """Run -> kept topic -> score."""
    topics: Sequence[str]

    @property
    def n_runs(self) -> int:
        """Number of remaining runs."""
        return len(self.scores)

    @property
    def means(self) -> dict[str, float]:
        """Mean of each remaining run over the kept topics; NaN for none."""
        return {
            run: mean([by_topic[topic] for topic in self.topics])
            for run, by_topic in self.scores.items()
        }

    def variance(self, topics: Sequence[str] | None = None) -> float:
        """Return the within-system variance over the kept topics, or over some of them (S3 equation 1)."""
        chosen = self.topics if topics is None else topics
        if len(chosen) < 2 or not self.scores:
            return math.nan
        squares = Fraction(0)
        for by_topic in self.scores.values():
            row = [Fraction(by_topic[topic]) for topic in chosen]
            centre = sum(row, Fraction(0)) / len(row)
            squares += sum(((score - centre) ** 2 for score in row), Fraction(0))
        return float(squares / (len(self.scores) * (len(chosen) - 1)))

    def reduced(self, order: Sequence[str], wanted: int) -> list[str]:
        """Return the first topics of a given order that are kept, as many as wanted; none if fewer are left."""
        kept = [topic for topic in order if topic in set(self.topics)]
        return kept[:wanted] if len(kept) >= wanted else []


def kept_topics(scores: Cells, lost: str = "no_relevant_left") -> list[str]:
    """Return the topics that are not lost: those with something relevant left; by the other rule those with a score that is not 0."""
    kept = []
    for topic in sorted(next(iter(scores.values()))):
        of_topic = [by_topic[topic] for by_topic in scores.values()]
        if any(math.isnan(score) for score in of_topic):
            continue
        if lost == "no_relevant_left" or any(score != 0 for score in of_topic):
            kept.append(topic)
    return kept


def leave_out(
    collection: Collection,
    removed: Some[str],
    metric: str,
    gains: Sequence[float],
    *,
    depth: int,
    keep_unpooled: bool = True,
    lost: str = "no_relevant_left",
) -> Trial:
    """Evaluate the runs of all other teams by what is left of the judgements."""
    qrels = collection.qrels_without(removed, depth, keep_unpooled)
    scores = collection.evaluate(collection.runs_without(removed), qrels, metric, gains)
    return Trial(scores, kept_topics(scores, lost))


def leave_out_own(
    collection: Collection,
    team: str,
    metric: str,
    gains: Sequence[float],
    *,
    depth: int,
    keep_unpooled: bool = True,
) -> tuple[Cells, Cells]:
    """Score all runs by all judgements, and by those without a team's unique contributions: what would a newcomer have lost?"""
    runs = sorted(collection.lists)
    reduced = collection.qrels_without({team}, depth, keep_unpooled)
    return tuple(
        collection.evaluate(runs, qrels, metric, gains) for qrels in (collection.qrels, reduced)
    )  # type: ignore[return-value]


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean, exact before it is rounded; NaN for none."""
    return float(sum(map(Fraction, values), Fraction(0)) / len(values)) if values else math.nan


def nearly(a: float, b: float) -> bool:
    """Whether two means differ by rounding only."""
    return abs(a - b) <= 1e-12


def ranks(means: Mapping[str, float]) -> dict[str, int]:
    """1 + the number of better runs."""
    return {
        run: 1 + sum(other > value and not nearly(other, value) for other in means.values())
        for run, value in means.items()
    }


def interval(values: Sequence[float], t_quantile: float) -> tuple[float, float, float]:
    """Return mean and limits over trials: mean -+ t s / sqrt(trials) (SPEC B.7)."""
    centre = sum(values) / len(values)
    if len(values) < 2:
        return centre, math.nan, math.nan
    spread = math.sqrt(sum((value - centre) ** 2 for value in values) / (len(values) - 1))
    half = t_quantile * spread / math.sqrt(len(values))
    return centre, centre - half, centre + half


def preferred_ranks(
    levels: Mapping[str, Sequence[int]],
) -> tuple[str | None, int | None, list[int]]:
    """Return the run with the largest preferred rank on a topic, that rank and the levels down to it (S1 Appendix).

    `levels` are those of each run's documents in ranked order. Of equal ranks the first run by name counts; none where no run
    retrieves anything relevant.
    """
    best: tuple[str | None, int | None, list[int]] = (None, None, [])
    for run in sorted(levels):
        found = list(levels[run])
        if any(level > 0 for level in found):
            rank = found.index(max(found)) + 1
            if rank > (best[1] or 0):
                best = (run, rank, found[:rank])
    return best


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file, plain or gzip."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines()


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read judgements."""
    found: dict[str, dict[str, int]] = {}
    for topic, _, document, level in map(str.split, lines_of(path)):
        found.setdefault(topic, {})[document] = int(level)
    return found


def read_run(path: Path, ranks: int | None = None) -> tuple[str, dict[str, list[str]]]:
    """Read the name and the ranked documents of a run, in the order of the file."""
    found: dict[str, list[str]] = {}
    lines = lines_of(path)
    for line in lines:
        topic, _, document, _ = line.split(maxsplit=3)
        listed = found.setdefault(topic, [])
        if ranks is None or len(listed) < ranks:
            listed.append(document)
    return lines[0].split()[5], found
