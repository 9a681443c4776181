"""Error rates and coverages of tests and limits where the truth is known; run by hand, see `tests.validation.__main__`."""
