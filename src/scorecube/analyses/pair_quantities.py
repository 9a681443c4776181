"""What results of tests of pairs of runs hold."""

from __future__ import annotations

from scorecube import names
from scorecube.collection.schema import Variable, limits, variables

CELL = (names.METRIC, names.GAIN)
PAIR = (*CELL, names.PAIR)
LEVEL = (*CELL, names.ALPHA)
PAIRS = ("count", "pairs", "iu")
MOMENTS = (
    *variables((*CELL, names.RUN), "estimate", "score", mean="mean score of a run"),
    *variables(
        PAIR, "estimate", "score", mean_difference="difference of means, first minus second run"
    ),
    *variables(
        *(PAIR, "standard_error", "score"),
        of="mean_difference",
        standard_error="standard error of the pair's difference of means",
    ),
    *variables(
        *(PAIR, "statistic", "1"),
        t="t statistic of the pair, first run minus second; NaN for equal scores",
    ),
    *limits("mean_difference", PAIR, "score", "{} 95 % limit of the difference", name="difference"),
    *variables(
        *(PAIR, "estimate", "1"),
        effect_size="difference in units of the residual standard deviation of runs and topics (Sakai 2014, SIGIR Forum 48(1))",
        d_z="difference in units of the standard deviation of the pair's differences over topics",
    ),
    *variables(
        *(CELL, "estimate", "score^2"), residual_variance="residual variance of runs and topics"
    ),
    *variables(
        *(CELL, *PAIRS),
        headings={
            "degenerate_pairs": "pairs with equal scores",
            "constant_pairs": "pairs with a constant difference",
        },
        n_tested="pairs that have a p-value",
        degenerate_pairs="pairs with equal scores on all topics",
        constant_pairs="pairs with the same difference on all topics",
    ),
)
"""Of every test."""


def decisions(*of: str) -> tuple[Variable, ...]:
    """Return p-values and what is decided by them, of several tests along further dims."""
    pair, level = (*CELL, *of, names.PAIR), (*CELL, *of, names.ALPHA)
    adjusted = (*CELL, *of, names.ADJUSTMENT, names.ALPHA)
    return (
        *variables(
            *(pair, "p_value", "1"),
            p_value="p-value; with the bootstrap, achieved significance level",
            p_value_holm="p-values, adjusted for their number (Holm 1979: family-wise error rate)",
            p_value_bh="p-values, adjusted (Benjamini and Hochberg 1995: false discovery rate)",
        ),
        *variables(
            *(level, *PAIRS),
            headings={"significant": "significant pairs"},
            significant="pairs with a p-value below alpha",
            undecided_pairs="pairs with alpha inside the 95 % Monte Carlo interval of their p-value",
        ),
        *variables(
            *(level, "share", "1"),
            form=".1%",
            headings={"share": "share of pairs"},
            share="discriminative power: share of pairs with a p-value below alpha",
        ),
        *variables(
            *(level, "count", "runs", "iu"),
            significant_better="runs that are significantly better than the baseline",
            significant_worse="runs that are significantly worse than the baseline",
        ),
        *variables(
            *(adjusted, *PAIRS), adjusted_significant="pairs with an adjusted p-value below alpha"
        ),
        *variables(
            *(adjusted, "share", "1"),
            form=".1%",
            headings={"adjusted_share": "share of pairs"},
            adjusted_share="share of pairs with an adjusted p-value below alpha",
        ),
    )


TRIALS = (
    *variables(
        *(PAIR, "count", "trials", "i"),
        reached="trials with a statistic at least as extreme as the observed one",
    ),
    *variables(
        *(LEVEL, "estimate", "score"),
        form=".2f",
        estimated_difference="difference needed for significance: the largest, over pairs, in the trial with the (B alpha)-th largest statistic",
        largest_not_significant="largest difference of a pair that is not significant",
    ),
)
"""Of tests that resample, beside the estimates."""
JOINT = (
    *variables(
        *(PAIR, "standard_error", "score"),
        of="mean_difference",
        moderated_error="standard error of the difference, with the median variance of all pairs in the proportion of the moderation",
    ),
    *variables(
        *(LEVEL, "statistic", "1"),
        critical_value="moderated |t| that the largest of all pairs exceeds with probability alpha if no pair differs",
    ),
    *variables(
        *(LEVEL, "estimate", "score"),
        critical_difference="difference that the range of means exceeds with probability alpha if no run differs",
    ),
    *variables(
        *(PAIR, "p_value", "1"), p_single="p-value of the pair by itself, by Student's t, two-sided"
    ),
    *variables(
        *(LEVEL, *PAIRS),
        own_error_pairs="pairs that are not significant, and would be by their own standard errors alone (t tests, Holm)",
    ),
)
"""Of tests of all pairs together."""
VERDICT_OF = (names.ADJUSTMENT, names.ALPHA, names.VERDICT)
EQUIVALENCE = (
    *variables(
        *(PAIR, "p_value", "1"),
        equivalence_p_value="p-value of the hypothesis that the means differ by the margin or more",
        difference_p_value="p-value of the hypothesis that the means do not differ: two-sided paired t test",
    ),
    *variables(
        *((*CELL, names.ALPHA, names.PAIR), "label", "1", "O"),
        verdict_on_pair="verdict on the pair by itself: equivalent, else different, else inconclusive",
    ),
    *variables(
        *((*CELL, *VERDICT_OF), *PAIRS),
        verdict_pairs="pairs of each verdict under each adjustment; tested pairs are their sum",
    ),
)
"""Of results with a margin."""
VARIABLES = (*MOMENTS, *decisions(), *TRIALS, *JOINT)
PAIRED = (*MOMENTS, *decisions(names.TEST), *EQUIVALENCE)
ALWAYS = ("mean", "mean_difference", "p_value", "significant", "share", "n_tested")
OPTIONAL = tuple((each.name,) for each in VARIABLES if each.name not in ALWAYS)
