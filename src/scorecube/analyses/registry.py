"""The list of analyses: their names, where they are defined, and what each answers; nothing else is imported for it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from scorecube.errors import BadName, did_you_mean

if TYPE_CHECKING:
    from scorecube.analyses.base import Analysis


@dataclass(frozen=True)
class Entry:
    """One analysis.

    Parameters
    ----------
    name
        Word on the command line and in stores.
    path
        Where its class is: ``module:Class``.
    summary
        What it answers, in one sentence: the first line of its docstring.
    """

    name: str
    path: str
    summary: str

    @property
    def class_name(self) -> str:
        """Name of the class."""
        return self.path.partition(":")[2]


HERE = "scorecube.analyses."
_ENTRIES = {
    name: Entry(name, HERE + path, summary)
    for name, path, summary in (
        ("swap", "topic_samples.swap:Swap", "Swap method: how large a difference does another set of topics confirm?"),
        ("stability", "topic_samples.stability:Stability", "Stability method: how often does a topic sample contradict most samples?"),
        ("bootstrap", "pair_tests.bootstrap:Bootstrap", "Bootstrap test of all pairs of runs, with the estimated required difference."),
        ("randomisation", "pair_tests.randomisation:Randomisation", "Paired randomisation (sign-flip) test of all pairs of runs."),
        ("tukey", "pair_tests.tukey:Tukey", "Randomised Tukey HSD test, which controls the family-wise error rate."),
        ("unpaired", "pair_tests.unpaired:Unpaired", "Unpaired bootstrap test of all pairs of runs, also of geometric means and areas."),
        ("paired", "pair_tests.classical:Paired", "Paired t, Wilcoxon and sign tests of all pairs of runs."),
        ("correlate", "rank_agreement.correlation:Correlation", "Rank correlation between metrics, and between gain settings, with intervals."),
        ("splits", "topic_samples.splits:Splits", "Rank correlation between topic samples: how many topics settle the ranking?"),
        ("agreement", "rank_agreement.agreement:Agreement", "Agreement of rankings and significant differences under two sets of judgements."),
        ("teams", "leave_out.teams:Teams", "Leave teams and topics out: do the variance and the order of other runs hold?"),
    )
}  # fmt: skip
"""In the order in which lists and reports show them."""
_CLASSES: dict[str, type[Analysis]] = {}
"""Registered classes, which need not be importable."""


def names() -> tuple[str, ...]:
    """Return the names of all analyses, in order."""
    return tuple(_ENTRIES)


def entries() -> tuple[Entry, ...]:
    """Return all analyses, in order."""
    return tuple(_ENTRIES.values())


def load(name: str) -> type[Analysis]:
    """Return the class of an analysis, importing its module.

    Raises
    ------
    BadName
        No such analysis.
    """
    if name in _CLASSES:
        return _CLASSES[name]
    if name not in _ENTRIES:
        raise BadName(f"no analysis {name!r}; known: {', '.join(_ENTRIES)}{did_you_mean(name, list(_ENTRIES))}")
    module, _, kind = _ENTRIES[name].path.partition(":")
    found: Any = getattr(import_module(module), kind)
    return found  # type: ignore[no-any-return]


def load_class(class_name: str) -> type[Analysis] | None:
    """Return an analysis by the name of its class, None if there is none."""
    known = {entry.class_name: entry.name for entry in _ENTRIES.values()}
    return load(known[class_name]) if class_name in known else None


def register(analysis: Entry | type[Analysis]) -> None:
    """Add an analysis that is defined outside the package; one of the same name is replaced.

    Parameters
    ----------
    analysis
        Class, or an entry that names where it is.
    """
    if isinstance(analysis, Entry):
        _ENTRIES[analysis.name] = analysis
        _CLASSES.pop(analysis.name, None)
        return
    summary = (analysis.__doc__ or analysis.name).strip().splitlines()[0]
    _ENTRIES[analysis.name] = Entry(analysis.name, f"{analysis.__module__}:{analysis.__qualname__}", summary)
    _CLASSES[analysis.name] = analysis
