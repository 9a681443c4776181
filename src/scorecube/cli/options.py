"""Options that several commands share: types, flags and help."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Optional, cast

import typer

from scorecube.analyses import options
from scorecube.analyses.options import Option
from scorecube.analyses.shared_options import SHARED
from scorecube.errors import BadPlan
from scorecube.ingest.options import COLLECTION


def flag(name: str, text: str, *others: str, **settings: Any) -> Any:
    """Return the declaration of an option for the parser: its flag, its help, and further flags."""
    return typer.Option(name, *others, help=text, **settings)


def argument(name: str, text: str, **settings: Any) -> Any:
    """Return the declaration of an argument for the parser: its name in the help, and its help."""
    return typer.Argument(metavar=name, help=text, **settings)


StudyPath = Annotated[
    str, argument("STUDY", "Study: a directory (zarr store), or s3://bucket/prefix.")
]
Name = Annotated[str, flag("--name", "Name of the collection in the study.")]
RunFiles = Annotated[
    list[str],
    flag(
        "--runs",
        "Run files, directories or globs, plain or gzip; several may follow. Or the directory that contains NTCIREVAL's "
        "ranked lists <topic>/<topic>.<run>.res.",
    ),
]
QrelsFile = Annotated[
    Path, flag("--qrels", "Judgements: a file, or the directory of NTCIREVAL's <topic>.rel files.")
]
Top = Annotated[Optional[int], flag("--top", "Rows to show, the first of each metric.", min=1)]
Format = Annotated[
    str,
    flag(
        "--format",
        "text, csv, json, markdown or latex. In csv labels that begin like a formula of a spreadsheet (=, +, -, @) stand behind an "
        "apostrophe, which scorecube import removes; in json all labels are exact.",
    ),
]


def parameter(option: Option) -> tuple[Any, Any]:
    """Return the annotated type and the default of a declared option, for the parser.

    Options other than single numbers, texts and truth values are parsed as text; see `value_of`.
    """
    settings: dict[str, Any] = {"help": option.help}
    kind, default = option.scalar or str, cast("Any", option.default_text())
    if option.choices:
        separated = "" if option.scalar is str else ",..."
        settings["metavar"] = "|".join([*map(str, option.choices), *option.aliases]) + separated
    if option.scalar is bool:
        default = False
    elif option.scalar is not None:
        default = option.default
        if (
            option.scalar is int
        ):  # limits of other numbers may be excluded, which the parser does not know
            settings |= {"min": option.minimum, "max": option.maximum}
    if option.positional:
        return Annotated[kind, typer.Argument(**settings)], default
    # A flag of a truth value always sets the opposite of the default.
    declared = typer.Option(*(option.flags or (option.flag,)), **settings)
    return Annotated[kind if default is not None else Optional[kind], declared], default


def with_declared(
    declared: Mapping[str, Option],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command declared options, behind its own and before those that it takes by name only."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def parsed(**values: Any) -> None:
            read = {key: value_of(option, values[key]) for key, option in declared.items()}
            command(**(values | read))

        first: dict[str, tuple[Any, Any]] = {}
        last: dict[str, tuple[Any, Any]] = {}
        for each in inspect.signature(command, eval_str=True).parameters.values():
            if each.kind is not each.VAR_KEYWORD and each.name not in declared:
                part = last if each.kind is each.KEYWORD_ONLY else first
                part[each.name] = each.annotation, each.default
        options = {key: parameter(option) for key, option in declared.items()}
        return with_parameters(parsed, first | options | last)

    return decorate


def with_parameters(
    command: Callable[..., None], declared: Mapping[str, tuple[Any, Any]]
) -> Callable[..., None]:
    """Return a command whose signature is made of types and defaults, by name; the parser passes all values by name."""
    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        for name, (hint, default) in declared.items()
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def value_of(option: Option, parsed: Any) -> Any:
    """Return the value of a declared option for the value of the parser; refuse values that are not among its choices."""
    if parsed is None:
        return option.default
    if option.scalar is bool:
        return parsed != option.default
    value = parsed if option.scalar is not None else option.parse(parsed)
    if problem := option.problem(value):
        raise typer.BadParameter(problem, param_hint=option.flag)
    return value


def check_choice(flag: str, value: str, known: Sequence[str]) -> None:
    """Refuse a word that is not among the known ones."""
    if value not in known:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(known)}", param_hint=flag)


def parse_numbers(flag: str, text: str) -> tuple[float, ...]:
    """Return the numbers of a comma-separated text, also repeated ones."""
    try:
        return options.parse_numbers(text)
    except ValueError:
        raise BadPlan(f"{flag} {text!r} is not numbers separated by commas") from None


def _declaration(option: Option) -> Any:
    """Return the declaration of an option for the parser."""
    return parameter(option)[0].__metadata__[0]


Collections = Annotated[Optional[str], _declaration(SHARED["collection"])]
SomeMetrics = Annotated[Optional[str], _declaration(SHARED["metrics"])]
Workers = Annotated[Optional[int], _declaration(SHARED["workers"])]
Cluster = Annotated[Optional[Path], _declaration(SHARED["cluster"])]
Scheduler = Annotated[Optional[str], _declaration(SHARED["scheduler"])]
Memory = Annotated[Optional[str], _declaration(SHARED["memory"])]
Replace = Annotated[bool, _declaration(COLLECTION["replace"])]
