"""Errors that a user can cause. Each says what is wrong, where, what was found and what to do."""

from __future__ import annotations

import os


class ScorecubeError(Exception):
    """Base of all errors raised on purpose; the command line prints its text and exits with status 1."""


class BadInput(ScorecubeError):
    """A file that was read does not hold what it should.

    Parameters
    ----------
    message
        What is wrong, what was found and what was expected.
    path
        The file, if there is one.
    line
        Line number in the file, from 1.
    """

    def __init__(self, message: str, path: str | os.PathLike[str] | None = None, line: int | None = None) -> None:
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(where + message)
        self.path = path
        self.line = line


class BadName(ScorecubeError):
    """A metric, gain setting, run, topic or table name that does not exist or does not parse."""


class BadPlan(ScorecubeError):
    """Options of an analysis that are impossible for the data at hand."""


class BadStudy(ScorecubeError):
    """A study that is missing, has not what was asked for, or already holds something else."""


class ClusterFailed(ScorecubeError):
    """A cluster that was lost while it computed; what was recorded is kept."""


class FetchFailed(ScorecubeError):
    """Public data that could not be fetched; what was whole is kept."""


class StoreFailed(ScorecubeError):
    """An object store that cannot be reached, or refuses; what was recorded is kept."""


class CorruptStudy(ScorecubeError):
    """Stored bytes that do not match their recorded digest."""


def nearest(name: str, known: list[str], count: int = 5) -> str:
    """Return the known names most like `name`, joined for an error text.

    Parameters
    ----------
    name
        What was asked for.
    known
        What there is.
    count
        How many to name at most; twice as many if none is like it.

    Returns
    -------
    text
        Names separated by commas.
    """
    import difflib

    # Letter case is the commonest slip in metric names, so it does not count.
    by_lower: dict[str, list[str]] = {}
    for word in known:
        by_lower.setdefault(word.lower(), []).append(word)
    close = difflib.get_close_matches(name.lower(), list(by_lower), n=count, cutoff=0.3)
    return ", ".join([word for lower in close for word in by_lower[lower]] or sorted(known)[: 2 * count])


def did_you_mean(name: str, known: list[str]) -> str:
    """Return a question that ends an error text, if a known name is like `name`; else nothing.

    Parameters
    ----------
    name
        What was asked for.
    known
        What there is.

    Returns
    -------
    text
        Beginning with a full stop.

    Examples
    --------
    >>> did_you_mean("bootstarp", ["swap", "bootstrap"])
    ". Did you mean 'bootstrap'?"
    >>> did_you_mean("xyz", ["swap", "bootstrap"])
    ''
    """
    import difflib

    close = difflib.get_close_matches(name.lower(), known)
    return f". Did you mean {', '.join(map(repr, close))}?" if close else ""
