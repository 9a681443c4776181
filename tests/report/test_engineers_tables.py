"""Tables as engineers have them: no limit is infinite, beyond the range, or of no width, in JSON, terminal and page; where there is none, the row says why."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

if TYPE_CHECKING:
    from tests.conftest import Cli

Scores = Callable[[np.random.Generator, tuple[int, ...]], Any]
TRIALS = ("--trials", "199")
NOT_FINITE = re.compile(r"(?<![\w.-])-?(inf|infinity|nan)(?![\w-])", re.IGNORECASE)


class Sheet(NamedTuple):
    """A table of items by models.

    metric: Name of the column of scores.
    scores: Makes them, (model, seed, item) of a category.
    categories: Items of each.
    seeds: Runs of a model.
    ends: Range that the limits must stay within; None if there is none.
    options: Of the import.
    """

    metric: str
    scores: Scores
    categories: tuple[int, ...] = (25,)
    seeds: int = 1
    ends: tuple[float, float] | None = (0.0, 1.0)
    options: tuple[str, ...] = ()
    models: int = 4


def solved(p: float) -> Scores:
    """Return items of 0 and 1 of which a share is solved."""
    return lambda chance, shape: (chance.random(shape) < p).astype(float)


def failing(share: float = 0.05, rest: float = 1.0) -> Scores:
    """Return scores of which some fail, and all others are equal."""
    return lambda chance, shape: np.where(chance.random(shape) < share, 0.4, rest)


def equal(value: float) -> Scores:
    """Return equal scores."""
    return lambda _, shape: np.full(shape, value)


def perfect_first(scores: Scores) -> Scores:
    """Return scores of which the first model solves all."""

    def make(chance: np.random.Generator, shape: tuple[int, ...]) -> Any:
        made = scores(chance, shape)
        made[0] = 1.0
        return made

    return make


def twins(scores: Scores) -> Scores:
    """Return scores of which the first two models are one."""

    def make(chance: np.random.Generator, shape: tuple[int, ...]) -> Any:
        made = scores(chance, shape)
        made[1] = made[0]
        return made

    return make


def percent(scores: Scores) -> Scores:
    """Return percentages."""
    return lambda chance, shape: (100 * scores(chance, shape)).round(1)


def smooth(chance: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Return shares between 0 and 1."""
    return chance.beta(4, 1, shape).round(3)


def stars(chance: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Return ratings from 1 to 5, most of which are 5."""
    return chance.choice([1, 2, 3, 4, 5], shape, p=[0.02, 0.02, 0.02, 0.04, 0.9]).astype(float)


SHEETS: dict[str, Sheet] = {
    "0/1, one model is perfect": Sheet("correct", perfect_first(solved(0.96))),
    "0/1, three seeds near the ceiling": Sheet("correct", solved(0.97), seeds=3),
    "0/1, three seeds that agree, all solved": Sheet("resolved", equal(1.0), seeds=3),
    "0/1, three seeds, an unknown name": Sheet("score", perfect_first(solved(0.97)), seeds=3),
    "categories of many sizes": Sheet("accuracy", solved(0.9), (6, 12, 40, 90)),
    "categories with three seeds": Sheet("accuracy", solved(0.98), (10, 20, 40), seeds=3),
    "a category of one item": Sheet("accuracy", solved(0.9), (1, 30, 40)),
    "a category of four items": Sheet("accuracy", solved(0.95), (4, 30, 40)),
    "an item alone": Sheet("accuracy", solved(0.9), (1,)),
    "four items": Sheet("accuracy", solved(0.6), (4,)),
    "pass@1, of four tries": Sheet("pass@1", lambda chance, shape: chance.binomial(4, 0.97, shape) / 4),
    "f1 with rare failures": Sheet("f1", failing()),
    "f1 with rare failures, three seeds": Sheet("f1", failing(), seeds=3),
    "per cent with decimals": Sheet("accuracy", percent(smooth), ends=(0.0, 100.0)),
    "per cent near the ceiling": Sheet("f1", percent(failing(rest=0.995)), ends=(0.0, 100.0)),
    "no range, rare failures": Sheet("quality", failing(), ends=None),
    "no range, all equal": Sheet("quality", equal(0.7), (30, 40), ends=None),
    "no range, smooth": Sheet("reward", lambda chance, shape: chance.normal(0, 1, shape), ends=None),
    "ratings without a range": Sheet("rating", stars, (40,), ends=None),
    "ratings with a range": Sheet("rating", stars, (40,), 1, (1.0, 5.0), ("--range", "rating=1,5")),
    "ties": Sheet("accuracy", twins(solved(0.9)), (50,)),
    "many models near the ceiling": Sheet("em", solved(0.999), (60,), models=30),
}  # fmt: skip


def table_of(sheet: Sheet, name: str) -> pd.DataFrame:
    """Return a row for each model, category, item and seed."""
    chance, parts = np.random.default_rng(sorted(SHEETS).index(name)), []
    for place, n_items in enumerate(sheet.categories):
        scores = sheet.scores(chance, (sheet.models, sheet.seeds, n_items))
        keys = product(range(sheet.models), range(sheet.seeds), range(n_items))
        rows = [(f"m{model:02d}", f"c{place}", f"i{item:03d}", seed) for model, seed, item in keys]
        part = pd.DataFrame(rows, columns=["model", "benchmark", "item", "seed"])
        parts.append(part.assign(**{sheet.metric: scores.ravel()}))
    return pd.concat(parts)


def check_rows(rows: list[dict[str, Any]], sheet: Sheet) -> None:
    """Check the limits of means, and what stands in their place."""
    lowest, highest = sheet.ends or (-np.inf, np.inf)
    for row in rows:
        low, high = row["mean_low"], row["mean_high"]
        assert (
            (low is None) == (high is None) == (row.get("limits_reason", "") != "" or low is None)
        )
        if low is None:
            assert sheet.ends is None or "single" in row.get("limits_reason", "single")
            continue
        assert lowest <= low < high <= highest
        assert low <= row["mean"] <= high
        assert not row.get("limits_reason")


@pytest.mark.parametrize("name", SHEETS)
def test_limits_are_within_the_range_and_have_width_or_are_missing(
    name: str, tmp_path: Path, scorecube: Cli
) -> None:
    sheet, study, file = SHEETS[name], tmp_path / "study", tmp_path / "evals.csv"
    table_of(sheet, name).to_csv(file, index=False)
    said = scorecube("import", study, file, *sheet.options).succeeded().stderr
    assert ("no range is known" in said) == (sheet.ends is None)
    shown = [said]
    for analysis in ("leaderboard", "board"):
        found = scorecube(analysis, study, *TRIALS)
        shown += [found.stdout, found.stderr]
        assert found.status == 0, found.stderr
        tables = ["systems", "leader", *["collections"] * (analysis == "board")]
        for table in tables:
            words = ("show", study, analysis, "--table", table, "--format", "json")
            text = scorecube(*words).succeeded().stdout
            shown.append(text)
            rows = json.loads(text)
            assert rows
            if table != "leader":
                check_rows(rows, sheet)
    page = tmp_path / "page.html"
    scorecube("report", study, "--out", page).succeeded()
    text = re.sub(r"<(script|style|svg)\b.*?</\1>", "", page.read_text(), flags=re.DOTALL)
    shown.append(html.unescape(re.sub(r"<[^>]*>", " ", text)))
    drawn = re.findall(r"<svg.*?</svg>", page.read_text(), flags=re.DOTALL)
    for channel in (*shown, *drawn):
        assert NOT_FINITE.search(channel) is None
