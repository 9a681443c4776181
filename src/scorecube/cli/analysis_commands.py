"""Commands of the analyses, generated from the options that their records declare."""

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
from scorecube.cli.light_xarray import import_xarray
from scorecube.errors import BadPlan

KIND = inspect.Parameter.POSITIONAL_OR_KEYWORD


@dataclass(frozen=True)
class Extension:
    """Parameters and help of an analysis command in addition to the options of its record.

    Parameters
    ----------
    parameters
        Name -> type and default.
    before
        Called with the values of all options before the analysis; returns the values to use.
    details, example
        Texts for the help.
    """

    parameters: Mapping[str, tuple[Any, Any]]
    before: Callable[[dict[str, Any]], dict[str, Any]]
    details: str
    example: str


def evaluate_first(values: dict[str, Any]) -> dict[str, Any]:
    """Evaluate run files with two files of judgements, if any; return the values with both collections named."""
    files = [values[key] for key in ("run_files", "qrels_a", "qrels_b")]
    if not any(files):
        return values
    if not all(files):
        raise BadPlan(
            "--run-files, --qrels-a and --qrels-b go together: set all three, or none of them"
        )
    if values["dry_run"]:
        raise BadPlan(
            "--dry-run cannot be used with --run-files: it evaluates no runs; run scorecube evaluate twice first"
        )
    from scorecube.cli.run_analysis import evaluate_two_sets

    labels = values["collection"] or [path.name.split(".")[0] for path in files[1:]]
    metrics, gains = values["metrics"] or names.DEFAULT_METRICS, values["gains"] or ["auto"]
    evaluate_two_sets(
        values["study"],
        labels,
        files[0],
        files[1:],
        metrics,
        gains,
        run_name=values["run_name"],
        workers=values["workers"],
    )
    return values | {"collection": labels}


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
            "qrels_a": (
                Annotated[Optional[Path], typer.Option("--qrels-a", help="The truth.")],
                None,
            ),
            "qrels_b": (
                Annotated[Optional[Path], typer.Option("--qrels-b", help="Second judgements.")],
                None,
            ),
            "run_name": (options.RunName, "tag"),
        },
        evaluate_first,
        "The two sets of judgements are two collections of the study; the first is the truth. In a study of two collections they need "
        "not be named. With --run-files, both collections are evaluated first, and named by --collections or by the files of judgements.",
        "--run-files runs/ --qrels-a official.txt --qrels-b llm.txt --metrics AP,nDCG@10",
    )
}


def analysis_command(name: str) -> Callable[..., None]:
    """Return the function of an analysis command, with a signature made from the declared options."""
    import_xarray()
    kind, extension = registry.load(name), EXTENSIONS.get(name)
    own = {key: option for key, option in options_of(kind).items() if option.on_command_line}
    shared = {
        key: replace(option, **kind.changed_options.get(key, {})) for key, option in SHARED.items()
    }

    def command(**parsed: Any) -> None:
        from scorecube.cli.run_analysis import run_analysis

        values = parsed | {
            key: options.value_of(option, parsed[key]) for key, option in (own | shared).items()
        }
        if extension is not None:
            values = extension.before(values)
        run_analysis(
            kind(**{key: values[key] for key in own}),
            {key: values[key] for key in ("study", *shared)},
        )

    parameters = [inspect.Parameter("study", KIND, annotation=options.StudyPath)]
    parameters += _parameters({key: options.parameter(option) for key, option in own.items()})
    parameters += _parameters({} if extension is None else extension.parameters)
    parameters += _parameters({key: options.parameter(option) for key, option in shared.items()})
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = _help(name)
    return command


def _parameters(declared: Mapping[str, tuple[Any, Any]]) -> list[inspect.Parameter]:
    return [
        inspect.Parameter(key, KIND, default=default, annotation=hint)
        for key, (hint, default) in declared.items()
    ]


def _help(name: str) -> str:
    kind, extension = registry.load(name), EXTENSIONS.get(name)
    summary = next(entry.summary for entry in registry.entries() if entry.name == name)
    details, examples = [kind.details], [*kind.examples]
    if extension is not None:
        details.append(extension.details)
        examples.append(extension.example)
    example_lines = [f"Example: scorecube {name} study.zarr {example}" for example in examples]
    return "\n\n".join([summary, *filter(None, details), *example_lines])
