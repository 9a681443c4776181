"""Topics left out as S3 section 5.2 does, beside plain Python: ``python -m tests.validation.topics_left_out``.

The collection has the shape of the paper's (44 runs of 16 teams, lists of 10 documents, a pool of depth 10, 100 topics); relevant documents by
topic are those of Sakai 2007 (S1), Tables 7 to 9, the 100 topics with the fewest, and rankings are simulated. Each trial removes topics of its own
matrix, after teams and topics are gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import xarray as xr

import scorecube as sc
from scorecube.collection.pools import build_pools
from scorecube.ingest.published import ntcir_clir
from scorecube.metrics import gain_values
from scorecube.testing import simulate_rankings
from tests.oracles import teams as plain

METRICS = ("nG@1", "P+", "nDCG@10")
ROWS = (("nG@1", 1), ("P+", 1), ("nDCG@10", 8), ("nG@1", 15))
"""Metric and number of teams left out."""
WANTED, TRIALS, SEED = 10, 10, 2016
T_QUANTILE = 2.262157
"""0.975 quantile of Student's t with 9 degrees of freedom."""


class Row(NamedTuple):
    """Half-widths of the interval of the variance, and the trials behind it."""

    metric: str
    left_out: int
    own: float
    plain: float
    """As `own`, in plain Python."""
    difference: float
    """Largest of the variances of trials, from plain Python."""
    survivors: tuple[int, int]
    """Fewest and most topics that a trial keeps of all."""
    trials: int
    """Trials with enough topics."""


def judge_pools(rankings: xr.Dataset, depth: int) -> xr.Dataset:
    """Return rankings of which only documents within a depth are judged, and those that are relevant."""
    words, levels = build_pools(rankings, depth).bits, rankings["level_of_document"].values
    judged = words.any(axis=-1) | (levels > 0)
    number = np.where(judged, np.cumsum(judged, axis=1) - 1, -1)
    documents = rankings["document_at_rank"].values
    found = np.take_along_axis(
        np.broadcast_to(number, (len(documents), *number.shape)), documents, axis=2
    )
    fewer = np.full((len(levels), int(judged.sum(axis=1).max())), -1, np.int8)
    rows, columns = np.nonzero(judged)
    fewer[rows, number[rows, columns]] = levels[rows, columns]
    n_judged = np.stack(
        [(fewer == level).sum(axis=1) for level in rankings["level"].values], axis=1
    )
    return rankings.drop_dims("document").assign(
        document_at_rank=(documents_dims := rankings["document_at_rank"].dims, found.astype(np.int32)),
        level_at_rank=(documents_dims, np.where(found >= 0, rankings["level_at_rank"].values, -1).astype(np.int8)),
        level_of_document=(("topic", "document"), fewer), n_judged=(("topic", "level"), n_judged),
    )  # fmt: skip


def rankings() -> xr.Dataset:
    """Return the simulated collection."""
    judged = np.concatenate([counts for _, counts in ntcir_clir().values()])
    fewest = np.sort(np.argsort(judged.sum(axis=1), kind="stable")[:100])
    return judge_pools(
        simulate_rankings(judged[fewest], n_runs=44, n_teams=16, depth=10, seed=SEED), 10
    )


def as_plain(found: xr.Dataset) -> plain.Collection:
    """Return rankings as dictionaries; documents are numbered, those that were not judged by run and rank."""
    documents, levels = found["document_at_rank"].values, found["level_of_document"].values
    runs, topics = (list(map(str, found[dim].values)) for dim in ("run", "topic"))
    lists = {
        run: {
            topic: [f"d{d}" if d >= 0 else f"u{i}-{r}" for r, d in enumerate(documents[i, k])]
            for k, topic in enumerate(topics)
        }
        for i, run in enumerate(runs)
    }
    qrels = {
        topic: {f"d{d}": int(level) for d, level in enumerate(levels[k]) if level >= 0}
        for k, topic in enumerate(topics)
    }
    owners = map(str, found["team"].values)
    return plain.Collection(lists, qrels, dict(zip(runs, owners, strict=True)))


def rows(which: tuple[tuple[str, int], ...] = ROWS) -> Iterator[Row]:
    """Yield the rows of the page, each compared with plain Python trial by trial."""
    found = rankings()
    cube, collection = (
        sc.with_rankings(sc.evaluate(found, METRICS, ["auto"]), found),
        as_plain(found),
    )
    topics, gains = list(map(str, cube["topic"].values)), gain_values("auto", 3).tolist()
    analysis = sc.Teams(pool_depth=10, topic_sizes=(75, 50, 25, WANTED))
    result = sc.analyse(cube, analysis, trials=TRIALS, seed=SEED, workers=1).isel(gain=0)
    for metric, k in which:
        own = result.sel(metric=metric, leave=k)
        of_step = own.isel(topic_step=-1)
        variances, survivors = [], []
        for trial in range(TRIALS):
            removed = {
                str(team)
                for team, gone in zip(
                    own["team"].values, own["team_left_out"].isel(trial=trial).values, strict=True
                )
                if gone
            }
            left = plain.leave_out(collection, removed, metric, gains, depth=10)
            order = [
                topics[place] for place in np.argsort(own["topic_place"].isel(trial=trial).values)
            ]
            survivors.append(len(left.topics))
            variances.append(left.variance(left.reduced(order, WANTED)))
        half = T_QUANTILE * np.std(variances, ddof=1) / TRIALS**0.5
        yield Row(
            metric,
            k,
            own=float(of_step["variance_high"] - of_step["variance_low"]) / 2,
            plain=float(half),
            difference=float(np.abs(of_step["variance"].values - variances).max()),
            survivors=(min(survivors), max(survivors)),
            trials=int(of_step["n_trials"]),
        )


def main() -> None:
    """Print the rows."""
    print("metric   k  own chains  plain Python  largest difference  topics  trials")
    for row in rows():
        print(
            f"{row.metric:7} {row.left_out:2}  {row.own:10.4f}  {row.plain:12.4f}  {row.difference:18.1e}"
            f"  {row.survivors[0]} to {row.survivors[1]}  {row.trials} of {TRIALS}"
        )


if __name__ == "__main__":
    main()
