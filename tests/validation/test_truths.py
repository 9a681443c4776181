"""The truths of `tests.validation.truths` are true, and the command that measures on them works."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.validation import truths
from tests.validation.__main__ import lines
from tests.validation.truths import Truth, samples

MODELS: dict[str, Truth] = {
    "groups": truths.topic_groups(10, 5, 0.5),
    "unequal groups": truths.topic_groups(10, 5, 0.5, unequal=True),
    "reciprocal ranks": truths.lenient_reciprocal_ranks((0.9, 0.97), 50),
    "grid": truths.grid_scores(0.9, 10, 50),
    "near equal": truths.near_equal_field(),
    "two generations": truths.two_generations(),
    "teams": truths.near_duplicate_teams(),
    "judged": truths.judged_reciprocal_ranks(),
    "zeros": truths.zero_inflated(),
}


@pytest.mark.parametrize("name", MODELS)
def test_means_are_those_of_infinitely_many_topics(name: str) -> None:
    """Mean errors over 300 samples, in standard errors: none of up to 120 runs beyond 4.5."""
    drawn = list(samples(MODELS[name], 300, 1))
    errors = np.array([each.scores.mean(axis=-1) - each.means for each in drawn])
    assert np.abs(errors.mean(axis=0) / errors.std(axis=0) * np.sqrt(300)).max() < 4.5


@pytest.mark.parametrize("name", MODELS)
def test_a_sample_is_a_function_of_seed_and_place(name: str) -> None:
    """Whatever came before it."""
    whole = list(samples(MODELS[name], 3, 5))
    (again,) = samples(MODELS[name], 1, 5, start=2)
    np.testing.assert_array_equal(whole[2].scores, again.scores)
    assert not np.array_equal(whole[1].scores, again.scores)


def test_topics_of_a_group_correlate_as_said() -> None:
    """Differences of two runs, which what all runs share is no part of."""
    for correlation in (0.3, 0.6):
        drawn = samples(truths.topic_groups(50, 5, correlation), 40, 1)
        pairs = np.concatenate([(each.scores[0] - each.scores[1]).reshape(-1, 5)[:, :2] for each in drawn])  # fmt: skip
        assert np.corrcoef(pairs.T)[0, 1] == pytest.approx(correlation, abs=0.06)


def test_unequal_groups_have_all_topics() -> None:
    (sample,) = samples(truths.topic_groups(10, 5, 0.3, unequal=True), 1, 1)
    sizes = np.bincount(sample.groups)
    assert (sizes.sum(), sizes.min(), sizes.max()) == (50, 1, 9)


def test_runs_are_as_far_apart_as_the_populations_say() -> None:
    """A population of made scores: its means are the truth, and groups come whole."""
    scores = np.random.default_rng(1).integers(0, 11, (6, 40)) / 10
    (drawn,) = samples(truths.population(scores, 5000), 1, 1)
    np.testing.assert_allclose(drawn.scores.mean(axis=1), drawn.means, atol=0.03)
    (grouped,) = samples(truths.grouped_population(scores, 7, 4), 1, 1)
    assert grouped.scores.shape == (6, 28)
    assert np.unique(grouped.groups).size == 7
    (moved,) = samples(truths.replaced(scores, 5000), 1, 1)
    np.testing.assert_allclose(moved.means, scores.mean())
    (near,) = samples(truths.replaced(scores[[0, 0, 1, 2, 3, 4]], 5000), 1, 1)
    np.testing.assert_array_equal(near.scores[0], near.scores[1])


def test_an_absent_collection_is_a_row_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(truths, "DATA", Path("/absent"))
    found = [line for line in lines("equivalence", 2) if "skipped" in line]
    assert len(found) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bounded", "equivalence", "labels"])
def test_every_row_prints_its_rates(name: str, data: Path) -> None:
    """Four samples each."""
    assert (data / "README.md").is_file()
    found = list(lines(name, 4))
    assert found
    assert all(line.count("|") == 8 for line in found)


def test_topics_whose_ids_are_numbers_are_no_run(tmp_path: Path) -> None:
    path = tmp_path / "ap.csv"
    for header, first in (("topic,a,b", "301,"), ("a,b", "")):
        path.write_text(f"{header}\n{first}0.5,0.25\n{first}0.75,0.5\n")
        assert truths._table(path).tolist() == [[0.5, 0.75], [0.25, 0.5]]
