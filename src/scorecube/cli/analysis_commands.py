"""Commands of the analyses, generated from the options that their records declare."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from scorecube.analyses import registry
from scorecube.analyses.options import options_of
from scorecube.analyses.shared_options import SHARED
from scorecube.cli import options

OF_RESAMPLING = ("trials", "seed")
"""Shared options that analyses without resampling do not use."""


def analysis_command(name: str) -> Callable[..., None]:
    """Return the function of an analysis command, with a signature made from the declared options."""
    kind = registry.load(name)
    own = {key: option for key, option in options_of(kind).items() if option.on_command_line}
    shared = {
        key: replace(option, **kind.changed_options.get(key, {})) for key, option in SHARED.items()
    }

    def command(**parsed: Any) -> None:
        from scorecube.cli.run_analysis import run_analysis

        values = parsed | {
            key: options.value_of(option, parsed[key]) for key, option in (own | shared).items()
        }
        run_analysis(
            kind(**{key: values[key] for key in own}),
            {key: values[key] for key in ("study", *shared)},
        )

    parameters = {"study": (options.StudyPath, inspect.Parameter.empty)}
    parameters |= {key: options.parameter(option) for key, option in own.items()}
    drawn = {key: options.parameter(option) for key, option in shared.items()}
    if kind.resamples is False:
        # Nothing is drawn: scripts may pass these flags to all analyses, but this one has no use for them.
        for key in OF_RESAMPLING:
            drawn[key][0].__metadata__[0].hidden = True
    command.__doc__ = _help(name)
    return options.with_parameters(command, parameters | drawn)


def _help(name: str) -> str:
    kind = registry.load(name)
    summary = next(entry.summary for entry in registry.entries() if entry.name == name)
    example_lines = [f"Example: scorecube {name} study.zarr {example}" for example in kind.examples]
    return "\n\n".join([summary, *filter(None, [kind.details]), *example_lines])
