"""Commands of the analyses, generated from the options that their records declare."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from scorecube.analyses import registry
from scorecube.analyses.options import options_of
from scorecube.analyses.shared_options import SHARED
from scorecube.cli import options

TRIALS, TOP = "trials", "top"


def analysis_command(name: str) -> Callable[..., None]:
    """Return the function of an analysis command, with a signature made from the declared options."""
    kind = registry.load(name)
    own = {key: option for key, option in options_of(kind).items() if option.on_command_line}
    shared = {
        key: replace(option, **kind.changed_options.get(key, {}))
        for key, option in SHARED.items()
        if kind.resamples or key != TRIALS
    }
    if kind.resamples:
        shared[TRIALS] = replace(shared[TRIALS], default=kind.default_trials)

    def command(**parsed: Any) -> None:
        from scorecube.cli.run_analysis import run_analysis

        values = parsed | {
            key: options.value_of(option, parsed[key]) for key, option in (own | shared).items()
        }
        run_analysis(
            kind(**{key: values[key] for key in own}),
            {TRIALS: None} | {key: values[key] for key in ("study", *shared, TOP)},
        )

    parameters: dict[str, tuple[Any, Any]] = {"study": (options.StudyPath, inspect.Parameter.empty)}
    parameters |= {key: options.parameter(option) for key, option in own.items()}
    parameters |= {key: options.parameter(option) for key, option in shared.items()}
    parameters[TOP] = options.Top, None
    command.__doc__ = _help(name)
    return options.with_parameters(command, parameters)


def _help(name: str) -> str:
    kind = registry.load(name)
    summary = next(entry.summary for entry in registry.entries() if entry.name == name)
    example_lines = [f"Example: scorecube {name} study.zarr {example}" for example in kind.examples]
    return "\n\n".join([summary, *filter(None, [kind.details]), *example_lines])
