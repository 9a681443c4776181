"""All numbers of two checkouts, side by side: ``python -m tests.compare OLD NEW [CUBE ...]``.

In each checkout a process of its own computes every variable of every analysis, and every table, on eight cubes; then each is compared: equal to the
bit, moved (by how much), gone, or new. Status 1 if a number moved or if something is gone that `GONE` does not name.
"""

from __future__ import annotations

import argparse
import inspect
import logging
import os
import pickle
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

GONE: dict[str, str] = {
    r"/unpaired ": "the test of pairs of `paired`",
    r"/(bootstrap|randomisation|tukey|maxt|paired) .*[/.](adjust|(degenerate|constant|verdict)_pairs|significant_(better|worse)|standard_error|residual_variance|moderated_error|critical_|difference_p_value|verdict$)": "in no table of the contract",
    r"/(leaderboard|board) .*[/.](wins|ties|losses|topics|group_(first|last))$|/randomisation .*[/.]estimated_difference$": "in no table of the contract",
    r"/(bootstrap|randomisation|tukey|maxt) .*/(undecided_pairs|(table (None|power).)?largest_not_significant|quality)$": "in no paper, table of the contract or page",
    r"/paired .*table None.(d_z|difference_(low|high)|effect_size|mean_difference|p_equivalence|run_[ab]|standard_error|verdict)$": "a row for each test",
    r"^gaps/variances/": "gaps are refused",
    r"/correlate .*/(mean_)?quartile$": "quartiles of means are one line of NumPy",
    r"/judges .*/(mean|rank)_(truth|judge)$": "leaderboards have means and ranks",
    r"/(bootstrap|randomisation|tukey) .*/(kth_difference|(undefined|infinite)_replicates|own_error_pairs|summary)$": "of single pairs and trials",
    r"/(bootstrap|randomisation|tukey|maxt) .*/(rank|sorted_p_value|table pairs.asl(_holm|_bh)?)$": "second names, and orders",
    r"/paired .*/(table (None|power).adjustment|table (None|pairs).p_(t|wilcoxon|sign)(_holm|_bh)?)$": "a row for each test",
    r"/paired .*/((equivalence|difference)_p_value_(holm|bh)|trivial_pairs|half_width_median)$": "extras of equivalence",
    r"/(ranks|leaderboard|board) .*sets$": "marginal rank sets",
    r"/(leaderboard|board) .*(winner_|top_|best$|t_low|t_high|n_top|/k$|in_top|/quality)": "winner's limits, top sets, internal numbers",
    r"/(leaderboard|board|maxt|paired|teams) .*(/summary|/quality)$": "coordinates without a use",
    r"/gate": "the gate's table",
    r"/swap.*(required_difference_first|first_probability)$": "a rule and a probability of the swap method that nobody uses",
    r"/swap.*(rates\.interval|/population)$": "limits of swap rates are over trials",
    r"/swap.*/(by_suffix|is_open)$": "results of earlier versions",
    r"/(correlate .*/run|teams .*/(topic|team)|teams .*first_miss.variance|reliability .*/n_topics)$": "labels and a column that nothing needs",
    r"/judges .*[/.]run_bias_(low|high)$": "of single runs",
    r"/judges .*[/.](n_pairs|pairs|n_shared|n_truth|n_judged|n_topics.*|labelled_by_both|slope|lambda|alpha|agreement.*)$": "sizes that tables of collections have; weights of judges",
    r"/teams .*[/.](own_.*|whole_variance|worst_run|rank_change_largest|topics_needed|n_topics_above_zero|team_left_out|topic_place|team_of_run|run|first_miss.variance)$": "of single runs; draws are those of samples",
    r"/correlate .*[/.](mean|concordant|sorted_run|marked|bold)$": "marks above a stated tau, means that tables of scores have",
    r"/swap.*[/.](max_difference|support|swap_rate_fitted|both_zero|tau_of_trial)$": "no table, page or paper has them",
    r"/swap.*(/summary|/quality|/decided_by_ties)$": "coordinates and a flag without a use",
    r"/stability.*(/summary|/quality|/team)$": "coordinates without a use",
    r"/splits ": "tau is a variable of swap",
    r"/swap.*/(curve_size|rate_at_size|parameter|fit|fitted|extrapolated|lack_of_fit|drawn)$": "curves beyond the largest sample",
    r"/judges .*/(agreement|tied_truth|tied_judge|statistic)$": "tau and tau_ap are variables",
    r"/judges .*[/.](tau_b|tied_pairs|(largest_)?(drop|rise)(_run)?|rank_change|top.*|false_.*|confusion|share_of_level|mean_level_.*|level|judge_level)$": "moves of single runs, decisions on the best, confusion",
    r"/judges .*/(level_.*|run_level|mean_bias|label_by_topic|documents_by_topic)$": "thirds of runs, labels by topic",
    r"/judges .*/(difference.*|baseline.*|has_.*|is_common|runs_of_level|compared_in|loser|winner|contained_.*)$": "differences of corrected means; flags of tables",
    r"/judges .*table .*\.(tau_.*_low|tau_.*_high)$": "limits of tau-b and tau-AP",
    r"/judges .*rbo": "rank-biased overlap",
    r"/(correlate|judges) .*(population|/contained|/value|/no_interval)": "tau posteriors",
    r"/correlate .*/(low|high|standard_error|resampled|statistic|tau_contained_.*|along|fieller_.*|tau_ap_b|tied_[ab])$": "percentile bands, Fieller's interval, rule b",
    r"/correlate .*table .*\.(fieller_.*|tau_ap_b|tied_[ab])$": "the same",
    r"/(correlate|judges) .*/(summary|quality|sorted_by|team|topic)$": "coordinates without a use",
    r"/judges .*/(effective|error_|has_effective|n_judges)": "judges together",
    r"/judges .*/(width|covered|mean_slope|needed|finite_needed|has_needed|has_size|narrowed|wanted_width|quantity)": "purchases",
    r"/judges .*/(half_|has_halves|part|preference|has_preference|n_own)": "halves, families",
    r"/judges .*/table .*\.(weights|distance)": "options of labels",
    r"/reliability .*([/.](needed|design_topics|detectable|system_deviation)|jackknife|negative|topics_at_hand|n_runs$|share$|/summary$|components\.n_topics$)": "limits are the jackknife's over topics",
    r"/reliability .*/(unbounded_component|ratio(_low|_high)?)$": "nothing shows it",
    r"/variances/n_(runs|topics)$": "attributes",
    r"/teams .*/(topic_kept|n_defined)$": "shared chain, a second count of trials",
    r"/teams .*/(mean_change|mean_change_largest|stayed|change_of_means|largest_change)$": "changes of single runs by teams left out",
    r"/teams .*/(judged_|rbp_residual|cutoff|persistence)": "shares of judged documents",
    r"/teams .*/(tau|tau_mean|tau_lowest|rank_drop.*|n_unique.*|team_runs|own_change)$": "order of the other runs",
    r"/teams .*[/.]variance_there$": "it stands in the table of variances",
    r"/teams .*/(value|n_values|stated|compared|margin|within|quantity|most_left_out)": "statements of equivalence",
    r"/reliability .*/(facet|has_facet|n_levels|team_component|team_source|different_teams|same_team)": "third facet, nested teams",
}
"""Patterns of what is meant to be gone, as cube/analysis/variable or table.column, and why."""


