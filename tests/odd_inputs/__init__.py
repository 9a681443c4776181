"""Malformed, hostile and odd inputs, each with its outcome: the place of the error, or the scores that come out.

In outcomes, FILE is the path of the odd file, and FOLDER that of its folder.
"""

from tests.odd_inputs.doubtful import DOUBTFUL
from tests.odd_inputs.judgements import JUDGEMENTS
from tests.odd_inputs.reading import Odd, observe
from tests.odd_inputs.runs import RUNS
from tests.odd_inputs.scores import SCORES
from tests.odd_inputs.tables import TABLES

CASES: dict[str, Odd] = RUNS | JUDGEMENTS | TABLES | SCORES | DOUBTFUL

__all__ = ["CASES", "Odd", "observe"]
