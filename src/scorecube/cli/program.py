"""The command line: its entry point, the commands by question, and how a command ends.

Commands import what they need when they run, so that help and completion are fast.
"""

from __future__ import annotations

import atexit
import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from functools import wraps
from itertools import chain
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from scorecube.cli import terminal
from scorecube.cli.analysis_commands import analysis_command
from scorecube.cli.calculation_commands import calculation_command
from scorecube.cli.collection_commands import evaluate, fetch, import_, preferences, standardise
from scorecube.cli.demo import demo
from scorecube.cli.help import help_text
from scorecube.cli.options import ADVANCED, ELEMENTS, flag, keyword, with_parameters
from scorecube.cli.study_commands import (
    figure,
    forget,
    info,
    list_,
    merge,
    pack,
    report,
    show,
    verify,
)
from scorecube.cli.sweep_command import sweep
from scorecube.cli.terminal import discard_stdout, notify
from scorecube.errors import ScorecubeError, default_flag
from scorecube.methods import index
from scorecube.workflow.plugins import load_plugins

COMMANDS: tuple[Callable[..., None], ...] = (
    *(demo, evaluate, import_, fetch, standardise, preferences),
    *(info, show, report, figure, list_, merge, pack, verify, forget, sweep),
)
FUNCTIONS = {command.__name__.strip("_"): command for command in COMMANDS}
"""All commands but those of methods."""
QUESTIONS = {
    "Begin": "demo evaluate import fetch standardise",
    index.LEAD: "",
    index.SEPARATE: "preferences",
    index.TOPICS: "",
    index.JUDGED: "",
    "Show and publish": "info show report figure list",
    "Many collections, clusters and upkeep": "sweep pack merge verify forget",
}
"""Commands in the order of the help, those of methods before; further packages stand behind."""
FLAGS = {"collections": "--collection"}
"""Argument -> flag, for arguments of functions that commands name differently."""
CHUNK_DAMAGED = "decompression error"
"""Message of the decompressor for damaged bytes of a large result, which is read chunk by chunk."""
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class Command(TyperCommand):
    """A command with several values behind one flag, and errors that name its flags."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words; ``--runs a b c`` is ``--runs a --runs b --runs c``."""
        multiple = [parameter.opts for parameter in self.params if parameter.multiple]
        repeated = {*chain.from_iterable(multiple)}
        words: list[str] = []
        current = ""
        for word in args:
            if word.startswith("-"):
                current = word if word in repeated else ""
            elif current and words[-1] != current:
                words.append(current)
            words.append(word)
        return super().parse_args(ctx, self.with_values_once(words))

    def with_values_once(self, words: Sequence[str]) -> list[str]:
        """Return the words with each option once: parts of a list are joined.

        The name of a list may be singular, as in ``--metric A --metric B``.
        Raises BadParameter: Two values of an option that has one.
        """
        options: dict[str, Any] = {}
        for parameter in self.params:
            flags = [name for name in parameter.opts if name.startswith("--")]
            options |= dict.fromkeys(flags, parameter)
        values: dict[str, str] = {}
        others: list[str] = []
        rest = [*words]
        while rest and rest[0] != "--":
            word = rest.pop(0)
            name, equals, value = word.partition("=")
            one = options.get(name) or options.get(f"{name}s")
            if one is None or one.is_flag or one.multiple or not (equals or rest):
                others.append(word)
                continue
            value = value if equals else rest.pop(0)
            name = one.opts[0]
            before = values.get(name, value)
            is_list = (one.metavar or "").endswith(ELEMENTS)
            if before != value and not is_list:
                raise typer.BadParameter(f"{name} has one value: {before}, or {value}")
            values[name] = f"{before},{value}" if is_list and name in values else value
        return [*(f"{name}={value}" for name, value in values.items()), *others, *rest]

    def flag_of(self, argument: str) -> str:
        """Return the flag of an argument that an error names."""
        flags = {
            parameter.name: parameter.opts[0]
            for parameter in self.params
            if parameter.opts[0].startswith("--")
        }
        return flags.get(argument) or FLAGS.get(argument) or default_flag(argument)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write(help_text(self, ctx))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; errors of the user are one message."""
        try:
            return super().invoke(ctx)
        except ScorecubeError as error:
            fail(error.message(self.flag_of))


def with_quiet(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes ``--quiet``, too."""

    @wraps(command)
    def chosen(quiet: bool, **values: Any) -> None:
        terminal.be_quiet(quiet)
        command(**values)

    hint = Annotated[bool, flag("--quiet", "Print errors only.", rich_help_panel=ADVANCED)]
    return with_parameters(chosen, command, keyword("quiet", hint, False))


def panels_of_commands() -> dict[str, str]:
    """Return the question under which the help lists each command, methods first."""
    panels: dict[str, str] = {}
    for title, others in QUESTIONS.items():
        methods = [entry.name for entry in index.all_entries() if entry.panel == title]
        panels |= dict.fromkeys([*methods, *others.split()], title)
    return panels


def command_of_method(name: str) -> Callable[..., None]:
    """Return the function of the command of a method."""
    return (analysis_command if name in index.names() else calculation_command)(name)


