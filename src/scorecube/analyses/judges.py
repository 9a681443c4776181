"""Any number of sets of judgements, by people or machines, against one that counts as truth.

References: Voorhees 2000, "Variations in relevance judgments and the measurement of retrieval
effectiveness" (rankings); Ferro and Sanderson 2022, "How do you test a test?" (decisions on pairs);
Faggioli et al. 2023, "Perspectives on large language models for relevance judgment"; those of
`scorecube.statistics.agreement` and `scorecube.statistics.intervals`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses import jackknife
from scorecube.analyses.correlation import above_by_cell
from scorecube.analyses.options import option_field
from scorecube.analyses.pairs import scale_of, width_of
from scorecube.analyses.protocol import ANY_NUMBER, Analysis, Totals
from scorecube.analyses.table import Table, make_table
from scorecube.analyses.units import IntArray, groups_left_out
from scorecube.collection.judgement_sets import NOT_COMMON, sets_and_settings
from scorecube.collection.schema import CELL, label_array, labels_of, read_variables
from scorecube.errors import BadPlan, option
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.ranks import concordance, tau_ap
from scorecube.statistics.agreement import COEFFICIENTS, label_coefficients
from scorecube.statistics.grid import EQUAL
from scorecube.statistics.intervals import corrected_mean, difference_limits, guarded_estimate
from scorecube.statistics.paired_tests import classical_p_values

Values = dict[str, Any]
ALPHA = 0.05
"""Of decisions on pairs of runs."""
ALL_SHARED = 0
"""Number of labelled topics that stands for all that the truth and the judge share."""
PAIRS_AT_ONCE = 2**14
"""Pairs of runs whose differences are in memory."""
VARIABLES = read_variables("""
    [metric gain judge]
    tau | estimate | 1 | Kendall's tau-a of the runs under the truth and the judge
    tau_ap | estimate | 1 | AP correlation with the truth, mean over orders of ties
    tau | limits:tau | 1 | limit of the tau to be expected from as many other topics
    agree | count | pairs | pairs significant under both sets, for the same run
    only_truth | count | pairs | pairs significant under the truth only
    only_judge | count | pairs | pairs significant under the judge only
    opposite | count | pairs | pairs significant under both sets, for opposite runs
    neither | count | pairs | pairs significant under neither set
    bias | estimate | score | mean over runs of the bias of a run
    bias | limits:bias | score | limit of the bias over topics
    [metric gain judge run]
    run_bias | estimate | score | mean under the judge less mean under the truth
    [metric gain judge n_labelled run]
    corrected | estimate | score | mean over infinitely many topics
    corrected | limits:corrected | score | limit of the mean over infinitely many topics
    [judge n_labelled]
    labelled_topics | condition/iu | topics | labelled topics
    [judge label_statistic]
    label | estimate | 1 | agreement of the labels of all common documents
    label | limits:label | 1 | limit over topics
    [judge]
    n_documents | count | documents | documents that both judged
    n_common_runs | count | runs | runs of both sets
