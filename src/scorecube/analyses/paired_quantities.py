"""What results of `Paired` hold."""

from scorecube.analyses.pair_quantities import ALWAYS, PAIRED

VARIABLES = PAIRED
OPTIONAL = tuple((each.name,) for each in VARIABLES if each.name not in ALWAYS)
