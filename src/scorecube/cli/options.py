"""Options of commands: parameters of typer for declared options, and shared ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, cast

import typer

from scorecube.analyses.shared_options import SELECTION, SHARED
from scorecube.declare.options import Option
from scorecube.declare.presets import Paper
from scorecube.errors import BadPlan
from scorecube.ingest.options import COLLECTION

SCORES = "Which scores"
ADVANCED = "Advanced"
"""Panels of the help, behind the options of a command."""
ELEMENTS = ",..."
NAMES = f"A{ELEMENTS}"
"""Value of an option that is a list, in the help: given in parts, it is joined."""
PANELS = dict.fromkeys(("collection", *SELECTION), SCORES) | dict.fromkeys(
    ("workers", "cluster", "scheduler", "dry_run"), ADVANCED
)
"""Shared option -> panel."""


def flag(name: str, text: str, *others: str, **settings: Any) -> Any:
    """Return the declaration of an option for typer: its flag, its help, and further flags."""
    return typer.Option(name, *others, help=text, **settings)


def argument(name: str, text: str, **settings: Any) -> Any:
    """Return the declaration of an argument for typer: its name in the help, and its help."""
    return typer.Argument(metavar=name, help=text, **settings)


def keyword(
    name: str, hint: object, default: object = inspect.Parameter.empty
) -> inspect.Parameter:
    """Return a parameter of a command: its type with what typer needs, and its default."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, annotation=hint, default=default)


def parameter(option: Option, *, hidden: bool = False) -> inspect.Parameter:
    """Return the parameter of a declared option.

    Options other than single numbers, texts and truth values are parsed as text; see `value_of`.

    hidden: Whether the help leaves it out.
    """
    if option.argument:
        return keyword(option.name, Annotated[str, argument(option.argument, option.help)])
    panel = PANELS.get(option.name)
    settings: dict[str, Any] = {"help": option.help, "rich_help_panel": panel, "hidden": hidden}
    if not option.choices and option.scalar is not bool:
        settings["metavar"] = {float: "X", Path: "PATH"}.get(option.scalar, "TEXT")
        if option.listed and not (option.single and option.kind is str):
            settings["metavar"] = {int: "N", float: "X"}.get(option.kind, "A") + ELEMENTS
    kind = option.scalar or str
    default = cast("Any", option.default_text())
    if option.choices and option.scalar is str:
        kind = cast("Any", Literal)[tuple(option.choices)]
    elif option.choices:
        settings["metavar"] = "|".join(dict.fromkeys(option.choices)) + ELEMENTS
    if option.scalar is bool:
        default = False  # the flag sets the opposite of the default
    elif option.scalar is not None:
        default = option.default
    if option.scalar is int:
        settings |= {"min": option.minimum, "metavar": "N"}
    declared = typer.Option(*option.flags, **settings)
    if option.is_required:
        return keyword(option.name, Annotated[kind, declared])
    hint: Any = Annotated[kind if default is not None else Optional[kind], declared]
    return keyword(option.name, hint, default)


def value_of(option: Option, parsed: Any) -> Any:
    """Return the value of a declared option for the one that typer parsed.

    parsed: Of `parameter`'s type; None for the default.
    Raises BadParameter: A value that is not among the choices.
    """
    if parsed is None:
        return option.default
    if option.scalar is bool:
        return parsed != option.default
    try:
        return parsed if option.scalar is not None else option.checked(parsed)
    except BadPlan as error:
        if not option.choices:
            raise
        wrong = str(error).partition(": ")[2]
        raise typer.BadParameter(wrong, param_hint=option.flags[0]) from None


def with_options(
    declared: Mapping[str, Option], hidden: Collection[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds declared options to a command.

    hidden: Names of those that the help leaves out.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def parsed(**values: Any) -> None:
            read = {key: value_of(option, values[key]) for key, option in declared.items()}
            command(**(values | read))

        added = [parameter(option, hidden=key in hidden) for key, option in declared.items()]
        return with_parameters(parsed, command, *added)

    return decorate


def with_parameters(
    wrapper: Callable[..., None], command: Callable[..., None], *added: inspect.Parameter
) -> Callable[..., None]:
    """Give a wrapper the signature of its command, and further parameters."""
    names = [one.name for one in added]
    known = [
        one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for one in inspect.signature(command, eval_str=True).parameters.values()
        if one.kind is not inspect.Parameter.VAR_KEYWORD and one.name not in names
    ]
    wrapper.__signature__ = inspect.Signature([*known, *added])  # type: ignore[attr-defined]
    wrapper.__annotations__ = {one.name: one.annotation for one in (*known, *added)}
    return wrapper


def with_preset(
    context: typer.Context, paper: str | None, analysis: str, values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the values of the options of a command with those of a paper; what was given wins.

    Raises BadParameter: An analysis that the paper does not have.
    """
    if paper is None:
        return dict(values)
    from scorecube.workflow.presets import preset_of

    try:
        preset = preset_of(paper, analysis).values
    except BadPlan as error:
        raise typer.BadParameter(error.message(lambda _: "--as")) from None
    changed = {
        name: preset[name]
        for name in preset.keys() & values.keys()
        if getattr(context.get_parameter_source(name), "name", "") == "DEFAULT"
    }
    return {**values, **changed}


def _shared(option: Option) -> Any:
    return parameter(option).annotation.__metadata__[0]


StudyPath = Annotated[str, argument("STUDY", "Study: a directory, or s3://bucket/prefix.")]
Name = Annotated[str, flag("--name", "Name of the collection in the study.")]
Top = Annotated[
    Optional[int], flag("--top", "Rows to show, the first of each metric.", min=1, metavar="N")
]
PAPERS = "Settings of sakai-2005, -2007, -2017 or sakai-shang-2016; options that are given win."
As = Annotated[Optional[Paper], flag("--as", PAPERS, rich_help_panel=ADVANCED, metavar="PAPER")]
VARIANCE_OF = (
    "paired: of systems on the same topics (two-way residual); within: within systems (one-way, "
    "equation 1 of Sakai's papers)."
)
VarianceOf = Annotated[Optional[Literal["paired", "within"]], flag("--variance-of", VARIANCE_OF)]
Text = Optional[str]
OutPath = Optional[Path]
TableFormat = Literal["text", "csv", "json", "markdown", "latex"]
FormatOption = Annotated[TableFormat, flag("--format", "Of the table.")]
CollectionNames = Annotated[Text, _shared(SHARED["collection"])]
Metrics = Annotated[Optional[str], _shared(SHARED["metrics"])]
Workers = Annotated[Optional[int], _shared(SHARED["workers"])]
Cluster = Annotated[Optional[Path], _shared(SHARED["cluster"])]
Scheduler = Annotated[Optional[str], _shared(SHARED["scheduler"])]
Replace = Annotated[bool, _shared(COLLECTION["replace"])]
