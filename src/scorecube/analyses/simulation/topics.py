"""Scores of a population's systems on many topics, made system by system: what is random about the topics is kept, and little memory taken.

Every random number has an address (seed; topic, variable), and sums of products are exact. So scores have the same bits for any number of
threads, and however topics and systems are cut into parts.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses.base import Array
from scorecube.kernels.quantiles import Quantiles, quantiles
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.random.uniforms import uniforms
from scorecube.kernels.threads import on_threads
from scorecube.statistics.copulas import BITS, Vine
from scorecube.statistics.copulas import TOPICS as VINE_TOPICS
from scorecube.statistics.margins import Margin

TOPICS_AT_ONCE = 8192
"""Topics of a part that one thread makes."""
SYSTEMS_AT_ONCE = 64
"""Systems of a part: a table of each is in memory."""
WORDS_AT_ONCE = 4
"""Random numbers that are made together."""
UNITS = 2**32
"""Of a uniform variable that is kept."""
NORMAL_ENDS = (-6.0, 6.0)
"""Range of the tables of normal variables."""


class Source(Protocol):
    """Random variables behind the scores on a range of topics, which decide between the scores of a margin."""

    ends: tuple[float, float]
    """Range of most of their values."""

    def prepare(self, low: int, high: int) -> None:
        """Make what the systems low .. high-1 need."""

    def values(self, low: int, high: int, first: int, last: int) -> Array:
        """Return the variables of the systems low .. high-1 on the topics first .. last-1 of the range: float64 (system, topic)."""

    def cuts(self, margin: Margin) -> Array:
        """Return the values of a variable between the scores of a margin: float64, ascending."""


def _normal(seed: int, n_variables: int, start: int, stop: int, first: int = 0) -> Array:
    """Return independent normal variables, multiples of 2**-BITS: float64 (variable, topic)."""
    key = stream_key(seed, names.Purpose.SIMULATED_SCORES)
    drawn = scipy.special.ndtri(uniforms(key, n_variables, start, stop, first)).T
    return np.asarray(np.rint(drawn * 2.0**BITS) / 2.0**BITS)


def normal_cuts(margin: Margin) -> Array:
    """Return the values of a normal variable between the scores of a margin."""
    return np.asarray(scipy.special.ndtri(margin.cumulative[:-1]))


class IndependentSource:
    """Independent normal variables, one for each system.

    seed, start: Of the random numbers; first topic.
    """

    ends = NORMAL_ENDS
    cuts = staticmethod(normal_cuts)

    def __init__(self, seed: int, start: int) -> None:
        self.seed, self.start = seed, start

    def prepare(self, low: int, high: int) -> None:
        """Do nothing: all systems need the same, or nothing."""

    def values(self, low: int, high: int, first: int, last: int) -> Array:
        """Return the variables, see `Source`."""
        before = low % WORDS_AT_ONCE
        count = high - low + before
        drawn = _normal(self.seed, count, self.start + first, self.start + last, low - before)
        return drawn[before:]


class GaussianSource(IndependentSource):
    """Variables with the correlations of a Gaussian copula.

    loadings: float64 (system, variable): on independent normal variables; multiples of 2**-BITS.
    seed, start, stop: Of the random numbers; range of topics.
    most_bytes: Limit for what is kept of the independent variables; beyond it they are made anew whenever they are
        needed.
    """

    def __init__(
        self,
        loadings: Array,
        seed: int,
        start: int,
        stop: int,
        *,
        n_threads: int = 1,
        most_bytes: float = math.inf,
    ) -> None:
        super().__init__(seed, start)
        self.loadings = loadings
        self._kept: NDArray[np.float32] | None = None
        n_variables, n_topics = loadings.shape[1], stop - start
        if kept_bytes(n_variables, n_topics) > most_bytes:
            return
        # Multiples of 2**-20 below 16 are whole numbers of 24 binary digits, as float32 has.
        kept = np.empty((n_variables, n_topics), np.float32)

        def fill(part: tuple[int, int]) -> None:
            kept[:, slice(*part)] = self._made(*part)

        on_threads(fill, parts_of(n_topics), kept.size, n_threads)
        self._kept = kept

    def _made(self, first: int, last: int) -> Array:
        return _normal(self.seed, self.loadings.shape[1], self.start + first, self.start + last)

    def values(self, low: int, high: int, first: int, last: int) -> Array:
        """Return the variables, see `Source`."""
        behind = self._made(first, last) if self._kept is None else self._kept[:, first:last]
        return np.asarray(self.loadings[low:high] @ behind.astype(np.float64))


def kept_bytes(n_variables: int, n_topics: int) -> int:
    """Return the memory of the normal variables that a Gaussian copula keeps."""
    return 4 * n_variables * n_topics


def parts_of(n_topics: int) -> list[tuple[int, int]]:
    """Return the ranges of topics that threads take."""
    return list(pairwise([*range(0, n_topics, TOPICS_AT_ONCE), n_topics]))


def scores_of(
    source: Source,
    margins: Sequence[Margin],
    low: int,
    high: int,
    out: Array,
    *,
    n_threads: int = 1,
) -> None:
    """Write the scores of the systems low .. high-1 of a source.

    source: Of the random variables.
    margins: Of all systems.
    low, high: Range of systems.
    out: float64 (system, topic), overwritten.
    """
    n_topics = out.shape[1]
    for first_row in range(low, high, SYSTEMS_AT_ONCE):
        rows = range(first_row, min(first_row + SYSTEMS_AT_ONCE, high))
        source.prepare(rows[0], rows[-1] + 1)

        def table(row: int) -> Quantiles:
            return quantiles(source.cuts(margins[row]), margins[row].support, *source.ends)

        tables = on_threads(table, rows, len(rows) * n_topics, n_threads)

        def fill(
            part: tuple[int, int], rows: range = rows, tables: list[Quantiles] = tables
        ) -> None:
            behind = source.values(rows[0], rows[-1] + 1, *part)
            for row, own, numbers in zip(rows, tables, behind, strict=True):
                own.find(np.ascontiguousarray(numbers), out[row - low, slice(*part)])

        on_threads(fill, parts_of(n_topics), len(rows) * n_topics, n_threads)


class VineSource:
    """Uniform variables that a vine copula of each cell makes dependent; cells are independent of each other.

    vines: Of each cell.
    seed, start, stop: Of the random numbers; range of topics.
    n_systems: Of a cell.
    """

    ends = (0.0, 1.0)

    def __init__(
        self, vines: Sequence[Vine], seed: int, start: int, stop: int, n_systems: int
    ) -> None:
        self.vines, self.seed, self.start, self.stop = vines, seed, start, stop
        self.n_systems = n_systems
        self._kept: dict[int, NDArray[np.uint32]] = {}

    def cuts(self, margin: Margin) -> Array:
        """Return the cumulative probabilities between the scores of a margin."""
        return margin.cumulative[:-1]

    def prepare(self, low: int, high: int) -> None:
        """Make and keep the variables of all systems of the cells of some systems; those of other cells are forgotten."""
        wanted = range(low // self.n_systems, (high - 1) // self.n_systems + 1)
        self._kept = {cell: kept for cell, kept in self._kept.items() if cell in wanted}
        for cell in wanted:
            if cell not in self._kept:
                self._kept[cell] = self._made(cell)

    def _made(self, cell: int) -> NDArray[np.uint32]:
        """Return the variables of a cell in units of 2**-32: uint32 (system, topic)."""
        made = np.empty((self.n_systems, self.stop - self.start), np.uint32)
        key = stream_key(self.seed, names.Purpose.SIMULATED_SCORES)
        before = cell * -(-self.n_systems // WORDS_AT_ONCE) * WORDS_AT_ONCE
        for first in range(self.start // VINE_TOPICS * VINE_TOPICS, self.stop, VINE_TOPICS):
            drawn = uniforms(key, self.n_systems, first, first + VINE_TOPICS, before)
            units = np.floor(self.vines[cell].dependent(drawn).T * UNITS)
            low, high = max(first, self.start), min(first + VINE_TOPICS, self.stop)
            part = units[:, low - first : high - first].clip(0, UNITS - 1)
            made[:, low - self.start : high - self.start] = part
        return made

    def values(self, low: int, high: int, first: int, last: int) -> Array:
        """Return the variables, see `Source`."""
        places = [divmod(system, self.n_systems) for system in range(low, high)]
        units = [self._kept[cell][system, first:last] for cell, system in places]
        return (np.stack(units) + 0.5) / UNITS
