"""What a shell user meets beside the commands: the list of commands, completion, "did you mean"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from scorecube.cli.terminal import give_up_stdout, say
from scorecube.errors import did_you_mean

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells expect it."""
LISTED = ("metrics", "analyses", "gains")
CHOICE = re.compile(r"^(?:Value error, )?'(?P<found>.*)' is not one of (?P<known>.+?)\.?$", re.DOTALL)


def amended(message: str) -> str:
    """Return a message about a word that is not among the known ones, with the ones it looks like.

    Examples
    --------
    >>> amended("'disjiont' is not one of disjoint, replacement, independent")
    "'disjiont' is not one of disjoint, replacement, independent. Did you mean 'disjoint'?"
    """
    told = CHOICE.match(message)
    if told is None:
        return message
    known = [word.strip(" '") for word in told["known"].split(",")]
    return message.removeprefix("Value error, ").removesuffix(".") + did_you_mean(told["found"], known)


@dataclass(frozen=True)
class CommandSource:
    """A command that is not built yet: what it does in one sentence, and how to get the function behind it."""

    summary: str
    function: Callable[[], Callable[..., None]]


class Commands(TyperGroup):
    """The program: builds a command when it is invoked, lists commands with whole sentences, suggests similar words."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.sources = self.find_sources()
        self.commands = {name: TyperCommand(name, help=source.summary) for name, source in self.sources.items()}

    def find_sources(self) -> dict[str, CommandSource]:
        """Return all commands by name."""
        return {}

    def build(self, name: str) -> Any:
        """Return a command with its options."""
        one = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        one.command(name)(self.sources[name].function())
        return typer.main.get_command(one)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that words begin with, built, and the other words."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else self.build(name), rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the list of commands, wrapped instead of cut off."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, source.summary) for name, source in self.sources.items()])

    def make_context(self, *given: Any, **how: Any) -> Any:
        """Read the words; --help is printed here."""
        with _readers_may_leave():
            return super().make_context(*given, **how)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            with _readers_may_leave():
                return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = amended(error.message)
            raise
        except KeyboardInterrupt:
            say("interrupted; nothing that was finished is lost, and the same command goes on from there")
            raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _readers_may_leave() -> Iterator[None]:
    """End well when nobody reads on; told here, as the parser around would end with status 1."""
    try:
        yield
    except BrokenPipeError:
        give_up_stdout()
        raise typer.Exit(0) from None


def one_of(*words: str) -> Callable[[str], list[str]]:
    """Return a completion by some words."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete


def listing(incomplete: str, known: Sequence[str]) -> list[str]:
    """Return completions of the last word of a comma-separated text by words that it does not hold yet.

    Examples
    --------
    >>> listing("AP,n", ["AP", "nDCG@10", "nERR@10"])
    ['AP,nDCG@10', 'AP,nERR@10']
    """
    before, comma, last = incomplete.rpartition(",")
    there = before.split(",")
    return [before + comma + word for word in known if word.startswith(last) and word not in there]


def shown_names(incomplete: str) -> list[str]:
    """Complete what `scorecube show` has tables of."""
    from scorecube.report.views.registry import view_names

    return one_of(*view_names())(incomplete)


def metric_names(incomplete: str) -> list[str]:
    """Complete metrics, separated by commas; those that need a cut-off end in @."""
    from scorecube.metrics import DEFINITIONS

    names = [name + ("@" if each.cutoff == "required" else "") for name, each in DEFINITIONS.items()]
    return listing(incomplete, names)
