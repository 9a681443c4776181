"""What results of `Paired` hold."""

from scorecube.analyses.pair_quantities import PAIRED

VARIABLES = PAIRED
