"""Commands of the analyses, made from the options that their records declare."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from scorecube import names
from scorecube.analyses import registry
from scorecube.analyses.options import options_of
from scorecube.analyses.shared_options import SHARED
from scorecube.cli import options
from scorecube.errors import BadPlan

KIND = inspect.Parameter.POSITIONAL_OR_KEYWORD


@dataclass(frozen=True)
class Extension:
    """What the command of an analysis has beside the options of its record.

    Parameters
    ----------
    parameters
        Name -> type and default.
    before
        Called with all options by name before the analysis; returns them, some perhaps changed.
    details, example
        For its help.
    """

    parameters: Mapping[str, tuple[Any, Any]]
    before: Callable[[dict[str, Any]], dict[str, Any]]
    details: str
    example: str


def evaluate_two(given: dict[str, Any]) -> dict[str, Any]:
    """Evaluate run files with two files of judgements into the study, if they are given; return options that name both."""
    files = [given[key] for key in ("run_files", "qrels_a", "qrels_b")]
    if not any(files):
        return given
    if not all(files):
        raise BadPlan("--run-files, --qrels-a and --qrels-b go together: the same runs, and two files of judgements")
    if given["dry_run"]:
        raise BadPlan("--dry-run evaluates nothing: make both collections with scorecube evaluate first")
    from scorecube.cli.run_analysis import evaluate_two_sets

    labels = given["collection"] or [path.name.split(".")[0] for path in files[1:]]
    metrics, gains = given["metrics"] or names.DEFAULT_METRICS, given["gains"] or ["auto"]
    how = {"run_name": given["run_name"], "workers": given["workers"]}
    evaluate_two_sets(given["study"], labels, files[0], files[1:], metrics, gains, **how)
    return given | {"collection": labels}


EXTENSIONS = {
    "agreement": Extension(
        {
            "run_files": (
                Annotated[
                    Optional[list[str]],
                    typer.Option(
                        "--run-files",
                        help="Evaluate these runs with --qrels-a and --qrels-b first; several may follow.",
                    ),
                ],
                None,
            ),
            "qrels_a": (Annotated[Optional[Path], typer.Option("--qrels-a", help="The truth.")], None),
            "qrels_b": (Annotated[Optional[Path], typer.Option("--qrels-b", help="Second judgements.")], None),
            "run_name": (options.RunName, "tag"),
        },
        evaluate_two,
        "The sets are two collections of the study, the first of which is the truth; with just two in the study they need not be "
        "named. Or they are made of run files and two files of judgements: --collections then names them, else the files' names do.",
        "--run-files runs/ --qrels-a official.txt --qrels-b llm.txt --metrics AP,nDCG@10",
    )
}


def analysis_command(name: str) -> Callable[..., None]:
    """Return the function behind the command of an analysis; its signature is made from the declared options."""
    kind, extension = registry.load(name), EXTENSIONS.get(name)
    own = {key: each for key, each in options_of(kind).items() if each.on_command_line}
    shared = {key: replace(each, **kind.changed_options.get(key, {})) for key, each in SHARED.items()}

    def command(**given: Any) -> None:
        from scorecube.cli.run_analysis import run_analysis

        values = given | {key: options.value_of(each, given[key]) for key, each in (own | shared).items()}
        if extension is not None:
            values = extension.before(values)
        run_analysis(kind(**{key: values[key] for key in own}), {key: values[key] for key in ("study", *shared)})

    parameters = [inspect.Parameter("study", KIND, annotation=options.StudyPath)]
    parameters += _parameters({key: options.parameter(each) for key, each in own.items()})
    parameters += _parameters({} if extension is None else extension.parameters)
    parameters += _parameters({key: options.parameter(each) for key, each in shared.items()})
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    command.__doc__ = _help(name)
    return command


def _parameters(declared: Mapping[str, tuple[Any, Any]]) -> list[inspect.Parameter]:
    return [inspect.Parameter(key, KIND, default=default, annotation=hint) for key, (hint, default) in declared.items()]


def _help(name: str) -> str:
    kind, extension = registry.load(name), EXTENSIONS.get(name)
    summary = next(entry.summary for entry in registry.entries() if entry.name == name)
    details, examples = [kind.details], [*kind.examples]
    if extension is not None:
        details.append(extension.details)
        examples.append(extension.example)
    shown = [f"Example: scorecube {name} study.zarr {example}" for example in examples]
    return "\n\n".join([summary, *filter(None, details), *shown])
