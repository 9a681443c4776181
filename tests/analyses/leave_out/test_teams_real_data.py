"""Leaving teams out of a real collection: NIST's reference of removed documents."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import pytest

import scorecube as sc
from scorecube.collection.pools import build_pools
from tests.oracles import teams as plain

pytestmark = [pytest.mark.data, pytest.mark.slow]


def read_teams(folder: Path) -> dict[str, str]:
    with (folder / "teams.csv").open(newline="") as file:
        return {row["run"]: row["team"] for row in csv.DictReader(file)}


def documents_removed(folder: Path) -> dict[str, set[tuple[str, str, int]]]:
    """Return NIST's reference: team -> topic, document and level of what is missing from the judgements without it."""
    text = gzip.decompress(
        (folder / "depth10" / "removed-when-team-left-out.csv.gz").read_bytes()
    ).decode()
    found: dict[str, set[tuple[str, str, int]]] = {}
    for row in csv.DictReader(io.StringIO(text)):
        found.setdefault(row["left_out_team"], set()).add(
            (row["topic"], row["doc"], int(row["rel"]))
        )
    return found


def removed(
    folder: Path, qrels: Path, depth: int, order: str = "score-stable"
) -> dict[str, set[tuple[str, str, int]]]:
    """Return the same, as the package finds it."""
    rankings = sc.read_rankings(folder / "runs", qrels, folder / "teams.csv", order=order)
    pools = build_pools(rankings, depth)
    # Documents of a topic are numbered in the order of their ids.
    documents = {
        topic: sorted(levels, key=str.encode) for topic, levels in plain.read_qrels(qrels).items()
    }
    topics = list(map(str, rankings["topic"].values))
    by_team = np.unpackbits(pools.bits, axis=-1, count=len(pools.teams))
    unique = np.where(by_team.sum(axis=-1) == 1, by_team.argmax(axis=-1), -1)
    found: dict[str, set[tuple[str, str, int]]] = {}
    for topic, document in np.argwhere(unique >= 0).tolist():
        where = topics[topic], documents[topics[topic]][document]
        team = pools.teams[unique[topic, document]]
        found.setdefault(team, set()).add((*where, int(pools.levels[topic, document])))
    return found


def test_documents_removed_from_a_depth_10_pool_are_those_of_nist(data: Path) -> None:
    folder = data / "trec8-adhoc"
    expected = documents_removed(folder)
    assert sum(map(len, expected.values())) == 8957
    found = removed(folder, folder / "depth10" / "depth10.qrels.txt.gz", 10)
    assert set(expected) <= set(read_teams(folder).values())
    assert found == expected
