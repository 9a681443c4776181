"""Uniform random numbers, addressed by trial."""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import Float64Array2, UInt64Array1
from scorecube.kernels.jit import compiled
from scorecube.kernels.random.philox import fill_words

_TO_UNIT = 2.0**-53


def uniforms(
    key: UInt64Array1, n_numbers: int, start: int, stop: int, before: int = 0
) -> Float64Array2:
    """Draw numbers between 0 and 1, both excluded, in each of the trials start .. stop-1.

    key: uint64 (2,): stream key.
    n_numbers: Numbers of a trial.
    start, stop: Range of trials.
    before: Numbers of a trial before those that are drawn: a multiple of 4.
    Returns numbers: float64 (trial, number).
    """
    numbers = np.empty((stop - start, n_numbers))
    _draw_numbers(key, start, before, np.empty(n_numbers, np.uint64), numbers)
    return numbers


@compiled
def _draw_numbers(
    key: UInt64Array1, start: int, before: int, words: UInt64Array1, numbers: Float64Array2
) -> None:
    """Write the result of `uniforms`; `words` (number,) are overwritten."""
    for trial in range(numbers.shape[0]):
        fill_words(key, start + trial, words, 0, before)
        for k in range(words.shape[0]):
            numbers[trial, k] = (np.float64(words[k] >> np.uint64(11)) + 0.5) * _TO_UNIT
