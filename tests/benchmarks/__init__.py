"""Speed, as ratios from one interleaved run; not part of the tests."""