""")
DIMS = {variable.name: variable.dims for variable in VARIABLES}


@dataclass(frozen=True, eq=False)
class Judged:
    """A truth and a judge: scores of the runs of both, on shared topics if there are any.

    further: Of the judge on its other topics; None without any.
    is_shared: Whether scores are compared topic by topic: then both have the same units.
    order: int64 (unit,): units of `truth` in the random order in which their labels are used.
    counts: int64 (topic, level, level): documents by their levels under the truth and the judge.
    """

    name: str
    truth: Table
    judge: Table
    further: Table | None
    is_shared: bool
    order: IntArray
    counts: IntArray


@dataclass(frozen=True, eq=False)
class JudgedSets:
    """All judges of a cube, in its order, with the trials and the seed of a plan."""

    truth: str
    judges: tuple[Judged, ...]
    notes: tuple[str, ...]
    trials: int = 1
    seed: int = 1

    @property
    def runs(self) -> tuple[str, ...]:
        """Runs that any judge shares with the truth."""
        return tuple(dict.fromkeys(run for judged in self.judges for run in judged.truth.runs))


@dataclass(frozen=True, kw_only=True)
class Judges(Analysis):
    """Judges, human or machine, against the judgements that count as truth.

    Each judge is a set of judgements of the same runs. Rankings: tau with limits of the tau to be
    expected from as many other topics, tau-AP. Decisions: pairs of runs that a paired t test at .05
    finds different under both sets, under one, or oppositely. Bias: mean under the judge less mean
    under the truth. Labels: kappa, weighted kappa and Krippendorff's alpha of the documents that
    both judged. Corrected means: of all topics by the judge, and some by the truth, by the number
    of labelled topics. All limits are over topics (95 %). Topics may be shared, nested or others;
    where none are shared, only rankings and decisions are compared.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> cube = simulate_cube(n_runs=6, seed=3)
    >>> result = analyse({"nist": cube, "machine": cube}, Judges())
    >>> result["tau"].sel(metric="AP", judge="machine").values.tolist()
    [1.0]
    """

    name: ClassVar[str] = "judges"
    n_collections: ClassVar[int] = ANY_NUMBER
    resamples: ClassVar[bool] = False
    examples: ClassVar[tuple[str, ...]] = ("--truth nist --judges gpt4,llama --labels 10,20,30",)

    truth: str = option_field(
        "", "Collection whose judgements count as truth; the first by default."
    )
    judges: tuple[str, ...] = option_field(
        (), "Collections with the judgements of judges; all others by default."
    )
    labels: tuple[int, ...] = option_field(
        (10, 20, 30), "Numbers of topics with labels of the truth, for corrected means.", minimum=4
    )

    def table(self, cube: xr.Dataset) -> Any:
        truth, *others = sets_and_settings(cube)[0]
        if self.truth not in ("", truth) or self.judges not in ((), tuple(others)):
            raise BadPlan(f"the sets of the cube are {truth}, {', '.join(others)}", option="truth")
        judges = [judged_by(cube, truth, name, k) for k, name in enumerate(others)]
        notes = [*cube.attrs.get(NOT_COMMON, [])]
        for judged in judges:
            notes += [note for note in judged.judge.notes if note not in notes]
            if not judged.is_shared:
                notes.append(
                    f"{judged.name} shares fewer than 2 topics with {truth}: only rankings and "
                    "decisions are compared, which differ by their topics, too"
                )
        return JudgedSets(truth, tuple(judges), tuple(notes))

    def result(self, table: JudgedSets, totals: Totals) -> xr.Dataset:
        of_judges = [self.of_judge(judged, table.runs) for judged in table.judges]
        # Judges come after cells, which are one axis here, and before all else.
        values: dict[str, Any] = {
            name: np.stack([of[name] for of in of_judges], axis=int(dims[:2] == CELL))
            for name, dims in DIMS.items()
        }
        coords = {
            names.RUN: label_array(table.runs),
            names.JUDGE: label_array(judged.name for judged in table.judges),
            names.N_LABELLED: np.array((*self.labels, ALL_SHARED)),
            names.LABEL_STATISTIC: label_array(COEFFICIENTS),
        }
        notes = list(table.notes)
        if (np.isnan(values["tau_low"]) & ~np.isnan(values["tau"])).any():
            notes.append("No limits of tau where it is 1 without some topics.")
        attrs = {"trials": 0, "n_runs": len(table.runs), "truth": table.truth, "notes": notes}
        first = replace(table.judges[0].truth, teams=())
        return first.dataset(VARIABLES, values, coords, attrs)

    def of_judge(self, judged: Judged, runs: tuple[str, ...]) -> dict[str, Any]:
        """Return the values of one judge by the names of variables, (cell, ...) or (...)."""
        sizes, shared = (*self.labels, ALL_SHARED), judged.truth.n_topics * judged.is_shared
        values = {
            **rankings(judged),
            **decisions(judged),
            **biases(judged),
            **corrections(judged, sizes),
            **labels(judged.counts),
            "labelled_topics": np.array([size or shared for size in sizes]),
            "n_common_runs": len(judged.truth.runs),
        }
        place = [runs.index(run) for run in judged.truth.runs]
        for name in (name for name, dims in DIMS.items() if names.RUN in dims):
            of_all_runs = np.full((*np.shape(values[name])[:-1], len(runs)), np.nan)
            of_all_runs[..., place] = values[name]
            values[name] = of_all_runs
        return values


def judged_by(cube: xr.Dataset, truth: str, judge: str, place: int) -> Judged:
    """Return the tables of a truth and of a judge at a place; BadPlan for gaps, or too few."""
    of_gain = np.array(labels_of(cube, names.JUDGEMENTS), object)
    parts = [cube.isel(gain=of_gain == name) for name in (truth, judge)]
    known = [part[names.SCORE].notnull() for part in parts]
    runs = np.logical_and(*(of.any([*CELL, names.TOPIC]).values for of in known))
    known = [of.isel(run=runs) for of in known]
    topics = [of.any([*CELL, names.RUN]).values for of in known]
    if not all(of.isel(topic=has).all() for of, has in zip(known, topics, strict=True)):
        raise BadPlan(
            f"scores of {truth} or {judge} are missing; "
            f"leave their topics out with {option('missing', 'drop')}"
        )
    if min(runs.sum(), topics[0].sum(), topics[1].sum()) < 2:
        raise BadPlan(f"{truth} and {judge} need 2 common runs, and 2 topics each")
    shared, further = topics[0] & topics[1], topics[1] & ~topics[0]
    is_shared = int(shared.sum()) >= 2
    of_truth, of_judge = (part.isel(run=np.flatnonzero(runs)) for part in parts)
    table = _table(of_truth, shared if is_shared else topics[0])
    # The random word of a topic depends neither on the seed nor on what is shared.
    key = stream_key(0, names.Purpose.LABELLED_TOPICS)
    words = np.random.Philox(key=key).random_raw(len(shared))[shared]
    n_documents = cube.get(names.LABEL_COUNTS)
    nothing = np.zeros((len(shared), 1, 1), np.int64)
    return Judged(
        name=judge,
        truth=table,
        judge=_table(of_judge, shared if is_shared else topics[1]),
        further=_table(of_judge, further) if is_shared and further.any() else None,
        is_shared=is_shared,
        order=np.argsort(words[: table.sizes.size], kind="stable"),
        counts=nothing if n_documents is None else n_documents.values[place],
    )


def _table(cube: xr.Dataset, topics: NDArray[np.bool_]) -> Table:
    """Return the table of one set on some topics."""
    part = cube.isel(topic=np.flatnonzero(topics)).assign_coords(
        {
            names.GAIN: label_array(labels_of(cube, names.SETTING)),
            names.USES_GAINS: (names.METRIC, cube[names.USES_SETTINGS].values),
        }
    )
    dropped = [names.JUDGEMENTS, names.SETTING, names.USES_SETTINGS]
    return make_table(part[[names.SCORE]].drop_vars(dropped), bags=False)


def rankings(judged: Judged) -> Values:
    """Return tau with limits, and tau-AP, (cell,)."""
    truth, judge = judged.truth, judged.judge
    above = above_by_cell(truth), above_by_cell(judge)

    def tau(*ranks: Any) -> Any:
        cells = np.arange(len(ranks[0]))
        return concordance(np.concatenate(ranks)).tau_a()[cells, cells + len(cells)]

    # Of other topics both sides lose a group of their own at a time: their errors add up.
    left_out = zip(truth.tables_left_out, judge.tables_left_out, strict=False)
    replicates = [tau(*map(above_by_cell, pair)) for pair in left_out]
    low, high = jackknife.limits(tau(*above), np.array(replicates), "atanh")
    return {
        "tau": tau(*above),
        "tau_low": low,
        "tau_high": high,
        "tau_ap": np.array([tau_ap(*ranks) for ranks in zip(*above, strict=True)]),
    }


def decisions(judged: Judged) -> Values:
    """Return the numbers of pairs of runs by the decisions of paired t tests under both sets."""
    truth, judge = (significant(table) for table in (judged.truth, judged.judge))
    kinds = {
        "agree": truth * judge > 0,
        "opposite": truth * judge < 0,
        "only_truth": (truth != 0) & (judge == 0),
        "only_judge": (truth == 0) & (judge != 0),
        "neither": (truth == 0) & (judge == 0),
    }
    return {name: chosen.sum(axis=-1) for name, chosen in kinds.items()}


def significant(table: Table) -> NDArray[np.int8]:
    """Return the signs of the differences that a paired t test finds, int8 (cell, pair); else 0."""
    first, second = np.triu_indices(len(table.runs), 1)
    signs = np.zeros((len(table.values), len(first)), np.int8)
    for cell, values in enumerate(table.values):
        unit = EQUAL * scale_of(table, cell)
        for low in range(0, len(first), PAIRS_AT_ONCE):
            part = slice(low, low + PAIRS_AT_ONCE)
            # What differs by less than 1e-9 of the range is tied, as of `Paired`.
            differences = np.rint((values[first[part]] - values[second[part]]) / unit) * unit
            p = classical_p_values("t", differences)
            signs[cell, part] = np.where(p < ALPHA, np.sign(differences.sum(axis=1)), 0)
    return signs


def biases(judged: Judged) -> Values:
    """Return means under the judge less those under the truth, with limits; NaN if not shared."""
    truth, judge = judged.truth, judged.judge
    of_runs, of_means = np.full(truth.means.shape, np.nan), np.full((3, len(truth.means)), np.nan)
    for cell in range(len(truth.scores) if judged.is_shared else 0):
        by_run, width = judge.scores[cell] - truth.scores[cell], width_of(truth, cell)
        mean = by_run.mean(axis=0)
        estimates = guarded_estimate(truth.samples(mean), width, binary=False)
        of_runs[cell] = np.average(by_run, axis=1, weights=truth.sizes)
        of_means[0, cell] = np.average(mean, weights=truth.sizes)
        of_means[1:, cell] = difference_limits(estimates, width, jackknife.CONFIDENCE)
    names = ("run_bias", "bias", "bias_low", "bias_high")
    return dict(zip(names, (of_runs, *of_means), strict=True))


def corrections(judged: Judged, sizes: Sequence[int]) -> Values:
    """Return corrected means, (cell, size, run); NaN for as many topics as there are, or more."""
    truth, judge, n_units = judged.truth, judged.judge, judged.truth.sizes.size
    found = np.full((len(truth.scores), len(sizes), len(truth.runs), 3), np.nan)
    for k, size in enumerate(sizes if judged.is_shared else ()):
        if size >= n_units:
            continue  # all of them are a size of their own
        labelled, others = np.split(judged.order, [size or n_units])
        for cell, run in np.ndindex(found.shape[0], found.shape[2]):
            h, f = truth.values[cell, run], judge.values[cell, run]
            further = [] if judged.further is None else [judged.further.values[cell, run]]
            rest, ends = np.concatenate([f[others], *further]), truth.ranges[cell]
            mean = corrected_mean(h[labelled], f[labelled], rest, ends, jackknife.CONFIDENCE)
            found[cell, k, run] = mean
    names = ("corrected", "corrected_low", "corrected_high")
    return dict(zip(names, np.moveaxis(found, -1, 0), strict=True))


def labels(counts: NDArray[Any]) -> Values:
    """Return the agreement of labels, counted by `Judged.counts`, with limits over topics."""
    counts = counts[counts.any(axis=(1, 2))]
    group = groups_left_out([len(counts)])
    value = label_coefficients(counts.sum(axis=0))
    without = [label_coefficients(counts[group != k].sum(axis=0)) for k in np.unique(group)]
    low, high = jackknife.limits(value, np.array(without), "atanh")
    alike = ~(low < high)  # other topics may not agree alike
    return {
        "label": value,
        "label_low": np.where(alike, np.nan, low),
        "label_high": np.where(alike, np.nan, high),
        "n_documents": counts.sum(),
    }
