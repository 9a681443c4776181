"""Gain settings: gains with colons, highest level first, as ``3:2:1``; ``auto``: gain = level."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from scorecube.errors import BadName
from scorecube.names import AUTO

SMALLEST_GAIN = 1e-9
LARGEST_GAIN = 1e9
"""Range of gains beside 0: sums over a list and their ratios stay finite and do not lose the
smallest gain's last digits."""


def gain_values(text: str, n_levels: int) -> npt.NDArray[np.float64]:
    """Return the gain of each level 0 .. n_levels.

    Parameters
    ----------
    text
        ``auto``, or one number for each relevant level, highest level first.
    n_levels
        Number of relevant levels in the collection.

    Returns
    -------
    gains
        float64 (n_levels + 1,); the gain of level 0 is 0.

    Raises
    ------
    BadName
        A value that is not 0 or a number between `SMALLEST_GAIN` and `LARGEST_GAIN`; only zeros; a
        lower level with a larger gain; more or fewer values than levels.

    Examples
    --------
    >>> gain_values("10:5:1", 3).tolist()
    [0.0, 1.0, 5.0, 10.0]
    """
    if text == AUTO:
        return np.arange(n_levels + 1, dtype=np.float64)
    try:
        values = [float(part) for part in text.split(":")]
    except ValueError:
        raise BadName(
            f"gain setting {text!r} is not 'auto' or numbers joined by colons, like 3:2:1"
        ) from None
    are_gains = [value == 0 or SMALLEST_GAIN <= value <= LARGEST_GAIN for value in values]
    if not (all(are_gains) and any(values)):
        raise BadName(
            f"gain setting {text!r}: gains are 0, or between {SMALLEST_GAIN:g} and "
            f"{LARGEST_GAIN:g}, and not all are 0; scale them"
        )
    if len(values) != n_levels:
        raise BadName(
            f"gain setting {text!r} has {len(values)} values, but the collection has {n_levels} "
            "relevant levels; give one value for each level, highest level first"
        )
    if any(higher < lower for higher, lower in pairwise(values)):
        raise BadName(
            f"gain setting {text!r} gives a lower level a larger gain; list gains from the "
            "highest level to the lowest"
        )
    return np.array([0.0, *reversed(values)])
