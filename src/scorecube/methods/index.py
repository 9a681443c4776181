"""All methods, by name: the one list of them, which imports none.

Built-in methods stand here as those of plugins are registered; what is said of a method stands in
its own folder.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

from scorecube.errors import UnknownName

if TYPE_CHECKING:
    from scorecube.analyses.calculation import Calculation
    from scorecube.analyses.protocol import Analysis, Method
    from scorecube.methods.battles.record import Battles
    from scorecube.methods.compare.record import Compare, Gate
    from scorecube.methods.correlate.record import Correlation
    from scorecube.methods.design.record import Design, WorstCaseWidths
    from scorecube.methods.friedman.record import Friedman
    from scorecube.methods.judges.record import Judges
    from scorecube.methods.leaderboard.board import Board
    from scorecube.methods.leaderboard.record import Leaderboard
    from scorecube.methods.pairs.bootstrap import Bootstrap
    from scorecube.methods.pairs.maxt import MaxT
    from scorecube.methods.pairs.paired import Paired
    from scorecube.methods.pairs.randomisation import Randomisation
    from scorecube.methods.pairs.tukey import Tukey
    from scorecube.methods.reliability import Reliability
    from scorecube.methods.stability import Stability
    from scorecube.methods.swap.record import Swap
    from scorecube.methods.teams.record import Teams
    from scorecube.methods.variances import Variances

    __all__ = [
        "Battles",
        "Board",
        "Bootstrap",
        "Compare",
        "Correlation",
        "Design",
        "Friedman",
        "Gate",
        "Judges",
        "Leaderboard",
        "MaxT",
        "Paired",
        "Randomisation",
        "Reliability",
        "Stability",
        "Swap",
        "Teams",
        "Tukey",
        "Variances",
        "WorstCaseWidths",
    ]


LEAD = "Which systems lead, and which differ?"
SEPARATE = "Which metric separates systems, and how large must a difference be?"
TOPICS = "How many topics?"
JUDGED = "Do judgements, judges and teams change the results?"
FURTHER = "Further analyses"


class Entry(NamedTuple):
    """Where a method is, and what it is for.

    path: ``module:Class``.
    summary: First line of the docstring of the class.
    panel: Question under which the help lists it.
    stored: Whether results are computed by plans and stored in studies; else made of a cube when
        they are asked for.
    also: Other names that people look for.
    registered: The class of one from `register`, which need not be importable.
    """

    name: str
    path: str
    summary: str
    panel: str = FURTHER
    stored: bool = True
    also: str = ""
    registered: type[Method] | None = None

    @property
    def class_name(self) -> str:
        """Name of the class, which the package offers."""
        return self.path.partition(":")[2]

    @property
    def module(self) -> str:
        """Module of the class, of a built-in method below this package."""
        return self.path.partition(":")[0]


BUILT_IN = (
    Entry(
        "leaderboard",
        "leaderboard.record:Leaderboard",
        "Leaderboard: runs, best first, with limits of means, rank sets, and groups.",
        LEAD,
        also="confidence intervals of means, clustered standard errors, rank sets",
    ),
    Entry(
        "board",
        "leaderboard.board:Board",
        "Board: one ranking from many collections, with limits, rank sets, and groups.",
        LEAD,
        also="macro average, Borda count",
    ),
    Entry(
        "battles",
        "battles.record:Battles",
        "Battles of pairs of systems: Bradley-Terry strengths (Elo), with limits and rank sets.",
        LEAD,
    ),
    Entry(
        "friedman",
        "friedman.record:Friedman",
        "Friedman test of mean ranks over collections or topics, critical differences (Nemenyi).",
        LEAD,
        also="Friedman, Iman-Davenport, Nemenyi, Holm, critical-difference diagram",
    ),
    Entry(
        "maxt",
        "pairs.maxt:MaxT",
        "Step-down max-T test of all pairs together, also of runs that vary differently.",
        LEAD,
        also="Westfall-Young, family-wise error rate",
    ),
    Entry(
        "paired",
        "pairs.paired:Paired",
        "Paired t, Wilcoxon and sign tests of all pairs of runs.",
        LEAD,
        also="McNemar, Student's t, Wilcoxon, sign test, Cohen's d",
    ),
    Entry(
        "bootstrap",
        "pairs.bootstrap:Bootstrap",
        "Bootstrap test of all pairs of runs, with the estimated required difference.",
        LEAD,
        also="achieved significance level, discriminative power",
    ),
    Entry(
        "randomisation",
        "pairs.randomisation:Randomisation",
        "Paired randomisation (sign-flip) test of all pairs of runs.",
        LEAD,
        also="permutation test, sign flip",
    ),
    Entry(
        "tukey",
        "pairs.tukey:Tukey",
        "Randomised Tukey HSD test, which controls the family-wise error rate.",
        LEAD,
        also="Tukey's honestly significant difference",
    ),
    Entry(
        "swap",
        "swap.record:Swap",
        "Swap method: how large a difference does another set of topics confirm?",
        SEPARATE,
        also="discriminative power, Voorhees and Buckley",
    ),
    Entry(
        "stability",
        "stability:Stability",
        "Stability method: how often does a topic sample contradict most samples?",
        SEPARATE,
        also="Buckley and Voorhees",
    ),
    Entry(
        "correlate",
        "correlate.record:Correlation",
        "Rank correlation between metrics, or between gains such as 3:2:1, with intervals.",
        SEPARATE,
        also="Kendall's tau, tau AP, swops",
    ),
    Entry(
        "reliability",
        "reliability:Reliability",
        "Reliability of mean scores: generalizability (E rho^2, Phi), topics needed.",
        TOPICS,
        also="generalizability theory, variance components, D study, Cronbach's alpha",
    ),
    Entry(
        "judges",
        "judges.record:Judges",
        "Judges, human or machine, against the judgements that count as truth.",
        JUDGED,
        also="LLM judge, kappa, Krippendorff's alpha, prediction-powered",
    ),
    Entry(
        "teams",
        "teams.record:Teams",
        "Leave teams and topics out: what would a team lose that did not take part?",
        JUDGED,
        also="leave one team out, pool bias",
    ),
    Entry(
        "compare",
        "compare.record:Compare",
        "Compare two systems: differences with limits, wins, ties and losses.",
        LEAD,
        stored=False,
        also="A/B test, win rate",
    ),
    Entry(
        "gate",
        "compare.record:Gate",
        "Judge a system against a baseline; exit with status 3 if it fails, 4 without a verdict.",
        LEAD,
        stored=False,
        also="regression test, non-inferiority",
    ),
    Entry(
        "design",
        "design.record:Design",
        "Topic set size design: how many topics does a test collection need?",
        TOPICS,
        stored=False,
        also="power analysis, sample size",
    ),
    Entry(
        "wcw",
        "design.record:WorstCaseWidths",
        "Worst-case width of confidence intervals by number of topics, to compare measures.",
        TOPICS,
        stored=False,
        also="worst-case width",
    ),
    Entry(
        "variances",
        "variances:Variances",
        "Variances of scores within systems, and left after systems and topics, with limits.",
        TOPICS,
        stored=False,
        also="analysis of variance",
    ),
)
"""In the order of lists and reports."""
_ENTRIES = {entry.name: entry for entry in BUILT_IN}


def names() -> tuple[str, ...]:
    """Return the names of all methods whose results are stored, in order."""
    return tuple(entry.name for entry in entries())


def entries() -> tuple[Entry, ...]:
    """Return all methods whose results are stored, in order."""
    return tuple(entry for entry in _ENTRIES.values() if entry.stored)


def all_entries() -> tuple[Entry, ...]:
    """Return all methods, those last whose results are not stored."""
    return (*entries(), *(entry for entry in _ENTRIES.values() if not entry.stored))


def all_names() -> tuple[str, ...]:
    """Return the names of all methods, those last whose results are not stored."""
    return tuple(entry.name for entry in all_entries())


def load(name: str) -> type[Analysis]:
    """Return the class of a method whose results are stored, importing its module.

    Raises UnknownName: An unknown name.
    """
    if name not in names():
        raise UnknownName(f"no analysis {name!r}; known: {', '.join(names())}")
    return cast("type[Analysis]", find(name))


def calculation(name: str) -> type[Calculation]:
    """Return the class of a method whose results are not stored, importing its module."""
    return cast("type[Calculation]", find(name))


def find(name: str) -> type[Method] | None:
    """Return the class of any method; None where there is none of this name."""
    if name not in _ENTRIES:
        return None
    entry = _ENTRIES[name]
    method = entry.registered
    if method is None:
        module = import_module(f"{__package__}.{entry.module}")
        method = getattr(module, entry.class_name)
    from scorecube.declare.options import document

    document(method, method.variables)
    return method


def register(method: type[Method]) -> None:
    """Add a method from outside the package, or replace the one of the same name."""
    summary = (method.__doc__ or method.name).strip().splitlines()[0]
    path = f"{method.__module__}:{method.__qualname__}"
    _ENTRIES[method.name] = Entry(
        method.name, path, summary, stored=method.stored, registered=method
    )
