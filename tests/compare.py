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
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

GONE: dict[str, str] = {
    r"table None\.leads$": "who leads, with simultaneous limits, is the table `leader`",
    r"/variances/(residual_)?variance(_low|_high)?$": "both variances have the names of the contract",
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


OWN = "limits of each pair are its own; the simultaneous ones are joint_low and joint_high"
GUARDED = "p is from the estimate of the limits"
MEANT: tuple[Move, ...] = (
    Move(r"/(leaderboard|board) .*mean_(low|high)$", 0.1, "the leader's limits are its own"),
    Move(r"/(maxt|tukey|leaderboard) .*difference_(low|high)$", np.inf, OWN, gaps=True),
    Move(r"/bootstrap .*plus_one=False.*difference_(low|high)$", np.inf, "plain in a preset"),
    Move(r"/(maxt|tukey) .*p_single$", 0.7, GUARDED),
    Move(r"/paired .*p_value(_bh|_holm)?$", 0.7, GUARDED),
    Move(r"/paired .*(share|significant)$", 4, GUARDED),
    Move(r"/paired .*verdict(_on_pair)?$", np.inf, "none where there are no limits"),
    Move(r"/correlate .*triangle\.", np.inf, "without the 0 before the point, as in the paper"),
    Move(r"/gate/", np.inf, "judged are the metrics that are named, with the rules of the gate"),
    Move(r"/(bootstrap|maxt) .*effect_size$|/teams .*change_", 1e-14, "order of a sum"),
)
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
            depth = {"depth": 100} if "depth" in inspect.signature(make_study).parameters else {}
            make_study(Path(folder) / "study", n_runs=12, n_teams=5, **depth)
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
        is_new = find_spec("scorecube.analyses.along_topics") is not None
        room = "analyses.along_topics" if is_new else "collection.many_collections"
        boards = import_module(f"scorecube.{room}")
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
