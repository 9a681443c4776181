"""`docs/believe/checks.md` has every claim of every population, marks what holds less often than promised, and is what the command prints."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from scorecube.analyses.simulation.check import TEAMS
from scorecube.analyses.simulation.claims import SUBJECTS
from scorecube.statistics.proportion_intervals import wilson
from tests.simulations import checks

PAGE = (Path(__file__).parents[1] / "docs/believe/checks.md").read_text(encoding="utf-8")
NOMINAL = 0.95
ROUNDING = 0.001
"""Of shares with three decimals."""
OF_CLAIMS = [name for name in checks.TITLES if name not in ("rates", "families")]


def tables(name: str) -> list[list[list[str]]]:
    """Return the tables below the heading of one subject, without their headings."""
    _, _, rest = PAGE.partition(f"\n### {checks.TITLES[name]}\n")
    text = re.split(r"\n##+ ", rest)[0]
    found: list[list[list[str]]] = []
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.strip().splitlines() if line.startswith("|")]
        if len(lines) > 2:
            found.append([[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]])  # fmt: skip
    return found


def samples_of(name: str) -> int:
    """Return the number of samples that the page states."""
    one, teams = (int(each.replace(",", "")) for each in re.findall(r"([\d,]+) samples", PAGE)[:2])
    return teams if name == TEAMS else one


@pytest.mark.parametrize("name", OF_CLAIMS)
def test_every_claim_is_printed(name: str) -> None:
    rows = tables(name)[0]
    if name == TEAMS:
        assert {row[0] for row in rows} == set(checks.RANKED)
        return
    subject = "ranks" if name == checks.EQUAL else name
    for population, metrics in checks.POPULATIONS.items():
        known = SUBJECTS[subject](50, 1000, (50, 100, 200), tuple(metrics))
        label = f"{population}, best" if name == checks.EQUAL else population
        promised = {claim.quantity for claim in known.claims if np.isfinite(claim.nominal)}
        assert {row[2] for row in rows if row[0] == label} == promised
        printed = {row[1] for row in rows if row[0] == label}
        expected = set(metrics) - {list(metrics)[-1]} if subject == "correlate" else set(metrics)
        assert printed == expected


@pytest.mark.parametrize("name", OF_CLAIMS)
def test_failures_are_marked_and_stand_first(name: str) -> None:
    shares = []
    for row in tables(name)[0]:
        share = float(row[8].strip("*"))
        high = [
            float(wilson(np.array(each * samples_of(name)), np.array(samples_of(name)))[1])
            for each in (share - ROUNDING, share + ROUNDING)
        ]
        if max(high) < NOMINAL or min(high) >= NOMINAL:
            assert row[8].startswith("**") == (max(high) < NOMINAL), row
        shares.append(share)
    assert shares == sorted(shares)


def test_rates_that_are_far_off_are_marked() -> None:
    marked = 0
    (rows,) = tables("rates")
    for cell in (cell for row in rows for cell in row[3:] if cell):
        estimate, truth, _ = map(float, re.findall(r"\d\.\d+", cell))
        off = abs(estimate - truth) - truth / 2
        if abs(off) > ROUNDING and truth > checks.LEAST_RATE + ROUNDING:
            assert cell.startswith("**") == (off > 0), cell
        marked += cell.startswith("**")
    assert marked > 0


def test_family_wise_errors_above_alpha_are_marked() -> None:
    (rows,) = tables("families")
    assert len(rows) == 2 * sum(map(len, checks.POPULATIONS.values()))
    samples = samples_of("families")
    for cell in (cell for row in rows for cell in row[3:]):
        errors = np.rint(float(cell.strip("*")) * samples)
        assert cell.startswith("**") == (wilson(errors, np.array(samples))[0] > 0.05), cell


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("subject", ["reliability", "design", "correlate", "ranks"])
def test_a_few_samples_agree_with_the_page(data: Path, subject: str) -> None:
    """The truth is the same; shares of the first samples are as on the page, within four standard errors."""
    name, few = "web2013", 20
    frame = checks.table_of(name, checks.cube_of(data, name), subject, few)
    printed = {tuple(row[:3]): row for row in tables(subject)[0]}
    compared = 0
    for row in checks.rows_of(frame[frame["nominal"].notna()]):
        known = printed[row.collection, row.metric, row.quantity]
        assert known[4] == checks.number(row.truth)
        share = float(known[8].strip("*"))
        error = 4 * np.sqrt(max(share * (1 - share), 0.02) / few)
        assert row.held == pytest.approx(share, abs=error)
        compared += 1
    assert compared == sum(row[0] == name for row in tables(subject)[0])
