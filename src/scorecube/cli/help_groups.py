"""Help: commands in groups by question; options of a command in groups, with names of values instead of types."""

from typing import Any

from typer.core import TyperCommand

QUESTIONS = {
    "Begin": ("demo", "evaluate", "import", "fetch", "standardise"),
    "Which systems lead, and which differ?": (
        *("leaderboard", "board", "compare", "gate", "maxt", "paired", "bootstrap"),
        *("randomisation", "tukey", "unpaired"),
    ),
    "Which metric separates systems, and how large must a difference be?": (
        *("swap", "stability", "correlate", "preferences"),
    ),
    "How many topics?": ("design", "wcw", "reliability"),
    "Do judgements, judges and teams change the results?": ("judges", "teams"),
    "Show and publish": ("info", "show", "report", "figure", "list"),
    "Many collections, clusters and upkeep": (*("sweep", "merge", "verify", "unpack"),),
}
"""Commands in the order of the help; those of further packages stand behind them."""
FURTHER = "Further analyses"
WHERE = (
    *("collection", "metrics", "gains", "runs", "topics", "top_runs", "by"),
    *("missing", "by_topic"),
)
HOW_MUCH = ("trials", "seed", "workers", "memory", "cluster", "scheduler")
ADVANCED = ("dry_run",)
GROUPS = {"Where": WHERE, "How much": HOW_MUCH, "Advanced": ADVANCED}
"""Options that commands of analyses share, by group; the others of a command come first."""
LEAST = 12
"""Options of a command from which on they are in groups."""
VALUES = {
    "TEXT": "TEXT", "<str>": "TEXT", "<int>": "N", "<int range>": "N", "<float>": "X", "<float range>": "X", "<path>": "PATH",
    "<filename>": "PATH", "<file>": "PATH", "<directory>": "PATH", "<list[str]>": "PATH...", "<list[path]>": "PATH...",
}  # fmt: skip
"""How the parser names types, and the name of the value in the help."""


class GroupedCommand(TyperCommand):
    """A command whose help has groups of options."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage, without braces around arguments."""
        pieces = super().collect_usage_pieces(ctx)
        return [
            piece.removeprefix("{").replace("...}...", "...").replace("}", "") for piece in pieces
        ]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, in groups if there are many."""
        arguments: list[Any] = []
        options: list[Any] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            named = (with_value_name(record[0]), record[1])
            (arguments if parameter.param_type_name == "argument" else options).append(
                (parameter.name, named)
            )
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl([record for _, record in arguments])
        for title, records in grouped(options).items():
            with formatter.section(title):
                formatter.write_dl(records)


def grouped(options: list[tuple[str, Any]]) -> dict[str, list[Any]]:
    """Return the records of options by the title of their group.

    Examples
    --------
    >>> grouped([("study", 1), ("help", 2)])
    {'Options': [1, 2]}
    """
    shared = {name: title for title, names in GROUPS.items() for name in names}
    analysis = sum(name in shared for name, _ in options) >= LEAST
    if not analysis:
        return {"Options": [record for _, record in options]}
    found: dict[str, list[Any]] = {title: [] for title in ("What", *GROUPS)}
    for name, record in options:
        found["Advanced" if name == "help" else shared.get(name, "What")].append(record)
    return {title: records for title, records in found.items() if records}


def with_value_name(text: str) -> str:
    """Return the flags of an option with the name of its value instead of a type.

    Examples
    --------
    >>> with_value_name("--size <str>"), with_value_name("--rule s0|s1"), with_value_name("STUDY <str>")
    ('--size TEXT', '--rule s0|s1', 'STUDY')
    """
    start, found, kind = text.rpartition("<")
    if not found or not kind.endswith(">"):
        return text
    if not start.startswith("-"):
        return start.rstrip()
    return start + VALUES.get(f"<{kind}", kind[:-1].upper())