class Move(NamedTuple):
    """What is meant to move, how far at most, and why.

    at: Pattern of names.
    to: Numbers may become this one from anywhere.
    gaps: Numbers may come and go.
    """

    at: str
    most: float
    why: str
    to: float = np.nan
    gaps: bool = False

    def covers(self, name: str, apart: np.ndarray, old: Any, new: Any) -> bool:
        """Whether a name is meant, and none of its values moves farther."""
        if re.search(self.at, name) is None:
            return False
        free = np.zeros(apart.shape, bool)
        if not isinstance(new, str) and apart.shape == new[1].shape and new[1].dtype.kind in "iuf":
            free = new[1] == self.to
            if self.gaps:
                free |= ~(np.isfinite(new[1].astype(float)) & np.isfinite(old[1].astype(float)))
        return bool((apart[~free] <= self.most).all())


EDGES = "comparisons at the edges of bins, on a grid of 2e-7"
FEW, GRID, BAGS = "pairs that differ on fewer than 8 topics", "scores on a grid of 2e-7", "bags"
TIES, PSEUDO = "differences of the grid are ties", "pseudo-topics where few differ"
REAL, ALL = r"^(papers|trec-\w+)/", r"^(papers|trec-\w+|accuracy|gaps|groups|pair)/"
PAIRS = "/(bootstrap|randomisation|tukey) .*"
MEANT = (
    Move("", 1e-11, "sums in another order"),
    Move(r"/maxt .*[/.]p_single$", 1e-4, GRID, gaps=True),
    Move(r"/maxt .*[/.]own_error_pairs$", 1, GRID),
    Move(r"^pair/reliability .*[/.]topics$", 0, "missing where systems do not differ, and not infinite", gaps=True),
    Move(r"/stability .*[/.](ties|equal|second_better)$", 1, "comparisons at the edges of bins, on a grid of 2e-7"),
    Move(r"/correlate .*/(sorted_mean|swops)$", np.inf, "dims in another order"),
    Move(r"/reliability .*/value$", np.inf, "of the topics at hand: a dim less"),
    Move(r"/teams .*/(team_left_out|topic_place)$", np.inf, "dims in another order"),
    Move(r"/judges .*/n_pairs$", np.inf, "by metric, too"),
    Move(r"/swap.*/lower$", np.inf, "by metric and gain setting"),
    Move(r"^groups/judges .*(/label(_low|_high|_statistic)?$|/table labels\.)", np.inf, "kappas and alpha alone, known or not"),
    Move(r"^groups/judges .*[/.](only_judge|neither)$", 1, "topics in groups stay whole"),
    Move(r"^groups/judges .*[/.]bias_(low|high)$", 0.002, "topics in groups stay whole"),
    Move(r"^groups/judges .*[/.](slope|lambda|corrected|mean)$", 0.08, "labelled topics are groups"),
    Move(r"^groups/judges .*[/.](corrected|mean)_(low|high)$", 0.6, "pseudo-topics where few differ"),
    Move(r"/correlate .*topics_(low|high)$", np.inf, "jackknife limits of tau from as many other topics", gaps=True),
    Move(rf"{PAIRS}[/.](t|d_z|effect_size|standard_error|p_single)$", 5e-5, GRID, gaps=True),
    Move(rf"{PAIRS}[/.]((estimated|critical)_difference)$", 1e-6, GRID, gaps=True),
    Move(rf"{PAIRS}[/.]difference_(low|high)$", np.inf, "95 % whatever alpha, with pseudo-topics", gaps=True),
    Move(rf"{PAIRS}[/.](p_value|p_value_holm|p_value_bh)$", 0.01, "ties of rounded scores, of 200 trials"),
    Move(rf"{PAIRS}/reached$", 1, "ties of rounded scores, of 200 trials"),
    Move(r"^large/bootstrap ", np.inf, BAGS),
    Move(r"/(maxt|paired) .*/difference_(low|high)$", np.inf, "95 % whatever alpha", gaps=True),
    Move(r"/paired .*/table (None|power|pairs)\.", np.inf, "a row for each test", gaps=True),
    Move(r"/reliability .*(value|topics|erho2|phi|n_topics)_(low|high)$", np.inf, "jackknife limits over topics"),
    Move(r"/teams .*/whole_variance$", np.inf, "one of all topics"),
    Move(r"/teams .*first_miss", np.inf, "against the variance of all topics"),
    Move(r"/variances$", np.inf, "variances refuse gaps"),
    Move(r"/(maxt|paired) .*[/.](d_z|t|standard_error|p_single|p_t|p_t_holm|p_t_bh)$", 5e-5, GRID, gaps=True),
    # The largest statistic: which pairs are in it decides the others' p-values, of 200 trials.
    Move(r"^papers/maxt .*[/.]p_value$", 0.25, FEW, to=1.0),
    Move(r"^papers/maxt .*/sorted_p_value$", 0.4, FEW, to=1.0),
    Move(r"^papers/maxt .*/reached$", 47, FEW, to=200),
    Move(r"^papers/maxt .*/(critical_value|moderated_error)$", 1.0, FEW),
    Move(r"^papers/maxt .*[/.]difference_(low|high)$", 0.01, FEW, gaps=True),
    Move(r"^trec-\w+/maxt .*[/.](p_value|sorted_p_value)$", 0.005, FEW, to=1.0),
    Move(r"^trec-\w+/maxt .*/reached$", 1, FEW, to=200),
    Move(r"^trec-\w+/maxt .*/(critical_value|moderated_error)$", 0.06, FEW),
    Move(r"^trec-\w+/maxt .*[/.]difference_(low|high)$", 5e-5, FEW, gaps=True),
    Move(r"^papers/leaderboard .*[/.]p_baseline$", 0.005, FEW, to=1.0),
    Move(rf"{REAL}leaderboard .*[/.]difference_(low|high)$", 0.005, FEW, gaps=True),
    Move(r"^papers/leaderboard .*[/.](wins|ties|losses)$", 1, TIES),
    Move(rf"{ALL}leaderboard .*[/.]mean_(low|high)$", 0.1, "limits of means on the logit scale"),
    Move(r"^large/leaderboard .*[/.]mean_(low|high)$", 0.001, BAGS),
    Move(r"^groups/board .*[/.](collection_)?mean_(low|high)$", 0.15, "limits of means on the logit scale"),
    Move(r"^groups/board .*/topics$", 45, "topics are counted, not groups"),
    Move(r"^large/(leaderboard|maxt) .*[/.]difference_(low|high)$", 0.001, BAGS),
    Move(r"^large/leaderboard .*[/.](wins|ties|losses)$", np.inf, "bags are counted"),
    Move(r"^large/maxt .*[/.](t|critical_value)$", 1.2, BAGS),
    Move(r"^large/maxt .*[/.](d_z|effect_size|residual_variance|standard_error|moderated_error|p_single)$", 0.01, BAGS),
    Move(r"^large/paired .*[/.](standard_error|difference_(low|high))$", 0.004, "standard errors that were 0"),
    Move(rf"{ALL}paired .*[/.](difference_(low|high)|(p_equivalence|equivalence_p_value|difference_p_value))$", 0.95, PSEUDO, gaps=True),
    Move(r"^(papers|trec-\w+)/paired .*[/.]verdict(_on_pair)?$", np.inf, PSEUDO),
    Move(r"^(papers|trec-\w+)/paired .*/verdict_pairs$", 10, PSEUDO),
    # Wilcoxon and sign with the ties that rounding had broken.
    Move(r"^(papers|trec-\w+|groups)/paired .*[/.]p_(value|wilcoxon|sign)(_holm|_bh)?$", 0.32, "ties of the scores as they are"),
    Move(r"^(papers|groups)/paired .*[/.](adjusted_)?(significant|share)$", 2, "ties of the scores as they are"),
    Move(r"^papers/paired .*(power|None)\.(gain|metric)$", np.inf, "rows in the order of the shares"),
    Move(r"/swap.*[/.](required|share|share_behind)_(low|high)$", np.inf, "jackknife limits over topics", gaps=True),
    Move(r"/swap.*[/.]swap_rate_(low|high)$", np.inf, "limits over trials by batches", gaps=True),
    Move(r"/swap.*[/.]tie_share$", np.inf, "ties of all trials", gaps=True),
    Move(r"^(papers|trec-\w+)/swap.*[/.](count|swaps)$", 4, EDGES),
    Move(r"^(papers|trec-\w+)/swap.*[/.](swap_rate|swap_rate_fitted|required_difference_smooth|share|share_behind)$", 0.005, EDGES),
    Move(r"^(papers|trec-\w+)/swap.*[/.](max_performance|max_difference|relative_difference)$", 1e-6, GRID),
    Move(r"^papers/stability .*[/.](first_better|second_better|equal|ties|error_rate)$", 2, GRID),
    Move(r"/gate", np.inf, "the gate's table"),
)  # fmt: skip
"""The first that covers a name says why."""
DATA = Path(__file__).parents[2] / "shared" / "data"
TRIALS = {"teams": 2, "judges": 50}
"""Trials of an analysis; 200 of others."""
ANALYSES = {
    "swap": ("Swap()", "Swap(sampling='replacement', rule='s1', bins=21, required='suffix')"),
    "swap-share": ("Swap(share='none', size=(5,))",),
    "stability": ("Stability()",),
    "bootstrap": ("Bootstrap()", "Bootstrap(plus_one=False)"),
    "randomisation": ("Randomisation()",),
    "tukey": ("Tukey()",),
    "maxt": ("MaxT()",),
    "paired": (
        "Paired(tests=('t', 'wilcoxon', 'sign'))",
        "Paired(margin=0.05, tests=('t', 'wilcoxon', 'sign'))",
    ),
    "correlate": ("Correlation()", "Correlation(every_gain=True)"),
    "leaderboard": ("Leaderboard()", "Leaderboard(baseline=RUN)"),
    "reliability": ("Reliability()",),
    "teams": ("Teams(leave=(1, 2))", "Teams(leave=(1,), pool_depth=5, topic_sizes=(10, 5))"),
}
TABLES = {
    "swap": "sensitivity rates overlap",
    "swap-share": "sensitivity rates",
    **dict.fromkeys(("bootstrap", "randomisation", "tukey", "maxt", "paired"), "power pairs"),
    "correlate": "metrics gains triangle swops",
    "teams": "variance trials first_miss",
    "reliability": "coefficients components topics",
    "judges": "agreement labels corrected",
}
"""Tables beside the first."""
LARGE = ("paired", "leaderboard", "maxt", "bootstrap", "reliability")
"""Analyses of the cube with 20,000 topics."""


