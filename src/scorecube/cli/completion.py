"""The list of commands, and suggestions for misspelt words."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from scorecube.cli.help_groups import FURTHER, QUESTIONS, GroupedCommand
from scorecube.cli.terminal import discard_stdout
from scorecube.errors import did_you_mean

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


class Commands(TyperGroup):
    """A group of commands that builds a command when it is invoked, and suggests similar words."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
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
        single.command(name, cls=GroupedCommand)(self.sources[name].function())
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
        with _closed_pipe_allowed():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            with _closed_pipe_allowed():
                return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = with_suggestion(error.message)
            raise


@contextmanager
def _closed_pipe_allowed() -> Iterator[None]:
    """Exit with status 0 if the reader of stdout closes the pipe; the parser would exit with status 1."""
    try:
        yield
    except BrokenPipeError:
        discard_stdout()
        raise typer.Exit(0) from None
