"""Commands of the analyses, generated from the options that their records declare."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Optional

from scorecube.analyses import registry
from scorecube.analyses.options import options_of
from scorecube.analyses.shared_options import SHARED
from scorecube.cli import options
from scorecube.errors import BadPlan
from scorecube.ingest.options import EVALUATE

OF_RESAMPLING = ("trials", "seed")
"""Shared options that analyses without resampling do not use."""


@dataclass(frozen=True)
class Extension:
    """Parameters and help of an analysis command in addition to the options of its record.

    parameters: Name -> type and default.
    evaluating: Names of options that the command evaluate has, too.
    before: Called with the values of all options before the analysis; returns the values to use.
    details, example: Texts for the help.
    """

    parameters: Mapping[str, tuple[Any, Any]]
    evaluating: tuple[str, ...]
    before: Callable[[dict[str, Any]], dict[str, Any]]
    details: str
    example: str


def files_of(values: Mapping[str, Any], about: str, **flags: str) -> list[Any]:
    """Return what is to be evaluated first, the values of some options by name and flag; nothing if none of them is set.

    Raises BadPlan: Not all are set; the message has `about`. A dry run, which evaluates nothing.
    """
    found, (runs, *others) = [values[key] for key in flags], flags.values()
    if any(found) and not all(found):
        names = f"{', '.join([runs, *others[:-1]])} and {others[-1]}"
        raise BadPlan(f"{names} go together: set all three, or none of them{about}")
    if any(found) and values["dry_run"]:
        raise BadPlan(
            f"--dry-run cannot be used with {runs}: it evaluates no runs; run scorecube evaluate for each set of judgements first"
        )
    return found if any(found) else []


def evaluate_first(values: dict[str, Any]) -> dict[str, Any]:
    """Evaluate run files with two files of judgements, if any; return the values with both collections named."""
    files = files_of(values, "", run_files="--run-files", qrels_a="--qrels-a", qrels_b="--qrels-b")
    if not files:
        return values
    from scorecube.cli.run_analysis import evaluate_sets

    labels = values["collection"] or [path.name.split(".")[0] for path in files[1:]]
    if len(labels) != 2 or labels[0] == labels[1]:
        raise BadPlan(
            f"two files of judgements need two different names, found {', '.join(labels)}; name both with --collections A,B"
        )
    evaluate_sets(values, dict(zip(labels, files[1:], strict=True)), files[0])
    return values | {"collection": labels}


def families_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Return ``run=judge`` texts, those of a CSV file for a path."""
    from scorecube.workflow.api import read_families

    return tuple(
        each for text in texts for each in ([text] if "=" in text else read_families(text))
    )


def evaluate_judges(values: dict[str, Any]) -> dict[str, Any]:
    """Evaluate run files with the judgements of the truth and of judges, if any; return the values with all of them named."""
    values |= {"families": families_of(values["families"])}
    about = "; for some runs of collections that exist use --only-runs"
    files = files_of(
        values, about, run_files="--runs", truth_qrels="--truth-qrels", qrels="--qrels"
    )
    if not files:
        return values
    from scorecube.cli.run_analysis import evaluate_sets, judgement_sets

    truth = judgement_sets([files[1]], [values["truth"]] if values["truth"] else None)
    if len(truth) != 1:
        raise BadPlan(
            f"--truth-qrels has labels of {len(truth)} judges, {', '.join(truth)}; the truth is one set"
        )
    others = judgement_sets(files[2].split(","), values["judges"] or None)
    (name,) = truth
    if name in others:
        raise BadPlan(
            f"the truth and a judge are both named {name}; name them with --truth and --judges"
        )
    evaluate_sets(values, truth | others, files[0])
    return values | {"truth": name, "judges": tuple(others)}


def _optional(kind: Any, name: str, text: str) -> tuple[Any, None]:
    """Return the type and the default of an option that need not be given."""
    return Annotated[Optional[kind], options.flag(name, text)], None


EXTENSIONS = {
    "judges": Extension(
        {
            "run_files": _optional(
                list[str], "--runs", "Run files to evaluate first, with all judgements."
            ),
            "truth_qrels": _optional(Path, "--truth-qrels", "Judgements that count as truth."),
            "qrels": _optional(
                str,
                "--qrels",
                "Judgements of the judges, separated by commas: files as of evaluate, or tables with the columns topic,document,judge,label.",
            ),
        },
        ("run_name", "teams"),
        evaluate_judges,
        "The truth and each judge are collections of the study with the same runs. With --runs they are evaluated first, and named by --truth and --judges, or by their "
        "files or, in a table, by their judges.",
        "--runs runs/ --truth-qrels nist.txt --qrels gpt4.txt,llama.txt --metrics AP,nDCG@10",
    ),
    "agreement": Extension(
        {
            "run_files": _optional(
                list[str],
                "--run-files",
                "Evaluate these runs with --qrels-a and --qrels-b first; several may follow.",
            ),
            "qrels_a": _optional(Path, "--qrels-a", "The truth."),
            "qrels_b": _optional(Path, "--qrels-b", "Second judgements."),
        },
        ("run_name",),
        evaluate_first,
        "The two sets of judgements are two collections of the study; the first is the truth. In a study of two collections they need "
        "not be named. With --run-files, both collections are evaluated first, and named by --collections or by the files of judgements.",
        "--run-files runs/ --qrels-a official.txt --qrels-b llm.txt --metrics AP,nDCG@10",
    ),
}


def analysis_command(name: str) -> Callable[..., None]:
    """Return the function of an analysis command, with a signature made from the declared options."""
    kind, extension = registry.load(name), EXTENSIONS.get(name)
    own = {key: option for key, option in options_of(kind).items() if option.on_command_line}
    shared = {
        key: replace(option, **kind.changed_options.get(key, {})) for key, option in SHARED.items()
    }

    evaluating = {} if extension is None else {key: EVALUATE[key] for key in extension.evaluating}

    def command(**parsed: Any) -> None:
        from scorecube.cli.run_analysis import run_analysis

        values = parsed | {
            key: options.value_of(option, parsed[key])
            for key, option in (own | shared | evaluating).items()
        }
        if extension is not None:
            values = extension.before(values)
        run_analysis(
            kind(**{key: values[key] for key in own}),
            {key: values[key] for key in ("study", *shared)},
        )

    parameters = {"study": (options.StudyPath, inspect.Parameter.empty)}
    parameters |= {key: options.parameter(option) for key, option in own.items()}
    parameters |= {} if extension is None else extension.parameters
    parameters |= {key: options.parameter(option) for key, option in evaluating.items()}
    drawn = {key: options.parameter(option) for key, option in shared.items()}
    if kind.resamples is False:
        # Nothing is drawn: scripts may pass these flags to all analyses, but this one has no use for them.
        for key in OF_RESAMPLING:
            drawn[key][0].__metadata__[0].hidden = True
    command.__doc__ = _help(name)
    return options.with_parameters(command, parameters | drawn)


def _help(name: str) -> str:
    kind, extension = registry.load(name), EXTENSIONS.get(name)
    summary = next(entry.summary for entry in registry.entries() if entry.name == name)
    details, examples = [kind.details], [*kind.examples]
    if extension is not None:
        details.append(extension.details)
        examples.append(extension.example)
    example_lines = [f"Example: scorecube {name} study.zarr {example}" for example in examples]
    return "\n\n".join([summary, *filter(None, details), *example_lines])
