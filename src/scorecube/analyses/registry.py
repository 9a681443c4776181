"""Names, import paths and summaries of all analyses, without importing them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from scorecube.errors import BadName, did_you_mean

if TYPE_CHECKING:
    from scorecube.analyses.base import Analysis


@dataclass(frozen=True)
class Entry:
    """Import path and summary of one analysis.

    Parameters
    ----------
    name
        Name on the command line and in stores.
    path
        Import path of the class: ``module:Class``.
    summary
        One sentence: the first line of the class's docstring.
    """

    name: str
    path: str
    summary: str

    @property
    def class_name(self) -> str:
        """Name of the class, without its module."""
        return self.path.partition(":")[2]


PACKAGE = "scorecube.analyses."
_PATHS = {
    "swap": "topic_samples.swap:Swap",
    "stability": "topic_samples.stability:Stability",
    "bootstrap": "pair_tests.bootstrap:Bootstrap",
    "randomisation": "pair_tests.randomisation:Randomisation",
    "tukey": "pair_tests.tukey:Tukey",
    "unpaired": "pair_tests.unpaired:Unpaired",
    "paired": "pair_tests.classical:Paired",
    "correlate": "rank_agreement.correlation:Correlation",
    "splits": "topic_samples.splits:Splits",
    "agreement": "rank_agreement.agreement:Agreement",
    "teams": "leave_out.teams:Teams",
}
"""In the order of lists and reports."""
_SUMMARIES = {
    "swap": "Swap method: how large a difference does another set of topics confirm?",
    "stability": "Stability method: how often does a topic sample contradict most samples?",
    "bootstrap": "Bootstrap test of all pairs of runs: discriminative power, difference it takes.",
    "randomisation": "Paired randomisation (sign-flip) test of all pairs of runs.",
    "tukey": "Randomised Tukey HSD test: p-values that hold for all pairs of runs together.",
    "unpaired": "Unpaired bootstrap test of all pairs of runs, also of geometric means and areas.",
    "paired": "Paired t, Wilcoxon and sign tests of all pairs of runs, as quick references.",
    "correlate": "Rank correlation between metrics, and between gain settings, with intervals.",
    "splits": "Rank correlation between topic samples: how many topics settle the ranking?",
    "agreement": "Two sets of judgements: do they rank runs alike and find the same differences?",
    "teams": "Leave teams and topics out: do the variance and the order of other runs hold?",
}
_ENTRIES = {name: Entry(name, PACKAGE + path, _SUMMARIES[name]) for name, path in _PATHS.items()}
_CLASSES: dict[str, type[Analysis]] = {}
"""Classes from `register`, which need not be importable."""


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
        Unknown name.
    """
    if name in _CLASSES:
        return _CLASSES[name]
    if name not in _ENTRIES:
        raise BadName(f"no analysis {name!r}; known: {', '.join(_ENTRIES)}{did_you_mean(name, list(_ENTRIES))}")
    module, _, class_name = _ENTRIES[name].path.partition(":")
    analysis: Any = getattr(import_module(module), class_name)
    return analysis  # type: ignore[no-any-return]


def load_class(class_name: str) -> type[Analysis] | None:
    """Return an analysis by the name of its class; None for an unknown name."""
    name_of = {entry.class_name: entry.name for entry in _ENTRIES.values()}
    return load(name_of[class_name]) if class_name in name_of else None


def register(analysis: Entry | type[Analysis]) -> None:
    """Add an analysis from outside the package, or replace the one of the same name.

    Parameters
    ----------
    analysis
        Class, or an entry with its import path.
    """
    if isinstance(analysis, Entry):
        _ENTRIES[analysis.name] = analysis
        _CLASSES.pop(analysis.name, None)
        return
    summary = (analysis.__doc__ or analysis.name).strip().splitlines()[0]
    _ENTRIES[analysis.name] = Entry(analysis.name, f"{analysis.__module__}:{analysis.__qualname__}", summary)
    _CLASSES[analysis.name] = analysis
