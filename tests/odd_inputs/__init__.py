"""Malformed, hostile and odd inputs, each with its outcome: the place of the error, or the scores that come out.

In outcomes, FILE is the path of the odd file, and FOLDER that of its folder.
"""

from tests.odd_inputs.cases import ODD
from tests.odd_inputs.doubtful import DOUBTFUL
from tests.odd_inputs.reading import Odd, observe

CASES: dict[str, Odd] = ODD | DOUBTFUL

__all__ = ["CASES", "Odd", "observe"]
