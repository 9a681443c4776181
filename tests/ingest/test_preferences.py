"""Agreement of metrics with preferences of people: against plain Python, and with simulated known truth."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from scorecube.errors import BadInput, BadName
from scorecube.ingest.preferences import COLUMNS, agreement_with_preferences, read_preferences
from scorecube.testing import simulate_cube


class Preference(NamedTuple):
    topic: str
    run_a: str
    run_b: str
    preferred: str
    people: float = 1.0


METRICS = ("AP", "nDCG@10", "RR")


def people(seed: int, n: int = 200) -> list[Preference]:
    """Return preferences of up to three people between random runs of a simulated cube."""
    chance, cube = np.random.default_rng(seed), simulate_cube(n_runs=6, seed=1)
    runs, topics = (list(map(str, cube[dim].values)) for dim in ("run", "topic"))
    found = []
    for _ in range(n):
        first, second = map(str, chance.choice(runs, 2, replace=False))
        preferred = str(chance.choice([first, second, ""]))
        topic = str(chance.choice(topics[:20]))
        found.append(Preference(topic, first, second, preferred, float(chance.integers(1, 4))))
    return found


def test_shares_are_those_of_plain_python(tmp_path: Path) -> None:
    cube, said = simulate_cube(n_runs=6, seed=1, metrics=METRICS), people(4)
    path = tmp_path / "people.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("count", "topic", "run_a", "run_b", "preferred"), *((p.people, *p[:3], p.preferred or "Tie") for p in said)])  # fmt: skip
    table = read_preferences(path)
    assert list(table.itertuples(index=False, name=None)) == said
    found = agreement_with_preferences(cube, table)
    assert sorted(found["run"].values) == sorted(METRICS)
    pairs = {(p.topic, frozenset(p[1:3])) for p in said}
    assert found.sizes["topic"] == len(pairs)
    for topic, both in pairs:
        a, b = sorted(both)
        at = found.sel(topic=f"{topic}: {a} / {b}").isel(gain=0)
        assert at["topic_group"].item() == topic
        votes = [p for p in said if p.topic == topic and {p.run_a, p.run_b} == both]
        total = sum(p.people for p in votes)
        for metric in METRICS:
            scores = cube["score"].sel(metric=metric, topic=topic).isel(gain=0)
            x, y = float(scores.sel(run=a)), float(scores.sel(run=b))
            prefers = "" if x == y else a if x > y else b
            agree = sum(p.people for p in votes if p.preferred == prefers)
            assert at["score"].sel(run=metric).item() == pytest.approx(agree / total)


def test_what_is_wrong_is_refused(tmp_path: Path) -> None:
    cube = simulate_cube(n_runs=3)
    a, b = map(str, cube["run"].values[:2])
    for said in (Preference("001", a, "x", a), Preference("999", a, b, a)):
        with pytest.raises(BadName):
            agreement_with_preferences(cube, pd.DataFrame([said]))
    with pytest.raises(BadInput, match="no preferences"):
        agreement_with_preferences(cube, pd.DataFrame(columns=COLUMNS))
    path = tmp_path / "people.csv"
    for row in (f"001,{a},{a},{a},1", f"001,{a},{b},x,1", f"001,{a},{b},{a},0"):
        path.write_text(f"topic,run_a,run_b,preferred,count\n{row}\n")
        with pytest.raises(BadInput, match=r"people\.csv:2: "):
            read_preferences(path)
