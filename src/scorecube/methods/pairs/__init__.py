"""The method: five tests of pairs of runs."""
