"""The list of commands, completion in shells, and suggestions for misspelt words."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from scorecube.cli.help_groups import FURTHER, QUESTIONS, GroupedCommand
from scorecube.cli.light_imports import import_xarray
from scorecube.cli.terminal import discard_stdout
from scorecube.errors import did_you_mean

LISTED = ("metrics", "analyses", "gains")
"""Arguments of the command list."""
CHOICE = re.compile(
    r"^(?:Value error, )?'(?P<word>.*)' is not one of (?P<known>.+?)\.?$", re.DOTALL
)


def with_suggestion(message: str) -> str:
    """Return a message about an unknown word, with similar known words appended.

    Examples
    --------
    >>> with_suggestion("'disjiont' is not one of disjoint, replacement, independent")
    "'disjiont' is not one of disjoint, replacement, independent. Did you mean 'disjoint'?"
    """
    match = CHOICE.match(message)
    if match is None:
        return message
    known = [word.strip(" '") for word in match["known"].split(",")]
    return message.removeprefix("Value error, ").removesuffix(".") + did_you_mean(
        match["word"], known
    )


@dataclass(frozen=True)
class CommandSource:
    """A command before it is built: its summary in one sentence, and a loader of its function."""

    summary: str
    function: Callable[[], Callable[..., None]]


WITHOUT_XARRAY = {"info"}
"""Commands that do not use it."""


class Commands(TyperGroup):
    """A group of commands that builds a command when it is invoked, and suggests similar words."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.without_options = False
        self.sources = self.find_sources()
        self.commands = {
            name: TyperCommand(name, help=source.summary) for name, source in self.sources.items()
        }

    def find_sources(self) -> dict[str, CommandSource]:
        """Return all commands by name."""
        return {}

    def build(self, name: str) -> Any:
        """Return a command with its options."""
        single = typer.Typer(
            add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
        )
        function = self.sources[name].function()
        single.command(name, cls=GroupedCommand)(
            function if name in WITHOUT_XARRAY else _with_light_imports(function)
        )
        return typer.main.get_command(single)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name of a command, the command with its options, and the remaining words."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else self.build(name), rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the lists of commands by question, with wrapped summaries."""
        known = {name for names in QUESTIONS.values() for name in names}
        further = {FURTHER: tuple(name for name in self.sources if name not in known)}
        for title, names in (QUESTIONS | further).items():
            rows = [(name, self.sources[name].summary) for name in names if name in self.sources]
            if rows:
                with formatter.section(title.removesuffix("?")):
                    formatter.write_dl(rows)

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Parse the words; --help is printed here."""
        # A line that is completed needs no values of the program's own options, for which typer would load pydantic.
        self.without_options = bool(settings.get("resilient_parsing"))
        try:
            with _closed_pipe_allowed():
                return super().make_context(*arguments, **settings)
        finally:
            self.without_options = False

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the program's own options."""
        return [] if self.without_options else list(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            with _closed_pipe_allowed():
                return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = with_suggestion(error.message)
            raise


def _with_light_imports(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command that imports xarray first; its help does not."""

    @wraps(function)
    def command(*arguments: Any, **values: Any) -> None:
        import_xarray()
        function(*arguments, **values)

    return command


@contextmanager
def _closed_pipe_allowed() -> Iterator[None]:
    """Exit with status 0 if the reader of stdout closes the pipe; the parser would exit with status 1."""
    try:
        yield
    except BrokenPipeError:
        discard_stdout()
        raise typer.Exit(0) from None


def one_of(*words: str) -> Callable[[str], list[str]]:
    """Return a function that completes one of some words."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete


def complete_list(incomplete: str, known: Sequence[str]) -> list[str]:
    """Return completions of the last word of a comma-separated text, without words it already contains.

    Examples
    --------
    >>> complete_list("AP,n", ["AP", "nDCG@10", "nERR@10"])
    ['AP,nDCG@10', 'AP,nERR@10']
    """
    before, comma, last = incomplete.rpartition(",")
    used = before.split(",")
    return [before + comma + word for word in known if word.startswith(last) and word not in used]


def shown_names(incomplete: str) -> list[str]:
    """Complete the names of views with tables, for `scorecube show`."""
    from scorecube.report.views import view_names

    return one_of(*view_names())(incomplete)


def table_names(ctx: Any, incomplete: str) -> list[str]:
    """Complete the tables of the analysis that `scorecube show` was called with."""
    from scorecube.report.views import view_names, view_of

    # The parser stops at an option without its value, and leaves the words before it: study, analysis.
    analysis = ctx.params.get("analysis") or next(iter(ctx.args[1:2]), None)
    chosen = [analysis] if analysis in view_names() else view_names()
    tables = dict.fromkeys(table for name in chosen for table in view_of(name).tables)
    return one_of(*tables)(incomplete)


def metric_names(incomplete: str) -> list[str]:
    """Complete metrics, separated by commas; metrics that require a cut-off end in @."""
    from scorecube.metrics import DEFINITIONS

    names = [
        name + ("@" if definition.cutoff == "required" else "")
        for name, definition in DEFINITIONS.items()
    ]
    return complete_list(incomplete, names)
