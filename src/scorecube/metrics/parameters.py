"""Parameters of metrics: what stands in the brackets of their names."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

Value = float | str | tuple[float, ...]


@dataclass(frozen=True)
class Parameter:
    """A metric's parameter: a word, a number within bounds, or several numbers.

    Parameters
    ----------
    default
        Value if none is given.
    words
        Word -> the number that the metric's function receives; empty for a parameter that takes
        numbers.
    above, below
        Open bounds of numbers.
    also
        Numbers allowed outside the bounds.
    rising
        Whether each of several numbers must be larger than the one before.
    form
        Value of the parameter ``form`` that this one belongs to; empty for any.
    """

    default: Value
    words: Mapping[str, float] = field(default_factory=dict)
    above: float = -math.inf
    below: float = math.inf
    also: tuple[float, ...] = ()
    rising: bool = False
    form: str = ""

    def allows(self, number: float) -> bool:
        """Return whether a number is a valid value."""
        return math.isfinite(number) and (self.above < number < self.below or number in self.also)

    def bounds(self) -> str:
        """Return the valid numbers in words, e.g. `` above 1 or 0``."""
        above = f" above {self.above:g}" if self.above > -math.inf else ""
        below = f" below {self.below:g}" if self.below < math.inf else ""
        return above + below + "".join(f" or {number:g}" for number in self.also)

    def encode(self, value: Value) -> tuple[float, ...]:
        """Return a value as the numbers that the metric's function receives."""
        if isinstance(value, str):
            return (self.words[value],)
        return value if isinstance(value, tuple) else (value,)