class Program(TyperGroup):
    """All commands; one is built when it is invoked, as options come with their kernels."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for problem in load_plugins():
            notify(f"note: {problem}")
        analyses = {entry.name: entry.summary for entry in index.all_entries()}
        summaries = analyses | {
            name: (function.__doc__ or "").partition("\n\n")[0]
            for name, function in FUNCTIONS.items()
        }
        panels = panels_of_commands()
        panels |= dict.fromkeys(summaries.keys() - panels.keys(), index.FURTHER)
        self.commands = {
            name: TyperCommand(name, help=summaries[name], rich_help_panel=title)
            for name, title in panels.items()
        }

    def build(self, name: str) -> Any:
        """Return a command with its options."""
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        function = FUNCTIONS[name] if name in FUNCTIONS else command_of_method(name)
        single.command(name, cls=Command)(with_quiet(function))
        return typer.main.get_command(single)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name of a command, the command with its options, and the remaining words."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else self.build(name), rest


app = typer.Typer(cls=Program, add_completion=True, pretty_exceptions_enable=False)


def show_version(requested: bool) -> None:
    """Print the version and exit, if requested."""
    if requested:
        from importlib.metadata import version

        typer.echo(version("scorecube"))
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool, flag("--version", "Show the version.", callback=show_version, is_eager=True)
    ] = False,
) -> None:
    """Resampling analyses for information-retrieval meta-evaluation.

    Usual steps: scorecube evaluate, then analyses such as leaderboard and swap, then report.

    Example: scorecube demo
    """


def main() -> None:
    """Run a command and exit: 0, 1 after an error, 2 after wrong usage, 128 + a signal."""
    # Other processes import nothing from the current directory, either.
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    # A quarter of a short command's time would go into the search for cycles among what libraries
    # define, while they are imported and once more at the end.
    gc.set_threshold(5000)
    # Clusters of queueing systems may leave files of keys to that search.
    atexit.register(lambda: None if "distributed" in sys.modules else gc.freeze())
    status = 0
    with interruptible() as received:
        try:
            status = run(sys.argv[1:] or ["--help"])
        except BaseException:
            if not received:
                raise
        if received:  # while further signals are ignored
            exit_after(received[0])
    sys.exit(status)


def run(words: list[str]) -> int:
    """Run a command and return its exit status; expected errors are one message."""
    commands: Any = typer.main.get_command(app)
    try:
        status: int | None = commands(words, prog_name="scorecube", standalone_mode=False)
        sys.stdout.flush()
    except ScorecubeError as error:
        fail(error.message())
    except typer.TyperException as error:
        message = error.format_message().replace("Value error, ", "")
        commas = "; values of an option stand between commas: A,B" * ("extra argument" in message)
        fail(f"{message}{commas}", error.exit_code)
    except (OSError, MemoryError) as error:
        discard_stdout()
        fail(text_of_failure(error))
    except RuntimeError as error:
        if CHUNK_DAMAGED not in str(error):
            raise
        fail(f"a part of the study cannot be read: {error}; run scorecube verify to find it")
    return status or 0


def fail(message: str, status: int = 1) -> NoReturn:
    """Print an error and exit."""
    notify(f"error: {message}", error=True)
    sys.exit(status)


def text_of_failure(error: OSError | MemoryError) -> str:
    """Return one line on an error that no command expects: the file, the error, and what to do.

    Examples
    --------
    >>> import errno
    >>> text_of_failure(OSError(errno.ENOSPC, "No space left on device", "out.html"))
    'out.html: No space left on device; mend this and run the same command again'
    """
    if isinstance(error, MemoryError):
        why = str(error) or "the machine refused to give more; select fewer runs or metrics"
        return f"out of memory: {why}, and run the same command again: stored work is kept"
    if error.errno is None:
        return " ".join(str(error).split()) or type(error).__name__
    place = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    return f"{place}{os.strerror(error.errno)}; mend this and run the same command again"


@contextmanager
def interruptible() -> Iterator[list[int]]:
    """Turn the first signal that ends a command into KeyboardInterrupt; yield the signals received.

    Clusters and temporary files are removed as after any other error; later signals, which would
    interrupt that, are ignored. Signals that are ignored from the start (nohup) stay ignored.
    """
    received: list[int] = []
    before: dict[int, Any] = {}

    def interrupt(number: int, _: FrameType | None) -> None:
        received.append(number)
        if len(received) == 1:
            raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        numbers = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
        handled = [n for n in numbers if signal.getsignal(n) not in (signal.SIG_IGN, None)]
        before = {number: signal.signal(number, interrupt) for number in handled}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def exit_after(number: int) -> NoReturn:
    """End this process after a signal, without waiting for threads that still compute a block."""
    cause = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
    notify(
        f"interrupted{cause}: recorded blocks and results are kept; "
        "rerun the same command to resume"
    )
    logging.disable()  # of dask, whose folders are gone
    with redirect_stderr(None):  # dask closes clusters that were still starting once more
        atexit._run_exitfuncs()  # or multiprocessing reports its semaphores as leaked
    os._exit(128 + number)
