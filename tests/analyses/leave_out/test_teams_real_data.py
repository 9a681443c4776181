"""Leaving teams out of real collections: NIST's reference of removed documents, and plain Python and rewritten files as oracles."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.teams import Teams
from scorecube.collection.pools import build_pools
from scorecube.collection.rankings import with_rankings
from tests.analyses.leave_out.test_teams_oracle import left_out, same
from tests.oracles import teams as plain
from tests.oracles.teams import Collection

pytestmark = [pytest.mark.data, pytest.mark.slow]

METRICS = ("AP", "nDCG@10", "Q", "P@10", "bpref")
DEPTH = 10
RANKS = 100
"""Of every list that are looked at."""


@dataclass(frozen=True)
class Loaded:
    """A real collection, read twice: by the package, and in plain Python."""

    folder: Path
    cube: xr.Dataset
    plain: Collection
    files: dict[str, Path]
    """Run -> its file."""


def read_teams(folder: Path) -> dict[str, str]:
    with (folder / "teams.csv").open(newline="") as file:
        return {row["run"]: row["team"] for row in csv.DictReader(file)}


def load(folder: Path, metrics: Sequence[str] = METRICS) -> Loaded:
    rankings = sc.read_rankings(
        folder / "runs", folder / "qrels.txt", folder / "teams.csv", order="file", depth=RANKS
    )
    runs = {path: plain.read_run(path, RANKS) for path in sorted((folder / "runs").iterdir())}
    collection = Collection(
        dict(runs.values()), plain.read_qrels(folder / "qrels.txt"), read_teams(folder)
    )
    files = {name: path for path, (name, _) in runs.items()}
    return Loaded(
        folder, with_rankings(sc.evaluate(rankings, metrics), rankings), collection, files
    )


@pytest.fixture(scope="module", params=["trec-covid-r1", "trec-covid-r5"])
def loaded(request: pytest.FixtureRequest, data: Path) -> Loaded:
    return load(data / str(request.param))


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
    rankings = sc.read_rankings(
        folder / "runs", qrels, folder / "teams.csv", order=order, precision="double"
    )
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


def rewritten(
    loaded: Loaded, removed_teams: set[str], folder: Path, metrics: Sequence[str] = METRICS
) -> xr.Dataset:
    """Write the judgements without some teams to a file, and evaluate the files of the other runs by it."""
    qrels = loaded.plain.qrels_without(removed_teams, DEPTH)
    path = folder / "qrels.txt"
    path.write_text(
        "".join(
            f"{topic} 0 {d} {level}\n"
            for topic, levels in qrels.items()
            for d, level in levels.items()
        )
    )
    runs = [loaded.files[run] for run in loaded.plain.runs_without(removed_teams)]
    return sc.evaluate(sc.read_rankings(runs, path, order="file", depth=RANKS), metrics)


@pytest.mark.parametrize("k", [2, 14])
def test_trials_with_many_teams_left_equal_rewritten_files(
    loaded: Loaded, k: int, tmp_path: Path
) -> None:
    result = sc.analyse(loaded.cube, Teams(leave=(k,), pool_depth=DEPTH), trials=2, seed=12)
    teams = left_out(result, k, 1)
    again = rewritten(loaded, teams, tmp_path)
    assert (
        again.sizes["run"]
        == int(result["n_runs"].sel(leave=k).isel(trial=1))
        < loaded.cube.sizes["run"]
    )
    scores = again["score"].isel(gain=0)
    for metric in METRICS:
        at = result.sel(metric=metric, gain="auto", leave=k).isel(trial=1)
        trial = plain.Trial(
            {run: dict(zip(map(str, again["topic"].values), scores.sel(metric=metric, run=run).values, strict=True)) for run in map(str, again["run"].values)},
            [str(topic) for topic in again["topic"].values],
        )  # fmt: skip
        assert int(at["n_topics"].isel(topic_step=0)) == again.sizes["topic"]
        same(at["variance"].isel(topic_step=0), trial.variance())