def numbers(seed: int, n_runs: int, n_topics: int, digits: int = 4) -> np.ndarray:
    """Return scores with effects of runs and topics, clipped to 0 .. 1."""
    chance = np.random.default_rng(seed)
    effects = 0.4 + 0.1 * chance.normal(size=(n_runs, 1)) + 0.2 * chance.normal(size=n_topics)
    return (effects + 0.15 * chance.normal(size=(n_runs, n_topics))).clip(0, 1).round(digits)


def cubes(sc: Any, words: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the name of each cube, and the cube, by functions that every version has."""

    def plain(scores: dict[str, np.ndarray], **labels: Any) -> Any:
        n_runs, n_topics = next(iter(scores.values())).shape
        runs, topics = [f"r{k:03d}" for k in range(n_runs)], [f"t{k:05d}" for k in range(n_topics)]
        return sc.cube_from_scores(scores, runs=runs, topics=topics).assign_coords(labels)

    def holes() -> Any:
        scores = numbers(4, 8, 40)
        scores[2, [3, 7]] = np.nan
        return plain({"AP": scores})

    def trec(name: str, qrels: str, metrics: list[str]) -> Any:
        folder = DATA / name
        teams = folder / "teams.csv"
        rankings = sc.read_rankings(
            sorted((folder / "runs").iterdir()), folder / qrels, teams=teams
        )
        return sc.with_rankings(sc.evaluate(rankings, metrics), rankings).isel(run=slice(0, 40))

    def papers() -> Any:
        from tests.papers import make_study

        with tempfile.TemporaryDirectory() as folder:
            make_study(Path(folder) / "study", n_runs=12, n_teams=5)
            collection = sc.open_study(Path(folder) / "study")["NTCIR-3-Chinese"]
            cube = collection.cube.load().sel(metric=OF_PAPERS)
            return sc.with_rankings(cube, collection.rankings.load())

    made: dict[str, Callable[[], Any]] = {
        "papers": papers,
        "trec-8": lambda: trec("trec8-adhoc", "qrels.txt.gz", ["AP", "P@10", "RR"]),
        "trec-covid": lambda: trec("trec-covid-r5", "qrels.txt", ["AP", "nDCG@10", "Q"]),
        "accuracy": lambda: plain({"accuracy": (numbers(3, 6, 150) > 0.35).astype(float)}),
        "gaps": holes,
        "groups": lambda: plain(
            {"AP": numbers(5, 7, 60), "Q": numbers(6, 7, 60)},
            topic_group=("topic", [f"g{k // 4}" for k in range(60)]),
        ),
        "pair": lambda: plain({"AP": numbers(7, 2, 50)}),
        "large": lambda: plain({"AP": numbers(8, 4, 20_000)}),
    }
    for name, make in made.items():
        if not words or name in words:
            yield name, make()


OF_PAPERS = [
    "AP", "AP(rel=2)", "Q", "O", "P-measure", "P+", "RR", "NWRR", "Rprec", "Rmeasure", "AWP", "RWP",
    "nCG@10", "nDCG@10", "nG@1", "nERR@10",
]  # fmt: skip
"""Metrics that the studies of both trees have."""


def analyses(sc: Any, name: str, cube: Any) -> Iterator[tuple[str, Any, str]]:
    """Yield a label, a cube, and the declaration of the analysis of it."""
    # The topics that all runs have scores of.
    complete = cube.isel(topic=~np.isnan(cube["score"].values).any(axis=(0, 1, 2)))
    for analysis, ways in ANALYSES.items():
        if name == "large" and analysis not in LARGE:
            continue
        for way in ways:
            yield analysis, cube, way
            if name == "gaps":
                yield f"{analysis} dropped", complete, way
    if name == "groups":
        lenient = cube.assign(score=(cube["score"] * 0.8 + 0.1).round(2))
        sets = import_module("scorecube.collection.judgement_sets")
        combine = getattr(sets, "many_judgement_sets", sets.judgement_sets)
        yield "judges", combine({"a": cube, "b": lenient}), "Judges(labels=(5,))"
        other = cube.isel(topic=slice(0, 40))
        boards = import_module("scorecube.collection.many_collections")
        yield "board", boards.join_collections({"one": cube, "two": other}), "Board()"


def computed(words: list[str]) -> dict[str, Any]:
    """Return the variables and tables of the checkout that this process runs, by name."""
    import scorecube as sc

    logging.disable()
    found: dict[str, Any] = {}
    for name, cube in cubes(sc, words):
        score = cube["score"].transpose("metric", "gain", "run", "topic")
        found[f"{name}/cube/score"] = (score.dims, score.values)
        for at, value in facts(sc, cube):
            found[f"{name}/{at}"] = value
        for label, scores, way in analyses(sc, name, cube):
            at = f"{name}/{label}"
            try:
                older = "margin" not in inspect.signature(sc.Paired).parameters
                declared = way.replace("margin=", "equivalence=") if older else way
                known = {"sc": sc, "RUN": str(scores["run"].values[0])}
                analysis = eval(f"sc.{declared}", known)
                trials = TRIALS.get(label.split()[0], 200)
                result = sc.analyse(scores, analysis, trials=trials, seed=1, workers=2)
                result = sc.complete(result) if hasattr(sc, "complete") else result
                if "statistic" in result.dims:
                    result = result.drop_sel(statistic="rbo", errors="ignore")
            except (sc.ScorecubeError, AttributeError, TypeError) as refused:
                found[f"{at} {way}"] = f"refused: {type(refused).__name__}"
                continue
            for variable in result.variables:
                held = result[variable]
                found[f"{at} {way}/{variable}"] = (held.dims, held.values)
            for table in [None, *TABLES.get(label.split()[0], "").split()]:
                try:
                    frame = sc.table(result, table)
                except Exception as refused:  # a table that one version lacks is a finding, too
                    found[f"{at} {way}/table {table}"] = f"refused: {type(refused).__name__}"
                    continue
                for column in frame:
                    values = frame[column].to_numpy()
                    found[f"{at} {way}/table {table}.{column}"] = (("row",), values)
    return found


def facts(sc: Any, cube: Any) -> Iterator[tuple[str, Any]]:
    """Yield what is computed from scores without a trial: variances, topic set sizes, interval widths, gates."""
    made: dict[str, Any] = {}
    try:
        made["variances"] = sc.variances(cube)
    except sc.ScorecubeError as refused:
        made["variances"] = f"refused: {type(refused).__name__}"
    for method, how in (
        ("anova", {"min_diff": 0.1}),
        ("t", {"min_diff": 0.1}),
        ("ci", {"width": 0.1}),
    ):
        for mode in ("exact", "sakai"):
            size = sc.topic_set_size(variance=[0.044, 0.0824], method=method, mode=mode, **how)
            made[f"design {method} {mode}"] = size
    made["wcw"] = sc.wcw(variance=[0.0368, 0.0824], topics=range(10, 201))
    first, second = map(str, cube["run"].values[:2])
    try:
        made["gate"] = sc.gate({"one": cube}, run=first, baseline=second, margin=0.05)
    except sc.ScorecubeError as refused:
        made["gate"] = f"refused: {type(refused).__name__}"
    for name, value in made.items():
        if hasattr(value, "variables"):
            for variable, held in value.variables.items():
                yield f"{name}/{variable}", (held.dims, held.values)
        elif hasattr(value, "columns"):
            for column in value:
                yield f"{name}.{column}", (("row",), value[column].to_numpy())
        else:
            yield name, repr(value)


def process_of(tree: Path, words: list[str], to: Path) -> dict[str, Any]:
    """Return what a process of a checkout computes."""
    python = tree / ".venv-test" / "bin" / "python"
    environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}:{tree}", "SCORECUBE_SYNC": "0"}
    command = [
        str(python if python.exists() else sys.executable),
        "-P",
        str(Path(__file__).resolve()),
    ]
    subprocess.run([*command, "--to", str(to), *words], cwd=tree, env=environment, check=True)
    read: dict[str, Any] = pickle.loads(to.read_bytes())
    return read


def distances(old: Any, new: Any) -> np.ndarray:
    """Return how far values are apart; infinitely where one is missing, and for other texts and another form."""
    if isinstance(old, str) or isinstance(new, str):
        return np.array([0.0 if isinstance(old, type(new)) and old == new else np.inf])
    (old_dims, before), (new_dims, after) = old, new
    if old_dims != new_dims or before.shape != after.shape:
        return np.array([np.inf])
    if {before.dtype.kind, after.dtype.kind} <= set("iubf"):
        before, after = before.astype(float), after.astype(float)
        same = (before == after) | (np.isnan(before) & np.isnan(after))
        with np.errstate(invalid="ignore"):
            apart = np.abs(before - after)
        return np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))
    return np.where(before.astype(str) == after.astype(str), 0.0, np.inf)


def told(old: Any, new: Any, apart: np.ndarray) -> str:
    """Return how two values differ."""
    if isinstance(old, str) or isinstance(new, str):
        return f"{old!r:.90} -> {new!r:.90}"
    if old[1].shape != new[1].shape or old[0] != new[0]:
        return f"{old[0]} {old[1].shape} -> {new[0]} {new[1].shape}"
    known = apart[np.isfinite(apart)]
    return f"{np.count_nonzero(apart)} of {apart.size} by up to {known.max(initial=0):.3g}, {apart.size - known.size} others"


def main() -> int:
    """Compare two checkouts; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.compare", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="OLD NEW [CUBE ...]")
    parser.add_argument("--to", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.to:
        asked.to.write_bytes(pickle.dumps(computed(asked.words)))
        return 0
    old_tree, new_tree, *words = asked.words
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder) / "numbers"
        old, new = (process_of(Path(t).resolve(), words, at) for t in (old_tree, new_tree))
    counts: Counter[str] = Counter()
    for name, value in old.items():
        if name in new:
            apart = distances(value, new[name])
            known = (move.why for move in MEANT if move.covers(name, apart, value, new[name]))
            meant = next(known, "")
            moved = f"moved ({meant})" if meant else "moved"
            kind = moved if apart.any() else "equal"
            counts[kind] += 1
            if kind == "moved":
                print(f"moved: {name}: {told(value, new[name], apart)}")
        elif reason := next((why for at, why in GONE.items() if re.search(at, name)), ""):
            counts[f"gone ({reason})"] += 1
        else:
            counts["gone without a reason"] += 1
            print(f"gone: {name}")
    counts["new"] = len(new.keys() - old.keys())
    print(", ".join(f"{kind}: {n:,}" for kind, n in counts.items()))
    return int(bool(counts["moved"] or counts["gone without a reason"]))


if __name__ == "__main__":
    sys.exit(main())
