"""The method: leaderboards of one collection, and of several."""
