"""Options that several commands share: types, flags and help."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, cast

import typer

from scorecube import names
from scorecube.analyses import options
from scorecube.analyses.options import Option
from scorecube.analyses.shared_options import SHARED
from scorecube.cli.completion import metric_names, one_of
from scorecube.errors import BadPlan

StudyPath = Annotated[
    str,
    typer.Argument(metavar="STUDY", help="Study: a directory (zarr store), or s3://bucket/prefix."),
]
Name = Annotated[str, typer.Option("--name", help="Name of the collection in the study.")]
Teams = Annotated[
    Optional[Path],
    typer.Option(
        "--teams",
        help="CSV file with the columns run, and team or system (whose repetition the run is) or both.",
    ),
]
TopicGroups = Annotated[
    Optional[Path],
    typer.Option(
        "--topic-groups",
        help="CSV file with the columns topic and topic_group, such as the conversation that a turn belongs to.",
    ),
]
Replace = Annotated[
    bool,
    typer.Option(
        "--replace",
        help="Replace the scores of the collection; results of other scores become outdated.",
    ),
]
AddRuns = Annotated[
    bool,
    typer.Option(
        "--add-runs",
        help="Add runs to the collection, under its own metrics and gain settings; its results become outdated.",
    ),
]

RunFiles = Annotated[
    list[str],
    typer.Option(
        "--runs",
        help="Run files, directories or globs, plain or gzip; several may follow. Or the directory that contains NTCIREVAL's "
        "ranked lists <topic>/<topic>.<run>.res (or .lab).",
    ),
]
QrelsFile = Annotated[
    Path,
    typer.Option(
        "--qrels", help="Judgements: a file, or the directory of NTCIREVAL's <topic>.rel files."
    ),
]
DEFAULT_METRICS = ",".join(names.DEFAULT_METRICS)
Metrics = Annotated[
    str,
    typer.Option(
        "--metrics",
        "--metric",
        help="Metric names, separated by commas.",
        autocompletion=metric_names,
    ),
]
SomeMetrics = Annotated[
    Optional[str],
    typer.Option("--metrics", "--metric", help="Metrics, separated by commas; all by default."),
]
Collections = Annotated[
    Optional[str],
    typer.Option("--collection", help="Collections, separated by commas; all by default."),
]
Gains = Annotated[
    str, typer.Option("--gains", help="Gain settings, highest level first, e.g. 3:2:1,1:1:1.")
]
Order = Annotated[
    Literal["score", "score-docno-desc", "score-docno-asc", "score-stable", "file", "rank"],
    typer.Option(
        "--order", help="Order of documents: score as in trec_eval, file as in NTCIREVAL."
    ),
]
Precision = Annotated[
    Literal["single", "double"],
    typer.Option(
        "--score-precision",
        help="Compare scores as 32-bit (trec_eval up to 9) or 64-bit floats (trec_eval 10).",
    ),
]
Depth = Annotated[Optional[int], typer.Option("--depth", min=1, help="Ranks kept per topic.")]
RunName = Annotated[
    Literal["tag", "file"],
    typer.Option("--run-name", help="Name runs by their last column or by file name."),
]
Duplicates = Annotated[
    Literal["error", "first", "ntcireval"],
    typer.Option(
        "--duplicates",
        help="Document listed twice in a topic: an error, the first counts, or both.",
    ),
]
QrelsFormat = Annotated[
    Literal["auto", "trec", "ntcir", "ntcir-grades", "trec-intents", "trec-classes"],
    typer.Option(
        "--qrels-format",
        help="Line format of the judgements: ntcir is 'topic doc L2', ntcir-grades has S, A, B, C; the second column of "
        "trec-intents is an intent, that of trec-classes a class of equivalent answers.",
    ),
]
Intents = Annotated[
    Optional[Path],
    typer.Option(
        "--intents",
        help="CSV file with the columns topic,intent,probability; equally likely by default.",
    ),
]
Levels = Annotated[
    Optional[str],
    typer.Option(
        "--levels",
        help="Map levels of the judgements, e.g. 2:3,1:1, or real numbers to levels, e.g. '>=0.5:1,>=0.8:2'.",
    ),
]
NoRelevant = Annotated[
    Literal["exclude", "zero"],
    typer.Option(
        "--no-relevant",
        help="Topics without relevant documents: excluded, or score 0 (as in trec_eval).",
    ),
]
MissingTopic = Annotated[
    Literal["zero", "nan"],
    typer.Option("--missing-topic", help="Score of a judged topic that a run lacks."),
]
Unjudged = Annotated[
    Literal["nonrelevant", "condense"],
    typer.Option(
        "--unjudged",
        help="Unjudged documents: not relevant, or removed from the lists (judged_only=True for all metrics).",
    ),
]

FORMAT_WORDS = one_of("text", "csv", "json", "markdown", "latex")
Format = Annotated[
    str,
    typer.Option(
        "--format",
        help="text, csv, json, markdown or latex. In csv labels that begin like a formula of a spreadsheet (=, +, -, @) stand behind an "
        "apostrophe, which scorecube import removes; in json all labels are exact.",
        autocompletion=FORMAT_WORDS,
    ),
]


def parameter(option: Option) -> tuple[Any, Any]:
    """Return the annotated type and the default of a declared option, for the parser.

    Options other than single numbers, texts and truth values are parsed as text; see `value_of`.
    """
    completion = {"metrics": metric_names}.get(option.name) or (
        one_of(*option.choices) if option.choices else None
    )
    settings: dict[str, Any] = {"help": option.help, "autocompletion": completion}
    kind, default = option.scalar or str, cast("Any", option.default_text())
    if option.choices:
        separated = "" if option.scalar is str else ",..."
        settings["metavar"] = "|".join([*map(str, option.choices), *option.aliases]) + separated
    if option.scalar is bool:
        default = None if option.opposite else False
    elif option.scalar is not None:
        default = option.default
        if (
            option.scalar is int
        ):  # limits of other numbers may be excluded, which the parser does not know
            settings |= {"min": option.minimum, "max": option.maximum}
    if option.positional:
        return Annotated[kind, typer.Argument(**settings)], default
    # A flag of a truth value always sets the opposite of the default.
    flags = (f"{option.flag}/--{option.opposite}",) if option.opposite else option.flags
    declared = typer.Option(*(flags or (option.flag,)), **settings)
    return Annotated[kind if default is not None else Optional[kind], declared], default


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
        return parsed if option.opposite else parsed != option.default
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


def _declaration(name: str) -> Any:
    """Return the declaration of a shared option for the parser."""
    return parameter(SHARED[name])[0].__metadata__[0]


Workers = Annotated[Optional[int], _declaration("workers")]
Cluster = Annotated[Optional[Path], _declaration("cluster")]
Scheduler = Annotated[Optional[str], _declaration("scheduler")]
Memory = Annotated[Optional[str], _declaration("memory")]
