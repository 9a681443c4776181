"""Names, import paths and summaries of all analyses, without importing them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from scorecube.analyses.options import document
from scorecube.errors import BadName

if TYPE_CHECKING:
    from scorecube.analyses.protocol import Analysis
    from scorecube.collection.schema import Variable


class Entry(NamedTuple):
    """Where an analysis is, ``module:Class``, and what is said of it.

    references: Keys of the papers whose method it is, in ``data/references.bib``.
    quantities: ``module`` or ``module:NAME`` that declares what a result holds (``VARIABLES``).
    registered: The class of one from `register`, which need not be importable.
    """

    name: str
    path: str
    summary: str
    references: tuple[str, ...] = ()
    quantities: str = ""
    registered: type[Analysis] | None = None


TABLE = """
leaderboard leaderboard:Leaderboard leaderboard mogstad2024
    Leaderboard: runs, best first, with limits of means, rank sets, and groups.
board board:Board leaderboard mogstad2024
    Board: one ranking from many collections, with limits, rank sets, and groups.
swap swap:Swap swap_curves voorhees2002 sakai2005 sakai2007
    Swap method: how large a difference does another set of topics confirm?
stability stability:Stability stability buckley2000
    Stability method: how often does a topic sample contradict most samples?
bootstrap bootstrap:Bootstrap pairs sakai2006
    Bootstrap test of all pairs of runs, with the estimated required difference.
randomisation single_tests:Randomisation pairs fisher1935 smucker2007
    Paired randomisation (sign-flip) test of all pairs of runs.
tukey joint_tests:Tukey pairs carterette2012
    Randomised Tukey HSD test, which controls the family-wise error rate.
maxt joint_tests:MaxT pairs romano2005
    Step-down max-T test of all pairs together, also of runs that vary differently.
paired classical:Paired pairs:OF_TESTS smucker2007
    Paired t, Wilcoxon and sign tests of all pairs of runs.
correlate correlation:Correlation correlation kendall1938 yilmaz2008 sakai2016
    Rank correlation between metrics, and between gain settings, with intervals.
reliability reliability:Reliability reliability urbano2013
    Reliability of mean scores: variance components, E rho^2, Phi, topics needed.
judges judges:Judges judges ferro2022 angelopoulos2023 krippendorff2011
    Judges, human or machine, against the judgements that count as truth.
teams teams:Teams team_values sakaishang2016
    Leave teams and topics out: what would a team lose that did not take part?
"""
"""Name, module and class, module of variables and references of each analysis; its summary."""
BUILT_IN = tuple(
    Entry(name, f"{__package__}.{path}", about.strip(), tuple(papers), f"{__package__}.{module}")
    for line, about in zip(*[iter(TABLE.strip().splitlines())] * 2, strict=True)
    for name, path, module, *papers in [line.split()]
)
"""In the order of lists and reports."""
_ENTRIES = {entry.name: entry for entry in BUILT_IN}


def names() -> tuple[str, ...]:
    """Return the names of all analyses, in order."""
    return tuple(_ENTRIES)


def entries() -> tuple[Entry, ...]:
    """Return all analyses, in order."""
    return tuple(_ENTRIES.values())


def load(name: str) -> type[Analysis]:
    """Return the class of an analysis, importing its module; BadName for an unknown name."""
    if name not in _ENTRIES:
        raise BadName(f"no analysis {name!r}; known: {', '.join(_ENTRIES)}")
    entry = _ENTRIES[name]
    module, _, class_name = entry.path.partition(":")
    analysis = entry.registered or getattr(import_module(module), class_name)
    document(analysis)
    return analysis


def variables(name: str) -> tuple[Variable, ...]:
    """Return what the results of an analysis hold; nothing where that is not declared."""
    quantities = _ENTRIES[name].quantities if name in _ENTRIES else ""
    module, _, attribute = quantities.partition(":")
    return getattr(import_module(module), attribute or "VARIABLES", ()) if module else ()


def register(analysis: type[Analysis]) -> None:
    """Add an analysis from outside the package, or replace the one of the same name."""
    summary = (analysis.__doc__ or analysis.name).strip().splitlines()[0]
    home = analysis.__module__
    path = f"{home}:{analysis.__qualname__}"
    _ENTRIES[analysis.name] = Entry(analysis.name, path, summary, (), home, analysis)
