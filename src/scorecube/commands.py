"""Commands of the analyses: their own options in, a record out; `analysis_command` adds what all of them share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scorecube import options
from scorecube.console import split
from scorecube.errors import BadPlan

if TYPE_CHECKING:
    from scorecube.analyses import Analysis


def analysis_command(make: Callable[..., Analysis]) -> Callable[..., None]:
    """Make a command of a function that turns an analysis' own options into its record."""
    make.__annotations__.pop("return", None)  # names a type that is only imported for checking
    own = inspect.signature(make, eval_str=True).parameters

    @functools.wraps(make)
    def command(**given: Any) -> None:
        from scorecube.jobs import run_analysis

        run_analysis(make(**{key: given[key] for key in own}), {key: given[key] for key in options.COMMON})

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    shared = [
        inspect.Parameter(key, kind, default=default, annotation=hint)
        for key, (hint, default) in options.COMMON.items()
    ]
    parameters = [shared[0], *own.values(), *shared[1:]]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def numbers(option: str, text: str) -> tuple[float, ...]:
    """Return the numbers of a comma-separated text."""
    try:
        return tuple(float(word) for word in split(text) or [])
    except ValueError:
        raise BadPlan(f"{option} {text!r} is not numbers separated by commas") from None


def choice(option: str, value: str, known: Sequence[str]) -> None:
    """Refuse a word that is not among the known ones."""
    if value not in known:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(known)}", param_hint=option)


Alphas = Annotated[str, typer.Option("--alpha", help="Significance levels.")]
Sided = Annotated[
    int, typer.Option("--sided", min=1, max=2, help="2; or 1: the first run in label order is the better one.")
]
PlusOne = Annotated[bool, typer.Option("--plus-one", help="p = (count + 1) / (B + 1) instead of count / B.")]
OnlySignificant = Annotated[
    bool, typer.Option("--only-significant", help="Estimated difference over significant pairs only.")
]


@analysis_command
def bootstrap(
    alpha: Alphas = "0.05,0.01",
    sided: Sided = 2,
    unstudentised: Annotated[
        bool, typer.Option("--unstudentised", help="The statistic is the difference of means instead of t.")
    ] = False,
    plus_one: PlusOne = False,
    only_significant: OnlySignificant = False,
    precision: Annotated[
        str, typer.Option("--precision", help="double, or mixed: faster for many topics, with equal results.")
    ] = "double",
) -> Analysis:
    """Bootstrap test of all pairs of runs: discriminative power and the difference it takes.

    Example: scorecube bootstrap study.zarr --trials 1000 --alpha 0.05,0.01 --seed 1
    """
    from scorecube.analyses.bootstrap import PRECISIONS, Bootstrap

    choice("--precision", precision, list(PRECISIONS))
    return Bootstrap(
        alphas=numbers("--alpha", alpha), sided=sided, studentised=not unstudentised, plus_one=plus_one,
        only_significant=only_significant, precision=precision,
    )  # fmt: skip


@analysis_command
def randomisation(
    alpha: Alphas = "0.05,0.01",
    sided: Sided = 2,
    plus_one: PlusOne = False,
    only_significant: OnlySignificant = False,
) -> Analysis:
    """Paired randomisation (sign-flip) test of all pairs of runs.

    Example: scorecube randomisation study.zarr --trials 10000 --seed 1
    """
    from scorecube.analyses.randomisation import Randomisation

    return Randomisation(
        alphas=numbers("--alpha", alpha), sided=sided, plus_one=plus_one, only_significant=only_significant
    )


@analysis_command
def tukey(alpha: Alphas = "0.05,0.01", plus_one: PlusOne = False) -> Analysis:
    """Randomised Tukey HSD test: p-values that hold for all pairs of runs together.

    Example: scorecube tukey study.zarr --trials 5000 --alpha 0.05 --seed 1
    """
    from scorecube.analyses.tukey import Tukey

    return Tukey(alphas=numbers("--alpha", alpha), plus_one=plus_one)


@analysis_command
def paired(
    tests: Annotated[str, typer.Option("--tests", help="Some of t, wilcoxon, sign.")] = "t,wilcoxon,sign",
    alpha: Alphas = "0.05,0.01",
) -> Analysis:
    """Paired t, Wilcoxon and sign tests of all pairs of runs, as quick references.

    Example: scorecube paired study.zarr --tests t,wilcoxon
    """
    from scorecube.analyses.paired import Paired

    return Paired(tests=tuple(split(tests) or []), alphas=numbers("--alpha", alpha))


@analysis_command
def unpaired(
    alpha: Alphas = "0.05,0.01", plus_one: PlusOne = False, only_significant: OnlySignificant = False
) -> Analysis:
    """Unpaired bootstrap test of all pairs of runs, also for geometric means (geo:AP) and area measures (area:AP).

    Example: scorecube unpaired study.zarr --metrics geo:AP --seed 1
    """
    from scorecube.analyses.unpaired import Unpaired

    return Unpaired(alphas=numbers("--alpha", alpha), plus_one=plus_one, only_significant=only_significant)


COMMANDS = (bootstrap, randomisation, unpaired, tukey, paired)
