"""What results of `Board` hold, and what follows from them."""

from scorecube.analyses import leaderboard_quantities

VARIABLES = (*leaderboard_quantities.VARIABLES, *leaderboard_quantities.BOARD_VARIABLES)
OPTIONAL, DERIVED = leaderboard_quantities.OPTIONAL, leaderboard_quantities.DERIVED
