"""Commands of the analyses: their own options in, a record out; `analysis_command` adds what all of them share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from scorecube import names
from scorecube.cli import options
from scorecube.cli.terminal import split
from scorecube.errors import BadPlan

if TYPE_CHECKING:
    from scorecube.analyses import Analysis


def analysis_command(
    make: Callable[..., Analysis],
    before: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    changed: Mapping[str, tuple[Any, Any]] | None = None,
) -> Callable[..., None]:
    """Make a command of a function that turns an analysis' own options into its record.

    Parameters
    ----------
    make
        Own options in, analysis out.
    before
        Called first with all options by name; returns them, some perhaps changed.
    changed
        Options that all analyses take, but with another flag, help or default: name -> (type, default).
    """
    make.__annotations__.pop("return", None)  # names a type that is only imported for checking
    own = inspect.signature(make, eval_str=True).parameters

    @functools.wraps(make)
    def command(**given: Any) -> None:
        from scorecube.cli.run_analysis import run_analysis

        given = given if before is None else before(given)
        run_analysis(make(**{key: given[key] for key in own}), {key: given[key] for key in options.COMMON})

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    shared = [
        inspect.Parameter(key, kind, default=default, annotation=hint)
        for key, (hint, default) in (options.COMMON | dict(changed or {})).items()
    ]
    parameters = [shared[0], *own.values(), *shared[1:]]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def numbers(option: str, text: str) -> tuple[float, ...]:
    """Return the numbers of a comma-separated text, each once."""
    try:
        return tuple(dict.fromkeys(float(word) for word in split(text) or []))
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
Missing = Annotated[
    str, typer.Option("--missing", help="Missing scores: refuse; or pairwise: test each pair on the topics that both runs have.")
]  # fmt: skip


@analysis_command
def bootstrap(
    alpha: Alphas = "0.05,0.01",
    sided: Sided = 2,
    missing: Missing = "refuse",
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
    from scorecube.analyses.pair_tests.bootstrap import PRECISIONS, Bootstrap
    from scorecube.analyses.pair_tests.pairwise_complete import MISSING

    choice("--precision", precision, list(PRECISIONS))
    choice("--missing", missing, MISSING)
    return Bootstrap(
        alphas=numbers("--alpha", alpha), sided=sided, studentised=not unstudentised, plus_one=plus_one,
        only_significant=only_significant, precision=precision, missing=missing,
    )  # fmt: skip


@analysis_command
def randomisation(
    alpha: Alphas = "0.05,0.01",
    sided: Sided = 2,
    missing: Missing = "refuse",
    plus_one: PlusOne = False,
    only_significant: OnlySignificant = False,
) -> Analysis:
    """Paired randomisation (sign-flip) test of all pairs of runs.

    Example: scorecube randomisation study.zarr --trials 10000 --seed 1
    """
    from scorecube.analyses.pair_tests.pairwise_complete import MISSING
    from scorecube.analyses.pair_tests.randomisation import Randomisation

    choice("--missing", missing, MISSING)
    return Randomisation(
        alphas=numbers("--alpha", alpha), sided=sided, plus_one=plus_one, only_significant=only_significant, missing=missing,
    )  # fmt: skip


@analysis_command
def tukey(alpha: Alphas = "0.05,0.01", plus_one: PlusOne = False) -> Analysis:
    """Randomised Tukey HSD test: p-values that hold for all pairs of runs together.

    Example: scorecube tukey study.zarr --trials 5000 --alpha 0.05 --seed 1
    """
    from scorecube.analyses.pair_tests.tukey import Tukey

    return Tukey(alphas=numbers("--alpha", alpha), plus_one=plus_one)


@analysis_command
def paired(
    tests: Annotated[str, typer.Option("--tests", help="Some of t, wilcoxon, sign.")] = "t,wilcoxon,sign",
    alpha: Alphas = "0.05,0.01",
    missing: Missing = "refuse",
) -> Analysis:
    """Paired t, Wilcoxon and sign tests of all pairs of runs, as quick references.

    Example: scorecube paired study.zarr --tests t,wilcoxon
    """
    from scorecube.analyses.pair_tests.classical import Paired
    from scorecube.analyses.pair_tests.pairwise_complete import MISSING

    choice("--missing", missing, MISSING)
    chosen = tuple(dict.fromkeys(split(tests) or []))
    return Paired(tests=chosen, alphas=numbers("--alpha", alpha), missing=missing)


@analysis_command
def unpaired(
    alpha: Alphas = "0.05,0.01", plus_one: PlusOne = False, only_significant: OnlySignificant = False
) -> Analysis:
    """Unpaired bootstrap test of all pairs of runs, also for geometric means (geo:AP) and area measures (area:AP).

    Example: scorecube unpaired study.zarr --metrics geo:AP --seed 1
    """
    from scorecube.analyses.pair_tests.unpaired import Unpaired

    return Unpaired(alphas=numbers("--alpha", alpha), plus_one=plus_one, only_significant=only_significant)


@analysis_command
def correlate(
    along: Annotated[
        Optional[str],
        typer.Option(
            "--along", help="metric: pairs of metrics; gain: gain settings against the first; both by default."
        ),
    ] = None,
    intervals: Annotated[
        str,
        typer.Option(
            "--intervals", help="What is drawn anew for bootstrap intervals: some of topics, runs, both; or none."
        ),
    ] = "topics",
    confidence: Annotated[float, typer.Option("--confidence", help="Of all intervals.")] = 0.95,
    bold: Annotated[
        Optional[float],
        typer.Option("--bold", help="Mark values of tau above it; by default those whose interval exceeds 1."),
    ] = None,
) -> Analysis:
    """Rank correlation between metrics, and between gain settings, with intervals.

    Example: scorecube correlate study.zarr --intervals topics,runs --trials 1000 --seed 1
    """
    from scorecube.analyses.rank_agreement.correlation import RESAMPLED, Correlation
    from scorecube.analyses.rank_agreement.ranking_pairs import ALONG

    chosen = [] if intervals == "none" else split(intervals) or []
    for word in chosen:
        choice("--intervals", word, [*RESAMPLED, "none"])
    if along is not None:
        choice("--along", along, ALONG)
    return Correlation(
        along=ALONG if along is None else (along,), intervals=tuple(chosen), confidence=confidence, bold=bold
    )


@analysis_command
def splits(
    sampling: options.TopicSampling = "disjoint",
    size: options.SampleSizes = None,
    thresholds: Annotated[
        str, typer.Option("--threshold", help="Values of tau that a settled ranking reaches.")
    ] = "0.9,0.8",
) -> Analysis:
    """Rank correlation between topic samples: from how many topics on does the ranking of runs settle?

    Example: scorecube splits study.zarr --size 5..25:5 --trials 1000 --seed 1
    """
    from scorecube.analyses.topic_samples.base import SAMPLINGS, parse_sizes
    from scorecube.analyses.topic_samples.splits import Splits

    choice("--sampling", sampling, SAMPLINGS)
    sizes = None if size is None else parse_sizes(size)
    return Splits(sampling=sampling, size=sizes, thresholds=numbers("--threshold", thresholds))


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

    labels = split(given["collection"]) or [path.name.split(".")[0] for path in files[1:]]
    metrics, gains = split(given["metrics"]) or list(names.DEFAULT_METRICS), split(given["gains"]) or ["auto"]
    how = {"run_name": given["run_name"], "workers": given["workers"]}
    evaluate_two_sets(given["study"], labels, files[0], files[1:], metrics, gains, **how)
    return given | {"collection": ",".join(labels)}


@functools.partial(analysis_command, before=evaluate_two)
def agreement(
    p: Annotated[float, typer.Option("--p", help="Persistence of the rank-biased overlap.")] = 0.9,
    ties: Annotated[
        str,
        typer.Option(
            "--ties", help="Equal means in the rank-biased overlap: w equality, a uncertainty, b the same, corrected."
        ),
    ] = "w",
    confidence: Annotated[float, typer.Option("--confidence", help="Of the intervals over topic samples.")] = 0.95,
    interval: Annotated[
        str,
        typer.Option("--interval", help="percentile, or basic: mirrored at the observed value."),
    ] = "percentile",
    test: Annotated[str, typer.Option("--test", help="Paired test of pairs of runs: t, wilcoxon or sign.")] = "t",
    alpha: Alphas = "0.05,0.01",
    top: Annotated[
        int, typer.Option("--top", min=2, help="Best runs of the first set, for false positives and negatives.")
    ] = 10,
    # The last four are read by `evaluate_two`.
    run_files: Annotated[  # noqa: ARG001
        Optional[list[str]],
        typer.Option("--run-files", help="Evaluate these runs with --qrels-a and --qrels-b first; several may follow."),
    ] = None,
    qrels_a: Annotated[Optional[Path], typer.Option("--qrels-a", help="The truth.")] = None,  # noqa: ARG001
    qrels_b: Annotated[Optional[Path], typer.Option("--qrels-b", help="Second judgements.")] = None,  # noqa: ARG001
    run_name: options.RunName = "tag",  # noqa: ARG001
) -> Analysis:
    """Two sets of judgements of the same runs: do they rank runs alike and find the same differences?

    The sets are two collections of the study, the first of which is the truth; with just two in the study they need not be named. Or
    they are made of run files and two files of judgements: --collections then names them, else the files' names do.

    Example: scorecube agreement study.zarr --collections official,reduced --trials 1000 --seed 1

    Example: scorecube agreement study.zarr --run-files runs/ --qrels-a official.txt --qrels-b llm.txt --metrics AP,nDCG@10
    """
    from scorecube.analyses.pair_tests.classical import TESTS
    from scorecube.analyses.rank_agreement.agreement import INTERVALS, TIES, Agreement

    choice("--ties", ties, TIES)
    choice("--test", test, TESTS)
    choice("--interval", interval, INTERVALS)
    return Agreement(
        p=p, ties=ties, confidence=confidence, interval=interval, test=test, alphas=numbers("--alpha", alpha), top=top
    )


OWN_TOPICS: dict[str, tuple[Any, Any]] = {
    "topics": (
        Annotated[Optional[str], typer.Option("--only-topics", help="Topics, by their ids; all by default.")],
        None,
    ),
    "trials": (
        Annotated[
            int, typer.Option("--trials", min=1, help="Trials for each number of teams; more later extend a result.")
        ],
        10,
    ),
}
"""Where --topics are numbers of topics."""


def integers(option: str, text: str) -> tuple[int, ...]:
    """Return the whole numbers of a comma-separated text, each once."""
    found = numbers(option, text)
    if not found or any(value != int(value) for value in found):
        raise BadPlan(f"{option} {text!r} is not whole numbers separated by commas")
    return tuple(int(value) for value in found)


@functools.partial(analysis_command, changed=OWN_TOPICS)
def teams(
    leave: Annotated[str, typer.Option("--leave", help="Numbers of teams to leave out, e.g. 1,2,5; or all.")] = "all",
    topic_steps: Annotated[
        Optional[str],
        typer.Option(
            "--topics",
            help="Numbers of topics of a nested chain of random topic sets, e.g. 100,75,50,25,10, beside all.",
        ),
    ] = None,
    pool_depth: Annotated[
        int, typer.Option("--pool-depth", min=1, help="Ranks of every run that contribute to the pool.")
    ] = 10,
    drop_unpooled: Annotated[
        bool,
        typer.Option(
            "--drop-unpooled", help="Judged documents in no team's pool go when a team is left out; else they stay."
        ),
    ] = False,
    lost_topics: Annotated[
        str,
        typer.Option(
            "--lost-topics", help="Topics are lost where no_relevant_left, or, metric by metric, where all_runs_zero."
        ),
    ] = "no_relevant_left",
    fewer_topics: Annotated[
        str,
        typer.Option("--fewer-topics", help="Where fewer topics survive than wanted: missing, or use the survivors."),
    ] = "missing",
    distinct: Annotated[
        bool,
        typer.Option("--distinct", help="No subset of teams twice; all of them, where there are fewer than trials."),
    ] = False,
    interval: Annotated[str, typer.Option("--interval", help="t, or percentile; over trials.")] = "t",
    confidence: Annotated[float, typer.Option("--confidence", help="Of the interval.")] = 0.95,
) -> Analysis:
    """Leave k teams out, and topics: does the variance hold, do the other runs keep their order?

    Documents that only the teams left out contributed to the pool become unjudged, and the runs of the others are scored anew.

    Example: scorecube teams study.zarr --leave all --topics 100,75,50,25,10 --trials 10 --pool-depth 10 --seed 1
    """
    from scorecube.analyses.leave_out.teams import FEWER, INTERVALS, LOST, Teams

    choice("--lost-topics", lost_topics, LOST)
    choice("--fewer-topics", fewer_topics, FEWER)
    choice("--interval", interval, INTERVALS)
    return Teams(
        leave=None if leave == "all" else integers("--leave", leave),
        topic_sizes=None if topic_steps is None else integers("--topics", topic_steps),
        pool_depth=pool_depth, keep_unpooled=not drop_unpooled, lost_topics=lost_topics, distinct=distinct, interval=interval,
        confidence=confidence, fewer_topics=fewer_topics,
    )  # fmt: skip


COMMANDS = (bootstrap, randomisation, unpaired, tukey, paired, correlate, splits, agreement, teams)
