"""Rankings of the same runs over infinitely many topics: an estimate of their correlation, and an interval.

The estimand is the correlation of two rankings of these runs (by two metrics, gain settings or sets of judgements) over infinitely many topics
of which the collection's are a random sample. The observed correlation is not a good estimate of it: with few topics runs are ranked partly
by chance. It is an unbiased estimate of another quantity, the expected correlation of two rankings from as many topics. Percentile intervals
of resampled topics are about neither, as samples with replacement have fewer distinct topics: see docs/believe/intervals.md.

The interval is between quantiles of the correlation of true means drawn by `scorecube.statistics.effect_posterior`; the estimate is their
median. Each of the models of true means has as many draws. Draws depend on the scores alone, and on no seed: more draws, blocks or workers change nothing.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from scorecube.analyses.base import unreported
from scorecube.analyses.rank_agreement.agreement_quantities import population_variables
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.random.resampling import bootstrap_samples, multiplicity_columns
from scorecube.kernels.swap.dispatch import trials_at_once
from scorecube.names import Purpose
from scorecube.statistics.effect_posterior import (
    N_COVARIANCE,
    Stacked,
    draw_effects,
    fit_models,
    stacked,
)
from scorecube.statistics.quantiles import percentiles

N_DRAWS = 1_000
"""Draws of the true means of the runs."""
LEAST_RUNS, LEAST_TOPICS = 10, 10
"""Fewest runs and topics for which an estimate and an interval are computed; the coverage for fewer was not measured."""
SEED = 0
"""Seed of the draws, whatever the seed of the analysis."""
MEANINGS = {each.name: each.long_name for each in population_variables(())}
"""Variables of `summary` and their meanings."""
LEAST_DRAWS, HELD_BYTES = 128, 2**24
"""Draws that are made together, as each call takes a tenth of a millisecond, and the most memory for them."""
MOST_COUNTS, FEWEST_DRAWS = 2**22, 4
"""Most counts of topics that are made together, and the fewest draws for which they are."""
FIT_SHARE = 0.25
"""Share of the time until all models are fitted, for 30 runs and 50 topics."""
CACHED = 2**15
"""Numbers that are drawn together for one model: many for one call, and few enough for the cache."""
UNITS = 2.0**40
"""Units of the largest true mean: draws are ranked as integers, and rounding errors of sums do not order runs."""


def refusal(n_runs: int, n_topics: int) -> str:
    """Return why there is no interval for the correlation over infinitely many topics; empty if there is one."""
    if n_runs < LEAST_RUNS:
        return f"{n_runs} runs, of {LEAST_RUNS} that are needed"
    return (
        f"{n_topics} topics, of {LEAST_TOPICS} that are needed" if n_topics < LEAST_TOPICS else ""
    )


def seconds(n_pairs: int, n_rankings: int, n_runs: int, n_topics: int) -> float:
    """Return the estimated time of `population_rankings` and the comparison of its draws; 0 if there are none."""
    if refusal(n_runs, n_topics):
        return 0.0
    scores, words = n_runs * n_topics, -(-n_runs // 64)
    fit = 4e-4 + 4e-8 * scores + 5e-10 * scores * min(n_runs, n_topics)
    draw = 1.2e-6 + n_runs * (4.5e-8 + 1.2e-9 * words)
    # Counts of many topics, in no order, are not in the cache.
    errors = (3e-8 + 5e-8 * min(n_topics / 1e5, 1.0)) * n_topics + 3e-11 * n_rankings * scores
    return n_pairs * (fit + N_DRAWS * draw) + N_DRAWS * errors


def held_bytes(n_pairs: int, n_rankings: int, n_runs: int, n_topics: int) -> float:
    """Return the memory of `population_rankings`: a part of the draws, effects of pairs, and counts of topics."""
    if refusal(n_runs, n_topics):
        return 0.0
    counts = 20.0 * n_topics * _draws_at_once(2 * n_pairs * n_runs, n_topics)
    return 4.0 * HELD_BYTES + 8.0 * n_runs * (12 * n_pairs + LEAST_DRAWS * n_rankings) + counts


def _draws_at_once(n_columns: int, n_topics: int) -> int:
    """Return the number of draws whose counts of topics are made together."""
    return min(trials_at_once(n_columns), max(FEWEST_DRAWS, MOST_COUNTS // n_topics))


def population_rankings(
    units: Any, first: Any, second: Any, report: Callable[[float], None] = unreported
) -> Iterator[Any]:
    """Yield draws of the means that pairs of rankings would have over infinitely many topics.

    units: float64 (cell, run, topic): scores, integers for sums without rounding.
    first, second: int64 (comparison,): cells of each comparison.
    report: Takes the share that is done, 0 .. 1.
    Yields means: float64 (draw, 2 * comparison, run): the first ranking of every comparison, then the second of every;
        integers. `N_DRAWS` draws in all.
    """
    n_runs, n_pairs = units.shape[1], len(first)
    needed, places = np.unique(np.array([first, second]), return_inverse=True)
    places = places.reshape(2, n_pairs)
    at_once = _draws_at_once(2 * n_pairs * n_runs, units.shape[2])
    together = max(1, min(HELD_BYTES // (16 * n_pairs * n_runs), LEAST_DRAWS) // at_once) * at_once
    # Enough numbers for one call, and few enough for the cache.
    length = max(1, CACHED // (n_runs * together))
    chunks = [slice(start, start + length) for start in range(0, n_pairs, length)]
    effects = []
    for chunk in chunks:
        report(FIT_SHARE * chunk.start / n_pairs)
        cells = zip(first[chunk], second[chunk], strict=True)
        fitted = [fit_models(units[a], units[b]) for a, b in cells]
        effects.append([stacked(of_model) for of_model in zip(*fitted, strict=True)])
    n_models = len(effects[0])
    for low in range(0, N_DRAWS, together):
        high = min(low + together, N_DRAWS)
        report(FIT_SHARE + (1 - FIT_SHARE) * low / N_DRAWS)
        uniforms = _uniforms(low, high, N_COVARIANCE + 2 * n_runs)
        # Products of other shapes would add in another order.
        parts = [
            _errors(units[needed], start, min(start + at_once, high))
            for start in range(low, high, at_once)
        ]
        errors = np.concatenate(parts, axis=1)
        means = np.empty((high - low, 2, n_pairs, n_runs))
        for place in range(n_models):
            # Models take turns, wherever the part begins.
            own = slice((place - low) % n_models, None, n_models)
            if own.start >= high - low:
                continue  # the last part may be shorter than one round of the models
            for chunk, by_model in zip(chunks, effects, strict=True):
                drawn = _draw(by_model[place], uniforms[own], errors[places[:, chunk], own])
                means[own, :, chunk] = np.moveaxis(drawn, 2, 0)
        yield means.reshape(high - low, 2 * n_pairs, n_runs)


def summary(draws: Any, confidence: float) -> dict[str, Any]:
    """Return the median and the interval of draws of a statistic, (..., draw), by the names of variables."""
    low, high, _ = percentiles(draws, confidence)
    middle = np.sort(draws, axis=-1)[..., (draws.shape[-1] - 1) // 2]
    return {"population": middle, "population_low": low, "population_high": high}


def _draw(effects: Stacked, uniforms: Any, errors: Any) -> Any:
    """Return draws of true means as integers: (2, pair, draw, run)."""
    drawn = draw_effects(effects, uniforms, errors)
    sign = np.sign(effects.spread[1, :, np.newaxis])
    np.copyto(drawn[1], sign * drawn[0], where=effects.same[:, np.newaxis, np.newaxis])
    largest = np.abs(drawn).max(axis=(2, 3), keepdims=True)
    return np.rint(drawn * (UNITS / np.where(largest > 0, largest, 1.0)))


def _uniforms(start: int, stop: int, n_words: int) -> Any:
    """Return uniform numbers (draw, position), each a function of its address; NumPy's Philox has the words of `kernels.random`."""
    key = stream_key(SEED, Purpose.POPULATION_EFFECTS)
    words = np.array(
        [
            np.random.Philox(counter=[0, draw, 0, 0], key=key).random_raw(n_words)
            for draw in range(start, stop)
        ]
    )
    return ((words >> np.uint64(11)) + 0.5) * 2.0**-53


def _errors(units: Any, start: int, stop: int) -> Any:
    """Return errors of means, as those of topic samples: (cell, draw, run)."""
    n_cells, n_runs, n_topics = units.shape
    key = stream_key(SEED, Purpose.POPULATION_TOPICS)
    counts = multiplicity_columns(bootstrap_samples(key, n_topics, start, stop), n_topics)
    drawn = (units.reshape(-1, n_topics) @ (counts - 1)).reshape(n_cells, n_runs, -1)
    # Samples of n topics vary less about their mean than topics about theirs, by (n - 1) / n.
    return np.ascontiguousarray(drawn.swapaxes(1, 2)) / np.sqrt(n_topics * (n_topics - 1.0))
