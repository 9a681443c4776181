"""Names, import paths and summaries of all analyses, without importing them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from scorecube.errors import BadName, did_you_mean

if TYPE_CHECKING:
    from scorecube.analyses.base import Analysis
    from scorecube.collection.schema import Derived, Variable


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
    references
        Keys of the papers whose method it is, in ``data/references.bib``; reports cite them.
    quantities
        Module that declares what a result holds, ``VARIABLES``, which of them may be absent, ``OPTIONAL``, and what follows from them, ``DERIVED``, if anything does.
    """

    name: str
    path: str
    summary: str
    references: tuple[str, ...] = ()
    quantities: str = ""

    @property
    def class_name(self) -> str:
        """Name of the class, without its module."""
        return self.path.partition(":")[2]


PACKAGE = "scorecube.analyses"
BUILT_IN = (
    Entry(
        "leaderboard",
        f"{PACKAGE}.leaderboard:Leaderboard",
        "Leaderboard: runs, best first, with limits of means, rank sets, and groups.",
        references=("mogstad2024",),
        quantities=f"{PACKAGE}.leaderboard_quantities",
    ),
    Entry(
        "board",
        f"{PACKAGE}.board:Board",
        "Board: one ranking from many collections, with limits, rank sets, and groups.",
        references=("mogstad2024",),
        quantities=f"{PACKAGE}.leaderboard_quantities",
    ),
    Entry(
        "swap",
        f"{PACKAGE}.swap:Swap",
        "Swap method: how large a difference does another set of topics confirm?",
        references=("voorhees2002", "sakai2005", "sakai2007"),
        quantities=f"{PACKAGE}.swap_quantities",
    ),
    Entry(
        "stability",
        f"{PACKAGE}.stability:Stability",
        "Stability method: how often does a topic sample contradict most samples?",
        references=("buckley2000",),
        quantities=f"{PACKAGE}.stability_quantities",
    ),
    Entry(
        "bootstrap",
        f"{PACKAGE}.bootstrap:Bootstrap",
        "Bootstrap test of all pairs of runs, with the estimated required difference.",
        references=("sakai2006",),
        quantities=f"{PACKAGE}.pair_quantities",
    ),
    Entry(
        "randomisation",
        f"{PACKAGE}.randomisation:Randomisation",
        "Paired randomisation (sign-flip) test of all pairs of runs.",
        references=("fisher1935", "smucker2007"),
        quantities=f"{PACKAGE}.pair_quantities",
    ),
    Entry(
        "tukey",
        f"{PACKAGE}.tukey:Tukey",
        "Randomised Tukey HSD test, which controls the family-wise error rate.",
        references=("carterette2012",),
        quantities=f"{PACKAGE}.pair_quantities",
    ),
    Entry(
        "maxt",
        f"{PACKAGE}.max_t:MaxT",
        "Step-down max-T test of all pairs together, also of runs that vary differently.",
        references=("romano2005",),
        quantities=f"{PACKAGE}.pair_quantities",
    ),
    Entry(
        "unpaired",
        f"{PACKAGE}.unpaired:Unpaired",
        "Unpaired bootstrap test of all pairs of runs, also of geometric means and areas.",
        references=("sakai2006", "voorhees2005"),
        quantities=f"{PACKAGE}.pair_quantities",
    ),
    Entry(
        "paired",
        f"{PACKAGE}.paired:Paired",
        "Paired t, Wilcoxon and sign tests of all pairs of runs.",
        references=("smucker2007",),
        quantities=f"{PACKAGE}.paired_quantities",
    ),
    Entry(
        "correlate",
        f"{PACKAGE}.correlation:Correlation",
        "Rank correlation between metrics, and between gain settings, with intervals.",
        references=("kendall1938", "yilmaz2008", "sakai2016"),
        quantities=f"{PACKAGE}.correlation_quantities",
    ),
    Entry(
        "reliability",
        f"{PACKAGE}.reliability:Reliability",
        "Reliability of mean scores: variance components, E rho^2, Phi, topics needed.",
        references=("urbano2013",),
        quantities=f"{PACKAGE}.reliability",
    ),
    Entry(
        "judges",
        f"{PACKAGE}.judges:Judges",
        "Judges, human or machine, against the judgements that count as truth.",
        references=("ferro2022", "angelopoulos2023", "krippendorff2011"),
        quantities=f"{PACKAGE}.judge_results",
    ),
    Entry(
        "teams",
        f"{PACKAGE}.teams:Teams",
        "Leave teams and topics out: what would a team lose that did not take part?",
        references=("sakaishang2016",),
        quantities=f"{PACKAGE}.team_results",
    ),
)
"""In the order of lists and reports."""
_ENTRIES = {entry.name: entry for entry in BUILT_IN}
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

    Raises BadName: Unknown name.
    """
    if name in _CLASSES:
        return _CLASSES[name]
    if name not in _ENTRIES:
        raise BadName(
            f"no analysis {name!r}; known: {', '.join(_ENTRIES)}{did_you_mean(name, list(_ENTRIES))}"
        )
    module, _, class_name = _ENTRIES[name].path.partition(":")
    analysis: Any = getattr(import_module(module), class_name)
    return analysis  # type: ignore[no-any-return]


def variables(name: str) -> tuple[Variable, ...]:
    """Return what the results of an analysis hold, without importing its kernels; nothing where that is not declared."""
    return _declared(name, "VARIABLES")


def optional(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the groups of variables, each whole or absent, that some options leave out of results of an analysis."""
    return _declared(name, "OPTIONAL")


def derived(name: str) -> tuple[Derived, ...]:
    """Return what follows from the results of an analysis, without importing its kernels."""
    return _declared(name, "DERIVED")


def _declared(name: str, what: str) -> tuple[Any, ...]:
    module = _ENTRIES[name].quantities if name in _ENTRIES else ""
    return getattr(import_module(module), what, ()) if module else ()


def load_class(class_name: str) -> type[Analysis] | None:
    """Return an analysis by the name of its class; None for an unknown name."""
    name_of = {entry.class_name: entry.name for entry in _ENTRIES.values()}
    return load(name_of[class_name]) if class_name in name_of else None


def register(analysis: Entry | type[Analysis]) -> None:
    """Add an analysis from outside the package, or replace the one of the same name.

    analysis: Class, or an entry with its import path.
    """
    if isinstance(analysis, Entry):
        _ENTRIES[analysis.name] = analysis
        _CLASSES.pop(analysis.name, None)
        return
    summary = (analysis.__doc__ or analysis.name).strip().splitlines()[0]
    home = analysis.__module__
    path = f"{home}:{analysis.__qualname__}"
    _ENTRIES[analysis.name] = Entry(analysis.name, path, summary, quantities=home)
    _CLASSES[analysis.name] = analysis
